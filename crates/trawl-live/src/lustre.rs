//! Reads recorded Lustre changelogs: the text output of `lfs changelog`.
//!
//! The parser follows the Lustre manual and the tool's source; it was tested on recordings written
//! by hand, not on a Lustre file system. Keys are Lustre's own identifiers (FIDs); only Lustre can
//! convert them to paths (`lfs fid2path`). Record numbers must be consecutive: if one is missing,
//! everything is in doubt. Names are printed unescaped, so a newline in a name cannot be
//! distinguished from the end of a record; such a line is an error.

mod record;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_model::change::{
    Change, Doubt, FileSystemId, NameChange, ObjectKey, ObjectRef, Reached, Receiver, SubtreeCause,
};

use crate::error::{LiveError, Result};
use crate::source::{
    AsOf, Barrier, ChangeSource, Description, Drained, Left, Names, Place, Places,
};

pub use record::{BadRecord, Fid, Kind, Record};

/// Maximum length in bytes of a line: two names, and less than a page of numbers.
const LINE_BYTES_MAX: u64 = 4096;

/// Type of keys made from FIDs (`FILEID_LUSTRE` in the kernel).
const FID_KEY: i32 = 0x97;

const UNSEEN: [&str; 2] = [
    "changes that the changelog's mask excludes",
    "changes after the end of the recording",
];

/// Reads a recording; see the module documentation.
#[derive(Debug)]
pub struct Lustre {
    path: Vec<u8>,
    lines: BufReader<File>,
    line: u64,
    /// Number of the last record.
    last: Option<u64>,
    file_system: FileSystemId,
    places: Unknown,
}

impl Lustre {
    /// Opens the recording at `path`, of the file system with this id.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn open(path: &Path, file_system: FileSystemId) -> Result<Self> {
        let bytes = path.as_os_str().as_bytes().to_vec();
        let file = File::open(path).map_err(|source| LiveError::Read {
            path: bytes.clone(),
            source,
        })?;
        Ok(Lustre {
            path: bytes,
            lines: BufReader::new(file),
            line: 0,
            last: None,
            file_system,
            places: Unknown,
        })
    }

    /// Reads the next record; returns `None` at the end.
    fn next(&mut self) -> Result<Option<Record>> {
        let mut text = Vec::new();
        let mut lines = std::io::Read::take(&mut self.lines, LINE_BYTES_MAX);
        lines
            .read_until(b'\n', &mut text)
            .map_err(|source| LiveError::Read {
                path: self.path.clone(),
                source,
            })?;
        if text.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let whole = text.strip_suffix(b"\n").ok_or(BadRecord("it has no end"));
        let record = whole.and_then(Record::parse);
        record
            .map(Some)
            .map_err(|BadRecord(what)| LiveError::Changelog {
                path: self.path.clone(),
                line: self.line,
                what,
            })
    }

    fn read(&mut self, limit: u64, into: &mut dyn Receiver) -> Result<Drained> {
        let mut events = 0;
        while events < limit {
            let Some(record) = self.next()? else {
                let left = Left::Nothing;
                return Ok(Drained { events, left });
            };
            events += 1;
            if self
                .last
                .is_some_and(|last| last.checked_add(1) != Some(record.number))
            {
                into.change(Change::Everything {
                    file_system: self.file_system,
                    cause: Doubt::MissingRecords,
                });
            }
            self.last = Some(record.number);
            self.report(&record, into);
        }
        let left = Left::More;
        Ok(Drained { events, left })
    }

    fn key(&self, fid: Fid) -> ObjectKey {
        ObjectKey::new(self.file_system, FID_KEY, &fid.to_bytes())
    }

    fn report(&self, record: &Record, into: &mut dyn Receiver) {
        if !record.kind.changes_anything() {
            return;
        }
        let mut reached = Reached::Unnamed;
        for (parent, name) in record.at.iter().chain(&record.from) {
            reached = Reached::ByName;
            let what = if record.kind.changes_names() {
                NameChange::Listing
            } else {
                NameChange::Attributes
            };
            into.change(Change::Name {
                directory: self.key(*parent).as_ref(),
                name,
                what,
            });
        }
        for fid in [Some(record.target), record.moved].into_iter().flatten() {
            if !fid.is_zero() {
                let object = self.key(fid);
                let object = object.as_ref();
                into.change(Change::Object { object, reached });
            }
        }
        // The record does not say whether it is a directory.
        if let Some(moved) = record.moved {
            into.change(Change::Subtree {
                directory: self.key(moved).as_ref(),
                cause: SubtreeCause::Moved,
            });
        }
    }
}

/// Places are unknown: only Lustre can convert its FIDs to paths.
#[derive(Debug)]
struct Unknown;

impl Places for Unknown {
    fn place(&mut self, _: ObjectRef<'_>) -> Result<Place> {
        Ok(Place::Outside)
    }

    fn parent(&mut self, _: ObjectRef<'_>) -> Option<ObjectKey> {
        None
    }

    fn names_of(&mut self, _: ObjectRef<'_>) -> Names {
        Names::Several
    }
}

impl AsFd for Lustre {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.get_ref().as_fd()
    }
}

impl ChangeSource for Lustre {
    fn describe(&self) -> Description {
        Description {
            root: self.path.clone(),
            file_system: "lustre".to_owned(),
            how: "a recorded changelog",
            interval: None,
            unseen: UNSEEN.to_vec(),
            uncovered: 0,
            unwatched: Vec::new(),
        }
    }

    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained> {
        self.read(limit as u64, into)
    }

    /// Reads up to the current end of the recording.
    fn barrier(&mut self, into: &mut dyn Receiver) -> Result<Barrier> {
        let length = self
            .lines
            .get_ref()
            .metadata()
            .map_err(|source| LiveError::Read {
                path: self.path.clone(),
                source,
            })?;
        // No record is shorter than its number and kind.
        let drained = self.read(length.len() / 8 + 1, into)?;
        Ok(Barrier {
            waiting: drained.events,
            events: drained.events,
            as_of: AsOf::Record(self.last),
        })
    }

    fn places(&mut self) -> &mut dyn Places {
        &mut self.places
    }
}
