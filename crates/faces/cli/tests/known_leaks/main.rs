//! Known holes in an earlier index of this kind, each as a test named after it: private directories
//! in summaries for all, attribute values of private files, files that the indexed user may write,
//! words pasted into shells and queries, totals with private parts, ignored ACLs, a moment of lax
//! modes while the index is built.
//!
//! The tests about attacks cover the longer stories.

#![forbid(unsafe_code)]

use std::path::Path;

use trawl_testkit::oracle::gnu;
use trawl_testkit::permissions::stage::{ALICE, BOB, MALLORY, MARKER, Stage, cannot, identity};
use trawl_testkit::skip;

fn stage(what: &str) -> Option<Stage> {
    if cannot(what) {
        return None;
    }
    Some(Stage::new(Path::new(env!("CARGO_BIN_EXE_trawl"))))
}

#[test]
fn rolled_up_private_directories_are_not_read_by_strangers() {
    let Some(stage) = stage("rolled-up directories") else {
        return;
    };
    // Small private subtrees below a public directory: the ones that a roll-up merges.
    for at in 0..30 {
        stage.folder(&format!("public/p{at}"), ALICE, 0o700);
        stage.file(&format!("public/p{at}/x-{MARKER}-{at}"), ALICE, 0o644);
    }
    stage.index(&[]).expect_code(0);
    assert_eq!(stage.leaks(&stage.index_dir(), MALLORY), [""; 0]);
    let words = ["find", "public", "-printf", "%p %s %i\\n"];
    for uid in [MALLORY, BOB, ALICE, 0] {
        let ours = stage.ask(uid, &words);
        let theirs = gnu("find", &words[1..], &stage.path(""), &identity(uid));
        let sorted = |text: String| {
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(ours.text()), sorted(theirs.text()), "user {uid}");
        assert_eq!(sorted(ours.errors()), sorted(theirs.errors()), "user {uid}");
        assert_eq!(ours.code, theirs.code, "user {uid}");
    }
    assert!(!stage.leaks(&stage.lax(), MALLORY).is_empty());
}

#[test]
fn attribute_values_of_private_files_are_not_shown() {
    let Some(stage) = stage("attribute values") else {
        return;
    };
    let ask =
        |uid, words: &[&str]| stage.ask(uid, &[&["getfattr"], words, &["public/token"]].concat());
    for uid in [ALICE, 0] {
        let ran = ask(uid, &["-d"]).expect_code(0);
        assert!(ran.text().contains(MARKER), "user {uid}: {ran}");
    }
    for uid in [MALLORY, BOB] {
        let words = ["-d", "public/token"];
        let theirs = gnu("getfattr", words, &stage.path(""), &identity(uid));
        let ours = ask(uid, &["-d"]);
        assert!(!ours.text().contains(MARKER), "user {uid}: {ours}");
        assert_eq!(
            (ours.text(), ours.code),
            (theirs.text(), theirs.code),
            "{ours}{theirs}"
        );
        let values = stage.ask(uid, &["find", ".", "-xattr", "user.secret=*"]);
        assert_eq!(values.text(), "", "{values}");
        let names = ask(uid, &["-m", "-"]);
        assert!(
            names.text().contains("user.secret"),
            "names are metadata: {names}"
        );
    }
    let values = |index: &Path| -> usize {
        let script = format!("grep -rlaF value-{MARKER} \"$1\" 2>/dev/null | wc -l");
        let ran = stage.shell_about(index, MALLORY, &script);
        ran.text().trim().parse().expect("a number")
    };
    assert_eq!(values(&stage.index_dir()), 0);
    assert!(values(&stage.lax()) > 0);
}

#[test]
fn index_files_are_not_writable_by_the_indexed_user() {
    let Some(stage) = stage("writable index files") else {
        return;
    };
    for uid in [ALICE, BOB, MALLORY] {
        let script = "find \"$1\" \\( -writable -o -uid $(id -u) \\) 2>/dev/null; true";
        assert_eq!(
            stage.shell(uid, script).expect_code(0).text(),
            "",
            "user {uid}"
        );
        let lax = stage.shell_about(&stage.lax(), uid, script);
        assert_ne!(lax.text(), "", "user {uid}");
    }
}

#[test]
fn search_words_reach_no_shell_and_no_query() {
    let Some(stage) = stage("injection") else {
        return;
    };
    let canary = stage.own().join("canary");
    let shell = format!(
        "x' -o $(touch {}) `touch {}`",
        canary.display(),
        canary.display()
    );
    for word in [
        shell.as_str(),
        "x' OR '1'='1",
        "x'; ATTACH DATABASE '/tmp/x' AS y; --",
    ] {
        for test in [
            "-name", "-path", "-regex", "-iname", "-lname", "-user", "-printf",
        ] {
            let ran = stage.ask(MALLORY, &["find", ".", test, word]);
            let is_shown = test != "-printf" && !ran.stdout.is_empty();
            assert!(!is_shown && !canary.exists(), "{ran}");
        }
    }
}

#[test]
fn totals_leave_out_private_subtrees() {
    let Some(stage) = stage("totals") else {
        return;
    };
    std::fs::write(stage.path("alice/deep/large"), vec![b'x'; 3 << 20]).expect("root may");
    stage.index(&[]).expect_code(0);
    for uid in [MALLORY, BOB, ALICE, 0] {
        for words in [
            &["-s", "-B1", "."][..],
            &["-s", "-b", "."],
            &["-s", "--inodes", "."],
            &["-s", "-B1", "alice"],
        ] {
            let theirs = gnu("du", words, &stage.path(""), &identity(uid));
            let ours = stage.ask(uid, &[&["du"], words].concat());
            assert_eq!(
                (ours.text(), ours.code),
                (theirs.text(), theirs.code),
                "{ours}{theirs}"
            );
        }
        let stats = stage.ask(uid, &["stats", "--json", "."]);
        let shows = stats.text().contains("3145728");
        assert!(!shows || uid == ALICE || uid == 0, "user {uid}: {stats}");
    }
    let top = stage.path("").display().to_string();
    let words = ["du", "-s", "-B1", &top];
    let (ours, lax) = (
        stage.ask(MALLORY, &words),
        stage.ask_of(&stage.lax(), MALLORY, &words),
    );
    assert_ne!(ours.text(), lax.text(), "a lax build adds them up");
}

#[test]
fn acls_count() {
    let Some(stage) = stage("ACLs") else {
        return;
    };
    let sees = |uid, name: &str| stage.ask(uid, &["find", "."]).text().contains(name);
    assert!(sees(BOB, "for-bob/note"), "an ACL lets him in");
    assert!(!sees(MALLORY, "for-bob/note"));
    assert!(!sees(BOB, "not-for-bob/gossip"), "an ACL keeps him out");
    assert!(sees(MALLORY, "not-for-bob/gossip"));
    // An empty mask: the mode's group bits are empty, and the list has no effect.
    stage.acl("for-bob", "m::---");
    stage.index(&[]).expect_code(0);
    assert!(!sees(BOB, "for-bob/note"));
    let find = |index: &Path| stage.ask_of(index, BOB, &["find", "not-for-bob"]).text();
    assert!(
        find(&stage.lax()).contains("gossip"),
        "a build without ACLs shows it"
    );
}

#[test]
fn no_moment_of_lax_modes_while_building() {
    let Some(stage) = stage("lax modes while building") else {
        return;
    };
    // Every call that creates something creates it closed, and nothing is put into a directory
    // before its permissions are final. The kernel's own account shows this, if strace exists.
    if let Some(skip) = skip::without_program("calls while building", "strace") {
        skip.say();
    } else {
        traced(&stage);
    }
    let script = "echo; until [ -e $2/stop ]; do grep -rlaF MARKER \"$1\" 2>/dev/null; done"
        .replace("MARKER", MARKER);
    let mut poller = stage.shell_command(&stage.index_dir(), MALLORY, &script);
    let poller = poller
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    for _ in 0..6 {
        let again = format!(
            "umask 0; rm -rf \"$1\"; exec {} -i \"$1\" index -q {}",
            stage.trawl.display(),
            stage.path("").display()
        );
        stage.shell(0, &again).expect_code(0);
    }
    std::fs::write(stage.own().join("stop"), "").expect("root may");
    let output = poller.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "\n");
}

/// Checks that no mkdir or creating open has more than the owner's bits, unless the directory
/// around it is closed, by the modes in the calls.
fn traced(stage: &Stage) {
    let log = stage.scratch.join("calls");
    let script = format!(
        "umask 0; rm -rf \"$1\"; exec strace -f -o {} -e trace=mkdir,mkdirat,open,openat,openat2,creat {} -i \"$1\" index -q {}",
        log.display(),
        stage.trawl.display(),
        stage.path("").display()
    );
    stage.shell(0, &script).expect_code(0);
    let calls = std::fs::read_to_string(&log).expect("a log");
    let makes = |line: &&str| line.contains("mkdir") || line.contains("O_CREAT");
    let writable = |line: &&str| {
        let mode = line.rsplit_once(", 0").map(|(_, mode)| mode.to_string());
        let digits = mode.map(|mode| {
            mode.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        });
        let bits = digits.and_then(|digits| u32::from_str_radix(&digits, 8).ok());
        bits.is_some_and(|bits| bits & 0o022 != 0)
    };
    assert!(calls.lines().filter(makes).count() > 5, "{calls}");
    let loose: Vec<&str> = calls.lines().filter(makes).filter(writable).collect();
    assert_eq!(loose, [""; 0]);
}
