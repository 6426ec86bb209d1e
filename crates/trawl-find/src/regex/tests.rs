//! Dialects against GNU find itself: the same patterns over the same names.

use super::*;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"aab",
    b"abab",
    b"abc",
    b"a+b",
    b"a|b",
    b"(a)",
    b"a{2}",
    b"aa",
    b"a*",
    b"*a",
    b"+",
    b"?",
    b"a b",
    b"a\nb",
    b"^a",
    b"a$",
    b"a^b",
    b"a$b",
    b"[a]",
    b"]",
    b"a\\b",
    b"1",
    b"-",
    b"a_b",
    b"A",
    b"AB",
    b"\xff",
    b"a\xff",
    "é".as_bytes(),
    "É".as_bytes(),
    b"{",
    b"}",
    b"a{x",
    b"a{1",
    b"x",
    b"\\",
    b"a)",
    b"w",
    b"tab\tx",
];

const PATTERNS: &[&str] = &[
    "a",
    "a*",
    "a+b",
    "a\\+b",
    "a?b",
    "a\\?b",
    "\\(a\\|b\\)*",
    "(a|b)*",
    "(a|b)+",
    "a\\|b",
    "a|b",
    ".*",
    ".",
    "..",
    "[ab]*",
    "[^a]",
    "[]a]",
    "[^]a]*",
    "[a-c]+",
    "[c-a]",
    "[[:alpha:]]",
    "[[:upper:]]*",
    "[[:foo:]]",
    "[a\\]b]*",
    "[\\]",
    "[a-]",
    "[]-a]",
    "a{2}",
    "a\\{2\\}",
    "a{1,}",
    "a{,2}",
    "a{2,1}",
    "a{x",
    "a{1",
    "a\\{x",
    "a{}",
    "{",
    "}",
    "*a",
    "+",
    "?",
    "+a",
    "\\(*a\\)",
    "(*a)",
    "(+)",
    "a**",
    "a+*",
    "a*\\{2\\}",
    "^a",
    "a$",
    "^a$",
    "a^b",
    "a$b",
    "a\\(^b\\)",
    "a.b",
    "a\\nb",
    "\\w*",
    "\\W",
    "\\s",
    "a\\sb",
    "\\<a\\>",
    "\\ba\\b",
    "a\\Bb",
    "\\`a\\'",
    "\\.",
    "\\(",
    "(",
    "\\)",
    ")",
    "()",
    "\\(\\)",
    "a)",
    "a||b",
    "|a",
    "a|",
    "(|a)b",
    "x\\",
    "[a",
    "[",
    "[[.a.]]",
    "[[.foo.]]",
    "[[=a=]]",
    "é",
    "[é]",
    "[^é]",
    "\\(a\\)b",
    "((a)(b))*",
    "a\nb",
    "^*",
    "(^a)",
    "\\(^*a\\)",
    "[a-a]",
    "[^\n]*",
    "a|^b",
    "$a",
    "a\\{1",
    "\\{1\\}",
    "{1}",
    "a{1}{2}",
    "(a{2}",
    "[[:digit:]-z]",
    "\\|a",
    "\\-",
    "\\x",
    "(a",
    "a\\",
];

/// What find says of each pattern: the names it prints, or its complaint.
fn ask_find(
    folder: &std::path::Path,
    dialect: &str,
    pattern: &str,
    test: &str,
    locale: &str,
) -> (Vec<Vec<u8>>, String) {
    let pattern = format!("./{pattern}");
    let output = Command::new("find")
        .args([
            ".",
            "-mindepth",
            "1",
            "-regextype",
            dialect,
            test,
            &pattern,
            "-printf",
            "%f\\0",
        ])
        .env("LC_ALL", locale)
        .current_dir(folder)
        .output()
        .expect("find(1) is part of every system");
    let mut names: Vec<Vec<u8>> = output
        .stdout
        .split(|b| *b == 0)
        .map(<[u8]>::to_vec)
        .collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = said.rsplit("': ").next().unwrap_or_default().trim_end();
    (names, complaint.to_owned())
}

#[test]
fn dialects_agree_with_find() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), b"").unwrap();
    }
    let (mut compared, mut wrong) = (0, Vec::new());
    for (locale_name, locale) in [("C.UTF-8", Locale::Utf8), ("C", Locale::Bytes)] {
        for dialect in Dialect::names()
            .filter(|name| !matches!(*name, "ed" | "sed" | "findutils-default" | "posix-egrep"))
        {
            for pattern in PATTERNS {
                for (test, case) in [("-regex", Case::Sensitive), ("-iregex", Case::Folded)] {
                    if case == Case::Folded && locale == Locale::Bytes {
                        continue;
                    }
                    let theirs = ask_find(folder.path(), dialect, pattern, test, locale_name);
                    let regex = Regex::new(
                        format!("./{pattern}").as_bytes(),
                        Dialect::parse(dialect).unwrap(),
                        case,
                        locale,
                    );
                    let ours = match regex {
                        Ok(regex) => {
                            let path = |name: &[u8]| [b"./", name].concat();
                            let mut names: Vec<Vec<u8>> = NAMES
                                .iter()
                                .filter(|n| regex.matches(&path(n)))
                                .map(|n| n.to_vec())
                                .collect();
                            names.sort();
                            (names, String::new())
                        }
                        Err(error) => (Vec::new(), error.to_string()),
                    };
                    compared += 1;
                    if ours != theirs {
                        wrong.push(format!("{locale_name} {dialect} {test} {pattern:?}: ours {ours:?}, find {theirs:?}"));
                    }
                }
            }
        }
    }
    assert!(compared > 2000);
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn back_references_are_refused() {
    let new = |pattern: &[u8]| Regex::new(pattern, Dialect::Emacs, Case::Sensitive, Locale::Utf8);
    assert!(matches!(new(b"\\(a\\)\\1"), Err(RegexError::BackReference)));
    assert!(matches!(new(b"\\1"), Err(RegexError::InvalidBackReference)));
}

#[test]
fn hostile_patterns_end_soon() {
    for pattern in [
        "(".repeat(100_000),
        "(((a{999}){999}){999}){999}".into(),
        "a{32767}{32767}".into(),
        "*".repeat(100_000),
    ] {
        for dialect in [Dialect::PosixExtended, Dialect::Egrep, Dialect::Emacs] {
            let _ = Regex::new(pattern.as_bytes(), dialect, Case::Sensitive, Locale::Utf8);
        }
    }
}
