//! Replaces a file as a whole: a reader sees the old report or the new one.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use trawl_session::now;

use crate::failure::Failure;

/// Permissions of a file that did not exist.
const OWN: u32 = 0o600;
/// Bits of permissions that a replaced file keeps.
const KEPT: u32 = 0o777;

/// Replaces a regular file of this user, which need not exist, with these bytes. They are on the disk
/// when this returns. A replaced file keeps its permissions; if its group cannot be kept, only its
/// owner has access.
///
/// # Errors
/// If there is something else than a regular file, or a file of another user, who could read the
/// report; or the file cannot be written.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |action| {
        move |source| Failure::File {
            action,
            path: path.to_owned(),
            source,
        }
    };
    let Some(new) = name_beside(path) else {
        return Err(failed("write")(io::ErrorKind::IsADirectory.into()));
    };
    let old = match fs::symlink_metadata(path) {
        Ok(old) if old.is_file() => Some(old),
        Ok(_) => {
            let source = io::Error::other("it is not a regular file");
            return Err(failed("replace")(source));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("replace")(error)),
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(OWN);
    let file = options.open(&new).map_err(failed("write"))?;
    let written = fill(file, old.as_ref(), bytes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map_err(failed("write"))
}

/// Returns a name in the same directory that no other process uses.
fn name_beside(path: &Path) -> Option<PathBuf> {
    let time = now();
    let mut name = OsString::from(".");
    name.push(path.file_name()?);
    let (process, number) = (std::process::id(), time.secs ^ i64::from(time.nanos));
    name.push(format!(".{process}.{number}.new"));
    Some(path.with_file_name(name))
}

fn fill(mut file: File, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    if let Some(old) = old {
        let own = file.metadata()?;
        if own.uid() != old.uid() {
            return Err(io::Error::other("it belongs to another user"));
        }
        if own.gid() == old.gid() || fchown(&file, None, Some(old.gid())).is_ok() {
            file.set_permissions(Permissions::from_mode(old.mode() & KEPT))?;
        }
    }
    file.write_all(bytes)?;
    file.sync_all()
}
