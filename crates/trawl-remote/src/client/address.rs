//! Where a server is.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::error::RemoteError;
use crate::transport::Transport;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// It listens at this socket.
    Unix(PathBuf),
    /// ssh(1) runs it there: a host as ssh takes it.
    Ssh(OsString),
    /// This program and its arguments run it.
    Command(Vec<OsString>),
}

impl Address {
    /// Reads `unix:PATH`, `ssh:HOST` or `command:WORDS`; words are separated by spaces.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(text: &OsStr) -> Result<Address, RemoteError> {
        let bad = |why| {
            let address = text.as_bytes().escape_ascii().to_string();
            Err(RemoteError::Address { address, why })
        };
        let bytes = text.as_bytes();
        let is_host = |host: &[u8]| host.iter().all(u8::is_ascii_graphic);
        if let Some(path) = bytes.strip_prefix(b"unix:") {
            return match path {
                b"" => bad("there is no path"),
                path => Ok(Address::Unix(OsStr::from_bytes(path).into())),
            };
        }
        if let Some(host) = bytes.strip_prefix(b"ssh:") {
            return match host {
                b"" => bad("there is no host"),
                // ssh would take it for an option.
                [b'-', ..] => bad("a host does not begin with a dash"),
                host if is_host(host) => Ok(Address::Ssh(OsStr::from_bytes(host).into())),
                _ => bad("a host has no such characters"),
            };
        }
        let Some(words) = bytes.strip_prefix(b"command:") else {
            return bad("it does not say how the server is reached");
        };
        let words = words.split(|byte| *byte == b' ');
        let words = words.filter(|word| !word.is_empty());
        let words: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).into()).collect();
        match words.is_empty() {
            true => bad("there is no command"),
            false => Ok(Address::Command(words)),
        }
    }

    /// Connects. What runs the server is told, if it was started for that.
    pub(super) fn connect(&self) -> std::io::Result<(Transport, Option<Child>)> {
        let words = match self {
            Address::Unix(path) => {
                let socket = UnixStream::connect(path)?;
                return Ok((Transport::over_socket(socket.into())?, None));
            }
            Address::Command(words) => words.clone(),
            Address::Ssh(host) => {
                let before = ["ssh", "-T", "-x", "--"].map(OsString::from);
                let after = ["trawld", "--stdio"].map(OsString::from);
                let host = std::iter::once(host.clone());
                before.into_iter().chain(host).chain(after).collect()
            }
        };
        let (ours, theirs) = UnixStream::pair()?;
        let theirs = OwnedFd::from(theirs);
        let mut command = Command::new(words.first().map_or(OsStr::new(""), |word| word));
        command.args(words.iter().skip(1));
        command.stdin(Stdio::from(theirs.try_clone()?));
        command.stdout(Stdio::from(theirs));
        let child = command.spawn()?;
        // Its ends are open in the child alone.
        drop(command);
        Ok((Transport::over_socket(ours.into())?, Some(child)))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |text: &OsStr| text.as_bytes().escape_ascii().to_string();
        match self {
            Address::Unix(path) => write!(f, "unix:{}", escaped(path.as_os_str())),
            Address::Ssh(host) => write!(f, "ssh:{}", escaped(host)),
            Address::Command(words) => {
                write!(f, "command:{}", escaped(&words.join(OsStr::new(" "))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        let read = |text: &str| Address::parse(OsStr::new(text));
        for text in ["unix:/run/x y", "ssh:me@host", "command:a -b c"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "host",
            "unix:",
            "ssh:",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "command: ",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
