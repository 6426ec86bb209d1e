//! fanotify: changes in a file system, as a queue of events that identify directories and files by
//! their handles.
//!
//! Only notification with directory, name and object is offered (`FAN_REPORT_DFID_NAME_TARGET`,
//! Linux 5.17). There are no permission events, so an event never blocks a process, and no event
//! carries a descriptor. This module does not interpret events.

mod event;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{Errno, Op, SysError};

pub use event::{BadEvent, Event, Events, Mask, Named};

/// Maximum number of queued events of a group; when it is exceeded, events are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    /// Limited by memory only. Needs `CAP_SYS_ADMIN`.
    Unlimited,
    /// Limited to `/proc/sys/fs/fanotify/max_queued_events` events.
    Limited,
}

/// Coverage of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole file system that contains the directory. Needs `CAP_SYS_ADMIN`.
    FileSystem,
    /// The directory, and with [`Mask::ON_CHILD`] its entries.
    Directory,
}

/// Minimum buffer size in bytes for [`Group::read`]: the largest event fits.
pub const READ_BYTES_MIN: usize = 4096;

/// A fanotify group with its marks and its queue; closed when dropped. Never blocks.
#[derive(Debug)]
pub struct Group(OwnedFd);

impl Group {
    /// Creates a group without marks.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/fanotify_init.2.html>
    ///
    /// # Errors
    /// Fails with `EPERM` if an unlimited queue is requested without privilege, with `EMFILE` if
    /// the user has too many groups, with `EINVAL` before Linux 5.17, and with `ENOSYS` if the
    /// kernel has no fanotify.
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
        // SAFETY: the call gets two numbers; no memory is touched.
        let fd = unsafe { libc::syscall(libc::SYS_fanotify_init, flags, opened) };
        match i32::try_from(fd) {
            // SAFETY: the call returned a new descriptor that nothing else owns.
            Ok(fd) if fd >= 0 => Ok(Group(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => Err(SysError::last(Op::FanotifyInit)),
        }
    }

    /// Takes over a group that another process created and passed on; `None` if the descriptor is
    /// not a fanotify group.
    ///
    /// Source: "anon_inode", <https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html>
    #[must_use]
    pub fn from_passed(fd: OwnedFd) -> Option<Self> {
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let shown = std::fs::read_link(link).ok()?;
        (shown.as_os_str() == "anon_inode:[fanotify]").then_some(Group(fd))
    }

    /// Requests the events of `mask` for the `scope` around `directory`, which may have been opened
    /// with `O_PATH`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/fanotify_mark.2.html>
    ///
    /// # Errors
    /// Fails with `EPERM` without the privilege for the scope, with `ENOSPC` if the user has too
    /// many marks, with `ENODEV` or `EXDEV` if the file system has no id of its own, and with
    /// `EOPNOTSUPP` if it has no handles.
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

    /// Returns a lower bound on the number of events in the queue. `FIONREAD` counts only the head
    /// of each event, without its records, so it reports fewer bytes than a read returns (measured
    /// on Linux 6.18). With a kernel that counts the records, the result would be higher, never
    /// lower.
    ///
    /// Source: `FIONREAD`, <https://man7.org/linux/man-pages/man7/fanotify.7.html>
    pub fn queued_events(&self) -> Result<u64, SysError> {
        rustix::io::ioctl_fionread(&self.0)
            .map(|bytes| bytes.div_ceil(event::METADATA_BYTES as u64))
            .map_err(|errno| SysError::new(Op::QueuedBytes, errno))
    }

    /// Reads as many whole events as fit into `buffer` (at least [`READ_BYTES_MIN`] bytes). The
    /// result is for [`Events::new`]; it is empty if the queue is empty.
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
