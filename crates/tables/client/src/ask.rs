//! Asks the service for a table. Each question uses its own connection, so that no descriptor of
//! ours stays open in the program.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use trawl_table::wire::{ANSWER_BYTES, Answer, QUESTION_BYTES_MAX, Question, STARTED};

use crate::kernel::{self, Own};

/// Maximum length of a table.
const TABLE_BYTES_MAX: u64 = 1 << 32;
/// Time limit for the service's answer.
const PATIENCE_SECONDS: i64 = 10;

/// A table's memory, which stays mapped until it is unmapped explicitly.
#[derive(Debug)]
pub struct Mapped {
    /// Its address.
    pub at: *mut u8,
    /// Its length in bytes.
    pub length: usize,
}

/// Asks the service at a socket, if the service runs as this user or the superuser; `None` if there
/// is no table.
pub fn ask(socket: &[u8], user: u32, question: &Question<'_>) -> Option<Mapped> {
    let socket = connect(socket, user, Wait::Patient)?;
    let mut space = [0; QUESTION_BYTES_MAX];
    let bytes = question.encode(&mut space)?;
    if !kernel::send(socket.0, bytes) {
        return None;
    }
    let (answer, memory) = receive(socket.0)?;
    let Answer::Table(length) = Answer::decode(&answer)? else {
        return None;
    };
    map(&memory?, length)
}

/// Tells the service at a socket that this program has started, if the service runs as this user or
/// the superuser. Waits for nothing: a service that is busy is not told.
pub fn tell_start(socket: &[u8], user: u32) {
    if let Some(socket) = connect(socket, user, Wait::Never) {
        kernel::send(socket.0, &STARTED);
    }
}

/// How long a connection may be waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Patient,
    Never,
}

fn connect(path: &[u8], user: u32, wait: Wait) -> Option<Own> {
    let kind = match wait {
        Wait::Patient => libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
        Wait::Never => libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
    };
    let socket = kernel::socket(libc::AF_UNIX, kind)?;
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = *from as libc::c_char;
    }
    if wait == Wait::Patient {
        kernel::be_patient(socket.0, PATIENCE_SECONDS);
    }
    if !kernel::connect(socket.0, &address) {
        return None;
    }
    let is_trusted = |peer: u32| peer == user || peer == 0;
    kernel::peer_user(socket.0)
        .is_some_and(is_trusted)
        .then_some(socket)
}

/// Room for one descriptor, aligned as the kernel requires.
#[repr(C, align(8))]
struct Control([u8; 64]);

fn receive(socket: c_int) -> Option<([u8; ANSWER_BYTES], Option<Own>)> {
    let mut answer = [0; ANSWER_BYTES];
    let mut part = libc::iovec {
        iov_base: answer.as_mut_ptr().cast(),
        iov_len: ANSWER_BYTES,
    };
    let mut control = Control([0; 64]);
    // SAFETY: all zeros are an empty message.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_WAITALL;
    // SAFETY: the message points to buffers in this function, with their lengths.
    let got = unsafe { kernel::receive(socket, &raw mut message, flags) };
    let memory = descriptor(&message);
    (got == Some(ANSWER_BYTES)).then_some((answer, memory))
}

/// Returns the descriptor that came with a message.
fn descriptor(message: &libc::msghdr) -> Option<Own> {
    // SAFETY: the kernel has written complete headers within the length that it returned.
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

/// Maps a table whose seals prevent changes and truncation.
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
