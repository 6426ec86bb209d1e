//! Where rules and edits are, and how such files are read: they are small, regular, and nobody else
//! could have written them.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use trawl_sys::identity::effective_uid;
use trawl_sys::settings;

use crate::error::GroupsError;

/// Largest file of rules or edits in bytes.
pub(crate) const BYTES_MAX: u64 = 16 << 20;
/// Permissions for writing that only the owner may have.
const OTHERS_WRITE: u32 = 0o022;
/// Rules for all users.
const SYSTEM_RULES: &str = "/etc/trawl/groups.toml";

/// The places of rules and edits.
#[derive(Clone, Debug)]
pub struct Places {
    /// A file of rules that the user named; it takes the place of all others.
    pub given: Option<PathBuf>,
    /// The user's directory of settings; `None` if it has no place.
    pub own: Option<PathBuf>,
    /// Rules for all users.
    pub system: PathBuf,
}

impl Places {
    /// Returns the places of this process's user.
    #[must_use]
    pub fn of_process(given: Option<PathBuf>) -> Places {
        Places {
            given,
            // A process that answers for a mount has no HOME.
            own: settings::own().or_else(settings::of_account),
            system: SYSTEM_RULES.into(),
        }
    }

    /// Returns the text of the rules in effect, with the file that they are from; `None` if no file
    /// takes the place of the rules that are shipped.
    ///
    /// # Errors
    /// If the file that counts cannot be read, or others could have written it.
    pub(crate) fn rules(&self) -> Result<Option<(PathBuf, String)>, GroupsError> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        if let Some(given) = &self.given {
            let bytes = read(given)?.ok_or_else(|| GroupsError::file("read", given, missing()))?;
            return text(given, bytes).map(Some);
        }
        let own = self.own.as_ref().map(|own| own.join("groups.toml"));
        for path in own.iter().chain([&self.system]) {
            if let Some(bytes) = read(path)? {
                return text(path, bytes).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the file of the user's edits.
    ///
    /// # Errors
    /// If it has no place.
    pub(crate) fn edits(&self) -> Result<PathBuf, GroupsError> {
        let own = self.own.as_ref().ok_or(GroupsError::NoHome)?;
        Ok(own.join("group-edits"))
    }
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<(PathBuf, String), GroupsError> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok((path.to_owned(), text)),
        Err(_) => Err(GroupsError::Invalid {
            path: path.to_owned(),
            why: "the rules are not UTF-8".into(),
        }),
    }
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, GroupsError> {
    let failed = |error| GroupsError::file("read", path, error);
    // Opening a pipe must not wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let invalid = |why: &str| GroupsError::Invalid {
        path: path.to_owned(),
        why: why.into(),
    };
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || found.len() > BYTES_MAX {
        return Err(invalid("rules and edits are files of at most 16 MiB"));
    }
    if ![0, effective_uid()].contains(&found.uid()) || found.mode() & OTHERS_WRITE != 0 {
        let why = "others could have written it; give it to yourself or root, and chmod go-w";
        return Err(invalid(why));
    }
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(failed).map(|_| Some(bytes))
}
