//! Reads the kernel's table of mounts, `mountinfo`.
//!
//! Source: <https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>

use std::io;

use crate::device::DeviceNumber;

/// Path of this process's own table.
pub const PATH: &str = "/proc/self/mountinfo";

/// One mount of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Id of the mount. A later mount may get the same id.
    pub id: u64,
    /// Id of the mount that contains its mount point.
    pub parent: u64,
    /// Device number that stat(2) returns there.
    pub device: DeviceNumber,
    /// Directory of the file system that is the root of this mount.
    pub root: Vec<u8>,
    /// Mount point, an absolute path.
    pub point: Vec<u8>,
    /// Options of this mount, separated by commas.
    pub mount_options: Vec<u8>,
    /// Type of the file system, such as `ext4` or `fuse.trawl`.
    pub kind: Vec<u8>,
    /// Source of the mount, such as the path of a device.
    pub source: Vec<u8>,
    /// Options of the file system, separated by commas.
    pub options: Vec<u8>,
}

impl Mount {
    /// Returns true if the file system has this option.
    pub fn has_option(&self, option: &[u8]) -> bool {
        split(&self.options).any(|one| one == option)
    }

    /// Returns true if this mount has this option.
    pub fn has_mount_option(&self, option: &[u8]) -> bool {
        split(&self.mount_options).any(|one| one == option)
    }

    /// Returns the value of an option `NAME=VALUE` of the file system.
    pub fn option(&self, name: &[u8]) -> Option<&[u8]> {
        split(&self.options).find_map(|one| one.strip_prefix(name)?.strip_prefix(b"="))
    }

    /// Returns the properties that distinguish this mount from others on the same mount point.
    /// Options are not included, because they can change while the mount stays.
    pub fn identity(&self) -> (u64, u64, DeviceNumber, &[u8]) {
        (self.id, self.parent, self.device, &self.root)
    }
}

fn split(options: &[u8]) -> impl Iterator<Item = &[u8]> {
    options.split(|byte| *byte == b',')
}

/// Returns all mounts that this process sees, in the table's order: a later mount hides an earlier
/// one on the same mount point.
///
/// # Errors
/// Fails if the table cannot be read.
pub fn read() -> io::Result<Vec<Mount>> {
    Ok(parse(&std::fs::read(PATH)?).collect())
}

/// Parses a table of mounts. Malformed lines are skipped.
pub fn parse(table: &[u8]) -> impl Iterator<Item = Mount> {
    let lines = table.split(|byte| *byte == b'\n');
    lines.filter_map(parse_line)
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (id, parent) = (number()?, number()?);
    let (major, minor) = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let device = DeviceNumber {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    };
    let mut text = || fields.next().map(unescape);
    let (root, point, mount_options) = (text()?, text()?, text()?);
    // There may be any number of optional fields; a dash ends them.
    fields.find(|field| *field == b"-")?;
    let mut text = || fields.next().map(unescape);
    Some(Mount {
        id,
        parent,
        device,
        root,
        point,
        mount_options,
        kind: text()?,
        source: text()?,
        options: text().unwrap_or_default(),
    })
}

/// Decodes the kernel's escapes: space, tab, newline, backslash and number sign are written as `\`
/// and three octal digits.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        let octal = |digit: u8| (b'0'..=b'7').contains(&digit);
        match (first, behind) {
            (b'\\', [a @ b'0'..=b'3', b, c, ..]) if octal(*b) && octal(*c) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = &behind[3..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the manual page, with an escaped mount point.
    #[test]
    fn a_line_is_read_as_the_manual_says() {
        let line = b"36 35 98:0 /mnt1 /mnt/my\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n";
        let expected = Mount {
            id: 36,
            parent: 35,
            device: DeviceNumber {
                major: 98,
                minor: 0,
            },
            root: b"/mnt1".to_vec(),
            point: b"/mnt/my 2".to_vec(),
            mount_options: b"rw,noatime".to_vec(),
            kind: b"ext3".to_vec(),
            source: b"/dev/root".to_vec(),
            options: b"rw,errors=continue".to_vec(),
        };
        let mounts: Vec<Mount> = parse(line).collect();
        assert_eq!(mounts, std::slice::from_ref(&expected));
        assert!(expected.has_mount_option(b"noatime") && !expected.has_mount_option(b"time"));
        assert!(expected.has_option(b"rw") && !expected.has_option(b"noatime"));
        assert_eq!(expected.option(b"errors"), Some(&b"continue"[..]));
        assert_eq!(expected.option(b"error"), None);
    }

    #[test]
    fn lines_that_make_no_sense_are_left_out() {
        let table = b"1 0 8:1 / / rw - ext4 /dev/a rw\nodd\n2 1 8:1 / /b rw shared:1\n\
                      3 1 0:5 / /p rw - proc proc\n";
        let points: Vec<Vec<u8>> = parse(table).map(|mount| mount.point).collect();
        assert_eq!(points, [&b"/"[..], b"/p"]);
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescape(br"/a\040b\134\011c"), b"/a b\\\tc");
        assert_eq!(unescape(br"/a\04\999"), br"/a\04\999");
    }

    #[test]
    fn the_root_is_mounted() {
        let mounts = read().unwrap();
        assert!(mounts.iter().any(|mount| mount.point == b"/"));
    }
}
