//! What a session reports: typed, and as text for people through [`Display`](fmt::Display).

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use trawl_format::SnapshotId;
use trawl_model::mapped::{self, theirs};
use trawl_model::{Issue, Timestamp, path};
use trawl_query::{AsOf, SnapshotInfo};
use trawl_text::words::{cause, counted, described, quoted, shown};

use crate::at::{time_text, why_none};

/// A report about the answer to a question.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A path of the question does not lead to an entry.
    Missing {
        /// The path as the user gave it.
        given: Vec<u8>,
        /// The reason.
        why: Missing,
    },
    /// A path lies in a source without a snapshot for the time in question.
    NotThen {
        /// The path.
        path: Vec<u8>,
        /// Root of the source.
        root: Vec<u8>,
        /// The snapshots that there are.
        why: NoneThen,
    },
    /// A path lies outside every source.
    NotIndexed(NotIndexed),
    /// A path is read from the live file system.
    ReadLive {
        /// The path as the user gave it.
        given: Vec<u8>,
        /// The reason.
        why: LiveReason,
    },
    /// The user may not list a directory.
    Denied {
        /// Words that say what cannot be done, as [`Denials::Said`](crate::Denials::Said) has them.
        action: &'static str,
        /// The directory, spelled as the user began.
        path: Vec<u8>,
    },
    /// A source has no snapshot for the time in question.
    NoSnapshot {
        /// Root of the source.
        root: Vec<u8>,
        /// The snapshots that there are.
        why: NoneThen,
    },
    /// A source may be out of date.
    MayBeBehind {
        /// Root of the source.
        root: Vec<u8>,
        /// The reason.
        why: Behind,
    },
    /// A source that no daemon watches is older than the user accepts.
    TooOld {
        /// Root of the source.
        root: Vec<u8>,
    },
    /// Time as of which a part of the answer is true.
    AsOf {
        /// Root of the source, or the place that was read live.
        place: Vec<u8>,
        /// The time.
        time: Timestamp,
        /// Where the part comes from.
        when: AsOfWhen,
    },
    /// A source's daemon polls, so that it does not notice changes within a file alone.
    Polled {
        /// Root of the source.
        root: Vec<u8>,
        /// Time between two looks.
        every: Duration,
    },
    /// A remark of a source's daemon.
    Remark {
        /// Root of the source.
        root: Vec<u8>,
        /// The remark.
        text: String,
    },
    /// Number of issues in scope.
    IssueCount(u64),
    /// One of them.
    Issue(Issue),
    /// Number of parts of the answer that could not be read.
    Unread(u64),
}

/// Origin of a part of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsOfWhen {
    /// Read from the live file system.
    Live,
    /// Read from a snapshot.
    Snapshot {
        /// The snapshot.
        id: SnapshotId,
        /// Its index, if several are asked.
        index: Option<PathBuf>,
    },
}

/// Why a path does not lead to an entry.
#[derive(Debug)]
#[non_exhaustive]
pub enum Missing {
    /// There are too many symbolic links on the way.
    Loop,
    /// The live file system cannot read it.
    Unread(io::Error),
    /// It is empty, or a link leads to nothing.
    NotFound,
    /// It ends in a slash, but is not a directory.
    NotDirectory,
    /// The user may not look it up.
    Denied,
    /// The scan could not read it.
    NotRead(Issue),
    /// This pattern left it out of the index.
    LeftOut(Vec<u8>),
    /// The index does not have it.
    NotInIndex,
    /// It is a link to a directory that is not indexed.
    TargetNotIndexed,
    /// It is a link to something that cannot be read.
    TargetUnread,
    /// It leads out of the index, and the live file system must not be asked.
    OutsideIndex,
}

/// The snapshots of a source, none of which answers about a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoneThen {
    /// The time in question.
    pub as_of: AsOf,
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
}

/// A path outside every source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotIndexed {
    /// The path.
    pub path: Vec<u8>,
    /// The root that shares most of the path; `None` if the asker sees no source.
    pub nearest: Option<Vec<u8>>,
}

/// Why a part of the answer is read from the live file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveReason {
    /// The index shows it only to users who may list this directory.
    Hidden(Vec<u8>),
    /// A link leads out of the index.
    LeadsOut,
}

/// Why a source may be out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Its daemon was killed; changes after this time may be missing.
    Left(Timestamp),
    /// No daemon watches it, although a fresh answer was asked for.
    Unwatched,
    /// Its daemon could not be asked.
    Unreachable(String),
    /// It is polled at this interval.
    Polled(Duration),
    /// Its daemon needs longer.
    Late(String),
    /// Its daemon knows of parts that are out of date.
    Stale(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Missing { given, why } => write!(f, "cannot access {}: {why}", quoted(given)),
            Notice::NotThen { path, root, why } => {
                let about = quoted(&theirs(path));
                match root == path {
                    true => write!(f, "cannot answer about {about}: {why}"),
                    false => {
                        let root = quoted(&theirs(root));
                        write!(f, "cannot answer about {about} ({root} is indexed): {why}")
                    }
                }
            }
            Notice::NotIndexed(outside) => outside.fmt(f),
            Notice::ReadLive { given, why } => write!(
                f,
                "{}: read from the file system now, since {why}",
                quoted(given)
            ),
            Notice::Denied { action, path } => {
                write!(f, "{action} {}: permission denied", quoted(path))
            }
            Notice::NoSnapshot { root, why } => write!(f, "{}: {why}", shown(&theirs(root))),
            Notice::MayBeBehind { root, why } => {
                let root = quoted(&theirs(root));
                write!(f, "{root} may be out of date: {why}")
            }
            Notice::TooOld { root } => write!(
                f,
                "{} is older than --max-age allows: index it again, or watch it",
                quoted(&theirs(root))
            ),
            Notice::AsOf { place, time, when } => {
                write!(
                    f,
                    "{} as of {}, {when}",
                    shown(&theirs(place)),
                    time_text(*time)
                )
            }
            Notice::Polled { root, every } => write!(
                f,
                "{}: polled every {} s; changes within a file alone are not noticed",
                shown(&theirs(root)),
                every.as_secs_f32()
            ),
            Notice::Remark { root, text } => write!(f, "{}: {text}", shown(&theirs(root))),
            Notice::IssueCount(count) => write!(f, "{} in scope", counted(*count, "issue")),
            Notice::Issue(issue) => f.write_str(&described(issue)),
            Notice::Unread(count) => write!(
                f,
                "{} of the answer could not be read: --status lists them",
                counted(*count, "part")
            ),
        }
    }
}

impl fmt::Display for AsOfWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AsOfWhen::Live => f.write_str("read from the file system"),
            AsOfWhen::Snapshot { id, index } => {
                write!(f, "snapshot {id}")?;
                match index {
                    Some(index) => write!(
                        f,
                        ", index {}",
                        shown(&theirs(index.as_os_str().as_bytes()))
                    ),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Loop => f.write_str("too many levels of symbolic links"),
            Missing::Unread(error) => f.write_str(&cause(error)),
            Missing::NotFound => f.write_str("no such file or directory"),
            Missing::NotDirectory => f.write_str("not a directory"),
            Missing::Denied => f.write_str("permission denied"),
            Missing::NotRead(issue) => write!(f, "it was not read ({})", described(issue)),
            Missing::LeftOut(pattern) => write!(
                f,
                "it was left out of the index (--exclude {})",
                quoted(pattern)
            ),
            Missing::NotInIndex => f.write_str("no such file or directory in the index"),
            Missing::TargetNotIndexed => {
                f.write_str("its target is a directory that is not indexed: index that, too")
            }
            Missing::TargetUnread => f.write_str("its target cannot be read"),
            Missing::OutsideIndex => f.write_str("it lies outside the index"),
        }
    }
}

impl fmt::Display for NoneThen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&why_none(self.as_of, &self.snapshots))
    }
}

impl fmt::Display for LiveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveReason::Hidden(dir) => write!(
                f,
                "the index shows it only to users who may list {}",
                quoted(&theirs(dir))
            ),
            LiveReason::LeadsOut => f.write_str("a link leads out of the index"),
        }
    }
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Behind::Left(time) => write!(
                f,
                "its daemon was killed, and changes after {} may be missing; run trawl watch",
                time_text(*time)
            ),
            Behind::Unwatched => f.write_str("no daemon watches it; run trawl watch"),
            Behind::Polled(every) => write!(f, "it is polled every {} s", every.as_secs_f32()),
            Behind::Late(why) => write!(f, "{why}; --fresh=TIME waits longer"),
            Behind::Unreachable(why) | Behind::Stale(why) => f.write_str(why),
        }
    }
}

impl NotIndexed {
    /// Returns the number of leading names that two absolute paths share.
    pub fn shared_names(one: &[u8], other: &[u8]) -> usize {
        let slash = |byte: &u8| *byte == b'/';
        let names = one.split(slash).zip(other.split(slash));
        let same = names.take_while(|(one, other)| one == other);
        same.filter(|(name, _)| !name.is_empty()).count()
    }
}

/// A root that does not share even the first name is not near, and is not named.
impl fmt::Display for NotIndexed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path::display(&self.path);
        write!(f, "{} is not indexed", quoted(&theirs(path)))?;
        match &self.nearest {
            Some(nearest) if NotIndexed::shared_names(path, nearest) > 0 => {
                let nearest = quoted(&theirs(nearest));
                write!(f, "; the nearest indexed path is {nearest}")?;
            }
            Some(_) => f.write_str("; trawl sources lists the indexed trees")?,
            None => f.write_str("; the index is empty, or has nothing that you may see")?,
        }
        match mapped::mapping() {
            // It is indexed where the files are, by their path there.
            Some(_) => write!(f, ": to index it, run trawl index on the server"),
            None => write!(f, ": to index it, run trawl index {}", shell_word(path)),
        }
    }
}

/// Returns a path quoted as one word of a shell.
fn shell_word(path: &[u8]) -> String {
    let quoting = trawl_text::quote::Quoting::ShellEscape;
    let locale = trawl_text::locale::Locale::from_env();
    String::from_utf8_lossy(&quoting.quote(path, locale)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_indexed(path: &[u8], nearest: Option<&[u8]>) -> String {
        let outside = NotIndexed {
            path: path.to_vec(),
            nearest: nearest.map(<[u8]>::to_vec),
        };
        outside.to_string()
    }

    #[test]
    fn what_is_not_indexed_says_what_to_do() {
        assert_eq!(
            not_indexed(b"/home/a b", Some(b"/home/c")),
            format!(
                "{} is not indexed; the nearest indexed path is {}: to index it, run \
                 trawl index '/home/a b'",
                quoted(b"/home/a b"),
                quoted(b"/home/c")
            )
        );
        for (path, root) in [
            (&b"/a"[..], &b"/home"[..]),
            (b"/homes/a", b"/home"),
            (b"", b"/a"),
        ] {
            let text = not_indexed(path, Some(root));
            assert!(
                !text.contains("nearest") && !text.contains("empty"),
                "{text}"
            );
        }
        assert!(not_indexed(b"", None).contains("the index is empty"));
    }
}
