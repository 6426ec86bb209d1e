//! Messages with descriptors between processes: of a server, to a parser, to a service manager.
//!
//! Source: `SCM_RIGHTS`, <https://man7.org/linux/man-pages/man7/unix.7.html>

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};

/// Whether a call may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It may.
    Allowed,
    /// It fails with `WouldBlock`.
    Never,
}

/// Creates a connected pair of sockets that preserves message boundaries (`SOCK_SEQPACKET`).
///
/// # Errors
/// Fails if there are too many descriptors.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Ok(socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message on a connected socket, with a copy of a descriptor if one is given.
///
/// # Errors
/// Fails if the other end is closed, or (`WouldBlock`) if the call would have to wait.
pub fn send(
    to: impl AsFd,
    bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
    waiting: Waiting,
) -> io::Result<()> {
    let mut flags = SendFlags::NOSIGNAL;
    flags.set(SendFlags::DONTWAIT, waiting == Waiting::Never);
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    let one = descriptor.map(|descriptor| [descriptor]);
    if let Some(one) = &one {
        control.push(SendAncillaryMessage::ScmRights(one));
    }
    loop {
        match sendmsg(&to, &[IoSlice::new(bytes)], &mut control, flags) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Receives a message. Returns its length (0 at the end), and the descriptor that came with it.
///
/// # Errors
/// Fails if the message is longer than the buffer. If the call may not wait and no message has
/// arrived, the error is `WouldBlock`.
pub fn receive(
    from: impl AsFd,
    buffer: &mut [u8],
    waiting: Waiting,
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut flags = RecvFlags::CMSG_CLOEXEC;
    flags.set(RecvFlags::DONTWAIT, waiting == Waiting::Never);
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let received = loop {
        match recvmsg(&from, &mut [IoSliceMut::new(buffer)], &mut control, flags) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok((0, None)),
            received => break received?,
        }
    };
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            descriptor = descriptors.last();
        }
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(io::Error::other("a message is too long"));
    }
    Ok((received.bytes, descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn messages_and_descriptors_arrive() {
        let (one, two) = pair().unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        send(&one, b"hello", Some(theirs.as_fd()), Waiting::Never).unwrap();
        send(&one, b"again", None, Waiting::Never).unwrap();
        drop(theirs);
        let mut buffer = [0; 64];
        let (length, descriptor) = receive(&two, &mut buffer, Waiting::Never).unwrap();
        assert_eq!(&buffer[..length], b"hello");
        let mut theirs = UnixStream::from(descriptor.unwrap());
        ours.write_all(b"x").unwrap();
        theirs.read_exact(&mut buffer[..1]).unwrap();
        assert_eq!(buffer[0], b'x');
        let (length, descriptor) = receive(&two, &mut buffer, Waiting::Never).unwrap();
        assert_eq!((length, descriptor.is_none()), (5, true));
        let nothing = receive(&two, &mut buffer, Waiting::Never).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        send(&one, &[0; 65], None, Waiting::Never).unwrap();
        assert!(receive(&two, &mut buffer, Waiting::Never).is_err());
        drop(one);
        let is_end = |received: io::Result<_>| matches!(received, Ok((0, None)));
        assert!(crate::soon(|| {
            is_end(receive(&two, &mut buffer, Waiting::Never))
        }));
    }
}
