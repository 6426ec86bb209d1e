//! Writes lines of a trace in GUFI's text format.
//!
//! The format is described at its reader (`trawl-scan`, `trace/line.rs`). Numbers are formatted by
//! hand, because a hundred million lines have more than a billion of them.

use std::io::{self, Write};

const FIELD_END: u8 = 0x1e;
const BUFFER_BYTES: usize = 1 << 20;

/// The attributes of an entry in a line, besides its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// The letter of its type.
    pub(crate) kind: u8,
    pub(crate) mode: u32,
    pub(crate) nlink: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) ino: u64,
    pub(crate) parent_ino: u64,
    pub(crate) size_bytes: u64,
    /// In units of 512 bytes.
    pub(crate) blocks: u64,
    /// Seconds since 1970, like the other times.
    pub(crate) atime: i64,
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
    pub(crate) btime: i64,
}

/// A buffered writer of lines.
pub(crate) struct Lines<W: Write> {
    out: W,
    buffer: Vec<u8>,
    count: u64,
}

impl<W: Write> Lines<W> {
    pub(crate) fn new(out: W) -> Lines<W> {
        Lines {
            out,
            buffer: Vec::with_capacity(BUFFER_BYTES + (256 << 10)),
            count: 0,
        }
    }

    /// Returns the number of lines written so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Writes one entry; the path is relative to the trace's root.
    pub(crate) fn put(&mut self, path: &[u8], is: &Attributes, target: &[u8]) -> io::Result<()> {
        let line = &mut self.buffer;
        put_counted(line, path);
        line.extend([is.kind, FIELD_END]);
        let of_inode = [
            is.ino,
            u64::from(is.mode),
            is.nlink,
            u64::from(is.uid),
            u64::from(is.gid),
            is.size_bytes,
            4096,
            is.blocks,
        ];
        for number in of_inode {
            put_number(line, number);
        }
        for time in [is.atime, is.mtime, is.ctime] {
            put_time(line, time);
        }
        put_counted(line, target);
        line.extend(b"00040000\x1e");
        put_time(line, is.btime);
        line.extend(b"0\x1e0\x1e0\x1e0\x1e0000\x1e0000\x1e");
        put_number(line, is.parent_ino);
        line.push(b'\n');
        self.count += 1;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the buffered lines.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }
}

fn put_counted(line: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let length = bytes.len();
    line.extend([12, 8, 4, 0].map(|shift| DIGITS[length >> shift & 15]));
    line.extend_from_slice(bytes);
    line.push(FIELD_END);
}

fn put_time(line: &mut Vec<u8>, secs: i64) {
    if secs < 0 {
        line.push(b'-');
    }
    put_number(line, secs.unsigned_abs());
}

fn put_number(line: &mut Vec<u8>, number: u64) {
    put_digits(line, number, 1);
    line.push(FIELD_END);
}

/// Appends a number with at least `width` decimal digits.
pub(crate) fn put_digits(to: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let start = at.min(digits.len().saturating_sub(width));
    to.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_the_format_has_it() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out);
        let is = Attributes {
            kind: b'l',
            mode: 0o120_777,
            nlink: 1,
            uid: 2,
            gid: 3,
            ino: 4,
            parent_ino: 5,
            size_bytes: 6,
            blocks: 0,
            atime: -7,
            mtime: 8,
            ctime: 9,
            btime: 0,
        };
        lines.put(b"a/b", &is, b"../cd").unwrap();
        lines.flush().unwrap();
        assert_eq!(lines.count(), 1);
        let text = String::from_utf8(out).unwrap().replace('\x1e', "|");
        assert_eq!(
            text,
            "0003a/b|l|4|41471|1|2|3|6|4096|0|-7|8|9|0005../cd|00040000|0|0|0|0|0|0000|0000|5|\n"
        );
    }

    #[test]
    fn numbers_are_as_wide_as_asked() {
        for (number, width, expected) in [
            (0, 1, "0"),
            (7, 4, "0007"),
            (12_345, 4, "12345"),
            (u64::MAX, 1, "18446744073709551615"),
        ] {
            let mut digits = Vec::new();
            put_digits(&mut digits, number, width);
            assert_eq!(digits, expected.as_bytes());
        }
    }
}
