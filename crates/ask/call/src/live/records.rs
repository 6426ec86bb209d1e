//! Writes the records of one directory.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use trawl_model::relative_path::join;
use trawl_sys::SysError;
use trawl_sys::access;
use trawl_sys::directory::Links;
use trawl_sys::stat::{stat_at, stat_at_followed, stat_fd};

use crate::confined::Confined;
use crate::options::Metadata;
use crate::packed::{PATH_MAX_BYTES, encode};
use crate::record::{Attributes, Outcome, RecordRef, Source, Trouble};
use crate::request::{Request, Root};

/// Encoded records, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) packed: Vec<u8>,
    /// Whether they include a match.
    pub(crate) has_match: bool,
}

/// Writes the records of one directory.
pub(crate) struct Writer<'a> {
    request: &'a Request,
    root: &'a Root,
    /// The path that records have for entries of the directory, up to the name.
    prefix: Vec<u8>,
    own: Vec<u8>,
    /// The directory's path below the root.
    below: &'a [u8],
    records: Records,
}

impl<'a> Writer<'a> {
    /// Creates a writer for the directory at this path below the root.
    pub(crate) fn new(request: &'a Request, root: &'a Root, below: &'a [u8]) -> Writer<'a> {
        Writer::behind(Vec::new(), request, root, below)
    }

    /// Like [`Writer::new`], but appends to existing records.
    pub(crate) fn behind(
        packed: Vec<u8>,
        request: &'a Request,
        root: &'a Root,
        below: &'a [u8],
    ) -> Writer<'a> {
        let own = request.spell(root, below);
        let mut prefix = own.clone();
        if prefix == b"." && request.options().root_form == crate::options::RootForm::Omitted {
            prefix.clear();
        } else if !prefix.ends_with(b"/") {
            prefix.push(b'/');
        }
        Writer {
            request,
            root,
            prefix,
            own,
            below,
            records: Records {
                packed,
                has_match: false,
            },
        }
    }

    /// Returns whether paths of entries in the directory may exceed [`PATH_MAX_BYTES`].
    pub(crate) fn is_too_long(&self) -> bool {
        self.prefix.len() > PATH_MAX_BYTES - (4 << 10)
    }

    /// Writes an error about the directory itself.
    pub(crate) fn trouble(&mut self, source: Source, error: &SysError) {
        let errno = error.errno.0;
        let trouble = Trouble { source, errno };
        let path = std::mem::take(&mut self.own);
        self.put(&path, Outcome::Error(trouble));
        self.own = path;
    }

    /// Writes the directory itself as a match.
    pub(crate) fn itself(&mut self, attributes: Option<Attributes>) {
        let path = std::mem::take(&mut self.own);
        self.put(&path, Outcome::Match(attributes));
        self.own = path;
        self.records.has_match = true;
    }

    /// Writes the entry `name`, whose name matches, if it also passes the access test. `known`
    /// holds its own attributes, if they are known and it is no symbolic link.
    pub(crate) fn entry(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        known: Option<Attributes>,
    ) {
        let options = self.request.options();
        if let Some(confined) = self.root.confined() {
            if let Some(outcome) = self.confined_entry(confined, directory, name) {
                self.named(name.to_bytes(), outcome);
            }
            return;
        }
        let mut wishes = options.access.wishes();
        if wishes.any(|wish| access::check(directory, name, wish).is_err()) {
            return;
        }
        let outcome = match (options.metadata, known) {
            (Metadata::Omit, _) => Outcome::Match(None),
            (_, Some(known)) => Outcome::Match(Some(known)),
            (Metadata::OfLink, None) => match stat_at(directory, name) {
                Ok(stat) => Outcome::Match(Some(Attributes::of(&stat))),
                Err(error) if error.is_vanished() => return,
                Err(error) => failed(&error),
            },
            (Metadata::OfTarget, None) => match stat_at_followed(directory, name) {
                Ok(stat) => Outcome::Match(Some(Attributes::of(&stat))),
                Err(error) if error.is_vanished() && stat_at(directory, name).is_err() => return,
                Err(error) => failed(&error),
            },
        };
        self.named(name.to_bytes(), outcome);
    }

    /// Returns the outcome for an entry of a confined tree, `None` if it is no match. The target of
    /// a link is resolved from the top of the tree; everything else is looked at without following
    /// links.
    fn confined_entry(
        &self,
        confined: &Confined,
        directory: BorrowedFd<'_>,
        name: &CStr,
    ) -> Option<Outcome> {
        let options = self.request.options();
        let (metadata, access) = (options.metadata, options.access);
        if metadata == Metadata::Omit && access.is_none() {
            return Some(Outcome::Match(None));
        }
        let own = match stat_at(directory, name) {
            Ok(own) => own,
            Err(error) if error.is_vanished() || !access.is_none() => return None,
            Err(error) => return Some(failed(&error)),
        };
        let follows = own.is_symlink() && (metadata == Metadata::OfTarget || !access.is_none());
        let target = follows.then(|| {
            let path = join(self.below, name.to_bytes());
            confined.look(&path, Links::Followed)
        });
        let may = |wish| match &target {
            None => access::check_itself(directory, name, wish).is_ok(),
            Some(Ok(target)) => access::check_open(target, wish).is_ok(),
            Some(Err(_)) => false,
        };
        if !access.wishes().all(may) {
            return None;
        }
        Some(match (metadata, target) {
            (Metadata::Omit, _) => Outcome::Match(None),
            (Metadata::OfTarget, Some(target)) => match target.and_then(stat_fd) {
                Ok(stat) => Outcome::Match(Some(Attributes::of(&stat))),
                Err(error) => failed(&error),
            },
            _ => Outcome::Match(Some(Attributes::of(&own))),
        })
    }

    /// Writes the entry `name` without further tests.
    pub(crate) fn named(&mut self, name: &[u8], outcome: Outcome) {
        let length = self.prefix.len();
        let mut path = std::mem::take(&mut self.prefix);
        path.extend_from_slice(name);
        self.put(&path, outcome);
        path.truncate(length);
        self.prefix = path;
        self.records.has_match |= matches!(outcome, Outcome::Match(_));
    }

    fn put(&mut self, path: &[u8], outcome: Outcome) {
        let record = RecordRef {
            root: self.root.number(),
            path,
            outcome,
        };
        encode(&record, &mut self.records.packed);
    }

    /// Returns whether no more records are wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.records.has_match && self.request.is_first()
    }

    /// Returns the written records.
    pub(crate) fn finish(self) -> Records {
        self.records
    }
}

fn failed(error: &SysError) -> Outcome {
    Outcome::Error(Trouble {
        source: Source::Stat,
        errno: error.errno.0,
    })
}
