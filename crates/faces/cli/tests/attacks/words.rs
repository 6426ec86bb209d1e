//! Arguments that a careless program might paste into a shell, a query or a path.

use trawl_testkit::oracle::gnu;
use trawl_testkit::permissions::stage::{MALLORY, MARKER, Stage, identity};

use crate::{cannot, program};

/// Words that do harm if they are pasted into a shell or a query.
const HOSTILE: &[&str] = &[
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY;",
    "| touch CANARY",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "\ntouch CANARY\n",
    "&& touch CANARY",
    "' OR 1=1 --",
    "'; DROP TABLE entries; --",
    "\" UNION SELECT * FROM entries --",
    "%' OR name LIKE '%",
    "*/../../*",
    "{}",
    "-exec",
];

/// Starts whose spelling leaves the public directory.
const ESCAPES: &[&str] = &[
    "public/../alice/deep",
    "public/./../alice/deep/letter-MARKER",
    "public//..//for-bob",
    "../tree/alice",
    "public/../../tree/for-bob",
    "/proc/self/root/tree",
    "alice/",
    "alice/.",
    "alice/..",
    "alice/deep/..",
];

#[test]
fn words_are_never_run_by_a_shell_or_a_query() {
    if cannot("hostile words") {
        return;
    }
    let stage = Stage::new(program());
    let canary = stage.own().join("canary");
    for word in HOSTILE {
        let word = word.replace("CANARY", &canary.display().to_string());
        for words in [
            &["find", ".", "-name", &word][..],
            &["find", ".", "-path", &word],
            &["find", ".", "-regex", &word],
            &["find", ".", "-printf", &word],
            &["find", &word],
            &["ls", "--", &word],
            &["stat", "--", &word],
            &["stat", "-c", &word, "public"],
            &["du", "--", &word],
            &["stats", "--", &word],
            &["getfattr", "-d", "-m", &word, "--", "public"],
        ] {
            let ran = stage.ask(MALLORY, words);
            assert!(ran.signal.is_none() && ran.code != Some(137), "{ran}");
            assert!(!ran.errors().contains("panicked"), "{ran}");
            assert!(!ran.text().replace(&word, "").contains(MARKER), "{ran}");
            assert!(!canary.exists(), "{ran}");
        }
    }
    // A tool that pastes its argument into a shell does run it.
    let word = HOSTILE[0].replace("CANARY", &canary.display().to_string());
    stage.shell(
        MALLORY,
        &format!("find /nowhere -name \"{word}\" 2>/dev/null; true"),
    );
    assert!(canary.exists());
}

#[test]
fn no_spelling_of_a_path_leads_around_a_guard() {
    if cannot("path escapes") {
        return;
    }
    let stage = Stage::new(program());
    let mut shown = Vec::new();
    for escape in ESCAPES {
        let escape = escape.replace("MARKER", MARKER);
        for tool in ["find", "du", "ls"] {
            let ours = stage.ask(MALLORY, &[tool, &escape]);
            assert!(!ours.text().contains(MARKER), "{ours}");
            // Nothing is shown of what the kernel refuses.
            let theirs = gnu(tool, [&escape], &stage.path(""), &identity(MALLORY));
            if theirs.stdout.is_empty() && (!ours.stdout.is_empty() || ours.code == Some(0)) {
                shown.push(format!("{ours}{}", ours.text()));
            }
        }
    }
    assert_eq!(shown, [""; 0]);
    let lax = stage.lax();
    let ran = stage.ask_of(&lax, MALLORY, &["find", "public/../alice/deep"]);
    assert!(ran.text().contains(MARKER), "a lax build answers: {ran}");
}

#[test]
fn names_and_values_in_the_tree_are_data() {
    if cannot("hostile names") {
        return;
    }
    let stage = Stage::unindexed(program());
    let canary = stage.own().join("canary");
    for (at, word) in HOSTILE.iter().enumerate() {
        let name = word.replace("CANARY", "canary").replace('/', "_");
        stage.file(&format!("public/{at}{name}"), MALLORY, 0o644);
    }
    stage.file("public/\x1b]0;title\x07\x1b[2J", MALLORY, 0o644);
    stage.index(&[]).expect_code(0);
    for tool in ["find", "du", "ls"] {
        let words = ["public", "-a"];
        let last = if tool == "find" { 1 } else { 2 };
        let ours = stage
            .ask(MALLORY, &[&[tool], &words[..last]].concat())
            .expect_code(0);
        let theirs = gnu(tool, &words[..last], &stage.path(""), &identity(MALLORY));
        let (mut ours, mut theirs) = (ours.stdout, theirs.stdout);
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{tool}");
    }
    assert!(!canary.exists() && !stage.path("canary").exists());
}
