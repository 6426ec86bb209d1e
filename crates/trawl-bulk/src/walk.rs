//! A walk of the file system as it is now.
//!
//! Directories are taken depth first, in the order in which they are listed, which is that in
//! which programs go through them; so a table that is full has what comes next. Nothing is reached
//! through a link, and other file systems are not entered.
//!
//! Where somebody knows the names in a directory ([`Known`]), it is not opened: its directories are
//! looked at by their paths, and what is known is believed if they are the same ones and nothing is
//! mounted there. So what statx(2) says in a table is always what it says now.

use std::cell::OnceCell;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use trawl_model::relative_path::join;
use trawl_sys::access::{self, Wish};
use trawl_sys::directory::{self, AccessTime, Links, Purpose, ReadBuffer, Reader};
use trawl_sys::filesystem::{self, magic};
use trawl_sys::identity::effective_uid;
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::stat::{self, stat_at};
use trawl_sys::xattr;
use trawl_sys::{CWD, Errno, SysError};
use trawl_table::wire::Extent;
use trawl_table::{
    ATTRIBUTE_NAMES, Builder, EntryParts, FileKind, Level, NewEntry, Search, Stat, Time,
};

use crate::known::{Known, Name, Names, Sign, Wanted};
use crate::search_path;
use crate::source::{Begun, Demand, Source};

/// Directories deeper below the one in question are not listed: each level may hold a descriptor.
const DEPTH_MAX: u32 = 256;
const BUFFER_BYTES: usize = 32 << 10;
/// A block of a directory that is not sorted, in which `.` may be anywhere.
const DOTS_BYTES: usize = 16 << 10;

/// File systems that are made up as they are looked at, or in which a name that is not listed may
/// be there in other letters.
pub(crate) const LEFT_ALONE: [u64; 17] = [
    magic::PROC,
    magic::SYSFS,
    magic::CGROUP2,
    magic::DEVPTS,
    magic::DEBUGFS,
    magic::TRACEFS,
    magic::SECURITYFS,
    magic::BPF,
    magic::AUTOFS,
    magic::VFAT,
    magic::EXFAT,
    magic::NTFS,
    magic::NTFS3,
    magic::CIFS,
    magic::SMB2,
    magic::HFS,
    magic::HFSPLUS,
];

const BASIC_STATS: u32 = 0x7ff;
const BTIME: u32 = 0x800;
const MNT_ID: u32 = 0x1000;

/// File systems on which a name and what it stands for have the same number. (Subvolumes of Btrfs are
/// other devices.) On an overlay, say, they may differ.
const SAME_NUMBERS: [u64; 4] = [magic::EXT, magic::XFS, magic::BTRFS, magic::TMPFS];

/// A walk of the file system as it is now.
#[derive(Clone, Debug, Default)]
pub struct LocalWalk {
    known: Option<Arc<dyn Known>>,
}

impl LocalWalk {
    /// The same; directories whose names somebody knows are looked at, and not listed.
    pub fn knowing(known: Arc<dyn Known>) -> LocalWalk {
        LocalWalk { known: Some(known) }
    }
}

impl Source for LocalWalk {
    fn table(&self, demand: &Demand, begun: Begun) -> Result<Builder, Errno> {
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
        // Where every name is looked at there is nothing to be saved.
        let is_names = demand.level == Level::Names && demand.extent == Extent::Below;
        let known = self.known.as_ref();
        let known = known.filter(|_| is_names && SAME_NUMBERS.contains(&system.magic));
        let mut walk = Walk {
            demand,
            dev: root.dev,
            top: Rc::new(Dir::top(top)),
            is_superuser: effective_uid() == 0,
            known: known.and_then(|known| known.begin(demand, begun)),
            builder: Builder::new(&demand.path, &root, demand.level),
            names: ReadBuffer::new(BUFFER_BYTES),
            targets: TargetBuffer::default(),
            attributes: xattr::Reader::for_any_thread(),
            pending: Vec::new(),
            is_full: false,
        };
        let from: Vec<Vec<u8>> = names(&demand.from).map(<[u8]>::to_vec).collect();
        let place = Place {
            number: 0,
            depth: 0,
            from: Some(from),
            stat: Some(root),
            sign: None,
            search: None,
            dots: None,
        };
        walk.list(&Rc::clone(&walk.top), place)?;
        while let Some(next) = walk.pending.pop() {
            if walk.is_full {
                break;
            }
            // What cannot be opened or read stays unlisted, and so unknown.
            let _ = walk.list(&next.dir, next.at);
        }
        if let Some(as_of_ns) = walk.known.and_then(|known| known.as_of_ns()) {
            walk.builder.as_of(as_of_ns);
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

/// A directory, opened when it is first needed.
struct Dir {
    opened: OnceCell<OwnedFd>,
    /// The one that it lies in, and its name there; `None` of the top.
    above: Option<(Rc<Dir>, CString)>,
    /// Below the top.
    path: Vec<u8>,
}

impl Dir {
    fn top(opened: OwnedFd) -> Dir {
        Dir {
            opened: OnceCell::from(opened),
            above: None,
            path: Vec::new(),
        }
    }

    fn below(above: &Rc<Dir>, name: CString) -> Dir {
        Dir {
            opened: OnceCell::new(),
            path: join(&above.path, name.to_bytes()),
            above: Some((Rc::clone(above), name)),
        }
    }

    fn open(&self) -> Result<&OwnedFd, Errno> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let (above, name) = self.above.as_ref().ok_or(Errno::BADF)?;
        let purpose = Purpose::List(AccessTime::Keep);
        let opened = directory::open_at(above.open()?, name, purpose).map_err(errno)?;
        Ok(self.opened.get_or_init(|| opened))
    }
}

/// A directory that is to be listed.
struct Pending {
    dir: Rc<Dir>,
    at: Place,
}

/// Where a directory is in the table, and what is known of it.
struct Place {
    number: u32,
    depth: u32,
    /// For those that lead to where listing begins, and for that one: what is left of the way.
    from: Option<Vec<Vec<u8>>>,
    stat: Option<Stat>,
    /// How it was when its names became known.
    sign: Option<Sign>,
    /// Whether names in it may be reached, if that was found out.
    search: Option<Search>,
    /// Its own number and that of the directory that it lies in.
    dots: Option<[u64; 2]>,
}

struct Walk<'a> {
    demand: &'a Demand,
    dev: u64,
    top: Rc<Dir>,
    is_superuser: bool,
    /// Who may know the names in directories.
    known: Option<Box<dyn Names>>,
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
    /// Of a directory that was looked into: whether names in it may be reached.
    search: Option<Search>,
}

impl Asked {
    /// The file system that it is a directory of.
    fn directory_on(&self) -> Option<u64> {
        let is_directory = |of: &&Stat| FileKind::of_mode(of.mode) == Some(FileKind::Directory);
        self.stat.as_ref().filter(is_directory).map(|of| of.dev)
    }
}

/// A name that was read, or is known.
struct Named {
    name: CString,
    ino: u64,
    /// `d_type`
    kind: u8,
    sign: Option<Sign>,
}

/// A name, and what was asked of it.
struct Looked {
    named: Named,
    asked: Asked,
    is_way: bool,
}

/// What is in a directory.
struct Found {
    names: Vec<Looked>,
    search: Search,
}

/// `STATX_ATTR_ENCRYPTED`
const ENCRYPTED: u64 = 0x800;
/// `DT_DIR`
const DIRECTORY: u8 = 4;

impl Walk<'_> {
    /// Lists a directory. On the way to where listing begins, what comes before that way is
    /// not asked about.
    fn list(&mut self, dir: &Rc<Dir>, mut at: Place) -> Result<(), Errno> {
        let way = at.from.as_ref().and_then(|from| from.first()).cloned();
        let known = self.known_names(dir, &at);
        if known
            .as_ref()
            .is_some_and(|names| self.is_too_much(names, &at))
        {
            self.leave_off(&at);
            return Ok(());
        }
        let known = known.and_then(|names| self.look_at_known(dir, &at, names, way.as_deref()));
        let found = match known {
            Some(found) => found,
            None => {
                let names = self.read(dir.open()?)?;
                if self.is_too_much(&names, &at) {
                    self.leave_off(&at);
                    return Ok(());
                }
                self.look_at(dir.open()?, names, way.as_deref())
            }
        };
        if way.is_some() {
            at.from.as_mut().map(|from| from.remove(0));
        }
        self.put(dir, at, found);
        Ok(())
    }

    fn is_too_much(&self, names: &[Named], at: &Place) -> bool {
        let length = self.builder.len() + names.len();
        length > self.demand.entries_max as usize && at.from.is_none()
    }

    fn leave_off(&mut self, at: &Place) {
        self.is_full = true;
        self.builder.leave_off(at.number);
    }

    /// Asks the kernel about the names in an open directory.
    fn look_at(&mut self, opened: &OwnedFd, names: Vec<Named>, way: Option<&[u8]>) -> Found {
        let _ = self.attributes.enter(opened);
        let looked = self.each(names, way, |walk, named| Some(walk.ask(opened, named)));
        // Looking even for itself needs that permission.
        let search = match stat_at(opened, c".") {
            Ok(_) => Search::Allowed,
            Err(_) => Search::Unknown,
        };
        Found {
            names: looked.unwrap_or_default(),
            search,
        }
    }

    /// Asks of each name from the way on.
    fn each(
        &mut self,
        names: Vec<Named>,
        way: Option<&[u8]>,
        mut ask: impl FnMut(&mut Self, &Named) -> Option<Asked>,
    ) -> Option<Vec<Looked>> {
        let is_there = |way: &&[u8]| names.iter().any(|named| named.name.to_bytes() == *way);
        let way = way.filter(is_there);
        let mut is_before = way.is_some();
        let look = |named: Named| {
            let is_way = way == Some(named.name.to_bytes());
            is_before &= !is_way;
            let asked = match is_before {
                true => Asked::default(),
                false => ask(self, &named)?,
            };
            Some(Looked {
                named,
                asked,
                is_way,
            })
        };
        names.into_iter().map(look).collect()
    }

    /// Puts what is in a directory into the table.
    fn put(&mut self, dir: &Rc<Dir>, at: Place, found: Found) {
        let first = self.builder.len();
        let mut from = at.from;
        let mut below = Vec::new();
        for Looked {
            named,
            asked,
            is_way,
        } in found.names
        {
            let entry = self.push(&named, &asked);
            if asked.directory_on().is_some() {
                let from = if is_way { from.take() } else { None };
                below.push((entry, named, asked, from));
            }
        }
        self.builder.listed(at.number, first, found.search);
        let goes_on = self.demand.extent == Extent::Below && at.depth < DEPTH_MAX;
        let mut pending = Vec::new();
        for (entry, named, asked, from) in below {
            let number = self.builder.add_directory(entry, Some(at.number));
            if goes_on && asked.directory_on() == Some(self.dev) {
                let ino = |stat: Option<&Stat>| stat.map(|stat| stat.ino);
                let dots = ino(asked.stat.as_ref()).zip(ino(at.stat.as_ref()));
                let at = Place {
                    number,
                    depth: at.depth + 1,
                    from,
                    stat: asked.stat,
                    sign: named.sign,
                    search: asked.search,
                    dots: dots.map(<[u64; 2]>::from),
                };
                let dir = Rc::new(Dir::below(dir, named.name));
                pending.push(Pending { dir, at });
            }
        }
        self.pending.extend(pending.into_iter().rev());
    }

    /// The names in a directory, if somebody knows them.
    fn known_names(&mut self, dir: &Dir, at: &Place) -> Option<Vec<Named>> {
        let known = self.known.as_mut()?;
        let stat = at.stat.as_ref()?;
        // Its names are others without the key, and no time says so.
        if stat.attributes & ENCRYPTED != 0 {
            return None;
        }
        let path = match (&self.demand.path[..], &dir.path[..]) {
            (path, b"") => path.to_vec(),
            (b"/", below) => [b"/", below].concat(),
            (path, below) => [path, b"/", below].concat(),
        };
        let names = known.names(&Wanted {
            path: &path,
            stat,
            sign: at.sign,
            is_on_the_way: at.from.as_ref().is_some_and(|from| !from.is_empty()),
        })?;
        let dots = match at.dots {
            Some(dots) => dots,
            None => self.read_dots(dir.open().ok()?)?,
        };
        let dot = |(name, ino): (&CStr, u64)| Named {
            name: name.to_owned(),
            ino,
            kind: DIRECTORY,
            sign: None,
        };
        let named = |of: Name| Named {
            name: of.name,
            ino: of.ino,
            kind: of.kind,
            sign: of.sign,
        };
        let dots = [c".", c".."].into_iter().zip(dots).map(dot);
        Some(dots.chain(names.into_iter().map(named)).collect())
    }

    /// The numbers of `.` and `..`, if they are among the first that a directory gives, as on all file
    /// systems that are asked; `None` where types are not told.
    fn read_dots(&self, opened: &OwnedFd) -> Option<[u64; 2]> {
        let mut names = ReadBuffer::new(DOTS_BYTES);
        let dots = first_dots(&mut names.read(opened.as_fd()));
        // It may be listed yet.
        rustix::fs::seek(opened, rustix::fs::SeekFrom::Start(0)).ok()?;
        dots
    }

    /// Looks at the directories among known names; `None` if one is another by now, or something is
    /// mounted there: its number here is not the one that it shows.
    fn look_at_known(
        &mut self,
        dir: &Dir,
        at: &Place,
        names: Vec<Named>,
        way: Option<&[u8]>,
    ) -> Option<Found> {
        // Whoever knows its names may have listed it with other rights.
        if !self.may_read(dir) {
            return None;
        }
        let search = match at.search {
            Some(search) => search,
            None => match stat_at(dir.open().ok()?, c".") {
                Ok(_) => Search::Allowed,
                Err(_) => Search::Unknown,
            },
        };
        let names = self.each(names, way, |walk, named| walk.check(dir, named))?;
        Some(Found { names, search })
    }

    /// Whether the kernel would let this process list a directory; the superuser it lets.
    fn may_read(&self, dir: &Dir) -> bool {
        if self.is_superuser {
            return true;
        }
        let path = match &dir.path[..] {
            b"" => b".",
            path => path,
        };
        let (Ok(top), Ok(path)) = (self.top.open(), CString::new(path)) else {
            return false;
        };
        access::check(top, &path, Wish::Read).is_ok()
    }

    /// What the kernel says of a known name, which is asked of directories alone.
    fn check(&self, dir: &Dir, named: &Named) -> Option<Asked> {
        let name = named.name.to_bytes();
        if named.kind != DIRECTORY || matches!(name, b"." | b"..") {
            return Some(Asked::default());
        }
        let top = self.top.open().ok()?;
        let mut path = join(&dir.path, name);
        let end = path.len();
        path.extend_from_slice(b"/.\0");
        let looked_into = stat_at(top, CStr::from_bytes_with_nul(&path).ok()?);
        let (of, search) = match looked_into {
            Ok(of) => (of, Search::Allowed),
            Err(error) if error.errno == Errno::ACCES => {
                path.truncate(end);
                let path = CString::new(path).ok()?;
                (stat_at(top, &path).ok()?, Search::Unknown)
            }
            Err(_) => return None,
        };
        let stat = converted(&of);
        let is_it = of.is_directory() && (stat.dev, stat.ino) == (self.dev, named.ino);
        (is_it && of.is_mount_root() == Some(false)).then(|| Asked {
            stat: Some(stat),
            search: Some(search),
            ..Asked::default()
        })
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
                sign: None,
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

/// The numbers of `.` and `..` among the entries that a first call gives.
fn first_dots<Fd: AsFd>(reader: &mut Reader<'_, Fd>) -> Option<[u64; 2]> {
    let (mut dot, mut dots) = (None, None);
    while dot.is_none() || dots.is_none() {
        let entry = reader.next()?.ok()?;
        entry.type_bits()?;
        match entry.name().to_bytes() {
            b"." => dot = Some(entry.ino()),
            b".." => dots = Some(entry.ino()),
            _ => {}
        }
        if reader.is_buffer_empty() {
            break;
        }
    }
    Some([dot?, dots?])
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
