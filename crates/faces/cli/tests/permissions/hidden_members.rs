//! Changes that the kernel hides from a user leave every answer about sets and lines as it was:
//! members, counts, attributes, messages, statistics.
//!
//! The same questions are asked before and after changes inside directories that the user can
//! neither list nor traverse, with and without a daemon. Some questions name what is hidden.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use trawl_testkit::permissions::members::quoted;
use trawl_testkit::permissions::stage::cannot;
use trawl_testkit::permissions::{Person, Plan, Site, people};
use trawl_testkit::prng::Prng;
use trawl_testkit::{Scratch, lines, oracle};

use super::hidden::{change, hidden_from};
use super::kernel::number;
use super::watched::watching;

/// Default number of trees.
const TREES: u64 = 4;
/// Number of changes where nobody sees them.
const CHANGES: usize = 40;

/// Questions; `@` stands for the tree as a name of a set, `=` for its path, `#` and `+` for a hidden
/// directory as a name of a set and as a path.
const QUESTIONS: &[&[&str]] = &[
    &["set", "--sort", "--digest", "@/*/*"],
    &["set", "--sort", "@/*/*/*/*"],
    &["set", "--size", "@/*/*/*"],
    &["set", "--size", "@/\\\\"],
    &["set", "--json", "@/\\-type f\\"],
    &["set", "--size", "@/\\-name 'hidden-*'\\"],
    &["set", "--sort", "--digest", "#/*"],
    &["set", "--sort", "--digest", "{#,@}/hidden-{1,2,3}*"],
    &["set", "--size", "#/\\\\"],
    &[
        "set",
        "--sort",
        "--stats",
        "--explain",
        "@/*/*",
        "--",
        "wc",
        "-c",
    ],
    &["set", "--sort", "--stats", "#/*", "--", "wc", "-c"],
    &["grep", "-ac", "line", "="],
    &["grep", "-aL", "line", "@/*/*"],
    &["grep", "-a", "--stats", "line", "="],
    &["grep", "-a", "--json", "of 1", "="],
    &["grep", "-al", "hidden", "+"],
    &["grep", "-aL", "hidden", "--", "=", "-name", "hidden-*"],
];

/// Returns a question's words about this tree and this hidden directory.
fn words(question: &[&str], tree: &Path, hidden: &Path) -> Vec<OsString> {
    let fill = |word: &&str| {
        let mut out = Vec::new();
        for byte in word.bytes() {
            match byte {
                b'@' => out.extend(quoted(tree.as_os_str().as_bytes())),
                b'=' => out.extend(tree.as_os_str().as_bytes()),
                b'#' => out.extend(quoted(hidden.as_os_str().as_bytes())),
                b'+' => out.extend(hidden.as_os_str().as_bytes()),
                byte => out.push(byte),
            }
        }
        OsString::from_vec(out)
    };
    question.iter().map(fill).collect()
}

/// Returns a text without numbers that have a fraction, and without nanoseconds: durations and
/// rates.
fn untimed(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        let has_fraction = piece.len() > 1 && piece.contains('.');
        let is_time = is_part(first) && (has_fraction || out.ends_with("nanos\\\":"));
        out.push_str(if is_time { "TIME" } else { piece });
        rest = after;
    }
    out
}

/// Returns everything that a person is told.
fn told(site: &Site, person: &Person, hidden: &Path) -> String {
    let mut all = String::new();
    for question in QUESTIONS {
        let mut line = person.identity().command(&site.trawl);
        line.current_dir("/").arg("-i").arg(site.index_dir());
        let ran = oracle::run(line.args(words(question, &site.root(), hidden)));
        let mut lines: Vec<String> = Vec::new();
        for (stream, bytes) in [("out", &ran.stdout), ("err", &ran.stderr)] {
            let text = bytes.escape_ascii().to_string().replace("\\n", "\n");
            let is_timed = stream == "err" || question.contains(&"--stats");
            let is_timed = is_timed || question.contains(&"--json") && question[0] == "grep";
            let text = if is_timed { untimed(&text) } else { text };
            lines.extend(text.lines().map(|line| format!("{stream} {line}")));
        }
        lines.sort_unstable();
        all.push_str(&format!(
            "{question:?} {:?}\n{}\n",
            ran.code,
            lines.join("\n")
        ));
    }
    all
}

#[test]
fn hidden_changes_leave_every_answer_about_members_and_lines_as_it_was() {
    if cannot("hidden changes and sets") {
        return;
    }
    let scratch = Scratch::new("permissions-hidden-members");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let first = number("TRAWL_SEED", 1);
    let mut compared = 0;
    for seed in first..first + number("TRAWL_HIDDEN_TREES", TREES) {
        let plan = Plan::new(seed);
        if plan.is_deep {
            continue;
        }
        for is_watched in [false, true] {
            let site = Site::build(&plan, &trawl).expect("a tree");
            // Some links lead to the index, whose files change.
            let mut find = oracle::command("find");
            let links = ["-type", "l", "-delete"];
            oracle::run(find.arg(site.root()).args(links)).expect_code(0);
            let mut prng = Prng::new(seed);
            let daemon = is_watched.then(|| watching(&trawl, &site.index_dir(), &site.root()));
            for person in people::everybody().iter().filter(|person| person.uid != 0) {
                let dirs = hidden_from(person, &site.root());
                if dirs.is_empty() || !prng.once_in(4) {
                    continue;
                }
                let hidden: PathBuf = prng.pick(&dirs).clone();
                if daemon.is_none() {
                    site.index().expect_code(0);
                }
                let before = told(&site, person, &hidden);
                for number in 0..CHANGES {
                    let dir = prng.pick(&dirs).clone();
                    change(&dir, &mut prng, number);
                }
                change(&hidden, &mut Prng::new(5), CHANGES);
                if daemon.is_none() {
                    site.index().expect_code(0);
                }
                let after = told(&site, person, &hidden);
                let what = format!("seed {seed}, {person}, watched: {is_watched}");
                let (before, after) = (before.as_bytes(), after.as_bytes());
                let order = lines::Order::Exact;
                lines::assert_same(&what, before, after, order, lines::Ending::Newline);
                compared += QUESTIONS.len();
            }
        }
    }
    assert!(compared > 100, "{compared}");
}
