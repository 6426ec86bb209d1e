//! Reports the daemon's state to a service manager, which also keeps its queues while it is away.
//! Without a manager this does nothing.
//!
//! Source: <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use trawl_sys::message;

/// Connection to the service manager, if there is one.
#[derive(Debug, Default)]
pub struct Manager {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl Manager {
    /// Connects to the manager that the environment names.
    #[must_use]
    pub fn of_environment() -> Manager {
        let variable = |name: &str| std::env::var_os(name);
        let watchdog = variable("WATCHDOG_USEC").and_then(|text| text.to_str()?.parse().ok());
        let is_ours = variable("WATCHDOG_PID")
            .is_none_or(|pid| pid.to_str() == Some(&std::process::id().to_string()[..]));
        Manager {
            socket: variable("NOTIFY_SOCKET").and_then(|name| connect(&name)),
            watchdog: watchdog.filter(|_| is_ours).map(Duration::from_micros),
        }
    }

    /// Sends a notification such as `READY=1`; it may have several lines.
    pub fn say(&self, text: &str) {
        self.send(text, None);
    }

    /// Passes a descriptor to the manager, which stores it under a name and returns it at the next
    /// start.
    pub fn keep(&self, name: &str, descriptor: BorrowedFd<'_>) {
        self.send(
            &format!("FDSTORE=1\nFDNAME={name}\nFDPOLL=0"),
            Some(descriptor),
        );
    }

    /// Tells the manager to drop the descriptors stored under this name.
    pub fn forget(&self, name: &str) {
        self.say(&format!("FDSTOREREMOVE=1\nFDNAME={name}"));
    }

    /// Interval between watchdog notifications: a third of the manager's limit.
    #[must_use]
    pub fn watchdog_pause(&self) -> Option<Duration> {
        self.watchdog.map(|longest| longest / 3)
    }

    /// Ignores failures: the manager is gone then, and the daemon's work goes on.
    fn send(&self, text: &str, descriptor: Option<BorrowedFd<'_>>) {
        if let Some(socket) = &self.socket {
            let _ = message::send(
                socket.as_fd(),
                text.as_bytes(),
                descriptor,
                message::Waiting::Allowed,
            );
        }
    }
}

fn connect(name: &OsStr) -> Option<UnixDatagram> {
    let address = match name.as_bytes().split_first()? {
        (b'@', rest) => SocketAddr::from_abstract_name(rest).ok()?,
        (b'/', _) => SocketAddr::from_pathname(name).ok()?,
        _ => return None,
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address).ok()?;
    Some(socket)
}
