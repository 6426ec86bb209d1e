//! A walk of the file system as it is now.
//!
//! Directories are taken depth first, in the order in which they are listed, which is that in
//! which programs go through them; so a table that is full has what comes next. Nothing is reached
//! through a link, and other file systems are not entered.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use trawl_sys::directory::{self, AccessTime, Links, Purpose, ReadBuffer};
use trawl_sys::filesystem;
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::stat::{self, stat_at};
use trawl_sys::xattr;
use trawl_sys::{CWD, Errno, SysError};
use trawl_table::wire::Extent;
use trawl_table::{
    ATTRIBUTE_NAMES, Builder, EntryParts, FileKind, Level, NewEntry, Search, Stat, Time,
};

use crate::search_path;
use crate::source::{Demand, Source};

/// Directories deeper below the one in question are not listed: each level may hold a descriptor.
const DEPTH_MAX: u32 = 256;
const BUFFER_BYTES: usize = 32 << 10;

/// File systems that are made up as they are looked at, or in which a name that is not listed may
/// be there in other letters: proc, sysfs, cgroup, devpts, debugfs, tracefs, securityfs, bpf, autofs;
/// vfat, exfat, ntfs, ntfs3, cifs, smb2, hfs, hfsplus.
pub(crate) const LEFT_ALONE: [u64; 17] = [
    0x9fa0,
    0x6265_6572,
    0x6367_7270,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x0187,
    0x4d44,
    0x2011_bab0,
    0x5346_544e,
    0x7366_746e,
    0xff53_4d42,
    0xfe53_4d42,
    0x4244,
    0x482b,
];

const BASIC_STATS: u32 = 0x7ff;
const BTIME: u32 = 0x800;
const MNT_ID: u32 = 0x1000;

/// A walk of the file system as it is now.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalWalk;

impl Source for LocalWalk {
    fn table(&self, demand: &Demand) -> Result<Builder, Errno> {
        if demand.extent == Extent::Each {
            return search_path::table(demand);
        }
        let path = CString::new(&demand.path[..]).map_err(|_| Errno::INVAL)?;
        let purpose = Purpose::List(AccessTime::Keep);
        let top = directory::open_path(CWD, &path, purpose, Links::Refused).map_err(errno)?;
        let system = filesystem::of_fd(&top).map_err(errno)?;
        if LEFT_ALONE.contains(&system.magic) {
            return Err(Errno::NOTSUP);
        }
        let of_top = stat::stat_fd(&top).map_err(errno)?;
        let root = converted(&of_top);
        let mut walk = Walk {
            demand,
            dev: root.dev,
            builder: Builder::new(&demand.path, &root, demand.level),
            names: ReadBuffer::new(BUFFER_BYTES),
            targets: TargetBuffer::default(),
            attributes: xattr::Reader::for_any_thread(),
            pending: Vec::new(),
            is_full: false,
        };
        let from: Vec<Vec<u8>> = names(&demand.from).map(<[u8]>::to_vec).collect();
        let place = Place {
            from: Some(from),
            ..Place::default()
        };
        walk.list(top, place)?;
        while let Some(next) = walk.pending.pop() {
            if walk.is_full {
                break;
            }
            // What cannot be opened or read stays unlisted, and so unknown.
            let opened = directory::open_at(&*next.parent, &next.name, purpose);
            if let Ok(opened) = opened {
                let _ = walk.list(opened, next.at);
            }
        }
        Ok(walk.builder)
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
}

fn errno(error: SysError) -> Errno {
    error.errno
}

/// A directory that is to be listed.
struct Pending {
    parent: Rc<OwnedFd>,
    name: CString,
    at: Place,
}

/// Where a directory is in the table.
#[derive(Default)]
struct Place {
    number: u32,
    depth: u32,
    /// For those that lead to where listing begins, and for that one: what is left of the way.
    from: Option<Vec<Vec<u8>>>,
}

struct Walk<'a> {
    demand: &'a Demand,
    dev: u64,
    builder: Builder,
    names: ReadBuffer,
    targets: TargetBuffer,
    attributes: xattr::Reader,
    /// The next one last.
    pending: Vec<Pending>,
    /// Whether a directory did not fit: those after it would leave a hole.
    is_full: bool,
}

/// What is asked of one name.
#[derive(Default)]
struct Asked {
    stat: Option<Stat>,
    link: Option<Vec<u8>>,
    is_bare: bool,
}

impl Asked {
    /// The file system that it is a directory of.
    fn directory_on(&self) -> Option<u64> {
        let is_directory = |of: &&Stat| FileKind::of_mode(of.mode) == Some(FileKind::Directory);
        self.stat.as_ref().filter(is_directory).map(|of| of.dev)
    }
}

/// A name that was read.
struct Named {
    name: CString,
    ino: u64,
    /// `d_type`
    kind: u8,
}

impl Walk<'_> {
    /// Lists an open directory. On the way to where listing begins, what comes before that way is
    /// not asked about.
    fn list(&mut self, opened: OwnedFd, at: Place) -> Result<(), Errno> {
        let opened = Rc::new(opened);
        let names = self.read(&opened)?;
        let first = self.builder.len();
        let is_too_much = first + names.len() > self.demand.entries_max as usize;
        if is_too_much && at.from.is_none() {
            self.is_full = true;
            self.builder.leave_off(at.number);
            return Ok(());
        }
        let _ = self.attributes.enter(&*opened);
        let mut from = at.from.unwrap_or_default();
        let way = (!from.is_empty()).then(|| from.remove(0));
        let way = way.filter(|way| names.iter().any(|named| named.name.to_bytes() == way));
        let mut is_before = way.is_some();
        let mut below = Vec::new();
        for named in names {
            let is_way = way.as_deref() == Some(named.name.to_bytes());
            is_before &= !is_way;
            let asked = match is_before {
                true => Asked::default(),
                false => self.ask(&opened, &named),
            };
            let entry = self.push(&named, &asked);
            if let Some(dev) = asked.directory_on() {
                let from = is_way.then(|| std::mem::take(&mut from));
                below.push((entry, named.name, dev, from));
            }
        }
        // Looking even for itself needs that permission.
        let search = match stat_at(&*opened, c".") {
            Ok(_) => Search::Allowed,
            Err(_) => Search::Unknown,
        };
        self.builder.listed(at.number, first, search);
        let goes_on = self.demand.extent == Extent::Below && at.depth < DEPTH_MAX;
        let mut pending = Vec::new();
        for (entry, name, dev, from) in below {
            let number = self.builder.add_directory(entry, Some(at.number));
            if goes_on && dev == self.dev {
                let depth = at.depth + 1;
                let parent = Rc::clone(&opened);
                let at = Place {
                    number,
                    depth,
                    from,
                };
                pending.push(Pending { parent, name, at });
            }
        }
        self.pending.extend(pending.into_iter().rev());
        Ok(())
    }

    fn push(&mut self, named: &Named, asked: &Asked) -> NewEntry {
        self.builder.push(&EntryParts {
            name: named.name.to_bytes(),
            kind: named.kind,
            ino: named.ino,
            stat: asked.stat.as_ref(),
            link: asked.link.as_deref(),
            access: None,
            is_bare: asked.is_bare,
        })
    }

    fn read(&mut self, opened: &OwnedFd) -> Result<Vec<Named>, Errno> {
        let mut names = Vec::new();
        let mut reader = self.names.read(opened.as_fd());
        while let Some(entry) = reader.next() {
            let entry = entry.map_err(errno)?;
            names.push(Named {
                name: entry.name().to_owned(),
                ino: entry.ino(),
                kind: entry.type_bits().map_or(0, |bits| (bits >> 12) as u8),
            });
        }
        Ok(names)
    }

    fn ask(&mut self, opened: &OwnedFd, named: &Named) -> Asked {
        let is_dot = matches!(named.name.to_bytes(), b"." | b"..");
        let is_wanted = self.demand.level >= Level::Stats || matches!(named.kind, 0 | 4);
        let mut asked = Asked::default();
        if is_dot || !is_wanted {
            return asked;
        }
        let Ok(of) = stat_at(opened, &named.name) else {
            return asked;
        };
        asked.stat = Some(converted(&of));
        if of.is_symlink() && self.demand.level >= Level::Stats {
            let target = read_link_at(opened, &named.name, &mut self.targets);
            asked.link = target.ok().map(<[u8]>::to_vec);
        }
        if self.demand.level >= Level::Attributes && of.dev.as_u64() == self.dev {
            let list = self.attributes.list(opened, &named.name);
            asked.is_bare = match list {
                Ok(names) => names.is_empty(),
                Err(error) => error.is_unsupported(),
            };
        }
        if let Some(kind) = FileKind::of_mode(of.mode).filter(|_| asked.is_bare) {
            self.probe(opened, &named.name, kind);
        }
        asked
    }

    /// Notes what the kernel says of attributes that such a file does not have.
    fn probe(&mut self, opened: &OwnedFd, name: &CStr, kind: FileKind) {
        if self.builder.knows_missing(kind) {
            return;
        }
        for (at, attribute) in ATTRIBUTE_NAMES.iter().enumerate() {
            let Ok(attribute) = CString::new(*attribute) else {
                continue;
            };
            let errno = match self.attributes.get(opened, name, &attribute) {
                Ok(None) => Errno::NODATA.0,
                Ok(Some(_)) => continue,
                Err(error) => error.errno.0,
            };
            let errno = u8::try_from(errno).unwrap_or(0);
            self.builder.missing_attribute(kind, at, errno);
        }
    }
}

/// What a program's own statx(2) would say.
pub(crate) fn converted(of: &stat::Stat) -> Stat {
    let time = |time: stat::Time| Time {
        secs: time.secs,
        nanos: time.nanos,
    };
    let btime = of.btime.map_or(0, |_| BTIME);
    let mnt_id = if of.mnt_id == 0 { 0 } else { MNT_ID };
    Stat {
        dev: of.dev.as_u64(),
        ino: of.ino,
        nlink: u64::from(of.nlink),
        rdev: of.rdev.as_u64(),
        size: of.size,
        blocks: of.blocks,
        attributes: of.attributes,
        attributes_mask: of.attributes_mask,
        mnt_id: of.mnt_id,
        atime: time(of.atime),
        mtime: time(of.mtime),
        ctime: time(of.ctime),
        btime: of.btime.map(time).unwrap_or_default(),
        mode: of.mode,
        uid: of.uid,
        gid: of.gid,
        blksize: of.blksize,
        mask: BASIC_STATS | btime | mnt_id,
    }
}
