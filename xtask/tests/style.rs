//! Checks the house style, as far as a program can: every source file states its purpose, none is
//! too long, and none contains unfinished work.

use std::fs;

mod tree;

const LONGEST_FILE_LINES: usize = 800;

/// Macros that mark unfinished work or a forgotten probe. Spelled in two parts, so that this file
/// follows its own rule.
const LEFT_OVERS: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
];

/// The standard library's way to start a program. Spelled in two parts, too.
const STARTS: &str = concat!("Command::", "new(");

/// Exceptions: the test kit's own function; the rule about crates, which runs Cargo with its
/// settings; and code shared with the fuzz targets, which do not use the test kit.
const MAY_START: &[&str] = &[
    "testkit/src/oracle.rs",
    "xtask/tests/dependencies.rs",
    "crates/store/query/tests/forged/victim.rs",
];

/// Returns the lines of a test that start a program with the machine's environment variables.
/// `path` is relative to the repository.
fn unclean_starts(path: &str, source: &str) -> Vec<usize> {
    if MAY_START.contains(&path) || path.starts_with("fuzz/") {
        return Vec::new();
    }
    let is_test = path.starts_with("testkit/")
        || path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs");
    let tests_begin = match is_test {
        true => 0,
        false => source.find("#[cfg(test)]\nmod ").unwrap_or(source.len()),
    };
    let before = source[..tests_begin].lines().count();
    let lines = source[tests_begin..].lines().enumerate();
    let found = lines.filter(|(_, line)| line.contains(STARTS));
    found.map(|(at, _)| before + at + 1).collect()
}

/// Returns the faults of a source file's text.
fn complaints(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !source.starts_with("//!") {
        found.push("does not open with `//!`: say what the file is for".to_owned());
    }
    let lines = source.lines().count();
    if lines > LONGEST_FILE_LINES {
        found.push(format!(
            "has {lines} lines, more than {LONGEST_FILE_LINES}: split it by idea"
        ));
    }
    for (number, line) in source.lines().enumerate() {
        for left_over in LEFT_OVERS
            .iter()
            .filter(|left_over| line.contains(**left_over))
        {
            found.push(format!("line {}: {left_over}…) is left over", number + 1));
        }
    }
    found
}

#[test]
fn every_source_file_keeps_the_house_style() {
    let root = tree::root();
    let sources: Vec<_> = tree::files(&root)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs"))
        .collect();
    assert!(
        sources.len() > 10,
        "found only {} source files below {}",
        sources.len(),
        root.display()
    );
    let mut broken = Vec::new();
    for path in sources {
        let source = fs::read_to_string(&path).expect("a source file can be read");
        broken.extend(
            complaints(&source)
                .into_iter()
                .map(|complaint| format!("{}: {complaint}", path.display())),
        );
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn tests_start_programs_in_the_fixed_environment() {
    let root = tree::root();
    let mut broken = Vec::new();
    for path in tree::files(&root) {
        let relative = path.strip_prefix(&root).expect("it lies below the root");
        let relative = relative.display().to_string();
        if !relative.ends_with(".rs") {
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source file can be read");
        let lines = unclean_starts(&relative, &source);
        broken.extend(lines.iter().map(|line| format!("{relative}:{line}")));
    }
    assert!(
        broken.is_empty(),
        "start programs of tests with trawl_testkit::oracle::command:\n{}",
        broken.join("\n")
    );
}

#[test]
fn each_rule_can_be_broken() {
    let start = format!("{STARTS}\"ls\")\n");
    assert_eq!(unclean_starts("crates/a/tests/b/c.rs", &start), [1]);
    assert_eq!(unclean_starts("crates/a/src/b/tests.rs", &start), [1]);
    let shipped = format!("{start}#[cfg(test)]\nmod tests {{\n{start}");
    assert_eq!(unclean_starts("crates/a/src/b.rs", &shipped), [4]);
    assert_eq!(unclean_starts(MAY_START[0], &start), [0; 0]);
    assert!(complaints("//! Fine.\n").is_empty());
    assert_eq!(complaints("fn main() {}\n").len(), 1);
    assert_eq!(
        complaints(&format!("//! x\n{}", "\n".repeat(LONGEST_FILE_LINES))).len(),
        1
    );
    assert_eq!(
        complaints(&format!("//! x\n{}1);\n", LEFT_OVERS[2])).len(),
        1
    );
}
