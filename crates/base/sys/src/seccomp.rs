//! Intercepts system calls of other programs before they are executed (seccomp user notification).
//!
//! A filter names system calls. A process with the filter, and every process that it starts, waits
//! at each of these calls until the holder of the filter's descriptor tells the kernel to execute
//! the call or what it returns. The data that arguments point to is read from the waiting process's
//! memory. This is not a security boundary: another thread can change that data before the kernel
//! reads it.
//!
//! Source: <https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html>

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::Errno;

/// Maximum length of a path in bytes.
const PATH_MAX_BYTES: usize = 4096;
/// A read from another process's memory never crosses the end of a page of this size, because the
/// next page may not be mapped.
const PAGE_BYTES: u64 = 4096;

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const IS_VALID: libc::c_ulong = 0x4008_2102;
const SET_FLAGS: libc::c_ulong = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`
const SYNC_WAKE_UP: libc::c_ulong = 1;
/// Signals do not interrupt a call while it is being handled (Linux 5.19).
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// System call numbers; -1 if this architecture has no such call.
#[allow(missing_docs, reason = "each is the call of that name")]
pub mod number {
    pub const OPENAT: i64 = libc::SYS_openat;
    pub const OPENAT2: i64 = libc::SYS_openat2;
    pub const NEWFSTATAT: i64 = libc::SYS_newfstatat;
    pub const STATX: i64 = libc::SYS_statx;
    pub const FSTAT: i64 = libc::SYS_fstat;
    pub const FACCESSAT: i64 = libc::SYS_faccessat;
    pub const FACCESSAT2: i64 = libc::SYS_faccessat2;
    pub const READLINKAT: i64 = libc::SYS_readlinkat;
    pub const CHDIR: i64 = libc::SYS_chdir;
    pub const EXECVE: i64 = libc::SYS_execve;
    pub const EXECVEAT: i64 = libc::SYS_execveat;
    pub const EXIT_GROUP: i64 = libc::SYS_exit_group;
    pub const GETXATTR: i64 = libc::SYS_getxattr;
    pub const LGETXATTR: i64 = libc::SYS_lgetxattr;
    pub const LISTXATTR: i64 = libc::SYS_listxattr;
    pub const LLISTXATTR: i64 = libc::SYS_llistxattr;
    pub const FGETXATTR: i64 = libc::SYS_fgetxattr;
    pub const FLISTXATTR: i64 = libc::SYS_flistxattr;
    // Since Linux 6.13; the same number everywhere.
    pub const GETXATTRAT: i64 = 464;
    pub const LISTXATTRAT: i64 = 465;
    pub const STATFS: i64 = libc::SYS_statfs;
    pub const RENAMEAT: i64 = libc::SYS_renameat;
    pub const RENAMEAT2: i64 = libc::SYS_renameat2;
    pub const LINKAT: i64 = libc::SYS_linkat;
    pub const INOTIFY_ADD_WATCH: i64 = libc::SYS_inotify_add_watch;

    #[cfg(target_arch = "x86_64")]
    mod by_path {
        pub const OPEN: i64 = libc::SYS_open;
        pub const STAT: i64 = libc::SYS_stat;
        pub const LSTAT: i64 = libc::SYS_lstat;
        pub const ACCESS: i64 = libc::SYS_access;
        pub const READLINK: i64 = libc::SYS_readlink;
        pub const CREAT: i64 = libc::SYS_creat;
        pub const RENAME: i64 = libc::SYS_rename;
        pub const LINK: i64 = libc::SYS_link;
    }

    #[cfg(not(target_arch = "x86_64"))]
    mod by_path {
        pub const OPEN: i64 = -1;
        pub const STAT: i64 = -1;
        pub const LSTAT: i64 = -1;
        pub const ACCESS: i64 = -1;
        pub const READLINK: i64 = -1;
        pub const CREAT: i64 = -1;
        pub const RENAME: i64 = -1;
        pub const LINK: i64 = -1;
    }

    pub use by_path::{ACCESS, CREAT, LINK, LSTAT, OPEN, READLINK, RENAME, STAT};
}

/// The set of intercepted calls, as a program for the kernel's packet filter.
#[derive(Clone, Debug)]
pub struct Filter(Vec<libc::sock_filter>);

const fn statement(code: u32, value: u32) -> libc::sock_filter {
    jump(code, value, 0, 0)
}

const fn jump(code: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    }
}

impl Filter {
    /// Makes a filter that intercepts these calls, in programs of this machine's own architecture.
    pub fn new(calls: &[libc::c_long]) -> Filter {
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let end = libc::BPF_RET | libc::BPF_K;
        let mut program = vec![
            // The first word is the call number, the second the architecture.
            statement(load, 4),
            jump(equal, ARCHITECTURE, 1, 0),
            statement(end, libc::SECCOMP_RET_ALLOW),
            statement(load, 0),
        ];
        for call in calls {
            program.push(jump(equal, *call as u32, 0, 1));
            program.push(statement(end, libc::SECCOMP_RET_USER_NOTIF));
        }
        program.push(statement(end, libc::SECCOMP_RET_ALLOW));
        Filter(program)
    }

    /// Installs the filter on the calling thread and returns its descriptor. Allocates nothing.
    /// From now on, no program that the thread starts gains privileges (`PR_SET_NO_NEW_PRIVS`).
    ///
    /// # Errors
    /// Returns the errors of seccomp(2); `EBUSY` if a filter with a descriptor is already
    /// installed.
    pub(crate) fn install(&self) -> io::Result<libc::c_int> {
        // SAFETY: prctl(2) gets numbers only.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let program = libc::sock_fprog {
            len: self.0.len() as u16,
            filter: self.0.as_ptr().cast_mut(),
        };
        let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        for flags in [listener | WAIT_KILLABLE, listener] {
            // SAFETY: the program has as many instructions as it says; the kernel only reads it.
            let code = unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    flags,
                    &raw const program,
                )
            };
            match code {
                0.. => return Ok(code as libc::c_int),
                _ if io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) => break,
                _ => {}
            }
        }
        Err(io::Error::last_os_error())
    }
}

/// An intercepted call that is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterceptedCall {
    id: u64,
    /// Id of the thread that makes the call.
    pub thread: i32,
    /// The call number.
    pub call: libc::c_long,
    /// The call's arguments.
    pub arguments: [u64; 6],
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel executes it.
    Continue,
    /// It returns this value.
    Return(i64),
    /// It fails with this error.
    Fail(Errno),
}

/// The descriptor of a filter.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl From<OwnedFd> for Listener {
    fn from(fd: OwnedFd) -> Listener {
        Listener(fd)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Listener {
    /// Lets the calling thread and the answering thread alternate on one processor, if the kernel
    /// can do that (Linux 6.6). One waits for the other in any case, and waking another processor
    /// takes several times as long as the switch.
    ///
    /// Source: `SECCOMP_IOCTL_NOTIF_SET_FLAGS` in `<linux/seccomp.h>`.
    pub fn take_turns(&self) {
        // SAFETY: the descriptor is open; the argument is a number. Older kernels refuse the
        // request.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
    }

    /// Waits for the next call and returns it; `None` if the call was cancelled meanwhile.
    ///
    /// # Errors
    /// Fails if no more calls can arrive.
    pub fn next(&self) -> io::Result<Option<InterceptedCall>> {
        // SAFETY: an all-zero notification is valid, and the kernel requires one.
        let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the kernel writes one notification.
        let code = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE, &raw mut asked) };
        if code != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR | libc::ENOENT) => Ok(None),
                _ => Err(error),
            };
        }
        Ok(Some(InterceptedCall {
            id: asked.id,
            thread: asked.pid as i32,
            call: asked.data.nr.into(),
            arguments: asked.data.args,
        }))
    }

    /// Returns true if the call still waits. Data that was read from its thread's memory before
    /// then really came from that thread.
    #[must_use]
    pub fn is_waiting(&self, asked: &InterceptedCall) -> bool {
        // SAFETY: the kernel reads one number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), IS_VALID, &raw const asked.id) == 0 }
    }

    /// Answers a call. Does nothing if the call was cancelled meanwhile.
    pub fn answer(&self, asked: &InterceptedCall, verdict: Verdict) {
        let (error, value, flags) = match verdict {
            Verdict::Continue => (0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            Verdict::Return(value) => (0, value, 0),
            Verdict::Fail(errno) => (-errno.0, 0, 0),
        };
        let response = libc::seccomp_notif_resp {
            id: asked.id,
            val: value,
            error,
            flags,
        };
        // SAFETY: the kernel reads one response.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SEND, &raw const response) };
    }
}

/// Reads another thread's memory and returns the number of bytes read.
fn read_memory(thread: i32, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let here = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: `here` is valid for writes of its length; `there` is an address in another process,
    // which the kernel checks.
    let read =
        unsafe { libc::process_vm_readv(thread, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Reads the path at an address in another thread's memory.
///
/// Source: <https://man7.org/linux/man-pages/man2/process_vm_readv.2.html>
///
/// # Errors
/// Fails with `EFAULT` if there is none, with `ENAMETOOLONG` if it is too long for any call, and
/// with `EPERM` if this process may not read that memory.
pub fn read_path(thread: i32, address: u64) -> io::Result<Vec<u8>> {
    let mut path = Vec::new();
    let mut piece = [0; PAGE_BYTES as usize];
    while path.len() < PATH_MAX_BYTES {
        let at = address.wrapping_add(path.len() as u64);
        let room = (PAGE_BYTES - at % PAGE_BYTES) as usize;
        let read = read_memory(thread, at, &mut piece[..room])?;
        let found = &piece[..read.min(room)];
        match found.iter().position(|byte| *byte == 0) {
            Some(end) => {
                path.extend_from_slice(&found[..end]);
                return Ok(path);
            }
            None if found.is_empty() => return Err(io::Error::from_raw_os_error(libc::EFAULT)),
            None => path.extend_from_slice(found),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}

/// Reads a number at an address in another thread's memory.
///
/// # Errors
/// Returns the errors of [`read_path`].
pub fn read_number(thread: i32, address: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    match read_memory(thread, address, &mut bytes)? {
        8 => Ok(u64::from_ne_bytes(bytes)),
        _ => Err(io::Error::from_raw_os_error(libc::EFAULT)),
    }
}

/// Writes bytes to an address in another thread's memory.
///
/// Source: <https://man7.org/linux/man-pages/man2/process_vm_readv.2.html>
///
/// # Errors
/// Fails with `EFAULT` if not all bytes can be written.
pub fn write_memory(thread: i32, address: u64, bytes: &[u8]) -> io::Result<()> {
    let here = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: `here` is valid for reads of its length, and the kernel only reads it; `there` is an
    // address in another process, which the kernel checks.
    let written =
        unsafe { libc::process_vm_writev(thread, &raw const here, 1, &raw const there, 1, 0) };
    match usize::try_from(written) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn memory_is_read_and_written() {
        let ours = std::process::id() as i32;
        for length in [0, 1, 100, 4095] {
            let path = CString::new(vec![b'x'; length]).unwrap();
            let read = read_path(ours, path.as_ptr() as u64).unwrap();
            assert_eq!(read, path.as_bytes());
        }
        let long = CString::new(vec![b'x'; 9000]).unwrap();
        let error = read_path(ours, long.as_ptr() as u64).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENAMETOOLONG));
        let error = read_path(ours, 8).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        let number = Box::new(7u64);
        let address = &raw const *number as u64;
        assert_eq!(read_number(ours, address).unwrap(), 7);
        write_memory(ours, address, &9u64.to_ne_bytes()).unwrap();
        assert_eq!(read_number(ours, address).unwrap(), 9);
        assert!(write_memory(ours, 8, &[1]).is_err());
    }
}
