//! A permission that is revoked while others read: questions that begin after a barrier show the
//! user who lost it nothing more, and users who keep it see no errors and no gaps.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use trawl_format::IndexDir;
use trawl_model::guard::Credentials;
use trawl_model::{Gid, Uid};
use trawl_query::{Part, Values, View};
use trawl_sys::become_user::{User, as_user};
use trawl_sys::lock::{Lock, try_lock};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_program;

use crate::watch::Watched;

/// A user who loses permissions and gets them back.
const ANN: u32 = 4831;
/// A user who keeps her permissions.
const BEA: u32 = 4832;

/// Number of directories that each have users of their own.
const CLOSED: usize = 12;
const FILES: usize = 3000;

fn rounds() -> usize {
    let given = std::env::var("TRAWL_REVOKE_ROUNDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn setfacl(words: &[&str], path: &Path) {
    oracle::run(oracle::command("setfacl").args(words).arg(path)).expect_code(0);
}

/// Creates a tree that ANN and BEA may see completely.
fn site() -> Option<Watched> {
    if let Some(skip) = without_program("taking rights away by ACL", "setfacl") {
        skip.say();
        return None;
    }
    let watched = Watched::sized(1 << 30)?;
    let root = watched.root();
    fs::remove_dir(root.join("lost+found")).expect("it is there");
    for at in 0..40 {
        let dir = root.join(format!("large/{at}"));
        fs::create_dir_all(&dir).expect("room");
        for file in 0..40 {
            File::create(dir.join(format!("file-{file}"))).expect("room");
        }
    }
    fs::create_dir(root.join("small")).expect("room");
    File::create(root.join("small/one")).expect("room");
    chown(root.join("small"), Some(ANN), None).expect("root may");
    Some(watched)
}

/// Creates directories for ANN, BEA and a third user, who differs for each directory: each gets its
/// own file in the index.
fn make_closed(root: &Path, files: usize) {
    for at in 0..CLOSED {
        let dir = root.join(format!("closed/{at:02}"));
        fs::create_dir_all(&dir).expect("room");
        for file in 0..files {
            File::create(dir.join(format!("{}-{file}", "n".repeat(60)))).expect("room");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("root may");
        let users = format!("u:{ANN}:rx,u:{BEA}:rx,u:{}:rx", 6000 + at);
        setfacl(&["-m", &users], &dir);
    }
}

const FORMAT: [&str; 2] = ["-printf", "%p %s %m %U %G %T@ %i\\n"];

fn ask(index: &Path, user: u32, root: &Path) -> Ran {
    let mut asks = Identity::user(user).command(env!("CARGO_BIN_EXE_trawl"));
    asks.env("TRAWL_INDEX", index);
    oracle::run(asks.arg("find").arg(root).args(FORMAT))
}

fn lines_of(ran: &Ran) -> BTreeSet<Vec<u8>> {
    let lines = ran.stdout.split(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

/// Compares what ANN is told now with what the kernel shows her.
#[track_caller]
fn compare(watched: &Watched, what: &str) {
    let root = watched.root();
    let told = ask(&watched.index, ANN, &root);
    let mut live = Identity::user(ANN).command("find");
    let live = oracle::run(live.arg(&root).args(FORMAT));
    assert_eq!(lines_of(&told), lines_of(&live), "{what}");
    assert_eq!(told.code, live.code, "{what}: {}", told.errors());
}

fn ann() -> User {
    User {
        uid: ANN,
        gid: ANN,
        groups: Vec::new(),
    }
}

/// Counts the rows of a directory, including outdated ones, in all files that ANN can open.
fn rows_for_ann(watched: &Watched, dir: &Path) -> usize {
    let look = || {
        let index = IndexDir::open(&watched.index).expect("an index");
        let root = watched.root();
        let source = index.source(root.as_os_str().as_encoded_bytes());
        let source = source.expect("readable").expect("a source");
        let snapshot = source.now().expect("readable").expect("a snapshot");
        let who = Credentials {
            uid: Uid(ANN),
            groups: vec![Gid(ANN)],
        };
        let view = View::new(snapshot, Arc::new(who)).with_dead_rows();
        let dir = dir.as_os_str().as_encoded_bytes();
        view.rows_of(dir, Part::Subtree, Values::Some)
            .expect("readable")
            .len()
    };
    as_user(&ann(), look).expect("root may")
}

/// Opens all files that ANN can open, and takes all the locks that she can get.
fn all_for_ann(index: &Path) -> Vec<File> {
    let open_all = || {
        let (mut open, mut dirs) = (Vec::new(), vec![index.to_owned()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path: PathBuf = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    dirs.push(path);
                } else if let Ok(file) = File::open(&path) {
                    let _ = try_lock(&file, Lock::Shared);
                    open.push(file);
                }
            }
        }
        open
    };
    as_user(&ann(), open_all).expect("root may")
}

/// Users who ask repeatedly, and the errors that they got.
struct Readers {
    stops: Arc<AtomicBool>,
    wrong: Arc<Mutex<Vec<String>>>,
    threads: Vec<std::thread::JoinHandle<usize>>,
}

impl Readers {
    fn start(watched: &Watched, check: fn(&Ran, &BTreeSet<Vec<u8>>) -> bool, user: u32) -> Readers {
        let (stops, wrong) = (
            Arc::<AtomicBool>::default(),
            Arc::<Mutex<Vec<_>>>::default(),
        );
        let (index, root) = (watched.index.clone(), watched.root());
        let all = lines_of(&ask(&index, user, &root));
        let reader = || {
            let (stops, wrong) = (Arc::clone(&stops), Arc::clone(&wrong));
            let (index, root, all) = (index.clone(), root.clone(), all.clone());
            std::thread::spawn(move || {
                let mut asked = 0;
                while !stops.load(Ordering::Relaxed) {
                    let ran = ask(&index, user, &root);
                    if !check(&ran, &all) {
                        let lines = lines_of(&ran).len();
                        let told = format!("{:?}, {lines} lines, {}", ran.code, ran.errors());
                        wrong.lock().expect("no panic").push(told);
                    }
                    asked += 1;
                }
                asked
            })
        };
        let threads = vec![reader(), reader()];
        Readers {
            stops,
            wrong,
            threads,
        }
    }

    #[track_caller]
    fn stop(self) {
        self.stops.store(true, Ordering::Relaxed);
        for thread in self.threads {
            assert!(thread.join().expect("no panic") > 0);
        }
        let wrong = self.wrong.lock().expect("no panic");
        assert!(wrong.is_empty(), "{} times: {}", wrong.len(), wrong[0]);
    }
}

/// Returns true if the answer is complete and without messages.
fn is_whole(ran: &Ran, all: &BTreeSet<Vec<u8>>) -> bool {
    // Times and modes change with chmod; the set of entries does not.
    ran.code == Some(0) && ran.stderr.is_empty() && lines_of(ran).len() == all.len()
}

/// Returns true if the answer has only existing entries, and no messages except that access is
/// denied.
fn is_sound(ran: &Ran, all: &BTreeSet<Vec<u8>>) -> bool {
    let errors = ran.errors();
    let is_plain = errors
        .lines()
        .all(|line| line.ends_with("Permission denied"));
    is_plain && matches!(ran.code, Some(0 | 1)) && lines_of(ran).len() <= all.len()
}

#[test]
fn nobody_is_shown_more_or_less_while_rights_are_taken_away() {
    let Some(mut watched) = site() else {
        return;
    };
    make_closed(&watched.root(), 30);
    watched.start(|_| {});
    let root = watched.root();
    let bea = Readers::start(&watched, is_whole, BEA);
    let ann = Readers::start(&watched, is_sound, ANN);
    let (deny, give) = (format!("u:{ANN}:---"), format!("u:{ANN}:rx"));
    for round in 0..rounds() {
        for dir in ["large", "closed/07", "small", "large/7"] {
            let dir = root.join(dir);
            let held = all_for_ann(&watched.index);
            let is_hers = dir.ends_with("small");
            let set = |mode, acl: &str| match is_hers {
                // Only the owner is refused.
                true => {
                    let mode = fs::Permissions::from_mode(mode);
                    fs::set_permissions(&dir, mode).expect("root may");
                }
                false => setfacl(&["-m", acl], &dir),
            };
            assert!(rows_for_ann(&watched, &dir) > 0);
            set(0o055, &deny);
            let what = format!("round {round}: {} taken away", dir.display());
            compare(&watched, &what);
            assert_eq!(rows_for_ann(&watched, &dir), 0, "{what}");
            drop(held);
            set(0o755, &give);
            compare(
                &watched,
                &format!("round {round}: {} given back", dir.display()),
            );
        }
    }
    bea.stop();
    ann.stop();
    assert_eq!(watched.end("-TERM"), Some(0));
    oracle::run(watched.program().arg("verify")).expect_code(0);
}

#[test]
fn who_began_to_answer_comes_to_an_end() {
    let Some(mut watched) = site() else {
        return;
    };
    make_closed(&watched.root(), FILES);
    watched.start(|_| {});
    let root = watched.root();
    let all = lines_of(&ask(&watched.index, BEA, &root));
    // On a single processor, it writes its output before it reads on.
    let program = watched
        .scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let mut asks = Identity::user(BEA).command("taskset");
    asks.args(["-c", "0"]).arg(program);
    asks.env("TRAWL_INDEX", &watched.index);
    asks.arg("find").arg(&root).args(FORMAT);
    let mut slow = asks
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(slow.stdout.take().expect("a pipe"));
    let mut read = Vec::new();
    output.read_until(b'\n', &mut read).expect("a line");
    // The directory that it reads last.
    let last = root.join(format!("closed/{:02}", CLOSED - 1));
    setfacl(&["-m", &format!("u:{ANN}:---")], &last);
    compare(&watched, "taken away");
    assert_eq!(rows_for_ann(&watched, &last), 0);
    output.read_to_end(&mut read).expect("the rest");
    let ended = slow.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!((ended.status.code(), &errors[..]), (Some(0), ""));
    let read: BTreeSet<Vec<u8>> = read
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    assert_eq!(read, all);
    assert_eq!(watched.end("-TERM"), Some(0));
}
