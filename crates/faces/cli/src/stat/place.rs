//! Values that are not in a file's own row: the mount point of its file system, and its security
//! context.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use trawl_model::path::{display, split};
use trawl_query::{Located, Start};
use trawl_report::stat::Format;

use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::say;
use crate::scope::{Session, row_of};

const LABEL: &[u8] = b"security.selinux";

/// Returns the mount point and the security context, each only if the format shows it.
pub(crate) fn of(
    session: &mut Session,
    format: &Format,
    start: &Start,
    given: &OsStr,
) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let mount = match format.has(b'm') {
        true => mount_point(session, start)?,
        false => Vec::new(),
    };
    let label = match format.has(b'C') {
        true => label(session, start, given)?,
        false => Vec::new(),
    };
    Ok((mount, label))
}

/// Returns the highest directory on the way up that is on the same device.
fn mount_point(session: &Session, start: &Start) -> Result<Vec<u8>, Failure> {
    let mut path = start.path.clone();
    if !start.is_dir {
        path = split(&path).map_or(Vec::new(), |(dir, _)| dir.to_vec());
    }
    let Some(own) = device(session, &path)? else {
        return Ok(display(&path).to_vec());
    };
    while let Some((above, _)) = split(&path) {
        if device(session, above)? != Some(own) {
            break;
        }
        path = above.to_vec();
    }
    Ok(display(&path).to_vec())
}

/// Returns the device of a directory; above a source's root, the live one.
fn device(session: &Session, path: &[u8]) -> Result<Option<u64>, Failure> {
    Ok(match session.index().locate(path)? {
        Located::Found(start) => Some(row_of(&start).dev().as_u64()),
        _ if session.is_live() => {
            let live = std::fs::metadata(OsStr::from_bytes(display(path)));
            live.ok().map(|live| live.dev())
        }
        _ => None,
    })
}

/// Returns the security context; reports if there is none.
fn label(session: &mut Session, start: &Start, given: &OsStr) -> Result<Vec<u8>, Failure> {
    let attributes = session.index().attributes(start)?;
    let found = attributes.into_iter().find(|one| one.name == LABEL);
    if let Some(value) = found.and_then(|one| one.value) {
        let text = value.strip_suffix(b"\0").unwrap_or(&value);
        return Ok(text.to_vec());
    }
    say(format_args!(
        "failed to get security context of {}: no data available",
        quoted(given.as_bytes())
    ));
    session.worsen(Exit::Issues);
    Ok(b"?".to_vec())
}
