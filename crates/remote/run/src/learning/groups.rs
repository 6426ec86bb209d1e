//! Fetches the rest of a group once one of its files is opened: "Prefetching: once a file being read,
//! fetch the related files that will be accessed later" (Propeller, Table 1).
//!
//! Invariants: no call waits for a question about groups or for a fetch; what is fetched is bounded
//! ([`fetch_group`]), and opened by this process, as its user; nothing is read, so no access time
//! changes.

use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use trawl_apply::fetch_group;
use trawl_sys::file::found_at;
use trawl_sys::seccomp::InterceptedCall;

use super::calls::{Deed, OpenMode, deed, filter_of_opens};
use super::recorder::{KERNEL, place};
use super::{FILES_MAX, Watch, watched};
use crate::error::RunError;
use crate::notice::Tell;

/// Opened files that may wait until their groups are looked up; those beyond have nothing fetched.
const WAITING_MAX: usize = 256;

/// Knows which files belong together.
pub trait Together {
    /// Returns the paths of the other files of the group that the file at this path belongs to, those
    /// to be fetched first at the front; none if no group is known, or it is too large.
    fn others(&mut self, file: &[u8]) -> Vec<Vec<u8>>;
}

/// Runs a command, waits for it and for everything that it started, and returns its exit code. Once
/// a program opens a file for reading, the others of the file's group are read into the kernel's
/// cache. `together` makes what knows the groups, on a thread of its own.
///
/// # Errors
/// Fails if system calls cannot be intercepted here.
pub fn fetch_groups<T: Together>(
    words: &[OsString],
    tell: &Tell,
    together: impl FnOnce() -> T + Send + 'static,
) -> Result<u8, RunError> {
    let (opened, files) = sync_channel(WAITING_MAX);
    // It ends with this process: fetching for a command that has ended is of no use.
    let fetcher = std::thread::Builder::new().name("fetch-groups".into());
    // Without the thread nothing is fetched.
    let _ = fetcher.spawn(move || fetch(&files, together));
    let opens = Opens {
        seen: HashSet::new(),
        opened,
    };
    let (code, (), _) = watched(words, tell, filter_of_opens(), opens)?;
    Ok(code)
}

/// Fetches the groups of files that were opened.
fn fetch<T: Together>(files: &Receiver<Vec<u8>>, together: impl FnOnce() -> T) {
    let Ok(mut file) = files.recv() else {
        return;
    };
    let mut together = together();
    // Files whose groups were fetched.
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    loop {
        if !known.contains(&file) {
            let others = together.others(&file);
            if known.len() + others.len() >= FILES_MAX {
                known.clear();
            }
            known.insert(file);
            known.extend(others.iter().cloned());
            if !others.is_empty() {
                fetch_group(others);
            }
        }
        file = match files.recv() {
            Ok(next) => next,
            Err(_) => return,
        };
    }
}

/// Notes which files are opened for reading.
struct Opens {
    /// Paths that were passed on.
    seen: HashSet<Vec<u8>>,
    opened: SyncSender<Vec<u8>>,
}

impl Opens {
    /// Returns the path, without links, of the regular file that a call opens for reading.
    fn file(asked: &InterceptedCall, is_waiting: &dyn Fn() -> bool) -> Option<Vec<u8>> {
        let Some(Deed::Open(named, way)) = deed(asked) else {
            return None;
        };
        let is_read = matches!(way.mode, OpenMode::Read | OpenMode::Update);
        let place = place(asked.thread, &named).filter(|_| is_read && is_waiting())?;
        let (stat, path) = found_at(&CString::new(place).ok()?).ok()?;
        let is_data = stat.is_file() && stat.nlink > 0 && path.starts_with(b"/");
        let is_data = is_data && !KERNEL.iter().any(|kernel| path.starts_with(kernel));
        is_data.then_some(path)
    }
}

impl Watch for Opens {
    type Seen = ();

    fn see(&mut self, asked: &InterceptedCall, is_waiting: &dyn Fn() -> bool) {
        let Some(path) = Opens::file(asked, is_waiting) else {
            return;
        };
        if self.seen.len() >= FILES_MAX {
            self.seen.clear();
        }
        if !self.seen.contains(&path) && self.opened.try_send(path.clone()).is_ok() {
            self.seen.insert(path);
        }
    }

    fn end(self) {}
}
