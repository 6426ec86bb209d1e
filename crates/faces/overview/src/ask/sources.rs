//! What is indexed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::AnswerError;
use trawl_format::{IndexDir, Snapshot, Source};
use trawl_model::path;
use trawl_query::{AsOf, QueryError};
use trawl_session::Follow;
use trawl_text::words::grouped;

use super::Asker;
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers;

/// Returns the roots of the indexed trees that the user may know of. A tree within another is not
/// among them.
///
/// # Errors
/// If an index cannot be read.
pub fn roots(indexes: &[PathBuf]) -> Result<Vec<OsString>, AnswerError> {
    let mut roots: Vec<Vec<u8>> = Vec::new();
    for source in sources(indexes)? {
        if !roots
            .iter()
            .any(|root| path::is_within(source.root(), root))
        {
            roots.push(source.root().to_vec());
        }
    }
    let spelled = |root: &Vec<u8>| OsStr::from_bytes(path::display(root)).to_owned();
    Ok(roots.iter().map(spelled).collect())
}

/// Returns the sources of all indexes, ordered by root.
fn sources(indexes: &[PathBuf]) -> Result<Vec<Source>, AnswerError> {
    let mut all = Vec::new();
    for index in indexes {
        let sources = IndexDir::open(index).and_then(|index| index.sources());
        all.extend(sources.map_err(QueryError::Index)?);
    }
    all.sort_by(|a, b| path::cmp(a.root(), b.root()));
    Ok(all)
}

impl Asker<'_> {
    /// Lists the trees that contain a path of the question, or are within one.
    pub(super) fn sources(&self, section: &mut Section) -> Result<(), AnswerError> {
        let places = self.ask(section, |session| {
            let mut places = Vec::new();
            for given in &self.paths {
                if let Some(start) = session.locate(given, Follow::Last)? {
                    places.push(start.path);
                }
            }
            Ok(places)
        })?;
        let sources = sources(&self.indexes)?;
        let is_meant = |source: &Source| {
            places.iter().any(|place| {
                path::is_within(place, source.root()) || path::is_within(source.root(), place)
            })
        };
        let mut rows = Vec::new();
        for source in sources.iter().filter(|source| is_meant(source)) {
            match self.snapshot(source) {
                Ok(snapshot) => {
                    if let Some(snapshot) = &snapshot {
                        let root = path::display(source.root()).to_vec();
                        let time = numbers::moment(snapshot.info.started);
                        section.as_of.push((root, time));
                    }
                    rows.push(row(source, snapshot.as_ref()));
                }
                // An unreadable source does not hide the others.
                Err(error) => {
                    section.remarks.push(error.to_string());
                    section.lacking.unread += 1;
                }
            }
        }
        let unread: u64 = rows.iter().map(|(_, issues)| issues).sum();
        section.parts.push(Part::Table(Table {
            caption: b"Indexed trees".to_vec(),
            columns: vec![
                words("Tree"),
                numbers("Entries"),
                numbers("Directories"),
                numbers("Content"),
                numbers("Not read"),
                numbers("In the index"),
                numbers("Snapshots"),
            ],
            rows: rows.into_iter().map(|(row, _)| row).collect(),
        }));
        if unread > 0 {
            let unread = trawl_text::words::counted(unread, "path");
            let text = format!("{unread} could not be read when the index was made.");
            section.parts.push(Part::Sentence(text.into_bytes()));
        }
        section
            .commands
            .push(self.command_of_all_times(&["sources"], &[]));
        Ok(())
    }

    /// Returns the snapshot that questions are about.
    fn snapshot(&self, source: &Source) -> Result<Option<Snapshot>, trawl_format::IndexError> {
        let Some(at) = self.when.at.filter(|at| at.is_past()) else {
            return source.current();
        };
        let snapshots = source.snapshots()?;
        let info = match at {
            AsOf::Back(steps) => snapshots.iter().rev().nth(steps),
            AsOf::Snapshot(id) => snapshots.iter().find(|info| info.id == id),
            AsOf::Time(time) => snapshots.iter().rev().find(|info| info.started <= time),
            AsOf::Now => snapshots.last(),
        };
        info.map(|info| source.snapshot(info.id)).transpose()
    }
}

/// Returns the row of a tree, and the number of paths that could not be read.
fn row(source: &Source, snapshot: Option<&Snapshot>) -> (Vec<Cell>, u64) {
    let root = Cell::Name(path::display(source.root()).to_vec());
    let Some(snapshot) = snapshot else {
        let none = || Cell::Text("–".into());
        return (
            [root].into_iter().chain((0..6).map(|_| none())).collect(),
            0,
        );
    };
    let totals = snapshot.totals();
    let kept = source.snapshots().ok();
    let kept = kept.map_or_else(|| "–".into(), |kept| grouped(kept.len() as u64));
    let row = vec![
        root,
        Cell::Text(grouped(totals.entries)),
        Cell::Text(grouped(totals.dirs)),
        Cell::Text(numbers::size(totals.size_bytes)),
        Cell::Text(grouped(totals.issues)),
        Cell::Text(numbers::size(snapshot.size_bytes())),
        Cell::Text(kept),
    ];
    (row, totals.issues)
}
