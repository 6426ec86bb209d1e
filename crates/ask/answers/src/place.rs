//! Facts about the place of a file that are not in its own row: the mount point of its file system,
//! and its security context.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use trawl_model::mapped::theirs;
use trawl_model::path::{display, split};
use trawl_query::{Located, QueryError, Start};
use trawl_session::Session;

const LABEL: &[u8] = b"security.selinux";

/// Returns the mount point of the file system that contains a file: the highest directory on the
/// way up that is on the same device. Directories above a source's root are looked up live, unless
/// the question is about the past.
///
/// # Errors
/// Fails if the index cannot be read.
pub fn mount_point(session: &Session<'_>, start: &Start) -> Result<Vec<u8>, QueryError> {
    let mut path = start.path.clone();
    if !start.is_dir {
        path = split(&path).map_or(Vec::new(), |(dir, _)| dir.to_vec());
    }
    let Some(own) = device(session, &path)? else {
        return Ok(theirs(&path).into_owned());
    };
    while let Some((above, _)) = split(&path) {
        if device(session, above)? != Some(own) {
            break;
        }
        path = above.to_vec();
    }
    Ok(theirs(&path).into_owned())
}

/// Returns the device of a directory; above a source's root, the live one.
fn device(session: &Session<'_>, path: &[u8]) -> Result<Option<u64>, QueryError> {
    Ok(match session.index().locate(path)? {
        Located::Found(start) => Some(start.own_row().dev().as_u64()),
        _ if session.is_live() => {
            let live = std::fs::metadata(OsStr::from_bytes(display(path)));
            live.ok().map(|live| live.dev())
        }
        _ => None,
    })
}

/// Returns the security context of a file; `None` if it has none, or the asker may not read it.
///
/// # Errors
/// Fails if the index cannot be read.
pub fn security_context(
    session: &Session<'_>,
    start: &Start,
) -> Result<Option<Vec<u8>>, QueryError> {
    let attributes = session.index().attributes(start)?;
    let found = attributes.into_iter().find(|one| one.name == LABEL);
    let value = found.and_then(|one| one.value);
    Ok(value.map(|value| value.strip_suffix(b"\0").unwrap_or(&value).to_vec()))
}
