//! Defines the errors of this crate. Each names the operation, the path, the cause and the next
//! step.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use trawl_model::mapped::{shown_file, theirs};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, IndexError>;

/// Reason why an index could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A system call failed.
    #[error("cannot {action} {}: {cause}{}", shown_file(path), advice(cause))]
    Io {
        /// The failed operation, as an infinitive.
        action: &'static str,
        /// The path that it was tried on.
        path: PathBuf,
        /// The system's error.
        cause: Cause,
    },
    /// There is no index at this path.
    #[error(
        "{} holds no index: make one with trawl -i {} index PATH",
        shown_file(path),
        shown_file(path)
    )]
    NoIndex {
        /// The path where it was expected.
        path: PathBuf,
    },
    /// The directory for a new index contains other files.
    #[error(
        "{} is not empty and holds no index: choose another directory with -i",
        shown_file(path)
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The path for a new index is a symbolic link.
    #[error(
        "{} is a symbolic link to a directory without an index: give the directory itself with -i",
        shown_file(path)
    )]
    BehindLink {
        /// The link.
        path: PathBuf,
    },
    /// Other users may write to the directory of a new index.
    #[error(
        "{} is writable by other users, who could change the index: revoke that \
         (chmod go-w) or choose another directory with -i",
        shown_file(path)
    )]
    Writable {
        /// The directory.
        path: PathBuf,
    },
    /// This program does not know the index's format.
    #[error("{} has format {found}, this trawl reads {known}: {}", shown_file(path), if found > known { "use a newer trawl, or index again into another directory" } else { "remove it and index again, or use an older trawl" })]
    Format {
        /// The file that names the format.
        path: PathBuf,
        /// The format that it names.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// A file's bytes differ from those written, or the file never belonged to an index.
    #[error("{} is damaged: {problem}; see trawl index --verify", shown_file(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem found.
        problem: String,
    },
    /// The index has no such source.
    #[error(
        "{} has no source {source_name}: trawl sources lists its sources",
        shown_file(path)
    )]
    NoSource {
        /// The index.
        path: PathBuf,
        /// The source that was asked for.
        source_name: String,
    },
    /// The source does not have this snapshot, or no longer has it.
    #[error(
        "{} has no snapshot {snapshot}: it was removed meanwhile or never existed",
        shown_file(path)
    )]
    NoSnapshot {
        /// The source's directory.
        path: PathBuf,
        /// The snapshot that was asked for.
        snapshot: crate::SnapshotId,
    },
    /// Another process writes this source.
    #[error("{} is being written{}: wait for that to end and try again", shown_file(path), by_whom(*pid))]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, if it left its id.
        pid: Option<u32>,
    },
    /// More users may traverse the directories above a source's root than when it was indexed.
    #[error(
        "the permissions above the source in {} have changed: index it again",
        shown_file(path)
    )]
    Moved {
        /// The source's directory in the index.
        path: PathBuf,
    },
    /// Another process watches this source.
    #[error(
        "{} is watched by another daemon: stop it first; trawl watch --status shows its state",
        shown_file(path)
    )]
    Watched {
        /// The source's root.
        path: PathBuf,
    },
    /// A writer was given records in an impossible order.
    #[error(
        "the records of {} arrived out of order ({problem}): this is a mistake in the program",
        lossy(path)
    )]
    Order {
        /// The directory concerned, as a path in the source.
        path: Vec<u8>,
        /// The problem found.
        problem: &'static str,
    },
    /// The index's file system cannot store access control lists.
    #[error(
        "{} is on a file system without POSIX access control lists, which decide who sees what: \
         put the index elsewhere with -i, or make one for its owner alone with --private",
        shown_file(path)
    )]
    NoAcls {
        /// The directory that could not be given an ACL.
        path: PathBuf,
    },
    /// The index belongs to another user, who could change it at any time.
    #[error(
        "{} belongs to user {owner}, who alone can index into it: choose another with -i or TRAWL_INDEX",
        shown_file(path)
    )]
    NotOurs {
        /// The index directory.
        path: PathBuf,
        /// The user that owns it.
        owner: trawl_model::Uid,
    },
    /// Only the owner of an index can read all of it, and so verify it.
    #[error(
        "{} belongs to user {owner}, who alone can verify it",
        shown_file(path)
    )]
    NotOursToVerify {
        /// The index directory.
        path: PathBuf,
        /// The user that owns it.
        owner: trawl_model::Uid,
    },
    /// The index was made for other readers than those requested.
    #[error(
        "{} was made for {}: choose another index with -i",
        shown_file(path),
        match has { crate::Readers::Owner => "its owner alone", crate::Readers::Everyone => "all users" }
    )]
    OtherReaders {
        /// The index directory.
        path: PathBuf,
        /// The readers that it was made for.
        has: crate::Readers,
    },
    /// Only the superuser can make an index for everyone.
    #[error(
        "only the superuser can make {} an index for all users",
        shown_file(path)
    )]
    NotSuperuser {
        /// The index directory.
        path: PathBuf,
    },
    /// Unchanged items could not be read from the previous snapshot.
    #[error("cannot reuse unchanged data: {cause}; index again with --full")]
    ReadBack {
        /// The reader's error.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Rows could not be encoded.
    #[error("cannot encode {}: {problem}", shown_file(path))]
    Encode {
        /// The file that was being written.
        path: PathBuf,
        /// The encoder's error.
        problem: String,
    },
}

/// An error from the operating system.
#[derive(Debug)]
pub struct Cause(pub io::Error);

impl Cause {
    /// True if the file to open is a symbolic link and links must not be followed.
    pub fn is_link(&self) -> bool {
        use rustix::io::Errno;
        let refused = [Errno::LOOP, Errno::NOTDIR].map(Errno::raw_os_error);
        self.0
            .raw_os_error()
            .is_some_and(|errno| refused.contains(&errno))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        // The standard library appends the error number, which does not help users.
        let text = text.split(" (os error").next().unwrap_or(&text);
        let mut letters = text.chars();
        match letters.next() {
            Some(first) => write!(f, "{}{}", first.to_lowercase(), letters.as_str()),
            None => f.write_str("unknown error"),
        }
    }
}

/// Returns advice for an error that occurs while an index is being written.
fn advice(cause: &Cause) -> &'static str {
    use io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    const EIO: i32 = 5;
    match cause.0.kind() {
        StorageFull | QuotaExceeded => {
            "; free space (trawl gc --keep 1 removes older snapshots) or choose another index with \
             -i; the previous snapshot is untouched"
        }
        FileTooLarge => {
            "; raise the limit on file sizes (ulimit -f); the previous snapshot is untouched"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            "; choose an index that you may use with -i or TRAWL_INDEX"
        }
        _ if cause.0.raw_os_error() == Some(EIO) => {
            "; check the disk or choose another index with -i; the previous snapshot is untouched"
        }
        _ => "",
    }
}

fn by_whom(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" by process {pid}"))
        .unwrap_or_else(|| " by another process".to_owned())
}

fn lossy(path: &[u8]) -> String {
    trawl_model::escape::escape(&theirs(path)).into_owned()
}

impl IndexError {
    /// Returns the error of a system call: the operation as an infinitive, and the path that it was
    /// tried on.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        IndexError::Io {
            action,
            path: path.into(),
            cause: Cause(error.into()),
        }
    }

    /// Wraps the error of a reader of rows that are to be written again.
    pub fn read_back(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        IndexError::ReadBack {
            cause: cause.into(),
        }
    }

    /// Returns the error for a file whose bytes differ from those written.
    pub fn damaged(path: &Path, problem: impl Into<String>) -> Self {
        IndexError::Damaged {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// True if a file or directory does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, IndexError::Io { cause, .. } if cause.0.kind() == io::ErrorKind::NotFound)
    }

    /// True if access was denied.
    pub fn is_denied(&self) -> bool {
        matches!(self, IndexError::Io { cause, .. } if cause.0.kind() == io::ErrorKind::PermissionDenied)
    }
}
