//! `trawl sources --snapshots`: lists the snapshots that `--at` can ask about.

use trawl_format::{IndexDir, Snapshot, SnapshotInfo, Source};
use trawl_text::json::Object;
use trawl_text::units::{Scale, format};

use crate::at::time_text;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::progress::counted;
use crate::output::{Output, say};
use crate::rows::Form;
use crate::sources::{held_by, in_all};

/// Lists all snapshots of all sources; for each source the oldest comes first.
pub(crate) fn list(indexes: &[IndexDir], form: Form) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for (source, index) in &in_all(indexes)? {
        let snapshots = source.snapshots()?;
        if form == Form::Text {
            let count = counted(snapshots.len() as u64, "snapshot");
            let by = held_by(indexes, index);
            output.put(format!("{}: {count}{by}\n", shown(source.root())))?;
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
            output.put(match form {
                Form::Text => text(info, snapshot.as_ref()),
                Form::Json | Form::Csv => object(source, info, snapshot.as_ref()),
            })?;
        }
    }
    output.finish()?;
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

fn object(source: &Source, info: &SnapshotInfo, snapshot: Option<&Snapshot>) -> String {
    let object = Object::new()
        .bytes("root", trawl_model::path::display(source.root()))
        .text("snapshot", &info.id.to_string())
        .time("started", Some(info.started))
        .time("finished", Some(info.finished));
    let object = match snapshot {
        None => object.null("entries"),
        Some(snapshot) => {
            let totals = snapshot.totals();
            object
                .number("entries", totals.entries)
                .number("directories", totals.dirs)
                .number("size", totals.size_bytes)
                .number("issues", totals.issues)
                .number("index_bytes", bytes_of(snapshot))
        }
    };
    object.close() + "\n"
}

fn bytes_of(snapshot: &Snapshot) -> u64 {
    let files = snapshot.shards.iter().flat_map(|shard| shard.files());
    files.map(|(_, _, file)| file.size_bytes).sum()
}
