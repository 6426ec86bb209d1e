//! Answers requests for the extended attributes of everything below a directory.
//!
//! A search enumerates the objects in its order, so that the rest can be requested later. For each
//! object, the attributes that listxattr(2) names are read without opening the object.
//!
//! Invariants: an object or directory that cannot be examined is reported as such; every answer
//! ends with an end item.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use trawl_call::options::Flags;
use trawl_call::{Attributes, CallError, Cookie, Outcome, RecordRef, Request, Search, Source};
use trawl_sys::directory::Links;
use trawl_sys::stat::stat_fd;
use trawl_sys::xattr::{self, Reader};
use trawl_sys::{Errno, Op, SysError};

use super::AttributesRequest;
use super::items::{ExtendedAttributes, Item};
use crate::exports::{ExportedPath, PathTranslator};
use crate::messages::search::serving::of_one;
use crate::messages::{Data, End, Refusal};
use crate::server::{BLOCK_BYTES, Job, PATH_MAX_BYTES};
use crate::wire::ATTRIBUTES_MAX_BYTES;

const TYPE_MASK: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;

/// Sends the attributes of the first object and of the objects after it.
pub(super) fn attributes(job: &Job<'_>, asked: &AttributesRequest) -> Result<End, Refusal> {
    let is_path = |path: &[u8]| path.len() <= PATH_MAX_BYTES && !path.contains(&0);
    let is_below = |path: &[u8]| {
        let mut names = path.split(|byte| *byte == b'/');
        path.is_empty() || names.all(|name| !matches!(name, b"" | b"." | b".."))
    };
    if !is_path(&asked.top) || !is_path(&asked.from) || !is_below(&asked.from) {
        return Err(Refusal::bad(
            "a path is too long, has a NUL byte, or is invalid",
        ));
    }
    let place = PathTranslator::new(job.exports()).find(&asked.top);
    let links = match &asked.from[..] {
        b"" => Links::Followed,
        _ => Links::Refused,
    };
    let first = place.look(&asked.from, links).and_then(of_object);
    let mut items = Items {
        job,
        data: Vec::new(),
        sent: 0,
        // Where a file system has no attributes at all, that is not repeated for each object.
        others: match &first {
            Err(error) if error.errno == Errno::NOTSUP => Err(Errno::NOTSUP),
            _ => Ok(()),
        },
    };
    items.put(&Item::Object {
        path: asked.from.clone(),
        found: first.map_err(|error| error.errno),
    });
    let behind = match asked.entries {
        0 => Some(asked.from.clone()),
        _ => match off_the_way(&place, &asked.from) {
            Some(dir) => {
                let dir = dir.to_vec();
                items.put(&Item::LeftOut { dir });
                Some(asked.from.clone())
            }
            None => search(job, asked, &place, &mut items)?,
        },
    };
    let others = items.others;
    items.put(&Item::End { behind, others });
    items.send();
    Ok(End::whole(items.sent))
}

/// Items that wait to be sent.
struct Items<'a> {
    job: &'a Job<'a>,
    data: Vec<u8>,
    sent: u64,
    /// The result for all objects that the answer does not name.
    others: Result<(), Errno>,
}

impl Items<'_> {
    fn put(&mut self, item: &Item) {
        item.encode(&mut self.data);
        if self.data.len() >= BLOCK_BYTES {
            self.send();
        }
    }

    fn send(&mut self) {
        self.sent += self.data.len() as u64;
        self.job.say(&Data(std::mem::take(&mut self.data)));
    }

    /// Adds an object, unless its result is that of objects that are not named.
    fn put_object(&mut self, path: &[u8], found: Result<ExtendedAttributes, Errno>) {
        let is_left_out = match (&found, self.others) {
            (Ok(all), Ok(())) => all.is_empty(),
            (Err(errno), Err(others)) => *errno == others,
            _ => false,
        };
        if !is_left_out {
            let path = path.to_vec();
            self.put(&Item::Object { path, found });
        }
    }

    fn bytes(&self) -> u64 {
        self.sent + self.data.len() as u64
    }

    fn is_full(&self) -> bool {
        self.bytes() > ATTRIBUTES_MAX_BYTES as u64
    }

    /// Returns whether one more object with very large attributes might exceed the client's
    /// limit.
    fn is_overfull(&self) -> bool {
        self.bytes() > ATTRIBUTES_MAX_BYTES as u64 / 2 * 3
    }
}

/// Returns a directory on the way to an object, the top included, that a search from the top does
/// not enter. A search that resumes after the object would not report it.
fn off_the_way<'a>(place: &ExportedPath, from: &'a [u8]) -> Option<&'a [u8]> {
    let device = |dir: &[u8]| {
        let links = match dir {
            b"" => Links::Followed,
            _ => Links::Refused,
        };
        let stat = Attributes::of(&place.look(dir, links).and_then(stat_fd).ok()?.meta);
        is_directory(&stat).then_some(stat.dev)
    };
    let top = device(b"");
    let ends = from.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut dirs = std::iter::once(&b""[..]).chain(ends.map(|(at, _)| &from[..at]));
    dirs.find(|dir| top.is_none() || device(dir) != top || !place.is_listable(dir))
}

fn is_directory(of: &Attributes) -> bool {
    of.mode & TYPE_MASK == DIRECTORY
}

/// Returns the search request for everything in a directory and below, after an object.
fn behind(top: &[u8], from: &[u8], job: &Job<'_>) -> Result<Request, Refusal> {
    let flags = Flags(Flags::METADATA | Flags::NOFOLLOW | Flags::XDEV);
    let request = of_one(top, b"*", flags, job.exports())?;
    if from.is_empty() {
        return Ok(request);
    }
    let mut cookie = Cookie::begin(&request);
    let from = RecordRef {
        root: 0,
        path: from,
        outcome: Outcome::Match(None),
    };
    cookie.advance(&request, &from);
    request.resume_at(cookie).map_err(Refusal::of_call)
}

/// Adds the items after the first object. Returns the path of the last object if there are more.
fn search(
    job: &Job<'_>,
    asked: &AttributesRequest,
    place: &ExportedPath,
    items: &mut Items<'_>,
) -> Result<Option<Vec<u8>>, Refusal> {
    let request = behind(&asked.top, &asked.from, job)?;
    let request = request.cancelled_by(job.task.cancel.clone());
    let mut search = Search::open(&*job.serving.executor, request).map_err(Refusal::of_call)?;
    let mut looker = Looker::new(place);
    let (mut count, mut last) = (0, asked.from.clone());
    while let Some(record) = search.next_record().map_err(Refusal::of_call)? {
        let path = match record.path {
            b"." => b"",
            path => path,
        };
        match record.outcome {
            Outcome::Match(attributes) => {
                looker.look(path, attributes, items);
                count += 1;
                if count >= asked.entries || items.is_full() {
                    return Ok(Some(path.to_vec()));
                }
                last = path.to_vec();
            }
            Outcome::Error(trouble) => match trouble.source {
                Source::Close => {}
                Source::Stat if trouble.errno == Errno::NOENT.0 && !path.is_empty() => {}
                Source::Stat if !path.is_empty() => {
                    items.put_object(path, Err(Errno(trouble.errno)));
                }
                _ => {
                    let dir = path.to_vec();
                    items.put(&Item::LeftOut { dir });
                }
            },
        }
        // Many error items may come before the next name, at which the answer could pause.
        if items.is_overfull() {
            return Ok(Some(last));
        }
        if job.outlet.is_broken() {
            return Err(Refusal::of_call(CallError::Cancelled));
        }
    }
    Ok(None)
}

/// Examines objects, directory by directory.
struct Looker<'a> {
    place: &'a ExportedPath,
    reader: Reader,
    /// Device of the top; directories on another device are not entered.
    device: Option<u64>,
    dir: Vec<u8>,
    opened: Result<OwnedFd, SysError>,
}

impl Looker<'_> {
    fn new(place: &ExportedPath) -> Looker<'_> {
        let opened = place.look(b"", Links::Followed);
        let stat = opened.as_ref().ok().and_then(|top| stat_fd(top).ok());
        Looker {
            place,
            reader: Reader::for_any_thread(),
            device: stat.map(|stat| Attributes::of(&stat).dev),
            dir: Vec::new(),
            opened,
        }
    }

    fn look(&mut self, path: &[u8], attributes: Option<Attributes>, items: &mut Items<'_>) {
        let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        if dir != self.dir {
            self.dir = dir.to_vec();
            self.opened = self.place.look(dir, Links::Refused);
        }
        match self.of_name(name) {
            Err(error) if error.is_vanished() => {}
            found => items.put_object(path, found.map_err(|error| error.errno)),
        }
        if attributes.is_some_and(|of| is_directory(&of) && Some(of.dev) != self.device) {
            let dir = path.to_vec();
            items.put(&Item::LeftOut { dir });
        }
    }

    fn of_name(&mut self, name: &[u8]) -> Result<ExtendedAttributes, SysError> {
        let directory = self.opened.as_ref().map_err(|error| *error)?;
        let name = CString::new(name).map_err(|_| SysError::new(Op::Listxattr, Errno::INVAL))?;
        self.reader.enter(directory)?;
        let names = self.reader.list(directory, &name)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names = names.to_vec();
        let get = |attribute: &CStr| {
            let value = self.reader.get(directory, &name, attribute)?;
            Ok(value.map(<[u8]>::to_vec))
        };
        Ok(collect(&names, get))
    }
}

/// Returns the attributes of one object of any type.
fn of_object(object: OwnedFd) -> Result<ExtendedAttributes, SysError> {
    let names = xattr::list_object(&object)?;
    Ok(collect(&names, |attribute| {
        match xattr::get_object(&object, attribute) {
            Err(error) if error.errno == Errno::NODATA => Ok(None),
            found => found.map(Some),
        }
    }))
}

/// Returns the values of attributes with these names, except those removed meanwhile.
fn collect(
    names: &[u8],
    mut get: impl FnMut(&CStr) -> Result<Option<Vec<u8>>, SysError>,
) -> ExtendedAttributes {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for name in names.split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        let value = match bytes < ATTRIBUTES_MAX_BYTES {
            true => get(name).map_err(|error| error.errno),
            false => Err(Errno::TOOBIG),
        };
        let Some(value) = value.transpose() else {
            continue;
        };
        bytes += name.count_bytes() + value.as_ref().map_or(0, Vec::len);
        all.push((name.to_bytes().to_vec(), value));
    }
    all
}
