//! Entries outside a listing that are shown in it: targets of links, `.` and `..`.
//!
//! They are looked up in the index, and where it ends in the live file system, unless the session
//! is about a recording or the past.

use trawl_find::resolve::{Follow, Resolved, resolve};
use trawl_model::{FileType, path};
use trawl_query::Located;
use trawl_report::listing::Item;
use trawl_session::{Missing, PATHS_AT_ONCE, Session, live_part};

use crate::error::AnswerError;

/// Prepares lookups of the links among these entries of a directory.
///
/// # Errors
/// If the index cannot be read.
pub fn expect<'i>(
    session: &Session<'_>,
    dir: &[u8],
    items: impl Iterator<Item = &'i Item>,
) -> Result<(), AnswerError> {
    let links = items.filter(|item| item.kind == FileType::Symlink);
    let paths: Vec<Vec<u8>> = links.map(|item| path::join(dir, &item.name)).collect();
    for some in paths.chunks(PATHS_AT_ONCE) {
        let links = some.iter().map(Vec::as_slice);
        session.known().prepare_links(links)?;
    }
    Ok(())
}

/// Returns the final target of the links that begin at `path`, and its path.
///
/// # Errors
/// Returns the reason if there is none.
pub fn target(session: &Session<'_>, path: &[u8]) -> Result<(Item, Vec<u8>), Missing> {
    match resolve(session.known(), b"", path, Follow::Last) {
        Ok(Resolved::To(Located::Found(start), end)) => {
            Ok((Item::from_row(&start.own_row(), b""), end))
        }
        Ok(Resolved::To(Located::NotIndexed { .. } | Located::Hidden { .. }, end)) => {
            let live = match session.is_live() {
                true => live_part::target(path).map_err(Missing::Unread)?,
                false => return Err(Missing::OutsideIndex),
            };
            Ok((of_live(&live, b""), end))
        }
        Ok(Resolved::To(Located::Denied { .. }, _)) => Err(Missing::Denied),
        Ok(Resolved::To(Located::NotDirectory { .. }, _)) => Err(Missing::NotDirectory),
        Ok(Resolved::Loop) => Err(Missing::Loop),
        Ok(Resolved::Unread(error)) => Err(Missing::Unread(error)),
        _ => Err(Missing::NotFound),
    }
}

/// Returns the path at which the links from `path` on end, whether or not it exists.
pub fn end_of(session: &Session<'_>, path: &[u8]) -> Vec<u8> {
    match resolve(session.known(), b"", path, Follow::Last) {
        Ok(Resolved::To(_, end)) => end,
        _ => path.to_vec(),
    }
}

/// Returns a directory under another name, such as `.` or `..`. A directory above a source's root
/// is not in the index, and one inside a directory that may be traversed but not listed is hidden
/// from this user. For both, the live file system is asked, unless the source is a recording.
///
/// # Errors
/// If the index cannot be read.
pub fn directory(session: &Session<'_>, path: &[u8], name: &[u8]) -> Result<Item, AnswerError> {
    let mut item = match session.index().locate(path)? {
        Located::Found(start) => Item::from_row(&start.own_row(), name),
        Located::NotIndexed { .. } | Located::Hidden { .. } => live(session, path, name),
        _ => Item::unknown(name),
    };
    item.kind = FileType::Directory;
    Ok(item)
}

fn live(session: &Session<'_>, path: &[u8], name: &[u8]) -> Item {
    let meta = match session.is_live() {
        true => live_part::itself(path).ok(),
        false => None,
    };
    meta.map_or_else(|| Item::unknown(name), |meta| of_live(&meta, name))
}

/// Returns the item for an entry of the live file system.
fn of_live(live: &std::fs::Metadata, name: &[u8]) -> Item {
    let meta = live_part::meta_of(live);
    Item {
        meta: Some(meta),
        kind: meta.file_type(),
        ..Item::unknown(name)
    }
}
