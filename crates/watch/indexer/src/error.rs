//! Errors that end a scan, a refresh, upkeep or a check.

use std::io;
use std::path::PathBuf;

use trawl_format::IndexError;
use trawl_model::path::display;
use trawl_sys::SysError;
use trawl_text::words::{cause, quoted, shown};
use trawl_writer::WriterError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, IndexerError>;

/// Why an index could not be made, maintained or checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexerError {
    /// The path of the tree to scan is empty.
    #[error("an empty path names no tree: give . for the working directory")]
    EmptyPath,
    /// A pattern of paths to leave out is invalid.
    #[error(
        "--exclude {}: the pattern is invalid: give a name, or an absolute path, which begins with / \
         or a wildcard",
        quoted(.pattern)
    )]
    Pattern {
        /// The pattern as it was given.
        pattern: Vec<u8>,
    },
    /// A file could not be read, or a directory not be reached.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file with an id map is invalid.
    #[error("{}, {problem}", path.display())]
    IdMap {
        /// The file.
        path: PathBuf,
        /// The line, and the reason.
        problem: trawl_model::id_map::IdMapError,
    },
    /// No source contains the path that should be refreshed.
    #[error("{} is not indexed: trawl index PATH indexes it", quoted(.path))]
    NotIndexed {
        /// The path.
        path: Vec<u8>,
    },
    /// A named index of a part was to be defined, but the part is no directory that all readers of the
    /// index can see, as they see the definition.
    #[error(
        "{} is not a directory that everyone who may read the index can see, as they can see its \
         named indices: define one of a directory above",
        quoted(display(.path))
    )]
    HiddenPart {
        /// The path.
        path: Vec<u8>,
    },
    /// An index over an extended attribute is of a source whose attributes were not read.
    #[error(
        "the extended attributes below {} are not known: index it again without --no-xattr",
        quoted(display(.path))
    )]
    NoXattrs {
        /// Root of the source.
        path: Vec<u8>,
    },
    /// No daemon watches the path, and its index belongs to another user.
    #[error(
        "{} cannot be refreshed: no daemon watches it, and the index is another user's: ask them \
         to run trawl index, or trawl watch",
        quoted(.path)
    )]
    OthersIndex {
        /// The path.
        path: Vec<u8>,
    },
    /// The index belongs to another user, and no rule for which snapshots to keep was given.
    #[error(
        "the index of {} belongs to user {owner}, who alone can see its rule: give a rule with \
         --dry-run --keep",
        quoted(display(.root))
    )]
    OthersRule {
        /// Root of the source.
        root: Vec<u8>,
        /// The user that owns the index.
        owner: trawl_model::Uid,
    },
    /// The path lies in a source that was indexed from a trace.
    #[error("{} cannot be refreshed: it was indexed from a trace", quoted(.path))]
    Recorded {
        /// The path.
        path: Vec<u8>,
    },
    /// A daemon watches the tree, and these are not the options with which it scans.
    #[error(
        "{} is watched by a daemon, which uses the options of the last scan: stop the daemon \
         first, or leave out other options",
        quoted(display(.root))
    )]
    Watched {
        /// Root of the source.
        root: Vec<u8>,
    },
    /// The ids of the source are mapped, so nothing can tell who may read its contents.
    #[error(
        "{} has an id map: --text needs the ids of this machine; --no-text leaves contents out",
        quoted(display(.root))
    )]
    TextIds {
        /// Root of the source.
        root: Vec<u8>,
    },
    /// The ids of the source are mapped, so nothing can tell who may read its contents.
    #[error(
        "{} has an id map: --keywords needs the ids of this machine; --no-keywords leaves contents \
         out",
        quoted(display(.root))
    )]
    KeywordIds {
        /// Root of the source.
        root: Vec<u8>,
    },
    /// The list of a source's named indices is damaged.
    #[error(
        "{}: {source}: define its indices again with trawl index define",
        shown(display(.root))
    )]
    Definitions {
        /// Root of the source.
        root: Vec<u8>,
        /// The problem.
        source: trawl_indices::DefinitionError,
    },
    /// A named index could not be defined or dropped.
    #[error(transparent)]
    Definition(#[from] trawl_indices::DefinitionError),
    /// Packs of keywords could not be made.
    #[error(transparent)]
    Keywords(#[from] trawl_keywords::KeywordsError),
    /// Permissions can be checked by the superuser only.
    #[error("--check-permissions acts as one user after the other: run it as root")]
    NotSuperuser,
    /// An index that only its owner may read shows nothing to others, so nothing can be checked.
    #[error("{} is private to its owner: other users see nothing of it", index.display())]
    PrivateIndex {
        /// Directory of the index.
        index: PathBuf,
    },
    /// A user to check for does not exist or cannot be checked.
    #[error("--user {}: {why}", shown(.given))]
    User {
        /// The user as given.
        given: Vec<u8>,
        /// The problem, and what to give instead.
        why: &'static str,
    },
    /// This process cannot act as a user.
    #[error(
        "cannot become user {user}: {source}; run this as root, with CAP_SETUID and CAP_SETGID"
    )]
    CannotBecome {
        /// Name and number of the user.
        user: String,
        /// The system's error.
        source: SysError,
    },
    /// A directory of the source could not be examined.
    #[error("cannot look at {}: {source}", shown(.dir))]
    CannotLook {
        /// The directory.
        dir: Vec<u8>,
        /// The system's error.
        source: SysError,
    },
    /// The index could not be read or written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The daemon of a source could not be asked.
    #[error(transparent)]
    Daemon(#[from] trawl_barrier::ServeError),
    /// The index could not be queried.
    #[error(transparent)]
    Query(#[from] trawl_query::QueryError),
    /// A snapshot could not be committed.
    #[error(transparent)]
    Writer(WriterError),
    /// A scan did not finish.
    #[error(transparent)]
    Scan(trawl_scan::ScanError<IndexError>),
    /// The caller's flag ended the work.
    #[error("interrupted")]
    Interrupted,
}

impl From<WriterError> for IndexerError {
    fn from(error: WriterError) -> IndexerError {
        match error {
            WriterError::Index(error) => IndexerError::Index(error),
            WriterError::Query(error) => IndexerError::Query(error),
            error => IndexerError::Writer(error),
        }
    }
}
