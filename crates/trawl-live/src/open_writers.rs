//! Files that may be changing without an event: open for writing, or mapped shared and writable.
//!
//! Found in `/proc`: what a process has open (`fd`) and mapped (`maps`, `map_files`). That looks at
//! every process, a microsecond for each file that one has open. A
//! snapshot made inside the kernel (BPF iterators over tasks' files and mappings) would be cheaper
//! and miss nothing that is passed on in between; [`open_writers`] is where it belongs, its answer
//! would be the same. It is not there yet.
//!
//! Not found: files that the kernel itself has open (loop devices, swap, exports), and those that a
//! descriptor under way in a socket holds.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_model::change::{FileSystemId, ObjectKey};
use trawl_model::time::Timestamp;
use trawl_sys::handle::{self, Use};
use trawl_sys::mapping::{self, Mapped};

use crate::error::{LiveError, Result};

/// A file that somebody may be writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The file.
    pub object: ObjectKey,
    /// A process that has it open or mapped.
    pub process: u32,
    /// How.
    pub how: OpenHow,
    /// What tells whether it changed since it was looked at before.
    pub stamp: Stamp,
}

/// Attributes of a file, of which one is another after any change that an index would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Size.
    pub size_bytes: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Last change of content.
    pub modified: Timestamp,
    /// Last change of anything. Two changes within one tick of the kernel's clock may have one.
    pub changed: Timestamp,
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Stamp {
        let time = |secs, nanos: i64| Timestamp {
            secs,
            nanos: u32::try_from(nanos).unwrap_or(0),
        };
        Stamp {
            size_bytes: found.size(),
            blocks: found.blocks(),
            modified: time(found.mtime(), found.mtime_nsec()),
            changed: time(found.ctime(), found.ctime_nsec()),
        }
    }
}

/// How a file may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// Through a descriptor.
    Descriptor,
    /// Through memory.
    Mapping,
}

/// What was found, and what could not be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenWriters {
    /// Each file once.
    pub files: Vec<OpenFile>,
    /// Processes that this one may not look at. Where there are any, files may be missing.
    pub hidden: Vec<u32>,
}

/// A file system whose files are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The id that keys get.
    pub file_system: FileSystemId,
    /// The device that its files are on (`st_dev`). A file system with several, such as btrfs with
    /// its subvolumes, is given once for each.
    pub device: u64,
}

/// Looks at all processes for files of these file systems.
///
/// # Errors
/// Where `/proc` cannot be read at all.
pub fn open_writers(searched: &[Searched]) -> Result<OpenWriters> {
    let read = |source| LiveError::Read {
        path: b"/proc".to_vec(),
        source,
    };
    let mut search = Search {
        searched,
        files: HashMap::new(),
    };
    let mut hidden = Vec::new();
    for entry in fs::read_dir("/proc").map_err(read)?.flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if search.process(&entry.path(), process).is_err_and(is_hidden) {
            hidden.push(process);
        }
    }
    Ok(OpenWriters {
        files: search.files.into_values().collect(),
        hidden,
    })
}

/// A process that ended meanwhile hides nothing.
#[allow(clippy::needless_pass_by_value, reason = "it ends here")]
fn is_hidden(error: io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

struct Search<'a> {
    searched: &'a [Searched],
    files: HashMap<ObjectKey, OpenFile>,
}

impl Search<'_> {
    fn process(&mut self, folder: &Path, process: u32) -> io::Result<()> {
        let fds = folder.join("fd");
        for entry in fs::read_dir(&fds)? {
            let entry = entry?;
            if entry
                .metadata()
                .is_ok_and(|link| is_open_for_writing(&link))
            {
                self.file(&fds.join(entry.file_name()), process, OpenHow::Descriptor);
            }
        }
        let maps = File::open(folder.join("maps"))?;
        let mut from = 0;
        loop {
            match mapping::next_written(&maps, from).map_err(io::Error::other)? {
                Mapped::At(range) => {
                    let name = format!("{:x}-{:x}", range.start, range.end);
                    let link = folder.join("map_files").join(name);
                    self.file(&link, process, OpenHow::Mapping);
                    from = range.end.max(from + 1);
                }
                Mapped::None => return Ok(()),
                Mapped::Unknown => return self.listed_maps(maps, folder, process),
            }
        }
    }

    /// The same from the text that a kernel of before 6.11 has.
    fn listed_maps(&mut self, mut maps: File, folder: &Path, process: u32) -> io::Result<()> {
        let mut text = Vec::new();
        maps.read_to_end(&mut text)?;
        // Lines of a process that has no memory of its own are none.
        for line in text.split(|byte| *byte == b'\n') {
            if let Some(range) = shared_writable(line) {
                let link = folder.join("map_files").join(range);
                self.file(&link, process, OpenHow::Mapping);
            }
        }
        Ok(())
    }

    /// Takes the file that a link in `/proc` leads to, if it is of a file system that is searched.
    fn file(&mut self, link: &Path, process: u32, how: OpenHow) {
        // What the link shows tells files from sockets and pipes without asking a file system.
        let is_file = fs::read_link(link).is_ok_and(|shown| shown.is_absolute());
        let Some(found) = is_file.then(|| fs::metadata(link).ok()).flatten() else {
            return;
        };
        let searched = self.searched.iter().find(|one| one.device == found.dev());
        let name = CString::new(link.as_os_str().as_encoded_bytes()).unwrap_or_default();
        let Some((searched, handle)) =
            searched.zip(handle::of_path_followed(&name, Use::Compare).ok())
        else {
            return;
        };
        let object = ObjectKey::new(searched.file_system, handle.kind(), handle.bytes());
        self.files.entry(object.clone()).or_insert(OpenFile {
            object,
            process,
            how,
            stamp: Stamp::of(&found),
        });
    }
}

/// Whether a link in `/proc/PID/fd` is of a file that is open for writing: its own mode says so (as
/// `ls -l` shows it), for less than reading `fdinfo` costs.
///
/// Source: `tid_fd_update_inode` in the kernel's `fs/proc/fd.c`.
fn is_open_for_writing(link: &fs::Metadata) -> bool {
    const OWNER_WRITES: u32 = 0o200;
    link.mode() & OWNER_WRITES != 0
}

/// The range of a mapping that writes to its file, as `map_files` spells it.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html>
fn shared_writable(line: &[u8]) -> Option<&str> {
    let mut fields = line.split(|byte| *byte == b' ');
    let range = fields.next()?;
    let rights = fields.next()?;
    let is_file = fields.nth(2)? != b"0";
    let writes = rights.get(1) == Some(&b'w') && rights.get(3) == Some(&b's');
    (writes && is_file)
        .then(|| std::str::from_utf8(range).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn descriptors_are_as_they_were_opened() {
        let open = |options: &mut fs::OpenOptions| options.open("/dev/null").unwrap();
        let written = open(File::options().read(true).write(true));
        let appended = open(File::options().append(true));
        let read = open(File::options().read(true));
        let is_written = |file: &File| {
            let link = format!("/proc/self/fd/{}", file.as_raw_fd());
            is_open_for_writing(&fs::symlink_metadata(link).unwrap())
        };
        assert!(is_written(&written) && is_written(&appended));
        assert!(!is_written(&read));
    }

    #[test]
    fn lines_are_read_as_the_manual_says() {
        let line = b"7f0c-7f0d rw-s 00000000 08:02 173521 /home/a file";
        assert_eq!(shared_writable(line), Some("7f0c-7f0d"));
        assert_eq!(
            shared_writable(b"7f0c-7f0d rw-p 00000000 08:02 173521 /f"),
            None
        );
        assert_eq!(
            shared_writable(b"7f0c-7f0d r--s 00000000 08:02 173521 /f"),
            None
        );
        assert_eq!(shared_writable(b"7f0c-7f0d rw-s 00000000 00:00 0 "), None);
        assert_eq!(shared_writable(b""), None);
    }
}
