//! Answers questions that leaves ask about a live entry beyond its row.

use std::ffi::CString;
use std::fs::File;

use trawl_model::FileType;
use trawl_model::rows::Row;
use trawl_sys::access::check;
use trawl_sys::directory::{AccessTime, Links, Purpose, ReadBuffer, open_path};
use trawl_sys::file::open_content;
use trawl_sys::stat::stat_at;
use trawl_sys::{BorrowedFd, Errno, SysError, xattr};

use super::looker::type_through;
use crate::lookups::AttributeTest;
use crate::probe::{Access, Cause, NameInDirectory, Probe, Target};
use crate::reference::error_text;
use crate::traversal::Follow;

/// Answers for the entries of one open directory, or for a start point.
pub(crate) struct LiveProbe<'p> {
    dir: BorrowedFd<'p>,
    links: Links,
    is_start: bool,
    /// The path to ask about, if it is not the row's name.
    path: Option<CString>,
}

impl<'p> LiveProbe<'p> {
    /// Creates a probe for the entries of `dir`.
    pub(crate) fn below(dir: BorrowedFd<'p>, follow: Follow) -> LiveProbe<'p> {
        LiveProbe {
            dir,
            links: match follow {
                Follow::Always => Links::Followed,
                _ => Links::Refused,
            },
            is_start: false,
            path: None,
        }
    }

    /// Creates a probe for a start point, relative to the directory `dir`.
    pub(crate) fn at_start(dir: BorrowedFd<'p>, follow: Follow) -> LiveProbe<'p> {
        LiveProbe {
            dir,
            links: match follow {
                Follow::Never => Links::Refused,
                _ => Links::Followed,
            },
            is_start: true,
            path: None,
        }
    }

    /// Creates a probe for the target of the link at this path from the working
    /// directory.
    pub(crate) fn behind(path: &CString) -> LiveProbe<'static> {
        LiveProbe {
            dir: trawl_sys::CWD,
            links: Links::Followed,
            is_start: false,
            path: Some(path.clone()),
        }
    }

    fn name(&self, row: &Row<'_>, path: &[u8]) -> Option<CString> {
        if let Some(path) = &self.path {
            return Some(path.clone());
        }
        match self.is_start {
            true => super::path_of(path),
            false => CString::new(row.name()).ok(),
        }
    }

    fn is_empty(&self, name: &CString) -> Result<bool, SysError> {
        let purpose = Purpose::List(AccessTime::Update);
        let dir = open_path(self.dir, name, purpose, self.links)?;
        let mut buffer = ReadBuffer::new(4096);
        let mut reader = buffer.read(&dir);
        while let Some(entry) = reader.next() {
            match entry {
                Ok(entry) if entry.is_dot() => {}
                Ok(_) => return Ok(false),
                // A directory that was removed has no entries: readdir(3).
                Err(error) if error.errno == Errno::NOENT => break,
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Returns the strerror(3) text of the error.
pub(crate) fn cause(error: &SysError) -> Cause {
    let error = std::io::Error::from_raw_os_error(error.errno.0);
    Cause(error_text(&error))
}

fn gone() -> Cause {
    Cause("No such file or directory".into())
}

impl Probe for LiveProbe<'_> {
    fn is_empty_directory(&self, row: &Row<'_>, path: &[u8]) -> Result<bool, Cause> {
        let name = self.name(row, path).ok_or_else(gone)?;
        self.is_empty(&name).map_err(|error| cause(&error))
    }

    fn target(&self, row: &Row<'_>, path: &[u8]) -> Target {
        let Some(name) = self.name(row, path) else {
            return Target::Missing;
        };
        match type_through(self.dir, &name) {
            Ok(kind) => Target::Is(kind),
            Err(error) => match error.errno {
                Errno::NOENT | Errno::NOTDIR => Target::Missing,
                Errno::LOOP => Target::Loop,
                _ => Target::Unknown(cause(&error)),
            },
        }
    }

    fn own_type(&self, row: &Row<'_>, path: &[u8]) -> Target {
        let Some(name) = self.name(row, path) else {
            return Target::Missing;
        };
        match stat_at(self.dir, &name) {
            Ok(stat) => Target::Is(FileType::from_mode(stat.mode)),
            Err(error) if error.errno == Errno::NOENT => Target::Missing,
            Err(error) => Target::Unknown(cause(&error)),
        }
    }

    fn may(&self, row: &Row<'_>, path: &[u8], access: Access) -> bool {
        self.name(row, path)
            .is_some_and(|name| check(self.dir, &name, access.wish()).is_ok())
    }

    fn has_attribute(&self, row: &Row<'_>, path: &[u8], test: &AttributeTest) -> bool {
        let Some(name) = self.name(row, path) else {
            return false;
        };
        let mut reader = xattr::Reader::for_any_thread();
        if reader.enter(self.dir).is_err() {
            return false;
        }
        let names = reader.list(self.dir, &name).unwrap_or_default().to_vec();
        let named = names.split(|byte| *byte == 0).filter(|n| !n.is_empty());
        named.filter(|n| test.looks_up(n)).any(|attribute| {
            let attribute = CString::new(attribute).unwrap_or_default();
            let value = reader.get(self.dir, &name, &attribute).ok().flatten();
            value.is_some_and(|value| test.admits(value))
        })
    }

    fn place(&self, row: &Row<'_>, path: &[u8]) -> Option<NameInDirectory<'_>> {
        Some(NameInDirectory {
            dir: self.dir,
            name: self.name(row, path)?,
        })
    }

    fn content(&self, row: &Row<'_>, path: &[u8]) -> Result<File, Cause> {
        let name = self.name(row, path).ok_or_else(gone)?;
        open_content(self.dir, &name, self.links).map_err(|error| cause(&error))
    }
}
