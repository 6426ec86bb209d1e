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

/// Mode, line and what is missing.
pub(crate) static PENDING: &[(Mode, &str, &str)] = &[
    (
        Live,
        r"$FIND a -path a/b/",
        "no warning of a path that ends with a slash",
    ),
    (
        Index,
        r"$FIND a -path a/b/",
        "no warning of a path that ends with a slash",
    ),
    (Live, r"$FIND s0/", "system calls are named in messages"),
    (Live, r"$FIND s0/x", "system calls are named in messages"),
    (Live, r"$FIND s0/.", "system calls are named in messages"),
    (Live, r"$FIND s0/..", "system calls are named in messages"),
    (Live, r"$FIND nothing", "system calls are named in messages"),
    (
        Live,
        r"$FIND nothing a -maxdepth 0",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND a/nothing/ empty",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND links/broken/",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND links/loop/",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND links/ok/",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND -H links/loop -printf '%p %y %Y\n'",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND -L links/broken links/loop links/through",
        "system calls are named in messages",
    ),
    (
        Live,
        r"cd odd && $FIND ')'",
        "system calls are named in messages",
    ),
    (
        Live,
        r"cd odd && $FIND ,",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND 'no such' $'new\nline' $'\377' it\'s",
        "system calls are named in messages",
    ),
    (
        Live,
        r"LC_ALL=C $FIND 'no such' $'new\nline' $'\377' it\'s",
        "system calls are named in messages",
    ),
    (
        Live,
        r"LC_ALL=POSIX $FIND 'é'",
        "system calls are named in messages",
    ),
    (Live, r"$FIND a ')'", "system calls are named in messages"),
    (
        Live,
        r"$FIND a , -name one",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND nothing a -maxdepth 0 -quit",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND nothing >&-",
        "system calls are named in messages",
    ),
    (
        Live,
        r"LC_ALL=C.UTF-8 $FIND 'é'; LC_ALL=C $FIND 'é'",
        "system calls are named in messages",
    ),
    (
        Live,
        r"LC_ALL=en_US.UTF-8 $FIND nothing",
        "system calls are named in messages",
    ),
    (
        Live,
        r"[ $(id -u) = 0 ] || exit 0; setpriv --reuid=60009 --regid=60009 --clear-groups $FIND shut/inside",
        "system calls are named in messages",
    ),
    (
        Live,
        r"$FIND ages -newermt '1960-01-02 03:04:05' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages -newermt '1960-01-02 03:04:05' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages -newermt '1960-01-02 03:04:05.5' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages -newermt '1960-01-02 03:04:05.5' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages ! -newermt '1970-01-01' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages ! -newermt '1970-01-01' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages -newermt '2300-01-01' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages -newermt '2300-01-01' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages -newermt '2 days ago' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages -newermt '2 days ago' -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages -newermt yesterday -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages -newermt yesterday -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"TZ=UTC-14 $FIND ages -newermt 1960-01-02 ! -newermt 1960-01-03 -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"TZ=UTC-14 $FIND ages -newermt 1960-01-02 ! -newermt 1960-01-03 -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"TZ=America/New_York $FIND ages -newermt '1960-01-01 22:04:05' ! -newermt 1970-01-01 -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Index,
        r"TZ=America/New_York $FIND ages -newermt '1960-01-01 22:04:05' ! -newermt 1970-01-01 -printf '%f\n'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages -newermt 'not a date'",
        "dates are not read yet",
    ),
    (
        Index,
        r"$FIND ages -newermt 'not a date'",
        "dates are not read yet",
    ),
    (
        Live,
        r"$FIND ages -newermB ages/old",
        "birth times are known here, which find refuses",
    ),
    (
        Index,
        r"$FIND ages -newermB ages/old",
        "birth times are known here, which find refuses",
    ),
    (
        Live,
        r"TZ=nonsense $FIND ages -name old -printf '%t %TZ\n'",
        "a zone that is none keeps its name",
    ),
    (
        Index,
        r"TZ=nonsense $FIND ages -name old -printf '%t %TZ\n'",
        "a zone that is none keeps its name",
    ),
    (
        Live,
        r"$FIND a -regex '.*\(o\).*\1.*'",
        "back-references are not there yet",
    ),
    (
        Index,
        r"$FIND a -regex '.*\(o\).*\1.*'",
        "back-references are not there yet",
    ),
    (
        Live,
        r"$FIND a -name one -o -daystart",
        "an option for what follows counts as a test",
    ),
    (
        Index,
        r"$FIND a -name one -o -daystart",
        "an option for what follows counts as a test",
    ),
    (
        Live,
        r"$FIND a ! -daystart",
        "an option for what follows counts as a test",
    ),
    (
        Index,
        r"$FIND a ! -daystart",
        "an option for what follows counts as a test",
    ),
    (
        Live,
        r"$FIND a >&-",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Index,
        r"$FIND a >&-",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Live,
        r"$FIND a -printf x >&-",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Index,
        r"$FIND a -printf x >&-",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Live,
        r"$FIND a > /dev/full",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Index,
        r"$FIND a > /dev/full",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Live,
        r"$FIND a -print0 > /dev/full",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Index,
        r"$FIND a -print0 > /dev/full",
        "an output that is closed or full is told otherwise, or not",
    ),
    (
        Live,
        r"POSIXLY_CORRECT=1 $FIND a -warn -name one -maxdepth 1",
        "POSIXLY_CORRECT does not turn warnings off",
    ),
    (
        Index,
        r"POSIXLY_CORRECT=1 $FIND a -warn -name one -maxdepth 1",
        "POSIXLY_CORRECT does not turn warnings off",
    ),
    (
        Live,
        r"FIND_BLOCK_SIZE=1 $FIND s1025 -printf '%k %b\n'",
        "FIND_BLOCK_SIZE is not refused",
    ),
    (
        Index,
        r"FIND_BLOCK_SIZE=1 $FIND s1025 -printf '%k %b\n'",
        "FIND_BLOCK_SIZE is not refused",
    ),
    (Live, r"$FIND -Ox a", "worded otherwise"),
    (Index, r"$FIND -Ox a", "worded otherwise"),
];

/// Whether a trap is known to fail.
pub(crate) fn is_pending(mode: Mode, line: &str) -> bool {
    PENDING
        .iter()
        .any(|(of, pending, _)| *of == mode && *pending == line)
}

/// The word that is not there yet, if that is why a trap failed.
pub(crate) fn missing_word(failure: &str) -> Option<&'static str> {
    let says = |word: &&&str| failure.contains(&format!("find: {word} is not supported yet"));
    WORDS.iter().find(says).copied()
}
