//! Where the bytes of an object are held: small objects in a file in memory, larger ones in a
//! socket, through which a thread sends them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{SendFlags, send};

use super::client::Body;
use crate::error::WebError;

/// Stack size of the thread that sends a stream; it needs little.
const STACK_BYTES: usize = 256 << 10;

/// Number of bytes that are passed on at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Returns a file in memory that holds these bytes, at offset 0. It cannot be changed any more.
///
/// # Errors
/// [`WebError::Hold`].
pub(crate) fn in_memory(bytes: &[u8]) -> Result<File, WebError> {
    let file = trawl_sys::file::sealed(c"trawl-object", bytes);
    file.map_err(|error| WebError::Hold(io::Error::from_raw_os_error(error.errno.0)))
}

/// Returns the end of a stream that gives these bytes and then the rest of the body.
///
/// The stream is a socket, not a pipe: a pipe cannot tell a body that broke off from one that
/// ended. A socket can (unix(7)): when an end is closed that has not read everything, the other one
/// gets `ECONNRESET`, after all bytes that were sent. So one byte is laid before the sender, which
/// it reads only when the whole body was sent.
///
/// # Errors
/// [`WebError::Hold`].
pub(crate) fn as_stream(head: Vec<u8>, body: Body) -> Result<File, WebError> {
    let start = || -> io::Result<File> {
        let (mut ours, theirs) = UnixStream::pair()?;
        ours.write_all(b"!")?;
        std::thread::Builder::new()
            .name("trawl-web".into())
            .stack_size(STACK_BYTES)
            .spawn(move || pass_on(theirs, &head, body))?;
        Ok(File::from(OwnedFd::from(ours)))
    };
    start().map_err(WebError::Hold)
}

/// Sends everything. The reader sees an error if this ends before the body does.
fn pass_on(mut to: UnixStream, head: &[u8], mut body: Body) {
    let mut piece = vec![0; PIECE_BYTES];
    if send_all(&to, head).is_err() {
        return;
    }
    loop {
        match body.read_some(&mut piece) {
            Ok(0) => break,
            // The reader has closed its end, which is its right.
            Ok(count) if send_all(&to, &piece[..count]).is_err() => return,
            Ok(_) => {}
            Err(_) => return,
        }
    }
    let _ = to.read_exact(&mut [0]);
}

/// Sends bytes without a signal where the reader is gone: the process may be a foreign one.
fn send_all(to: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(to, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
