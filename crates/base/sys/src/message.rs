//! Messages to and from a local socket, with descriptors; a service reports its state to its manager
//! with them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::error::{Named, Op, SysError};

/// Sends a message on a connected socket, with a copy of a descriptor if one is given.
///
/// Source: <https://man7.org/linux/man-pages/man2/sendmsg.2.html>
pub fn send(
    socket: impl AsFd,
    text: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), SysError> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    sendmsg(
        socket,
        &[IoSlice::new(text)],
        &mut control,
        SendFlags::NOSIGNAL,
    )
    .named(Op::Sendmsg)?;
    Ok(())
}

/// Receives a message, or what fits into `text`, and the descriptor that came with it. Returns the
/// number of bytes: 0 if the other end is closed.
///
/// Source: <https://man7.org/linux/man-pages/man2/recvmsg.2.html>
pub fn receive(socket: impl AsFd, text: &mut [u8]) -> Result<(usize, Option<OwnedFd>), SysError> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut parts = [IoSliceMut::new(text)];
        match recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other.named(Op::Recvmsg)?,
        }
    };
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok((received.bytes, descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_descriptor_arrives_with_its_message() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, b"hello").unwrap();
        send(&ours, b"take it", Some(file.as_fd())).unwrap();
        send(&ours, b"nothing", None).unwrap();
        let mut text = [0; 7];
        let (length, descriptor) = receive(&theirs, &mut text).unwrap();
        assert_eq!(&text[..length], b"take it");
        let mut copy = std::fs::File::from(descriptor.unwrap());
        std::io::Seek::rewind(&mut copy).unwrap();
        let mut read = String::new();
        copy.read_to_string(&mut read).unwrap();
        assert_eq!(read, "hello");
        let (length, descriptor) = receive(&theirs, &mut text).unwrap();
        assert!(descriptor.is_none() && &text[..length] == b"nothing");
        drop(ours);
        assert_eq!(receive(&theirs, &mut text).unwrap().0, 0);
    }
}
