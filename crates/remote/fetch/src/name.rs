//! Names of objects at servers, as set pathnames spell them.
//!
//! | name | server |
//! |---|---|
//! | `trawl://HOST:PORT/PATH`, `tls://HOST:PORT/PATH` | listens there (TLS); without a port 8295 |
//! | `ssh://USER@HOST/PATH` | run by ssh(1) on that host |
//! | `unix:///SOCKET:/PATH` | listens at that socket of this machine |
//!
//! What comes before `/PATH` is the *prefix*. It is an address and never a pattern: characters that
//! are special in set pathnames mean themselves there. `PATH` is a path on the server, which begins
//! with the name of an export where the server has exports. Sockets whose paths contain `:/` cannot
//! be spelled. Names cannot start programs other than ssh.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_remote::Address;
use trawl_sets::name::server_prefix;

use crate::error::FetchError;

/// The schemes, and how the addresses of their servers begin.
const SCHEMES: [(&[u8], &[u8]); 4] = [
    (b"trawl://", b"tls:"),
    (b"tls://", b"tls:"),
    (b"ssh://", b"ssh:"),
    (b"unix://", b"unix:"),
];

/// An object of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPath {
    /// The server.
    pub address: Address,
    /// Absolute path on the server.
    pub path: Vec<u8>,
}

impl ServerPath {
    /// Parses a name; `None` if it is not one of a server. Without a path it is the server's `/`.
    ///
    /// # Errors
    /// Fails if the server's address is invalid, or the path contains a NUL byte.
    pub fn parse(name: &[u8]) -> Option<Result<ServerPath, FetchError>> {
        let (prefix, path) = name.split_at(server_prefix(name)?);
        let shown = || name.escape_ascii().to_string();
        if path.contains(&0) {
            let why = "a path cannot contain a NUL byte";
            return Some(Err(FetchError::Name { name: shown(), why }));
        }
        let (scheme, kind) = SCHEMES
            .iter()
            .find(|(scheme, _)| prefix.starts_with(scheme))?;
        let place = &prefix[scheme.len()..];
        let place = match *scheme {
            b"unix://" => place.strip_suffix(b":").unwrap_or(place),
            _ => place,
        };
        let address = Address::parse(OsStr::from_bytes(&[kind, place].concat()));
        Some(match address {
            Ok(address) => Ok(ServerPath {
                address,
                path: match path {
                    b"" => b"/".to_vec(),
                    path => path.to_vec(),
                },
            }),
            Err(source) => Err(FetchError::Address {
                name: shown(),
                source,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_server_and_which_path() {
        for (name, prefix, address, path) in [
            ("trawl://h:12/e/*.c", "trawl://h:12", "tls:h:12", "/e/*.c"),
            ("tls://h/e", "tls://h", "tls:h:8295", "/e"),
            ("tls://[::1]:9/e", "tls://[::1]:9", "tls:[::1]:9", "/e"),
            ("ssh://me@h/srv", "ssh://me@h", "ssh:me@h", "/srv"),
            ("ssh://h", "ssh://h", "ssh:h", "/"),
            (
                "unix:///run/t/s:/a:/b",
                "unix:///run/t/s:",
                "unix:/run/t/s",
                "/a:/b",
            ),
            ("unix:///run/s", "unix:///run/s", "unix:/run/s", "/"),
        ] {
            assert_eq!(server_prefix(name.as_bytes()), Some(prefix.len()), "{name}");
            let read = ServerPath::parse(name.as_bytes()).unwrap().unwrap();
            assert_eq!(read.address.to_string(), address, "{name}");
            assert_eq!(read.path, path.as_bytes(), "{name}");
        }
    }

    #[test]
    fn other_names_are_of_no_server_and_bad_addresses_are_errors() {
        for name in ["/srv/x", "trawl:/x", "http://h/x", "command://sh/x", ""] {
            assert!(ServerPath::parse(name.as_bytes()).is_none(), "{name}");
        }
        for name in [
            "trawl:///x",
            "tls://h:x/y",
            "ssh://-oX/y",
            "unix://:/x",
            "ssh://h/\0",
        ] {
            assert!(
                ServerPath::parse(name.as_bytes()).unwrap().is_err(),
                "{name}"
            );
        }
    }
}
