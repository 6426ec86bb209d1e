//! The largest directories.

use std::ffi::OsStr;
use std::ops::ControlFlow;

use trawl_answers::AnswerError;
use trawl_answers::du::{Du, DuOptions, Sum};
use trawl_answers::expression::Expression;
use trawl_answers::top::{Measure, Ranking, SizeKind, Subject, Top, TopOptions, top};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path::split;
use trawl_session::Session;
use trawl_text::words::grouped;

use super::Asker;
use crate::document::{Cell, Part, Section, Table, Tile, Tiles, numbers, words};
use crate::numbers::{self, bytes_of};

/// Largest parts of a directory that are drawn.
const TILES: usize = 40;
/// Largest parts of each of them that are drawn.
const INNER_TILES: usize = 20;

/// Columns that tables of files show.
pub(super) const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Size,
    Column::Blocks,
    Column::Mtime,
    Column::Uid,
    Column::Mode,
]);

impl Asker<'_> {
    pub(super) fn directories(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Allocated space. Directories are summed up with everything below them; a \
                         file with several names counts once."
            .into();
        self.ask(section, |session| {
            let mut parts = Vec::new();
            for given in &self.paths {
                let tiles = tiles(session, given)?;
                if !tiles.is_empty() {
                    let caption = self.caption("Where the space is", given);
                    parts.push(Part::Tiles(Tiles { caption, tiles }));
                }
            }
            let top = self.top(session, Subject::Directories)?;
            parts.extend(table(&top).map(Part::Table));
            Ok(parts)
        })
        .map(|parts| section.parts.extend(parts))?;
        let limit = self.limit.to_string();
        let words = ["top", "--dirs", "-n", &limit];
        section.commands.push(self.command(&words, &self.paths));
        Ok(())
    }

    /// Ranks what is below all paths.
    pub(super) fn top(
        &self,
        session: &mut Session<'_>,
        subject: Subject,
    ) -> Result<Top, AnswerError> {
        let options = TopOptions {
            subject,
            by: Measure::Space,
            size: SizeKind::Allocated,
            limit: self.limit,
            expression: &Expression::default(),
            columns: COLUMNS,
            now: self.now,
        };
        top(session, &self.paths, &options, &self.names)
    }
}

fn table(top: &Top) -> Option<Table> {
    let Ranking::Directories(found) = &top.ranking else {
        return None;
    };
    let whole = top.whole_bytes(SizeKind::Allocated);
    let row = |ranked: &trawl_answers::top::Ranked| {
        let bytes = bytes_of(ranked.blocks);
        vec![
            Cell::Name(ranked.path.clone()),
            Cell::Text(numbers::size(bytes)),
            Cell::Share(numbers::part_of(bytes, whole)),
            Cell::Text(grouped(ranked.entries)),
        ]
    };
    Some(Table {
        caption: b"Largest directories".to_vec(),
        columns: vec![
            words("Directory"),
            numbers("On disk"),
            numbers("Share"),
            numbers("Entries"),
        ],
        rows: found.iter().map(row).collect(),
    })
}

/// Returns the largest directories in a directory, the largest first, each with those in it.
fn tiles(session: &mut Session<'_>, given: &OsStr) -> Result<Vec<Tile>, AnswerError> {
    let options = DuOptions {
        max_depth: 2,
        ..DuOptions::default()
    };
    let mut found = Found::default();
    let mut du = Du::new(session, &options);
    du.add(session, given, &mut |sum| {
        found.add(sum);
        ControlFlow::Continue(())
    })?;
    Ok(found.outer)
}

/// The largest directories so far. Directories come after those in them.
#[derive(Default)]
struct Found {
    inner: Vec<Tile>,
    outer: Vec<Tile>,
}

impl Found {
    fn add(&mut self, sum: &Sum<'_>) {
        let label = split(sum.path).map_or(sum.path, |(_, name)| name);
        let tile = Tile {
            label: label.to_vec(),
            bytes: bytes_of(sum.amount.usage.blocks),
            tiles: Vec::new(),
        };
        match sum.depth {
            2 => self.inner.push(tile),
            1 => {
                keep_largest(&mut self.inner, INNER_TILES);
                let tiles = std::mem::take(&mut self.inner);
                self.outer.push(Tile { tiles, ..tile });
            }
            _ => {
                keep_largest(&mut self.outer, TILES);
                let listed = self.outer.iter().map(|tile| tile.bytes);
                let listed = listed.fold(0, u64::saturating_add);
                let rest = Tile {
                    label: b"(everything else)".to_vec(),
                    bytes: tile.bytes.saturating_sub(listed),
                    tiles: Vec::new(),
                };
                self.outer.extend((rest.bytes > 0).then_some(rest));
                self.outer.sort_by_key(|tile| std::cmp::Reverse(tile.bytes));
            }
        }
        // A directory can have any number of directories.
        if self.inner.len() >= 4 * INNER_TILES {
            keep_largest(&mut self.inner, INNER_TILES);
        }
        if self.outer.len() >= 4 * TILES {
            keep_largest(&mut self.outer, TILES);
        }
    }
}

fn keep_largest(tiles: &mut Vec<Tile>, limit: usize) {
    tiles.sort_by_key(|tile| std::cmp::Reverse(tile.bytes));
    tiles.truncate(limit);
}
