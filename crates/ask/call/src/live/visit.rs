//! Visits one directory: lists it or looks up names in it, writes the matches, and returns the
//! subdirectories that may contain more.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use trawl_model::operation::Operation;
use trawl_model::relative_path::join;
use trawl_sys::access::{check, check_open};
use trawl_sys::directory::{Links as OpenLinks, Purpose, ReadBuffer};
use trawl_sys::stat::{stat_at, stat_at_followed, stat_fd};
use trawl_sys::{CWD, Errno, Op, SysError};
use trawl_walk::{Budget, Output};

use super::listing::{End, Entry, FollowsLinks, Kind, Listing, Sieve, is_absent, kind_of};
use super::node::{self, LIST, Node};
use super::records::{Records, Writer};
use super::resume::Resume;
use crate::options::{Access, Links, Metadata, Mounts};
use crate::pattern::State;
use crate::record::{Attributes, Source};
use crate::request::{Request, Root};

/// Maximum number of names that are looked up instead of listing a directory.
const NAMES_MAX: usize = 16;

/// A directory that is still to be visited.
pub(super) struct Place {
    /// Index of its root in the request.
    pub(super) root: usize,
    pub(super) node: Arc<Node>,
    pub(super) state: State,
    /// The part of it that was already returned, if the search resumes here or below.
    pub(super) resume: Option<Resume>,
    /// The root's device, where other file systems are not entered.
    pub(super) device: Option<u64>,
}

/// Visits directories on one thread, with buffers of its own.
pub(super) struct Visitor {
    request: Arc<Request>,
    budget: Arc<Budget>,
    listing: Listing,
    buffer: ReadBuffer,
}

impl trawl_walk::Worker for Visitor {
    type Task = Place;
    type Part = Records;

    /// Visits a directory.
    fn run(&mut self, place: Place, output: &mut Output<Visitor>) {
        let request = Arc::clone(&self.request);
        let Some(root) = request.roots().get(place.root) else {
            return;
        };
        let below = place.node.path();
        #[cfg(test)]
        super::tests::visiting(&below);
        let mut writer = Writer::new(&request, root, &below);
        let mut places = Vec::new();
        if !place.node.is_root() || self.begin(&place, root, &mut writer) {
            self.enter(place, root, &below, &mut writer, &mut places);
        }
        if writer.is_full() {
            places.clear();
        }
        let records = writer.finish();
        if !records.packed.is_empty() {
            output.put(records);
        }
        places.into_iter().for_each(|place| output.below(place));
    }

    fn bytes(records: &Records) -> usize {
        records.packed.len()
    }

    fn is_cancelled(&self) -> bool {
        self.request.cancel().is_cancelled()
    }
}

impl Visitor {
    pub(super) fn new(request: &Arc<Request>, budget: &Arc<Budget>) -> Visitor {
        Visitor {
            request: Arc::clone(request),
            budget: Arc::clone(budget),
            listing: Listing::default(),
            buffer: ReadBuffer::new(32 << 10),
        }
    }

    /// Writes the root itself if it matches. Returns false if nothing is left to do.
    fn begin(&self, place: &Place, root: &Root, writer: &mut Writer<'_>) -> bool {
        let was_given = place.resume.as_ref().is_some_and(Resume::has_root);
        if root.pattern().matches_root() && !was_given {
            let options = self.request.options();
            match look_at_root(root, options.access) {
                Err(error) => {
                    writer.trouble(Source::Open, &error);
                    return false;
                }
                Ok((attributes, is_allowed)) => {
                    let wanted = options.metadata != Metadata::Omit;
                    if is_allowed {
                        writer.itself(wanted.then_some(attributes));
                    }
                }
            }
        }
        !writer.is_full() && !place.state.is_none()
    }

    fn enter(
        &mut self,
        place: Place,
        root: &Root,
        below: &[u8],
        writer: &mut Writer<'_>,
        places: &mut Vec<Place>,
    ) {
        let tells = place.resume.as_ref().is_none_or(Resume::tells_own);
        let is_too_deep = place.node.depth() > self.request.options().max_depth;
        if is_too_deep || writer.is_too_long() {
            if tells {
                let error = SysError::new(Op::Openat, Errno::OVERFLOW);
                writer.trouble(Source::Depth, &error);
            }
            return;
        }
        self.listing.clear();
        match self.list(&place, root) {
            Ok(None) => {}
            Ok(Some((fd, end, device))) => {
                if let End::Failed(error) = end
                    && tells
                {
                    writer.trouble(Source::Read, &error);
                }
                let place = Place { device, ..place };
                self.take_entries(&place, root, below, &fd, writer, places);
                if !places.is_empty() {
                    place.node.keep(&fd, &self.budget);
                }
            }
            Err((source, error)) if tells => writer.trouble(source, &error),
            Err(_) => {}
        }
    }

    /// Opens a directory and lists it. `None` for a directory that is not to be entered.
    #[allow(clippy::type_complexity, reason = "named nowhere else")]
    fn list(
        &mut self,
        place: &Place,
        root: &Root,
    ) -> Result<Option<(Arc<OwnedFd>, End, Option<u64>)>, (Source, SysError)> {
        let pattern = root.pattern();
        let sieve = Sieve {
            pattern,
            state: &place.state,
            follows_links: match self.request.options().links {
                Links::Follow => FollowsLinks::Yes,
                Links::Stay => FollowsLinks::No,
            },
        };
        let names = pattern.names(&place.state);
        if let Some(names) = names.filter(|names| names.len() <= NAMES_MAX)
            && let Ok(fd) = place.node.open(Purpose::Pass)
        {
            let Some(device) = self.admit(place, fd.as_fd())? else {
                return Ok(None);
            };
            match self.listing.look(fd.as_fd(), &names, &sieve) {
                Ok(()) => return Ok(Some((Arc::new(fd), End::Whole, device))),
                // Listing the directory may still succeed.
                Err(_) => self.listing.clear(),
            }
        }
        let fd = match place.node.open(LIST) {
            Ok(fd) => fd,
            // It was removed, or became something else, after its parent was listed.
            Err(error) if !place.node.is_root() && is_gone(&error) => return Ok(None),
            Err(error) => return Err((Source::Open, error)),
        };
        let Some(device) = self.admit(place, fd.as_fd())? else {
            return Ok(None);
        };
        let cancel = self.request.cancel();
        let _span = Operation::ReadDirectory.span();
        let end = self
            .listing
            .read(fd.as_fd(), &sieve, &mut self.buffer, cancel);
        Ok(Some((Arc::new(fd), end, device)))
    }

    /// Returns the device that directories below must have, if other file systems are not entered.
    /// The outer `None` means that this directory must not be entered.
    fn admit(
        &self,
        place: &Place,
        fd: BorrowedFd<'_>,
    ) -> Result<Option<Option<u64>>, (Source, SysError)> {
        let options = self.request.options();
        let follows = options.links == Links::Follow;
        let stays = options.mounts == Mounts::Stay;
        if !follows && !stays {
            return Ok(Some(None));
        }
        let stat = stat_fd(fd).map_err(|error| (Source::Open, error))?;
        let id = (stat.dev.as_u64(), stat.ino);
        if follows {
            if node::is_below(&place.node, id) {
                return Err((Source::Loop, SysError::new(Op::Openat, Errno::LOOP)));
            }
            node::identify(&place.node, id);
        }
        Ok(match place.device.filter(|_| stays) {
            Some(device) if device != id.0 => None,
            _ => Some(stays.then_some(id.0)),
        })
    }

    /// Writes the matches among the listed entries, and collects the subdirectories that may
    /// contain more.
    fn take_entries(
        &self,
        place: &Place,
        root: &Root,
        below: &[u8],
        fd: &Arc<OwnedFd>,
        writer: &mut Writer<'_>,
        places: &mut Vec<Place>,
    ) {
        let _span = Operation::TakeEntries.span();
        for entry in self.listing.entries() {
            let name = self.listing.name(entry);
            let bytes = name.to_bytes();
            if !root.skip().is_empty() && root.is_elsewhere(&join(below, bytes)) {
                continue;
            }
            let resume = place.resume.as_ref();
            if entry.is_match && resume.is_none_or(|resume| resume.gives(bytes)) {
                writer.entry(fd.as_fd(), name, None);
                if writer.is_full() {
                    return;
                }
            }
            let resume = match resume {
                None => None,
                Some(resume) => match resume.below(bytes) {
                    Some(resume) => resume,
                    None => continue,
                },
            };
            if let Some(state) = &entry.below
                && let Some(links) = self.may_enter(fd.as_fd(), name, entry, (root, below))
            {
                places.push(Place {
                    root: place.root,
                    node: Arc::new(node::child(&place.node, name.to_owned(), links)),
                    state: state.clone(),
                    resume,
                    device: place.device,
                });
            }
        }
    }

    /// Returns how to open an entry, if it is a directory to enter.
    fn may_enter(
        &self,
        fd: BorrowedFd<'_>,
        name: &CStr,
        entry: &Entry,
        (root, below): (&Root, &[u8]),
    ) -> Option<OpenLinks> {
        let kind = match entry.kind {
            Kind::Unknown => kind_of(&stat_at(fd, name).ok()?),
            known => known,
        };
        match kind {
            Kind::Directory => Some(OpenLinks::Refused),
            Kind::Link if self.request.options().links == Links::Follow => {
                let target = match root.confined() {
                    None => stat_at_followed(fd, name).ok()?,
                    Some(confined) => {
                        let path = join(below, name.to_bytes());
                        stat_fd(confined.look(&path, OpenLinks::Followed).ok()?).ok()?
                    }
                };
                target.is_directory().then_some(OpenLinks::Followed)
            }
            _ => None,
        }
    }
}

/// Returns a root's attributes, and whether the user has all these rights on it.
fn look_at_root(root: &Root, access: Access) -> Result<(Attributes, bool), SysError> {
    if let Some(confined) = root.confined() {
        let fd = confined.look(b"", OpenLinks::Followed)?;
        let mut wishes = access.wishes();
        let is_allowed = wishes.all(|wish| check_open(&fd, wish).is_ok());
        return Ok((Attributes::of(&stat_fd(&fd)?.meta), is_allowed));
    }
    let name = CString::new(root.path()).unwrap_or_default();
    let stat = match stat_at_followed(CWD, &name) {
        Err(error) if error.errno == Errno::NAMETOOLONG => {
            stat_fd(node::root(name.clone(), None).open(Purpose::Pass)?)
        }
        other => other,
    }?;
    let mut wishes = access.wishes();
    let is_allowed = wishes.all(|wish| check(CWD, &name, wish).is_ok());
    Ok((Attributes::of(&stat), is_allowed))
}

fn is_gone(error: &SysError) -> bool {
    is_absent(error) || error.errno == Errno::LOOP
}
