//! Differences counted by directory, owner or extension.

use trawl_answers::diff::{self, Sums, Tally};
use trawl_diff::Difference;
use trawl_model::Uid;
use trawl_report::{Field, Row, Schema, fields, schema};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;

use crate::failure::Failure;
use crate::index::progress::grouped;
use crate::output::Device;
use crate::rows::{Form, Report};
use crate::scope::printed_path;
use crate::table::{Align, signed_size, table};

/// Grouping of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum Grouping {
    /// The directory of the entry, cut at --depth levels
    Dir,
    /// The owner
    Owner,
    /// The part of a regular file's name after the last dot
    Ext,
}

impl Grouping {
    fn name(self) -> &'static str {
        match self {
            Grouping::Dir => "dir",
            Grouping::Owner => "owner",
            Grouping::Ext => "ext",
        }
    }

    fn key(self, depth: usize) -> diff::Grouping {
        match self {
            Grouping::Dir => diff::Grouping::Directory(depth),
            Grouping::Owner => diff::Grouping::Owner,
            Grouping::Ext => diff::Grouping::Extension,
        }
    }
}

const LABEL: Field = fields::LABEL.without_raw().always();
const CREATED: Field = Field::integer("created", "number of new entries");
const DELETED: Field = Field::integer("deleted", "number of deleted entries");
const CHANGED: Field = Field::integer("changed", "number of changed entries");
const MOVED: Field = Field::integer("moved", "number of moved entries");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a group of differences",
    fields: &[
        fields::BY.always(),
        fields::KEY,
        LABEL,
        CREATED.always(),
        DELETED.always(),
        CHANGED.always(),
        MOVED.always(),
        fields::SIZE_DELTA,
        fields::DISK_DELTA,
    ],
    forms: schema::ROWS,
    samples: &["diff --summary"],
};

/// Counter of differences.
pub(super) struct Summary<'a> {
    grouping: Grouping,
    given: &'a [u8],
    top: &'a [u8],
    tally: Tally<'a>,
    owners: Owners,
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        grouping: Grouping,
        depth: usize,
        given: &'a [u8],
        top: &'a [u8],
    ) -> Summary<'a> {
        Summary {
            grouping,
            given,
            top,
            tally: Tally::new(grouping.key(depth), top),
            owners: Owners::default(),
        }
    }

    pub(super) fn add(&mut self, difference: &Difference) {
        self.tally.add(difference);
    }

    /// Returns a key as people read it.
    fn label(&self, key: &[u8]) -> Vec<u8> {
        match self.grouping {
            Grouping::Dir => printed_path(self.given, self.top, key),
            Grouping::Ext if key.is_empty() => b"(none)".to_vec(),
            Grouping::Ext => [b".", key].concat(),
            Grouping::Owner => {
                let id = std::str::from_utf8(key).ok().and_then(|id| id.parse().ok());
                let name = id.and_then(|id| self.owners.user(Uid(id)));
                name.map_or_else(|| key.to_vec(), |name| name.to_vec())
            }
        }
    }

    /// Writes all groups, the one with the largest change first.
    pub(super) fn put(self, report: &mut Report) -> Result<(), Failure> {
        let mut rows: Vec<(Vec<u8>, Vec<u8>, Sums)> = self
            .tally
            .groups()
            .iter()
            .map(|(key, sums)| (self.label(key), key.clone(), *sums))
            .collect();
        rows.sort_by(|(a_label, _, a), (b_label, _, b)| {
            let size = |sums: &Sums| std::cmp::Reverse(sums.size_delta.unsigned_abs());
            size(a).cmp(&size(b)).then_with(|| a_label.cmp(b_label))
        });
        if report.form() == Form::Text {
            return Ok(report.put(self.text(&rows))?);
        }
        report.begin()?;
        for (label, key, sums) in &rows {
            report.row(|row| self.fill(row, (label, key), sums))?;
        }
        Ok(())
    }

    fn fill(&self, row: &mut Row<'_>, (label, key): (&[u8], &[u8]), sums: &Sums) {
        row.put(&fields::BY, self.grouping.name())
            .put(&fields::KEY, key)
            .put(&LABEL, label)
            .put(&CREATED, sums.created)
            .put(&DELETED, sums.deleted)
            .put(&CHANGED, sums.changed)
            .put(&MOVED, sums.moved)
            .put(&fields::SIZE_DELTA, sums.size_delta)
            .put(&fields::DISK_DELTA, sums.disk_delta);
    }

    fn text(&self, rows: &[(Vec<u8>, Vec<u8>, Sums)]) -> Vec<u8> {
        let terminal = match Device::of_stdout() {
            Device::Terminal => Terminal::Watched(Locale::from_env()),
            Device::Other => Terminal::Absent,
        };
        let cells = |label: &[u8], sums: &Sums| {
            let number = |count: u64| grouped(count).into_bytes();
            vec![
                terminal.show(label).into_owned(),
                number(sums.created),
                number(sums.deleted),
                number(sums.changed),
                number(sums.moved),
                signed_size(sums.size_delta).into_bytes(),
                signed_size(sums.disk_delta).into_bytes(),
            ]
        };
        let mut whole = Sums::default();
        let heads = ["created", "deleted", "changed", "moved", "content", "disk"];
        let heads = std::iter::once(self.grouping.name()).chain(heads);
        let mut lines = vec![heads.map(|head| head.as_bytes().to_vec()).collect()];
        for (label, _, sums) in rows {
            whole.add(sums);
            lines.push(cells(label, sums));
        }
        lines.push(cells(b"total", &whole));
        table(&lines, Align::FirstLeft)
    }
}
