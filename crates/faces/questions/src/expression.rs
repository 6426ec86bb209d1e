//! The words of find that a question may contain: tests, operators, and options about what is
//! searched. It is an allow-list: whatever is not in it is refused, so that no expression runs a
//! command, writes a file, deletes anything or prints in another form.
//!
//! Invariant: for each word, the number of arguments is the one that `trawl find` takes. A word that
//! is skipped here as an argument is therefore one there, too.

use crate::limits::EXPRESSION_WORDS;
use crate::words::Refused;

/// Words that join or group others.
const OPERATORS: &[&str] = &["!", "-not", "-exclude", "-a", "-and", "-o", "-or", ","];

/// Tests and options without an argument.
const BARE: &[&str] = &[
    "-acl",
    "-daystart",
    "-empty",
    "-executable",
    "-false",
    "-mount",
    "-nogroup",
    "-nouser",
    "-prune",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];

/// Tests and options with one argument.
const WITH_ARGUMENT: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-attr",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-group-of",
    "-ilname",
    "-in-group",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-keyword",
    "-limit",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-phrase",
    "-regex",
    "-regextype",
    "-related-to",
    "-relations",
    "-samefile",
    "-size",
    "-sort",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xattr",
    "-xattrname",
    "-xtype",
];

/// Returns the number of arguments of a word; `None` if it is not allowed.
pub fn arguments_of(word: &str) -> Option<usize> {
    if OPERATORS.contains(&word) || BARE.contains(&word) {
        return Some(0);
    }
    (WITH_ARGUMENT.contains(&word) || compares_times(word)).then_some(1)
}

/// Returns whether the word is `-newerXY`.
fn compares_times(word: &str) -> bool {
    match word.strip_prefix("-newer").map(str::as_bytes) {
        Some([of, than]) => b"aBcm".contains(of) && b"aBcmt".contains(than),
        _ => false,
    }
}

/// Checks an expression.
///
/// # Errors
/// Says which word is not allowed, or that groups are not closed.
pub fn check(words: &[String]) -> Result<(), Refused> {
    if words.len() > EXPRESSION_WORDS {
        return Err(Refused::TooMany {
            what: "words of the expression",
            most: EXPRESSION_WORDS,
        });
    }
    let mut depth = 0_usize;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1).ok_or(Refused::Unbalanced)?,
            other => {
                let arguments = arguments_of(other).ok_or_else(|| Refused::Word {
                    word: other.to_owned(),
                })?;
                for _ in 0..arguments {
                    rest.next().ok_or_else(|| Refused::NoArgument {
                        word: other.to_owned(),
                    })?;
                }
            }
        }
    }
    match depth {
        0 => Ok(()),
        _ => Err(Refused::Unbalanced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(line: &str) -> Result<(), Refused> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        check(&words)
    }

    /// The reference of find's language, which is generated from the table of its words.
    const REFERENCE: &str = include_str!("../../../../docs/find.md");

    /// A row of the reference.
    struct Word {
        names: Vec<String>,
        arguments: usize,
        is_action: bool,
    }

    fn words_of_find() -> Vec<Word> {
        let mut section = "";
        let mut words = Vec::new();
        for line in REFERENCE.lines() {
            section = line.strip_prefix("## ").unwrap_or(section);
            let line = line.replace("\\|", "/");
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, names, arguments, ..] = cells[..] else {
                continue;
            };
            if !names.starts_with('`') {
                continue;
            }
            let names = names
                .split(", ")
                .map(|name| name.trim_matches('`').to_owned());
            let is_operator = section.starts_with("Operators");
            words.push(Word {
                names: names.collect(),
                arguments: match is_operator {
                    true => 0,
                    false => arguments.split_whitespace().count(),
                },
                is_action: section == "Actions",
            });
        }
        assert!(words.len() > 80, "the reference has another form");
        words
    }

    /// A word that is taken for an argument here and not by find could be an action there.
    #[test]
    fn arguments_are_those_of_find() {
        let mut known = 0;
        for word in words_of_find() {
            for name in &word.names {
                if let Some(arguments) = arguments_of(name) {
                    assert_eq!(arguments, word.arguments, "{name}");
                    known += 1;
                }
            }
        }
        // Each word of the lists is one of find's.
        assert_eq!(known, OPERATORS.len() + BARE.len() + WITH_ARGUMENT.len());
    }

    /// Whoever adds a word to find decides here whether assistants may use it.
    #[test]
    fn every_word_of_find_is_allowed_or_listed_here() {
        let refused = [
            "(",
            ")",
            "-context",
            "-d",
            "-delete",
            "-depth",
            "-exec",
            "-execdir",
            "-files0-from",
            "-fls",
            "-follow",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-ignore_readdir_race",
            "-json",
            "-ls",
            "-newerXY",
            "-noignore_readdir_race",
            "-noleaf",
            "-nowarn",
            "-ok",
            "-okdir",
            "-print",
            "-print0",
            "-printf",
            "-quit",
            "-snippets",
            "-unique",
            "-warn",
        ];
        for word in words_of_find() {
            for name in &word.names {
                let is_refused = refused.contains(&name.as_str());
                assert_ne!(arguments_of(name).is_some(), is_refused, "{name}");
            }
        }
    }

    #[test]
    fn nothing_that_acts_is_allowed() {
        let harmless = ["-prune", "-limit", "-sort"];
        for word in words_of_find() {
            for name in &word.names {
                let acts = word.is_action && !harmless.contains(&name.as_str());
                assert!(!acts || arguments_of(name).is_none(), "{name}");
            }
        }
    }

    #[test]
    fn expressions_are_checked_word_by_word() {
        for line in [
            "-name *.c",
            "( -name -delete -o -newermt 2020-01-01 ) ! -empty",
            "-newer -exec",
            "-size +1G , -true",
        ] {
            assert_eq!(checked(line), Ok(()), "{line}");
        }
        for line in [
            "-delete",
            "-name x -delete",
            "-true -exec rm {} ;",
            "-empty -fprint /tmp/x",
            "-newerxy x",
            "-newermtx x",
            "--json",
            "/etc",
            "x",
            "",
            "-NAME x",
            "-files0-from /etc/passwd",
        ] {
            assert!(matches!(checked(line), Err(Refused::Word { .. })), "{line}");
        }
        for line in ["( -true", ") -o (", "-true )"] {
            assert_eq!(checked(line), Err(Refused::Unbalanced), "{line}");
        }
        assert!(matches!(checked("-name"), Err(Refused::NoArgument { .. })));
        let many = vec!["-true".to_owned(); EXPRESSION_WORDS + 1];
        assert!(matches!(check(&many), Err(Refused::TooMany { .. })));
    }
}
