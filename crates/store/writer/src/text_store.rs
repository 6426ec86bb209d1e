//! The directories of a source's packs, of n-grams, of keywords and of named indices, which lie beside its snapshots
//! and belong to none of them.
//!
//! Each pack lies behind the guard of the files whose contents it was made from, in guard directories like
//! those of values of extended attributes: *x* on every directory above, *x* and *r* on the
//! directory, *r* on the file. Where rows would be behind a name barrier, packs are behind the
//! predicate that lists the directory, which admits fewer users: they can be found without a path.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::path::PathBuf;
use trawl_format::error::{IndexError, Result};
use trawl_format::guard_walk;
use trawl_format::index::temporary_name;
use trawl_format::layout;
use trawl_format::source::Source;
use trawl_format::store::{Dir, Readers, if_there, sync_file};
use trawl_model::guard::Element;
use trawl_model::index_access::{Refused, index_access};

use crate::guard_dirs::GuardDirs;

/// What packs have of files' contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackKind {
    /// N-grams, for `trawl grep`.
    Grams,
    /// Keywords and attributes, for `trawl find`.
    Keywords,
    /// Named indices of segments.
    Indices,
}

impl PackKind {
    /// All kinds.
    const ALL: [PackKind; 3] = [PackKind::Grams, PackKind::Keywords, PackKind::Indices];

    /// Name of the directory in that of the source.
    pub fn directory(self) -> &'static str {
        match self {
            PackKind::Grams => layout::TEXT,
            PackKind::Keywords => layout::KEYWORDS,
            PackKind::Indices => layout::INDICES,
        }
    }

    /// Suffix of the packs' names.
    pub fn ending(self) -> &'static str {
        match self {
            PackKind::Grams => layout::GRAMS_ENDING,
            PackKind::Keywords => layout::KEYWORDS_ENDING,
            PackKind::Indices => layout::INDEX_ENDING,
        }
    }
}

/// The packs of a source, locked for writing.
#[derive(Debug)]
pub struct TextStore {
    kind: PackKind,
    top: Dir,
    dirs: GuardDirs,
    /// Held until the store is dropped.
    _lock: File,
}

/// Where a pack lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackPlace {
    /// The directory names that lead to its directory.
    pub components: Vec<String>,
    /// Name of the file.
    pub name: String,
}

impl TextStore {
    /// Opens the packs of a source; `None` if it has none.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes them.
    pub fn open(source: &Source, kind: PackKind) -> Result<Option<TextStore>> {
        let top = if_there(source.dir().open_dir(kind.directory()))?;
        top.map(|top| TextStore::lock(top, kind)).transpose()
    }

    /// Opens the packs of a source, and makes the directory if it does not exist.
    ///
    /// # Errors
    /// As [`TextStore::open`].
    pub fn create(source: &Source, kind: PackKind) -> Result<TextStore> {
        TextStore::lock(source.dir().make_dir(kind.directory())?, kind)
    }

    fn lock(top: Dir, kind: PackKind) -> Result<TextStore> {
        let path = top.join(layout::LOCK_FILE);
        let lock = top.open_lock(layout::LOCK_FILE)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(TextStore {
                kind,
                top,
                dirs: GuardDirs::default(),
                _lock: lock,
            }),
            Err(Errno::WOULDBLOCK) => Err(IndexError::Busy { path, pid: None }),
            Err(error) => Err(IndexError::io("lock", path, error)),
        }
    }

    /// Returns the settings; `None` if there are none yet.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn settings(&self) -> Result<Option<Vec<u8>>> {
        if_there(self.top.read(layout::TEXT_SETTINGS))
    }

    /// Replaces the settings.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_settings(&self, text: &[u8]) -> Result<()> {
        let temporary = temporary_name(layout::TEXT_SETTINGS);
        if_there(self.top.remove_file(&temporary))?;
        self.top.replace(layout::TEXT_SETTINGS, &temporary, text)
    }

    /// Returns the elements that guard packs in place of a guard of rows.
    pub fn guard_of(rows: &[Element]) -> Vec<Element> {
        layout::guard_of_packs(rows)
    }

    /// Returns the directories of a guard below `top` whose permissions are others than the guard's:
    /// whoever passes them is not who may read the files.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn wrong_access(top: &Dir, guard: &[Element]) -> Result<Vec<PathBuf>> {
        let mut wrong = Vec::new();
        if top.readers() == Readers::Owner {
            return Ok(wrong);
        }
        for (at, element) in guard.iter().enumerate() {
            let Element::Predicate(who) = element else {
                continue;
            };
            let mut names = layout::data_components(&guard[..at]);
            names.push(layout::predicate_dir(who));
            let Some(dir) = if_there(top.open_below(&names))? else {
                continue;
            };
            if dir.access()? != index_access(who, Refused::Entry) {
                wrong.push(dir.path().to_owned());
            }
        }
        Ok(wrong)
    }

    /// Returns where all packs lie, and removes what a killed writer left.
    ///
    /// # Errors
    /// If a directory cannot be listed.
    pub fn packs(&self) -> Result<Vec<PackPlace>> {
        let mut places = Vec::new();
        guard_walk::walk(&self.top, &mut |components, dir| {
            for name in dir.list()? {
                if name.ends_with(layout::TEMPORARY_ENDING) {
                    if_there(dir.remove_file(&name))?;
                } else if name.ends_with(self.kind.ending()) {
                    places.push(PackPlace {
                        components: components.to_vec(),
                        name,
                    });
                }
            }
            Ok(())
        })?;
        Ok(places)
    }

    /// Opens a pack for reading.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_pack(&self, place: &PackPlace) -> Result<File> {
        self.top
            .open_below(&place.components)?
            .open_file(&place.name)
    }

    /// Removes a pack.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_pack(&self, place: &PackPlace) -> Result<()> {
        let dir = self.top.open_below(&place.components)?;
        if_there(dir.remove_file(&place.name)).map(drop)
    }

    /// Writes a pack behind a guard, durably. `number` must be greater than any before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_pack(&mut self, guard: &[Element], number: u64, bytes: &[u8]) -> Result<()> {
        let name = format!("{number:016x}{}", self.kind.ending());
        self.write_named(guard, &name, bytes)
    }

    /// Writes a file of this name, which has the ending of the kind, behind a guard, durably.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_named(&mut self, guard: &[Element], name: &str, bytes: &[u8]) -> Result<()> {
        let dir = self.dirs.open(&self.top, guard)?;
        let temporary = temporary_name(name);
        let file = dir.write_new(&temporary, bytes)?;
        sync_file(&file, &dir.join(&temporary))?;
        dir.rename(&temporary, name)
    }
}

/// Removes the packs of all kinds of a source with their directories.
pub(crate) fn remove_all(source: &Dir) -> Result<()> {
    PackKind::ALL
        .iter()
        .try_for_each(|kind| remove(source, *kind))
}

/// Removes the packs of a kind of a source with their directories.
fn remove(source: &Dir, kind: PackKind) -> Result<()> {
    let Some(top) = if_there(source.open_dir(kind.directory()))? else {
        return Ok(());
    };
    let mut all = Vec::new();
    guard_walk::walk(&top, &mut |components, dir| {
        for name in dir.list()? {
            let is_ours = [layout::TEMPORARY_ENDING, kind.ending()]
                .iter()
                .any(|ending| name.ends_with(ending));
            let is_at_top = [layout::LOCK_FILE, layout::TEXT_SETTINGS].contains(&&name[..]);
            if is_ours || is_at_top && components.is_empty() {
                if_there(dir.remove_file(&name))?;
            }
        }
        all.push(components.to_vec());
        Ok(())
    })?;
    // Parents came first.
    for components in all.iter().rev() {
        if let [above @ .., guard, data] = &components[..] {
            let above = top.open_below(above)?;
            above.open_dir(guard)?.remove_dir(data)?;
            above.remove_dir(guard)?;
        }
    }
    if_there(source.remove_dir(kind.directory())).map(drop)
}

impl TextStore {
    /// Removes all packs of a kind of a source and their directories.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn remove(source: &Source, kind: PackKind) -> Result<()> {
        remove(source.dir(), kind)
    }
}
