//! The start points of a search: those of the command line, or NUL-terminated
//! ones from a file (`-files0-from`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;

use trawl_text::locale::Locale;
use trawl_text::quote;

use crate::parser::Program;
use crate::reference::error_text;

/// Start points; an invalid one is an error message.
pub type StartPoints<'p> = Box<dyn Iterator<Item = Result<Vec<u8>, String>> + 'p>;

impl Program {
    /// Returns the start points, read from their file as they are asked for.
    ///
    /// # Errors
    /// If their file cannot be opened; the error is the message.
    pub fn start_points(&self, locale: Locale) -> Result<StartPoints<'_>, String> {
        let Some(path) = &self.starts_from else {
            return Ok(Box::new(self.starts.iter().cloned().map(Ok)));
        };
        if path == b"-" {
            let name = quote::message(b"(standard input)", locale);
            if trawl_sys::process::stdin_is_closed() {
                let bad = std::io::Error::from_raw_os_error(trawl_sys::Errno::BADF.0);
                let why = error_text(&bad);
                return Err(format!("{name}: read error: {why}"));
            }
            return Ok(Box::new(Listed::new(io::stdin().lock(), name)));
        }
        let name = quote::message(path, locale);
        match File::open(OsStr::from_bytes(path)) {
            Ok(file) => Ok(Box::new(Listed::new(BufReader::new(file), name))),
            Err(error) => Err(format!(
                "cannot open {name} for reading: {}",
                error_text(&error)
            )),
        }
    }
}

/// Reads paths one by one.
struct Listed<R> {
    from: R,
    /// The file's name in messages.
    name: String,
    /// Number of paths read.
    count: u64,
    ended: bool,
}

impl<R: BufRead> Listed<R> {
    fn new(from: R, name: String) -> Listed<R> {
        Listed {
            from,
            name,
            count: 0,
            ended: false,
        }
    }
}

impl<R: BufRead> Iterator for Listed<R> {
    type Item = Result<Vec<u8>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut path = Vec::new();
        match self.from.read_until(0, &mut path) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => {
                self.ended = true;
                let why = error_text(&error);
                return Some(Err(format!("{}: read error: {why}", self.name)));
            }
        }
        self.count += 1;
        path.pop_if(|last| *last == 0);
        Some(match path.is_empty() {
            false => Ok(path),
            true => Err(format!(
                "{}:{}: invalid zero-length file name",
                self.name, self.count
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_with_a_nul_or_the_file() {
        let read = |bytes: &'static [u8]| -> Vec<_> { Listed::new(bytes, "f".into()).collect() };
        let path = |path: &str| Ok(path.as_bytes().to_vec());
        let empty = |number| Err(format!("f:{number}: invalid zero-length file name"));
        assert_eq!(read(b""), []);
        assert_eq!(read(b"a\0b\n\0"), [path("a"), path("b\n")]);
        assert_eq!(read(b"a\0\0b"), [path("a"), empty(2), path("b")]);
        assert_eq!(read(b"\0"), [empty(1)]);
    }
}
