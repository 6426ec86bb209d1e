//! Fields that several commands print besides the columns of an entry.
//!
//! A field that only one command prints is declared beside that command.

use crate::schema::Field;

macro_rules! fields {
    ($($constant:ident = $kind:ident $name:literal $(in $unit:literal)? $meaning:literal;)*) => {$(
        #[doc = concat!("`", $name, "`: ", $meaning, ".")]
        pub const $constant: Field = Field::$kind($name, $meaning)$(.in_units($unit))?;
    )*};
}

fields! {
    PATH = bytes "path" "path, as the question spells it";
    ROOT = bytes "root" "root of a source or of a search";
    TYPE = text "type" "`f` `d` `l` `p` `s` `b` `c` as `find -type`, `U` if unknown; `null` if no attributes are known; then the fields of an entry besides `path` are missing";
    SIZE = integer "size" in "bytes" "sum of apparent sizes, each object once";
    DISK_BYTES = integer "disk_bytes" in "bytes" "allocated space of a group or a tree";
    PERMISSIONS = text "permissions" "the permission bits in octal: `0755`";
    UID = integer "uid" "owner";
    GID = integer "gid" "owning group";
    USER = bytes "user" "the owner's name; `null` if the system has none";
    GROUP = bytes "group" "the owning group's name; `null` if the system has none";
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
    SIZE_DELTA = integer "size_delta" in "bytes" "apparent size beyond that of the previous snapshot";
    DISK_DELTA = integer "disk_delta" in "bytes" "allocated space beyond that of the previous snapshot";
    INDEX_BYTES = integer "index_bytes" in "bytes" "space of a snapshot in the index";
    ERRNO = integer "errno" "number of errno(3)";
    EVENT = text "event" "`start`, `progress`, `issue`, `done`, `interrupted`, `error`; `finding`, `verified`; `snapshot`, `gc`; `rebuilt-names`; `user`, `difference`, `checked`";
    PROBLEM = text "problem" "problem found in a file of the index";
    FINDINGS = integer "findings" "number of findings";
    MESSAGE = text "message" "the system's message";
    ELAPSED_MS = integer "elapsed_ms" in "ms" "time since the scan began";
}
