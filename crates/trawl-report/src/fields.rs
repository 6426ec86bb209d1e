//! The fields that several commands print: a name means the same everywhere.
//!
//! A field that only one command prints is declared beside that command.

use crate::schema::Field;

macro_rules! fields {
    ($($(#[$attribute:meta])* $constant:ident = $kind:ident $name:literal $meaning:literal;)*) => {$(
        #[doc = concat!("`", $name, "`: ", $meaning, ".")]
        $(#[$attribute])*
        pub const $constant: Field = Field::$kind($name, $meaning);
    )*};
}

fields! {
    PATH = bytes "path" "path, as the question spells it";
    ROOT = bytes "root" "root of a source or of a search";
    TYPE = text "type" "`f` `d` `l` `p` `s` `b` `c` as `find -type`, `U` if unknown; `null` if no attributes are known; then the fields below are missing";
    SIZE = integer "size" "apparent size, stx_size; for groups and trees the sum, each object once";
    DISK_BYTES = integer "disk_bytes" "allocated space, for groups and trees";
    BLOCKS = integer "blocks" "allocated space in units of 512 bytes, stx_blocks";
    MODE = integer "mode" "type and permission bits, stx_mode";
    PERMISSIONS = text "permissions" "the permission bits in octal: `0755`";
    NLINK = integer "nlink" "hard links";
    UID = integer "uid" "owner";
    GID = integer "gid" "owning group";
    USER = bytes "user" "the owner's name; `null` if the system has none";
    GROUP = bytes "group" "the owning group's name; `null` if the system has none";
    INO = integer "ino" "inode number";
    DEV = integer "dev" "device that holds the object: makedev(3) as in st_dev";
    RDEV = integer "rdev" "device that a device file stands for, like `dev`; 0 if none";
    BLKSIZE = integer "blksize" "preferred I/O size";
    ATIME = time "atime" "last access";
    MTIME = time "mtime" "last change of the content";
    CTIME = time "ctime" "last change of the inode";
    BTIME = time "btime" "creation; `null` where the file system does not keep it";
    LINK_TARGET = bytes "link_target" "target of a symbolic link; left out for other types";
    ID = text "id" "id of a source";
    INDEX = bytes "index" "path of the index";
    STATE = text "state" "what a snapshot says about a path: `present`, `same`, `changed`, `absent`, `unknown`";
    CHANGED = texts "changed" "names of the changed attributes";
    ENTRIES = integer "entries" "number of entries";
    DIRECTORIES = integer "directories" "number of directories";
    ISSUES = integer "issues" "number of paths that could not be read";
    BY = text "by" "criterion by which groups are made";
    KEY = bytes "key" "value that a group's entries share; `null` for the rest";
    LABEL = bytes "label" "a group's name, for people";
    SNAPSHOT = text "snapshot" "id of a snapshot";
    STARTED = time "started" "when a scan began";
    FINISHED = time "finished" "when a scan ended";
    SIZE_DELTA = integer "size_delta" "bytes more than in the previous snapshot, apparent";
    DISK_DELTA = integer "disk_delta" "bytes more than in the previous snapshot, allocated";
    INDEX_BYTES = integer "index_bytes" "bytes of a snapshot in the index";
    ERRNO = integer "errno" "number of errno(3)";
    EVENT = text "event" "`start`, `progress`, `issue`, `done`, `interrupted`, `error`; `finding`, `verified`; `snapshot`, `gc`; `rebuilt-names`; `user`, `difference`, `checked`";
    PROBLEM = text "problem" "problem found in a file of the index";
    FINDINGS = integer "findings" "number of findings";
    MESSAGE = text "message" "the system's message";
    ELAPSED_MS = integer "elapsed_ms" "milliseconds since the scan began";
}
