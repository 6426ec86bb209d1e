//! Every arrangement of directories above a watched root: each command tells a user who reaches the
//! tree what the kernel shows at that moment, by whatever path they reach it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::permissions::stage::cannot;
use trawl_testkit::{Scratch, lines};

use super::watched::watching;

/// The user who asks and whom the access lists name.
const ANN: u32 = 60_031;

/// A directory above the root: its mode, and the rights that an access list gives [`ANN`].
type Above = (u32, Option<&'static str>);

/// Directories above the root, outermost first.
const SHAPES: &[&[Above]] = &[
    &[(0o755, None)],
    &[(0o711, None)],
    &[(0o700, Some("--x"))],
    &[(0o700, Some("r-x"))],
    &[(0o755, Some("--x"))],
    &[(0o744, None)],
    &[(0o700, Some("r--"))],
    &[(0o700, None)],
    &[(0o711, None), (0o711, None)],
    &[(0o755, None), (0o711, None), (0o755, None)],
    &[(0o711, None), (0o755, None), (0o700, Some("--x"))],
    &[(0o711, None), (0o744, None)],
];

/// Returns the program, or another one that is to be tested.
fn program() -> PathBuf {
    let built = OsString::from(env!("CARGO_BIN_EXE_trawl"));
    PathBuf::from(std::env::var_os("TRAWL_PERMISSION_PROGRAM").unwrap_or(built))
}

/// A watched tree below such directories.
struct Site {
    scratch: Scratch,
    trawl: PathBuf,
    root: PathBuf,
}

impl Site {
    fn new(shape: &[Above], program: &Path) -> Site {
        let scratch = Scratch::new("above");
        let mut root = scratch.path().to_owned();
        let places: Vec<PathBuf> = (0..shape.len())
            .map(|at| {
                root.push(format!("above{at}"));
                root.clone()
            })
            .collect();
        root.push("tree");
        for name in ["open/below", "closing/below", "to-ann/below"] {
            fs::create_dir_all(root.join(name)).expect("a directory");
            fs::write(root.join(name).join("file"), name).expect("a file");
        }
        set_mode(&root.join("to-ann"), 0o700);
        for (place, (mode, list)) in places.iter().zip(shape) {
            set_mode(place, *mode);
            if let Some(list) = list {
                give(place, list);
            }
        }
        let site = Site {
            trawl: scratch.install(program),
            root,
            scratch,
        };
        symlink(&site.root, site.link()).expect("a link");
        site
    }

    /// Creates a link to the root in a place that everybody may list.
    fn link(&self) -> PathBuf {
        self.scratch.join("link")
    }

    fn daemon(&self) -> Daemon {
        watching(&self.trawl, &self.scratch.join("index"), &self.root)
    }

    fn of_ann(&self, words: &[&str]) -> Ran {
        let mut line = Identity::user(ANN).command(&self.trawl);
        line.arg("-i").arg(self.scratch.join("index")).args(words);
        oracle::run(line.current_dir("/"))
    }

    /// Changes everything that a user can see.
    fn change(&self, round: u32) {
        let [closing, to_ann] = ["closing", "to-ann"].map(|name| self.root.join(name));
        let (shut, opened) = if round.is_multiple_of(2) {
            (closing, to_ann)
        } else {
            (to_ann, closing)
        };
        set_mode(&shut, 0o700);
        set_mode(&opened, 0o755);
        fs::write(self.root.join(format!("open/new{round}")), "new").expect("a file");
        let _ = fs::remove_file(self.root.join("open/below/file"));
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("root may");
}

fn give(path: &Path, list: &str) {
    let entry = format!("u:{ANN}:{list}");
    oracle::run(oracle::command("setfacl").args(["-m", &entry]).arg(path)).expect_code(0);
}

const FORMAT: [&str; 2] = ["-printf", "%p %m %s %n %C@\\n"];

/// Compares what find prints for ANN from here, live and by the program.
#[track_caller]
fn compare(site: &Site, start: &Path, options: &[&str], what: &str) {
    let start = start.to_str().expect("our own name");
    let mut live: Command = Identity::user(ANN).command("find");
    let live = oracle::run(live.arg(start).args(FORMAT).current_dir("/"));
    let words = [&["find"], options, &[start], &FORMAT].concat();
    let found = site.of_ann(&words);
    let (order, ending) = (lines::Order::Any, lines::Ending::Newline);
    lines::assert_same(what, &live.stdout, &found.stdout, order, ending);
    assert_eq!(found.code, live.code, "{what}: {found}\n{live}");
}

/// Checks that no command names or counts entries of a closed directory.
#[track_caller]
fn compare_all(site: &Site, what: &str) {
    for start in [
        site.root.clone(),
        site.link().join(""),
        site.root.join("open"),
    ] {
        for options in [&[][..], &["--fresh"]] {
            compare(
                site,
                &start,
                options,
                &format!("{what}, {start:?} {options:?}"),
            );
        }
    }
    let root = site.root.to_str().expect("our own name");
    let mut live = Identity::user(ANN).command("ls");
    let live = oracle::run(live.args(["-AR", root]).current_dir("/"));
    let listed = site.of_ann(&["ls", "-AR", root]);
    assert_eq!(listed.text(), live.text(), "{what}: {listed}");
    let mut live = Identity::user(ANN).command("du");
    let live = oracle::run(
        live.args(["-a", "--apparent-size", "-B1", root])
            .current_dir("/"),
    );
    let counted = site.of_ann(&["du", "-a", "--apparent-size", "-B1", root]);
    let (order, ending) = (lines::Order::Any, lines::Ending::Newline);
    lines::assert_same(what, &live.stdout, &counted.stdout, order, ending);
    for name in ["closing", "to-ann"] {
        let inner = format!("{root}/{name}/below");
        let is_seen = Identity::user(ANN).command("stat").arg(&inner).output();
        let is_seen = is_seen.expect("it runs").status.success();
        for words in [
            &["stat", &inner][..],
            &["locate", "-b", "below", &format!("{root}/{name}")],
            &["top", root],
        ] {
            let told = site.of_ann(words);
            let names_it = told.text().contains(&format!("{name}/below"));
            assert!(is_seen || !names_it, "{what}: {words:?}: {told}");
        }
        assert!(
            is_seen == (site.of_ann(&["stat", &inner]).code == Some(0)),
            "{what}"
        );
    }
}

#[test]
fn whatever_lies_above_a_root_answers_are_as_of_now() {
    if cannot("directories above a watched root") {
        return;
    }
    let program = &program();
    for shape in SHAPES {
        let site = Site::new(shape, program);
        let daemon = site.daemon();
        for round in 0..2 {
            site.change(round);
            compare_all(&site, &format!("{shape:?}, round {round}"));
        }
        drop(daemon);
    }
}

#[test]
fn what_changes_above_a_root_counts_at_once() {
    if cannot("changes above a watched root") {
        return;
    }
    let program = &program();
    let site = Site::new(&[(0o755, None), (0o755, None)], program);
    let daemon = site.daemon();
    let above = site.scratch.join("above0");
    for (round, mode) in [0o711, 0o700, 0o711, 0o755, 0o744, 0o755, 0o711]
        .iter()
        .enumerate()
    {
        site.change(u32::try_from(round).expect("few"));
        set_mode(&above, *mode);
        // A user who saw nothing of the source cannot ask about it.
        let root = site.root.to_str().expect("our own name");
        if matches!(mode, 0o711 | 0o755) && round > 1 {
            let words = ["find", "--fresh", root, "-maxdepth", "0"];
            let mut line = oracle::command(&site.trawl);
            line.arg("-i").arg(site.scratch.join("index")).args(words);
            oracle::run(&mut line);
        }
        compare_all(&site, &format!("{mode:o} in round {round}"));
    }
    drop(daemon);
}

#[test]
fn an_owner_below_a_passage_has_their_directory_refreshed() {
    if cannot("refreshing below a passage") {
        return;
    }
    let program = &program();
    let site = Site::new(&[(0o711, None)], program);
    let daemon = site.daemon();
    let own = site.root.join("open");
    chown(&own, Some(ANN), Some(ANN)).expect("root may");
    let own = own.to_str().expect("our own name");
    let refreshed = site.of_ann(&["index", "--refresh", own]);
    assert_eq!(
        (refreshed.code, refreshed.errors()),
        (Some(0), String::new())
    );
    drop(daemon);
}

/// Counts the files of the index that contain a name of the tree, as ANN opens them.
fn raw(site: &Site, name: &str) -> usize {
    let index = site.scratch.join("index");
    let mut grep = Identity::user(ANN).command("grep");
    let found = oracle::run(grep.args(["-rlaF", name]).arg(index));
    found.text().lines().count()
}

#[test]
fn a_closed_directory_that_takes_a_place_hides_what_was_there() {
    if cannot("directories in the place of others") {
        return;
    }
    // The name does not compress, so that it can be found in files.
    const NAME: &str = "q7Zx0vKp2RwLbT9s";
    let program = &program();
    for (is_apart, is_inner) in [(false, false), (true, false), (false, true)] {
        let site = Site::new(&[(0o755, None)], program);
        let dir = site.root.join("open");
        fs::write(dir.join("below").join(NAME), "").expect("a file");
        let daemon = site.daemon();
        assert!(raw(&site, NAME) > 0, "the test can fail");
        fs::rename(&dir, site.scratch.join("away")).expect("one file system");
        if is_apart {
            compare(&site, &site.root, &[], "moved away");
        }
        fs::create_dir_all(dir.join("below")).expect("a directory");
        let closed = if is_inner { dir.join("below") } else { dir };
        set_mode(&closed, 0o700);
        let what = format!("apart {is_apart}, inner {is_inner}");
        compare(&site, &site.root, &[], &what);
        assert_eq!(raw(&site, NAME), 0, "{what}");
        drop(daemon);
    }
}
