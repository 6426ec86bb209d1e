//! Finds files that may be changing without causing events: open for writing, or mapped shared and
//! writable.
//!
//! There are two methods. The kernel iterates over all open files and names those that may be
//! written, and reports which memories have changed since the last search (`kernel.rs`); then only
//! these are examined. If the kernel cannot be queried in this way, `/proc` shows the files that
//! each process has open (`fd`) and mapped (`maps`, `map_files`), which takes a microsecond for
//! each open file (`proc.rs`). Both methods give the same result.
//!
//! Not found: files that the kernel itself has open (loop devices, swap, exports), and files whose
//! descriptor is in transit in a socket.

mod btf;
mod kernel;
mod proc;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::CString;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_model::change::{FileSystemId, ObjectKey};
use trawl_model::time::Timestamp;
use trawl_sys::device::DeviceNumber;
use trawl_sys::handle::{self, Use};
use trawl_sys::stat::shown_of_link;

use crate::error::Result;
use kernel::{Kernel, Mapper, Memory, OpenForWriting};

/// A file that a process may be writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The file.
    pub object: ObjectKey,
    /// A process that has it open or mapped.
    pub process: u32,
    /// How.
    pub how: OpenHow,
    /// Attributes that show whether it changed since the last look.
    pub stamp: Stamp,
}

/// Attributes of a file; at least one of them differs after any change that an index would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Number of blocks of 512 bytes.
    pub blocks: u64,
    /// Time of the last change of the content.
    pub modified: Timestamp,
    /// Time of the last change of the inode. Two changes within one tick of the kernel's clock may
    /// have the same time.
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
    /// Through a memory mapping.
    Mapping,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenWriters {
    /// The files found, each once.
    pub files: Vec<OpenFile>,
    /// Processes that this one may not examine. If there are any, files may be missing.
    pub hidden: Vec<u32>,
}

/// A file system that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Id used in keys.
    pub file_system: FileSystemId,
    /// Device number of its files (`st_dev`). A file system with several, such as btrfs with its
    /// subvolumes, is given once for each.
    pub device: u64,
}

/// A repeatable search for files that may be changing.
#[derive(Debug)]
pub struct WriterSearch {
    kernel: Option<Kernel>,
    /// Writable file mappings of each memory, with the change number at which they were read.
    mapped: HashMap<Memory, (u32, Vec<Range<u64>>)>,
}

/// The search method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMethod {
    /// The kernel names the files.
    Kernel,
    /// `/proc` shows the files that processes have open.
    Proc,
}

/// Maximum number of passes that look for files whose descriptor had changed.
const PASSES_MOST: usize = 5;

impl Default for WriterSearch {
    fn default() -> Self {
        WriterSearch::new()
    }
}

impl WriterSearch {
    /// Uses the better available method; determining it takes some milliseconds.
    #[must_use]
    pub fn new() -> WriterSearch {
        WriterSearch {
            kernel: Kernel::load(),
            mapped: HashMap::new(),
        }
    }

    /// Uses `/proc` only.
    #[must_use]
    pub fn through_proc() -> WriterSearch {
        WriterSearch {
            kernel: None,
            mapped: HashMap::new(),
        }
    }

    /// Returns the search method.
    #[must_use]
    pub fn way(&self) -> SearchMethod {
        match self.kernel {
            Some(_) => SearchMethod::Kernel,
            None => SearchMethod::Proc,
        }
    }

    /// Searches all processes for files of these file systems.
    ///
    /// # Errors
    /// Fails if `/proc` cannot be read at all.
    pub fn look(&mut self, searched: &[Searched]) -> Result<OpenWriters> {
        if let Some(found) = self.ask_kernel(searched) {
            return Ok(found.into());
        }
        let mut found = FoundWriters::of(searched);
        proc::look(&mut found)?;
        Ok(found.into())
    }

    fn ask_kernel<'s>(&mut self, searched: &'s [Searched]) -> Option<FoundWriters<'s>> {
        let kernel = self.kernel.as_ref()?;
        let mut found = FoundWriters::of(searched);
        found.follow_held(kernel)?;
        let before = std::mem::take(&mut self.mapped);
        for mapper in kernel.mappers()? {
            let known = before.get(&mapper.memory);
            let known = known.filter(|(changes, _)| Some(*changes) == mapper.changes);
            let ranges = match known {
                Some((_, ranges)) => ranges.clone(),
                None => match proc::written(&folder(mapper.task)) {
                    Ok(ranges) => ranges,
                    Err(error) => {
                        found.failed(mapper.task, &error);
                        continue;
                    }
                },
            };
            for range in &ranges {
                found.mapping(&folder(mapper.task), mapper.task, range);
            }
            self.keep(&mapper, ranges);
        }
        Some(found)
    }

    /// Remembers a memory's mappings. The change number was read before the mappings, so a change
    /// in between leads to another number.
    fn keep(&mut self, mapper: &Mapper, ranges: Vec<Range<u64>>) {
        if let Some(changes) = mapper.changes {
            self.mapped.insert(mapper.memory, (changes, ranges));
        }
    }
}

/// Returns the directory of a task in `/proc`.
fn folder(task: u32) -> PathBuf {
    Path::new("/proc").join(task.to_string())
}

/// The results so far.
struct FoundWriters<'s> {
    searched: &'s [Searched],
    files: HashMap<ObjectKey, OpenFile>,
    hidden: BTreeSet<u32>,
}

impl From<FoundWriters<'_>> for OpenWriters {
    fn from(found: FoundWriters<'_>) -> OpenWriters {
        OpenWriters {
            files: found.files.into_values().collect(),
            hidden: found.hidden.into_iter().collect(),
        }
    }
}

impl<'s> FoundWriters<'s> {
    fn of(searched: &'s [Searched]) -> FoundWriters<'s> {
        FoundWriters {
            searched,
            files: HashMap::new(),
            hidden: BTreeSet::new(),
        }
    }

    /// Records a process that may not be examined; one that has ended hides nothing.
    fn failed(&mut self, process: u32, error: &io::Error) {
        if error.kind() == io::ErrorKind::PermissionDenied {
            self.hidden.insert(process);
        }
    }

    /// Records the files that the kernel reports as open for writing, through the tasks'
    /// descriptors. If a descriptor now leads elsewhere, the file was closed, which causes an
    /// event, or its descriptor was passed on; so the file is looked for again.
    fn follow_held(&mut self, kernel: &Kernel) -> Option<()> {
        let mut settled: HashSet<u64> = HashSet::new();
        let mut elsewhere: HashMap<OpenForWriting, (u64, u64)> = HashMap::new();
        let mut wanted: Option<HashSet<u64>> = None;
        for pass in 1..=PASSES_MOST {
            let mut missing = HashMap::new();
            for held in kernel.held()? {
                let file = held.inode;
                let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted.contains(&file));
                if !is_wanted || settled.contains(&file) || !self.may_have(held.device) {
                    continue;
                }
                let link = folder(held.task).join("fd").join(held.fd.to_string());
                let is_settled = match self.file(&link, held.task, OpenHow::Descriptor) {
                    // The same result twice: the file system shows other numbers than its own.
                    Ok(shown) => {
                        held.is_shown_as(shown) || elsewhere.insert(held, shown) == Some(shown)
                    }
                    Err(error) => {
                        self.failed(held.task, &error);
                        false
                    }
                };
                match is_settled {
                    true => _ = settled.insert(file),
                    false => _ = missing.insert(file, held.task),
                }
            }
            missing.retain(|file, _| !settled.contains(file));
            if missing.is_empty() {
                break;
            }
            if pass == PASSES_MOST {
                self.hidden.extend(missing.values());
            }
            wanted = Some(missing.into_keys().collect());
        }
        Some(())
    }

    /// Returns true if a file with this device number may be on a searched file system. A file
    /// system without a block device may show other numbers in stat(2), as btrfs does, and always
    /// matches.
    fn may_have(&self, device: DeviceNumber) -> bool {
        let mut searched = self.searched.iter();
        let may_be = |searched: &Searched| {
            let searched = DeviceNumber::from_u64(searched.device);
            searched.major == 0 || searched == device
        };
        device.major == 0 || searched.any(may_be)
    }

    /// Records the file of a writable mapping.
    fn mapping(&mut self, folder: &Path, process: u32, range: &Range<u64>) {
        let name = format!("{:x}-{:x}", range.start, range.end);
        let link = folder.join("map_files").join(name);
        // Unmapping closes the file, which causes an event.
        if let Err(error) = self.file(&link, process, OpenHow::Mapping) {
            self.failed(process, &error);
        }
    }

    /// Records the file that a link in `/proc` leads to, if it is on a searched file system;
    /// returns its device and inode number.
    fn file(&mut self, link: &Path, process: u32, how: OpenHow) -> io::Result<(u64, u64)> {
        let shown = shown_of_link(link)?;
        let searched = self.searched.iter().find(|one| one.device == shown.0);
        let Some(searched) = searched else {
            return Ok(shown);
        };
        let found = fs::metadata(link)?;
        let shown = (found.dev(), found.ino());
        if shown.0 != searched.device || !found.is_file() {
            return Ok(shown);
        }
        let name = CString::new(link.as_os_str().as_encoded_bytes()).unwrap_or_default();
        let Ok(handle) = handle::of_path_followed(&name, Use::Compare) else {
            return Ok(shown);
        };
        let object = ObjectKey::new(searched.file_system, handle.kind(), handle.bytes());
        self.files.entry(object.clone()).or_insert(OpenFile {
            object,
            process,
            how,
            stamp: Stamp::of(&found),
        });
        Ok(shown)
    }
}

impl OpenForWriting {
    fn is_shown_as(&self, (dev, ino): (u64, u64)) -> bool {
        ino == self.ino && (self.device.major == 0 || dev == self.device.as_u64())
    }
}
