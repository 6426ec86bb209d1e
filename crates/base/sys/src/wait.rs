//! Waiting for descriptors, and waking a waiting thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};

use crate::error::{Errno, Named, Op, SysError};

/// Waits until a descriptor is readable without blocking, its other end is closed, or the timeout
/// expires (`None`: no timeout). Returns which descriptors are ready, in the given order; all are
/// false if a signal ended the wait.
///
/// Source: <https://man7.org/linux/man-pages/man2/poll.2.html>
pub fn readable<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> Result<[bool; N], SysError> {
    let mut asked = descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let timeout = timeout.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    match poll(&mut asked, timeout.as_ref()) {
        Ok(_) => Ok(asked.map(|one| !one.revents().is_empty())),
        Err(errno) if Errno::from(errno) == Errno::INTR => Ok([false; N]),
        Err(errno) => Err(SysError::new(Op::Poll, errno)),
    }
}

/// Returns true if the other end of a connected socket is closed (`POLLHUP`) or the socket has
/// failed (`POLLERR`).
///
/// Source: `POLLHUP`, <https://man7.org/linux/man-pages/man2/poll.2.html>
#[must_use]
pub fn is_hung_up(socket: impl AsFd) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let gone = PollFlags::HUP | PollFlags::ERR;
    poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().intersects(gone)
}

/// Returns true if the kernel reports a change of one of its own files (`POLLPRI`, `POLLERR`). For
/// the mount table, that is a change since the last call with the same open file. Also returns true
/// if a signal interrupts the call.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_mounts.5.html>
///
/// # Errors
/// Returns the errors of poll(2).
pub fn has_news(file: impl AsFd) -> Result<bool, SysError> {
    let mut asked = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::PRI)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut asked, Some(&at_once)) {
        Ok(_) => Ok(!asked[0].revents().is_empty()),
        Err(errno) if Errno::from(errno) == Errno::INTR => Ok(true),
        Err(errno) => Err(SysError::new(Op::Poll, errno)),
    }
}

/// A set of descriptors to wait for as one: it is readable when one of them is ready.
#[derive(Debug)]
pub struct Either(OwnedFd);

impl Either {
    /// Makes a set of a descriptor that becomes readable and one that has news ([`has_news`]); news
    /// is reported once.
    ///
    /// Source: <https://man7.org/linux/man-pages/man7/epoll.7.html>
    ///
    /// # Errors
    /// Returns the errors of epoll_create(2) and epoll_ctl(2).
    pub fn new(readable: impl AsFd, with_news: impl AsFd) -> Result<Self, SysError> {
        let both = epoll::create(epoll::CreateFlags::CLOEXEC).named(Op::Epoll)?;
        let nothing = epoll::EventData::new_u64(0);
        epoll::add(&both, readable, nothing, epoll::EventFlags::IN).named(Op::Epoll)?;
        epoll::add(&both, with_news, nothing, epoll::EventFlags::PRI).named(Op::Epoll)?;
        Ok(Either(both))
    }

    /// Adds a descriptor that becomes readable, until it is closed. Does nothing if it is already
    /// in the set.
    ///
    /// # Errors
    /// Returns the errors of epoll_ctl(2).
    pub fn also(&self, readable: impl AsFd) -> Result<(), SysError> {
        let nothing = epoll::EventData::new_u64(0);
        match epoll::add(&self.0, readable, nothing, epoll::EventFlags::IN) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            added => added.named(Op::Epoll),
        }
    }
}

impl AsFd for Either {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Wakes a thread that waits in [`readable`].
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Makes a waker that is not signalled.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/eventfd.2.html>
    pub fn new() -> Result<Self, SysError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        eventfd(0, flags).map(Waker).named(Op::Eventfd)
    }

    /// Makes the descriptor readable. If the counter is full, it already is.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable again.
    pub fn reset(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_woken_wakes_until_it_is_reset() {
        let (one, two) = (Waker::new().unwrap(), Waker::new().unwrap());
        let look = || readable([one.as_fd(), two.as_fd()], Some(Duration::ZERO)).unwrap();
        assert_eq!(look(), [false, false]);
        two.wake();
        two.wake();
        assert_eq!(look(), [false, true]);
        two.reset();
        assert_eq!(look(), [false, false]);
    }

    #[test]
    fn a_closed_end_is_noticed() {
        let (one, two) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(!is_hung_up(&one));
        drop(two);
        assert!(crate::soon(|| is_hung_up(&one)));
    }
}
