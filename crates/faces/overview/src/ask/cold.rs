//! Cold data: regular files that nobody has read or modified for a year, by the directories of each
//! path. Every name of a file counts, as in the question that the page asks in SQL.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::AnswerError;
use trawl_answers::expression::Expression;
use trawl_answers::find::{FindOptions, find};
use trawl_model::Timestamp;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path::display;
use trawl_query::Entry;
use trawl_session::{Follow, Session};
use trawl_text::words::grouped;

use super::Asker;
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers::{self, bytes_of};

const DAYS: i64 = 365;
const DAY_SECS: i64 = 86_400;
/// What is directly in a path is no directory's.
const HERE: &[u8] = b"(files here)";

/// Sums of a directory.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    cold_blocks: u64,
    all_blocks: u64,
    cold_files: u64,
    all_files: u64,
}

/// Sums of the directories in a path, by their names.
type Projects = HashMap<Vec<u8>, Sums>;

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.cold_blocks = self.cold_blocks.saturating_add(other.cold_blocks);
        self.all_blocks = self.all_blocks.saturating_add(other.all_blocks);
        self.cold_files += other.cold_files;
        self.all_files += other.all_files;
    }
}

impl Asker<'_> {
    pub(super) fn cold(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Regular files that were neither read nor modified for a year, by \
                         directory. Where a file system does not record reading (noatime), only \
                         modification counts."
            .into();
        for given in &self.paths {
            let found = self.ask(section, |session| self.sums(session, given))?;
            if let Some((top, sums)) = found {
                self.put_cold(section, given, &top, sums);
            }
        }
        Ok(())
    }

    /// Returns where a path leads, and the sums of the directories in it; `None` if it does not
    /// exist, which the session reports.
    fn sums(
        &self,
        session: &mut Session<'_>,
        given: &OsStr,
    ) -> Result<Option<(Vec<u8>, Projects)>, AnswerError> {
        let Some(start) = session.locate(given, Follow::Last)? else {
            return Ok(None);
        };
        let top = start.path.clone();
        let files = Expression::read(&["-type", "f"].map(OsString::from))?;
        let options = FindOptions {
            expression: &files,
            columns: ColumnSet::of(&[Column::Blocks, Column::Atime, Column::Mtime]),
        };
        let mut sums: Projects = HashMap::new();
        let place = OsStr::from_bytes(display(&top));
        find(session, place, &options, &mut |found| {
            let one = self.sums_of(found.entry);
            let project = project(&found.entry.path, &top);
            match sums.get_mut(project) {
                Some(sums) => sums.add(&one),
                None => {
                    sums.insert(project.to_vec(), one);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(Some((top, sums)))
    }

    /// Returns the sums of one file.
    fn sums_of(&self, file: &Entry) -> Sums {
        let row = file.row();
        let is_cold = self.is_old(row.atime()) && self.is_old(row.mtime());
        Sums {
            cold_blocks: if is_cold { row.blocks() } else { 0 },
            all_blocks: row.blocks(),
            cold_files: u64::from(is_cold),
            all_files: 1,
        }
    }

    fn is_old(&self, time: Timestamp) -> bool {
        time.as_nanos() < self.now.as_nanos() - i128::from(DAYS * DAY_SECS) * 1_000_000_000
    }

    fn put_cold(&self, section: &mut Section, given: &OsStr, top: &[u8], sums: Projects) {
        let mut whole = Sums::default();
        sums.values().for_each(|one| whole.add(one));
        let mut sums: Vec<(Vec<u8>, Sums)> = sums.into_iter().collect();
        sums.sort_by(|(a, x), (b, y)| {
            let key = |sums: &Sums| Reverse((sums.cold_blocks, sums.all_blocks));
            key(x).cmp(&key(y)).then_with(|| a.cmp(b))
        });
        let cold = bytes_of(whole.cold_blocks);
        let text = format!(
            "{} of {} cold, in {} of {} files",
            numbers::size(cold),
            numbers::size(bytes_of(whole.all_blocks)),
            grouped(whole.cold_files),
            grouped(whole.all_files),
        );
        let text = self.caption(&text, given);
        section
            .parts
            .push(Part::Sentence([&text[..], b"."].concat()));
        let row = |(project, sums): &(Vec<u8>, Sums)| {
            let (cold, all) = (bytes_of(sums.cold_blocks), bytes_of(sums.all_blocks));
            vec![
                Cell::Name(project.clone()),
                Cell::Text(numbers::size(cold)),
                Cell::Share(numbers::part_of(cold, all)),
                Cell::Text(numbers::size(all)),
                Cell::Text(grouped(sums.cold_files)),
                Cell::Text(grouped(sums.all_files)),
            ]
        };
        section.parts.push(Part::Table(Table {
            caption: self.caption("Directories with most cold data", given),
            columns: vec![
                words("Directory"),
                numbers("Cold"),
                numbers("Share"),
                numbers("All"),
                numbers("Cold files"),
                numbers("All files"),
            ],
            rows: sums.iter().take(self.limit).map(row).collect(),
        }));
        if let Ok(top) = std::str::from_utf8(display(top)) {
            let statement = statement(top);
            section
                .commands
                .push(self.command(&["sql", &statement], &[]));
        }
    }
}

/// Returns the directory in `top` that contains an entry.
fn project<'p>(path: &'p [u8], top: &[u8]) -> &'p [u8] {
    let rest = path.get(top.len()..).unwrap_or_default();
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    match rest.iter().position(|byte| *byte == b'/') {
        Some(end) => &rest[..end],
        None => HERE,
    }
}

/// Returns the same question in SQL, as the page asks it.
fn statement(top: &str) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let prefix = if top == "/" {
        1
    } else {
        top.chars().count() + 1
    };
    let rest = format!("substr(path, {})", prefix + 1);
    let cold = format!(
        "atime < now() - INTERVAL '{DAYS} days' AND mtime < now() - INTERVAL '{DAYS} days'"
    );
    format!(
        "SELECT CASE WHEN strpos({rest}, '/') > 0 THEN split_part({rest}, '/', 1) \
         ELSE '(files here)' END AS label, \
         sum(CASE WHEN {cold} THEN blocks ELSE 0 END) * 512 AS cold_bytes, \
         sum(blocks) * 512 AS all_bytes, \
         sum(CASE WHEN {cold} THEN 1 ELSE 0 END) AS cold_files, count(*) AS all_files \
         FROM entries WHERE under(path, {}) AND type = 'f' \
         GROUP BY 1 ORDER BY cold_bytes DESC",
        literal(top)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_the_directories_of_the_top() {
        for (path, top, expected) in [
            ("/srv/a/b/c", "/srv", "a"),
            ("/srv/a", "/srv", "(files here)"),
            ("/srv", "/srv", "(files here)"),
            ("/a/b", "", "a"),
            ("/a", "", "(files here)"),
        ] {
            let found = project(path.as_bytes(), top.as_bytes());
            assert_eq!(found, expected.as_bytes(), "{path} in {top}");
        }
    }

    #[test]
    fn a_directory_is_a_literal_of_sql() {
        let statement = statement("/it's");
        assert!(statement.contains("under(path, '/it''s')"), "{statement}");
        assert!(statement.contains("substr(path, 7)"), "{statement}");
    }
}
