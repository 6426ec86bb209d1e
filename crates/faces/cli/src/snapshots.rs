//! `trawl sources --snapshots`: lists the snapshots that `--at` can ask about.

use trawl_format::{IndexDir, Snapshot, SnapshotInfo, Source};
use trawl_indexer::sources::in_all;
use trawl_model::mapped::theirs;
use trawl_report::{Row, Schema, Value, fields, schema};
use trawl_text::units::{Scale, format};

use crate::at::time_text;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::progress::counted;
use crate::output::say;
use crate::rows::{self, Form};
use crate::sources::held_by;

/// Rows for programs.
pub(crate) static SCHEMA: Schema = Schema {
    row: "a snapshot of an indexed tree",
    fields: &[
        fields::ROOT.always(),
        fields::SNAPSHOT.always(),
        fields::STARTED.always(),
        fields::FINISHED,
        fields::ENTRIES,
        fields::DIRECTORIES,
        fields::SIZE,
        fields::ISSUES,
        fields::INDEX_BYTES,
    ],
    forms: schema::OBJECTS,
    samples: &["sources --snapshots"],
};

/// Lists all snapshots of all sources; for each source the oldest comes first.
pub(crate) fn list(indexes: &[IndexDir], form: Form) -> Result<Exit, Failure> {
    let mut report = rows::report(&SCHEMA, form);
    let mut exit = Exit::Complete;
    for (source, index) in &in_all(indexes)? {
        let snapshots = source.snapshots()?;
        if report.form() == Form::Text {
            let count = counted(snapshots.len() as u64, "snapshot");
            let by = held_by(indexes, index);
            report.put(format!("{}: {count}{by}\n", shown(source.root())))?;
        }
        for info in &snapshots {
            // An unreadable snapshot does not hide the others.
            let snapshot = match source.snapshot(info.id) {
                Ok(snapshot) => Some(snapshot),
                Err(error) => {
                    say(&error);
                    exit = Exit::Fatal;
                    None
                }
            };
            let snapshot = snapshot.as_ref();
            report.line(
                || text(info, snapshot),
                |row| fill(row, source, info, snapshot),
            )?;
        }
    }
    rows::finish(report)?;
    Ok(exit)
}

fn text(info: &SnapshotInfo, snapshot: Option<&Snapshot>) -> String {
    let what = snapshot.map(|snapshot| {
        format!(
            "  {}, {} in the index",
            counted(snapshot.totals().entries, "entry"),
            format(u128::from(bytes_of(snapshot)), Scale::Binary)
        )
    });
    let time = time_text(info.started);
    format!("  {}  {time}{}\n", info.id, what.unwrap_or_default())
}

fn fill(row: &mut Row<'_>, source: &Source, info: &SnapshotInfo, snapshot: Option<&Snapshot>) {
    row.put(&fields::ROOT, &*theirs(source.root()))
        .put(&fields::SNAPSHOT, &info.id.to_string())
        .put(&fields::STARTED, info.started)
        .put(&fields::FINISHED, info.finished);
    let Some(snapshot) = snapshot else {
        row.put(&fields::ENTRIES, Value::Null);
        return;
    };
    let totals = snapshot.totals();
    row.put(&fields::ENTRIES, totals.entries)
        .put(&fields::DIRECTORIES, totals.dirs)
        .put(&fields::SIZE, totals.size_bytes)
        .put(&fields::ISSUES, totals.issues)
        .put(&fields::INDEX_BYTES, bytes_of(snapshot));
}

fn bytes_of(snapshot: &Snapshot) -> u64 {
    let files = snapshot.shards.iter().flat_map(|shard| shard.files());
    files.map(|(_, _, file)| file.size_bytes).sum()
}
