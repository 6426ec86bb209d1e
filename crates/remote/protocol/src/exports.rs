//! The trees that a server shows, and the translation of a client's path into them.
//!
//! Invariants: with named exports nothing outside them is reached, whatever a path or a link says;
//! exports are opened as the user that is served, so an export that the user cannot reach directly
//! stays closed.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_call::Confined;
use trawl_model::path::join;
use trawl_sys::confined::look_anywhere;
use trawl_sys::directory::{AccessTime, Links, Purpose, open_path};
use trawl_sys::{CWD, Errno, Op, SysError};

use crate::error::RemoteError;

/// The file that lists the exports of restricted servers.
pub const FILE: &str = "/etc/trawl/exports";
/// The only line of a file that exports everything.
const EVERYTHING: &[u8] = b"*";
/// Maximum length of this file in bytes.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// An exported tree and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    name: Vec<u8>,
    dir: PathBuf,
}

impl Export {
    /// Parses `NAME=DIR`: a name without slashes and an absolute directory.
    ///
    /// # Errors
    /// Fails for any other text.
    pub fn parse(text: &[u8]) -> Result<Export, RemoteError> {
        let bad = |why| RemoteError::Exports {
            why: format!("{}: {why}", text.escape_ascii()),
        };
        let cut = text.iter().position(|byte| *byte == b'=');
        let (name, dir) = text.split_at(cut.ok_or_else(|| bad("it is not NAME=DIR"))?);
        let dir = &dir[1..];
        let is_name = !matches!(name, b"" | b"." | b"..");
        if !is_name || name.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return Err(bad("the name is empty, . or .., or has a slash"));
        }
        if !dir.starts_with(b"/") || dir.contains(&0) {
            return Err(bad("the directory is not absolute"));
        }
        Ok(Export {
            name: name.to_vec(),
            dir: PathBuf::from(OsStr::from_bytes(dir)),
        })
    }

    /// Returns the export as `NAME=DIR`.
    pub fn to_text(&self) -> std::ffi::OsString {
        let text = [&self.name[..], b"=", self.dir.as_os_str().as_bytes()].concat();
        std::ffi::OsString::from_vec(text)
    }
}

/// The trees that a server shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exports {
    /// Everything that the user can see; paths are those of the server.
    Everything,
    /// These trees; a client's path begins with the name of one.
    Named(Vec<Export>),
}

/// A client's path, translated.
#[derive(Clone, Debug)]
pub(crate) enum ExportedPath {
    /// This path of the server.
    Anywhere(CString),
    /// A place in an export.
    Confined(Confined),
}

impl ExportedPath {
    /// Returns whether a directory below the place can be listed.
    pub(crate) fn is_listable(&self, below: &[u8]) -> bool {
        let list = Purpose::List(AccessTime::Update);
        match self {
            ExportedPath::Confined(confined) => confined.open(below, list).is_ok(),
            ExportedPath::Anywhere(path) => {
                let path = CString::new(join(path.to_bytes(), below));
                // Only the top may be a link; the slash at its end makes the kernel follow it.
                path.is_ok_and(|path| open_path(CWD, &path, list, Links::Refused).is_ok())
            }
        }
    }

    /// Opens the object at a path below the place with `O_PATH`, for stat(2) alone.
    ///
    /// # Errors
    /// Fails with the errors of open(2).
    pub(crate) fn look(&self, below: &[u8], links: Links) -> Result<OwnedFd, SysError> {
        let bad = |errno| SysError::new(Op::Openat, errno);
        match (self, below) {
            (ExportedPath::Confined(confined), below) => confined.look(below, links),
            (ExportedPath::Anywhere(path), b"") => look_anywhere(path, links),
            // Joining the two would make a path from `/`.
            (ExportedPath::Anywhere(path), _) if path.is_empty() => Err(bad(Errno::NOENT)),
            (ExportedPath::Anywhere(path), below) => {
                let path = CString::new(join(path.to_bytes(), below));
                look_anywhere(&path.map_err(|_| bad(Errno::INVAL))?, links)
            }
        }
    }
}

impl Exports {
    /// Creates exports of these trees.
    ///
    /// # Errors
    /// Fails if two have the same name.
    pub fn named(exports: Vec<Export>) -> Result<Exports, RemoteError> {
        for (at, export) in exports.iter().enumerate() {
            if exports[..at].iter().any(|other| other.name == export.name) {
                let name = export.name.escape_ascii();
                let why = format!("two exports are called {name}");
                return Err(RemoteError::Exports { why });
            }
        }
        Ok(Exports::Named(exports))
    }

    /// Reads a file of lines `NAME=DIR`, where `#` begins a comment, or of a single line `*`. Only the superuser may be able
    /// to write the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, another user may write it, or a line is invalid. Then
    /// nothing is exported.
    pub fn from_file(path: &Path) -> Result<Exports, RemoteError> {
        let failed = |source| RemoteError::File {
            action: "read the exports in",
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let is_safe = metadata.is_file() && metadata.uid() == 0 && metadata.mode() & 0o022 == 0;
        if !is_safe {
            let text = "it must be a file that only the superuser can write";
            return Err(failed(io::Error::other(text)));
        }
        let mut text = Vec::new();
        let mut file = io::Read::take(file, FILE_MAX_BYTES + 1);
        io::Read::read_to_end(&mut file, &mut text).map_err(failed)?;
        if text.len() as u64 > FILE_MAX_BYTES {
            return Err(failed(io::Error::other("it is too long")));
        }
        Exports::from_lines(&text)
    }

    /// Parses the lines of such a file. A single line `*` exports everything.
    ///
    /// # Errors
    /// Fails if a line is invalid.
    pub fn from_lines(text: &[u8]) -> Result<Exports, RemoteError> {
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        if lines.clone().eq([EVERYTHING]) {
            return Ok(Exports::Everything);
        }
        Exports::named(lines.map(Export::parse).collect::<Result<_, _>>()?)
    }
}

/// Translates the paths of one request; each export is opened once.
#[derive(Debug)]
pub(crate) struct PathTranslator<'e> {
    exports: &'e Exports,
    opened: HashMap<&'e [u8], Result<Arc<OwnedFd>, Errno>>,
}

impl<'e> PathTranslator<'e> {
    pub(crate) fn new(exports: &'e Exports) -> PathTranslator<'e> {
        PathTranslator {
            exports,
            opened: HashMap::new(),
        }
    }

    /// Returns the place of a path. A path that cannot be reached has a place, too, where each
    /// access fails.
    pub(crate) fn find(&mut self, path: &[u8]) -> ExportedPath {
        let unreachable = |errno| ExportedPath::Confined(Confined::unreachable(errno));
        let exports = match self.exports {
            Exports::Everything => {
                return match CString::new(path) {
                    Ok(path) => ExportedPath::Anywhere(path),
                    Err(_) => unreachable(Errno::INVAL),
                };
            }
            Exports::Named(exports) => exports,
        };
        let (name, below) = split_first(path);
        let Some(export) = exports.iter().find(|export| export.name == name) else {
            return unreachable(Errno::NOENT);
        };
        let opened = self.opened.entry(&export.name);
        match opened.or_insert_with(|| export.open()) {
            Ok(top) => ExportedPath::Confined(Confined::new(Arc::clone(top), below)),
            Err(errno) => unreachable(*errno),
        }
    }
}

impl Export {
    fn open(&self) -> Result<Arc<OwnedFd>, Errno> {
        let dir = CString::new(self.dir.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let opened = open_path(CWD, &dir, Purpose::Pass, Links::Followed);
        opened.map(Arc::new).map_err(|error| error.errno)
    }
}

/// Returns the first name of a path, and the path below it.
fn split_first(path: &[u8]) -> (&[u8], &[u8]) {
    let without_slashes = |path: &'_ [u8]| -> usize {
        let begin = path.iter().position(|byte| *byte != b'/');
        begin.unwrap_or(path.len())
    };
    let path = &path[without_slashes(path)..];
    let end = path.iter().position(|byte| *byte == b'/');
    let (name, below) = path.split_at(end.unwrap_or(path.len()));
    (name, &below[without_slashes(below)..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trawl_testkit::Scratch;

    proptest! {
        /// A text that is parsed as exports equals, written again, the same exports.
        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(prop_oneof![
            3 => proptest::sample::select(&b"=/\n#. ab"[..]),
            1 => any::<u8>(),
        ], 0..60)) {
            if let Ok(Exports::Named(exports)) = Exports::from_lines(&text) {
                let lines: Vec<_> = exports.iter().map(Export::to_text).collect();
                let again = lines.join(OsStr::new("\n"));
                let again = Exports::from_lines(again.as_bytes()).unwrap();
                prop_assert_eq!(again, Exports::Named(exports));
            }
        }
    }

    #[test]
    fn lines_are_exports() {
        let read = |text: &str| Exports::from_lines(text.as_bytes());
        let Exports::Named(exports) = read("# trees\n\n a=/srv/a b \nb=/x=y\n").unwrap() else {
            panic!("they have names");
        };
        let text: Vec<_> = exports.iter().map(Export::to_text).collect();
        assert_eq!(text, ["a=/srv/a b", "b=/x=y"]);
        for bad in ["a", "=/x", "a/b=/x", "..=/x", "a=x", "a=", "a=/x\na=/y"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_superusers_file_is_believed() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let scratch = Scratch::new("exports");
        let path = scratch.join("exports");
        std::fs::write(&path, "a=/srv\n").unwrap();
        let mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        mode(0o644);
        match trawl_testkit::skip::without_root("exports of the superuser") {
            Some(skip) => skip.say(),
            None => assert!(Exports::from_file(&path).is_ok()),
        }
        mode(0o664);
        assert!(Exports::from_file(&path).is_err());
        mode(0o644);
        if trawl_testkit::skip::is_root() {
            chown(&path, Some(1234), None).unwrap();
            assert!(Exports::from_file(&path).is_err());
        }
        assert!(Exports::from_file(&scratch.join("none")).is_err());
    }
}
