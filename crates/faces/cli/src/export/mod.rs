//! Where `trawl export` writes, and exports that come from another machine.
//!
//! `trawl-sql` writes the tables. Asked by a client on another machine, it writes no files, but sends
//! them ([`Sent`]), and the client's `trawl` makes the files of what it receives.
//!
//! Invariants: an export either exists as a whole or not at all; a client makes no other files than
//! those that its own question names, whatever a server sends.

mod destination;
mod progress;
mod received;
mod sent;

pub use destination::{ABOUT, Destination, ExportError};
pub use progress::Progress;
pub(crate) use received::receive;
pub use sent::Sent;

use crate::sql::{ExportArgs, ExportTable, Format};

/// Returns the name of a part of a table, counted from 1.
#[must_use]
pub fn part_name(number: u64, format: Format) -> String {
    let end = match format {
        Format::Csv => "csv",
        Format::Json => "jsonl",
        _ => "parquet",
    };
    format!("part-{number:05}.{end}")
}

impl ExportArgs {
    /// Returns the format and the directory.
    ///
    /// # Errors
    /// If there is none.
    pub fn wanted(&self) -> Result<(Format, &std::path::Path), ExportError> {
        let parquet = self.parquet.as_deref().map(|dir| (Format::Parquet, dir));
        let csv = self.csv.as_deref().map(|dir| (Format::Csv, dir));
        let json = self.json.as_deref().map(|dir| (Format::Json, dir));
        let wanted = parquet.or(csv).or(json);
        wanted.ok_or_else(|| {
            let why = "no destination given: use --parquet, --csv or --json DIR";
            ExportError::Usage(why.into())
        })
    }

    /// Returns the tables, in the order in which they are written.
    #[must_use]
    pub fn wanted_tables(&self) -> Vec<ExportTable> {
        let is_wanted = |table: &ExportTable| match self.tables.is_empty() {
            true => !table.reads_files(),
            false => self.tables.contains(table),
        };
        ExportTable::ALL.into_iter().filter(is_wanted).collect()
    }
}

impl ExportTable {
    /// All tables, in the order in which they are written.
    pub const ALL: [ExportTable; 8] = [
        ExportTable::Entries,
        ExportTable::Dirs,
        ExportTable::Xattrs,
        ExportTable::Attributes,
        ExportTable::FileGroups,
        ExportTable::GroupMembers,
        ExportTable::Relations,
        ExportTable::Issues,
    ];

    /// Returns the name of the table, and of its directory.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ExportTable::Entries => "entries",
            ExportTable::Dirs => "dirs",
            ExportTable::Xattrs => "xattrs",
            ExportTable::Attributes => "attributes",
            ExportTable::FileGroups => "file_groups",
            ExportTable::GroupMembers => "group_members",
            ExportTable::Relations => "relations",
            ExportTable::Issues => "issues",
        }
    }

    /// Returns whether files are read for the table.
    const fn reads_files(self) -> bool {
        matches!(
            self,
            ExportTable::Attributes
                | ExportTable::FileGroups
                | ExportTable::GroupMembers
                | ExportTable::Relations
        )
    }
}
