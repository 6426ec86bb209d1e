//! The opener of local files and of files in mounted trees.
//!
//! A look at a member opens it only if the path's directories and inodes are in memory
//! (`RESOLVE_CACHED`), and only on file systems that no other machine serves, because elsewhere
//! opening itself asks the server. Whether the first bytes are in memory is asked with
//! `RWF_NOWAIT`. A fetch opens the file, has the kernel read ahead, and reads the first bytes.
//!
//! A place is a directory's: its block device, or its mount if it has none. A file that is itself a
//! mount point counts to its directory's place, which costs time at most.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use trawl_model::FileType;
use trawl_sys::ahead::{self, Links};
use trawl_sys::filesystem::{self, magic};
use trawl_sys::stat::{Stat, mode_and_size, stat_at_followed, stat_fd};
use trawl_sys::{CWD, Errno, SysError};

use crate::member::{Op, Problem};
use crate::opener::{Expected, Fetched, Look, Opener, PlaceId};
use crate::source::Found;

/// How many bytes of a file a fetch waits for; the kernel goes on with the others.
const FIRST_BYTES: u64 = 128 << 10;

/// Smallest page of any processor, in bytes: what the kernel reads at once, at least.
const PAGE: u64 = 4096;

/// How long it is remembered where a directory lies, and what kind a mount has.
const MEMORY: Duration = Duration::from_secs(1);

/// Maximum number of mounts that are remembered.
const MOUNTS_MAX: usize = 256;

/// Opens local files and files of mounted trees.
///
/// A directory is a problem (`EISDIR`), as it is for cat(1). FIFOs and devices are opened without
/// waiting for a writer and are delivered unread; a FIFO without a writer is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local {
    contents: Contents,
}

/// Maximum size of a file whose content is delivered with it.
const CONTENT_BYTES: u64 = 64 << 10;

/// Whether contents are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Contents {
    #[default]
    Omitted,
    Delivered,
}

/// Where the files of a directory lie.
#[derive(Clone, Debug)]
struct Site {
    place: PlaceId,
    /// Whether looking at files may open them.
    is_local: bool,
    /// Whether all content is in memory always.
    is_memory: bool,
    /// Major and minor number of the block device.
    device: Option<(u32, u32)>,
}

struct Remembered {
    directory: Vec<u8>,
    site: Site,
    until: Instant,
}

thread_local! {
    static LAST: RefCell<Option<Remembered>> = const { RefCell::new(None) };
    /// Mounts by mount id and device, which a file system with several devices has.
    static MOUNTS: RefCell<HashMap<(u64, u64), (Site, Instant)>> = RefCell::default();
    /// Whether a device's heads have to move, by its number.
    static DISKS: RefCell<HashMap<(u32, u32), bool>> = RefCell::default();
}

fn directory_of(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|byte| *byte == b'/') {
        Some(0) => b"/",
        Some(at) => &name[..at],
        None => b".",
    }
}

/// Returns where the files of this member's directory lie.
fn site_of(name: &[u8]) -> Site {
    let directory = directory_of(name);
    let now = Instant::now();
    LAST.with_borrow_mut(|last| match last {
        Some(known) if known.directory == directory && now < known.until => known.site.clone(),
        _ => {
            let site = site(directory);
            *last = Some(Remembered {
                directory: directory.to_vec(),
                site: site.clone(),
                until: now + MEMORY,
            });
            site
        }
    })
}

fn site(directory: &[u8]) -> Site {
    let unknown = Site {
        place: PlaceId::Mount(0),
        is_local: false,
        is_memory: false,
        device: None,
    };
    let Ok(path) = CString::new(directory) else {
        return unknown;
    };
    let Ok(stat) = stat_at_followed(CWD, &path) else {
        return unknown;
    };
    let mount = (stat.mnt_id, stat.dev.as_u64());
    let now = Instant::now();
    let known = MOUNTS.with_borrow(|all| all.get(&mount).cloned());
    if let Some((site, until)) = known
        && now < until
    {
        return site;
    }
    let details = filesystem::of_path(Path::new(OsStr::from_bytes(directory)));
    let kind = details.map(|details| details.system.magic);
    let site = site_from(&stat, kind.unwrap_or(0));
    MOUNTS.with_borrow_mut(|all| {
        if all.len() >= MOUNTS_MAX {
            all.clear();
        }
        all.insert(mount, (site.clone(), now + MEMORY));
    });
    site
}

fn site_from(stat: &Stat, kind: u64) -> Site {
    let is_memory = matches!(kind, magic::TMPFS | magic::RAMFS);
    let is_known =
        filesystem::name(kind).is_some_and(|name| !filesystem::is_shared(name.as_bytes()));
    let has_device = stat.dev.major != 0;
    let is_local = has_device || is_memory || is_known && kind != magic::AUTOFS;
    Site {
        place: match has_device || is_memory || kind == magic::BTRFS {
            true => PlaceId::Device(stat.dev.as_u64()),
            false => PlaceId::Mount(stat.mnt_id),
        },
        is_local,
        is_memory,
        device: has_device.then_some((stat.dev.major, stat.dev.minor)),
    }
}

impl Site {
    /// Returns whether the heads of the files' device have to move; for a partition, its disk's.
    /// Asked only where a file has to be fetched, and once for a device.
    ///
    /// Source: <https://docs.kernel.org/block/queue-sysfs.html>
    fn is_rotating(&self) -> bool {
        let Some(device @ (major, minor)) = self.device else {
            return false;
        };
        DISKS.with_borrow_mut(|disks| {
            if disks.len() >= MOUNTS_MAX {
                disks.clear();
            }
            *disks.entry(device).or_insert_with(|| {
                ["queue", "../queue"].iter().any(|queue| {
                    let path = format!("/sys/dev/block/{major}:{minor}/{queue}/rotational");
                    std::fs::read(path).is_ok_and(|text| text.starts_with(b"1"))
                })
            })
        })
    }
}

fn problem(found: &Found, op: Op, source: impl Into<io::Error>) -> Problem {
    Problem {
        name: found.name.clone(),
        op,
        source: source.into(),
    }
}

fn c_path(found: &Found) -> Result<CString, Problem> {
    let path = CString::new(found.name.as_slice());
    path.map_err(|_| problem(found, Op::Open, io::ErrorKind::InvalidInput))
}

/// Opens the file if that needs no waiting; `None` if it does, or may.
fn open_if_cached(path: &std::ffi::CStr) -> Result<Option<File>, SysError> {
    match ahead::open_cached(path, Links::Refuse) {
        Err(error) if error.errno == Errno::LOOP => {}
        other => return other,
    }
    // A link may lead to another file system: see where, before it is opened there.
    let Some(target) = ahead::reach_cached(path)? else {
        return Ok(None);
    };
    let site = site_from(&stat_fd(&target)?, filesystem::of_fd(&target)?.magic);
    match site.is_local {
        true => ahead::open_cached(path, Links::Follow),
        false => Ok(None),
    }
}

/// Facts about an open file.
enum Kind {
    Regular(u64),
    Stream,
}

fn kind_of(found: &Found, file: &File) -> Result<Kind, Problem> {
    let known = mode_and_size(file).map_err(|error| problem(found, Op::Open, error));
    let (mode, size) = known?;
    match FileType::from_mode(mode) {
        FileType::Regular => Ok(Kind::Regular(size)),
        FileType::Directory => {
            let error = io::Error::from_raw_os_error(Errno::ISDIR.0);
            Err(problem(found, Op::Fetch, error))
        }
        _ => Ok(Kind::Stream),
    }
}

fn ready(
    found: &Found,
    file: File,
    kind: &Kind,
    content: Option<Vec<u8>>,
) -> Result<Fetched, Problem> {
    // The mode means nothing for a regular file, and nobody sees it if the content is used.
    if content.is_none() {
        ahead::let_it_block(&file).map_err(|error| problem(found, Op::Open, error))?;
    }
    Ok(Fetched {
        is_stream: matches!(kind, Kind::Stream),
        content,
        ..Fetched::of(file, 0)
    })
}

/// Returns whether the first bytes are in memory; unknown is no.
fn is_cached(file: &File, site: &Site, size: u64) -> bool {
    let mut first = [0; 1];
    let mut has = |at| matches!(ahead::read_cached(file, &mut first, at), Ok(Some(_)));
    size == 0 || site.is_memory || has(0) && (size <= PAGE || size > FIRST_BYTES || has(size - 1))
}

/// Returns the content of a file of this size if all of it is in memory.
fn content(file: &File, size: u64) -> Option<Vec<u8>> {
    if size == 0 || size > CONTENT_BYTES {
        return None;
    }
    ahead::whole_if_cached(file, size as usize).ok()?
}

/// Returns the member if it is in memory, and otherwise where it lies.
fn try_cached(
    found: &Found,
    site: &Site,
    contents: Contents,
) -> Result<Result<Fetched, Expected>, Problem> {
    let mut expected = Expected {
        bytes: found.attributes.map(|known| known.size),
        extent: None,
    };
    if !site.is_local {
        return Ok(Err(expected));
    }
    let path = c_path(found)?;
    let opened = open_if_cached(&path).map_err(|error| problem(found, Op::Open, error))?;
    let Some(file) = opened else {
        // The inode has to be read first: its number is the best guess of where it lies.
        if site.is_rotating() {
            expected.extent = found.attributes.map(|known| known.ino);
        }
        return Ok(Err(expected));
    };
    let kind = kind_of(found, &file)?;
    let size = match kind {
        Kind::Regular(size) => size,
        Kind::Stream => 0,
    };
    let content = match contents {
        Contents::Delivered => content(&file, size),
        Contents::Omitted => None,
    };
    if content.is_none() && !is_cached(&file, site, size) {
        expected.bytes = Some(size);
        if site.is_rotating() {
            expected.extent = ahead::first_extent(&file).ok().flatten();
        }
        return Ok(Err(expected));
    }
    let mut fetched = ready(found, file, &kind, content)?;
    fetched.was_cached = true;
    Ok(Ok(fetched))
}

fn look(found: &Found, contents: Contents) -> Look {
    let site = site_of(&found.name);
    match try_cached(found, &site, contents) {
        Ok(Ok(fetched)) => Look::Here(site.place, Ok(fetched)),
        Ok(Err(expected)) => Look::Away(site.place, expected),
        Err(problem) => Look::Here(site.place, Err(problem)),
    }
}

fn fetch(found: &Found, ahead_bytes: u64, contents: Contents) -> Result<Fetched, Problem> {
    let path = c_path(found)?;
    let file = match ahead::open_without_blocking(&path) {
        // Another process holds a lease: opening it has to wait, as everybody does.
        Err(error) if error.errno == Errno::WOULDBLOCK => {
            File::open(OsStr::from_bytes(&found.name))
        }
        other => other.map_err(io::Error::from),
    };
    let file = file.map_err(|error| problem(found, Op::Open, error))?;
    let kind = kind_of(found, &file)?;
    let Kind::Regular(size) = kind else {
        return ready(found, file, &kind, None);
    };
    let bytes = size.min(ahead_bytes);
    if bytes > FIRST_BYTES {
        // Only a hint: some file systems do not take it.
        let _ = ahead::will_need(&file, 0, bytes);
    }
    let content = match contents {
        // A file that seems empty may have content, as in /proc.
        Contents::Delivered if bytes == size && (1..=CONTENT_BYTES).contains(&size) => {
            read_whole(&file, size)
        }
        _ => {
            let first = bytes.min(FIRST_BYTES).max(u64::from(size > 0));
            ahead::read_through(&file, 0, first).map(|()| None)
        }
    };
    let content = content.map_err(|error| problem(found, Op::Fetch, error))?;
    let mut fetched = ready(found, file, &kind, content)?;
    fetched.ahead_bytes = bytes;
    Ok(fetched)
}

impl Local {
    /// Returns an opener that also delivers the content of small files. For consumers that read
    /// whole members: a small cached file takes no further system call.
    pub fn with_contents() -> Local {
        Local {
            contents: Contents::Delivered,
        }
    }
}

impl Opener for Local {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        Some(site_of(&found.name).place)
    }

    fn cached(&self, found: &Found) -> Option<Result<Fetched, Problem>> {
        match look(found, self.contents) {
            Look::Here(_, outcome) => Some(outcome),
            Look::Away(..) => None,
        }
    }

    fn look(&self, found: &Found) -> Option<Look> {
        Some(look(found, self.contents))
    }

    fn fetch(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem> {
        fetch(found, ahead_bytes, self.contents)
    }
}

/// Reads the content of a file of this size; `None` if it has another size by now.
fn read_whole(file: &File, size: u64) -> io::Result<Option<Vec<u8>>> {
    let size = size as usize;
    // One byte more shows that the file has grown.
    let mut buffer = vec![0; size + 1];
    let count = ahead::read_up_to(file, &mut buffer, 0, size)?;
    buffer.truncate(size);
    Ok((count == size).then_some(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    fn found(path: &std::path::Path) -> Found {
        Found::named(path.as_os_str().as_bytes())
    }

    #[test]
    fn a_file_just_written_is_cached_and_read_from_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"content").unwrap();
        let place = PlaceId::Device(std::fs::metadata(&path).unwrap().dev());
        match Local::default().look(&found(&path)) {
            Some(Look::Here(here, Ok(mut fetched))) => {
                let mut text = String::new();
                fetched.file.read_to_string(&mut text).unwrap();
                assert_eq!((text.as_str(), here), ("content", place));
            }
            other => eprintln!("skipped, because looking gives {other:?}"),
        }
        let mut fetched = Local::default().fetch(&found(&path), 4).unwrap();
        let mut text = String::new();
        fetched.file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), fetched.ahead_bytes), ("content", 4));
    }

    #[test]
    fn a_fetch_delivers_the_content_of_small_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let small = CONTENT_BYTES as usize;
        for (size, ahead, is_delivered) in [
            (7, 1 << 20, true),
            (7, 6, false),
            (small, 1 << 20, true),
            (small + 1, 1 << 20, false),
            (0, 1 << 20, false),
        ] {
            let content = b"0123456789abc".repeat(size / 13 + 1)[..size].to_vec();
            std::fs::write(&path, &content).unwrap();
            let mut fetched = Local::with_contents().fetch(&found(&path), ahead).unwrap();
            let delivered = fetched.content.take();
            assert_eq!(delivered.is_some(), is_delivered, "{size} {ahead}");
            assert!(delivered.is_none_or(|bytes| bytes == content));
            let mut read = Vec::new();
            fetched.file.read_to_end(&mut read).unwrap();
            assert!(read == content);
        }
        // It says that its size is 0.
        let status = Local::with_contents().fetch(&Found::named(*b"/proc/self/status"), 1 << 20);
        let mut text = String::new();
        status.unwrap().file.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("Name:"));
    }

    #[test]
    fn directories_vanished_files_and_fifos() {
        let dir = tempfile::tempdir().unwrap();
        let errno = |outcome: Result<Fetched, Problem>| outcome.unwrap_err().source.raw_os_error();
        let is_directory = Local::default().fetch(&found(dir.path()), 1);
        assert_eq!(errno(is_directory), Some(Errno::ISDIR.0));
        let gone = Local::default().fetch(&found(&dir.path().join("gone")), 1);
        assert_eq!(errno(gone), Some(Errno::NOENT.0));
        let fifo = dir.path().join("fifo");
        let made = trawl_testkit::oracle::command("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let mut fetched = Local::default().fetch(&found(&fifo), 1).unwrap();
        assert!(fetched.is_stream);
        assert_eq!(fetched.file.read(&mut [0; 1]).unwrap(), 0);
        assert!(Local::default().fetch(&Found::named(*b"a\0b"), 1).is_err());
    }

    #[test]
    fn directories_of_names() {
        let of = |name: &str| String::from_utf8_lossy(directory_of(name.as_bytes())).into_owned();
        assert_eq!([of("/a/b"), of("/a"), of("a")], ["/a", "/", "."]);
    }
}
