//! What a process of the asking user is asked, and how it answers.
//!
//! A question is a list of fields, each with its length before it (4 bytes, little endian), up to the
//! end of the stream: it is not in the process's arguments, which every user can read. An answer is a
//! list of records that end with a NUL byte: a member's path begins with a slash, a group's name with
//! `#`, what could not be looked at with `!`, and the last record with `=`. Without a last record the answer was cut short.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::question::{Narrowed, Question};

/// Longest question in bytes.
const QUESTION_BYTES_MAX: u64 = 1 << 20;
/// Longest record in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 10;

/// A question, and how it is to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The indexes to ask.
    pub(crate) indexes: Vec<PathBuf>,
    /// The mount itself, which is not entered.
    pub(crate) point: Vec<u8>,
    /// The question.
    pub(crate) question: Question,
    /// Which members are meant.
    pub(crate) narrowed: Narrowed,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was looked at.
    Complete,
    /// Everything but directories that this user may not look into.
    Denied,
    /// Something could not be read.
    Failed,
}

/// A record of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A member's path.
    Member(Vec<u8>),
    /// A group's name in the directory of groups.
    Group(Vec<u8>),
    /// What could not be looked at, as a line of text.
    Issue(Vec<u8>),
    /// The last record.
    End(End),
}

impl Asked {
    /// Returns the fields.
    fn fields(&self) -> Vec<Vec<u8>> {
        let mut fields = Vec::new();
        let indexes = self
            .indexes
            .iter()
            .map(|path| path.as_os_str().as_bytes().to_vec());
        let mut list = |items: Vec<Vec<u8>>| {
            fields.push(items.len().to_string().into_bytes());
            fields.extend(items);
        };
        list(indexes.collect());
        list(self.question.starts.clone());
        list(self.question.expression.clone());
        list(match &self.narrowed {
            Narrowed::All => vec![b"all".to_vec()],
            Narrowed::Groups => vec![b"groups".to_vec()],
            Narrowed::Name(name) => vec![b"name".to_vec(), name.clone()],
            Narrowed::Path(path) => vec![b"path".to_vec(), path.clone()],
        });
        fields.push(self.point.clone());
        fields
    }

    /// Writes the question.
    pub(crate) fn write(&self, into: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        for field in self.fields() {
            let length = u32::try_from(field.len()).map_err(io::Error::other)?;
            bytes.extend(length.to_le_bytes());
            bytes.extend(field);
        }
        into.write_all(&bytes)
    }

    /// Reads a question; `None` if it is malformed.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Asked>> {
        let mut bytes = Vec::new();
        from.take(QUESTION_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(Asked::parse(&bytes))
    }

    fn parse(mut bytes: &[u8]) -> Option<Asked> {
        let indexes = list(&mut bytes)?.into_iter();
        let indexes = indexes
            .map(|path| OsString::from_vec(path).into())
            .collect();
        let question = Question {
            starts: list(&mut bytes)?,
            expression: list(&mut bytes)?,
        };
        let narrowed = match &list(&mut bytes)?[..] {
            [all] if all == b"all" => Narrowed::All,
            [groups] if groups == b"groups" => Narrowed::Groups,
            [what, name] if what == b"name" => Narrowed::Name(name.clone()),
            [what, path] if what == b"path" => Narrowed::Path(path.clone()),
            _ => return None,
        };
        let point = field(&mut bytes)?;
        bytes.is_empty().then_some(Asked {
            indexes,
            point,
            question,
            narrowed,
        })
    }
}

fn field(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (field, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(field.to_vec())
}

fn list(bytes: &mut &[u8]) -> Option<Vec<Vec<u8>>> {
    let count = field(bytes)?;
    let count: usize = std::str::from_utf8(&count).ok()?.parse().ok()?;
    (0..count).map(|_| field(bytes)).collect()
}

impl End {
    fn bytes(self) -> &'static [u8] {
        match self {
            End::Complete => b"=complete\0",
            End::Denied => b"=denied\0",
            End::Failed => b"=failed\0",
        }
    }
}

/// Writes a group's name.
pub(crate) fn write_group(name: &[u8], into: &mut impl Write) -> io::Result<()> {
    into.write_all(&[b"#", name, b"\0"].concat())
}

/// Writes an issue.
pub(crate) fn write_issue(line: &[u8], into: &mut impl Write) -> io::Result<()> {
    let line: Vec<u8> = line
        .iter()
        .copied()
        .filter(|byte| *byte != 0)
        .take(4096)
        .collect();
    into.write_all(&[b"!", &line[..], b"\0"].concat())
}

/// Writes the last record.
pub(crate) fn write_end(end: End, into: &mut impl Write) -> io::Result<()> {
    into.write_all(end.bytes())
}

/// Reads a record, which is given without the NUL byte; `None` if it is malformed.
pub(crate) fn record(bytes: Vec<u8>) -> Option<Record> {
    match bytes.first()? {
        b'/' => Some(Record::Member(bytes)),
        b'#' => Some(Record::Group(bytes.get(1..)?.to_vec())),
        b'!' => Some(Record::Issue(bytes.get(1..)?.to_vec())),
        _ => {
            let ends = [End::Complete, End::Denied, End::Failed];
            let is_it = |end: &End| end.bytes().strip_suffix(b"\0") == Some(&bytes);
            ends.into_iter().find(is_it).map(Record::End)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(narrowed: Narrowed) -> Asked {
        Asked {
            indexes: vec!["/var/lib/trawl".into()],
            point: b"/views".to_vec(),
            question: Question {
                starts: vec![b"/srv".to_vec(), b"/a\nb".to_vec()],
                expression: vec![b"-name".to_vec(), Vec::new()],
            },
            narrowed,
        }
    }

    #[test]
    fn questions_survive_and_cut_ones_are_refused() {
        for narrowed in [
            Narrowed::All,
            Narrowed::Groups,
            Narrowed::Name(b"x".to_vec()),
            Narrowed::Path(b"/srv/x".to_vec()),
        ] {
            let asked = asked(narrowed);
            let mut bytes = Vec::new();
            asked.write(&mut bytes).unwrap();
            assert_eq!(Asked::read(&mut &bytes[..]).unwrap(), Some(asked));
            for end in 0..bytes.len() {
                assert_eq!(Asked::parse(&bytes[..end]), None, "{end}");
            }
        }
    }

    #[test]
    fn records_are_told_apart() {
        assert_eq!(record(b"/a".to_vec()), Some(Record::Member(b"/a".to_vec())));
        assert_eq!(record(b"#a".to_vec()), Some(Record::Group(b"a".to_vec())));
        assert_eq!(record(b"!no".to_vec()), Some(Record::Issue(b"no".to_vec())));
        assert_eq!(record(b"=denied".to_vec()), Some(Record::End(End::Denied)));
        for odd in [&b""[..], b"=", b"a", b"=complet"] {
            assert_eq!(record(odd.to_vec()), None);
        }
    }
}
