//! Traps that the program still falls into, each with why.

use crate::site::Mode;
use crate::site::Mode::{Index, Live};

/// Words that are not there yet, in neither mode: every trap that they are
/// in is pending.
pub(crate) static WORDS: &[&str] = &[
    "-xtype",
    "-follow",
    "-readable",
    "-executable",
    "-context",
    "-delete",
    "-fprint",
    "-fprint0",
    "-fprintf",
    "-fls",
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-files0-from",
];

/// What is missing, in which modes, and the lines that show it.
type Row = (&'static str, &'static [Mode], &'static [&'static str]);

/// Lines that fail.
pub(crate) static PENDING: &[Row] = &[
    (
        "no warning of a path that ends with a slash",
        &[Index, Live],
        &[r"$FIND a -path a/b/"],
    ),
    (
        "a link through a file is shown, not refused",
        &[Live],
        &[r"$FIND -L links/broken links/loop links/through"],
    ),
    (
        "birth times are known here, which find refuses",
        &[Index, Live],
        &[r"$FIND ages -newermB ages/old"],
    ),
    (
        "a zone that is none keeps its name",
        &[Index, Live],
        &[r"TZ=nonsense $FIND ages -name old -printf '%t %TZ\n'"],
    ),
    (
        "an option for what follows counts as a test",
        &[Index, Live],
        &[r"$FIND a -name one -o -daystart", r"$FIND a ! -daystart"],
    ),
    (
        "an output that is closed or full is told otherwise, or not",
        &[Index, Live],
        &[
            r"$FIND a >&-",
            r"$FIND a -printf x >&-",
            r"$FIND a > /dev/full",
            r"$FIND a -print0 > /dev/full",
        ],
    ),
    (
        "POSIXLY_CORRECT does not turn warnings off",
        &[Index, Live],
        &[r"POSIXLY_CORRECT=1 $FIND a -warn -name one -maxdepth 1"],
    ),
    (
        "FIND_BLOCK_SIZE is not refused",
        &[Index, Live],
        &[r"FIND_BLOCK_SIZE=1 $FIND s1025 -printf '%k %b\n'"],
    ),
    ("worded otherwise", &[Index, Live], &[r"$FIND -Ox a"]),
    (
        "a loop is noticed a level too late",
        &[Index],
        &[r"$FIND -L links -name one"],
    ),
];

/// Whether a trap is known to fail.
pub(crate) fn is_pending(mode: Mode, line: &str) -> bool {
    let is_in = |row: &Row| row.1.contains(&mode) && row.2.contains(&line);
    PENDING.iter().any(is_in)
}

/// The word that is not there yet, if that is why a trap failed.
pub(crate) fn missing_word(failure: &str) -> Option<&'static str> {
    let says = |word: &&&str| failure.contains(&format!("find: {word} is not supported yet"));
    WORDS.iter().find(says).copied()
}
