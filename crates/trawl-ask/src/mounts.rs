//! Trawl's own mounts, of which a search asks the server behind them: one request instead of what
//! the mount would ask for.
//!
//! A mount says in the kernel's table which server it is of. That is believed of mounts that this
//! user has made, and only where nothing has to be run for it but ssh(1), which may ask nobody
//! anything: a table's line must not be able to start programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use trawl_call::Executor;
use trawl_call::spread::{self, Ids, Server, Spread};
use trawl_model::path;
use trawl_remote::{Address, Remote};
use trawl_sys::identity::effective_uid;
use trawl_sys::mount_table::{self, Mount};

/// The type of Trawl's mounts.
const KIND: &[u8] = b"fuse.trawl";

/// The same executor, but servers answer for their mounts.
pub fn with_servers(here: Box<dyn Executor>) -> Box<dyn Executor> {
    // Without the table the mounts are walked like others.
    match table().map(|table| mounts(&table)) {
        Some(mounts) if !mounts.is_empty() => Box::new(Spread::new(here, mounts, ids())),
        _ => here,
    }
}

/// Whether this process sees ids as they are, or is in a user namespace that maps them; where that
/// cannot be told, the latter.
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

/// Whether a search may come to a server by itself, and so wait for one.
pub fn are_there() -> bool {
    table().is_some()
}

/// The table of mounts if one of them is Trawl's. It can be long, so it is searched before it is
/// read line by line.
fn table() -> Option<Vec<u8>> {
    let table = std::fs::read(mount_table::PATH).ok()?;
    let has_one = table.windows(KIND.len()).any(|some| some == KIND);
    has_one.then_some(table)
}

/// The mounts whose servers can be asked, and others that lie below those.
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

/// The server behind a mount.
fn server(mount: &Mount) -> Option<Server> {
    let (address, path) = place(&mount.source)?;
    Some(Server {
        executor: Arc::new(Remote::new(address)),
        path,
    })
}

/// Whether a mount's options say that this user has made it.
fn is_own(mount: &Mount, uid: u32) -> bool {
    mount.option(b"user_id") == Some(uid.to_string().as_bytes())
}

/// The server and the path there, from what a mount is said to be of: `SERVER:/PATH`, where odd
/// bytes of the path are written as Rust's `escape_ascii` does, and a comma as `\\054`.
fn place(source: &[u8]) -> Option<(Address, Vec<u8>)> {
    let cut = source.windows(2).rposition(|two| two == b":/")?;
    let (server, path) = (&source[..cut], unescape(&source[cut + 1..])?);
    // A comma in a server's name, escaped, is not one that is asked.
    if server.contains(&b'\\') {
        return None;
    }
    // A path with `:/` in it cannot be told from a server.
    let (_, rest) = server.split_at(server.iter().position(|byte| *byte == b':')? + 1);
    if rest.windows(2).any(|two| two == b":/") {
        return None;
    }
    let address = match Address::parse(OsStr::from_bytes(server)).ok()? {
        Address::Command(_) => return None,
        // There is nobody to ask for a password.
        Address::Ssh(host) => {
            let words = ["ssh", "-T", "-x", "-o", "BatchMode=yes", "--"].map(OsString::from);
            let trawld = ["trawld", "--stdio"].map(OsString::from);
            Address::Command(words.into_iter().chain([host]).chain(trawld).collect())
        }
        other => other,
    };
    Some((address, path))
}

/// Undoes `escape_ascii` and the escaped comma; `None` for what they do not write.
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
