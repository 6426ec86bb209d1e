//! What is mounted where, for this process.

use std::io;
use std::path::Path;

use trawl_sys::device::DeviceNumber;

/// The paths of all mount points, as `/proc/self/mountinfo` has them, sorted.
///
/// # Errors
/// If it cannot be read.
pub fn mount_points() -> io::Result<Vec<Vec<u8>>> {
    let text = std::fs::read(Path::new("/proc/self/mountinfo"))?;
    Ok(parse(&text))
}

/// The fifth word of each line; proc(5).
fn parse(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let mut points: Vec<Vec<u8>> = points.map(unescape).collect();
    points.sort();
    points.dedup();
    points
}

/// A line of `/proc/self/mountinfo`, as far as it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountLine {
    /// Where it is mounted.
    pub point: Vec<u8>,
    /// The device number that stat(2) gives there.
    pub device: DeviceNumber,
    /// The type of the file system, such as `fuse.x`.
    pub kind: Vec<u8>,
    /// What is mounted.
    pub source: Vec<u8>,
    /// The file system's own options.
    pub options: Vec<u8>,
}

/// All that is mounted, as `/proc/self/mountinfo` says it ([`parse_lines`]), later mounts behind
/// earlier ones; `None` if no line says this.
///
/// # Errors
/// If it cannot be read.
pub fn mount_lines(that_say: &[u8]) -> io::Result<Option<Vec<MountLine>>> {
    let text = std::fs::read(Path::new("/proc/self/mountinfo"))?;
    let says_it = text.windows(that_say.len()).any(|some| some == that_say);
    Ok(says_it.then(|| parse_lines(&text)))
}

/// The lines of a mountinfo that make sense; proc_pid_mountinfo(5).
pub fn parse_lines(text: &[u8]) -> Vec<MountLine> {
    text.split(|byte| *byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<MountLine> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    // Behind six words there are any number of fields, and a dash ends them.
    let behind = 7 + words.get(6..)?.iter().position(|word| *word == b"-")?;
    let (major, minor) = std::str::from_utf8(words.get(2)?).ok()?.split_once(':')?;
    Some(MountLine {
        point: unescape(words.get(4)?),
        device: DeviceNumber {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        },
        kind: unescape(words.get(behind)?),
        source: unescape(words.get(behind + 1)?),
        options: words.get(behind + 2).copied().map(unescape)?,
    })
}

/// `\040` and the like become the bytes that they stand for.
pub fn unescape(word: &[u8]) -> Vec<u8> {
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

    #[test]
    fn spaces_and_backslashes_in_mount_points() {
        let text = b"22 1 0:21 / /proc rw - proc proc rw\n\
                     23 1 8:1 /x /mnt/a\\040b\\134c rw shared:1 - ext4 /dev/sda1 rw\n";
        assert_eq!(parse(text), [b"/mnt/a b\\c".to_vec(), b"/proc".to_vec()]);
    }

    #[test]
    fn lines_say_what_is_mounted() {
        let text = b"22 1 0:21 / /proc rw - proc proc rw\n\
                     23 1 8:1 /x /mnt/a\\040b rw shared:1 master:2 - ext4 /dev/sda1 rw,errors=x\n\
                     24 1 8:1 / /broken rw shared:1\n";
        let line =
            |point: &str, (major, minor), kind: &str, source: &str, options: &str| MountLine {
                point: point.into(),
                device: DeviceNumber { major, minor },
                kind: kind.into(),
                source: source.into(),
                options: options.into(),
            };
        let expected = [
            line("/proc", (0, 21), "proc", "proc", "rw"),
            line("/mnt/a b", (8, 1), "ext4", "/dev/sda1", "rw,errors=x"),
        ];
        assert_eq!(parse_lines(text), expected);
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescape(br"/a\040b\134\011c"), b"/a b\\\tc");
        assert_eq!(unescape(br"/a\04\999"), br"/a\04\999");
    }

    #[test]
    fn the_root_is_mounted() {
        assert!(mount_points().unwrap().contains(&b"/".to_vec()));
    }
}
