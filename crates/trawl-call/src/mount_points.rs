//! What is mounted where, for this process.

use std::io;
use std::path::Path;

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
    fn what_is_no_escape_stays() {
        assert_eq!(unescape(br"/a\040b\134\011c"), b"/a b\\\tc");
        assert_eq!(unescape(br"/a\04\999"), br"/a\04\999");
    }

    #[test]
    fn the_root_is_mounted() {
        assert!(mount_points().unwrap().contains(&b"/".to_vec()));
    }
}
