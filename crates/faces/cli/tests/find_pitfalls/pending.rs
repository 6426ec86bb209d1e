//! Traps that the program still falls into, each with the reason.

use crate::site::Mode;
use crate::site::Mode::{Index, Live};

/// The missing feature, the modes, and the lines that show it.
type Row = (&'static str, &'static [Mode], &'static [&'static str]);

/// Lines that fail.
pub(crate) static PENDING: &[Row] = &[
    (
        "birth times are known here, which find refuses",
        &[Index, Live],
        &[r"$FIND ages -newermB ages/old"],
    ),
    (
        "what is gone is said to have changed since it was indexed",
        &[Index],
        &[r"$FIND a/one a/one -delete; ls a"],
    ),
    (
        "an index has files open beside what a command needs",
        &[Index],
        &[r"ulimit -n 12; $FIND a -type f -execdir echo {} +"],
    ),
    (
        "find forgets why standard output took nothing when a command was run behind that",
        &[Index, Live],
        &[
            r"$FIND a -type f -print -exec rm {} ';' > /dev/full; ls -R a; : -delete",
            r"$FIND a -type f -printf '%p\n' -exec sh -c 'echo {} >&2' ';' > /dev/full",
            r"$FIND a -type f -print0 -exec sh -c 'echo $# >&2' sh {} + > /dev/full",
        ],
    ),
    (
        "the index is not gone into a directory again that a command took away",
        &[Index],
        &[r"$FIND a -name c -exec rm -r {} ';' -printf '%y %m\n'; : -delete"],
    ),
    (
        "a file system that was mounted since is not in the index",
        &[Index],
        &[
            r"[ $(id -u) = 0 ] || exit 0; unshare -m sh -c 'mount --bind a a/b/c; $FIND a -name c; umount a/b/c'",
        ],
    ),
];

/// Returns true if a trap is known to fail.
pub(crate) fn is_pending(mode: Mode, line: &str) -> bool {
    let is_in = |row: &Row| row.1.contains(&mode) && row.2.contains(&line);
    PENDING.iter().any(is_in)
}
