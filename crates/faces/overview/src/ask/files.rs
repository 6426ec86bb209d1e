//! The largest, oldest and newest files.

use trawl_answers::AnswerError;
use trawl_answers::top::{Ranking, SizeKind, Subject};
use trawl_model::TimeKind;
use trawl_query::Entry;

use super::Asker;
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers;

const RANKINGS: [(Subject, &str, &str); 3] = [
    (Subject::Largest, "Largest files", "--files"),
    (
        Subject::Oldest(TimeKind::Modified),
        "Files not modified for longest",
        "--oldest",
    ),
    (
        Subject::Newest(TimeKind::Modified),
        "Files modified last",
        "--newest",
    ),
];

impl Asker<'_> {
    pub(super) fn files(&self, section: &mut Section) -> Result<(), AnswerError> {
        section.about = "Regular files. A file with several names counts once.".into();
        let limit = self.limit.to_string();
        for (subject, caption, option) in RANKINGS {
            let top = self.ask(section, |session| self.top(session, subject))?;
            if let Ranking::Files(found) = &top.ranking {
                let rows = found.iter().map(|(path, entry)| self.file(path, entry));
                section.parts.push(Part::Table(Table {
                    caption: caption.as_bytes().to_vec(),
                    columns: vec![
                        words("File"),
                        numbers("On disk"),
                        numbers("Size"),
                        words("Modified"),
                        words("Owner"),
                    ],
                    rows: rows.collect(),
                }));
            }
            let words = ["top", option, "-n", &limit];
            section.commands.push(self.command(&words, &self.paths));
        }
        Ok(())
    }

    fn file(&self, path: &[u8], entry: &Entry) -> Vec<Cell> {
        let row = entry.row();
        let bytes = SizeKind::Allocated.of(row.size(), row.blocks());
        let owner = self.names.user(row.uid());
        let owner = owner.map_or_else(|| row.uid().0.to_string().into_bytes(), |it| it.to_vec());
        vec![
            Cell::Name(path.to_vec()),
            Cell::Text(numbers::size(bytes)),
            Cell::Text(numbers::size(row.size())),
            Cell::Text(numbers::time(row.mtime())),
            Cell::Name(owner),
        ]
    }
}
