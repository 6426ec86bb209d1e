//! A part of a file's content, read as the user.
//!
//! Invariants: only regular files are opened; a link at the end of the path is not followed; a FIFO
//! or a device is neither opened nor waited for.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;

use rustix::fs::{CWD, FileType};
use schemars::JsonSchema;
use serde::Serialize;
use trawl_sys::directory::Links;
use trawl_sys::file::{locate, open_content};
use trawl_text::words::quoted;

use crate::rows::{shown, without_half_a_character};

/// A part of a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Range {
    /// The file.
    pub path: String,
    /// The same in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    /// The bytes as text; those that are no text are escaped.
    pub content: String,
    /// The bytes in hexadecimal, if they are not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_raw: Option<String>,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: usize,
    /// Size of the file, as it was when it was read.
    pub size: u64,
    /// Where the next part begins; absent at the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// The reason why a part could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {why}", quoted(path))]
    Unreadable {
        /// The path.
        path: Vec<u8>,
        /// The reason.
        why: String,
    },
    /// It is a directory, a link, a device or the like.
    #[error(
        "{} is {kind}, and read takes regular files only{remedy}",
        quoted(path)
    )]
    Kind {
        /// The path.
        path: Vec<u8>,
        /// What it is.
        kind: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}

/// Reads a part of a file.
///
/// # Errors
/// Fails if the path does not lead to a regular file that the user may read.
pub fn read(path: OsString, offset: u64, length: usize) -> Result<Range, RangeError> {
    let path = path.into_vec();
    let unreadable = |why: String| RangeError::Unreadable {
        path: path.clone(),
        why,
    };
    let name = CString::new(path.clone()).map_err(|error| unreadable(error.to_string()))?;
    let place = locate(CWD, &name).map_err(|error| unreadable(error.to_string()))?;
    let stat = rustix::fs::fstat(&place).map_err(|errno| unreadable(errno.to_string()))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        let (kind, remedy) = described(kind);
        return Err(RangeError::Kind {
            path: path.clone(),
            kind,
            remedy,
        });
    }
    // Through the descriptor: the file that was looked at, whatever the path leads to by now.
    let link = CString::new(format!("/proc/self/fd/{}", place.as_raw_fd()));
    let link = link.map_err(|error| unreadable(error.to_string()))?;
    let opened = open_content(CWD, &link, Links::Followed);
    let file = opened.map_err(|error| unreadable(error.to_string()))?;
    let bytes = read_up_to(&file, offset, length);
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    Ok(range(&path, offset, size, &bytes))
}

fn range(path: &[u8], offset: u64, size: u64, bytes: &[u8]) -> Range {
    let whole = without_half_a_character(bytes);
    let is_last = offset.saturating_add(bytes.len() as u64) >= size;
    let part = if whole.is_empty() || is_last {
        bytes
    } else {
        whole
    };
    let next = offset.saturating_add(part.len() as u64);
    let (path, path_raw) = shown(path);
    let (content, content_raw) = shown(part);
    Range {
        path,
        path_raw,
        content,
        content_raw,
        offset,
        length: part.len(),
        size,
        next_offset: (next < size && !part.is_empty()).then_some(next),
    }
}

fn read_up_to(file: &std::fs::File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn described(kind: FileType) -> (&'static str, &'static str) {
    match kind {
        FileType::Directory => ("a directory", ": list shows its entries"),
        FileType::Symlink => ("a symbolic link", ": details shows where it leads"),
        FileType::Fifo => ("a FIFO", ""),
        FileType::Socket => ("a socket", ""),
        FileType::CharacterDevice | FileType::BlockDevice => ("a device", ""),
        _ => ("no regular file", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use trawl_testkit::Scratch;

    fn read_at(path: &std::path::Path, offset: u64, length: usize) -> Result<Range, RangeError> {
        read(path.as_os_str().to_owned(), offset, length)
    }

    #[test]
    fn parts_join_to_the_file() {
        let scratch = Scratch::new("mcp-range");
        let file = scratch.join("file");
        let text = "aé€😀".repeat(100);
        std::fs::write(&file, &text).expect("our own");
        let (mut joined, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let part = read_at(&file, at, 7).expect("a part");
            joined += &part.content;
            assert_eq!(part.content_raw, None, "{part:?}");
            offset = part.next_offset;
        }
        assert_eq!(joined, text);
        let beyond = read_at(&file, u64::MAX, 7).map(|part| (part.length, part.next_offset));
        assert!(matches!(beyond, Ok((0, None)) | Err(_)), "{beyond:?}");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_twice() {
        let scratch = Scratch::new("mcp-range-bytes");
        let file = scratch.join("file");
        std::fs::write(&file, b"a\xff\\\xc3").expect("our own");
        let part = read_at(&file, 0, 10).expect("a part");
        assert_eq!(part.content, "a\\xff\\\\\\xc3");
        assert_eq!(part.content_raw.as_deref(), Some("61ff5cc3"));
        assert_eq!((part.length, part.size, part.next_offset), (4, 4, None));
    }

    #[test]
    fn only_regular_files_are_opened() {
        let scratch = Scratch::new("mcp-range-kinds");
        std::fs::write(scratch.join("file"), "x").expect("our own");
        symlink("file", scratch.join("link")).expect("our own");
        let fifo = scratch.join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, 0o600.into(), 0).expect("our own");
        for name in ["link", "fifo", "."] {
            let refused = read_at(&scratch.join(name), 0, 10);
            assert!(
                matches!(refused, Err(RangeError::Kind { .. })),
                "{name}: {refused:?}"
            );
        }
        for path in ["/dev/zero", "/dev/null"] {
            let refused = read_at(path.as_ref(), 0, 10);
            assert!(
                matches!(refused, Err(RangeError::Kind { .. })),
                "{path}: {refused:?}"
            );
        }
        let missing = read_at(&scratch.join("missing"), 0, 10).expect_err("it is not there");
        assert!(missing.to_string().contains("missing"), "{missing}");
    }
}
