//! The walk of `trawl find --live` compared with that of GNU find, byte for byte and in the same
//! order, in trees that are hard for a walk: very deep, very wide, few descriptors, links in
//! circles.

use std::os::unix::fs::symlink;
use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::process::CLOSE_INHERITED;

/// Levels of a chain whose path is longer than the kernel accepts at once.
const LEVELS: usize = 300;
/// Number of entries beyond which find orders a directory by inode numbers.
const WIDE: usize = 10_500;

/// Builds `deep`, `wide` and `circles` in `root`.
fn build(root: &Path) {
    let name = "x".repeat(40);
    let script = format!(
        "set -e; mkdir deep wide circles; cd deep; i=0
         while [ $i -lt {LEVELS} ]; do mkdir {name} side; : > file; cd {name}; i=$((i+1)); done"
    );
    let made = trawl_testkit::oracle::command("bash")
        .args(["-c", &script])
        .current_dir(root)
        .status();
    assert!(made.unwrap().success());
    for number in 0..WIDE {
        std::fs::write(root.join(format!("wide/f{number}")), "").unwrap();
    }
    for number in 0..20 {
        std::fs::create_dir(root.join(format!("wide/f{number}d"))).unwrap();
    }
    let circles = root.join("circles");
    std::fs::create_dir_all(circles.join("a/b")).unwrap();
    for (link, target) in [
        ("a/b/up", "../.."),
        ("a/side", "b"),
        ("self", "self"),
        ("through", "a/none/x"),
    ] {
        symlink(target, circles.join(link)).unwrap();
    }
}

/// Returns exit code, output and messages of a shell line in which `$FIND` stands for the program.
fn run(root: &Path, find: &str, line: &str) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    let ran = trawl_testkit::oracle::command("bash")
        .args(["-c", line])
        .current_dir(root)
        .env("FIND", find)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    (ran.status.code(), ran.stdout, ran.stderr)
}

#[test]
fn the_walk_is_that_of_find() {
    let scratch = Scratch::new("find-live");
    build(scratch.path());
    let ours = format!("{} find --live", env!("CARGO_BIN_EXE_trawl"));
    for line in [
        "$FIND .",
        "$FIND . -depth",
        "$FIND deep -type d -name side -printf '%d %s %P\\n'",
        "$FIND deep -maxdepth 200 -size -1 | tail -n 5",
        "$FIND wide -type d",
        "$FIND wide -links 2 -o -name '*9' -print",
        "$FIND wide -mindepth 1 -quit",
        "$FIND -L circles",
        "$FIND -L circles -depth -type d",
        "$FIND -L circles/a/side",
        "$FIND -H circles/a/side circles/self circles/through",
        "$FIND wide deep -type d -exec true {} + -print | tail -n 30",
    ] {
        let (theirs, ours) = (
            run(scratch.path(), "find", line),
            run(scratch.path(), &ours, line),
        );
        assert_eq!(theirs.0, ours.0, "{line}");
        assert_same_lines(line, &theirs.1, &ours.1);
        assert_eq!(
            String::from_utf8_lossy(&theirs.2),
            String::from_utf8_lossy(&ours.2),
            "{line}"
        );
    }
}

/// GNU find itself fails here, so it is run with more descriptors.
#[test]
fn few_descriptors_are_enough() {
    let scratch = Scratch::new("find-live-few");
    build(scratch.path());
    let ours = format!("{} find --live", env!("CARGO_BIN_EXE_trawl"));
    for line in ["$FIND .", "$FIND deep -depth -exec true {} + -print"] {
        let theirs = run(scratch.path(), "find", line);
        let few = format!("{CLOSE_INHERITED}; ulimit -n 12; {line}");
        let few = run(scratch.path(), &ours, &few);
        let messages = String::from_utf8_lossy(&few.2);
        assert_eq!((few.0, &messages[..]), (Some(0), ""), "{line}");
        assert_same_lines(line, &theirs.1, &few.1);
    }
}

/// Compares outputs that are too long to be shown whole.
fn assert_same_lines(line: &str, theirs: &[u8], ours: &[u8]) {
    let lines = |output: &[u8]| output.split(|byte| *byte == b'\n').count();
    let mut both = theirs
        .split(|byte| *byte == b'\n')
        .zip(ours.split(|byte| *byte == b'\n'));
    if let Some((theirs, ours)) = both.find(|(theirs, ours)| theirs != ours) {
        let [theirs, ours] = [theirs, ours].map(String::from_utf8_lossy);
        panic!("{line}: find prints {theirs}, trawl {ours}");
    }
    assert_eq!(lines(theirs), lines(ours), "{line}: number of lines");
}
