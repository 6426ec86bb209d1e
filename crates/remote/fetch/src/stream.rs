//! Hands on a member that is too large to be held in memory, while it is being fetched.
//!
//! A thread requests one piece after the other and writes them into a socket, whose other end is
//! the member's descriptor. Memory per stream: two pieces and the socket's buffer.
//!
//! A pipe could only end: a reader would take a file whose rest cannot be fetched for a short one.
//! A Unix socket whose end is closed while bytes to it are unread reports `ECONNRESET` to the other
//! end, after the bytes that were sent (unix(7)). So a byte is sent to the thread's end first, which
//! the thread reads only when the file is complete.
//!
//! The stream has a connection of its own, so that it continues when the set is closed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::SendFlags;
use trawl_remote::Remote;
use trawl_remote::client::Fetched as Piece;

use crate::member::{is_same, piece_bytes};

/// Returns a descriptor from which the whole file can be read; `first` is its first piece.
pub(crate) fn begin(remote: Remote, path: Vec<u8>, first: Piece) -> io::Result<File> {
    let (ours, mut theirs) = UnixStream::pair()?;
    theirs.write_all(b"!")?;
    // What fits is there before the member is delivered.
    let sent = match rustix::net::send(
        &ours,
        &first.bytes,
        SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
    ) {
        Ok(sent) => sent,
        Err(rustix::io::Errno::AGAIN) => 0,
        Err(errno) => return Err(errno.into()),
    };
    let thread = std::thread::Builder::new().name("stream".to_owned());
    thread.spawn(move || {
        // On failure the socket is closed with the byte unread, which the reader sees.
        if feed(&ours, &remote, &path, &first, sent).is_some() {
            let _ = (&ours).read_exact(&mut [0]);
        }
    })?;
    Ok(File::from(OwnedFd::from(theirs)))
}

/// Writes the file; `None` if that fails, or nobody reads it any more.
fn feed(to: &UnixStream, remote: &Remote, path: &[u8], first: &Piece, sent: usize) -> Option<()> {
    write(to, &first.bytes[sent..])?;
    let size = first.version.attributes.size;
    let mut at = first.bytes.len() as u64;
    while at < size {
        let piece = remote.fetch(path, at, piece_bytes(size - at)).ok()?;
        if !is_same(&first.version, &piece.version) || piece.bytes.is_empty() {
            return None;
        }
        write(to, &piece.bytes)?;
        at += piece.bytes.len() as u64;
    }
    Some(())
}

fn write(to: &UnixStream, bytes: &[u8]) -> Option<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::net::send(to, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = rest.get(sent..)?,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}
