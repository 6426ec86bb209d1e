//! A descriptor that becomes readable at an interval.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::error::{Errno, Named, Op, SysError};

/// Returns the interval at which the kernel's coarse clocks advance: the time between two timer ticks.
///
/// Source: `CLOCK_MONOTONIC_COARSE`, <https://man7.org/linux/man-pages/man2/clock_getres.2.html>
#[must_use]
pub fn tick() -> Duration {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let seconds = u64::try_from(tick.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(tick.tv_nsec).unwrap_or(0))
}

/// A timer based on the monotonic clock.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// Makes a timer that expires every `interval` (at least one nanosecond), first after one
    /// interval.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/timerfd_create.2.html>
    pub fn every(interval: Duration) -> Result<Self, SysError> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags).named(Op::TimerfdCreate)?;
        let interval = interval.max(Duration::from_nanos(1));
        let time = Timespec {
            tv_sec: i64::try_from(interval.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: interval.subsec_nanos().into(),
        };
        let times = Itimerspec {
            it_interval: time,
            it_value: time,
        };
        timerfd_settime(&fd, TimerfdTimerFlags::empty(), &times).named(Op::TimerfdSettime)?;
        Ok(Timer(fd))
    }

    /// Returns true if the timer has expired since the last call; never waits.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/timerfd_create.2.html>
    pub fn went_off(&self) -> Result<bool, SysError> {
        let mut count = [0; 8];
        match rustix::io::read(&self.0, &mut count) {
            Ok(_) => Ok(true),
            Err(errno) if Errno::from(errno) == Errno::WOULDBLOCK => Ok(false),
            Err(errno) => Err(SysError::new(Op::Read, errno)),
        }
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_off_once_an_interval() {
        let soon = Timer::every(Duration::from_millis(1)).unwrap();
        while !soon.went_off().unwrap() {
            std::thread::yield_now();
        }
        let late = Timer::every(Duration::from_secs(3600)).unwrap();
        assert_eq!(late.went_off(), Ok(false));
    }
}
