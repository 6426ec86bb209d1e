//! The desks: a process for each user and set of groups that asked lately.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use trawl_sys::become_user::User;
use trawl_sys::command::spawn_as;
use trawl_sys::message::{Waiting, pair, send};

use crate::limits::DESKS;

/// Time without questions after which a desk is told to end: longer than an answer is kept that can be
/// continued.
const IDLE: Duration = Duration::from_secs(180);

/// Time that a desk has for the answers that it still gives.
const FAREWELL: Duration = Duration::from_secs(60 * 60);

/// Time that desks have when the service ends.
const LAST: Duration = Duration::from_secs(5);

/// What a desk is started with.
#[derive(Clone, Debug)]
pub struct Work {
    /// This program.
    pub program: PathBuf,
    /// Its words.
    pub words: Vec<OsString>,
}

#[derive(Debug)]
struct Hired {
    child: Child,
    control: OwnedFd,
    asked: Instant,
}

/// All desks.
#[derive(Debug)]
pub struct Staff {
    work: Work,
    hired: HashMap<User, Hired>,
    /// Desks that were told to end, and when.
    leaving: Vec<(Child, Instant)>,
}

impl Staff {
    /// Returns no desks.
    pub fn new(work: Work) -> Staff {
        Staff {
            work,
            hired: HashMap::new(),
            leaving: Vec::new(),
        }
    }

    /// Returns a connection to the desk of a user with exactly these groups.
    ///
    /// # Errors
    /// Fails if no desk can be started.
    pub fn connect(&mut self, user: &User, now: Instant) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        if let Some(hired) = self.hired.get_mut(user) {
            hired.asked = now;
            match send(&hired.control, b"ask", Some(theirs.as_fd()), Waiting::Never) {
                Ok(()) => return Ok(ours.into()),
                // It has ended, or its user, who may trace it, has stopped it or closed its socket.
                Err(_) => drop(hired.child.kill()),
            }
            self.dismiss(user);
        }
        if self.leaving.len() >= DESKS {
            return Err(io::Error::other("too many processes are about to end"));
        }
        if self.hired.len() >= DESKS {
            let oldest = self.hired.iter().min_by_key(|(_, hired)| hired.asked);
            if let Some(oldest) = oldest.map(|(user, _)| user.clone()) {
                self.dismiss(&oldest);
            }
        }
        let (control, their_control) = pair()?;
        let mut child = spawn_as(user, &self.work.program, &self.work.words, their_control)?;
        if let Err(error) = send(&control, b"ask", Some(theirs.as_fd()), Waiting::Never) {
            let _ = child.kill();
            self.leaving.push((child, now));
            return Err(error);
        }
        let hired = Hired {
            child,
            control,
            asked: now,
        };
        self.hired.insert(user.clone(), hired);
        Ok(ours.into())
    }

    /// Lets a desk end once its answers are given, by closing its control socket.
    fn dismiss(&mut self, user: &User) {
        if let Some(hired) = self.hired.remove(user) {
            self.leaving.push((hired.child, Instant::now()));
        }
    }

    /// Dismisses desks that nobody asks, and reaps those that have ended.
    pub fn tidy(&mut self, now: Instant) {
        let mut idle: Vec<User> = Vec::new();
        for (user, hired) in &mut self.hired {
            let is_idle = now.saturating_duration_since(hired.asked) > IDLE;
            if is_idle || !matches!(hired.child.try_wait(), Ok(None)) {
                idle.push(user.clone());
            }
        }
        for user in idle {
            self.dismiss(&user);
        }
        self.leaving.retain_mut(|(child, since)| {
            if now.saturating_duration_since(*since) > FAREWELL {
                let _ = child.kill();
            }
            matches!(child.try_wait(), Ok(None))
        });
    }

    /// Ends all desks, which end what they have started once nobody waits for an answer. What is left
    /// after a while is killed.
    pub fn end(&mut self) {
        // Without its control socket, a desk ends after its last connection.
        let hired = self.hired.drain().map(|(_, hired)| hired.child);
        let leaving = self.leaving.drain(..).map(|(child, _)| child);
        let mut left: Vec<Child> = hired.chain(leaving).collect();
        let begun = Instant::now();
        while !left.is_empty() && begun.elapsed() < LAST {
            left.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            std::thread::sleep(Duration::from_millis(10));
        }
        for mut child in left {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_sys::identity::{effective_gid, effective_uid, groups};

    /// A desk belongs to its user, who may trace it and close its sockets.
    #[test]
    fn a_desk_that_closes_its_socket_does_not_live_on() {
        let own = User {
            uid: effective_uid(),
            gid: effective_gid(),
            groups: groups().unwrap(),
        };
        let script = "exec 0<&- 1>&-; exec sleep 1000";
        let mut staff = Staff::new(Work {
            program: "/bin/sh".into(),
            words: ["-c", script].map(OsString::from).into(),
        });
        let begun = Instant::now();
        while staff.leaving.is_empty() {
            // It fails if the desk was quicker.
            let _ = staff.connect(&own, begun);
            std::thread::sleep(Duration::from_millis(5));
        }
        while !staff.leaving.is_empty() {
            staff.tidy(begun);
            assert!(begun.elapsed() < Duration::from_secs(60), "it lives on");
        }
        staff.end();
    }
}
