//! The house style, as far as a program can see it: every source file says
//! what it is for, none is too long, and nothing is left for later.

use std::fs;

mod tree;

const LONGEST_FILE_LINES: usize = 800;

/// Macros that mark unfinished work or a forgotten probe. Spelled in two
/// parts, so that this file keeps its own rule.
const LEFT_OVERS: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
];

/// What is wrong with one source file's text.
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
fn each_rule_can_be_broken() {
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
