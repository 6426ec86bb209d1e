//! Asks the service for a table. A connection a question: no descriptor of ours stays open in the
//! program.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use trawl_table::wire::{ANSWER_BYTES, Answer, QUESTION_BYTES_MAX, Question};

use crate::kernel::{self, Own};
use crate::settings;

/// No table is longer.
const TABLE_BYTES_MAX: u64 = 1 << 32;
/// A service that says nothing for so long is not waited for.
const PATIENCE_SECONDS: i64 = 10;

/// A table's memory.
pub(crate) struct Mapped {
    pub(crate) at: *mut u8,
    pub(crate) length: usize,
}

/// Asks; `None` if there is no table.
pub(crate) fn ask(question: &Question<'_>) -> Option<Mapped> {
    let socket = connect()?;
    let mut space = [0; QUESTION_BYTES_MAX];
    let bytes = question.encode(&mut space)?;
    // SAFETY: the bytes are there; the service's end may be gone, which is no signal then.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.0,
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            std::ptr::null::<c_void>(),
            0 as libc::c_long,
        )
    };
    if usize::try_from(sent) != Ok(bytes.len()) {
        return None;
    }
    let (answer, memory) = receive(socket.0)?;
    let Answer::Table(length) = Answer::decode(&answer)? else {
        return None;
    };
    map(&memory?, length)
}

fn connect() -> Option<Own> {
    let path = settings::socket();
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: numbers.
    let fd = unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, kind, 0) };
    let socket = Own(c_int::try_from(fd).ok().filter(|fd| *fd >= 0)?);
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = *from as libc::c_char;
    }
    let patience = libc::timeval {
        tv_sec: PATIENCE_SECONDS,
        tv_usec: 0,
    };
    // SAFETY: the option's value and the address have the lengths that are given.
    let code = unsafe {
        libc::syscall(
            libc::SYS_setsockopt,
            socket.0,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            &raw const patience,
            size_of::<libc::timeval>(),
        );
        libc::syscall(
            libc::SYS_connect,
            socket.0,
            &raw const address,
            size_of::<libc::sockaddr_un>(),
        )
    };
    (code == 0 && is_trusted(socket.0)).then_some(socket)
}

/// Whether the service is of the same user, or the superuser's.
fn is_trusted(socket: c_int) -> bool {
    let mut peer = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the value has the length that is given.
    let code = unsafe {
        libc::syscall(
            libc::SYS_getsockopt,
            socket,
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            &raw mut peer,
            &raw mut length,
        )
    };
    code == 0 && (peer.uid == settings::user() || peer.uid == 0)
}

/// Room for one descriptor, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

fn receive(socket: c_int) -> Option<([u8; ANSWER_BYTES], Option<Own>)> {
    let mut answer = [0; ANSWER_BYTES];
    let mut part = libc::iovec {
        iov_base: answer.as_mut_ptr().cast(),
        iov_len: ANSWER_BYTES,
    };
    let mut control = Control([0; 64]);
    // SAFETY: zeroes are an empty message.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_WAITALL;
    // SAFETY: the message points to what is here, with its lengths.
    let got = unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut message, flags) };
    let memory = descriptor(&message);
    (usize::try_from(got) == Ok(ANSWER_BYTES)).then_some((answer, memory))
}

/// The descriptor that came with a message.
fn descriptor(message: &libc::msghdr) -> Option<Own> {
    // SAFETY: the kernel has written whole headers within the length that it gave.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(message);
        if head.is_null() || (*head).cmsg_level != libc::SOL_SOCKET {
            return None;
        }
        let is_one = (*head).cmsg_type == libc::SCM_RIGHTS
            && (*head).cmsg_len >= libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
        is_one.then(|| Own(libc::CMSG_DATA(head).cast::<c_int>().read_unaligned()))
    }
}

/// Maps a table that nobody can change or shorten any more.
fn map(memory: &Own, length: u64) -> Option<Mapped> {
    let sealed = libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK;
    let seals = kernel::fcntl(memory.0, libc::F_GET_SEALS, 0).ok()?;
    let of = kernel::fstat(memory.0)?;
    let is_long = u64::try_from(of.st_size).ok()? >= length && length < TABLE_BYTES_MAX;
    if seals & sealed != sealed || !is_long || length == 0 {
        return None;
    }
    let length = usize::try_from(length).ok()?;
    let at = kernel::map(memory.0, length, libc::PROT_READ)?;
    Some(Mapped { at, length })
}
