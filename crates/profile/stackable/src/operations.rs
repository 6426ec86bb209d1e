//! The operations that the layer passes on, as one table: its name in profiles, and the system calls
//! that it makes on the file system below, whose time is its latency.

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $calls:literal;)*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($(#[$doc])* $variant,)*
        }

        impl Operation {
            /// All operations, in the order of their numbers.
            pub const ALL: &'static [Operation] = &[$(Operation::$variant,)*];

            /// Returns its name in profiles.
            pub fn name(self) -> &'static str {
                match self {
                    $(Operation::$variant => $name,)*
                }
            }

            /// Returns the system calls that are measured together.
            pub fn calls(self) -> &'static str {
                match self {
                    $(Operation::$variant => $calls,)*
                }
            }
        }
    };
}

operations! {
    /// Finds a name in a directory.
    Lookup, "lookup", "openat2 with O_PATH, statx";
    /// Reads attributes.
    GetAttributes, "getattr", "statx";
    /// Changes attributes; truncates.
    SetAttributes, "setattr", "fchownat, fchmodat, ftruncate, utimensat, statx";
    /// Reads a symbolic link.
    ReadLink, "readlink", "readlinkat";
    /// Makes a FIFO, a socket, a device or an empty file.
    MakeNode, "mknod", "mknodat";
    /// Makes a directory.
    MakeDirectory, "mkdir", "mkdirat";
    /// Removes a name of something other than a directory.
    Unlink, "unlink", "unlinkat";
    /// Removes a directory.
    RemoveDirectory, "rmdir", "unlinkat";
    /// Makes a symbolic link.
    MakeSymlink, "symlink", "symlinkat";
    /// Renames, or exchanges two names.
    Rename, "rename", "renameat2";
    /// Makes a hard link.
    Link, "link", "linkat";
    /// Makes and opens a regular file.
    Create, "create", "openat with O_CREAT";
    /// Opens a regular file.
    Open, "open", "openat";
    /// Reads from a file.
    Read, "read", "pread64";
    /// Writes to a file.
    Write, "write", "pwrite64 or pwritev2";
    /// Follows each close(2) of a descriptor.
    Flush, "flush", "close of a duplicate";
    /// Follows the last close(2) of an open file.
    Release, "release", "close";
    /// Makes a file durable.
    Sync, "fsync", "fsync or fdatasync";
    /// Opens a directory.
    OpenDirectory, "opendir", "openat";
    /// Reads names of a directory.
    ReadDirectory, "readdir", "getdents64";
    /// Closes a directory.
    ReleaseDirectory, "releasedir", "close";
    /// Makes a directory durable.
    SyncDirectory, "fsyncdir", "fsync or fdatasync";
    /// Reads the numbers of free blocks and files.
    StatFs, "statfs", "fstatfs";
    /// Sets an extended attribute.
    SetXattr, "setxattr", "setxattr";
    /// Reads an extended attribute.
    GetXattr, "getxattr", "getxattr";
    /// Lists extended attributes.
    ListXattr, "listxattr", "listxattr";
    /// Removes an extended attribute.
    RemoveXattr, "removexattr", "removexattr";
    /// Reserves space, or punches holes.
    Allocate, "fallocate", "fallocate";
    /// Finds data or a hole.
    Seek, "lseek", "lseek";
    /// Copies between files.
    CopyRange, "copy_file_range", "copy_file_range";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_positions_in_the_table() {
        for (number, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(*operation as usize, number);
        }
        let names: std::collections::BTreeSet<_> =
            Operation::ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), Operation::ALL.len());
    }
}
