//! Owners, groups, types, sizes and ages.

use trawl_answers::AnswerError;
use trawl_answers::expression::Expression;
use trawl_answers::stats::{By, Group, Kinds, StatsOptions, shortened, stats};
use trawl_answers::top::{Ranking, Subject};
use trawl_query::Count;
use trawl_text::words::grouped;

use super::Asker;
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers::{self, bytes_of};

const RANKED: [(By, &str, &str); 2] = [
    (By::Owner, "Owners", "--owners"),
    (By::Group, "Groups", "--groups"),
];

const COUNTED: [(By, &str); 5] = [
    (By::Type, "Types"),
    (By::Extension, "Extensions of regular files"),
    (By::Size, "Sizes of regular files"),
    (By::Age, "Time since regular files were modified"),
    (By::Accessed, "Time since regular files were read"),
];

impl Asker<'_> {
    pub(super) fn owners(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "A file with several names counts once.".into();
        let limit = self.limit.to_string();
        for (by, caption, option) in RANKED {
            let subject = Subject::Groups(by);
            let top = self.ask(section, |session| self.top(session, subject))?;
            if let Ranking::Groups(groups, whole) = top.ranking {
                let groups = shortened(groups, self.limit);
                let caption = caption.as_bytes().to_vec();
                let table = table(caption, &groups, &whole);
                section.parts.push(Part::Table(table));
            }
            let words = ["top", option, "-n", &limit];
            section.commands.push(self.command(&words, &self.paths));
        }
        if !self.is_past() {
            self.quotas(section);
        }
        Ok(())
    }

    pub(super) fn kinds(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Every name of a file counts. Shares are of the space on disk.".into();
        let kinds = COUNTED.map(|(by, _)| Kinds::new(by, &[]));
        let kinds: Vec<Kinds> = kinds.into_iter().flatten().collect();
        let options = StatsOptions {
            kinds: &kinds,
            expression: &Expression::default(),
            limit: Some(self.limit),
            now: self.now,
        };
        for given in &self.paths {
            let counts = self.ask(section, |session| {
                stats(session, given, &options, &self.names)
            })?;
            let Some(counts) = counts else { continue };
            for (of, (_, caption)) in counts.sections.iter().zip(COUNTED) {
                let is_of_files = of.groups.iter().all(|group| group.is_of_files);
                let whole = match is_of_files {
                    true => counts.files,
                    false => counts.whole,
                };
                let groups = shortened(of.groups.clone(), self.limit);
                let caption = self.caption(caption, given);
                let table = table(caption, &groups, &whole);
                section.parts.push(Part::Table(table));
            }
        }
        let limit = self.limit.to_string();
        let by: Vec<&str> = COUNTED
            .iter()
            .flat_map(|(by, _)| ["--by", by.name()])
            .collect();
        let rest = ["-n", &limit, "--share", "disk"];
        let words: Vec<&str> = ["stats"].into_iter().chain(by).chain(rest).collect();
        section.commands.push(self.command(&words, &self.paths));
        Ok(())
    }
}

fn table(caption: Vec<u8>, groups: &[Group], whole: &Count) -> Table {
    let row = |group: &Group| {
        let count = &group.count;
        vec![
            Cell::Name(group.label.clone()),
            Cell::Text(numbers::size(bytes_of(count.blocks))),
            Cell::Share(numbers::part_of(count.blocks, whole.blocks)),
            Cell::Text(numbers::size(count.size_bytes)),
            Cell::Text(grouped(count.entries)),
        ]
    };
    Table {
        caption,
        columns: vec![
            words("Name"),
            numbers("On disk"),
            numbers("Share"),
            numbers("Content"),
            numbers("Entries"),
        ],
        rows: groups.iter().map(row).collect(),
    }
}
