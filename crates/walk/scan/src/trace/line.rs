//! One line of a trace, split into its fields.
//!
//! A line is a sequence of fields, each terminated by the byte 0x1e, followed by a newline:
//!
//! | field | form |
//! |---|---|
//! | path, relative to the trace's root | 4 hex digits of length, then that many bytes |
//! | type | `d`, `f`, `l`, …; `e` (an external database of the directory) ends the line here |
//! | inode, mode, nlink, uid, gid, size, blksize, blocks, atime, mtime, ctime | decimal; times in seconds |
//! | link target | length and bytes |
//! | extended attributes | length and bytes: 4 hex digits of count, then name, 0x1f, value, 0x1f each |
//! | crtime, four integers | decimal; the integers are specific to the source system |
//! | two texts | length and bytes each |
//! | inode of the parent | decimal |
//!
//! Fields with a length may contain newlines and 0x1e. Source: `worktofile` and `linetowork` in
//! GUFI's `src/trace.c`, `xattrs_to_file` in its `src/xattrs.c`.

use trawl_model::{FileType, Gid};
use trawl_model::{Meta, Timestamp, Uid};

const FIELD_END: u8 = 0x1e;
/// Terminates each name and each value within the field of extended attributes.
const XATTR_END: u8 = 0x1f;
/// Maximum length in bytes of a well-formed line: five fields of at most 65,535 bytes, and some
/// numbers.
pub(crate) const LINE_BYTES_MAX: usize = 5 * (65_535 + 5) + 24 * 32;

/// An error in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadLine {
    Length(&'static str),
    Truncated,
    Number(&'static str),
    Type,
    Path,
    End,
}

impl BadLine {
    pub(crate) fn describe(self) -> String {
        match self {
            BadLine::Length(field) => format!("the length of the {field} is wrong"),
            BadLine::Truncated => "it ends too early".into(),
            BadLine::Number(field) => format!("the {field} is not a number in its range"),
            BadLine::Type => "its type does not agree with its mode".into(),
            BadLine::Path => "its path has an empty, `.` or `..` component, or a NUL byte".into(),
            BadLine::End => "it has too many fields".into(),
        }
    }
}

/// The fields of one line, as bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) kind: u8,
    /// The eleven numbers from the inode to ctime, each followed by 0x1e.
    numbers: &'a [u8],
    pub(crate) link: &'a [u8],
    pub(crate) xattrs: &'a [u8],
    /// The crtime, followed by 0x1e.
    crtime: &'a [u8],
    /// Length of the whole line, including its newline.
    pub(crate) len: usize,
}

/// Reads fields from the front of a line.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Reads a field up to the next 0x1e; a newline before it means that the line is cut off.
    #[inline]
    fn plain(&mut self) -> Result<&'a [u8], BadLine> {
        let rest = self.rest();
        let end = field_end(rest).ok_or(BadLine::Truncated)?;
        let (field, after) = rest.split_at_checked(end).ok_or(BadLine::Truncated)?;
        if after.first() != Some(&FIELD_END) {
            return Err(BadLine::Truncated);
        }
        self.at += end + 1;
        Ok(field)
    }

    /// Reads a field that is preceded by its length.
    fn counted(&mut self, name: &'static str) -> Result<&'a [u8], BadLine> {
        let (digits, rest) = self
            .rest()
            .split_first_chunk::<4>()
            .ok_or(BadLine::Truncated)?;
        let length = hex(digits).ok_or(BadLine::Length(name))?;
        if rest.len() <= length {
            return Err(BadLine::Truncated);
        }
        if rest.get(length) != Some(&FIELD_END) {
            return Err(BadLine::Length(name));
        }
        self.at += 4 + length + 1;
        Ok(rest.get(..length).unwrap_or_default())
    }

    /// Reads `count` plain fields; returns their span, including the last 0x1e.
    #[inline]
    fn plain_run(&mut self, count: usize) -> Result<&'a [u8], BadLine> {
        let start = self.at;
        for _ in 0..count {
            self.plain()?;
        }
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }
}

/// Returns the position of the first 0x1e or newline. Eight bytes at a time are compared in a
/// register: most fields are shorter than that, and calling a vectorised search for each costs
/// twice as much.
#[inline]
fn field_end(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let hits = zeros(word ^ (ONES * FIELD_END as u64)) | zeros(word ^ (ONES * b'\n' as u64));
        if hits != 0 {
            // False hits can occur only above a true one.
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    rest.iter()
        .position(|b| matches!(*b, FIELD_END | b'\n'))
        .map(|more| at + more)
}

#[inline]
fn hex(digits: &[u8; 4]) -> Option<usize> {
    let mut value = 0;
    for digit in digits {
        let nibble = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        value = value * 16 + usize::from(nibble);
    }
    Some(value)
}

/// Splits the line at the start of `bytes`, which must contain the whole line or all remaining
/// data.
pub(crate) fn split(bytes: &[u8]) -> Result<Line<'_>, BadLine> {
    let mut cursor = Cursor { bytes, at: 0 };
    let path = cursor.counted("path")?;
    let kind = match cursor.plain()? {
        [kind] => *kind,
        _ => return Err(BadLine::Type),
    };
    let mut line = Line {
        path,
        kind,
        numbers: b"",
        link: b"",
        xattrs: b"",
        crtime: b"",
        len: 0,
    };
    if kind != b'e' {
        line.numbers = cursor.plain_run(11)?;
        line.link = cursor.counted("link target")?;
        line.xattrs = cursor.counted("extended attributes")?;
        line.crtime = cursor.plain_run(1)?;
        cursor.plain_run(4)?;
        cursor.counted("first text")?;
        cursor.counted("second text")?;
        cursor.plain()?;
    }
    match cursor.rest().first() {
        Some(b'\n') => {
            line.len = cursor.at + 1;
            Ok(line)
        }
        Some(_) => Err(BadLine::End),
        None => Err(BadLine::Truncated),
    }
}

/// Returns the number of newlines, which is the number of lines as an editor counts them.
pub(crate) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns the start of the line after a bad one at the start of `bytes`; `None` without a newline.
pub(crate) fn resynchronise(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes).map(|at| at + 1)
}

/// Reads decimal numbers from a run of fields.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    /// Reads the digits of the next number, up to the field's end.
    #[inline]
    fn digits(&mut self) -> Option<u64> {
        let (mut value, mut at) = (0u64, 0);
        loop {
            let byte = *self.0.get(at)?;
            if byte == FIELD_END {
                break;
            }
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = if at < 18 {
                // 18 digits always fit.
                value * 10 + u64::from(digit)
            } else {
                value.checked_mul(10)?.checked_add(u64::from(digit))?
            };
            at += 1;
        }
        self.0 = self.0.get(at + 1..)?;
        (at > 0).then_some(value)
    }

    /// Reads the next number, which must be in the range of `T`.
    #[inline]
    fn take<T: TryFrom<u64>>(&mut self, name: &'static str) -> Result<T, BadLine> {
        let value = self.digits().and_then(|value| T::try_from(value).ok());
        value.ok_or(BadLine::Number(name))
    }

    /// Reads the next number as seconds, which may be negative (before 1970).
    #[inline]
    fn time(&mut self, name: &'static str) -> Result<Timestamp, BadLine> {
        let is_negative = self.0.first() == Some(&b'-');
        if is_negative {
            self.0 = self.0.get(1..).unwrap_or_default();
        }
        let value = i128::from(self.take::<u64>(name)?);
        let secs = i64::try_from(if is_negative { -value } else { value });
        Ok(Timestamp {
            secs: secs.map_err(|_| BadLine::Number(name))?,
            nanos: 0,
        })
    }
}

impl Line<'_> {
    /// Returns the attributes. A trace has no device numbers, nanoseconds, attribute flags or
    /// device files' own numbers; these are 0. A crtime of 0 means that it is unknown.
    pub(crate) fn meta(&self) -> Result<Meta, BadLine> {
        let mut numbers = Numbers(self.numbers);
        let mut meta = Meta {
            ino: numbers.take("inode")?,
            mode: numbers.take("mode")?,
            nlink: numbers.take("link count")?,
            uid: Uid(numbers.take("uid")?),
            gid: Gid(numbers.take("gid")?),
            size: numbers.take("size")?,
            blksize: numbers.take("block size")?,
            blocks: numbers.take("block count")?,
            atime: numbers.time("atime")?,
            mtime: numbers.time("mtime")?,
            ctime: numbers.time("ctime")?,
            ..Meta::default()
        };
        let created = Numbers(self.crtime).time("crtime")?;
        meta.btime = (created.secs != 0).then_some(created);
        let is_directory = meta.file_type() == FileType::Directory;
        if is_directory == (self.kind == b'd') {
            Ok(meta)
        } else {
            Err(BadLine::Type)
        }
    }

    /// Returns the name if the path consists of `prefix` (clean, with a trailing slash) and one
    /// name.
    #[inline]
    pub(crate) fn name_within(&self, prefix: &[u8]) -> Option<&[u8]> {
        let path = self.path.strip_prefix(b"/").unwrap_or(self.path);
        let name = path.strip_prefix(prefix)?;
        let is_name =
            !matches!(name, b"" | b"." | b"..") && memchr::memchr2(0, b'/', name).is_none();
        is_name.then_some(name)
    }

    /// Returns the path without a leading slash if every component is a valid name.
    pub(crate) fn clean_path(&self) -> Result<&[u8], BadLine> {
        let path = self.path.strip_prefix(b"/").unwrap_or(self.path);
        let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        if path.is_empty() {
            return Ok(path);
        }
        let good = memchr::memchr(0, path).is_none() && path.split(|b| *b == b'/').all(is_name);
        if good { Ok(path) } else { Err(BadLine::Path) }
    }
}

/// Returns the name and value pairs of a field of extended attributes; `None` if they do not agree
/// with the count or are malformed.
pub(crate) fn xattrs(field: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let (digits, mut rest) = field.split_first_chunk::<4>()?;
    let count = hex(digits)?;
    let mut pairs = Vec::with_capacity(count.min(rest.len() / 2));
    for _ in 0..count {
        let (name, after) = until(rest)?;
        let (value, after) = until(after)?;
        if name.is_empty() || name.contains(&0) {
            return None;
        }
        pairs.push((name, value));
        rest = after;
    }
    rest.is_empty().then_some(pairs)
}

fn until(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(XATTR_END, bytes)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn text(path: &str, kind: char, mode: u32, link: &str, xattrs: &str) -> Vec<u8> {
        let line = format!(
            "{:04x}{path}|{kind}|7|{mode}|1|2|3|4|4096|8|-10|11|12|{:04x}{link}|{:04x}{xattrs}|13|0|0|0|0|0000|0000|99|\n",
            path.len(),
            link.len(),
            xattrs.len()
        );
        line.replace('|', "\x1e").into_bytes()
    }

    #[test]
    fn all_fields_are_found() {
        let xattr_field = "0002user.a\x1fx\ny\x1fuser.b\x1f\x1f";
        let bytes = text("a/b\nc\x1ed", 'l', 0o120_777, "../t\n\x1e", xattr_field);
        let line = split(&bytes).unwrap();
        assert_eq!(line.path, b"a/b\nc\x1ed");
        assert_eq!(
            (line.kind, line.link, line.len),
            (b'l', &b"../t\n\x1e"[..], bytes.len())
        );
        let meta = line.meta().unwrap();
        assert_eq!((meta.ino, meta.mode, meta.nlink), (7, 0o120_777, 1));
        assert_eq!((meta.uid, meta.gid, meta.size), (Uid(2), Gid(3), 4));
        assert_eq!((meta.blksize, meta.blocks), (4096, 8));
        assert_eq!(
            (meta.atime.secs, meta.mtime.secs, meta.ctime.secs),
            (-10, 11, 12)
        );
        assert_eq!(meta.btime.map(|t| t.secs), Some(13));
        let pairs = xattrs(line.xattrs).unwrap();
        assert_eq!(pairs, [(&b"user.a"[..], &b"x\ny"[..]), (b"user.b", b"")]);
    }

    #[test]
    fn field_ends_are_found_anywhere() {
        for at in 0..40 {
            for end in [FIELD_END, b'\n'] {
                let mut bytes = vec![end + 1; 40];
                bytes[at] = end;
                assert_eq!(field_end(&bytes), Some(at));
            }
        }
        assert_eq!(
            field_end(&[0x1d, 0x1f, 0x9e, 0x0b, 0x8a, 0, 0xff, 9, 1]),
            None
        );
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = text("dir/name", 'f', 0o100_644, "", "0000");
        for end in 0..bytes.len() {
            assert!(split(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn every_changed_byte_is_an_error_or_a_line() {
        let bytes = text("dir/name", 'l', 0o120_644, "target", "0001user.a\x1fv\x1f");
        for at in 0..bytes.len() {
            for to in [0, b'\n', FIELD_END, b'0', b'f', b'-', 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = to;
                if let Ok(line) = split(&bytes) {
                    let _ = (line.meta(), line.clean_path(), xattrs(line.xattrs));
                    assert!(line.len <= bytes.len());
                }
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let line = |from: &str, to: &str| {
            let bytes = text("x", 'f', 0o100_644, "", "0000");
            String::from_utf8(bytes)
                .unwrap()
                .replace(from, to)
                .into_bytes()
        };
        let uid = line("\x1e2\x1e3", "\x1e4294967296\x1e3");
        assert_eq!(split(&uid).unwrap().meta(), Err(BadLine::Number("uid")));
        let size = line("\x1e4\x1e4096", "\x1e-4\x1e4096");
        assert_eq!(split(&size).unwrap().meta(), Err(BadLine::Number("size")));
        let kind = line("\x1ef\x1e", "\x1ed\x1e");
        assert_eq!(split(&kind).unwrap().meta(), Err(BadLine::Type));
        let longer = line("0001x", "0009x");
        assert_eq!(split(&longer).unwrap_err(), BadLine::Length("path"));
    }

    #[test]
    fn paths_have_names_only() {
        for (path, good) in [
            ("a/b", true),
            ("", true),
            ("/a", true),
            ("a//b", false),
            ("a/", false),
            ("..", false),
            ("a/./b", false),
            ("a\0b", false),
            ("...", true),
        ] {
            let bytes = text(path, 'f', 0o100_644, "", "0000");
            assert_eq!(split(&bytes).unwrap().clean_path().is_ok(), good, "{path}");
        }
    }

    #[test]
    fn xattr_counts_must_hold() {
        for (field, good) in [
            ("0000", true),
            ("", false),
            ("0001", false),
            ("0001a\x1fb\x1f", true),
            ("0001a\x1fb", false),
            ("0001a\x1fb\x1fc", false),
            ("ffff", false),
            ("0001\x1fb\x1f", false),
        ] {
            assert_eq!(xattrs(field.as_bytes()).is_some(), good, "{field:?}");
        }
    }
}
