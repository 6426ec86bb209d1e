//! System calls for the library's own use. Errors are errnos.

use core::ffi::{CStr, c_int, c_long};
use core::mem::MaybeUninit;

use crate::call::call;

/// A descriptor of ours, closed when dropped.
#[derive(Debug)]
pub struct Own(
    /// Its number.
    pub c_int,
);

impl Drop for Own {
    fn drop(&mut self) {
        let _ = close(self.0);
    }
}

/// Converts a number from the kernel that always fits an `int`.
fn int(value: usize) -> c_int {
    value as c_int
}

/// Opens a path.
///
/// # Errors
/// As openat(2).
pub fn open(path: &CStr, flags: c_int) -> Result<c_int, c_int> {
    open_at(libc::AT_FDCWD, path, flags)
}

/// Opens a path relative to a directory.
///
/// # Errors
/// As openat(2).
pub fn open_at(from: c_int, path: &CStr, flags: c_int) -> Result<c_int, c_int> {
    let words = [
        from as usize,
        path.as_ptr() as usize,
        flags as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the path ends in NUL.
    unsafe { call(libc::SYS_openat, words) }.map(int)
}

/// Closes a descriptor.
///
/// # Errors
/// As close(2).
pub fn close(fd: c_int) -> Result<(), c_int> {
    // SAFETY: the argument is a number.
    unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// fcntl(2) with a number.
///
/// # Errors
/// As fcntl(2).
pub fn fcntl(fd: c_int, command: c_int, number: c_int) -> Result<c_int, c_int> {
    let words = [fd as usize, command as usize, number as usize, 0, 0, 0];
    // SAFETY: the arguments are numbers; a command that takes a pointer fails on an invalid
    // address.
    unsafe { call(libc::SYS_fcntl, words) }.map(int)
}

/// Calls fstat(2); `None` if it fails.
pub fn fstat(fd: c_int) -> Option<libc::stat> {
    let mut of = MaybeUninit::<libc::stat>::zeroed();
    let words = [fd as usize, of.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: `of` has room for the result, and every content is a valid value.
    unsafe {
        call(libc::SYS_fstat, words)
            .is_ok()
            .then(|| of.assume_init())
    }
}

/// Calls stat(2) on a path; `None` if it fails.
pub fn stat(path: &CStr) -> Option<libc::stat> {
    let mut of = MaybeUninit::<libc::stat>::zeroed();
    let words = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        of.as_mut_ptr() as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the path ends in NUL; `of` has room for the result, and every content is a valid
    // value.
    unsafe {
        call(libc::SYS_newfstatat, words)
            .is_ok()
            .then(|| of.assume_init())
    }
}

/// The attributes of an open file that the kernel has at hand, with its mount's id (statx(2)): a
/// server of the file system is not asked. `None` if the kernel has no such call, or names no mount
/// (before Linux 5.8).
pub fn statx_kept(fd: c_int) -> Option<libc::statx> {
    const MASK: u32 = libc::STATX_BASIC_STATS | libc::STATX_MNT_ID;
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    let mut of = MaybeUninit::<libc::statx>::zeroed();
    let words = [
        fd as usize,
        c"".as_ptr() as usize,
        flags as usize,
        MASK as usize,
        of.as_mut_ptr() as usize,
        0,
    ];
    // SAFETY: the path is a string, and `of` has room for what is written and is a value whatever is.
    let of = unsafe {
        call(libc::SYS_statx, words)
            .is_ok()
            .then(|| of.assume_init())
    };
    of.filter(|of| of.stx_mask & MASK == MASK)
}

/// The fields of `struct statfs` as the kernel writes them on 64-bit machines, one word each:
/// `libc::statfs` hides `f_flags`.
fn statfs(fd: c_int) -> Option<[u64; 15]> {
    let mut of = [0u64; 15];
    let words = [fd as usize, of.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: `of` has room for what is written: 120 bytes.
    let done = unsafe { call(libc::SYS_fstatfs, words) };
    done.is_ok().then_some(of)
}

/// Magic number of an open file's file system (`f_type` of statfs(2)).
pub fn file_system(fd: c_int) -> Option<i64> {
    statfs(fd).map(|[kind, ..]| kind.cast_signed())
}

/// How an open file's file system is mounted (`f_flags` of statfs(2)).
pub fn mount_flags(fd: c_int) -> Option<u64> {
    const FLAGS_WORD: usize = 10;
    statfs(fd).map(|of| of[FLAGS_WORD])
}

/// Writes the working directory's path with a NUL; returns the length of both.
pub fn working_directory(into: &mut [u8]) -> Option<usize> {
    let words = [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0];
    // SAFETY: `into` has that many bytes.
    unsafe { call(libc::SYS_getcwd, words) }.ok()
}

/// Reads a link's target; returns its length in `into`.
pub fn read_link(path: &CStr, into: &mut [u8]) -> Option<usize> {
    let words = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        into.as_mut_ptr() as usize,
        into.len(),
        0,
        0,
    ];
    // SAFETY: the path ends in NUL, `into` has that many bytes.
    unsafe { call(libc::SYS_readlinkat, words) }.ok()
}

/// Changes the working directory.
///
/// # Errors
/// As chdir(2).
pub fn change_directory(path: &CStr) -> Result<(), c_int> {
    // SAFETY: the path ends in NUL.
    unsafe { call(libc::SYS_chdir, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Changes the working directory to an open one.
///
/// # Errors
/// As fchdir(2).
pub fn change_directory_to(fd: c_int) -> Result<(), c_int> {
    // SAFETY: the argument is a number.
    unsafe { call(libc::SYS_fchdir, [fd as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Returns the parent process's id.
pub fn parent() -> c_int {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getppid, [0; 6]) }.map_or(0, int)
}

/// Returns whether a process exists, including one that was not waited for yet.
pub fn is_alive(process: c_int) -> bool {
    // SAFETY: the arguments are numbers; no signal is sent.
    let answer = unsafe { call(libc::SYS_kill, [process as usize, 0, 0, 0, 0, 0]) };
    answer != Err(libc::ESRCH)
}

/// Returns the id of the process that traces this one; 0 if there is none.
pub fn tracer() -> c_int {
    const NAME: &[u8] = b"\nTracerPid:\t";
    let mut space = [0; 1024];
    let text = match open(c"/proc/self/status", libc::O_RDONLY | libc::O_CLOEXEC).map(Own) {
        Ok(file) => read(&file, &mut space),
        Err(_) => &[],
    };
    let at = text.windows(NAME.len()).position(|part| part == NAME);
    let digits = at.and_then(|at| text.get(at + NAME.len()..));
    let digits = digits.unwrap_or_default().iter();
    digits
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |number: c_int, digit| {
            number
                .saturating_mul(10)
                .saturating_add(c_int::from(digit - b'0'))
        })
}

/// Reads the beginning of a file.
fn read<'a>(file: &Own, into: &'a mut [u8]) -> &'a [u8] {
    let words = [
        file.0 as usize,
        into.as_mut_ptr() as usize,
        into.len(),
        0,
        0,
        0,
    ];
    // SAFETY: `into` has that many bytes.
    let length = unsafe { call(libc::SYS_read, words) }.unwrap_or(0);
    into.get(..length).unwrap_or_default()
}

/// Returns this process's id.
pub fn process() -> c_int {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.map_or(0, int)
}

/// Returns the effective user id.
pub fn effective_user() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_geteuid, [0; 6]) }.map_or(u32::MAX, |user| user as u32)
}

/// Returns the monotonic clock in nanoseconds, with a resolution of some milliseconds. This is a
/// system call; code with the C library should use that instead.
pub fn now_ns() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let clock = libc::CLOCK_MONOTONIC_COARSE as usize;
    // SAFETY: `now` has room for the result.
    let _ = unsafe {
        call(
            libc::SYS_clock_gettime,
            [clock, (&raw mut now) as usize, 0, 0, 0, 0],
        )
    };
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// Maps an open file, shared.
pub fn map(fd: c_int, length: usize, protection: c_int) -> Option<*mut u8> {
    let words = [
        0,
        length,
        protection as usize,
        libc::MAP_SHARED as usize,
        fd as usize,
        0,
    ];
    // SAFETY: a new mapping at an address of the kernel's choice.
    let at = unsafe { call(libc::SYS_mmap, words) }.ok()?;
    Some(at as *mut u8)
}

/// Maps memory with the caller's arguments.
///
/// # Errors
/// As mmap(2).
///
/// # Safety
/// As mmap(2): memory at a fixed address is not in use.
pub unsafe fn map_at(
    at: *mut u8,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> Result<*mut u8, c_int> {
    let words = [
        at as usize,
        length,
        protection as usize,
        flags as usize,
        fd as usize,
        offset as usize,
    ];
    // SAFETY: guaranteed by the caller.
    unsafe { call(libc::SYS_mmap, words) }.map(|at| at as *mut u8)
}

/// Makes any system call.
///
/// # Errors
/// As the call.
///
/// # Safety
/// As the call.
pub unsafe fn any(number: c_long, words: [usize; 6]) -> Result<usize, c_int> {
    // SAFETY: guaranteed by the caller.
    unsafe { call(number, words) }
}

/// Removes a mapping.
///
/// # Safety
/// [`map`] made it, with that length, and nobody uses it any more.
pub unsafe fn unmap(at: *mut u8, length: usize) {
    // SAFETY: guaranteed by the caller.
    let _ = unsafe { call(libc::SYS_munmap, [at as usize, length, 0, 0, 0, 0]) };
}

/// Makes a socket.
pub(crate) fn socket(family: c_int, kind: c_int) -> Option<Own> {
    let words = [family as usize, kind as usize, 0, 0, 0, 0];
    // SAFETY: the arguments are numbers.
    let fd = unsafe { call(libc::SYS_socket, words) }.ok()?;
    Some(Own(int(fd)))
}

/// Connects a socket to an address.
pub(crate) fn connect(socket: c_int, address: &libc::sockaddr_un) -> bool {
    let length = size_of::<libc::sockaddr_un>();
    let words = [
        socket as usize,
        &raw const *address as usize,
        length,
        0,
        0,
        0,
    ];
    // SAFETY: the address has that length.
    unsafe { call(libc::SYS_connect, words) }.is_ok()
}

/// Sets the time limit for receiving from a socket.
pub(crate) fn be_patient(socket: c_int, seconds: i64) {
    let time = libc::timeval {
        tv_sec: seconds,
        tv_usec: 0,
    };
    let words = [
        socket as usize,
        libc::SOL_SOCKET as usize,
        libc::SO_RCVTIMEO as usize,
        &raw const time as usize,
        size_of::<libc::timeval>(),
        0,
    ];
    // SAFETY: the value has that length.
    let _ = unsafe { call(libc::SYS_setsockopt, words) };
}

/// Returns the user of the process at the other end of a socket.
pub(crate) fn peer_user(socket: c_int) -> Option<u32> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let words = [
        socket as usize,
        libc::SOL_SOCKET as usize,
        libc::SO_PEERCRED as usize,
        &raw mut peer as usize,
        &raw mut length as usize,
        0,
    ];
    // SAFETY: the value has the given length.
    unsafe { call(libc::SYS_getsockopt, words) }.ok()?;
    Some(peer.uid)
}

/// Sends bytes; returns whether all were sent. A closed connection raises no signal.
pub(crate) fn send(socket: c_int, bytes: &[u8]) -> bool {
    let words = [
        socket as usize,
        bytes.as_ptr() as usize,
        bytes.len(),
        libc::MSG_NOSIGNAL as usize,
        0,
        0,
    ];
    // SAFETY: the slice is valid.
    let sent = unsafe { call(libc::SYS_sendto, words) };
    sent == Ok(bytes.len())
}

/// Receives a message; returns the number of bytes.
///
/// # Safety
/// The message points to buffers of the lengths that it states.
pub(crate) unsafe fn receive(
    socket: c_int,
    message: *mut libc::msghdr,
    flags: c_int,
) -> Option<usize> {
    let words = [socket as usize, message as usize, flags as usize, 0, 0, 0];
    // SAFETY: guaranteed by the caller.
    unsafe { call(libc::SYS_recvmsg, words) }.ok()
}
