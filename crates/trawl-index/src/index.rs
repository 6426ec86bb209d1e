//! An index directory: the format it is in and the sources it has.

use crate::clean::remove_matching;
use crate::error::{IndexError, Result};
use crate::id::SourceId;
use crate::layout;
use crate::lock::SourceLock;
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
        let Some(bytes) = if_there(dir.read(layout::FORMAT_FILE))? else {
            // It is made before the first source is.
            let sources = if_there(dir.open_dir(layout::SOURCES))?;
            let names = sources.map(|sources| sources.list()).transpose()?;
            return Err(match names.is_some_and(|names| !names.is_empty()) {
                true => IndexError::damaged(&dir.join(layout::FORMAT_FILE), "it is missing"),
                false => none(),
            });
        };
        check_format_file(&bytes, &dir.join(layout::FORMAT_FILE))?;
        Ok(IndexDir { dir })
    }

    /// Opens an index, made if there is none. The directory itself is made,
    /// those above it are not; one that exists must be empty.
    pub fn create(path: &Path) -> Result<IndexDir> {
        let dir = Dir::create_top(path)?;
        if if_there(dir.open_file(layout::FORMAT_FILE))?.is_none() {
            let _creating = dir.lock_alone()?;
            IndexDir::fill(&dir)?;
        }
        IndexDir::open(path)
    }

    /// Makes an empty directory an index, or finishes what someone began.
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
        remove_matching(dir, is_temporary)?;
        dir.make_dir(layout::SOURCES)?.sync()?;
        let temporary = temporary_name(layout::FORMAT_FILE);
        let text = format_text(FORMAT);
        dir.replace(layout::FORMAT_FILE, &temporary, text.as_bytes())
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
            let has_current = if_there(dir.open_file(layout::CURRENT_FILE));
            let path = dir.join(layout::SOURCE_FILE);
            match if_there(Source::open(dir, id))? {
                Some(source) => found.push(source),
                // It is made before the first commit, and removed after
                // `current` is.
                None if has_current?.is_some() => {
                    return Err(IndexError::damaged(&path, "it is missing"));
                }
                None => {}
            }
        }
        found.sort_by(|a, b| trawl_model::path::cmp(a.root(), b.root()));
        Ok(found)
    }

    /// The sources that only someone who knows `asked` finds.
    pub fn sources_behind(&self, _asked: &[u8]) -> Result<Vec<Source>> {
        Ok(Vec::new())
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
            let _lock = SourceLock::take(&dir)?;
            remove_matching(&dir, |name| name.ends_with(layout::TEMPORARY_ENDING))?;
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

/// The text of the format file.
fn format_text(format: u32) -> String {
    format!("{}\nformat {format}\n", layout::MAGIC_LINE)
}

fn check_format_file(bytes: &[u8], path: &Path) -> Result<()> {
    let version = std::str::from_utf8(bytes).ok().and_then(|text| {
        let version = text.lines().nth(1)?.strip_prefix("format ")?.parse().ok()?;
        (text == format_text(version)).then_some(version)
    });
    match version {
        Some(version) => check_format(version, path),
        None => Err(IndexError::damaged(path, "it does not name a format")),
    }
}
