//! System calls for our own use. Errors are errnos.

use core::ffi::{CStr, c_int, c_long};
use core::mem::MaybeUninit;

use crate::call::call;

/// A descriptor of ours, closed when it goes.
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

/// A number of the kernel's, which never has more than an `int`.
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

/// Opens a path from a directory on.
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
    // SAFETY: a number.
    unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// fcntl(2) with a number.
///
/// # Errors
/// As fcntl(2).
pub fn fcntl(fd: c_int, command: c_int, number: c_int) -> Result<c_int, c_int> {
    let words = [fd as usize, command as usize, number as usize, 0, 0, 0];
    // SAFETY: numbers; a command that takes memory fails on what is none.
    unsafe { call(libc::SYS_fcntl, words) }.map(int)
}

/// What fstat(2) says.
pub fn fstat(fd: c_int) -> Option<libc::stat> {
    let mut of = MaybeUninit::<libc::stat>::zeroed();
    let words = [fd as usize, of.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: `of` has room for what is written, and is a value whatever is.
    unsafe {
        call(libc::SYS_fstat, words)
            .is_ok()
            .then(|| of.assume_init())
    }
}

/// What stat(2) says of a path.
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
    // SAFETY: the path ends in NUL, and `of` has room for what is written and is a value whatever is.
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

/// The working directory's path with a NUL, as long as the result says.
pub fn working_directory(into: &mut [u8]) -> Option<usize> {
    let words = [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0];
    // SAFETY: `into` has that many bytes.
    unsafe { call(libc::SYS_getcwd, words) }.ok()
}

/// Where a link leads: so many bytes of `into`.
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
    // SAFETY: a number.
    unsafe { call(libc::SYS_fchdir, [fd as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Which process this one is a child of.
pub fn parent() -> c_int {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getppid, [0; 6]) }.map_or(0, int)
}

/// Whether a process has not been waited for yet.
pub fn is_alive(process: c_int) -> bool {
    // SAFETY: numbers; no signal is sent.
    let answer = unsafe { call(libc::SYS_kill, [process as usize, 0, 0, 0, 0, 0]) };
    answer != Err(libc::ESRCH)
}

/// Which process traces this one; 0 if none does.
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

/// What a file begins with.
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

/// Which process this is.
pub fn process() -> c_int {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.map_or(0, int)
}

/// The user that counts.
pub fn effective_user() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_geteuid, [0; 6]) }.map_or(u32::MAX, |user| user as u32)
}

/// The monotonic clock, to some milliseconds. This is a call of the kernel's: who has the C library
/// asks that.
pub fn now_ns() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let clock = libc::CLOCK_MONOTONIC_COARSE as usize;
    // SAFETY: `now` has room.
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

/// Maps as the caller wants it.
///
/// # Errors
/// As mmap(2).
///
/// # Safety
/// As mmap(2): nobody uses what is mapped at a fixed address.
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
    // SAFETY: the caller promises it.
    unsafe { call(libc::SYS_mmap, words) }.map(|at| at as *mut u8)
}

/// Any call.
///
/// # Errors
/// As the call.
///
/// # Safety
/// As the call.
pub unsafe fn any(number: c_long, words: [usize; 6]) -> Result<usize, c_int> {
    // SAFETY: the caller promises it.
    unsafe { call(number, words) }
}

/// Takes a mapping back.
///
/// # Safety
/// It is one of [`map`], of that length, and nobody uses it any more.
pub unsafe fn unmap(at: *mut u8, length: usize) {
    // SAFETY: the caller promises it.
    let _ = unsafe { call(libc::SYS_munmap, [at as usize, length, 0, 0, 0, 0]) };
}

/// A socket of this kind.
pub(crate) fn socket(family: c_int, kind: c_int) -> Option<Own> {
    let words = [family as usize, kind as usize, 0, 0, 0, 0];
    // SAFETY: numbers.
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

/// Lets who waits for this socket wait no longer than that.
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

/// The user of the process at the other end of a socket.
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
    // SAFETY: the value has the length that is given.
    unsafe { call(libc::SYS_getsockopt, words) }.ok()?;
    Some(peer.uid)
}

/// Sends bytes; whether all went. That the other end is gone is no signal.
pub(crate) fn send(socket: c_int, bytes: &[u8]) -> bool {
    let words = [
        socket as usize,
        bytes.as_ptr() as usize,
        bytes.len(),
        libc::MSG_NOSIGNAL as usize,
        0,
        0,
    ];
    // SAFETY: the bytes are there.
    let sent = unsafe { call(libc::SYS_sendto, words) };
    sent == Ok(bytes.len())
}

/// Receives a message; how many bytes came.
///
/// # Safety
/// The message points to what has the lengths that it says.
pub(crate) unsafe fn receive(
    socket: c_int,
    message: *mut libc::msghdr,
    flags: c_int,
) -> Option<usize> {
    let words = [socket as usize, message as usize, flags as usize, 0, 0, 0];
    // SAFETY: the caller promises it.
    unsafe { call(libc::SYS_recvmsg, words) }.ok()
}
