//! fanotify: what changes in a file system, as a queue of events that name directories and files by
//! their handles.
//!
//! Only reporting of directory, name and object (`FAN_REPORT_DFID_NAME_TARGET`, Linux 5.17) and
//! notification are offered: no permission events, so no event ever holds anybody up, and no event
//! carries a descriptor. What an event means is not decided here.

mod event;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{Errno, Op, SysError};

pub use event::{BadEvent, Event, Events, Mask, Named};

/// How many events a group holds before it forgets what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    /// As memory allows. Needs `CAP_SYS_ADMIN`.
    Unlimited,
    /// `/proc/sys/fs/fanotify/max_queued_events` of them.
    Limited,
}

/// What a mark covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole file system that the directory lies on. Needs `CAP_SYS_ADMIN`.
    FileSystem,
    /// The directory, and with [`Mask::ON_CHILD`] what is directly in it.
    Directory,
}

/// Smallest buffer for [`Group::read`]: the largest event fits.
pub const READ_BYTES_MIN: usize = 4096;

/// A fanotify group: its marks and its queue, gone when dropped. Never blocks.
#[derive(Debug)]
pub struct Group(OwnedFd);

impl Group {
    /// A group without marks.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/fanotify_init.2.html>
    ///
    /// # Errors
    /// `EPERM` where an unlimited queue is asked for without privilege, `EMFILE` where the user has
    /// too many groups, `EINVAL` before Linux 5.17, `ENOSYS` in a kernel without fanotify.
    pub fn new(queue: QueueSize) -> Result<Self, SysError> {
        const REPORT_TARGET_FID: libc::c_uint = 0x1000;
        let mut flags = libc::FAN_CLASS_NOTIF
            | libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_REPORT_FID
            | libc::FAN_REPORT_DIR_FID
            | libc::FAN_REPORT_NAME
            | REPORT_TARGET_FID;
        if queue == QueueSize::Unlimited {
            flags |= libc::FAN_UNLIMITED_QUEUE;
        }
        let opened = libc::O_RDONLY as libc::c_uint;
        // SAFETY: two numbers; no memory is touched.
        let fd = unsafe { libc::syscall(libc::SYS_fanotify_init, flags, opened) };
        match i32::try_from(fd) {
            // SAFETY: the call returned a new descriptor that nobody else owns.
            Ok(fd) if fd >= 0 => Ok(Group(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => Err(SysError::last(Op::FanotifyInit)),
        }
    }

    /// A group that was made by another process, which passed it on; `None` if the descriptor is
    /// something else.
    ///
    /// Source: "anon_inode", <https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html>
    #[must_use]
    pub fn from_passed(fd: OwnedFd) -> Option<Self> {
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let shown = std::fs::read_link(link).ok()?;
        (shown.as_os_str() == "anon_inode:[fanotify]").then_some(Group(fd))
    }

    /// Asks for the events of `mask` in what `scope` makes of `directory` (which may have been
    /// opened as a starting point only).
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/fanotify_mark.2.html>
    ///
    /// # Errors
    /// `EPERM` without the privilege for the scope, `ENOSPC` where the user has too many marks,
    /// `ENODEV` and `EXDEV` where the file system has no id of its own, `EOPNOTSUPP` where it has no
    /// handles.
    pub fn mark(&self, directory: impl AsFd, scope: Scope, mask: Mask) -> Result<(), SysError> {
        let scope = match scope {
            Scope::FileSystem => libc::FAN_MARK_FILESYSTEM,
            Scope::Directory => libc::FAN_MARK_ONLYDIR,
        };
        // SAFETY: the descriptors are open, the name is NUL-terminated and static.
        let code = unsafe {
            libc::fanotify_mark(
                self.0.as_raw_fd(),
                libc::FAN_MARK_ADD | scope,
                mask.0,
                directory.as_fd().as_raw_fd(),
                c".".as_ptr(),
            )
        };
        if code == 0 {
            Ok(())
        } else {
            Err(SysError::last(Op::FanotifyMark))
        }
    }

    /// At least how many events wait in the queue now. `FIONREAD` counts the head of each event
    /// and no record behind it: its bytes are fewer than a read returns (measured on Linux 6.18).
    /// A kernel that counts the records would make this more, never less.
    ///
    /// Source: `FIONREAD`, <https://man7.org/linux/man-pages/man7/fanotify.7.html>
    pub fn queued_events(&self) -> Result<u64, SysError> {
        rustix::io::ioctl_fionread(&self.0)
            .map(|bytes| bytes.div_ceil(event::METADATA_BYTES as u64))
            .map_err(|errno| SysError::new(Op::QueuedBytes, errno))
    }

    /// Reads as many whole events as `buffer` holds (at least [`READ_BYTES_MIN`] bytes); what is
    /// returned goes to [`Events::new`]. Empty where nothing waits.
    ///
    /// Source: <https://man7.org/linux/man-pages/man7/fanotify.7.html>
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], SysError> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Ok(length) => return Ok(&buffer[..length]),
                Err(errno) => match Errno::from(errno) {
                    Errno::WOULDBLOCK => return Ok(&[]),
                    Errno::INTR => {}
                    errno => return Err(SysError::new(Op::Read, errno)),
                },
            }
        }
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: Mask = Mask::CREATE
        .with(Mask::DELETE)
        .with(Mask::RENAME)
        .with(Mask::ON_CHILD)
        .with(Mask::ONDIR);

    #[test]
    fn the_kernel_tells_what_happens_in_a_marked_directory() {
        let dir = tempfile::tempdir().unwrap();
        let group = match Group::new(QueueSize::Limited) {
            Ok(group) => group,
            Err(e) => return eprintln!("skipped, because {e}"),
        };
        let folder = std::fs::File::open(dir.path()).unwrap();
        group.mark(&folder, Scope::Directory, MASK).unwrap();
        assert_eq!(group.queued_events(), Ok(0));
        std::fs::create_dir(dir.path().join("made")).unwrap();
        std::fs::rename(dir.path().join("made"), dir.path().join("moved")).unwrap();
        assert_eq!(group.queued_events(), Ok(2));
        let mut buffer = vec![0; READ_BYTES_MIN];
        let bytes = group.read(&mut buffer).unwrap();
        let events: Vec<Event<'_>> = Events::new(bytes).map(Result::unwrap).collect();
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(events[0].mask.has(Mask::CREATE) && events[0].mask.has(Mask::ONDIR));
        assert_eq!(events[0].at.unwrap().name, b"made");
        assert_eq!(events[1].from.unwrap().name, b"made");
        assert_eq!(events[1].to.unwrap().name, b"moved");
        assert_eq!(events[1].object, events[0].object);
        let handle = crate::handle::of_fd(&folder, crate::handle::Use::Compare).unwrap();
        let mut key = crate::filesystem::id_of_fd(&folder).unwrap().to_vec();
        key.extend(u32::try_from(handle.bytes().len()).unwrap().to_ne_bytes());
        key.extend(handle.kind().to_ne_bytes());
        key.extend(handle.bytes());
        assert_eq!(events[0].at.unwrap().directory, key);
        assert_eq!(group.read(&mut buffer).unwrap(), b"");
    }
}
