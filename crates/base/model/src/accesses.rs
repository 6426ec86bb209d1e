//! What the programs of a command opened, read and wrote, in the order in which they did it.

/// Number of a file in [`Accesses::files`].
pub type FileNumber = u32;

/// What the programs of a command did to files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// The files, as they were when the command had ended.
    pub files: Vec<AccessedFile>,
    /// The accesses, in the order of their times.
    pub events: Vec<Access>,
    /// Number of accesses that were seen and not recorded.
    pub lost: u64,
}

/// A file that was accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessedFile {
    /// Absolute path, without links and dots.
    pub path: Vec<u8>,
    /// The regular file that had this path at the end; `None` if there was none.
    pub at_end: Option<FileAtEnd>,
}

/// A regular file after the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAtEnd {
    /// Which file it is.
    pub identity: FileIdentity,
    /// Time of the last change of its content, in nanoseconds since the epoch.
    pub modified_ns: i64,
}

/// Identity of a file, which another file of the same path does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Time of birth in nanoseconds since the epoch; 0 if the file system does not know it.
    pub born_ns: i64,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// When, in nanoseconds since the epoch.
    pub at_ns: i64,
    /// Id of the process.
    pub process: u32,
    /// Id of its parent.
    pub parent: u32,
    /// The file.
    pub file: FileNumber,
    /// The kind of access.
    pub kind: AccessKind,
}

/// A kind of access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// The process began to run it.
    Executed,
    /// It is mapped as code: a library of the program.
    Mapped,
    /// It was opened for reading.
    Read,
    /// It was opened for reading and writing.
    Updated,
    /// It was opened for writing.
    Written,
    /// It was opened for writing at its end.
    Appended,
    /// It was open for writing when the process began to run its program: redirected output.
    Redirected,
    /// It got the content of this file, which was renamed or linked.
    Named(FileNumber),
}
