//! Observing the index from outside: names, numbers, sizes and times of everything that can be
//! reached must not depend on private data.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trawl_testkit::permissions::stage::{ALICE, BOB, MALLORY, MARKER, Stage, identity};
use trawl_testkit::permissions::view::view_of;
use trawl_testkit::{lines, oracle};

use crate::moving::{ask, end, watching};
use crate::{cannot, program};

/// Returns what a user sees of an index.
fn look(index: &Path, uid: u32) -> String {
    view_of(index, &identity(uid))
}

/// Creates an index at `name` and returns what the user sees of it.
fn built(stage: &Stage, uid: u32) -> String {
    oracle::run(oracle::command("rm").arg("-rf").arg(stage.index_dir())).expect_code(0);
    stage.index(&[]).expect_code(0);
    look(&stage.index_dir(), uid)
}

/// Makes changes that Mallory cannot see on the source: more entries, other names, other sizes,
/// other permissions, attributes, directories.
fn change_private(stage: &Stage) {
    for at in 0..300 {
        stage.file(&format!("alice/deep/more-{at}"), ALICE, 0o644);
    }
    stage.folder("alice/deep/for-all", ALICE, 0o755);
    stage.folder("alice/deep/bobs", BOB, 0o700);
    stage.file("alice/deep/bobs/inner", BOB, 0o600);
    stage.acl("alice/deep/for-all", "u:60009:rwx,g:60101:--x");
    for at in 0..4_200 {
        stage.file(&format!("alice/deep/for-all/crowd-{at}"), ALICE, 0o600);
    }
}

#[test]
fn two_builds_that_differ_in_private_content_look_the_same() {
    if cannot("comparing builds") {
        return;
    }
    let stage = Stage::unindexed(program());
    let before = built(&stage, MALLORY);
    let again = built(&stage, MALLORY);
    assert!(before.lines().count() > 20, "{before}");
    lines::assert_same(
        "two equal builds",
        before.as_bytes(),
        again.as_bytes(),
        lines::Order::Exact,
        lines::Ending::Newline,
    );
    let as_root = look(&stage.index_dir(), 0);
    change_private(&stage);
    let after = built(&stage, MALLORY);
    lines::assert_same(
        "after a private change",
        before.as_bytes(),
        after.as_bytes(),
        lines::Order::Exact,
        lines::Ending::Newline,
    );
    let of_root = look(&stage.index_dir(), 0);
    assert_ne!(of_root, as_root, "who may see it sees a difference");
    let lax = stage.lax();
    let open = look(&lax, MALLORY);
    assert!(
        open.lines().count() > before.lines().count(),
        "a lax build shows it"
    );
}

/// Returns all directories of the index that a user can find.
fn directories(stage: &Stage, uid: u32) -> String {
    directories_of(stage, "", uid)
}

/// Returns those of another index, whose name is the stage's own followed by `beside`.
fn directories_of(stage: &Stage, beside: &str, uid: u32) -> String {
    let find = "find . -type d -printf '%p %m\\n' 2>/dev/null | sort";
    let script = format!("cd \"$1{beside}\" && {find}");
    stage.shell(uid, &script).text()
}

/// Returns the directories of barriers that Mallory can find in the index, or in one beside it.
fn barriers(stage: &Stage, beside: &str) -> Vec<String> {
    let all = directories_of(stage, beside, MALLORY);
    let lines = all.lines().filter(|line| line.contains("/data/b"));
    lines.map(str::to_owned).collect()
}

#[test]
fn what_is_closed_leaves_no_directories_behind() {
    if cannot("skeletons") {
        return;
    }
    let stage = Stage::new(program());
    let lock = |name: &str| {
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(stage.path(name), closed).expect("root may");
    };
    let before = directories(&stage, MALLORY);
    lock("home");
    // The earlier state stays as an older snapshot.
    stage.index(&["--keep", "5"]).expect_code(0);
    let after = directories(&stage, MALLORY);
    assert_ne!(before, after, "it was to be seen");
    oracle::run(oracle::command("rm").arg("-rf").arg(stage.index_dir())).expect_code(0);
    stage.index(&[]).expect_code(0);
    lines::assert_same(
        "an index that never knew it open",
        directories(&stage, MALLORY).as_bytes(),
        after.as_bytes(),
        lines::Order::Exact,
        lines::Ending::Newline,
    );
}

/// Checks that, after steps while a daemon watched, Mallory finds the same directories of barriers
/// as in an index that was made at that time: both once the daemon has answered and once it has
/// ended.
#[track_caller]
fn check_skeletons(what: &str, is_crowded: bool, steps: &[&dyn Fn(&Stage)]) {
    let stage = match is_crowded {
        true => Stage::crowded(program()),
        false => Stage::new(program()),
    };
    let mut daemon = watching(&stage);
    ask(&stage);
    for step in steps {
        step(&stage);
        ask(&stage);
    }
    let at_once = barriers(&stage, "");
    let mut beside = stage.index_dir().into_os_string();
    beside.push("-beside");
    let mut index = oracle::command(program());
    index.arg("-i").arg(&beside).args(["index", "-q"]);
    oracle::run(index.arg(stage.path(""))).expect_code(0);
    let fresh = barriers(&stage, "-beside");
    assert_eq!(at_once, fresh, "{what}, answered");
    end(&mut daemon);
    assert_eq!(barriers(&stage, ""), fresh, "{what}, ended");
}

#[test]
fn a_daemon_leaves_no_directories_of_barriers_behind() {
    if cannot("skeletons of a watched index") {
        return;
    }
    let close = |stage: &Stage, name: &str| {
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(stage.path(name), closed).expect("root may");
    };
    check_skeletons("closed", false, &[&|stage| close(stage, "home")]);
    check_skeletons("crowded and closed", true, &[&|stage| close(stage, "home")]);
    check_skeletons(
        "changed, crowded and closed",
        true,
        &[
            &|stage| {
                stage.file("home/new", ALICE, 0o644);
                stage.file(&format!("home/bob-{MARKER}/new"), BOB, 0o644);
            },
            &|stage| close(stage, "home"),
        ],
    );
    check_skeletons(
        "moved into a closed one",
        true,
        &[&|stage| {
            std::fs::rename(stage.path("home"), stage.path("alice/home")).expect("root may");
        }],
    );
    check_skeletons(
        "nothing closed",
        true,
        &[&|stage| {
            stage.folder("public/new", 0, 0o711);
            stage.folder("public/new/inner", 0, 0o700);
        }],
    );
    check_skeletons(
        "by an access list",
        false,
        &[&|stage| {
            close(stage, "home");
            stage.folder("public/listed", ALICE, 0o750);
            stage.acl("public/listed", &format!("u:{BOB}:--x"));
            stage.folder("public/listed/inner", BOB, 0o755);
        }],
    );
    check_skeletons(
        "made and closed",
        false,
        &[
            &|stage| {
                stage.folder("public/homes", 0, 0o711);
                stage.folder("public/homes/bob", BOB, 0o755);
                stage.file("public/homes/bob/plain", BOB, 0o644);
            },
            &|stage| close(stage, "public/homes"),
        ],
    );
}

#[test]
fn guard_directories_do_not_change_when_what_they_guard_does() {
    if cannot("watching guard directories") {
        return;
    }
    let stage = Stage::crowded(program());
    // Directories that Mallory can stat but not enter: the private ones. Directories of barriers
    // may be traversed; each commit sets their times.
    let script = r"find $1 -type d ! -executable -printf '%p %m %n %s %T@ %C@\n' 2>/dev/null
                   find $1 -type d -executable ! -readable -printf '%p %m %n %s\n' 2>/dev/null
                   true";
    let watch = |uid| stage.shell(uid, script).expect_code(0).text();
    let before = watch(MALLORY);
    assert!(before.lines().count() >= 2, "{before}");
    let inside = |stage: &Stage| {
        stage
            .shell(0, "find \"$1\" -type d -printf '%p %T@ %C@\\n'")
            .text()
    };
    let inner = inside(&stage);
    change_private(&stage);
    stage.file(&format!("home/bob-{MARKER}/one-more"), BOB, 0o644);
    stage.index(&[]).expect_code(0);
    lines::assert_same(
        "guard directories",
        before.as_bytes(),
        watch(MALLORY).as_bytes(),
        lines::Order::Any,
        lines::Ending::Newline,
    );
    assert_ne!(
        inside(&stage),
        inner,
        "directories that hold data tell of changes"
    );
}

#[test]
fn totals_tell_nothing_of_what_is_private() {
    if cannot("totals") {
        return;
    }
    let stage = Stage::new(program());
    let ask = |uid| {
        let lines: [&[&str]; 4] = [
            &["du", "-s", "-B1", "."],
            &["stats", "."],
            &["sources", "--json"],
            &["du", "--inodes", "alice"],
        ];
        let answers = lines.map(|words| stage.ask(uid, words).text());
        let masked = answers.map(|text| without_times(&text));
        masked.join("---\n")
    };
    let (before, root_before) = (ask(MALLORY), ask(0));
    change_private(&stage);
    // The directory's own size grew; only users who may enter Alice's directory see that.
    stage.index(&[]).expect_code(0);
    assert_eq!(ask(MALLORY), before);
    assert_ne!(ask(0), root_before, "who may see it sees a difference");
}

/// Removes members that contain times.
fn without_times(text: &str) -> String {
    let is_time = |line: &&str| {
        let words = ["started", "finished", "snapshot", "as of", "scanned"];
        words.iter().any(|word| line.contains(word))
    };
    let Some(start) = text.find('{') else {
        return text
            .lines()
            .filter(|line| !is_time(line))
            .collect::<Vec<_>>()
            .join("\n");
    };
    text[start..]
        .split(',')
        .filter(|member| !is_time(member) && !member.contains("ns") && !member.contains("\"id\""))
        .collect::<Vec<_>>()
        .join(",")
}
