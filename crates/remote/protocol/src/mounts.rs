//! Finds Trawl's own mounts, so that a search asks the server behind a mount with one request
//! instead of the many requests of the mount.
//!
//! The kernel's mount table names the server of each mount. Only mounts of this user are believed,
//! and only where asking the server starts no program but ssh(1), which must not prompt: an entry
//! of the mount table must not be able to start other programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use trawl_call::Executor;
use trawl_call::spread::{self, Ids, Server, Spread};
use trawl_model::path;
use trawl_sys::identity::effective_uid;
use trawl_sys::mount_table::{self, Mount};

use crate::client::{Address, Remote};

/// File system type of Trawl's mounts.
const KIND: &[u8] = b"fuse.trawl";

/// A mount of a server's tree.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// Mount point: an absolute, normalized path.
    pub point: Vec<u8>,
    /// The server and the path of the mounted tree there; `None` for another file system that is
    /// mounted below such a mount.
    pub server: Option<(Address, Vec<u8>)>,
}

/// Returns the mounts whose servers can be asked, and other mounts below those, in the order of the
/// mount table: later ones cover earlier ones.
pub fn served() -> Vec<Mounted> {
    let Some(table) = table() else {
        return Vec::new();
    };
    let of_own = |mount: &Mount| mount.kind == KIND && is_own(mount, effective_uid());
    let mut all: Vec<Mounted> = Vec::new();
    for mount in mount_table::parse(&table) {
        let Some(point) = path::normalize(&mount.point) else {
            continue;
        };
        let server = of_own(&mount).then(|| place(&mount.source)).flatten();
        let is_below = all.iter().any(|above| {
            path::is_within(&point, &above.point) || path::is_within(&above.point, &point)
        });
        if server.is_some() || is_below {
            all.push(Mounted { point, server });
        }
    }
    all
}

/// Wraps an executor so that servers answer about their mounts.
pub fn with_servers(here: Box<dyn Executor>) -> Box<dyn Executor> {
    // If the table cannot be read, the mounts are walked like any other directories.
    match table().map(|table| mounts(&table)) {
        Some(mounts) if !mounts.is_empty() => Box::new(Spread::new(here, mounts, ids())),
        _ => here,
    }
}

/// Returns whether this process sees ids unmapped, or is in a user namespace that maps them; mapped
/// if that cannot be determined.
///
/// Source: <https://man7.org/linux/man-pages/man7/user_namespaces.7.html>
fn ids() -> Ids {
    let maps = ["/proc/self/uid_map", "/proc/self/gid_map"];
    let is_whole = |map: &str| {
        let words: Vec<&str> = map.split_whitespace().collect();
        words == ["0", "0", "4294967295"]
    };
    let are_whole = maps
        .iter()
        .all(|map| std::fs::read_to_string(map).is_ok_and(|map| is_whole(&map)));
    match are_whole {
        true => Ids::AsServed,
        false => Ids::Mapped,
    }
}

/// Returns whether a search may reach a server's mount by itself, and so wait for a server.
pub fn are_there() -> bool {
    table().is_some()
}

/// Returns the mount table if it contains a mount of Trawl's. The table can be long, so it is
/// searched before it is parsed.
fn table() -> Option<Vec<u8>> {
    let table = std::fs::read(mount_table::PATH).ok()?;
    let has_one = table.windows(KIND.len()).any(|some| some == KIND);
    has_one.then_some(table)
}

/// Returns the mounts whose servers can be asked, and other mounts below those.
fn mounts(table: &[u8]) -> Vec<spread::Mount> {
    let mut mounts: Vec<spread::Mount> = Vec::new();
    for mount in mount_table::parse(table) {
        let Some(point) = path::normalize(&mount.point) else {
            continue;
        };
        let is_below = mounts
            .iter()
            .any(|above| path::is_within(&point, &above.point));
        let is_ours = mount.kind == KIND && is_own(&mount, effective_uid());
        let server = is_ours.then(|| server(&mount)).flatten();
        if server.is_some() || is_below {
            mounts.push(spread::Mount {
                point,
                device: mount.device.as_u64(),
                server,
            });
        }
    }
    mounts
}

/// Returns the server behind a mount.
fn server(mount: &Mount) -> Option<Server> {
    let (address, path) = place(&mount.source)?;
    Some(Server {
        executor: Arc::new(Remote::new(address)),
        path,
    })
}

/// Returns whether the mount's options say that this user made it.
fn is_own(mount: &Mount, uid: u32) -> bool {
    mount.option(b"user_id") == Some(uid.to_string().as_bytes())
}

/// Parses a mount's source into the server's address and the path there. The source is
/// `SERVER:/PATH`, where the path is escaped as by Rust's `escape_ascii`, and a comma as `\\054`.
fn place(source: &[u8]) -> Option<(Address, Vec<u8>)> {
    let cut = source.windows(2).rposition(|two| two == b":/")?;
    let (server, path) = (&source[..cut], unescape(&source[cut + 1..])?);
    // A server whose name contains an escaped comma is not asked.
    if server.contains(&b'\\') {
        return None;
    }
    // A `:/` in the path makes the boundary between server and path ambiguous.
    let (_, rest) = server.split_at(server.iter().position(|byte| *byte == b':')? + 1);
    if rest.windows(2).any(|two| two == b":/") {
        return None;
    }
    let address = match Address::parse(OsStr::from_bytes(server)).ok()? {
        Address::Command(_) => return None,
        // There is no terminal to ask for a password.
        Address::Ssh(host) => {
            let words = ["ssh", "-T", "-x", "-o", "BatchMode=yes", "--"].map(OsString::from);
            let trawld = ["trawld", "--stdio"].map(OsString::from);
            Address::Command(words.into_iter().chain([host]).chain(trawld).collect())
        }
        other => other,
    };
    Some((address, path))
}

/// Undoes `escape_ascii` and the escaping of commas; `None` for text that they cannot produce.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let [first, behind @ ..] = rest {
        let (byte, length) = match (first, behind) {
            (b'\\', [b'0', b'5', b'4', ..]) => (b',', 4),
            (b'\\', [b'x', high, low, ..]) => {
                let byte = digit(*high)? << 4 | digit(*low)?;
                (u8::try_from(byte).ok()?, 4)
            }
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [quoted @ (b'\\' | b'\'' | b'"'), ..]) => (*quoted, 2),
            (b'\\', _) => return None,
            (byte, _) => (*byte, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_say_whose_they_are() {
        let read = |source: &str| {
            let (address, path) = place(source.as_bytes())?;
            Some((address.to_string(), path.escape_ascii().to_string()))
        };
        let found = |address: &str, path: &str| Some((address.to_owned(), path.to_owned()));
        assert_eq!(read("unix:/run/x:/srv"), found("unix:/run/x", "/srv"));
        assert_eq!(read("tls:h:8295:/"), found("tls:h:8295", "/"));
        let ssh = "command:ssh -T -x -o BatchMode=yes -- me@h trawld --stdio";
        assert_eq!(read("ssh:me@h:/a b"), found(ssh, "/a b"));
        let odd = &b"/a,b\xff\n\\"[..];
        let source = format!("unix:/s:{}", odd.escape_ascii()).replace(',', "\\054");
        assert_eq!(place(source.as_bytes()).unwrap().1, odd);
        for source in [
            "command:trawld --stdio:/srv",
            "unix:/run/x:/a:/b",
            "none",
            "x:/y",
            "unix:/s:/\\q",
        ] {
            assert_eq!(read(source), None, "{source}");
        }
    }

    #[test]
    fn only_mounts_of_this_user_are_believed() {
        let is_own = |options: &str, uid| {
            let line = format!("9 1 0:50 / /m rw - fuse.trawl unix:/s:/ {options}");
            let mut mounts = mount_table::parse(line.as_bytes());
            mounts.all(|mount| super::is_own(&mount, uid))
        };
        assert!(is_own("rw,user_id=7,group_id=7", 7));
        assert!(!is_own("rw,user_id=70,group_id=7", 7) && !is_own("rw", 0));
    }
}
