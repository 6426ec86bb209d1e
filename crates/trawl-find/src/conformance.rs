//! How the language stands beside GNU find 4.9: what differs, and why.
//!
//! Words without a note here do what they do in GNU find, with both sources,
//! as far as the comparisons of `docs/testing.md` show. `docs/conformance.md` is
//! made from these tables.

/// How a word does with one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// As GNU find 4.9.
    Gnu,
    /// As somebody else has it, or nobody.
    Otherwise(Model, &'static str),
    /// Not at all.
    Absent(&'static str),
}

/// Whom we follow where it is not GNU find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// POSIX.1, where GNU find departs from it.
    Posix,
    /// bfs(1).
    Bfs,
    /// Nobody.
    Own,
}

/// A difference of a word of the registry, or of something that is no word.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// A predicate's name ([`NOTES`]), or what it is about ([`GENERAL`]).
    pub name: &'static str,
    /// Asked from the index.
    pub index: Stand,
    /// Asked of the live file system.
    pub live: Stand,
}

use Model::{Bfs, Own, Posix};
use Stand::{Absent, Gnu, Otherwise};

const fn both(name: &'static str, stand: Stand) -> Note {
    Note {
        name,
        index: stand,
        live: stand,
    }
}

const fn only_index(name: &'static str, index: Stand) -> Note {
    Note {
        name,
        index,
        live: Gnu,
    }
}

const LOOKS_AGAIN: Stand = Otherwise(
    Own,
    "the file is looked at again, live, and the whole expression put to what is there now; what \
     no longer matches is left alone and told of, with exit code 1. A directory that the command \
     takes away is not gone into, and so not complained of",
);
const YES: &str = "only an answer that begins with y or Y is yes, whatever the language";
const YES_AGAIN: &str = "looks again, as `-exec` does; only an answer that begins with y or Y is \
                         yes, whatever the language";
const AS_SCANNED: Stand = Otherwise(
    Own,
    "told from the mode, owners and list of the scan, and from what is mounted read-only or \
     noexec now",
);
const LARGE_NUMBER: Stand = Otherwise(
    Own,
    "takes numbers of 32 bits, as `-uid` and `-gid` do; GNU find refuses those beyond 31 bits",
);
const BIRTH_TIME: Stand = Otherwise(
    Own,
    "`%B` is the birth time, which GNU find 4.9 does not know here; `%TZ` in a zone that does not \
     exist is UTC; widths and precisions beyond 16 MiB are cut there",
);

/// Words that do not do quite what they do in GNU find, or that it does not
/// know.
pub static NOTES: &[Note] = &[
    both(
        "-o",
        Otherwise(
            Posix,
            "an action in a list of `-o` is done also where a test behind that list is false; GNU \
             find moves cheap tests ahead of the list and so forgets it \
             (`( -print -o -type l -o -type d ) -type b`)",
        ),
    ),
    both(
        "-a",
        Otherwise(
            Posix,
            "no test is moved ahead of a list of `-a` with an action in it; GNU find does that \
             where it has put the tests behind the action in another order \
             (`-print -size 1 -type s -o -name f` prints all there but `f`)",
        ),
    ),
    both(
        ",",
        Otherwise(
            Posix,
            "the value of a list is that of its last part; GNU find moves cheap tests ahead in a \
             list, too, and takes the value of another (`( -size -9 , -name none ) -print`)",
        ),
    ),
    both("-exclude", Otherwise(Bfs, "GNU find has no such operator")),
    only_index(
        "-ignore_readdir_race",
        Otherwise(
            Own,
            "actions pass over in silence also what changed since the scan",
        ),
    ),
    both("-acl", Otherwise(Bfs, "GNU find has no such test")),
    both(
        "-context",
        Absent(
            "security contexts are not kept; refused in the words of GNU find on a system without \
             SELinux",
        ),
    ),
    only_index(
        "-empty",
        Otherwise(
            Own,
            "of a directory that could not be listed when it was scanned, or not by who asks, that \
             is said; GNU find says it only where it looked",
        ),
    ),
    only_index("-executable", AS_SCANNED),
    only_index(
        "-fstype",
        Otherwise(
            Own,
            "the type of what is mounted from the entry's device now; `unknown` if nothing is, as \
             in a recorded tree",
        ),
    ),
    both("-group", LARGE_NUMBER),
    both(
        "-newerXY",
        Otherwise(
            Own,
            "birth times (B) are known, which GNU find 4.9 refuses here",
        ),
    ),
    only_index("-readable", AS_SCANNED),
    both(
        "-unique",
        Otherwise(
            Bfs,
            "GNU find has no such option; what -exclude leaves out does not count here",
        ),
    ),
    both("-user", LARGE_NUMBER),
    only_index("-writable", AS_SCANNED),
    both(
        "-xattr",
        Otherwise(
            Own,
            "GNU find has no such test, and in bfs it takes no argument; here it takes a pattern, \
             and a value that counts where the asker may read it",
        ),
    ),
    both("-xattrname", Otherwise(Bfs, "GNU find has no such test")),
    only_index("-delete", LOOKS_AGAIN),
    only_index("-exec", LOOKS_AGAIN),
    only_index("-execdir", LOOKS_AGAIN),
    both("-fprintf", BIRTH_TIME),
    both(
        "-json",
        Otherwise(
            Own,
            "GNU find has no such action; the objects are those of `--json`",
        ),
    ),
    both(
        "-limit",
        Otherwise(Bfs, "bfs 3 has it; GNU find has no such action"),
    ),
    Note {
        name: "-ok",
        index: Otherwise(Own, YES_AGAIN),
        live: Otherwise(Own, YES),
    },
    Note {
        name: "-okdir",
        index: Otherwise(Own, YES_AGAIN),
        live: Otherwise(Own, YES),
    },
    both("-printf", BIRTH_TIME),
    both(
        "-sort",
        Otherwise(
            Own,
            "GNU find has no such action; sort(1) gives the same order",
        ),
    ),
];

/// What differs and is no word of the expression.
pub static GENERAL: &[Note] = &[
    only_index(
        "what changed since the scan",
        Absent("the tree is shown as it was scanned; `--status` says when that was"),
    ),
    only_index(
        "order",
        Otherwise(
            Own,
            "a directory's entries together, by name, then what is in its sub-directories: the \
             same every time. Live it is the order of the disk, as in GNU find",
        ),
    ),
    only_index(
        "a start point that is not indexed, or kept for others",
        Otherwise(
            Own,
            "walked live, with a line on standard error that says so",
        ),
    ),
    only_index(
        "a directory with r and without x",
        Absent("its names are not shown, and the message is about the directory"),
    ),
    only_index(
        "file systems mounted below the start point",
        Absent("entered only if they were scanned: `trawl index --cross-file-systems`"),
    ),
    only_index(
        "`-L` with a command, `-delete` or another word that goes by order",
        Otherwise(
            Own,
            "walked live, with a line on standard error that says so",
        ),
    ),
    both(
        "`-L` below paths longer than `PATH_MAX`",
        Otherwise(Own, "goes on; GNU find stops there with a message"),
    ),
    both(
        "`-L` with `-depth` and a start point with a slash",
        Otherwise(
            Own,
            "the slash stays; GNU find takes it away if the directory is empty (`-L empty/ -depth` \
             prints `empty`)",
        ),
    ),
    both(
        "`-exec … +`, `-execdir … +` and an empty start point",
        Otherwise(
            Own,
            "the empty one is complained of and the command run for the others; GNU find forgets it",
        ),
    ),
    both(
        "`-L` behind chains of links",
        Otherwise(
            Own,
            "the links that lead to a directory and those that lead on from it may be 40 each; \
             GNU find, which looks at whole paths, reports `Too many levels of symbolic links` \
             where both together are more",
        ),
    ),
    Note {
        name: "`-L` and a directory with r and without x",
        index: Absent("as without `-L`"),
        live: Gnu,
    },
    Note {
        name: "`-execdir` and `-okdir` in a directory with r and without x",
        index: Absent("its names are not shown"),
        live: Otherwise(
            Own,
            "each entry is complained of, and the search goes on; GNU find ends there",
        ),
    },
    both(
        "`-execdir` and `-okdir` of a start point in a directory with x and without r",
        Otherwise(
            Own,
            "the command is run there; GNU find cannot open the directory, says so, and ends",
        ),
    ),
    only_index(
        "what was left out of the index (`--exclude`)",
        Absent("not shown, except where a start point is walked live or a link leads there"),
    ),
    Note {
        name: "`%i` and `-inum` of a file with another one mounted on it",
        index: Otherwise(
            Own,
            "the number of the mounted file, as stat(2) has it; GNU find gives that of the file \
             below, unless an earlier test had to look at the entry",
        ),
        live: Otherwise(
            Own,
            "the same wherever the expression has to look at the entry, also if a later test does",
        ),
    },
    only_index(
        "a directory that is mounted in itself",
        Otherwise(
            Own,
            "shown, and told of as `Too many levels of symbolic links`; GNU find tells of a loop \
             and does not show it",
        ),
    ),
    both(
        "languages",
        Otherwise(
            Own,
            "of a locale only counts whether its characters are UTF-8, and whether it is installed \
             (`LOCPATH` and the system's archive): messages, the names of months and days, dates \
             (`%Tc`, `%Tx`), the decimal comma of `%S` and of ages (`-mmin 0,5`), and ranges such as `[a-c]` are those of \
             C.UTF-8 in every language, and other encodings, such as EUC-JP, are bytes",
        ),
    ),
    both(
        "letters of patterns in UTF-8",
        Otherwise(
            Own,
            "a titlecase letter (U+01C5) is neither `[:upper:]` nor `[:lower:]`, where the C \
             library has it as both; a range goes by the characters' numbers, also where the C \
             library refuses it; `-iregex` has ß and ẞ as one letter, and i and ı as two",
        ),
    ),
    both(
        "an output that takes no more",
        Otherwise(
            Own,
            "the reason is told once, with the same words for each action; GNU find forgets it \
             where a command was run since, and counts stages behind `-ls`",
        ),
    ),
    both(
        "`-D`",
        Otherwise(Own, "takes any word, warns, and shows nothing"),
    ),
    both(
        "`-O`",
        Otherwise(
            Own,
            "every level is the same: tests go by cost and by how often they are likely to be \
             true, in the order that GNU find has by default; effects keep their order",
        ),
    ),
    both(
        "`-help`, `-version`",
        Otherwise(
            Own,
            "our own text; in front of the words of find, our options",
        ),
    ),
];

/// The note on a predicate, if it does not do as GNU find does.
pub fn note(name: &str) -> Option<&'static Note> {
    NOTES.iter().find(|note| note.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::Standard;
    use crate::registry::registry;
    use std::collections::HashSet;

    #[test]
    fn notes_are_about_words_that_there_are_once_each() {
        let words: HashSet<&str> = registry().iter().map(|word| word.name).collect();
        let mut seen = HashSet::new();
        for note in NOTES {
            assert!(words.contains(note.name), "there is no {}", note.name);
            assert!(seen.insert(note.name), "{} has two notes", note.name);
        }
    }

    #[test]
    fn what_gnu_find_does_not_know_is_never_as_gnu_find() {
        for word in registry() {
            let is_gnu = matches!(word.standard, Standard::Posix | Standard::Gnu);
            let is_same = note(word.name).is_none_or(|n| n.index == Gnu || n.live == Gnu);
            assert!(is_gnu || !is_same, "{} needs a note", word.name);
        }
    }

    #[test]
    fn notes_say_something() {
        for note in NOTES.iter().chain(GENERAL) {
            assert!(
                note.index != Gnu || note.live != Gnu,
                "{}: nothing differs",
                note.name
            );
        }
    }
}
