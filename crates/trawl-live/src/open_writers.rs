//! Files that may be changing without an event: open for writing, or mapped shared and writable.
//!
//! Found in `/proc`: what a process has open (`fd`, `fdinfo`) and mapped (`maps`, `map_files`). That
//! looks at every process, a few microseconds for each file that one has open for writing. A
//! snapshot made inside the kernel (BPF iterators over tasks' files and mappings) would be cheaper
//! and miss nothing that is passed on in between; [`open_writers`] is where it belongs, its answer
//! would be the same. It is not there yet.
//!
//! Not found: files that the kernel itself has open (loop devices, swap, exports), and those that a
//! descriptor under way in a socket holds.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_model::change::{FileSystemId, ObjectKey};
use trawl_model::time::Timestamp;
use trawl_sys::handle::{self, Use};

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
        for entry in fs::read_dir(folder.join("fd"))? {
            let name = entry?.file_name();
            let info = fs::read_to_string(folder.join("fdinfo").join(&name));
            if info.is_ok_and(|info| is_open_for_writing(&info)) {
                let link = folder.join("fd").join(&name);
                self.file(&link, process, OpenHow::Descriptor);
            }
        }
        // Lines of a process that has no memory of its own are none.
        for line in fs::read(folder.join("maps"))?.split(|byte| *byte == b'\n') {
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

/// Whether `/proc/PID/fdinfo/N` says so: the flags of open(2) in octal.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_fdinfo.5.html>
fn is_open_for_writing(info: &str) -> bool {
    const ACCESS_MODE: u32 = 3;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != 0)
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

    #[test]
    fn lines_are_read_as_the_manual_says() {
        assert!(is_open_for_writing(
            "pos:\t0\nflags:\t0100001\nmnt_id:\t19\n"
        ));
        assert!(is_open_for_writing("pos:\t0\nflags:\t02\n"));
        assert!(!is_open_for_writing("pos:\t0\nflags:\t0100000\n"));
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
