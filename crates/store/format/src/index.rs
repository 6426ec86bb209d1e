//! Opens an index directory: its format and its sources.

use crate::error::{IndexError, Result};
use crate::guard_walk::{self, Reached};
use crate::id::SourceId;
use crate::layout;
use crate::manifest::check_format;
use crate::schema::FORMAT;
use crate::source::Source;
use crate::store::{Dir, Readers, if_there};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use trawl_model::operation::Operation;

/// An open index.
#[derive(Debug)]
pub struct IndexDir {
    dir: Arc<Dir>,
    sources: Arc<Dir>,
    /// Directories that a walk of the tree of sources could traverse but not list, cached for
    /// readers that ask for one source after another.
    reached: OnceLock<Reached>,
}

impl IndexDir {
    /// Opens an index.
    ///
    /// [`IndexError::NoIndex`] if there is no index, [`IndexError::Format`] if it has another
    /// format.
    pub fn open(path: &Path) -> Result<IndexDir> {
        let _span = Operation::OpenIndex.span();
        let none = || IndexError::NoIndex {
            path: path.to_owned(),
        };
        let dir = if_there(Dir::open_top(path))?.ok_or_else(none)?;
        let Some(bytes) = if_there(dir.read(layout::FORMAT_FILE))? else {
            // The format file is made before the first source is.
            let sources = if_there(dir.open_dir(layout::SOURCES))?;
            let names = sources.map(|sources| sources.list()).transpose()?;
            return Err(match names.is_some_and(|names| !names.is_empty()) {
                true => IndexError::damaged(&dir.join(layout::FORMAT_FILE), "it is missing"),
                false => none(),
            });
        };
        let readers = check_format_file(&bytes, &dir.join(layout::FORMAT_FILE))?;
        let dir = dir.for_readers(readers);
        let sources = dir.open_dir(layout::SOURCES)?;
        Ok(IndexDir {
            dir: Arc::new(dir),
            sources: Arc::new(sources),
            reached: OnceLock::new(),
        })
    }

    /// Returns who may read the index.
    pub fn readers(&self) -> Readers {
        self.dir.readers()
    }

    /// Returns a second handle to the index, with the same descriptors.
    pub fn share(&self) -> IndexDir {
        IndexDir {
            dir: Arc::clone(&self.dir),
            sources: Arc::clone(&self.sources),
            reached: OnceLock::new(),
        }
    }

    /// Returns the path of the index directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the index's sources, sorted by root path, as far as this process may see them.
    /// Leaves out directories that a writer is making or that a killed writer left.
    pub fn sources(&self) -> Result<Vec<Source>> {
        let mut found = Vec::new();
        self.walk(|place, dir| {
            found.extend(sources_in(place, dir)?);
            Ok(())
        })?;
        found.sort_by(|a, b| trawl_model::path::cmp(a.root(), b.root()));
        Ok(found)
    }

    /// Returns the sources behind name barriers that this process may pass but not list. Only a
    /// process that knows the path `asked` finds them.
    pub fn sources_behind(&self, asked: &[u8]) -> Result<Vec<Source>> {
        let reached = match self.reached.get() {
            Some(known) => known,
            None => {
                let reached = self.walk(|_, _| Ok(()))?;
                self.reached.get_or_init(|| reached)
            }
        };
        let mut found = Vec::new();
        reached.behind(&self.sources, asked, &mut |place, dir| {
            found.extend(sources_in(place, dir)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the sources that contain `path`, as far as this process may see them: those that it
    /// can list, and those that only a process that knows the path finds. Searches again on every
    /// call, since the permissions above a root may have changed since the last one.
    pub fn sources_around(&self, path: &[u8]) -> Result<Vec<Source>> {
        let mut found = Vec::new();
        let mut visit = |place: &[String], dir: &Dir| {
            found.extend(sources_in(place, dir)?);
            Ok(())
        };
        let reached = guard_walk::walk(&self.sources, &mut visit)?;
        reached.behind(&self.sources, path, &mut visit)?;
        found.retain(|source| trawl_model::path::is_within(path, source.root()));
        Ok(found)
    }

    fn walk(&self, mut visit: impl FnMut(&[String], &Dir) -> Result<()>) -> Result<Reached> {
        guard_walk::walk(&self.sources, &mut visit)
    }

    /// Opens the source with this root path, if the index has it.
    pub fn source(&self, root: &[u8]) -> Result<Option<Source>> {
        match self.find_dir(root)? {
            None => Ok(None),
            Some((place, dir)) => {
                let source = if_there(Source::open(dir, SourceId::of_root(root), &place))?;
                Ok(source.filter(|source| source.root() == root))
            }
        }
    }

    /// Returns the directory of the source with this root path, and the directory names from
    /// `sources` to the `data` directory that contains it.
    pub fn find_dir(&self, root: &[u8]) -> Result<Option<(Vec<String>, Dir)>> {
        let name = SourceId::of_root(root).to_string();
        let mut found = None;
        let mut look = |place: &[String], dir: &Dir| {
            if let Some(source) = if_there(dir.open_dir(&name))? {
                found = Some((place.to_vec(), source));
            }
            Ok(())
        };
        let reached = guard_walk::walk(&self.sources, &mut look)?;
        if found.is_none() {
            let mut look = |place: &[String], dir: &Dir| {
                if let Some(source) = if_there(dir.open_dir(&name))? {
                    found = Some((place.to_vec(), source));
                }
                Ok(())
            };
            reached.behind(&self.sources, root, &mut look)?;
        }
        Ok(found)
    }

    /// Returns the directory of sources, which is a `data` directory.
    pub fn sources_dir(&self) -> &Dir {
        &self.sources
    }

    /// Returns the index directory itself.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }
}

/// Returns a name that no other process uses at this time.
pub fn temporary_name(name: &str) -> String {
    format!("{name}.{}{}", std::process::id(), layout::TEMPORARY_ENDING)
}

/// Returns the sources in a `data` directory of the tree of sources.
fn sources_in(place: &[String], dir: &Dir) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for name in dir.list()? {
        let Ok(id) = name.parse::<SourceId>() else {
            continue;
        };
        let Some(dir) = if_there(dir.open_dir(&name))? else {
            continue;
        };
        let has_current = if_there(dir.open_file(layout::CURRENT_FILE));
        let path = dir.join(layout::SOURCE_FILE);
        match if_there(Source::open(dir, id, place))? {
            Some(source) => found.push(source),
            // The description is made before the first commit and removed after `current` is.
            None if has_current?.is_some() => {
                return Err(IndexError::damaged(&path, "it is missing"));
            }
            None => {}
        }
    }
    Ok(found)
}

/// Returns the text of the format file.
pub fn format_text(format: u32, readers: Readers) -> String {
    let readers = match readers {
        Readers::Owner => "owner",
        Readers::Everyone => "everyone",
    };
    format!(
        "{}\nformat {format}\nreaders {readers}\n",
        layout::MAGIC_LINE
    )
}

fn check_format_file(bytes: &[u8], path: &Path) -> Result<Readers> {
    let text = std::str::from_utf8(bytes).ok();
    let version = text.and_then(|text| {
        let mut lines = text.lines();
        let is_ours = lines.next() == Some(layout::MAGIC_LINE);
        let version = lines.next()?.strip_prefix("format ")?.parse().ok()?;
        is_ours.then_some(version)
    });
    match version {
        Some(version) => check_format(version, path)?,
        None => return Err(IndexError::damaged(path, "it does not name a format")),
    }
    [Readers::Owner, Readers::Everyone]
        .into_iter()
        .find(|readers| text == Some(&format_text(FORMAT, *readers)))
        .ok_or_else(|| IndexError::damaged(path, "it does not say who may read the index"))
}
