//! The records of an answer: matches and errors.

pub use trawl_sys::stat_layout::Attributes;

/// The operation on a path that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Source {
    /// A directory could not be opened.
    Open = 1,
    /// A directory could not be read to its end.
    Read = 2,
    /// A directory could not be closed. The Linux executors never report it.
    Close = 3,
    /// stat(2) failed for a match, for example for a link that leads nowhere.
    Stat = 4,
    /// A directory lies deeper than the search may go, and was not entered.
    Depth = 5,
    /// A directory that the path already passes through was not entered again.
    Loop = 6,
}

impl Source {
    const ALL: [Source; 6] = [
        Source::Open,
        Source::Read,
        Source::Close,
        Source::Stat,
        Source::Depth,
        Source::Loop,
    ];

    /// Returns the source with this number.
    pub fn from_number(number: u8) -> Option<Source> {
        Source::ALL
            .into_iter()
            .find(|source| *source as u8 == number)
    }

    /// Returns the operation's name, one word.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Open => "open",
            Source::Read => "read",
            Source::Close => "close",
            Source::Stat => "stat",
            Source::Depth => "depth",
            Source::Loop => "loop",
        }
    }
}

/// A failure about one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trouble {
    /// The operation that failed.
    pub source: Source,
    /// The errno of the failure, never 0.
    pub errno: i32,
}

/// The result for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The path matches; with its attributes if they were requested.
    Match(Option<Attributes>),
    /// An operation on the path failed.
    Error(Trouble),
}

/// A record whose path is borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Index of the root in the list of roots.
    pub root: u32,
    /// Path below the root, or including the root, as the request's [`crate::options::RootForm`]
    /// says.
    pub path: &'a [u8],
    /// The result for the path.
    pub outcome: Outcome,
}

/// A record that owns its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Index of the root in the list of roots.
    pub root: u32,
    /// Path below the root, or including the root, as the request's [`crate::options::RootForm`]
    /// says.
    pub path: Vec<u8>,
    /// The result for the path.
    pub outcome: Outcome,
}

impl RecordRef<'_> {
    /// Copies the record into one that owns its path.
    pub fn to_owned(&self) -> Record {
        Record {
            root: self.root,
            path: self.path.to_vec(),
            outcome: self.outcome,
        }
    }
}
