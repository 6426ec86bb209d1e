//! How Trawl's find language differs from GNU find 4.9, and why.
//!
//! A word without a note here behaves as in GNU find with both sources, as far
//! as the comparisons of `docs/testing.md` show. `docs/conformance.md` is
//! generated from these tables.

/// How a word behaves with one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// As in GNU find 4.9.
    Gnu,
    /// Not as in GNU find: the model that it follows, and a sentence that says
    /// what GNU find does and what Trawl does.
    Otherwise(Model, &'static str),
    /// Not available from this source, with a sentence like that of
    /// [`Stand::Otherwise`].
    Absent(&'static str),
}

/// The model of a word that does not behave as in GNU find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// POSIX.1, where GNU find departs from it.
    Posix,
    /// bfs(1).
    Bfs,
    /// None: behaviour of Trawl's own.
    Own,
}

/// How one word of the registry, or one other matter, differs from GNU find.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// A predicate's name ([`NOTES`]), or the matter ([`GENERAL`]).
    pub name: &'static str,
    /// With the index as the source.
    pub index: Stand,
    /// With the live file system as the source.
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

const CONTENT: Stand = Otherwise(
    Own,
    "GNU find has no such test; Trawl asks an index of contents, or reads the file",
);

const GROUPS: Stand = Otherwise(
    Own,
    "GNU find has no such test; Trawl computes groups of files from the index",
);

const LOOKS_AGAIN: Stand = Otherwise(
    Own,
    "GNU find acts on the entry that it has just read, and reports a directory that the command \
     removed; Trawl looks at the live file again, evaluates the whole expression on its current \
     state, leaves a file that no longer matches alone with a message and exit code 1, and \
     silently skips a directory that the command removed",
);
const YES: &str = "GNU find accepts the current language's word for yes; Trawl accepts only an \
                   answer that begins with y or Y";
const YES_AGAIN: &str = "GNU find accepts the current language's word for yes; Trawl accepts only \
                         an answer that begins with y or Y, and looks at the live file again, as \
                         `-exec` does";
const AS_SCANNED: Stand = Otherwise(
    Own,
    "GNU find asks the kernel with access(2); Trawl decides from the mode, owners and access \
     control list that the scan recorded, and from whether the file system is now mounted \
     read-only or noexec",
);
const LARGE_NUMBER: Stand = Otherwise(
    Own,
    "GNU find refuses numbers of more than 31 bits; Trawl accepts 32 bits, as `-uid` and `-gid` do",
);
const BIRTH_TIME: Stand = Otherwise(
    Own,
    "GNU find 4.9 does not know birth times on Linux; Trawl prints them for `%B`, and cuts widths \
     and precisions to 16 MiB",
);

/// Notes on words that differ from GNU find, or that GNU find does not know.
pub static NOTES: &[Note] = &[
    both(
        "-o",
        Otherwise(
            Posix,
            "GNU find moves a cheap test that follows a list of `-o` ahead of the list, and so \
             skips an action in the list where the test is false (`( -print -o -type l -o -type d \
             ) -type b`); Trawl performs the action",
        ),
    ),
    both(
        "-a",
        Otherwise(
            Posix,
            "GNU find, where it has reordered the tests after an action in a list of `-a`, moves a \
             test ahead of that list (`-print -size 1 -type s -o -name f` prints everything but \
             `f`); Trawl moves no test ahead of a list of `-a` that holds an action",
        ),
    ),
    both(
        ",",
        Otherwise(
            Posix,
            "GNU find moves cheap tests ahead in a list of `,`, too, and then returns the value of \
             another part (`( -size -9 , -name none ) -print`); Trawl returns the value of the \
             last part",
        ),
    ),
    both(
        "-exclude",
        Otherwise(Bfs, "GNU find has no such operator; Trawl has that of bfs"),
    ),
    only_index(
        "-ignore_readdir_race",
        Otherwise(
            Own,
            "GNU find ignores files that vanish during the search; Trawl's actions also ignore \
             files that changed since the scan",
        ),
    ),
    both(
        "-acl",
        Otherwise(Bfs, "GNU find has no such test; Trawl has that of bfs"),
    ),
    both("-attr", CONTENT),
    both(
        "-context",
        Absent(
            "GNU find matches contexts where SELinux is enabled; Trawl stores none, and refuses \
             the test as GNU find does on a system without SELinux",
        ),
    ),
    only_index(
        "-empty",
        Otherwise(
            Own,
            "GNU find reports only a directory that it could not open itself; Trawl reports one \
             that the scan could not list or that the current user may not list",
        ),
    ),
    only_index("-executable", AS_SCANNED),
    only_index(
        "-fstype",
        Otherwise(
            Own,
            "GNU find takes the type from the entry's mounted file system; Trawl takes that of the \
             file system that is now mounted from the entry's device, or `unknown` if there is \
             none, as in a recorded tree",
        ),
    ),
    both("-group", LARGE_NUMBER),
    both("-group-of", GROUPS),
    both("-in-group", GROUPS),
    both("-keyword", CONTENT),
    both(
        "-newerXY",
        Otherwise(
            Own,
            "GNU find 4.9 refuses birth times (B) on Linux; Trawl knows them",
        ),
    ),
    both("-phrase", CONTENT),
    only_index("-readable", AS_SCANNED),
    both(
        "-related-to",
        Otherwise(
            Own,
            "GNU find has no such test; Trawl finds related files by looking at them now",
        ),
    ),
    both(
        "-relations",
        Otherwise(
            Own,
            "GNU find has no such option; it chooses what `-related-to` looks at",
        ),
    ),
    both(
        "-unique",
        Otherwise(
            Bfs,
            "GNU find has no such option; Trawl has that of bfs, but does not count files that \
             `-exclude` leaves out",
        ),
    ),
    both("-user", LARGE_NUMBER),
    only_index("-writable", AS_SCANNED),
    both(
        "-xattr",
        Otherwise(
            Own,
            "GNU find has no such test, and that of bfs takes no argument; Trawl's takes a pattern \
             for the name and, if wanted, one for the value, which counts only where the current \
             user may read it",
        ),
    ),
    both(
        "-xattrname",
        Otherwise(Bfs, "GNU find has no such test; Trawl has that of bfs"),
    ),
    only_index("-delete", LOOKS_AGAIN),
    only_index("-exec", LOOKS_AGAIN),
    only_index("-execdir", LOOKS_AGAIN),
    both("-fprintf", BIRTH_TIME),
    both(
        "-json",
        Otherwise(
            Own,
            "GNU find has no such action; Trawl prints the objects of `--json`",
        ),
    ),
    both(
        "-limit",
        Otherwise(Bfs, "GNU find has no such action; Trawl has that of bfs 3"),
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
        "-snippets",
        Otherwise(
            Own,
            "GNU find has no such action; Trawl prints lines of the file as it is now",
        ),
    ),
    both(
        "-sort",
        Otherwise(
            Own,
            "GNU find has no such action; Trawl prints in the order that sort(1) would give",
        ),
    ),
];

/// Notes on differences that are not about a word of the expression.
pub static GENERAL: &[Note] = &[
    only_index(
        "changes since the scan",
        Absent(
            "GNU find shows the tree as it is now; Trawl shows it as it was scanned, and \
             `--status` says when that was",
        ),
    ),
    only_index(
        "order of output",
        Otherwise(
            Own,
            "GNU find prints entries in the order of the disk, and a subdirectory's contents right \
             after it; Trawl prints a directory's entries together, by name, and then its \
             subdirectories' contents, in the same order every time",
        ),
    ),
    only_index(
        "a starting point that is not indexed, or that the index hides from the current user",
        Otherwise(
            Own,
            "GNU find always walks the tree; Trawl also does so here, and says so on standard \
             error",
        ),
    ),
    only_index(
        "a directory that may be listed but not searched (r without x)",
        Absent(
            "GNU find shows the names in it; Trawl shows none of them, and reports the \
             directory",
        ),
    ),
    only_index(
        "file systems mounted below the starting point",
        Absent(
            "GNU find enters them; Trawl enters them only if they were scanned (`trawl index \
             --cross-file-systems`)",
        ),
    ),
    only_index(
        "`-L` with a command, `-delete` or another word that depends on the order of entries",
        Otherwise(
            Own,
            "GNU find always walks the tree; Trawl also does so here, and says so on standard \
             error",
        ),
    ),
    both(
        "`-L` below paths longer than `PATH_MAX`",
        Otherwise(Own, "GNU find stops there with a message; Trawl goes on"),
    ),
    both(
        "`-L` with `-depth` and a starting point that ends in a slash",
        Otherwise(
            Own,
            "GNU find removes the slash if the directory is empty (`-L empty/ -depth` prints \
             `empty`); Trawl keeps it",
        ),
    ),
    both(
        "`-exec … +`, `-execdir … +` and an empty starting point",
        Otherwise(
            Own,
            "GNU find forgets to run the command; Trawl reports the empty starting point and runs \
             the command for the others",
        ),
    ),
    both(
        "`-L` and chains of symbolic links",
        Otherwise(
            Own,
            "GNU find, which looks at whole paths, reports `Too many levels of symbolic links` if \
             the links that lead to a directory and those that lead on from it are more than 40 \
             together; Trawl allows 40 of each",
        ),
    ),
    Note {
        name: "`-L` and a directory that may be listed but not searched",
        index: Absent("GNU find shows the names in it; Trawl shows none of them, as without `-L`"),
        live: Gnu,
    },
    Note {
        name: "`-execdir` and `-okdir` in a directory that may be listed but not searched",
        index: Absent("GNU find ends the search there; Trawl shows no names of such a directory"),
        live: Otherwise(
            Own,
            "GNU find ends the search there; Trawl reports each entry and goes on",
        ),
    },
    both(
        "`-execdir` and `-okdir` of a starting point in a directory that may be searched but not \
         listed",
        Otherwise(
            Own,
            "GNU find cannot open the directory, reports that and ends; Trawl runs the command \
             there",
        ),
    ),
    only_index(
        "paths that were left out of the index (`--exclude`)",
        Absent(
            "GNU find shows them; Trawl shows them only if a starting point is walked live or a \
             link leads there",
        ),
    ),
    Note {
        name: "`%i` and `-inum` of a file that another file is mounted on",
        index: Otherwise(
            Own,
            "GNU find gives the number of the covered file, unless an earlier test had to look at \
             the entry; Trawl gives the number of the mounted file, as stat(2) does",
        ),
        live: Otherwise(
            Own,
            "GNU find gives the number of the covered file, unless an earlier test had to look at \
             the entry; Trawl gives the number of the mounted file if any test, even a later one, \
             has to look at the entry",
        ),
    },
    only_index(
        "a directory that is mounted below itself",
        Otherwise(
            Own,
            "GNU find reports a file system loop and does not show the directory; Trawl shows it \
             and reports `Too many levels of symbolic links`",
        ),
    ),
    both(
        "locales",
        Otherwise(
            Own,
            "GNU find follows the whole locale; Trawl uses only whether the locale is installed \
             (`LOCPATH` and the system's archive) and whether its characters are UTF-8, so that \
             messages, names of months and days, dates (`%Tc`, `%Tx`), the decimal comma of `%S` \
             and of ages (`-mmin 0,5`) and ranges such as `[a-c]` are those of C.UTF-8 in every \
             language, and text in other encodings, such as EUC-JP, is taken as bytes",
        ),
    ),
    both(
        "letters in UTF-8 patterns",
        Otherwise(
            Own,
            "GNU find follows the C library, for which a titlecase letter (U+01C5) is both \
             `[:upper:]` and `[:lower:]` and some ranges are invalid; Trawl takes such a letter \
             for neither, takes every range by the characters' numbers, and with `-iregex` takes ß \
             and ẞ for one letter, and i and ı for two",
        ),
    ),
    both(
        "an output that can no longer be written",
        Otherwise(
            Own,
            "GNU find forgets the error if a command was run since, and adds the number of a stage \
             to the message of `-ls`; Trawl reports the error once, in the same words for each \
             action",
        ),
    ),
    both(
        "`-D`",
        Otherwise(
            Own,
            "GNU find prints debugging output; Trawl accepts any word, warns, and \
             prints nothing",
        ),
    ),
    both(
        "`-O`",
        Otherwise(
            Own,
            "Levels 0, 1 and 2 (the default) order tests as in GNU find. From level 3 on GNU find \
             compares tests again and again, and can put one ahead of an action, so that the action \
             is not carried out; Trawl treats these levels as level 2, and keeps the order of \
             effects. Below level 2 GNU find looks at an entry to test it for a type of file \
             system that is mounted nowhere; Trawl does not",
        ),
    ),
    both(
        "`-help`, `-version`",
        Otherwise(
            Own,
            "GNU find prints its own text; Trawl prints its own, and has options of its own in \
             front of GNU find's words",
        ),
    ),
];

/// Returns the note on a predicate; `None` if it behaves as in GNU find.
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
