//! Files that may be the same.

use std::ops::ControlFlow;

use trawl_answers::AnswerError;
use trawl_answers::duplicates::{DuplicatesOptions, Set, Verify, duplicates};
use trawl_query::Alike;
use trawl_text::words::{counted, grouped};

use super::Asker;
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers;

/// Size below which files are left out, as on the page.
const LEAST_BYTES: u64 = 1 << 20;

/// A group: the size of each file, the number of files, and what removing all but one frees.
type Facts = [String; 3];

/// A group, its first files, and the number of further ones.
type Group = (Facts, Vec<Vec<u8>>, u64);

impl Asker<'_> {
    pub(super) fn duplicates(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Files of the same size and name, and of the same size, from 1 MiB: the \
                         largest first. They are candidates: no content was compared."
            .into();
        for given in &self.paths {
            let paths = std::slice::from_ref(given);
            let limit = self.limit.to_string();
            for (alike, caption, option) in [
                (Alike::SizeAndName, "Same size and name", Some("--name")),
                (Alike::Size, "Same size", None),
            ] {
                let mut groups: Vec<Group> = Vec::new();
                let options = DuplicatesOptions {
                    alike,
                    least_bytes: LEAST_BYTES,
                    verify: Verify::No,
                };
                self.ask(section, |session| {
                    duplicates(session, given, &options, &mut |set| {
                        if groups.len() < self.limit {
                            groups.push(group(set, self.limit));
                        }
                        match groups.len() < self.limit {
                            true => ControlFlow::Continue(()),
                            false => ControlFlow::Break(()),
                        }
                    })
                })?;
                let caption = self.caption(caption, given);
                section.parts.push(table(caption, groups));
                let rest = ["--min-size", "1M", "-n", &limit];
                let words = ["duplicates"].into_iter().chain(option).chain(rest);
                let words: Vec<&str> = words.collect();
                section.commands.push(self.command(&words, paths));
            }
        }
        Ok(())
    }
}

/// Returns a group with at most `limit` files, which is at least one.
fn group(set: &Set<'_>, limit: usize) -> Group {
    let facts = [
        numbers::size(set.size_bytes()),
        grouped(set.files.len() as u64),
        numbers::size(set.reclaimable_bytes()),
    ];
    let paths: Vec<Vec<u8>> = set.paths.iter().take(limit).cloned().collect();
    let more = (set.paths.len() - paths.len()) as u64;
    (facts, paths, more)
}

fn table(caption: Vec<u8>, groups: Vec<Group>) -> Part {
    if groups.is_empty() {
        return Part::Sentence([&caption[..], b": none."].concat());
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (mut facts, paths, more) in groups {
        let mut push = |name: Cell| {
            let facts = std::mem::take(&mut facts).map(Cell::Text);
            rows.push([name].into_iter().chain(facts).collect());
        };
        paths.into_iter().map(Cell::Name).for_each(&mut push);
        if more > 0 {
            push(Cell::Text(format!("and {}", counted(more, "more file"))));
        }
    }
    Part::Table(Table {
        caption,
        columns: vec![
            words("File"),
            numbers("Size of each"),
            numbers("Files"),
            numbers("To gain"),
        ],
        rows,
    })
}
