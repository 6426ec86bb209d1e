//! The size of each path in each snapshot.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use trawl_answers::AnswerError;
use trawl_answers::growth::{By, Growth, growth};
use trawl_model::Timestamp;
use trawl_query::Count;
use trawl_session::Completeness;
use trawl_text::words::{counted, grouped};

use super::Asker;
use crate::document::{Cell, Curve, Part, Section, Table, numbers, words};
use crate::numbers::{self, bytes_of};

impl Asker<'_> {
    pub(super) fn growth(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Allocated space in each snapshot that is kept. A file with several names \
                         counts once."
            .into();
        for given in &self.paths {
            self.growth_of(section, given)?;
        }
        let command = self.command_of_all_times(&["growth"], &self.paths);
        section.commands.push(command);
        Ok(())
    }

    fn growth_of(&self, section: &mut Section, given: &OsString) -> Result<(), AnswerError> {
        let Some((_, last)) = self.snapshots(section, given)? else {
            section.parts.push(self.no_snapshot(given));
            return Ok(());
        };
        let answer = self.ask_all(section, |sessions| {
            Ok(match growth(sessions, given.as_bytes(), By::Total)? {
                Ok(growth) => {
                    let lacking = growth.completeness;
                    (Ok(growth), lacking)
                }
                Err(why) => (Err(why), missing()),
            })
        })?;
        match answer {
            Ok(growth) => self.put_growth(section, given, &growth, last.started),
            Err(why) => section.remarks.push(no_answer(given, &why)),
        }
        Ok(())
    }

    /// Shows the snapshots up to a time.
    fn put_growth(
        &self,
        section: &mut Section,
        given: &OsString,
        growth: &Growth,
        last: Timestamp,
    ) {
        let count = |measured: &trawl_answers::growth::Measured| -> Count {
            measured.get(&b""[..]).copied().unwrap_or_default()
        };
        let times: Vec<(Timestamp, Count)> = growth
            .times
            .iter()
            .filter(|(info, _)| info.started <= last)
            .map(|(info, measured)| (info.started, count(measured)))
            .collect();
        if let Some((time, _)) = times.last() {
            let time = numbers::moment(*time);
            section.as_of.push((given.as_bytes().to_vec(), time));
        }
        let points = times
            .iter()
            .map(|(time, count)| (*time, bytes_of(count.blocks)));
        if times.len() > 1 {
            section.parts.push(Part::Curve(Curve {
                caption: self.caption("Space on disk", given),
                points: points.collect(),
            }));
        }
        let mut rows = rows(&times);
        let left_out = rows.len().saturating_sub(self.limit);
        rows.drain(..left_out);
        section.parts.push(Part::Table(Table {
            caption: self.caption("Snapshots", given),
            columns: vec![
                words("As of"),
                numbers("On disk"),
                numbers("Change"),
                numbers("Content"),
                numbers("Entries"),
            ],
            rows,
        }));
        if left_out > 0 {
            let older = counted(left_out as u64, "older snapshot");
            let text = format!("The table leaves out {older}.");
            section.parts.push(Part::Sentence(text.into_bytes()));
        }
    }
}

impl Asker<'_> {
    /// Says that there is nothing to show about a path.
    pub(super) fn no_snapshot(&self, given: &OsStr) -> Part {
        let text = self.caption("It is in no snapshot that you may see", given);
        Part::Sentence([&text[..], b"."].concat())
    }
}

/// Returns a row for each snapshot.
fn rows(times: &[(Timestamp, Count)]) -> Vec<Vec<Cell>> {
    let before = [None].into_iter().chain(times.iter().map(Some));
    let row = |((time, count), before): (&(Timestamp, Count), Option<&(Timestamp, Count)>)| {
        let more =
            before.map(|(_, before)| 512 * (i128::from(count.blocks) - i128::from(before.blocks)));
        vec![
            Cell::Text(numbers::time(*time)),
            Cell::Text(numbers::size(bytes_of(count.blocks))),
            Cell::Text(more.map(numbers::signed).unwrap_or_default()),
            Cell::Text(numbers::size(count.size_bytes)),
            Cell::Text(grouped(count.entries)),
        ]
    };
    times.iter().zip(before).map(row).collect()
}

/// Returns what is lacking if there is no answer about a path.
pub(super) fn missing() -> Completeness {
    Completeness {
        missing: 1,
        ..Completeness::default()
    }
}

/// Says why there is no answer about a path.
pub(super) fn no_answer(given: &OsString, why: &trawl_answers::NoAnswer) -> String {
    let given = trawl_text::words::quoted(given.as_bytes());
    format!("cannot access {given}: {why}")
}
