//! Named indices of a source ([`trawl_indices`]): definitions, and the files of its segments.
//!
//! An update makes files for the segments of the current snapshot, with the changes published since,
//! that have none, and removes those of segments that are gone. Segments are immutable, so a file is
//! never changed. Each lies behind the guard of its segment's rows, or a stricter one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trawl_format::schema::Table;
use trawl_format::{IndexDir, Shard, Source, layout};
use trawl_indices::{
    Definition, DefinitionError, INDICES_MAX, IndexFile, Subject, read_all, write_all,
};
use trawl_model::guard::{Credentials, Element};
use trawl_model::path;
use trawl_query::{QueryError, View};
use trawl_writer::{PackKind, PackPlace, TextStore};

use crate::error::{IndexerError, Result};
use crate::options::Control;
use crate::text::{Effort, open};

/// What becomes of the definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// They stay.
    Nothing,
    /// This one is added.
    Define(Definition),
    /// The one of this name is removed.
    Drop(String),
}

/// How far an update is.
#[derive(Debug, Default)]
pub struct IndicesProgress {
    /// Number of files that exist or were made.
    pub done: AtomicU64,
    /// Number of files that there will be.
    pub all: AtomicU64,
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndicesUpdated {
    /// Number of named indices.
    pub indices: u64,
    /// Number of files that were made, and of rows in them.
    pub made: (u64, u64),
    /// Number of rows in all files.
    pub rows: u64,
    /// Size of all files in bytes.
    pub size_bytes: u64,
    /// Time from the first to the last system call.
    pub elapsed: Duration,
}

/// Changes the definitions of a source, and brings the files of its named indices up to date. Returns
/// `None` if it has none.
///
/// # Errors
/// If the definition is refused, the index cannot be read or written, or the work was interrupted.
pub fn update(
    index: &IndexDir,
    root: &[u8],
    (change, effort): (&Change, Effort),
    progress: &IndicesProgress,
    control: Control<'_>,
) -> Result<Option<IndicesUpdated>> {
    let clock = Instant::now();
    let Some(source) = index.source(root)? else {
        return Err(IndexerError::NotIndexed {
            path: root.to_vec(),
        });
    };
    if let Change::Define(definition) = change {
        check_part(index, &source, definition)?;
        check_xattrs(&source, definition)?;
    }
    let is_wanted = matches!(change, Change::Define(_));
    let opened = open(&source, (PackKind::Indices, is_wanted, effort), control)?;
    let Some(store) = opened else {
        return match change {
            Change::Drop(name) => Err(DefinitionError::Missing(name.clone()).into()),
            _ => Ok(None),
        };
    };
    let definitions = settle(&store, change, root)?;
    if definitions.is_empty() {
        drop(store);
        TextStore::remove(&source, PackKind::Indices)?;
        return Ok(None);
    }
    let mut making = Making {
        places: store.packs()?,
        store,
        effort,
        kept: HashSet::new(),
        progress,
        control,
        done: IndicesUpdated::default(),
    };
    making.done.indices = definitions.len() as u64;
    // What stores the others serves them.
    let (over_columns, _): (Vec<_>, Vec<_>) =
        (definitions.into_iter()).partition(Definition::is_over_columns);
    making.all(&source, &over_columns)?;
    making.done.elapsed = clock.elapsed();
    Ok(Some(making.done))
}

/// Refuses an index of a part whose path not everyone may know: everyone who may read the index sees
/// the definitions.
fn check_part(index: &IndexDir, source: &Source, definition: &Definition) -> Result<()> {
    if definition.part().is_empty() {
        return Ok(());
    }
    let part = path::join(source.root(), definition.part());
    if let Some(snapshot) = source.now()? {
        let view = View::new(snapshot.without_bundle(), Arc::new(Credentials::default()));
        if view.is_directory_to(index.readers(), &part)? {
            return Ok(());
        }
    }
    Err(IndexerError::HiddenPart { path: part })
}

/// Refuses an index over an extended attribute of a source whose attributes were not read.
fn check_xattrs(source: &Source, definition: &Definition) -> Result<()> {
    if definition.xattr().is_none() {
        return Ok(());
    }
    let who = Arc::new(Credentials::default());
    let view = source
        .now()?
        .map(|now| View::new(now.without_bundle(), who));
    match view.is_none_or(|view| view.has_xattrs()) {
        true => Ok(()),
        false => Err(IndexerError::NoXattrs {
            path: source.root().to_vec(),
        }),
    }
}

/// Changes the list of definitions, and returns it.
fn settle(store: &TextStore, change: &Change, root: &[u8]) -> Result<Vec<Definition>> {
    let read = store
        .settings()?
        .map_or(Ok(Vec::new()), |text| read_all(&text));
    let mut all = match (read, change) {
        (Ok(all), _) => all,
        // The new list takes the place of the damaged one.
        (Err(_), Change::Define(_)) => Vec::new(),
        (Err(source), _) => {
            let root = root.to_vec();
            return Err(IndexerError::Definitions { root, source });
        }
    };
    match change {
        Change::Nothing => return Ok(all),
        Change::Define(new) if all.iter().any(|one| one.name() == new.name()) => {
            return Err(DefinitionError::Exists(new.name().to_owned()).into());
        }
        Change::Define(_) if all.len() == INDICES_MAX => {
            return Err(DefinitionError::TooMany.into());
        }
        Change::Define(new) => all.push(new.clone()),
        Change::Drop(name) => {
            let before = all.len();
            all.retain(|one| one.name() != name);
            if all.len() == before {
                return Err(DefinitionError::Missing(name.clone()).into());
            }
        }
    }
    store.set_settings(&write_all(&all))?;
    Ok(all)
}

/// An update at work.
struct Making<'m> {
    store: TextStore,
    /// Whether files that are there are read as a whole.
    effort: Effort,
    /// The files that were there.
    places: Vec<PackPlace>,
    /// Those that stay, by directory and name.
    kept: HashSet<(Vec<String>, String)>,
    progress: &'m IndicesProgress,
    control: Control<'m>,
    done: IndicesUpdated,
}

impl Making<'_> {
    fn all(&mut self, source: &Source, definitions: &[Definition]) -> Result<()> {
        if let Some(snapshot) = source.now()? {
            let view = View::new(snapshot.without_bundle(), Arc::new(Credentials::default()));
            let mut wanted = Vec::new();
            for at in 0..view.stored_segments() {
                for definition in definitions {
                    let subject = subject(&view, at, definition)?;
                    wanted.extend(subject.map(|subject| (at, definition, subject)));
                }
            }
            let files = wanted.len() as u64;
            self.progress.all.store(files, Ordering::Relaxed);
            for (at, definition, subject) in wanted {
                self.file(&view, at, definition, subject)?;
            }
        }
        for place in &self.places {
            let key = (place.components.clone(), place.name.clone());
            if !self.kept.contains(&key) {
                self.store.remove_pack(place)?;
            }
        }
        Ok(())
    }

    /// Makes the file of an index for a segment unless it is there and usable.
    fn file(
        &mut self,
        view: &View,
        at: usize,
        definition: &Definition,
        subject: Subject,
    ) -> Result<()> {
        self.control.check()?;
        let Some((_, shard, info)) = view.stored_segment(at) else {
            return Ok(());
        };
        let Some(guard) = shard.guard_of_indices() else {
            return Ok(());
        };
        let place = PackPlace {
            components: layout::data_components(&guard),
            name: layout::index_file(info.id, definition.id()),
        };
        let size_bytes = match self.size_of(&place, definition, subject) {
            Some(size_bytes) => Some(size_bytes),
            None => self.make(view, (at, definition, subject), (&guard, &place.name))?,
        };
        self.progress.done.fetch_add(1, Ordering::Relaxed);
        if let Some(size_bytes) = size_bytes {
            self.done.size_bytes += size_bytes;
            self.done.rows += subject.listed;
            self.kept.insert((place.components, place.name));
        }
        Ok(())
    }

    /// Returns the size of a file; `None` if it is missing or unusable.
    fn size_of(&self, place: &PackPlace, of: &Definition, subject: Subject) -> Option<u64> {
        if !self.places.contains(place) {
            return None;
        }
        let file = self.store.open_pack(place).ok()?;
        let size_bytes = file.metadata().ok()?.len();
        let opened = IndexFile::open(file, size_bytes, of, subject).ok()?;
        let checked = match self.effort {
            Effort::Full => opened.check(),
            Effort::Background => opened.check_table(),
        };
        checked.ok()?;
        Some(size_bytes)
    }

    fn make(
        &mut self,
        view: &View,
        (at, definition, subject): (usize, &Definition, Subject),
        (guard, name): (&[Element], &str),
    ) -> Result<Option<u64>> {
        let bytes = match view.index_of(at, definition, self.control.cancel) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(QueryError::Cancelled) => return Err(IndexerError::Interrupted),
            // A newer generation took the segment's place; the next update makes its files.
            Err(QueryError::Index(error)) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.store.write_named(guard, name, &bytes)?;
        self.done.made.0 += 1;
        self.done.made.1 += subject.listed;
        Ok(Some(bytes.len() as u64))
    }
}

/// Returns what the file of an index for a segment is made from; `None` if there is no file.
fn subject(view: &View, at: usize, definition: &Definition) -> Result<Option<Subject>> {
    match view.index_subject(at, definition) {
        // A newer generation took the segment's place; the next update makes its files.
        Err(QueryError::Index(error)) if error.is_missing() => Ok(None),
        found => Ok(found?),
    }
}

/// What a named index over columns or an extended attribute has of the segments that this process may
/// read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Number of files.
    pub files: u64,
    /// Their size in bytes.
    pub size_bytes: u64,
    /// Number of rows in them.
    pub rows: u64,
    /// Number of rows of other segments, which questions read; none of extended attributes.
    pub rows_left: u64,
    /// Whether some segment has no file that it will get, or attributes were not read.
    pub is_behind: bool,
}

impl Coverage {
    /// Returns what an index over columns has of a view's segments.
    pub fn of(view: &View, definition: &Definition) -> Coverage {
        let mut covered = Coverage::default();
        for at in 0..view.stored_segments() {
            let Some((_, shard, info)) = view.stored_segment(at) else {
                continue;
            };
            // What cannot be read is read by questions, which say so.
            let subject = view.index_subject(at, definition).ok().flatten();
            let size_bytes = subject.and_then(|of| file_size(shard, (definition, of), info.id));
            let rows = view.indexed_rows(at, definition).unwrap_or(0..info.rows);
            let rows = rows.end.saturating_sub(rows.start);
            match size_bytes {
                Some(size_bytes) => {
                    covered.files += 1;
                    covered.size_bytes += size_bytes;
                    covered.rows += rows;
                }
                None => {
                    covered.rows_left += rows;
                    covered.is_behind |= subject.is_some();
                }
            }
        }
        covered
    }

    /// Returns what an index over an extended attribute has: the tables of values.
    pub fn of_xattrs(view: &View) -> Coverage {
        let mut covered = Coverage {
            is_behind: !view.has_xattrs(),
            ..Coverage::default()
        };
        for at in 0..view.stored_segments() {
            let segment = view.stored_segment(at);
            let table = segment.and_then(|(_, _, info)| info.files.get(&Table::Xattrs));
            if let Some(table) = table {
                covered.files += 1;
                covered.size_bytes += table.size_bytes;
                covered.rows += table.rows;
            }
        }
        covered
    }
}

fn file_size(
    shard: &Shard,
    (definition, subject): (&Definition, Subject),
    id: trawl_format::SegmentId,
) -> Option<u64> {
    let file = shard.open_index(id, definition.id()).ok()?;
    let size_bytes = file.metadata().ok()?.len();
    IndexFile::open(file, size_bytes, definition, subject).ok()?;
    Some(size_bytes)
}

/// Reads all files of named indices of a source and reports damaged ones. Needs no lock: files that
/// are replaced meanwhile are left out.
///
/// # Errors
/// If the index cannot be read.
pub(crate) fn check(source: &Source, done: &mut trawl_writer::verify::Verified) -> Result<()> {
    use trawl_writer::verify::{Finding, Problem};
    // A snapshot that cannot be opened has findings of its own.
    let Ok(Some(snapshot)) = source.now() else {
        return Ok(());
    };
    let view = View::new(snapshot.without_bundle(), Arc::new(Credentials::default()));
    for definition in view.named_indices() {
        for at in 0..view.stored_segments() {
            let Some((_, shard, info)) = view.stored_segment(at) else {
                continue;
            };
            let subject = view.index_subject(at, definition);
            let (Ok(file), Ok(Some(subject))) =
                (shard.open_index(info.id, definition.id()), subject)
            else {
                continue;
            };
            let size_bytes = file.metadata().map_or(0, |meta| meta.len());
            done.files += 1;
            done.size_bytes += size_bytes;
            let checked = IndexFile::open(file, size_bytes, definition, subject)
                .and_then(|opened| opened.check());
            done.findings.extend(checked.err().map(|error| Finding {
                path: shard.index_path(info.id, definition.id()),
                problem: Problem::NamedIndex(error.to_string()),
            }));
        }
    }
    Ok(())
}
