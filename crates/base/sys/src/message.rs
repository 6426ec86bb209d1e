//! Datagrams to a local socket, with descriptors; a service reports its state to its manager with
//! them.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::IoSlice;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::error::{Named, Op, SysError};

/// Sends a message on a connected datagram socket, with a copy of a descriptor if one is given.
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
