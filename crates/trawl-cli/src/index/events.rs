//! Events of scans for programs: what `trawl index --json` and `--progress json` print.

use std::time::Duration;

use trawl_indexer::{Running, Summary};
use trawl_model::Issue;
use trawl_model::path::display;
use trawl_report::{Field, Row, Schema, fields, json_object, schema};

use crate::index::progress::millis;
use crate::index::summary::by_rows;

const WRITING: Field = Field::flag(
    "writing",
    "whether the tree has been read and the snapshot is being written",
);
const OPERATION: Field = Field::text(
    "operation",
    "the call that failed (`errno` gives the error)",
);
const DETAIL: Field = Field::text("detail", "further details");
const VANISHED: Field = Field::integer(
    "vanished",
    "number of entries that vanished while the tree was read",
);
const UNREAD: Field = Field::integer("unread", "number of issues that hide entries");
const TIGHTENED_SNAPSHOTS: Field = Field::integer(
    "tightened_snapshots",
    "number of older snapshots that got stricter guards",
);
const TIGHTENED_DIRECTORIES: Field = Field::integer(
    "tightened_directories",
    "number of directories in older snapshots that got stricter guards",
);
const SHARDS: Field = Field::integer("shards", "number of parts of a snapshot");
const UP_TO: Field = Field::integer("up_to", "a number of rows");
const SHARD_ROWS: Field = Field::objects(
    "shard_rows",
    &[UP_TO, SHARDS],
    "sizes of the shards: `shards` of them have at most `up_to` rows",
);
const NEW_BYTES: Field = Field::integer(
    "new_bytes",
    "space of the snapshot that older ones do not share",
)
.in_units("bytes");

/// The beginning of a scan.
static STARTED: Schema = Schema {
    row: "a scan that begins",
    fields: &[fields::EVENT, fields::ROOT],
    forms: schema::OBJECTS,
    samples: &["index --quiet --full --progress json ."],
};

/// The progress of a scan.
static PROGRESS: Schema = Schema {
    row: "the progress of a scan",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        fields::ENTRIES,
        fields::DIRECTORIES,
        fields::SIZE,
        fields::ISSUES,
        WRITING,
        fields::ELAPSED_MS,
    ],
    forms: schema::OBJECTS,
    samples: &[],
};

/// A path that could not be read.
static ISSUE: Schema = Schema {
    row: "a path that could not be read",
    fields: &[
        fields::EVENT,
        fields::PATH,
        OPERATION,
        fields::ERRNO,
        DETAIL,
    ],
    forms: schema::OBJECTS,
    samples: &[],
};

/// The end of a scan.
static DONE: Schema = Schema {
    row: "a scan that is complete",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        fields::ENTRIES,
        fields::DIRECTORIES,
        fields::SIZE,
        fields::ISSUES,
        VANISHED,
        UNREAD,
        fields::SNAPSHOT,
        TIGHTENED_SNAPSHOTS,
        TIGHTENED_DIRECTORIES,
        SHARDS,
        SHARD_ROWS,
        fields::INDEX_BYTES,
        NEW_BYTES,
        fields::ELAPSED_MS,
    ],
    forms: schema::OBJECTS,
    samples: &["index --quiet ."],
};

/// A scan that did not finish.
static FAILED: Schema = Schema {
    row: "a scan that did not finish",
    fields: &[fields::EVENT, fields::ROOT, fields::MESSAGE],
    forms: schema::OBJECTS,
    samples: &[],
};

/// All events of scans.
pub(super) const ALL: [&Schema; 5] = [&STARTED, &PROGRESS, &ISSUE, &DONE, &FAILED];

/// Fills the fields of an event about a source.
pub(super) fn fill_event(row: &mut Row<'_>, name: &str, root: &[u8]) {
    row.put(&fields::EVENT, name)
        .put(&fields::ROOT, display(root));
}

/// Returns the event that a scan begins.
pub(super) fn started(root: &[u8]) -> String {
    json_object(STARTED.fields, |row| fill_event(row, "start", root))
}

/// Returns the event that a scan goes on.
pub(super) fn progress(scan: &Running, elapsed: Duration) -> String {
    let (counts, writing) = (scan.progress(), scan.is_writing());
    json_object(PROGRESS.fields, |row| {
        fill_event(row, "progress", scan.root());
        row.put(&fields::ENTRIES, counts.entries)
            .put(&fields::DIRECTORIES, counts.directories)
            .put(&fields::SIZE, counts.bytes)
            .put(&fields::ISSUES, counts.issues)
            .put(&WRITING, writing)
            .put(&fields::ELAPSED_MS, millis(elapsed));
    })
}

/// Returns the event that a path could not be read.
pub(super) fn issue(issue: &Issue) -> String {
    json_object(ISSUE.fields, |row| {
        row.put(&fields::EVENT, "issue")
            .put(&fields::PATH, display(&issue.path))
            .put(&OPERATION, issue.op.as_str())
            .put(&fields::ERRNO, issue.errno.0)
            .put(&DETAIL, &issue.detail);
    })
}

/// Returns the event that a scan is complete.
pub(super) fn done(done: &Summary) -> String {
    let committed = &done.committed;
    let totals = &committed.totals;
    json_object(DONE.fields, |row| {
        fill_event(row, "done", &done.root);
        row.put(&fields::ENTRIES, totals.entries)
            .put(&fields::DIRECTORIES, totals.dirs)
            .put(&fields::SIZE, totals.size_bytes)
            .put(&fields::ISSUES, totals.issues)
            .put(&VANISHED, done.counts.vanished)
            .put(&UNREAD, done.issues.hiding)
            .put(&fields::SNAPSHOT, &committed.id.to_string())
            .put(&TIGHTENED_SNAPSHOTS, committed.tightened.snapshots.len())
            .put(&TIGHTENED_DIRECTORIES, committed.tightened.directories)
            .put(&SHARDS, committed.shards)
            .objects(
                &SHARD_ROWS,
                by_rows(&committed.shard_rows),
                |row, shards| {
                    row.put(&UP_TO, shards.0).put(&SHARDS, shards.1);
                },
            )
            .put(&fields::INDEX_BYTES, committed.size_bytes)
            .put(&NEW_BYTES, committed.new_bytes)
            .put(&fields::ELAPSED_MS, millis(done.elapsed));
    })
}

/// Returns the event that a scan did not finish.
pub(super) fn failed(name: &str, root: &[u8], message: &str) -> String {
    json_object(FAILED.fields, |row| {
        fill_event(row, name, root);
        row.put(&fields::MESSAGE, message);
    })
}
