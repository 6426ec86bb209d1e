//! Makes a segment's name sidecar from its tables.

use crate::error::{QueryError, Result};
use crate::view::View;
use trawl_format::schema::Table;
use trawl_model::FileType;
use trawl_names::{NamesError, NamesWriter, RowKind};

impl View {
    /// Makes a segment's name sidecar from its tables; `None` if it cannot have
    /// one.
    pub fn names_of(&self, segment: usize) -> Result<Option<Vec<u8>>> {
        let Some((_, shard, info)) = self.stored_segment(segment) else {
            return Ok(None);
        };
        let Some(entries) = info.files.get(&Table::Entries) else {
            return Ok(None);
        };
        let Ok(mut writer) = NamesWriter::new() else {
            return Ok(None);
        };
        let mut outcome: trawl_names::Result<()> = Ok(());
        self.stored_listings::<QueryError>(segment, 0..info.dirs, |_, batch| {
            if outcome.is_ok() {
                outcome = put(&mut writer, &batch);
            }
            Ok(())
        })?;
        match outcome.and_then(|()| writer.finish(entries.hash.0)) {
            Ok(bytes) => Ok(Some(bytes)),
            // A trace may contain names that no file system allows.
            Err(NamesError::Limit { .. }) => Ok(None),
            Err(_) => Err(QueryError::damaged(
                &shard.file_path(info.id, Table::Entries),
                "its names cannot be compressed",
            )),
        }
    }
}

fn put(writer: &mut NamesWriter, batch: &trawl_model::DirBatch) -> trawl_names::Result<()> {
    // A large directory comes in several fragments.
    if batch.fragment == 0 {
        writer.dir(&batch.path)?;
    }
    for entry in &batch.entries {
        let kind = match entry.meta.file_type() {
            FileType::Directory => RowKind::Directory,
            _ => RowKind::Other,
        };
        writer.row(batch.bytes(entry.name), kind)?;
    }
    Ok(())
}
