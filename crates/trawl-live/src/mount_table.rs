//! The kernel's table of mounts, for what a file system must be asked for.

use std::fs;
use std::path::PathBuf;

use crate::error::{LiveError, Result};

const TABLE: &str = "/proc/self/mountinfo";

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where it is, absolute.
    pub(crate) point: Vec<u8>,
    /// What is mounted: a device's path, for instance.
    pub(crate) source: Vec<u8>,
    /// Options of the file system, separated by commas.
    options: Vec<u8>,
}

impl Mount {
    /// The value of an option, unescaped.
    pub(crate) fn option(&self, name: &str) -> Option<Vec<u8>> {
        let mut options = self.options.split(|byte| *byte == b',');
        let found = options.find_map(|option| {
            let value = option.strip_prefix(name.as_bytes())?;
            value.strip_prefix(b"=")
        });
        found.map(<[u8]>::to_vec)
    }
}

/// The mount with this id, as `statx` tells it.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>
pub(crate) fn find(mount_id: u64) -> Result<Option<Mount>> {
    let table = fs::read(TABLE).map_err(|source| LiveError::Read {
        path: PathBuf::from(TABLE).into_os_string().into_encoded_bytes(),
        source,
    })?;
    let mut lines = table.split(|byte| *byte == b'\n');
    Ok(lines.find_map(|line| {
        parse(line)
            .filter(|(id, _)| *id == mount_id)
            .map(|(_, m)| m)
    }))
}

fn parse(line: &[u8]) -> Option<(u64, Mount)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let point = unescape(fields.nth(3)?);
    fields.find(|field| *field == b"-")?;
    let source = unescape(fields.nth(1)?);
    let options = unescape(fields.next()?);
    Some((
        id,
        Mount {
            point,
            source,
            options,
        },
    ))
}

/// The kernel writes space, tab, newline, backslash and number sign as `\\ooo`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = (*first == b'\\')
            .then(|| std::str::from_utf8(after.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                plain.push(byte);
                rest = &after[3..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_the_manual_says() {
        let line = br"36 35 98:0 /mnt1 /mnt/my\040disk rw,noatime master:1 - overlay none rw,upperdir=/u\134p,nfs_export=on";
        let (id, mount) = parse(line).unwrap();
        assert_eq!((id, &mount.point[..]), (36, &b"/mnt/my disk"[..]));
        assert_eq!(mount.option("upperdir").unwrap(), br"/u\p");
        assert_eq!(mount.option("nfs_export").unwrap(), b"on");
        assert_eq!(mount.option("upper"), None);
        assert_eq!(parse(b"36 35 98:0"), None);
    }
}
