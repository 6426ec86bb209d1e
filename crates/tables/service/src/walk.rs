//! Walks the file system as it is now.
//!
//! Directories are visited depth first, in the order in which they are listed, which is that of
//! programs' walks; so even a full table has what the program needs next. Symbolic links are not
//! followed, and other file systems are not entered.
//!
//! Where a [`KnownNames`] has the names in a directory, the directory is not opened: its subdirectories
//! are looked at by their paths, and the known names are believed if these are the same directories
//! and nothing is mounted there. So statx(2) results in a table are always the present ones.

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

use crate::known::{KnownNames, Name, Names, Sign, WantedDirectory};
use crate::search_path;
use crate::source::{Begun, Demand, Source};

/// Directories deeper below the requested one are not listed: each level may hold a descriptor.
const DEPTH_MAX: u32 = 256;
const BUFFER_BYTES: usize = 32 << 10;
/// A block of an unsorted directory, anywhere in which `.` may be.
const DOTS_BYTES: usize = 16 << 10;

/// File systems that are synthetic, or on which an unlisted name may exist in another case.
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

/// File systems on which the inode numbers of a name and of its object are the same. (Btrfs
/// subvolumes are other devices.) On an overlay, for example, they may differ.
const SAME_NUMBERS: [u64; 4] = [magic::EXT, magic::XFS, magic::BTRFS, magic::TMPFS];

/// A walk of the file system as it is now.
#[derive(Clone, Debug, Default)]
pub struct LocalWalk {
    known: Option<Arc<dyn KnownNames>>,
}

impl LocalWalk {
    /// Makes a walk that looks at directories with known names instead of listing them.
    pub fn knowing(known: Arc<dyn KnownNames>) -> LocalWalk {
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
        // If every name is looked at anyway, nothing can be saved.
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
        let place = TableDirectory {
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
            // A directory that cannot be opened or read stays unlisted, and so unknown.
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

/// A directory, opened on first use.
struct Dir {
    opened: OnceCell<OwnedFd>,
    /// Its parent, and its name there; `None` for the top.
    above: Option<(Rc<Dir>, CString)>,
    /// Path relative to the top.
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

/// A directory to be listed.
struct Pending {
    dir: Rc<Dir>,
    at: TableDirectory,
}

/// The place of a directory in the table, and what is known about it.
struct TableDirectory {
    number: u32,
    depth: u32,
    /// For directories on the way to where listing begins, and for that one: the rest of the way.
    from: Option<Vec<Vec<u8>>>,
    stat: Option<Stat>,
    /// Its state when its names became known.
    sign: Option<Sign>,
    /// Whether names in it can be reached, if that was determined.
    search: Option<Search>,
    /// Inode numbers of the directory and its parent.
    dots: Option<[u64; 2]>,
}

struct Walk<'a> {
    demand: &'a Demand,
    dev: u64,
    top: Rc<Dir>,
    is_superuser: bool,
    /// May know the names in directories.
    known: Option<Box<dyn Names>>,
    builder: Builder,
    names: ReadBuffer,
    targets: TargetBuffer,
    attributes: xattr::Reader,
    /// A stack: the next one is last.
    pending: Vec<Pending>,
    /// Whether a directory did not fit: listing later ones would leave a gap.
    is_full: bool,
}

/// The answers about one name.
#[derive(Default)]
struct NameAnswers {
    stat: Option<Stat>,
    link: Option<Vec<u8>>,
    is_bare: bool,
    /// For a directory that was examined: whether names in it can be reached.
    search: Option<Search>,
}

impl NameAnswers {
    /// Returns the device number, if it is a directory.
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

/// A name with the answers about it.
struct Looked {
    named: Named,
    asked: NameAnswers,
    is_way: bool,
}

/// The content of a directory.
struct Contents {
    names: Vec<Looked>,
    search: Search,
}

/// `STATX_ATTR_ENCRYPTED`
const ENCRYPTED: u64 = 0x800;
/// `DT_DIR`
const DIRECTORY: u8 = 4;

impl Walk<'_> {
    /// Lists a directory. On the way to where listing begins, names before the way are not looked
    /// at.
    fn list(&mut self, dir: &Rc<Dir>, mut at: TableDirectory) -> Result<(), Errno> {
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

    fn is_too_much(&self, names: &[Named], at: &TableDirectory) -> bool {
        let length = self.builder.len() + names.len();
        length > self.demand.entries_max as usize && at.from.is_none()
    }

    fn leave_off(&mut self, at: &TableDirectory) {
        self.is_full = true;
        self.builder.leave_off(at.number);
    }

    /// Looks at the names in an open directory.
    fn look_at(&mut self, opened: &OwnedFd, names: Vec<Named>, way: Option<&[u8]>) -> Contents {
        let _ = self.attributes.enter(opened);
        let looked = self.each(names, way, |walk, named| Some(walk.ask(opened, named)));
        // Even looking at `.` needs search permission.
        let search = match stat_at(opened, c".") {
            Ok(_) => Search::Allowed,
            Err(_) => Search::Unknown,
        };
        Contents {
            names: looked.unwrap_or_default(),
            search,
        }
    }

    /// Applies `ask` to each name from the way on.
    fn each(
        &mut self,
        names: Vec<Named>,
        way: Option<&[u8]>,
        mut ask: impl FnMut(&mut Self, &Named) -> Option<NameAnswers>,
    ) -> Option<Vec<Looked>> {
        let is_there = |way: &&[u8]| names.iter().any(|named| named.name.to_bytes() == *way);
        let way = way.filter(is_there);
        let mut is_before = way.is_some();
        let look = |named: Named| {
            let is_way = way == Some(named.name.to_bytes());
            is_before &= !is_way;
            let asked = match is_before {
                true => NameAnswers::default(),
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

    /// Adds a directory's content to the table.
    fn put(&mut self, dir: &Rc<Dir>, at: TableDirectory, found: Contents) {
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
                let at = TableDirectory {
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

    /// Returns the names in a directory, if they are known.
    fn known_names(&mut self, dir: &Dir, at: &TableDirectory) -> Option<Vec<Named>> {
        let known = self.known.as_mut()?;
        let stat = at.stat.as_ref()?;
        // Without the key its names are different, and no time reveals that.
        if stat.attributes & ENCRYPTED != 0 {
            return None;
        }
        let path = match (&self.demand.path[..], &dir.path[..]) {
            (path, b"") => path.to_vec(),
            (b"/", below) => [b"/", below].concat(),
            (path, below) => [path, b"/", below].concat(),
        };
        let names = known.names(&WantedDirectory {
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

    /// Returns the inode numbers of `.` and `..`, if they are among the first entries, as on all
    /// file systems in question; `None` if entry types are not reported.
    fn read_dots(&self, opened: &OwnedFd) -> Option<[u64; 2]> {
        let mut names = ReadBuffer::new(DOTS_BYTES);
        let dots = first_dots(&mut names.read(opened.as_fd()));
        // The directory may be listed later.
        rustix::fs::seek(opened, rustix::fs::SeekFrom::Start(0)).ok()?;
        dots
    }

    /// Looks at the directories among known names. Returns `None` if one is another directory now,
    /// or if something is mounted there: then the directory's inode number differs from that of the
    /// name.
    fn look_at_known(
        &mut self,
        dir: &Dir,
        at: &TableDirectory,
        names: Vec<Named>,
        way: Option<&[u8]>,
    ) -> Option<Contents> {
        // The known names may have been listed with other permissions.
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
        Some(Contents { names, search })
    }

    /// Returns whether the kernel would let this process list a directory; always true for the
    /// superuser.
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

    /// Looks at a known name, if it is a directory.
    fn check(&self, dir: &Dir, named: &Named) -> Option<NameAnswers> {
        let name = named.name.to_bytes();
        if named.kind != DIRECTORY || matches!(name, b"." | b"..") {
            return Some(NameAnswers::default());
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
        (is_it && of.is_mount_root() == Some(false)).then(|| NameAnswers {
            stat: Some(stat),
            search: Some(search),
            ..NameAnswers::default()
        })
    }

    fn push(&mut self, named: &Named, asked: &NameAnswers) -> NewEntry {
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

    fn ask(&mut self, opened: &OwnedFd, named: &Named) -> NameAnswers {
        let is_dot = matches!(named.name.to_bytes(), b"." | b"..");
        let is_wanted = self.demand.level >= Level::Stats || matches!(named.kind, 0 | 4);
        let mut asked = NameAnswers::default();
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

    /// Records the errors for attributes that a file of this kind lacks.
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

/// Returns the inode numbers of `.` and `..` among the entries of a first call.
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

/// Converts to the result that a program's own statx(2) would have.
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
        attributes: of.raw_attributes,
        attributes_mask: of.attributes_mask,
        mnt_id: of.mnt_id,
        atime: time(of.atime),
        mtime: time(of.mtime),
        ctime: time(of.ctime),
        btime: of.btime.map(time).unwrap_or_default(),
        mode: of.mode,
        uid: of.uid.0,
        gid: of.gid.0,
        blksize: of.blksize,
        mask: BASIC_STATS | btime | mnt_id,
    }
}
