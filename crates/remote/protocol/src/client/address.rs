//! Addresses of servers.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::error::RemoteError;
use crate::tls::{self, Certificates};
use crate::transport::Transport;

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The server listens at this Unix socket.
    Unix(PathBuf),
    /// The server listens at this TCP port; these files authenticate both ends.
    Tls {
        /// Name or address of the machine, which its certificate must contain.
        host: String,
        /// The port.
        port: u16,
        /// The files.
        certificates: Certificates,
    },
    /// ssh(1) runs the server on this host, given in ssh's form.
    Ssh(OsString),
    /// This program, with its arguments, runs the server.
    Command(Vec<OsString>),
}

impl Address {
    /// Parses `unix:PATH`, `tls:HOST`, `tls:HOST:PORT`, `ssh:HOST` or `command:WORDS`; words are
    /// separated by spaces.
    ///
    /// # Errors
    /// Fails for any other text.
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
        if let Some(place) = bytes.strip_prefix(b"tls:") {
            return match place_of(place) {
                Some((host, port)) => Ok(Address::Tls {
                    host,
                    port,
                    certificates: Certificates::default(),
                }),
                None => bad("it is not tls:HOST:PORT, or tls:[ADDRESS]:PORT"),
            };
        }
        if let Some(host) = bytes.strip_prefix(b"ssh:") {
            return match host {
                b"" => bad("there is no host"),
                // ssh would take it for an option.
                [b'-', ..] => bad("a host must not begin with a dash"),
                host if is_host(host) => Ok(Address::Ssh(OsStr::from_bytes(host).into())),
                _ => bad("the host has invalid characters"),
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

    /// Sets the files of an address that needs any.
    #[must_use]
    pub fn with_certificates(self, certificates: Certificates) -> Address {
        match self {
            Address::Tls { host, port, .. } => Address::Tls {
                host,
                port,
                certificates,
            },
            other => other,
        }
    }

    /// Connects; a server that says nothing for as long as `silence` is given up. Returns the process
    /// that was started for it, if any, too.
    pub(super) fn connect(
        &self,
        silence: Duration,
    ) -> Result<(Transport, Option<Child>), RemoteError> {
        let failed = |source| RemoteError::Connect {
            server: self.to_string(),
            source,
        };
        match self {
            Address::Tls {
                host,
                port,
                certificates,
            } => Ok((
                tls::client::connect(host, *port, certificates, silence)?,
                None,
            )),
            other => other.connect_here().map_err(failed),
        }
    }

    fn connect_here(&self) -> std::io::Result<(Transport, Option<Child>)> {
        let words = match self {
            Address::Unix(path) => {
                let socket = UnixStream::connect(path)?;
                return Ok((Transport::over_socket(socket.into())?, None));
            }
            Address::Tls { .. } => return Err(std::io::ErrorKind::Unsupported.into()),
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
        // The child's end of the socket pair must be open in the child only.
        drop(command);
        Ok((Transport::over_socket(ours.into())?, Some(child)))
    }
}

/// Parses `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn place_of(text: &[u8]) -> Option<(String, u16)> {
    let text = std::str::from_utf8(text).ok()?;
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if port.is_empty() => tls::PORT,
        None => return None,
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_host)).then(|| (host.to_owned(), port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |text: &OsStr| text.as_bytes().escape_ascii().to_string();
        match self {
            Address::Unix(path) => write!(f, "unix:{}", escaped(path.as_os_str())),
            Address::Tls { host, port, .. } => f.write_str(&tls::address(host, *port)),
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
        for text in [
            "unix:/run/x y",
            "ssh:me@host",
            "command:a -b c",
            "tls:a.example.org:1",
            "tls:[::1]:65535",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("tls:a").unwrap().to_string(), "tls:a:8295");
        for text in [
            "",
            "host",
            "tls:",
            "tls::1",
            "tls:a:b",
            "tls:a:1:2",
            "tls:[::1",
            "tls:a b",
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
