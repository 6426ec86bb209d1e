//! Watching the index from outside: names, numbers, sizes and times of
//! everything that can be reached must not depend on what is private.

use std::path::Path;

use trawl_testkit::permissions::stage::{ALICE, BOB, MALLORY, MARKER, Stage};
use trawl_testkit::{lines, oracle};

use crate::{cannot, program};

/// All that a user can find out without knowing names: attributes of what
/// can be reached, and the content of what can be read. Times of snapshots
/// differ from build to build and are masked, and with them the lengths of
/// files whose content is compared.
const LOOK: &str = r#"
cd "$1"
find . -type f -readable ! -name '*.parquet' -printf '%p %m %U %G %n\n' \
    -o -printf '%p %y %m %U %G %n %s\n' 2>/dev/null
find . -exec getfacl -nc {} + 2>/dev/null
find . -type f -name '*.parquet' -readable -exec sha256sum {} + 2>/dev/null
find . -type f ! -name '*.parquet' -readable -exec cat {} + 2>/dev/null |
    sed -E 's/"(s|ns)": ?-?[0-9]+/TIME/g; /^xxh3-128 /d'
true
"#;

/// What a user sees of an index, sorted, since names hold ids.
fn look(stage: &Stage, index: &Path, uid: u32) -> String {
    let script = "find \"$1\" -name current -exec head -n 1 {} \\;";
    let snapshot = stage.shell_about(index, 0, script).expect_code(0).text();
    let text = stage.shell_about(index, uid, LOOK).expect_code(0).text();
    let text = text.replace(snapshot.trim(), "SNAPSHOT");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Makes an index of its own at `name` and looks at it.
fn built(stage: &Stage, uid: u32) -> String {
    oracle::run(oracle::command("rm").arg("-rf").arg(stage.index_dir())).expect_code(0);
    stage.index(&[]).expect_code(0);
    look(stage, &stage.index_dir(), uid)
}

/// Changes that Mallory cannot see on the source: more entries, other
/// names, other sizes, other permissions, attributes, directories.
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
    let as_root = look(&stage, &stage.index_dir(), 0);
    change_private(&stage);
    let after = built(&stage, MALLORY);
    lines::assert_same(
        "after a private change",
        before.as_bytes(),
        after.as_bytes(),
        lines::Order::Exact,
        lines::Ending::Newline,
    );
    let of_root = look(&stage, &stage.index_dir(), 0);
    assert_ne!(of_root, as_root, "who may see it sees a difference");
    let lax = stage.lax();
    let open = look(&stage, &lax, MALLORY);
    assert!(
        open.lines().count() > before.lines().count(),
        "a lax build shows it"
    );
}

#[test]
fn guard_directories_do_not_change_when_what_they_guard_does() {
    if cannot("watching guard directories") {
        return;
    }
    let stage = Stage::crowded(program());
    // Directories that Mallory can stat and not enter: the private ones.
    // Directories of barriers may be passed; each commit sets their times.
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
    // The directory's own size grew; that is for those who may enter Alice's.
    stage.index(&[]).expect_code(0);
    assert_eq!(ask(MALLORY), before);
    assert_ne!(ask(0), root_before, "who may see it sees a difference");
}

/// Drops members that say when.
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
