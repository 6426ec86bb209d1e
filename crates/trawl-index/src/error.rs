//! What can go wrong with an index: the operation, the path, the cause and
//! what to do next.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// This crate's results.
pub type Result<T> = std::result::Result<T, IndexError>;

/// Why an index could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A system call failed.
    #[error("cannot {action} {}: {cause}{}", path.display(), advice(cause))]
    Io {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system answered.
        cause: Cause,
    },
    /// There is no index there.
    #[error("{} holds no index: make one with trawl -i {} index PATH", path.display(), path.display())]
    NoIndex {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A new index would share its directory with something else.
    #[error("{} is not empty and holds no index: choose another directory with -i", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A new index would lie where a symbolic link leads.
    #[error(
        "{} is a symbolic link to a directory without an index: give the directory itself with -i",
        path.display()
    )]
    BehindLink {
        /// The link.
        path: PathBuf,
    },
    /// Others may write to the directory of a new index.
    #[error(
        "{} can be written to by others, who could change the index: take that right away \
         (chmod go-w) or choose another directory with -i",
        path.display()
    )]
    Writable {
        /// The directory.
        path: PathBuf,
    },
    /// The index was written in a format that this program does not know.
    #[error("{} has format {found}, this trawl reads {known}: {}", path.display(), if found > known { "use a newer trawl, or index again into another directory" } else { "remove it and index again, or use an older trawl" })]
    Format {
        /// The file that says so.
        path: PathBuf,
        /// The format it names.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// A file's bytes are not what was written, or were never an index.
    #[error("{} is damaged: {problem}; see trawl index --verify", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No such source in the index.
    #[error("{} has no source {source_name}: trawl sources lists what it has", path.display())]
    NoSource {
        /// The index.
        path: PathBuf,
        /// What was asked for.
        source_name: String,
    },
    /// A source has no such snapshot (any more).
    #[error("{} has no snapshot {snapshot}: it was removed meanwhile or never existed", path.display())]
    NoSnapshot {
        /// The source's directory.
        path: PathBuf,
        /// The snapshot asked for.
        snapshot: crate::SnapshotId,
    },
    /// Another process writes this source.
    #[error("{} is being written{}: wait for that to end and try again", path.display(), by_whom(*pid))]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, if it left its id.
        pid: Option<u32>,
    },
    /// Others may pass what is above a source's root than when it was indexed.
    #[error(
        "who may reach the source of {} has changed: index it again",
        path.display()
    )]
    Moved {
        /// Where it lies in the index.
        path: PathBuf,
    },
    /// Another process watches this source.
    #[error("{} is watched by another daemon, which has to be stopped first; trawl watch --status asks how it is", path.display())]
    Watched {
        /// The source's root.
        path: PathBuf,
    },
    /// A writer was given records in an order that cannot be.
    #[error(
        "the records of {} arrived out of order ({problem}): this is a mistake in the program",
        lossy(path)
    )]
    Order {
        /// The directory in question, source path.
        path: Vec<u8>,
        /// What is wrong.
        problem: &'static str,
    },
    /// The index's file system cannot say who may read what.
    #[error(
        "{} is on a file system without POSIX access control lists, which decide who sees what: \
         put the index elsewhere with -i, or make one for its owner alone with --private",
        path.display()
    )]
    NoAcls {
        /// The directory that could not be given one.
        path: PathBuf,
    },
    /// An index is someone else's, who could change it at any time.
    #[error(
        "{} belongs to user {owner}, who alone can index into it: choose another with -i or TRAWL_INDEX",
        path.display()
    )]
    NotOurs {
        /// The index directory.
        path: PathBuf,
        /// Whose it is.
        owner: trawl_model::Uid,
    },
    /// Only who can read all of an index can tell whether it is sound.
    #[error("{} belongs to user {owner}, who alone can verify it", path.display())]
    NotOursToVerify {
        /// The index directory.
        path: PathBuf,
        /// Whose it is.
        owner: trawl_model::Uid,
    },
    /// An index was made for other readers than it is to be written for.
    #[error(
        "{} was made for {}: choose another index with -i",
        path.display(),
        match has { crate::Readers::Owner => "its owner alone", crate::Readers::Everyone => "all users" }
    )]
    OtherReaders {
        /// The index directory.
        path: PathBuf,
        /// Whom it is for.
        has: crate::Readers,
    },
    /// Only the superuser can make an index for everyone.
    #[error("{} cannot be made for all users but by the superuser", path.display())]
    NotSuperuser {
        /// The index directory.
        path: PathBuf,
    },
    /// What was found unchanged could not be read from the snapshot before.
    #[error("cannot take over what is unchanged: {cause}; index again with --full")]
    ReadBack {
        /// What the reader said.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The Parquet library could not encode rows.
    #[error("cannot encode {}: {problem}", path.display())]
    Encode {
        /// The file that was being written.
        path: PathBuf,
        /// What the library said.
        problem: String,
    },
}

/// An operating system's answer.
#[derive(Debug)]
pub struct Cause(pub io::Error);

impl Cause {
    /// True if something was to be opened that is a symbolic link, and links
    /// were not to be followed.
    pub(crate) fn is_link(&self) -> bool {
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
        // The library appends the number, which tells users nothing.
        let text = text.split(" (os error").next().unwrap_or(&text);
        let mut letters = text.chars();
        match letters.next() {
            Some(first) => write!(f, "{}{}", first.to_lowercase(), letters.as_str()),
            None => f.write_str("unknown error"),
        }
    }
}

/// What to do about an error while an index is being written.
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
    trawl_model::escape::escape(trawl_model::path::display(path)).into_owned()
}

impl IndexError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
        error: impl Into<io::Error>,
    ) -> Self {
        IndexError::Io {
            action,
            path: path.into(),
            cause: Cause(error.into()),
        }
    }

    /// For a [`crate::ReadBack`] that fails.
    pub fn read_back(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        IndexError::ReadBack {
            cause: cause.into(),
        }
    }

    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> Self {
        IndexError::Damaged {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// True if a file or directory was not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, IndexError::Io { cause, .. } if cause.0.kind() == io::ErrorKind::NotFound)
    }

    /// True if access was refused.
    pub fn is_denied(&self) -> bool {
        matches!(self, IndexError::Io { cause, .. } if cause.0.kind() == io::ErrorKind::PermissionDenied)
    }
}
