//! `trawl grep` where a daemon watches a tree with a text index: files are named by the index
//! behind a barrier, and packs follow the changes. The oracle is GNU grep, asked after each change
//! has completed, while writers go on.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_grams::{DocId, Identity as FileIdentity, Pack};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_program;

use crate::site::files_below;
use crate::watch::Watched;

const FILES: usize = 300;
/// Files must be this old to be covered.
const SETTLED: Duration = Duration::from_millis(4500);
/// Longest wait for packs to follow. The daemon rests for twenty times as long as it took to write
/// packs, which is much beside other work.
const LONG: Duration = Duration::from_secs(1200);
const WORDS: [&str; 3] = ["hidden_pin", "needle_in_a_stack", "straw"];
const ANN: u32 = 4811;
const BEN: u32 = 4812;

fn name(number: usize) -> String {
    format!("d/sub{}/f{number}.c", number % 9)
}

fn content(number: usize) -> String {
    let word = if number % 40 == 7 { WORDS[1] } else { WORDS[2] };
    format!("file {number}\nstatic int f{number};\n{word}\n")
}

/// Makes a tree, indexes it with its contents, and starts a daemon.
fn watched() -> Option<Watched> {
    let mut watched = Watched::new()?;
    for number in 0..FILES {
        let path = watched.root().join(name(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content(number)).unwrap();
    }
    std::thread::sleep(SETTLED);
    watched
        .trawl(&["index", "--quiet", "--text"])
        .expect_code(0);
    watched.start(|_| {});
    watched.settle();
    Some(watched)
}

fn sorted(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout.split(|byte| *byte == b'\n');
    let mut lines: Vec<String> = lines
        .map(|line| line.escape_ascii().to_string())
        .filter(|line| !line.is_empty())
        .collect();
    lines.sort_unstable();
    lines
}

/// Compares our answers with GNU grep's, asked by this user.
#[track_caller]
fn compare(watched: &Watched, program: &Path, who: &Identity, context: &str) {
    let root = watched.root();
    for word in WORDS {
        for how in ["-rl", "-rc", "-rL"] {
            let mut ours = who.command(program);
            ours.args(["grep", how, word]).arg(&root);
            ours.env("TRAWL_INDEX", &watched.index).current_dir("/");
            let ours = oracle::run(&mut ours);
            let root = root.to_str().unwrap();
            let gnu = oracle::gnu("grep", [how, word, root], Path::new("/"), who);
            assert_eq!(sorted(&ours), sorted(&gnu), "{how} {word}: {context}");
            assert_eq!(ours.code, gnu.code, "{how} {word}: {context}: {ours}");
        }
    }
}

#[track_caller]
fn compare_as_root(watched: &Watched, context: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_trawl"));
    compare(watched, program, &Identity::Ourselves, context);
}

/// Returns how many files of the tree a search opens or looks at by name.
fn touched(watched: &Watched, extra: &[&str]) -> usize {
    let mut command = oracle::command("strace");
    command.args(["-f", "-qq", "-e", "trace=file"]);
    command.arg(env!("CARGO_BIN_EXE_trawl")).arg("grep");
    command.args(extra).args(["-l", WORDS[1]]);
    command.arg(watched.root());
    command.env("TRAWL_INDEX", &watched.index);
    let ran = oracle::run(&mut command);
    let errors = ran.errors().to_string();
    errors.lines().filter(|line| line.contains(".c\"")).count()
}

#[test]
fn only_candidates_are_looked_at() {
    if let Some(skip) = without_program("system calls", "strace") {
        return skip.say();
    }
    let Some(watched) = watched() else {
        return;
    };
    assert!(touched(&watched, &["--no-text-index"]) >= FILES);
    let candidates = (0..FILES).filter(|number| number % 40 == 7).count();
    let few = touched(&watched, &[]);
    // Each is looked at and opened.
    assert!((candidates..=candidates * 3).contains(&few), "{few}");
    // Without the daemon's word, each file is looked at.
    assert!(touched(&watched, &["--no-wait"]) >= FILES);
}

/// Changes a file in place without a trace in its size and its mtime.
fn change_secretly(path: &Path) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    let text = fs::read_to_string(path).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let changed = match text.contains(WORDS[0]) {
        true => text.replace(WORDS[0], "static int"),
        false => text.replace("static int", WORDS[0]),
    };
    assert_eq!(changed.len(), text.len());
    file.write_all(changed.as_bytes()).unwrap();
    let times = fs::FileTimes::new().set_modified(before);
    file.set_times(times).unwrap();
}

/// A process that holds files mapped, shared and writable, and writes to them on demand.
struct Mapper {
    child: Child,
    orders: ChildStdin,
    done: BufReader<ChildStdout>,
}

const MAPPER: &str = r#"
import mmap, os, sys
held = []
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDWR)
    held.append(mmap.mmap(fd, 0, mmap.MAP_SHARED))
    held[-1][0]
    os.close(fd)
print("ready", flush=True)
for line in sys.stdin:
    number, word = line.split()
    at = held[int(number)].find(b"static int")
    if at < 0:
        at = held[int(number)].find(b"hidden_pin")
    held[int(number)][at:at + 10] = word.encode().replace(b"_int", b" int")
    print("done", flush=True)
"#;

impl Mapper {
    fn start(paths: &[PathBuf]) -> Mapper {
        let mut command = oracle::command("python3");
        command.args(["-c", MAPPER]).args(paths);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (orders, done) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut mapper = Mapper {
            child,
            orders,
            done: BufReader::new(done),
        };
        mapper.wait();
        mapper
    }

    fn wait(&mut self) {
        let mut line = String::new();
        assert!(self.done.read_line(&mut line).unwrap() > 0);
    }

    fn write(&mut self, number: usize, word: &str) {
        writeln!(self.orders, "{number} {word}").unwrap();
        self.wait();
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Random(usize);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Changes names and contents; every change is complete at the end.
fn change(root: &Path, random: &mut Random) {
    for _ in 0..30 {
        let path = root.join(name(random.below(FILES)));
        match random.below(5) {
            0 => {
                let new = path.with_extension("new");
                fs::write(&new, content(random.below(FILES))).unwrap();
                fs::rename(new, path).unwrap();
            }
            1 => {
                let link = root.join(format!("d/link{}", random.below(20)));
                let _ = fs::remove_file(&link);
                fs::hard_link(&path, &link).unwrap();
                change_secretly(&link);
            }
            2 => {
                let from = root.join(format!("d/sub{}", random.below(9)));
                let to = root.join("d/moved");
                fs::rename(&from, &to).unwrap();
                fs::rename(&to, &from).unwrap();
            }
            _ => change_secretly(&path),
        }
    }
}

#[test]
fn no_change_is_missed_behind_a_barrier() {
    if let Some(skip) = without_program("mapped files", "python3") {
        return skip.say();
    }
    let Some(watched) = watched() else {
        return;
    };
    let root = watched.root();
    // Others write elsewhere in the tree all the time.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let busy = root.join("busy");
            fs::create_dir(&busy).unwrap();
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let path = busy.join(format!("b{}", number % 50));
                fs::write(path, format!("nothing of interest {number}\n")).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let files = || {
            let paths = files_below(&root.join("d"));
            paths.into_iter().filter(|path| path.is_file()).count()
        };
        assert!(files() >= FILES);
        let mut random = Random(7);
        let mapped: Vec<PathBuf> = (100..103).map(|number| root.join(name(number))).collect();
        let mut mapper = Mapper::start(&mapped);
        for round in 0..12 {
            let at = round % mapped.len();
            if round == 6 {
                // The mapping outlives the name.
                drop(mapper);
                mapper = Mapper::start(&mapped);
            }
            change(&root, &mut random);
            mapper.write(
                at,
                if round % 2 == 0 {
                    WORDS[0]
                } else {
                    "static_int"
                },
            );
            compare_busy(&watched, &format!("round {round}"));
        }
        stop.store(true, Ordering::Relaxed);
    });
    compare_as_root(&watched, "at the end");
}

/// Like [`compare_as_root`], without the directory in which others write meanwhile.
#[track_caller]
fn compare_busy(watched: &Watched, context: &str) {
    let root = watched.root();
    for word in WORDS {
        let ours = watched.trawl(&["grep", "-rl", "--exclude-dir=busy", word]);
        let root = root.to_str().unwrap();
        let words = ["-rl", "--exclude-dir=busy", word, root];
        let gnu = oracle::gnu("grep", words, Path::new("/"), &Identity::Ourselves);
        assert_eq!(sorted(&ours), sorted(&gnu), "{word}: {context}");
    }
}

fn packs(watched: &Watched) -> Vec<PathBuf> {
    let mut files = files_below(&watched.index);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "grams"));
    files
}

fn doc(path: &Path) -> DocId {
    FileIdentity::of(&path.symlink_metadata().unwrap()).id()
}

/// Returns the packs that have a document.
fn packs_with(watched: &Watched, id: DocId) -> Vec<PathBuf> {
    let mut found = packs(watched);
    found.retain(|path| {
        let pack = File::open(path).ok().and_then(|file| Pack::open(file).ok());
        pack.is_some_and(|pack| pack.docs().contains(&id))
    });
    found
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "still not: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn reads(who: &Identity, path: &Path) -> bool {
    let mut command = who.command("head");
    command.args(["-c", "1"]).arg(path).current_dir("/");
    oracle::run(&mut command).code == Some(0)
}

#[test]
fn packs_follow_changes_and_permissions() {
    let Some(watched) = watched() else {
        return;
    };
    let root = watched.root();
    let changed = root.join(name(3));
    let before = doc(&changed);
    assert_eq!(packs_with(&watched, before).len(), 1);
    fs::write(&changed, "other content\n").unwrap();
    until("the new content is covered", || {
        packs_with(&watched, doc(&changed)).len() == 1
    });
    until("the old content left its pack", || {
        packs_with(&watched, before).is_empty()
    });

    let removed = root.join(name(4));
    let before = doc(&removed);
    fs::remove_file(removed).unwrap();
    until("the removed file left its pack", || {
        packs_with(&watched, before).is_empty()
    });

    // Of a file and of a directory: who may not read it any more cannot open its n-grams.
    let ann = Identity::user(ANN);
    let (file, dir) = (root.join(name(5)), root.join("d/sub6"));
    let (in_file, in_dir) = (doc(&file), doc(&dir.join("f6.c")));
    for id in [in_file, in_dir] {
        until("Ann can open these n-grams", || {
            let packs = packs_with(&watched, id);
            packs.first().is_some_and(|pack| reads(&ann, pack))
        });
    }
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
    until("Ann cannot open these n-grams", || {
        let mut packs = [in_file, in_dir]
            .into_iter()
            .flat_map(|id| packs_with(&watched, id));
        !packs.any(|pack| reads(&ann, &pack))
    });
    compare_as_root(&watched, "after chmod");
}

#[test]
fn every_user_gets_the_answer_of_grep() {
    let Some(watched) = watched() else {
        return;
    };
    let program = watched
        .scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let root = watched.root();
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    let users = [Identity::user(ANN), Identity::user(BEN)];
    let mut random = Random(11);
    for round in 0..6 {
        for _ in 0..6 {
            let dir = root.join(format!("d/sub{}", random.below(9)));
            let modes = [0o755, 0o700, 0o711, 0o750, 0o744, 0o500];
            chown(&dir, Some([0, ANN, BEN][random.below(3)]), Some(BEN)).unwrap();
            let mode = modes[random.below(modes.len())];
            fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
            let file = root.join(name(random.below(FILES)));
            chown(&file, Some([0, ANN, BEN][random.below(3)]), Some(ANN)).unwrap();
            let mode = [0o644, 0o600, 0o640, 0o604, 0][random.below(5)];
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            change_secretly(&root.join(name(random.below(FILES))));
        }
        for who in &users {
            compare(&watched, &program, who, &format!("round {round}, {who:?}"));
        }
        compare_as_root(&watched, &format!("round {round}"));
    }
}

#[test]
fn a_killed_daemon_leaves_nothing_wrong() {
    let Some(mut watched) = watched() else {
        return;
    };
    let root = watched.root();
    let mut random = Random(13);
    for round in 0..4 {
        change(&root, &mut random);
        // At a different moment of the daemon's work each time.
        watched.trawl(&["find", "-maxdepth", "0"]);
        std::thread::sleep(Duration::from_millis(250 * round));
        watched.end("-KILL");
        change(&root, &mut random);
        compare_as_root(&watched, &format!("killed, round {round}"));
        watched.start(|_| {});
        compare_as_root(&watched, &format!("started, round {round}"));
    }
    let probe = root.join(name(9));
    until("packs follow again", || {
        packs_with(&watched, doc(&probe)).len() == 1
    });
    assert_eq!(watched.end("-TERM"), Some(0));
    let mut verify = watched.program();
    oracle::run(verify.args(["index", "--verify", "--quiet"])).expect_code(0);
}
