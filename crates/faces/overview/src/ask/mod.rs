//! Asks the questions of an overview: one session for each section, which hears what the answer
//! lacks.

mod changes;
mod cold;
mod duplicates;
mod files;
mod groups;
mod growth;
mod quota;
mod sources;
mod space;

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::AnswerError;
use trawl_model::Timestamp;
use trawl_query::AsOf;
use trawl_session::{Completeness, Interrupts, Notice, Options, Report, Session, Sessions, When};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Quoting;

use crate::document::Section;
use crate::names::is_plain;
use crate::numbers::moment;

pub use self::sources::roots;

/// Number of messages that a section keeps.
const REMARKS: usize = 20;

/// A section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What is indexed.
    Sources,
    /// The largest directories.
    Directories,
    /// The largest, oldest and newest files.
    Files,
    /// Owners and groups.
    Owners,
    /// Types, extensions, sizes and ages.
    Kinds,
    /// The size in each snapshot.
    Growth,
    /// Differences to the snapshot before.
    Changes,
    /// Files that may be the same.
    Duplicates,
    /// What nobody has used for a year.
    Cold,
}

impl Subject {
    /// All sections, in order.
    pub const ALL: [Subject; 9] = [
        Subject::Sources,
        Subject::Directories,
        Subject::Files,
        Subject::Owners,
        Subject::Kinds,
        Subject::Growth,
        Subject::Changes,
        Subject::Duplicates,
        Subject::Cold,
    ];

    /// Returns the name in options and addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Subject::Sources => "sources",
            Subject::Directories => "directories",
            Subject::Files => "files",
            Subject::Owners => "owners",
            Subject::Kinds => "kinds",
            Subject::Growth => "growth",
            Subject::Changes => "changes",
            Subject::Duplicates => "duplicates",
            Subject::Cold => "cold",
        }
    }

    /// Returns the heading.
    pub const fn title(self) -> &'static str {
        match self {
            Subject::Sources => "What is indexed",
            Subject::Directories => "Largest directories",
            Subject::Files => "Largest, oldest and newest files",
            Subject::Owners => "Owners and groups",
            Subject::Kinds => "Types, sizes and ages",
            Subject::Growth => "Growth",
            Subject::Changes => "What changed",
            Subject::Duplicates => "Duplicates",
            Subject::Cold => "Cold data by project",
        }
    }
}

/// What the sections are about.
#[derive(Debug)]
pub struct Asker<'a> {
    /// The indexes to ask.
    pub indexes: Vec<PathBuf>,
    /// The index, if one was named, for command lines.
    pub named_index: Option<PathBuf>,
    /// The places.
    pub paths: Vec<OsString>,
    /// The time that questions are about.
    pub when: When,
    /// Options that every command line has.
    pub options: Vec<String>,
    /// How questions are ended early.
    pub interrupts: Interrupts<'a>,
    /// Rows of a table.
    pub limit: usize,
    /// The time that ages refer to.
    pub now: Timestamp,
    /// Names of users and groups.
    pub names: Owners,
}

impl Asker<'_> {
    /// Asks the questions of a section.
    ///
    /// # Errors
    /// If an index cannot be read.
    pub fn section(&self, subject: Subject) -> Result<Section, AnswerError> {
        let mut section = Section {
            name: subject.name(),
            title: subject.title(),
            ..Section::default()
        };
        match subject {
            Subject::Sources => self.sources(&mut section),
            Subject::Directories => self.directories(&mut section),
            Subject::Files => self.files(&mut section),
            Subject::Owners => self.owners(&mut section),
            Subject::Kinds => self.kinds(&mut section),
            Subject::Growth => self.growth(&mut section),
            Subject::Changes => self.changes(&mut section),
            Subject::Duplicates => self.duplicates(&mut section),
            Subject::Cold => self.cold(&mut section),
        }?;
        Ok(section)
    }

    /// Asks in a session whose notices the section keeps.
    fn ask<T>(
        &self,
        section: &mut Section,
        question: impl FnOnce(&mut Session<'_>) -> Result<T, AnswerError>,
    ) -> Result<T, AnswerError> {
        self.ask_reporting(Report::Status, section, question)
    }

    /// Like `ask`, with this report at the end. [`Report::Gaps`] says nothing about the age.
    fn ask_reporting<T>(
        &self,
        report: Report,
        section: &mut Section,
        question: impl FnOnce(&mut Session<'_>) -> Result<T, AnswerError>,
    ) -> Result<T, AnswerError> {
        let heard = RefCell::new(Heard::default());
        let listener = |notice: Notice| heard.borrow_mut().hear(notice);
        let mut session = Session::open(&self.indexes, self.session(report, &listener))?;
        let answer = question(&mut session)?;
        let lacking = session.finish();
        heard.into_inner().tell(section, &lacking);
        Ok(answer)
    }

    /// Asks about several times. The question returns what its answer lacks.
    fn ask_all<T>(
        &self,
        section: &mut Section,
        question: impl FnOnce(&Sessions<'_>) -> Result<(T, Completeness), AnswerError>,
    ) -> Result<T, AnswerError> {
        let heard = RefCell::new(Heard::default());
        let listener = |notice: Notice| heard.borrow_mut().hear(notice);
        let options = self.session(Report::Gaps, &listener);
        let sessions = Sessions::new(self.indexes.clone(), options);
        let (answer, lacking) = question(&sessions)?;
        drop(sessions);
        heard.into_inner().tell(section, &lacking);
        Ok(answer)
    }

    fn session<'s>(&'s self, report: Report, listener: &'s dyn Fn(Notice)) -> Options<'s> {
        Options {
            when: self.when,
            report,
            interrupts: self.interrupts,
            listener,
        }
    }

    /// Returns true if the question is about the past.
    fn is_past(&self) -> bool {
        self.when.at.is_some_and(AsOf::is_past)
    }

    /// Returns the text, followed by `in PATH` if the report is about several paths.
    fn caption(&self, what: &str, path: &OsStr) -> Vec<u8> {
        match self.paths.len() {
            1 => what.as_bytes().to_vec(),
            _ => [what.as_bytes(), b" in ", path.as_bytes()].concat(),
        }
    }

    /// Returns a command line with options of time, and with these paths at its end.
    fn command(&self, words: &[&str], paths: &[OsString]) -> String {
        self.line(words, &self.options, paths)
    }

    /// Returns a command line without options of time.
    fn command_of_all_times(&self, words: &[&str], paths: &[OsString]) -> String {
        self.line(words, &[], paths)
    }

    fn line(&self, words: &[&str], options: &[String], paths: &[OsString]) -> String {
        let mut line = String::from("trawl");
        let mut add = |word: &[u8]| {
            line.push(' ');
            line.push_str(&shell_word(word));
        };
        if let Some(index) = &self.named_index {
            add(b"-i");
            add(index.as_os_str().as_bytes());
        }
        let (command, words) = words.split_first().unwrap_or((&"", &[]));
        add(command.as_bytes());
        options.iter().for_each(|word| add(word.as_bytes()));
        words.iter().for_each(|word| add(word.as_bytes()));
        paths.iter().for_each(|path| add(path.as_bytes()));
        line
    }
}

/// Returns a word as it is written on a command line, in visible characters.
fn shell_word(word: &[u8]) -> String {
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    if !word.is_empty() && word.iter().all(is_safe) {
        return String::from_utf8_lossy(word).into_owned();
    }
    let locale = match is_plain(word) {
        true => Locale::Utf8,
        false => Locale::Bytes,
    };
    let quoted = Quoting::ShellEscape.quote(word, locale);
    String::from_utf8_lossy(&quoted).into_owned()
}

/// What a session said.
#[derive(Default)]
struct Heard {
    as_of: Vec<(Vec<u8>, String)>,
    remarks: Vec<String>,
    left_out: u64,
}

impl Heard {
    fn hear(&mut self, notice: Notice) {
        match notice {
            Notice::AsOf { place, time, .. } => {
                let place = trawl_model::path::display(&place).to_vec();
                self.as_of.push((place, moment(time)));
            }
            Notice::IssueCount(0) => {}
            notice => self.remark(notice.to_string()),
        }
    }

    fn remark(&mut self, remark: String) {
        if self.remarks.contains(&remark) {
            return;
        }
        match self.remarks.len() < REMARKS {
            true => self.remarks.push(remark),
            false => self.left_out += 1,
        }
    }

    /// Adds to a section what was heard.
    fn tell(self, section: &mut Section, lacking: &Completeness) {
        for as_of in self.as_of {
            if !section.as_of.contains(&as_of) {
                section.as_of.push(as_of);
            }
        }
        for remark in self.remarks {
            if !section.remarks.contains(&remark) {
                section.remarks.push(remark);
            }
        }
        section.remarks_left_out += self.left_out;
        section.lacking.add(lacking);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_copied() {
        for (word, written) in [
            (&b"/srv/a"[..], "/srv/a"),
            (b"--at=-1", "--at=-1"),
            (b"", "''"),
            (b"a b", "'a b'"),
            ("Größe".as_bytes(), "Größe"),
            (b"a\nb", "'a'$'\\n''b'"),
            ("a\u{202e}".as_bytes(), "'a'$'\\342\\200\\256'"),
            (b"\xff", "''$'\\377'"),
        ] {
            assert_eq!(shell_word(word), written);
        }
    }
}
