//! `trawl find -keyword` and `-attr` where a daemon watches a tree with an index of keywords: answers
//! include every change that has completed, and packs follow. The oracle is GNU grep, asked after
//! each change, while writers go on.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_keywords::{Document, Gap, Pack, references};
use trawl_testkit::oracle::{self, Identity, Ran};

use crate::grep_text::{SETTLED, doc};
use crate::site::files_below;
use crate::watch::Watched;

const FILES: usize = 120;
/// Longest wait for packs to follow. The daemon rests for twenty times as long as it took to write
/// packs, which is much beside other work.
const LONG: Duration = Duration::from_secs(1200);
const WORDS: [&str; 3] = ["needle", "straw", "hay"];

/// Names without an extension, so that identities in packs are those of the files alone.
fn name(number: usize) -> String {
    format!("d/sub{}/f{number}", number % 7)
}

fn content(number: usize) -> String {
    let word = if number % 20 == 7 { WORDS[0] } else { WORDS[1] };
    format!("file {number}\n{word}\n")
}

fn watched() -> Option<Watched> {
    let mut watched = Watched::new()?;
    for number in 0..FILES {
        let path = watched.root().join(name(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content(number)).unwrap();
    }
    std::thread::sleep(SETTLED);
    let words = ["index", "--quiet", "--keywords"];
    watched.trawl(&words).expect_code(0);
    watched.start(|_| {});
    watched.settle();
    Some(watched)
}

fn sorted(ran: &Ran) -> Vec<String> {
    let text = ran.text();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Asks for words, as grep finds them, outside the directory in which others write.
#[track_caller]
fn compare(watched: &Watched, context: &str) {
    let root = watched.root();
    let (dir, root) = (root.join("d"), root.to_str().unwrap().to_owned());
    for word in WORDS {
        let mut ours = watched.program();
        ours.args(["find", "--status"])
            .arg(&dir)
            .args(["-keyword", word]);
        let ours = oracle::run(&mut ours);
        let words = ["-rlw", "--exclude-dir=busy", word, &root];
        let gnu = oracle::gnu("grep", words, Path::new("/"), &Identity::Ourselves);
        assert_eq!(sorted(&ours), sorted(&gnu), "{word}: {context}: {ours}");
        assert_eq!(ours.code, Some(0), "{word}: {context}: {ours}");
    }
}

struct Random(usize);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Changes a file in place without a trace in its size and its mtime.
fn change_secretly(path: &Path) {
    let before = path.metadata().unwrap().modified().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let changed = match text.contains(WORDS[0]) {
        true => text.replace(WORDS[0], "hay no"),
        false => text.replace("hay no", WORDS[0]).replace("file ", "hay! "),
    };
    fs::write(path, changed).unwrap();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(before))
        .unwrap();
}

fn change(root: &Path, random: &mut Random) {
    for _ in 0..20 {
        let path = root.join(name(random.below(FILES)));
        match random.below(5) {
            0 => {
                let new = path.with_extension("new");
                fs::write(&new, content(random.below(FILES))).unwrap();
                fs::rename(new, path).unwrap();
            }
            1 => {
                let from = root.join(format!("d/sub{}", random.below(7)));
                let to = root.join("d/moved");
                fs::rename(&from, &to).unwrap();
                fs::rename(&to, &from).unwrap();
            }
            _ => change_secretly(&path),
        }
    }
}

/// Propeller, Table 9: "Propeller returns a 100% accurate result from the first search".
#[test]
fn recall_is_whole_while_writers_run() {
    let Some(watched) = watched() else {
        return;
    };
    let root = watched.root();
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
                fs::write(path, format!("straw {number}\n")).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let mut random = Random(7);
        for round in 0..10 {
            change(&root, &mut random);
            compare(&watched, &format!("round {round}"));
        }
        stop.store(true, Ordering::Relaxed);
    });
    compare(&watched, "at the end");
}

/// All packs, with their paths.
fn packs(watched: &Watched) -> Vec<(PathBuf, Pack)> {
    let mut files = files_below(&watched.index);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "keywords"));
    let open = |path: PathBuf| {
        let pack = Pack::open(File::open(&path).ok()?).ok()?;
        Some((path, pack))
    };
    files.into_iter().filter_map(open).collect()
}

/// Returns the packs that have the document of a file, and its number there.
fn with(watched: &Watched, id: trawl_grams::DocId) -> Vec<(PathBuf, Pack, usize)> {
    let place = |(path, pack): (PathBuf, Pack)| {
        let at = pack.docs().iter().position(|doc| doc.id == id)?;
        Some((path, pack, at))
    };
    packs(watched).into_iter().filter_map(place).collect()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "still not: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until a pack has the document of a file as it is now, and returns the pack.
#[track_caller]
fn covering(watched: &Watched, file: &Path) -> (PathBuf, Pack, usize) {
    let mut found = None;
    until("the file is covered", || {
        found = with(watched, doc(file)).pop();
        found.is_some()
    });
    found.expect("it was waited for")
}

#[test]
fn packs_follow_changes_with_attributes_and_references() {
    let Some(watched) = watched() else {
        return;
    };
    let root = watched.root();
    let changed = root.join(name(3));
    let before = doc(&changed);
    assert_eq!(with(&watched, before).len(), 1);
    fs::write(
        &changed,
        "<html><title>Hay</title><a href='barn.html'>hay</a>",
    )
    .unwrap();
    let (_, pack, at) = covering(&watched, &changed);
    until("the old content left its pack", || {
        with(&watched, before).is_empty()
    });
    let found = references(&pack, at as u32).unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|one| (&*one.kind, &*one.target)).collect();
    assert_eq!(found, [("links-to", "barn.html")]);
    let ran = watched.trawl(&["find", "--status"]);
    assert_eq!(ran.code, Some(0), "{ran}");

    let removed = root.join(name(4));
    let before = doc(&removed);
    fs::remove_file(removed).unwrap();
    until("the removed file left its pack", || {
        with(&watched, before).is_empty()
    });

    // A user who may no longer read a file cannot open its words.
    let ann = Identity::user(4811);
    let file = root.join(name(5));
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let opens = |path: &Path| crate::grep_text::reads(&ann, path);
    until("Ann cannot open these words", || {
        let found = with(&watched, doc(&file));
        !found.is_empty() && !found.iter().any(|(path, ..)| opens(path))
    });
    compare(&watched, "at the end");
}

/// A damaged document is an issue of its file: questions say so, and the rest is whole.
#[test]
fn what_cannot_be_read_is_an_issue_of_its_file() {
    let Some(watched) = watched() else {
        return;
    };
    let damaged = watched.root().join("d/damaged");
    fs::write(
        &damaged,
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n",
    )
    .unwrap();
    let ask = || {
        let mut command = watched.program();
        command.arg("find").arg(watched.root().join("d"));
        oracle::run(command.args(["-keyword", WORDS[0]]))
    };
    let expected = (0..FILES).filter(|number| number % 20 == 7).count();
    let check = |ran: &Ran| {
        assert_eq!(
            (ran.text().lines().count(), ran.code),
            (expected, Some(1)),
            "{ran}"
        );
        assert!(ran.errors().contains("d/damaged"), "{ran}");
        assert!(ran.errors().contains("it is damaged"), "{ran}");
    };
    check(&ask());
    let (_, pack, at) = covering(&watched, &damaged);
    assert_eq!(pack.docs()[at].gaps.text, Some(Gap::Damaged));
    assert_ne!(pack.docs()[at].gaps, Document::default().gaps);
    check(&ask());
}

/// Returns true if a process runs this program.
fn is_running(program: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    let name = program.to_str().unwrap();
    lines.any(|line| String::from_utf8_lossy(&line).contains(name))
}

/// Limit that ends a hook: docs/hooks.md.
const HOOK_LIMIT: Duration = Duration::from_secs(30);

/// A daemon that is told to end does not wait for a hook.
#[test]
fn a_running_hook_ends_with_the_daemon() {
    let Some(mut watched) = watched() else {
        return;
    };
    watched.end("-TERM");
    let hooks = watched.root().join("../slow-hooks");
    fs::create_dir(&hooks).unwrap();
    let hooks = hooks.canonicalize().unwrap();
    let manifest = "name = \"slow\"\nprogram = \"slow\"\nglobs = [\"*.slow\"]\n";
    fs::write(hooks.join("slow.toml"), manifest).unwrap();
    let program = hooks.join("slow");
    let sleep = "#!/usr/bin/python3 -S\nimport time\ntime.sleep(1000)\n";
    fs::write(&program, sleep).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    fs::write(watched.root().join("d/a.slow"), "text\n").unwrap();
    std::thread::sleep(SETTLED);
    // A daemon that waits for the hook never ends before the limit. A slow machine gets further tries.
    let mut ends_before_the_limit = || {
        let mut begun = Instant::now();
        watched.start(|command| {
            command.env("TRAWL_HOOKS", &hooks);
        });
        until("the hook runs", || {
            let looked = Instant::now();
            let runs = is_running(&program);
            if !runs {
                begun = looked;
            }
            runs
        });
        assert_eq!(watched.end("-TERM"), Some(0));
        let took = begun.elapsed();
        until("the hook ended", || !is_running(&program));
        took < HOOK_LIMIT
    };
    assert!((0..5).any(|_| ends_before_the_limit()));
}
