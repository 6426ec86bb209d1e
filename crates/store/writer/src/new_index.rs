//! Makes an index, and adds, moves and removes the directories of its sources.

use crate::clean::{self, remove_matching};
use crate::guard_dirs::{self, GuardDirs};
use crate::lock::SourceLock;
use std::path::Path;
use trawl_format::error::{IndexError, Result};
use trawl_format::guard_walk;
use trawl_format::id::SourceId;
use trawl_format::index::{IndexDir, format_text, temporary_name};
use trawl_format::layout::{self, GuardName};
use trawl_format::schema::FORMAT;
use trawl_format::sealed;
use trawl_format::source::{Source, SourceInfo};
use trawl_format::store::{Dir, Found, Readers, if_there};
use trawl_model::guard::Element;
use trawl_model::{Timestamp, Uid};

/// Mode bits that let users other than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// Opens an index for writing, and makes one if there is none. Makes the directory itself, but
/// not the directories above it. An existing directory must be empty, must not be writable by
/// others, and must not be a symbolic link at the end of `path`; it keeps its permissions.
///
/// A new index is for `readers`. If that is `None`, it is for everyone if the superuser makes
/// it, and for its owner alone otherwise.
///
/// # Errors
/// [`IndexError::NotEmpty`]; [`IndexError::NotOurs`]; [`IndexError::BehindLink`];
/// [`IndexError::Writable`]; [`IndexError::OtherReaders`] if the index exists for readers other
/// than `readers`; [`IndexError::NotSuperuser`] if a user other than the superuser asks for an
/// index for everyone; [`IndexError::NoAcls`] if the file system has no ACLs for such an index.
pub fn create_index(path: &Path, readers: Option<Readers>) -> Result<IndexDir> {
    let (dir, found) = Dir::create_top(path)?;
    let us = Uid(rustix::process::geteuid().as_raw());
    let owner = dir.owner()?;
    if owner != us {
        let path = path.to_owned();
        return Err(IndexError::NotOurs { path, owner });
    }
    if if_there(dir.open_file(layout::FORMAT_FILE))?.is_none() {
        let readers = readers.unwrap_or(match us {
            Uid::ROOT => Readers::Everyone,
            _ => Readers::Owner,
        });
        if readers == Readers::Everyone && us != Uid::ROOT {
            let path = path.to_owned();
            return Err(IndexError::NotSuperuser { path });
        }
        let dir = dir.for_readers(readers);
        match found {
            Found::Made => dir.set_readable()?,
            Found::There if dir.access()?.mode & OTHERS_WRITE == 0 => {}
            Found::There => {
                let path = path.to_owned();
                return Err(IndexError::Writable { path });
            }
            Found::ThroughLink => {
                let path = path.to_owned();
                return Err(IndexError::BehindLink { path });
            }
        }
        let _creating = dir.lock_alone()?;
        fill(&dir)?;
    }
    let index = IndexDir::open(path)?;
    if readers.is_some_and(|readers| readers != index.readers()) {
        return Err(IndexError::OtherReaders {
            path: path.to_owned(),
            has: index.readers(),
        });
    }
    Ok(index)
}

/// Makes an empty directory an index, or finishes an interrupted attempt.
fn fill(dir: &Dir) -> Result<()> {
    let started = [layout::FORMAT_FILE, layout::SOURCES];
    let is_temporary = |name: &str| name.ends_with(layout::TEMPORARY_ENDING);
    let names = dir.list()?;
    let ours = |name: &String| is_temporary(name) || started.contains(&name.as_str());
    if !names.iter().all(ours) {
        return Err(IndexError::NotEmpty {
            path: dir.path().to_owned(),
        });
    }
    if_there(dir.remove_dir(guard_dirs::TRIAL))?;
    remove_matching(dir, is_temporary)?;
    if dir.readers() == Readers::Everyone {
        guard_dirs::check_acls(dir)?;
    }
    dir.make_dir(layout::SOURCES)?.sync()?;
    let temporary = temporary_name(layout::FORMAT_FILE);
    let text = format_text(FORMAT, dir.readers());
    dir.replace(layout::FORMAT_FILE, &temporary, text.as_bytes())
}

/// Opens the source with this root path. If the index lacks it, adds it behind the guard
/// `above` of the source as a whole, with `now` as its time of creation. An existing source may
/// lie behind another guard.
pub fn add_source(
    index: &IndexDir,
    root: &[u8],
    above: &[Element],
    now: Timestamp,
) -> Result<Source> {
    let id = SourceId::of_root(root);
    let (place, dir) = match index.find_dir(root)? {
        Some(found) => found,
        None => {
            let data = GuardDirs::default().open(index.sources_dir(), above)?;
            let dir = data.make_dir(&id.to_string())?;
            data.sync()?;
            (layout::data_components(above), dir)
        }
    };
    if if_there(dir.open_file(layout::SOURCE_FILE))?.is_none() {
        let _lock = SourceLock::take(&dir)?;
        remove_matching(&dir, |name| name.ends_with(layout::TEMPORARY_ENDING))?;
        for name in [layout::SNAPSHOTS, layout::DATA] {
            dir.make_dir(name)?.sync()?;
        }
        let private = dir.make_private(layout::PRIVATE)?;
        private.make_dir(layout::DATA)?.sync()?;
        private.sync()?;
        let info = SourceInfo {
            format: FORMAT,
            id,
            root: root.to_vec(),
            created: now,
        };
        let bytes = sealed::seal_json(&info, &dir.join(layout::SOURCE_FILE))?;
        let temporary = temporary_name(layout::SOURCE_FILE);
        dir.replace(layout::SOURCE_FILE, &temporary, &bytes)?;
    }
    Source::open(dir, id, &place)
}

/// Removes the files of named indices, whose guards begin below that of the source: where it is moved
/// to, more users may pass. The next update makes them again.
fn remove_indices(source: &Source) -> Result<()> {
    let Some(top) = if_there(source.dir().open_dir(layout::INDICES))? else {
        return Ok(());
    };
    guard_walk::walk(&top, &mut |_, dir| {
        remove_matching(dir, |name| name.ends_with(layout::INDEX_ENDING)).map(drop)
    })
    .map(drop)
}

/// Moves a source behind its current guard. Directories that are already open stay open.
pub(crate) fn move_source(
    index: &IndexDir,
    source: &Source,
    above: &[Element],
    time: Timestamp,
) -> Result<()> {
    let place = layout::data_components(above);
    if place != source.place() {
        let name = source.id().to_string();
        remove_indices(source)?;
        let old = index.sources_dir().open_below(source.place())?;
        let new = GuardDirs::default().open(index.sources_dir(), above)?;
        old.rename_to(&name, &new)?;
        new.sync()?;
        old.sync()?;
        tidy(index, source.place(), time)?;
    }
    tidy(index, &place, time)
}

/// Removes the guard directories that lead to `place` if they are empty, and disguises the
/// directories of barriers among them.
pub(crate) fn tidy(index: &IndexDir, place: &[String], time: Timestamp) -> Result<()> {
    clean::remove_empty(index.sources_dir(), place);
    for end in 1..=place.len() {
        let is_barriers = layout::guard_name(&place[end - 1]) == GuardName::Barriers;
        if is_barriers
            && let Some(barriers) = if_there(index.sources_dir().open_below(&place[..end]))?
        {
            guard_dirs::disguise(&barriers, time)?;
        }
    }
    Ok(())
}
