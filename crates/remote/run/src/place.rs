//! A directory of a server, and the directory at which it is shown.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_remote::Address;
use trawl_text::words::quoted;

use crate::error::RunError;

/// A directory of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: Address,
    /// Absolute path on the server.
    pub(crate) path: Vec<u8>,
}

impl Place {
    /// Parses `SERVER:/PATH`; the part before the last `:/` is the server.
    pub(crate) fn parse(text: &[u8]) -> Result<Place, RunError> {
        let cut = text.windows(2).rposition(|two| two == b":/");
        let Some(cut) = cut.filter(|cut| *cut > 0) else {
            return Err(usage(text, "it is not SERVER:/PATH"));
        };
        let (server, path) = (&text[..cut], &text[cut + 1..]);
        if path.contains(&0) {
            return Err(usage(text, "a path cannot contain a NUL byte"));
        }
        Ok(Place {
            address: address(server)?,
            path: path.to_vec(),
        })
    }
}

/// Parses the address of a server; a plain host name is a host for ssh.
fn address(server: &[u8]) -> Result<Address, RunError> {
    let address = match server.contains(&b':') {
        true => server.to_vec(),
        false => [b"ssh:", server].concat(),
    };
    Ok(Address::parse(OsStr::from_bytes(&address))?)
}

fn usage(text: &[u8], why: &str) -> RunError {
    RunError::Usage(format!("cannot read {}: {why}", quoted(text)))
}

/// Parses `SERVER:/PATH=/POINT`; the part after the last `=` is the mount point.
pub(crate) fn with_point(text: &OsString) -> Result<(Place, PathBuf), RunError> {
    let bytes = text.as_bytes();
    let cut = bytes.iter().rposition(|byte| *byte == b'=');
    let (place, point) = bytes.split_at(cut.unwrap_or(bytes.len()));
    match point {
        [] | [b'='] => Err(usage(bytes, "it is not SERVER:/PATH=/POINT")),
        [_, point @ ..] => {
            let point = PathBuf::from(OsStr::from_bytes(point));
            Ok((Place::parse(place)?, point))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_or_refused() {
        let read = |text: &str| with_point(&OsString::from(text));
        for (text, server, path, point) in [
            ("host:/srv=/mnt", "ssh:host", "/srv", "/mnt"),
            ("ssh:me@host:/=m", "ssh:me@host", "/", "m"),
            ("unix:/run/x:/a b=/m", "unix:/run/x", "/a b", "/m"),
            (
                "command:trawld --stdio --export t=/srv:/t/x=/m",
                "command:trawld --stdio --export t=/srv",
                "/t/x",
                "/m",
            ),
        ] {
            let (place, found) = read(text).unwrap();
            assert_eq!(place.address.to_string(), server);
            assert_eq!((&place.path[..], found), (path.as_bytes(), point.into()));
        }
        for text in [
            "",
            "host",
            "host:/srv",
            "host:/srv=",
            ":/srv=/m",
            "host:srv=/m",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
