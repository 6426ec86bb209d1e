//! System calls for the library's own use, by number: the C library's functions of these names are
//! ours here. [`Quiet`] restores `errno`.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::mem::MaybeUninit;

/// Sets `errno`.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the location belongs to this thread and is valid as long as the thread runs.
    unsafe { *libc::__errno_location() = errno };
}

/// Restores `errno` when dropped.
pub(crate) struct Quiet(c_int);

impl Quiet {
    pub(crate) fn new() -> Quiet {
        // SAFETY: as above.
        Quiet(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        set_errno(self.0);
    }
}

/// Opens a file for reading and writing.
///
/// # Safety
/// `path` is a C string.
pub(crate) unsafe fn open(path: *const c_char) -> Option<c_int> {
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
    // SAFETY: guaranteed by the caller.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

/// Closes a descriptor that was opened here.
pub(crate) fn close(fd: c_int) {
    // SAFETY: the descriptor is ours.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Returns the size of a regular file; `None` for other objects.
pub(crate) fn file_bytes(fd: c_int) -> Option<usize> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: there is room for the result.
    let code = unsafe { libc::syscall(libc::SYS_fstat, fd, stat.as_mut_ptr()) };
    // SAFETY: zeroes are a valid value, which the kernel may have replaced.
    let stat = unsafe { stat.assume_init() };
    let is_file = code == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    usize::try_from(stat.st_size).ok().filter(|_| is_file)
}

/// Maps a file, shared and writable; `None` if that fails.
pub(crate) fn map_file(fd: c_int, bytes: usize) -> Option<*mut c_void> {
    map(libc::MAP_SHARED | libc::MAP_NORESERVE, fd, bytes)
}

/// Returns a page of zeroes that a child of fork(2) sees zeroed again; `None` before Linux 4.14.
pub(crate) fn page_wiped_on_fork() -> Option<*mut c_void> {
    const BYTES: usize = 4096;
    let page = map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, BYTES)?;
    // SAFETY: the page was just mapped.
    let code = unsafe { libc::syscall(libc::SYS_madvise, page, BYTES, libc::MADV_WIPEONFORK) };
    (code == 0).then_some(page)
}

fn map(flags: c_int, fd: c_int, bytes: usize) -> Option<*mut c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let nowhere: *mut c_void = std::ptr::null_mut();
    let from: c_long = 0;
    // SAFETY: this makes a new mapping, at an address chosen by the kernel.
    let at = unsafe { libc::syscall(libc::SYS_mmap, nowhere, bytes, protection, flags, fd, from) };
    (at != -1).then(|| std::ptr::with_exposed_provenance_mut(at as usize))
}

/// Returns the process id.
pub(crate) fn process_id() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

/// Returns the parent's process id.
pub(crate) fn parent_id() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::syscall(libc::SYS_getppid) as u32 }
}

/// Returns the thread id.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Returns whether no process has this id.
pub(crate) fn is_gone(process: u32) -> bool {
    let _quiet = Quiet::new();
    // SAFETY: signal 0 only asks.
    let code = unsafe { libc::syscall(libc::SYS_kill, process, 0) };
    // SAFETY: the location belongs to this thread.
    code == -1 && unsafe { *libc::__errno_location() } == libc::ESRCH
}

/// Returns the number of the PID namespace; 0 if it is unknown.
pub(crate) fn pid_namespace() -> u64 {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let path = c"/proc/self/ns/pid".as_ptr();
    // SAFETY: the path ends in NUL, and there is room for the result.
    let code = unsafe {
        libc::syscall(
            libc::SYS_newfstatat,
            libc::AT_FDCWD,
            path,
            stat.as_mut_ptr(),
            0,
        )
    };
    // SAFETY: zeroes are a valid value, which the kernel may have replaced.
    let stat = unsafe { stat.assume_init() };
    match code {
        0 => stat.st_ino,
        _ => 0,
    }
}

/// Writes the target of a symbolic link, and returns its length.
pub(crate) fn read_link(path: &CStr, to: &mut [u8]) -> Option<usize> {
    // SAFETY: the path ends in NUL, and the buffer has that much room.
    let count = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            to.as_mut_ptr(),
            to.len(),
        )
    };
    usize::try_from(count).ok()
}

/// Ends the process at once.
pub(crate) fn exit() -> ! {
    loop {
        // SAFETY: the call has no preconditions.
        unsafe { libc::syscall(libc::SYS_exit_group, 0) };
    }
}
