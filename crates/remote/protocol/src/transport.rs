//! Byte streams that carry frames: a sending and a receiving half, each with a limit on waiting.
//! This module implements them for descriptors (sockets, pipes); any other stream, such as TLS,
//! only has to implement the two traits.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::net::{RecvFlags, SendFlags};

/// Receives bytes.
pub trait Receive: Send + Debug {
    /// Reads some bytes into the buffer and returns their number; 0 at the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if no byte arrives in time; any error that breaks the
    /// connection.
    fn receive(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<usize>;
}

/// Sends bytes.
pub trait Transmit: Send + Debug {
    /// Sends some of the bytes and returns their number.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if no byte can be sent in time; any error that breaks the
    /// connection.
    fn transmit(&mut self, bytes: &[u8], wait: Duration) -> io::Result<usize>;
}

/// Both directions of a connection.
#[derive(Debug)]
pub struct Transport {
    /// The receiving half.
    pub receive: Box<dyn Receive>,
    /// The sending half.
    pub transmit: Box<dyn Transmit>,
}

impl Transport {
    /// Creates a transport over two descriptors, or over one descriptor given twice.
    ///
    /// # Errors
    /// Fails if the descriptors cannot be used.
    pub fn over(input: OwnedFd, output: OwnedFd) -> io::Result<Transport> {
        Ok(Transport {
            receive: Box::new(Descriptor::new(input)?),
            transmit: Box::new(Descriptor::new(output)?),
        })
    }

    /// Creates a transport over a connected socket.
    ///
    /// # Errors
    /// Fails if there are too many open descriptors.
    pub fn over_socket(socket: OwnedFd) -> io::Result<Transport> {
        let output = socket.try_clone()?;
        Transport::over(socket, output)
    }
}

/// The kind of a descriptor, and the state to restore.
#[derive(Debug)]
enum Kind {
    Socket,
    /// A pipe or another file, with its original flags.
    Other(OFlags),
}

/// A descriptor on which no call waits longer than allowed.
#[derive(Debug)]
struct Descriptor {
    fd: OwnedFd,
    kind: Kind,
}

impl Descriptor {
    fn new(fd: OwnedFd) -> io::Result<Descriptor> {
        let is_socket = FileType::from_raw_mode(fstat(&fd)?.st_mode) == FileType::Socket;
        let kind = match is_socket {
            true => Kind::Socket,
            false => {
                let before = fcntl_getfl(&fd)?;
                fcntl_setfl(&fd, before | OFlags::NONBLOCK)?;
                Kind::Other(before)
            }
        };
        Ok(Descriptor { fd, kind })
    }

    /// Waits until the descriptor is ready; fails if that takes too long.
    fn wait(&self, flags: PollFlags, wait: Duration) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        let mut asked = [PollFd::from_borrowed_fd(self.fd.as_fd(), flags)];
        match poll(&mut asked, Some(&timeout)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Kind::Other(before) = self.kind {
            let _ = fcntl_setfl(&self.fd, before);
        }
    }
}

/// Returns whether an error only says that nothing can be done right now.
fn is_not_yet(errno: rustix::io::Errno) -> bool {
    errno == rustix::io::Errno::AGAIN || errno == rustix::io::Errno::INTR
}

impl Receive for Descriptor {
    fn receive(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<usize> {
        // An interruption by a signal does not restart the wait.
        let until = Instant::now() + wait;
        loop {
            self.wait(
                PollFlags::IN,
                until.saturating_duration_since(Instant::now()),
            )?;
            let received = match self.kind {
                Kind::Socket => rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::DONTWAIT)
                    .map(|(_, length)| length.min(buffer.len())),
                Kind::Other(_) => rustix::io::read(&self.fd, &mut *buffer),
            };
            match received {
                Err(errno) if is_not_yet(errno) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(0),
                other => return Ok(other?),
            }
        }
    }
}

impl Transmit for Descriptor {
    fn transmit(&mut self, bytes: &[u8], wait: Duration) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let until = Instant::now() + wait;
        loop {
            let sent = match self.kind {
                Kind::Socket => rustix::net::send(&self.fd, bytes, flags),
                Kind::Other(_) => rustix::io::write(&self.fd, bytes),
            };
            match sent {
                Err(errno) if is_not_yet(errno) => {
                    let left = until.saturating_duration_since(Instant::now());
                    self.wait(PollFlags::OUT, left)?;
                }
                other => return Ok(other?),
            }
        }
    }
}
