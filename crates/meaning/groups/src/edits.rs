//! Files that the user moved to groups by hand: "Others: Adjust manually" (the paper's Table 4).
//!
//! A user's edits are a file with mode 0600, which holds a line for each path: the group's name, a
//! tab, and the path with `\n`, `\t` and `\\` for a newline, a tab and a backslash. A path may be
//! that of a directory: it stands for all files below. The nearest path counts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use trawl_sys::replaced::Replacing;

use crate::config::{self, Places};
use crate::error::GroupsError;
use crate::identity::GroupId;

/// Longest name of a group in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Paths that the user moved, each with the name of its group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits(BTreeMap<Vec<u8>, Vec<u8>>);

impl Edits {
    /// Returns the path at or above this one that was moved, and the group that it was moved to.
    #[must_use]
    pub fn nearest(&self, path: &[u8]) -> Option<(&[u8], &[u8])> {
        let mut path = Some(path);
        while let Some(one) = path {
            if let Some((moved, group)) = self.0.get_key_value(one) {
                return Some((moved, group));
            }
            path = trawl_model::path::split(one).map(|(dir, _)| dir);
        }
        None
    }

    /// Returns the group that this very path was moved to.
    #[must_use]
    pub fn get(&self, path: &[u8]) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    /// Returns the paths in order, each with its group.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(path, group)| (&path[..], &group[..]))
    }

    /// Returns whether nothing was moved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves a path, as stored, to the group of this name.
    ///
    /// # Errors
    /// If the name cannot be the name of a group.
    pub fn set(&mut self, path: Vec<u8>, group: &[u8]) -> Result<(), GroupsError> {
        check_name(group)?;
        self.0.insert(path, group.to_vec());
        Ok(())
    }

    /// Leaves a path to the rules again.
    ///
    /// # Errors
    /// If it was not moved.
    pub fn unset(&mut self, path: &[u8]) -> Result<(), GroupsError> {
        match self.0.remove(path) {
            Some(_) => Ok(()),
            None => Err(GroupsError::NotEdited {
                path: trawl_model::path::display(path).to_vec(),
            }),
        }
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Edits, GroupsError> {
        let mut edits = Edits::default();
        let lines = bytes.split(|byte| *byte == b'\n').enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let invalid = |why: &str| GroupsError::Invalid {
                path: path.to_owned(),
                why: format!("line {}: {why}", number + 1),
            };
            let tab = line.iter().position(|byte| *byte == b'\t');
            let tab = tab.ok_or_else(|| invalid("a tab must follow the name of the group"))?;
            let moved = unescaped(&line[tab + 1..])
                .and_then(|path| trawl_model::path::normalize(&path))
                .ok_or_else(|| invalid("an absolute path must follow the tab"))?;
            let set = edits.set(moved, &line[..tab]);
            set.map_err(|error| invalid(&error.to_string()))?;
        }
        Ok(edits)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, group) in self.iter() {
            bytes.extend_from_slice(group);
            bytes.push(b'\t');
            for byte in trawl_model::path::display(path) {
                match byte {
                    b'\n' => bytes.extend_from_slice(b"\\n"),
                    b'\t' => bytes.extend_from_slice(b"\\t"),
                    b'\\' => bytes.extend_from_slice(b"\\\\"),
                    other => bytes.push(*other),
                }
            }
            bytes.push(b'\n');
        }
        bytes
    }
}

fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut text = text.iter();
    while let Some(byte) = text.next() {
        bytes.push(match byte {
            b'\\' => match text.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                b'\\' => b'\\',
                _ => return None,
            },
            other => *other,
        });
    }
    Some(bytes)
}

/// Checks the name of a group that files are moved to.
fn check_name(name: &[u8]) -> Result<(), GroupsError> {
    let text = std::str::from_utf8(name).ok();
    let why = match text {
        None => "it is not UTF-8",
        Some("") => "it is empty",
        Some(text) if text.chars().any(char::is_control) => "it has a control character",
        Some(text) if text.parse::<GroupId>().is_ok() => "it looks like an id",
        Some(text) if text.len() > NAME_BYTES_MAX => "it has more than 255 bytes",
        Some(text) if text.starts_with('/') => "it looks like a path",
        Some(_) => return Ok(()),
    };
    let name = name.to_vec();
    Err(GroupsError::Name { name, why })
}

/// The file of a user's edits.
#[derive(Clone, Debug)]
pub struct EditsFile {
    path: PathBuf,
}

impl EditsFile {
    /// Returns the user's file.
    ///
    /// # Errors
    /// If it has no place.
    pub fn of(places: &Places) -> Result<EditsFile, GroupsError> {
        let path = places.edits()?;
        Ok(EditsFile { path })
    }

    /// Reads the user's edits; none if they have no place, or no file.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn read(places: &Places) -> Result<Edits, GroupsError> {
        match EditsFile::of(places) {
            Ok(file) => file.load(),
            Err(GroupsError::NoHome) => Ok(Edits::default()),
            Err(other) => Err(other),
        }
    }

    fn load(&self) -> Result<Edits, GroupsError> {
        match config::read(&self.path)? {
            Some(bytes) => Edits::parse(&bytes, &self.path),
            None => Ok(Edits::default()),
        }
    }

    /// Changes the edits and replaces the file as a whole. Others who change it meanwhile wait.
    ///
    /// # Errors
    /// Those of `with`, and if the file would be too large to be read again, after which nothing is
    /// changed; and if the file cannot be read or written.
    pub fn change(
        &self,
        with: impl FnOnce(&mut Edits) -> Result<(), GroupsError>,
    ) -> Result<(), GroupsError> {
        let failed = |error| GroupsError::file("write", &self.path, error);
        let (Some(directory), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        let replacing = Replacing::begin(directory, 0o700).map_err(failed)?;
        let mut edits = self.load()?;
        with(&mut edits)?;
        let bytes = edits.bytes();
        if bytes.len() as u64 > config::BYTES_MAX {
            let why = "edits are files of at most 16 MiB, and this change would make it larger: \
                       move directories instead of the files in them";
            return Err(GroupsError::Invalid {
                path: self.path.clone(),
                why: why.into(),
            });
        }
        replacing.replace(name, 0o600, &bytes).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use proptest::prelude::*;

    fn places(folder: &Path) -> Places {
        Places {
            given: None,
            own: Some(folder.join("home/trawl")),
            system: folder.join("none"),
        }
    }

    #[test]
    fn edits_are_kept_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let file = EditsFile::of(&places).unwrap();
        file.change(|edits| edits.set(b"/a/b".to_vec(), b"tax"))
            .unwrap();
        file.change(|edits| edits.set(b"/c".to_vec(), b"old"))
            .unwrap();
        file.change(|edits| edits.unset(b"/c")).unwrap();
        let refused = file.change(|edits| edits.unset(b"/c")).unwrap_err();
        assert!(matches!(refused, GroupsError::NotEdited { .. }));
        let edits = EditsFile::read(&places).unwrap();
        assert_eq!(
            edits.iter().collect::<Vec<_>>(),
            [(&b"/a/b"[..], &b"tax"[..])]
        );
        let path = folder.path().join("home/trawl/group-edits");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        let refused = EditsFile::read(&places).unwrap_err();
        assert!(refused.to_string().contains("chmod go-w"), "{refused}");
    }

    #[test]
    fn a_change_that_could_not_be_read_again_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let file = EditsFile::of(&places).unwrap();
        file.change(|edits| edits.set(b"/a".to_vec(), b"tax"))
            .unwrap();
        let long = "a".repeat(1 << 20);
        let paths = (0..17).map(|number| format!("/{number}{long}").into_bytes());
        let refused = file.change(|edits| {
            let mut paths = paths;
            paths.try_for_each(|path| edits.set(path, b"tax"))
        });
        let refused = refused.unwrap_err().to_string();
        for part in ["group-edits", "16 MiB", "move directories"] {
            assert!(refused.contains(part), "{refused}");
        }
        let edits = EditsFile::read(&places).unwrap();
        assert_eq!(edits.iter().count(), 1);
        assert_eq!(edits.get(b"/a"), Some(&b"tax"[..]));
    }

    #[test]
    fn the_nearest_path_counts() {
        let mut edits = Edits::default();
        edits.set(b"/a".to_vec(), b"one").unwrap();
        edits.set(b"/a/b/c".to_vec(), b"two").unwrap();
        for (path, group) in [
            (&b"/a"[..], Some(&b"one"[..])),
            (b"/a/b", Some(b"one")),
            (b"/a/b/c/d", Some(b"two")),
            (b"/a/b/cd", Some(b"one")),
            (b"/ab", None),
            (b"", None),
        ] {
            assert_eq!(edits.nearest(path).map(|(_, group)| group), group);
        }
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in [&b""[..], b"a\tb", b"0123456789abcdef", b"/srv", b"\xff"] {
            assert!(Edits::default().set(Vec::new(), name).is_err());
        }
        assert!(Edits::parse(b"name /a\n", Path::new("x")).is_err());
        assert!(Edits::parse(b"name\ta\n", Path::new("x")).is_err());
        assert!(Edits::parse(b"name\t/a\\x\n", Path::new("x")).is_err());
    }

    proptest! {
        #[test]
        fn any_path_is_read_as_it_was_written(
            parts in proptest::collection::vec(proptest::collection::vec(1..=255u8, 1..6), 0..4),
        ) {
            let path = trawl_model::path::normalize(&[&b"/"[..], &parts.join(&b'/')].concat());
            let mut edits = Edits::default();
            edits.set(path.unwrap(), "größer".as_bytes()).unwrap();
            prop_assert_eq!(Edits::parse(&edits.bytes(), Path::new("x")).unwrap(), edits);
        }
    }
}
