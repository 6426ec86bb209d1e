//! Calls with descriptors in sets, arrays, structures and messages, and with paths in socket
//! addresses: all of these are made real first.

use std::ffi::{c_int, c_uint, c_void};

use crate::real::real;
use crate::{descriptors, page};

/// Makes the descriptors in a set of select(2) real.
///
/// # Safety
/// `set` is NULL, or has room for `count` descriptors.
unsafe fn before_set(set: *const u64, count: c_int) {
    if set.is_null() {
        return;
    }
    for fd in descriptors::numbers().take_while(|fd| *fd < count) {
        let number = fd.unsigned_abs();
        // SAFETY: the kernel also reads all words with numbers below `count`.
        let word = unsafe { *set.add(number as usize / 64) };
        if word & (1 << (number % 64)) != 0 {
            descriptors::make_real(fd);
        }
    }
}

macro_rules! selects {
    ($($name:ident($($more:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            count: c_int,
            to_read: *mut u64,
            to_write: *mut u64,
            others: *mut u64,
            $($more: $kind),*
        ) -> c_int {
            for set in [to_read, to_write, others] {
                // SAFETY: the caller's sets.
                unsafe { before_set(set, count) };
            }
            real!($name(
                count => c_int, to_read => *mut u64, to_write => *mut u64, others => *mut u64,
                $($more => $kind),*
            ) -> c_int, -1)
        }
    )*};
}

selects! {
    select(patience: *mut c_void);
    pselect(patience: *const c_void, mask: *const c_void);
}

macro_rules! polls {
    ($($name:ident($($more:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            all: *mut libc::pollfd,
            count: libc::nfds_t,
            $($more: $kind),*
        ) -> c_int {
            if !descriptors::numbers().is_empty() && !all.is_null() {
                for at in 0..count as usize {
                    // SAFETY: the caller's array has that many elements.
                    descriptors::make_real(unsafe { (*all.add(at)).fd });
                }
            }
            real!($name(
                all => *mut libc::pollfd, count => libc::nfds_t, $($more => $kind),*
            ) -> c_int, -1)
        }
    )*};
}

polls! {
    poll(patience: c_int);
    __poll_chk(patience: c_int, room: usize);
    ppoll(patience: *const c_void, mask: *const c_void);
    __ppoll_chk(patience: *const c_void, mask: *const c_void, room: usize);
}

/// Makes the descriptors real that a message passes on.
///
/// # Safety
/// As sendmsg(2).
unsafe fn before_message(message: *const libc::msghdr) {
    if descriptors::numbers().is_empty() || message.is_null() {
        return;
    }
    // SAFETY: the caller's message points to buffers of the lengths that it states.
    unsafe {
        before_address((*message).msg_name, (*message).msg_namelen);
        let mut part = libc::CMSG_FIRSTHDR(message);
        while !part.is_null() {
            let head = &*part;
            if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_RIGHTS {
                let bytes = head.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let first: *const c_int = libc::CMSG_DATA(part).cast();
                for at in 0..bytes / size_of::<c_int>() {
                    descriptors::make_real(first.add(at).read_unaligned());
                }
            }
            part = libc::CMSG_NXTHDR(message, part);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    descriptors::make_real(fd);
    // SAFETY: the caller's message.
    unsafe { before_message(message) };
    real!(sendmsg(fd => c_int, message => *const libc::msghdr, flags => c_int) -> isize, -1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    descriptors::make_real(fd);
    for at in 0..count as usize {
        // SAFETY: the caller's array has that many elements.
        unsafe { before_message(&raw const (*messages.add(at)).msg_hdr) };
    }
    real!(sendmmsg(
        fd => c_int, messages => *mut libc::mmsghdr, count => c_uint, flags => c_int,
    ) -> c_int, -1)
}

/// Makes the descriptor real that a socket's path names.
///
/// # Safety
/// `address` is NULL, or an address of that length.
unsafe fn before_address(address: *const c_void, length: c_uint) {
    const FAMILY_BYTES: usize = size_of::<libc::sa_family_t>();
    let length = length as usize;
    if descriptors::numbers().is_empty() || address.is_null() || length <= FAMILY_BYTES {
        return;
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let family: libc::sa_family_t = address.cast::<libc::sa_family_t>().read_unaligned();
        if c_int::from(family) == libc::AF_UNIX {
            let path = address.cast::<u8>().add(FAMILY_BYTES);
            let path = std::slice::from_raw_parts(path, length - FAMILY_BYTES);
            let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
            descriptors::before_name(path);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const c_void, length: c_uint) -> c_int {
    descriptors::make_real(fd);
    // SAFETY: the caller's address.
    unsafe { before_address(address, length) };
    real!(connect(fd => c_int, address => *const c_void, length => c_uint) -> c_int, -1)
}

/// bind(2), which may create a socket's file.
#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, address: *const c_void, length: c_uint) -> c_int {
    descriptors::make_real(fd);
    // SAFETY: the caller's address.
    unsafe { before_address(address, length) };
    page::change();
    let code = real!(bind(fd => c_int, address => *const c_void, length => c_uint) -> c_int, -1);
    page::change();
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    size: usize,
    flags: c_int,
    address: *const c_void,
    length: c_uint,
) -> isize {
    descriptors::make_real(fd);
    // SAFETY: the caller's address.
    unsafe { before_address(address, length) };
    real!(sendto(
        fd => c_int, from => *const c_void, size => usize, flags => c_int,
        address => *const c_void, length => c_uint,
    ) -> isize, -1)
}

/// Makes the descriptor of an aio(7) request real.
///
/// # Safety
/// `request` is NULL, or a valid request.
unsafe fn before_request(request: *const libc::aiocb) {
    if !request.is_null() {
        // SAFETY: guaranteed by the caller.
        descriptors::make_real(unsafe { (*request).aio_fildes });
    }
}

macro_rules! requests {
    ($($name:ident($($before:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($before: $kind,)* request: *mut libc::aiocb) -> c_int {
            // SAFETY: the caller's request.
            unsafe { before_request(request) };
            real!($name($($before => $kind,)* request => *mut libc::aiocb) -> c_int, -1)
        }
    )*};
}

requests! {
    aio_read();
    aio_read64();
    aio_write();
    aio_write64();
    aio_fsync(operation: c_int);
    aio_fsync64(operation: c_int);
}

macro_rules! lists {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            mode: c_int,
            all: *const *mut libc::aiocb,
            count: c_int,
            event: *mut c_void,
        ) -> c_int {
            for at in 0..usize::try_from(count).unwrap_or(0) {
                // SAFETY: the caller's array has that many elements.
                unsafe { before_request(*all.add(at)) };
            }
            real!($name(
                mode => c_int, all => *const *mut libc::aiocb, count => c_int, event => *mut c_void,
            ) -> c_int, -1)
        }
    )*};
}

lists!(lio_listio lio_listio64);

/// Called before the limit on descriptors changes: virtual numbers may be too high afterwards.
fn before_limit(resource: c_int, is_set: bool) {
    if resource == libc::RLIMIT_NOFILE as c_int && is_set && !descriptors::numbers().is_empty() {
        descriptors::end();
    }
}

macro_rules! limits {
    ($($name:ident $of_others:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(resource: c_int, new: *const c_void) -> c_int {
            before_limit(resource, true);
            real!($name(resource => c_int, new => *const c_void) -> c_int, -1)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $of_others(
            process: c_int,
            resource: c_int,
            new: *const c_void,
            old: *mut c_void,
        ) -> c_int {
            before_limit(resource, !new.is_null());
            real!($of_others(
                process => c_int, resource => c_int, new => *const c_void, old => *mut c_void,
            ) -> c_int, -1)
        }
    )*};
}

limits! {
    setrlimit prlimit;
    setrlimit64 prlimit64;
}
