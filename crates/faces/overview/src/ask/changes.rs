//! What changed since the snapshot before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::AnswerError;
use trawl_answers::diff::{DiffOptions, Pair, Sums};
use trawl_diff::{AttributeSet, Moves, Outcome};
use trawl_model::column::Column;
use trawl_query::{AsOf, SnapshotInfo};
use trawl_session::spelling::printed_path;
use trawl_session::{Completeness, Follow, Report, Sessions};
use trawl_text::words::{counted, grouped, quoted};

use super::Asker;
use super::growth::{missing, no_answer};
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers;

/// Number of directories that are named because they were not compared.
const NAMED: usize = 20;

/// What was compared.
struct Compared {
    sums: Sums,
    /// The largest changes, the largest first.
    largest: Vec<Change>,
    /// Messages about what was not compared.
    remarks: Vec<String>,
}

/// A change: its size, path and kind. Those of the same size are in the order of paths.
type Change = (Reverse<u128>, Vec<u8>, i128, &'static str);

impl Asker<'_> {
    pub(super) fn changes(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Differences to the snapshot before. Times of access are not compared. A \
                         moved file kept its inode."
            .into();
        for given in &self.paths {
            let Some((before, last)) = self.snapshots(section, given)? else {
                section.parts.push(self.no_snapshot(given));
                continue;
            };
            let place = given.as_bytes().to_vec();
            section.as_of.push((place, numbers::moment(last.started)));
            let Some(before) = before else {
                let text = self.caption("There is no snapshot before to compare with", given);
                let text = [&text[..], b"."].concat();
                section.parts.push(Part::Sentence(text));
                let command = self.command_of_all_times(&["sources", "--snapshots"], &[]);
                section.commands.push(command);
                continue;
            };
            self.changes_of(section, given, &before, &last)?;
        }
        Ok(())
    }

    fn changes_of(
        &self,
        section: &mut Section,
        given: &OsString,
        before: &SnapshotInfo,
        last: &SnapshotInfo,
    ) -> Result<(), AnswerError> {
        let answer = self.ask_all(section, |sessions| {
            self.compare(sessions, given, before, last)
        })?;
        let (first, second) = (before.id.to_string(), last.id.to_string());
        let words = ["diff", &first, &second];
        let paths = std::slice::from_ref(given);
        let command = self.command_of_all_times(&words, paths);
        match answer {
            Ok(compared) => self.put_changes(section, given, before, compared),
            Err(why) => section.remarks.push(why),
        }
        section.commands.push(command);
        Ok(())
    }

    /// Compares two snapshots below a path. Returns why not, if there is no answer.
    fn compare(
        &self,
        sessions: &Sessions<'_>,
        given: &OsString,
        before: &SnapshotInfo,
        last: &SnapshotInfo,
    ) -> Result<(Result<Compared, String>, Completeness), AnswerError> {
        let (before, after) = (AsOf::Snapshot(before.id), AsOf::Snapshot(last.id));
        let mut pair = Pair::open(sessions, before, after)?;
        let top = match pair.locate(given)? {
            Ok(top) => top,
            Err(why) => return Ok((Err(no_answer(given, &why)), missing())),
        };
        let spelled = |path: &[u8]| printed_path(given.as_bytes(), &top, path);
        let options = DiffOptions {
            compare: AttributeSet::all().minus(AttributeSet::of(&[Column::Atime, Column::Dev])),
            read: AttributeSet::of(&[Column::Size, Column::Blocks]),
            moves: Moves::Find,
            collapse_moves: false,
            only: Vec::new(),
        };
        let mut sums = Sums::default();
        let mut largest = BinaryHeap::new();
        let outcome = pair.compare(&options, &mut |difference| {
            let one = Sums::of(difference);
            sums.add(&one);
            let (bytes, path) = (one.disk_delta, spelled(&difference.path));
            let size = Reverse(bytes.unsigned_abs());
            largest.push((size, path, bytes, difference.kind.name()));
            if largest.len() > self.limit {
                largest.pop();
            }
            ControlFlow::Continue(())
        })?;
        let lacking = pair.finish()?;
        let remarks = remarks(&outcome, lacking.denied, &spelled);
        let not_compared = outcome.not_compared.len() as u64 + outcome.more_not_compared;
        let mut gaps = lacking.completeness;
        gaps.unread += lacking.denied + not_compared;
        let compared = Compared {
            sums,
            largest: largest.into_sorted_vec(),
            remarks,
        };
        Ok((Ok(compared), gaps))
    }

    fn put_changes(
        &self,
        section: &mut Section,
        given: &OsString,
        before: &SnapshotInfo,
        compared: Compared,
    ) {
        let Compared {
            sums,
            largest,
            remarks,
        } = compared;
        section.remarks.extend(remarks);
        let text = format!(
            "Since {}: {} created, {} deleted, {} changed, {} moved; {} on disk, every name counted",
            numbers::time(before.started),
            grouped(sums.created),
            grouped(sums.deleted),
            grouped(sums.changed),
            grouped(sums.moved),
            numbers::signed(sums.disk_delta),
        );
        let text = self.caption(&text, given);
        section
            .parts
            .push(Part::Sentence([&text[..], b"."].concat()));
        if largest.is_empty() {
            return;
        }
        let row = |(_, path, bytes, kind): Change| {
            vec![
                Cell::Name(path),
                Cell::Text(numbers::signed(bytes)),
                Cell::Text(kind.into()),
            ]
        };
        section.parts.push(Part::Table(Table {
            caption: self.caption("Largest changes", given),
            columns: vec![words("Path"), numbers("On disk"), words("Change")],
            rows: largest.into_iter().map(row).collect(),
        }));
    }

    /// Returns the snapshot of a path that the question is about, and the one before it; `None` if
    /// the path does not exist, which is said elsewhere, or is not indexed.
    pub(super) fn snapshots(
        &self,
        section: &mut Section,
        given: &OsString,
    ) -> Result<Option<(Option<SnapshotInfo>, SnapshotInfo)>, AnswerError> {
        self.ask_reporting(Report::Gaps, section, |session| {
            let Some(start) = session.locate(given, Follow::Last)? else {
                return Ok(None);
            };
            let Some((_, snapshots)) = session.index().snapshots_of(&start.path)? else {
                return Ok(None);
            };
            let at = match self.is_past() {
                true => {
                    let id = start.view.info().id;
                    snapshots.iter().position(|info| info.id == id)
                }
                false => snapshots.len().checked_sub(1),
            };
            let before = at.and_then(|at| at.checked_sub(1));
            let before = before.and_then(|before| snapshots.get(before)).cloned();
            let last = at.and_then(|at| snapshots.get(at)).cloned();
            Ok(last.map(|last| (before, last)))
        })
    }
}

/// Says what was not compared.
fn remarks(outcome: &Outcome, denied: u64, spelled: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<String> {
    let mut remarks = Vec::new();
    if denied > 0 {
        let count = counted(denied, "directory");
        remarks.push(format!(
            "the content of {count} that you may not list is not compared"
        ));
    }
    let named = outcome.not_compared.iter().take(NAMED);
    remarks.extend(named.map(|(dir, _)| {
        let dir = quoted(&spelled(dir));
        format!("{dir}: its content is unknown in one of the snapshots and is not compared")
    }));
    let named = outcome.not_compared.len().min(NAMED);
    let more = (outcome.not_compared.len() - named) as u64 + outcome.more_not_compared;
    if more > 0 {
        let more = counted(more, "more directory");
        remarks.push(format!("the content of {more} is not compared either"));
    }
    if outcome.moves_missed {
        let text = "there are so many changes that some moves count as deleted and created";
        remarks.push(text.into());
    }
    remarks
}
