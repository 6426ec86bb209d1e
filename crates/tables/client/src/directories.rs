//! Collects the directories of a search path for a question.

use trawl_table::PATH_BYTES_MAX;

/// Covered directories in the form of a question: separated by colons.
#[derive(Debug)]
pub struct Directories {
    bytes: [u8; PATH_BYTES_MAX],
    length: usize,
    count: usize,
}

impl Default for Directories {
    fn default() -> Directories {
        Directories::new()
    }
}

impl Directories {
    /// Makes an empty list.
    pub const fn new() -> Directories {
        Directories {
            bytes: [0; PATH_BYTES_MAX],
            length: 0,
            count: 0,
        }
    }

    /// Returns all directories.
    pub fn all(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds the directories of a search path for which `is_covered` holds and that are written
    /// plainly: absolute, without dots, double slashes and variables of the loader (`$ORIGIN`).
    /// Directories that do not fit or are present already are left out. Returns whether any were
    /// added.
    pub fn add(&mut self, search_path: &[u8], is_covered: impl Fn(&[u8]) -> bool) -> bool {
        let before = self.count;
        for path in search_path.split(|byte| *byte == b':') {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            if is_plain(path) && is_covered(path) && !self.has(path) {
                self.push(path);
            }
        }
        self.count > before
    }

    /// Returns whether the list has a directory.
    pub fn has(&self, path: &[u8]) -> bool {
        self.all()
            .split(|byte| *byte == b':')
            .any(|one| one == path)
    }

    fn push(&mut self, path: &[u8]) {
        let sign: &[u8] = match self.length {
            0 => b"",
            _ => b":",
        };
        let begin = self.length + sign.len();
        let end = begin + path.len();
        if end > self.bytes.len() {
            return;
        }
        if let Some(room) = self.bytes.get_mut(self.length..begin) {
            room.iter_mut().zip(sign).for_each(|(to, from)| *to = *from);
        }
        if let Some(room) = self.bytes.get_mut(begin..end) {
            room.iter_mut().zip(path).for_each(|(to, from)| *to = *from);
        }
        self.length = end;
        self.count += 1;
    }
}

fn is_plain(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
    let rest = path.strip_prefix(b"/");
    rest.is_some_and(|rest| rest.split(|byte| *byte == b'/').all(is_name)) && !path.contains(&b'$')
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn plain_covered_directories_are_kept_once() {
        let mut directories = Directories::new();
        let is_covered = |path: &[u8]| path.starts_with(b"/a");
        let given = b"/a/b:/a/b/:rel:/a/$ORIGIN:/x::/a/../b:/a//c:/a/.:/a:/:/a/d";
        assert!(directories.add(given, is_covered));
        assert!(!directories.add(given, is_covered));
        assert_eq!(directories.all(), b"/a/b:/a:/a/d");
        assert_eq!(directories.count(), 3);
        assert!(directories.has(b"/a") && !directories.has(b"/a/") && !directories.has(b""));
        // A directory that does not fit is left out.
        let long = [&b"/a/"[..], &[b'n'; PATH_BYTES_MAX]].concat();
        assert!(!directories.add(&long, is_covered));
    }
}
