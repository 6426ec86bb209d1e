//! Compares dialects with GNU find: the same patterns over the same names.

use super::*;
use std::os::unix::ffi::OsStrExt;

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
    "\\(a\\)\\1",
    "(a)\\1",
    "(.)(.)\\2\\1",
    "\\(.\\)*\\1",
    "\\(ab*\\)\\1",
    "(a|b)\\1b",
    "\\(a\\|b\\)b?\\1",
    "\\(\\(a\\)\\1\\)",
    "\\1",
    "(a)\\2",
    "\\(é\\)\\1",
    "\\(.\\)\\1{2}",
];

/// Returns GNU find's answer to a pattern: the names it prints, or its message.
fn ask_find(
    folder: &std::path::Path,
    dialect: &str,
    pattern: &str,
    test: &str,
    locale: &str,
) -> (Vec<Vec<u8>>, String) {
    let pattern = format!("./{pattern}");
    let output = trawl_testkit::oracle::command("find")
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

/// Creates a directory with a file of each name.
fn folder_of_names() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), b"").unwrap();
    }
    folder
}

/// A pattern, with its dialect and case.
#[derive(Debug)]
struct Question<'a> {
    dialect: &'a str,
    pattern: &'a str,
    case: Case,
    locale: Locale,
}

impl Question<'_> {
    /// Describes how the answers differ, if they do.
    fn difference(&self, folder: &std::path::Path) -> Option<String> {
        let test = match self.case {
            Case::Sensitive => "-regex",
            Case::Folded => "-iregex",
        };
        let locale = if self.locale.is_utf8() {
            "C.UTF-8"
        } else {
            "C"
        };
        let theirs = ask_find(folder, self.dialect, self.pattern, test, locale);
        let dialect = Dialect::parse(self.dialect).unwrap();
        let pattern = format!("./{}", self.pattern);
        let ours = match Regex::new(pattern.as_bytes(), dialect, self.case, self.locale) {
            Ok(regex) => {
                let matches = |n: &&&[u8]| regex.matches(&[b"./", **n].concat());
                let mut names: Vec<Vec<u8>> =
                    NAMES.iter().filter(matches).map(|n| n.to_vec()).collect();
                names.sort();
                (names, String::new())
            }
            Err(error) => (Vec::new(), error.to_string()),
        };
        (ours != theirs).then(|| {
            let shown = |(names, said): &(Vec<Vec<u8>>, String)| {
                let names: Vec<_> = names.iter().map(|n| n.escape_ascii().to_string()).collect();
                format!("{names:?} {said}")
            };
            format!("{self:?}: ours {}, find {}", shown(&ours), shown(&theirs))
        })
    }
}

#[test]
fn dialects_agree_with_find() {
    let folder = folder_of_names();
    let (mut compared, mut wrong) = (0, Vec::new());
    for locale in [Locale::Utf8, Locale::Bytes] {
        for dialect in
            Dialect::names().filter(|name| !matches!(*name, "ed" | "sed" | "posix-egrep"))
        {
            for pattern in PATTERNS {
                for case in [Case::Sensitive, Case::Folded] {
                    if case == Case::Folded && locale == Locale::Bytes {
                        continue;
                    }
                    let case = Question {
                        dialect,
                        pattern,
                        case,
                        locale,
                    };
                    compared += 1;
                    wrong.extend(case.difference(folder.path()));
                }
            }
        }
    }
    assert!(compared > 2000);
    let many = wrong.len();
    assert!(
        many == 0,
        "{many} of {compared} differ:\n{}",
        wrong.join("\n")
    );
}

/// Pieces of random patterns.
const PIECES: &[&str] = &[
    "a",
    "a",
    "b",
    "ab",
    "A",
    "x",
    "1",
    ".",
    ".",
    "*",
    "+",
    "?",
    "\\+",
    "\\?",
    "|",
    "\\|",
    "(",
    ")",
    "\\(",
    "\\)",
    "(a)",
    "\\(a\\)",
    "\\(.\\)",
    "(.)",
    "\\1",
    "\\2",
    "{2}",
    "\\{2\\}",
    "{1,}",
    "\\{,2\\}",
    "{0,1}",
    "{",
    "}",
    "\\{",
    "\\}",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[[:alpha:]]",
    "[^[:punct:]]",
    "[[:upper:][:digit:]]",
    "[]]",
    "[^]a-]",
    "[\\]",
    "[\\n]",
    "[é]",
    "é",
    "É",
    "^",
    "$",
    "\\`",
    "\\'",
    "\\b",
    "\\B",
    "\\<",
    "\\>",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\.",
    "\\*",
    "\\^",
    "\\$",
    "\\[",
    "\\\\",
    "\n",
    "\t",
    " ",
    "-",
    ",",
    "\\-",
    "\\a",
    "\\n",
    "_",
];

#[test]
fn random_patterns_agree_with_find() {
    let told = std::env::var("TRAWL_TEST_PATTERNS").ok();
    let count: u64 = told.and_then(|text| text.parse().ok()).unwrap_or(400);
    let folder = folder_of_names();
    let dialects: Vec<&str> = Dialect::names().collect();
    let mut state = 11u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let (mut matching, mut wrong) = (0, Vec::new());
    for _ in 0..count {
        let pieces = 1 + below(5);
        let pattern: String = (0..pieces).map(|_| PIECES[below(PIECES.len())]).collect();
        let case = Question {
            dialect: dialects[below(dialects.len())],
            pattern: &pattern,
            case: [Case::Sensitive, Case::Folded][below(2)],
            locale: [Locale::Utf8, Locale::Bytes][below(2)],
        };
        wrong.extend(case.difference(folder.path()));
        let dialect = Dialect::parse(case.dialect).unwrap();
        let path = format!("./{pattern}");
        let regex = Regex::new(path.as_bytes(), dialect, case.case, case.locale);
        matching += u64::from(regex.is_ok_and(|regex| {
            NAMES
                .iter()
                .any(|name| regex.matches(&[b"./", *name].concat()))
        }));
    }
    let many = wrong.len();
    assert!(many == 0, "{many} of {count} differ:\n{}", wrong.join("\n"));
    assert!(
        matching > count / 10,
        "{matching} of {count} match something"
    );
}

#[test]
fn groups_that_are_not_closed_cannot_be_referred_to() {
    let new = |pattern: &[u8]| Regex::new(pattern, Dialect::Emacs, Case::Sensitive, Locale::Utf8);
    for pattern in [&b"\\1"[..], b"\\(\\(a\\)\\1\\)", b"\\(a\\)\\2"] {
        let problem = new(pattern).unwrap_err().to_string();
        assert_eq!(problem, "Invalid back reference");
    }
}

#[test]
fn hostile_patterns_end_soon() {
    for pattern in [
        "(".repeat(100_000),
        "(((a{999}){999}){999}){999}".into(),
        "a{32767}{32767}".into(),
        "\\(a\\)\\1(a)\\1".to_owned() + &"{999}".repeat(20),
        "(a)\\1".to_owned() + &"(".repeat(100_000),
        "*".repeat(100_000),
    ] {
        for dialect in [Dialect::PosixExtended, Dialect::Egrep, Dialect::Emacs] {
            let _ = Regex::new(pattern.as_bytes(), dialect, Case::Sensitive, Locale::Utf8);
        }
    }
}
