//! An index directory: the format it is in and the sources it has.

use crate::error::{IndexError, Result};
use crate::id::SourceId;
use crate::layout;
use crate::manifest::check_format;
use crate::schema::FORMAT;
use crate::sealed;
use crate::source::{Source, SourceInfo};
use crate::store::{Dir, if_there};
use std::path::Path;
use trawl_model::Timestamp;

/// An open index.
#[derive(Debug)]
pub struct IndexDir {
    dir: Dir,
}

impl IndexDir {
    /// Opens an index.
    ///
    /// # Errors
    /// [`IndexError::NoIndex`] if there is none, [`IndexError::Format`] if
    /// it is of a newer format.
    pub fn open(path: &Path) -> Result<IndexDir> {
        let none = || IndexError::NoIndex {
            path: path.to_owned(),
        };
        let dir = if_there(Dir::open_top(path))?.ok_or_else(none)?;
        let bytes = if_there(dir.read(layout::FORMAT_FILE))?.ok_or_else(none)?;
        check_format_file(&bytes, &dir.join(layout::FORMAT_FILE))?;
        Ok(IndexDir { dir })
    }

    /// Opens an index, made if there is none. The directory itself is made,
    /// those above it are not; one that exists must be empty.
    pub fn create(path: &Path) -> Result<IndexDir> {
        let dir = Dir::create_top(path)?;
        if if_there(dir.open_file(layout::FORMAT_FILE))?.is_none() {
            let started = [layout::FORMAT_FILE, layout::SOURCES];
            let ours = |name: &String| {
                name.ends_with(layout::TEMPORARY_ENDING) || started.contains(&name.as_str())
            };
            if !dir.list()?.iter().all(ours) {
                return Err(IndexError::NotEmpty {
                    path: path.to_owned(),
                });
            }
            dir.make_dir(layout::SOURCES)?.sync()?;
            let text = format!("{}\nformat {FORMAT}\n", layout::MAGIC_LINE);
            let temporary = temporary_name(layout::FORMAT_FILE);
            dir.replace(layout::FORMAT_FILE, &temporary, text.as_bytes())?;
        }
        IndexDir::open(path)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Its sources, by root path. Directories that are being made by a
    /// writer, or were left by a killed one, are not among them.
    pub fn sources(&self) -> Result<Vec<Source>> {
        let sources = self.dir.open_dir(layout::SOURCES)?;
        let mut found = Vec::new();
        for name in sources.list()? {
            let Ok(id) = name.parse::<SourceId>() else {
                continue;
            };
            let Some(dir) = if_there(sources.open_dir(&name))? else {
                continue;
            };
            found.extend(if_there(Source::open(dir, id))?);
        }
        found.sort_by(|a, b| trawl_model::path::cmp(a.root(), b.root()));
        Ok(found)
    }

    /// The source with this root path, if the index has it.
    pub fn source(&self, root: &[u8]) -> Result<Option<Source>> {
        let id = SourceId::of_root(root);
        let sources = self.dir.open_dir(layout::SOURCES)?;
        let Some(dir) = if_there(sources.open_dir(&id.to_string()))? else {
            return Ok(None);
        };
        let source = if_there(Source::open(dir, id))?;
        Ok(source.filter(|source| source.root() == root))
    }

    /// Opens the source with this root path, added if the index lacks it.
    /// `now` becomes its time of creation.
    pub fn add_source(&self, root: &[u8], now: Timestamp) -> Result<Source> {
        let id = SourceId::of_root(root);
        let sources = self.dir.open_dir(layout::SOURCES)?;
        let dir = sources.make_dir(&id.to_string())?;
        if if_there(dir.open_file(layout::SOURCE_FILE))?.is_none() {
            for name in [layout::SNAPSHOTS, layout::GUARDS] {
                dir.make_dir(name)?.sync()?;
            }
            let info = SourceInfo {
                format: FORMAT,
                id,
                root: root.to_vec(),
                created: now,
            };
            let bytes = sealed::seal_json(&info, &dir.join(layout::SOURCE_FILE))?;
            let temporary = temporary_name(layout::SOURCE_FILE);
            dir.replace(layout::SOURCE_FILE, &temporary, &bytes)?;
            sources.sync()?;
        }
        Source::open(dir, id)
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}

/// A name that no other process uses at this time.
pub(crate) fn temporary_name(name: &str) -> String {
    format!("{name}.{}{}", std::process::id(), layout::TEMPORARY_ENDING)
}

fn check_format_file(bytes: &[u8], path: &Path) -> Result<()> {
    let version = std::str::from_utf8(bytes).ok().and_then(|text| {
        let mut lines = text.lines();
        (lines.next() == Some(layout::MAGIC_LINE)).then_some(())?;
        lines.next()?.strip_prefix("format ")?.parse().ok()
    });
    match version {
        Some(version) => check_format(version, path),
        None => Err(IndexError::damaged(path, "it does not name a format")),
    }
}
