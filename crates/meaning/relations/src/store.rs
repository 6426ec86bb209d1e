//! The user's access graph as a file: `$XDG_STATE_HOME/trawl/accesses`, or
//! `~/.local/state/trawl/accesses`.
//!
//! What a user's programs opened is that user's private data: the file has mode 0600, and one that
//! others could read or write is refused. It is replaced as a whole, so a reader sees the old graph or
//! the new one, and writers wait for each other.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use trawl_sys::identity::effective_uid;
use trawl_sys::replaced::Replacing;

use crate::encoding::{self, BYTES_MAX};
use crate::error::RelationError;
use crate::graph::AccessGraph;

const NAME: &str = "accesses";
/// Permissions of anybody but the owner.
const OTHERS: u32 = 0o077;

/// The directory in which an access graph lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(PathBuf);

impl Place {
    /// Uses a directory.
    #[must_use]
    pub fn new(directory: PathBuf) -> Place {
        Place(directory)
    }

    /// Returns the place of this process's user.
    ///
    /// # Errors
    /// Fails if neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn of_process() -> Result<Place, RelationError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let state = set("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.filter(|path| path.is_absolute());
        let state = state.or_else(|| Some(Path::new(&set("HOME")?).join(".local/state")));
        let state = state.ok_or(RelationError::NoHome)?;
        Ok(Place(state.join("trawl")))
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.0.join(NAME)
    }

    /// Reads the access graph; an empty one if nothing was learnt.
    ///
    /// # Errors
    /// Fails if the file is damaged, cannot be read, or others can.
    pub fn read(&self) -> Result<AccessGraph, RelationError> {
        let path = self.path();
        let failed = |source| RelationError::file("read", &path, source);
        // Opening a pipe must not wait for a writer.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(&path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(AccessGraph::default());
            }
            other => other.map_err(failed)?,
        };
        let found = file.metadata().map_err(failed)?;
        let damaged = |why| RelationError::Damaged {
            path: path.clone(),
            why,
        };
        if !found.is_file() || found.len() > BYTES_MAX as u64 {
            return Err(damaged("it is larger than an access graph can be"));
        }
        if found.uid() != effective_uid() {
            return Err(RelationError::Foreign { path });
        }
        if found.mode() & OTHERS != 0 {
            return Err(RelationError::Untrusted { path });
        }
        let mut bytes = Vec::new();
        let mut file = file.take(BYTES_MAX as u64);
        file.read_to_end(&mut bytes).map_err(failed)?;
        encoding::decode(&bytes).map_err(damaged)
    }

    /// Changes the access graph.
    ///
    /// # Errors
    /// As [`Place::read`], and if the file cannot be written.
    pub fn change(&self, with: impl FnOnce(&mut AccessGraph)) -> Result<(), RelationError> {
        let path = self.path();
        let failed = |source| RelationError::file("write", &path, source);
        let replacing = Replacing::begin(&self.0, 0o700).map_err(failed)?;
        let mut graph = self.read()?;
        with(&mut graph);
        let bytes = encoding::encode(&graph);
        replacing
            .replace(NAME.as_ref(), 0o600, &bytes)
            .map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_graph_is_private_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().join("state/trawl"));
        assert_eq!(place.read().unwrap(), AccessGraph::default());
        place.change(|graph| graph.age(5)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.path()), 0o600);
        assert_eq!(mode(&folder.path().join("state/trawl")), 0o700);
        let before = fs::metadata(place.path()).unwrap().ino();
        place.change(|graph| graph.age(9)).unwrap();
        assert_ne!(fs::metadata(place.path()).unwrap().ino(), before);
        assert_eq!(
            fs::read_dir(folder.path().join("state/trawl"))
                .unwrap()
                .count(),
            1
        );
    }

    #[test]
    fn what_others_could_read_and_damage_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path().to_owned());
        place.change(|_| ()).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(place.read(), Err(RelationError::Untrusted { .. })));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(place.path(), b"nonsense, and more of it").unwrap();
        assert!(matches!(place.read(), Err(RelationError::Damaged { .. })));
        // Nothing that could not be read is overwritten.
        assert!(place.change(|_| ()).is_err());
        assert!(fs::read(place.path()).unwrap().starts_with(b"nonsense"));
        File::create(place.path())
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        assert!(matches!(place.read(), Err(RelationError::Damaged { .. })));
    }
}
