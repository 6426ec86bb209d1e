//! Checks every byte of an index against its hashes.
//!
//! Needs no lock and changes nothing. A source that is being written or collected meanwhile is
//! checked as of its current snapshot.

mod finding;

pub use finding::{Finding, Problem, Verified};

use crate::bundle::Bundle;
use crate::bundle_check;
use crate::clean::Kept;
use crate::item_file;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::PathBuf;
use trawl_format::error::{IndexError, Result};
use trawl_format::guard_walk;
use trawl_format::id::{Edition, Hash, SnapshotId, SourceId};
use trawl_format::index::IndexDir;
use trawl_format::layout::{self, DataName, GuardName};
use trawl_format::live::{self, Live, Overlay};
use trawl_format::manifest::{GuardStep, Manifest, SegmentInfo};
use trawl_format::pack;
use trawl_format::snapshot::{ShardList, SnapshotInfo};
use trawl_format::source::{Source, is_current_lost, snapshot_ids};
use trawl_format::store::{Dir, Readers, if_there};
use trawl_model::Uid;
use trawl_model::guard::{Element, Guard};
use trawl_model::index_access::{Refused, index_access};
use xxhash_rust::xxh3::Xxh3;

/// Number of bytes read at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// The snapshots to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The current snapshot of every source.
    Current,
    /// All snapshots.
    All,
}

/// Checks an index.
///
/// # Errors
/// If the index itself cannot be listed, or belongs to somebody else:
/// [`IndexError::NotOursToVerify`]. Everything else is a finding.
pub fn verify(index: &IndexDir, scope: Scope) -> Result<Verified> {
    let us = Uid(rustix::process::geteuid().as_raw());
    let owner = index.dir().owner()?;
    if us != owner && us != Uid::ROOT {
        let path = index.dir().path().to_owned();
        return Err(IndexError::NotOursToVerify { path, owner });
    }
    let mut found = Verified::default();
    for name in index.dir().list()? {
        let path = index.dir().join(&name);
        if name.ends_with(layout::TEMPORARY_ENDING) {
            found.add(path, Problem::Unreferenced);
        } else if ![layout::FORMAT_FILE, layout::SOURCES, layout::WATCHED_FILE]
            .contains(&name.as_str())
        {
            found.add(path, Problem::Foreign);
        }
    }
    let reached = guard_walk::walk(index.sources_dir(), &mut |place, dir| {
        check_sources(place, dir, scope, &mut found)
    })?;
    if reached.is_partial() {
        let problem = Problem::Unreadable("permission denied".to_owned());
        found.add(index.sources_dir().path().to_owned(), problem);
    }
    found.findings.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Checks only owners, modes and ACLs of the directories that lead to a source and to its shards.
/// Returns the findings and the number of directories checked.
///
/// # Errors
/// If parts of the index cannot be read, which [`verify`] reports as findings.
pub fn check_permissions(index: &IndexDir, source: &Source) -> Result<(Vec<Finding>, u64)> {
    let mut found = Verified::default();
    let Some(id) = source.current_id()? else {
        return Ok((Vec::new(), 0));
    };
    let (snapshot, list) = (source.snapshot(id)?, ShardList::of(source.dir(), id)?);
    let mut above = Check::new(source, Scope::Current, &mut found);
    above.check_plain(index.dir())?;
    above.check_way(index.sources_dir(), source.place())?;
    let guard = list.and_then(|list| GuardStep::to_guard(&list.above));
    match guard.filter(|guard| layout::data_components(&guard.0) == source.place()) {
        Some(guard) => above.check_access(index.sources_dir(), &guard)?,
        None => above.add_permissions(source.path().to_owned()),
    }
    // The directory names below belong to another tree.
    let mut looked_at = above.looked_at.len() + 1;
    let mut below = Check::new(source, Scope::Current, &mut found);
    below.check_plain(source.dir())?;
    below.check_private(&source.dir().open_dir(layout::PRIVATE)?)?;
    let top = source.dir().open_dir(layout::DATA)?;
    for shard in &snapshot.shards {
        let guard = shard.manifest.guard()?;
        below.check_way(&top, &layout::data_components(&guard.0))?;
        below.check_access(&top, &guard)?;
    }
    looked_at += below.looked_at.len() + 1;
    found.findings.sort_by(|a, b| a.path.cmp(&b.path));
    found.findings.dedup();
    Ok((found.findings, looked_at as u64))
}

/// Checks the sources in a `data` directory of the tree of sources.
fn check_sources(place: &[String], dir: &Dir, scope: Scope, found: &mut Verified) -> Result<()> {
    for name in dir.list()? {
        let path = dir.join(&name);
        let Ok(id) = name.parse::<SourceId>() else {
            if layout::guard_name(&name) == GuardName::Foreign {
                found.add(path, Problem::Foreign);
            }
            continue;
        };
        match dir.open_dir(&name) {
            Ok(source) => check_source(source, id, place, scope, found),
            Err(error) => found.add_error(error, path),
        }
    }
    Ok(())
}

fn check_source(dir: Dir, id: SourceId, place: &[String], scope: Scope, found: &mut Verified) {
    let path = dir.path().to_owned();
    let has_current = matches!(if_there(dir.open_file(layout::CURRENT_FILE)), Ok(Some(_)));
    match Source::open(dir, id, place) {
        Ok(source) => Check::new(&source, scope, found).run(),
        Err(error) if error.is_missing() && !has_current => found.add(path, Problem::Unfinished),
        Err(error) => found.add_error(error, path.join(layout::SOURCE_FILE)),
    }
}

struct Check<'a> {
    source: &'a Source,
    scope: Scope,
    found: &'a mut Verified,
    /// Snapshots to check.
    wanted: BTreeSet<SnapshotId>,
    all: BTreeSet<SnapshotId>,
    current: Option<SnapshotId>,
    /// Manifests that lists of shards name and that the walk has not met yet.
    missing: BTreeMap<Vec<String>, BTreeSet<Edition>>,
    /// Manifests in packs whose files the walk has not met yet.
    packed: BTreeMap<Edition, BTreeMap<Vec<String>, Manifest>>,
    /// Editions of the snapshots, as far as they can be read.
    editions: Kept,
    /// Guard directories whose permissions were checked.
    looked_at: BTreeSet<Vec<String>>,
    buffer: Vec<u8>,
}

impl<'a> Check<'a> {
    fn new(source: &'a Source, scope: Scope, found: &'a mut Verified) -> Self {
        Check {
            source,
            scope,
            found,
            wanted: BTreeSet::new(),
            all: BTreeSet::new(),
            current: None,
            missing: BTreeMap::new(),
            packed: BTreeMap::new(),
            editions: Kept::default(),
            looked_at: BTreeSet::new(),
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    fn run(mut self) {
        self.found.sources += 1;
        let top = self.source.path().to_owned();
        self.list_top();
        match self.source.current_id() {
            Ok(None) if is_current_lost(self.source.dir()).unwrap_or(false) => {
                let path = top.join(layout::CURRENT_FILE);
                self.found.add(path, Problem::Missing);
            }
            Ok(current) => self.current = current,
            Err(error) => {
                self.found.add_error(error, top.join(layout::CURRENT_FILE));
            }
        }
        if let Err(error) = self.check_live() {
            let path = top.join(layout::LIVE);
            self.found.add_error(error, path);
        }
        if let Err(error) = self.check_snapshots() {
            self.found.add_error(error, top.join(layout::SNAPSHOTS));
        }
        if let Err(error) = self.check_guards() {
            self.found.add_error(error, top.join(layout::DATA));
        }
        for (components, ids) in std::mem::take(&mut self.missing) {
            let dir = top.join(layout::DATA);
            let dir = dir.join(layout::display_path(&components));
            for id in ids {
                let path = dir.join(layout::manifest_file(id));
                self.found.add(path, Problem::Missing);
            }
        }
        for (edition, left) in std::mem::take(&mut self.packed) {
            if !left.is_empty() {
                self.add_pack(edition, "it names shards that do not exist");
            }
        }
    }

    /// Reads the generation in effect and the private overlays file.
    fn check_live(&mut self) -> Result<()> {
        let Some(edition) = live::edition(self.source.dir())? else {
            return Ok(());
        };
        self.found.files += 1;
        if let Some(live) = Live::open(self.source.dir(), edition)?
            && Some(edition.id) == self.current
            && if_there(live.overlays(&self.source.private()?))?.is_some()
        {
            self.found.files += 1;
        }
        Ok(())
    }

    fn list_top(&mut self) {
        let known = [
            layout::SOURCE_FILE,
            layout::LOCK_FILE,
            layout::CURRENT_FILE,
            layout::SNAPSHOTS,
            layout::PRIVATE,
            layout::LIVE,
            layout::DATA,
            layout::TEXT,
            layout::KEYWORDS,
            layout::INDICES,
        ];
        for name in self.source.dir().list().unwrap_or_default() {
            let path = self.source.dir().join(&name);
            if name.ends_with(layout::TEMPORARY_ENDING) {
                self.found.add(path, Problem::Unreferenced);
            } else if !known.contains(&name.as_str()) {
                self.found.add(path, Problem::Foreign);
            }
        }
    }

    fn check_snapshots(&mut self) -> Result<()> {
        let dir = self.source.dir().open_dir(layout::SNAPSHOTS)?;
        let ids = snapshot_ids(self.source.dir())?;
        self.editions = Kept::read(self.source, ids.iter().copied());
        self.check_names(&dir, layout::snapshot_name)?;
        let private = self.source.private()?;
        let edition_of = |name: &str| {
            let overlays = || layout::overlays_name(name).map(|(edition, _)| edition);
            layout::private_name(name).or_else(overlays)
        };
        self.check_names(&private, |name| {
            let listed = edition_of(name).map(|edition| edition.id);
            let segment = || layout::segment_of(name).map(|id| id.snapshot);
            listed.or_else(|| layout::items_name(name)).or_else(segment)
        })?;
        for name in private.list()? {
            let listed = edition_of(&name);
            if listed.is_some_and(|edition| {
                Some(edition.id) <= self.current && !self.editions.has(edition)
            }) {
                self.found.add(private.join(&name), Problem::Unreferenced);
            }
        }
        let committed = ids.into_iter().filter(|id| match self.current {
            Some(current) => *id <= current,
            // `current` is damaged or missing: any snapshot may have been committed.
            None => true,
        });
        self.all = committed.chain(self.current).collect();
        self.wanted = match (self.scope, self.current) {
            (Scope::Current, Some(current)) => BTreeSet::from([current]),
            _ => self.all.clone(),
        };
        for id in self.wanted.clone() {
            self.check_snapshot(&dir, id);
        }
        for path in bundle_check::unnamed(&private, self.current)? {
            self.found.add(path, Problem::Unreferenced);
        }
        self.check_items(&private)
    }

    /// Checks the bytes of a bundle's files.
    fn check_bundle(&mut self, bundle: &Bundle) -> Result<()> {
        let private = self.source.private()?;
        let mut actual = HashMap::new();
        let segments = bundle.segments().iter();
        for (name, bytes, hash) in segments.flat_map(SegmentInfo::named_files) {
            let known = self.check_file(&private, &name, (bytes, hash), &mut actual);
            self.found
                .add_new(private.join(&name), known.map(|k| k.of(&name)));
        }
        Ok(())
    }

    /// Reads the items of the current snapshot's segments. Items that only older snapshots name are
    /// no longer used and may have been removed.
    fn check_items(&mut self, private: &Dir) -> Result<()> {
        let mut named: BTreeSet<SnapshotId> = BTreeSet::new();
        for id in self.all.clone() {
            let Ok(Some(list)) = ShardList::of(self.source.dir(), id) else {
                // The check of the lists reports this error.
                return Ok(());
            };
            if Some(id) == self.current {
                for items in &list.items {
                    let name = layout::items_file(*items);
                    match item_file::read(private, &name, &mut |_, _| Ok(())) {
                        Ok(()) => self.found.files += 1,
                        Err(error) => self.found.add_error(error, private.join(&name)),
                    }
                }
            }
            named.extend(list.items);
        }
        for name in private.list()? {
            let items = layout::items_name(&name);
            if items.is_some_and(|id| Some(id) <= self.current && !named.contains(&id)) {
                self.found.add(private.join(&name), Problem::Unreferenced);
            }
        }
        Ok(())
    }

    /// Reports names in `dir` that belong to no snapshot or to one that was not committed.
    fn check_names(&mut self, dir: &Dir, id_of: impl Fn(&str) -> Option<SnapshotId>) -> Result<()> {
        for name in dir.list()? {
            if name == layout::WATCH_FILE {
                continue;
            }
            let problem = match id_of(&name) {
                None if !name.ends_with(layout::TEMPORARY_ENDING) => Problem::Foreign,
                Some(id) if self.current.is_none_or(|current| id <= current) => continue,
                _ => Problem::Unreferenced,
            };
            self.found.add(dir.join(&name), problem);
        }
        Ok(())
    }

    fn check_snapshot(&mut self, dir: &Dir, id: SnapshotId) {
        self.found.snapshots += 1;
        let name = layout::snapshot_file(id);
        let path = dir.join(&name);
        let info = dir
            .read(&name)
            .and_then(|bytes| SnapshotInfo::from_bytes(&bytes, &path, id));
        match info {
            Ok(info) if info.root != self.source.root() => {
                let problem = "it belongs to another source".to_owned();
                self.found.add(path, Problem::Damaged(problem));
            }
            Ok(info) => {
                self.found.files += 1;
                self.check_shard_list(info.edition());
            }
            Err(error) => self.found.add_error(error, path),
        }
    }

    fn check_shard_list(&mut self, edition: Edition) {
        let private = self.source.path().join(layout::PRIVATE);
        let path = private
            .join(layout::DATA)
            .join(layout::shard_list_file(edition));
        let list = ShardList::read(self.source.dir(), edition);
        match list {
            Ok(None) => {
                let problem = Problem::Unreadable("permission denied".to_owned());
                self.found.add(path, problem);
            }
            Ok(Some(list)) => {
                self.found.files += 1;
                self.check_pack(edition, &list);
                for components in list.shards {
                    self.missing.entry(components).or_default().insert(edition);
                }
            }
            Err(error) => self.found.add_error(error, path),
        }
    }

    /// Reads a pack, if there is one, and compares it with the list of shards. Manifests are
    /// compared with it when they are read.
    fn check_pack(&mut self, edition: Edition, list: &ShardList) {
        let pack = match self.source.private() {
            Ok(private) => pack::read(&private, edition),
            Err(error) => Err(error),
        };
        let pack = match if_there(pack) {
            Ok(None) if !list.packed => return,
            Ok(None) => return self.found.add(self.pack_path(edition), Problem::Missing),
            Ok(Some(pack)) => pack,
            Err(error) => return self.found.add_error(error, self.pack_path(edition)),
        };
        self.found.files += 1;
        if let Err(error) = self.check_bundle(&Bundle::of_pack(&pack)) {
            self.found.add_error(error, self.pack_path(edition));
        }
        let digests: BTreeMap<_, _> = list.shards.iter().zip(&list.digests).collect();
        let mut is_same = pack.root == self.source.root()
            && pack.above == list.above
            && pack.key == list.key
            && pack.shard_count() == list.shards.len();
        let mut shards = BTreeMap::new();
        for at in 0..pack.shard_count() {
            if let Some((components, manifest)) = pack.unpack(at) {
                is_same &= pack.digest(at) == digests.get(&components).map(|digest| **digest);
                shards.insert(components, manifest);
            }
        }
        if !is_same
            || !shards
                .keys()
                .eq(list.shards.iter().collect::<BTreeSet<_>>())
        {
            self.add_pack(edition, "it differs from the list of shards");
        }
        self.packed.insert(edition, shards);
    }

    fn pack_path(&self, edition: Edition) -> PathBuf {
        let private = self.source.path().join(layout::PRIVATE);
        private.join(layout::DATA).join(layout::pack_file(edition))
    }

    /// Reports a pack that differs from the data that it was made from.
    fn add_pack(&mut self, edition: Edition, what: &str) {
        let path = self.pack_path(edition);
        let problem = format!("{what}; remove it: readers then use the manifests");
        self.found.add_new(path, Some(Problem::Damaged(problem)));
    }

    /// Visits the guard directories.
    fn check_guards(&mut self) -> Result<()> {
        let top = self.source.dir().open_dir(layout::DATA)?;
        let reached = guard_walk::walk(&top, &mut |components, data| {
            self.check_data(&top, components, data)
        })?;
        if reached.is_partial() {
            let problem = Problem::Unreadable("permission denied".to_owned());
            self.found.add(top.path().to_owned(), problem);
        }
        Ok(())
    }

    /// Compares the permissions of a guard's directories with the guard.
    fn check_access(&mut self, top: &Dir, guard: &Guard) -> Result<()> {
        if top.readers() == Readers::Owner {
            return Ok(());
        }
        let names = layout::data_components(&guard.0);
        let mut end = 0;
        for element in &guard.0 {
            let components = names[..=end].to_vec();
            let wanted = match element {
                Element::Predicate(who) => index_access(who, Refused::Entry),
                Element::Barrier { list, .. } => index_access(list, Refused::Listing),
            };
            end += layout::levels(element);
            if !self.looked_at.contains(&components) {
                let dir = top.open_below(&components)?;
                if dir.access()? != wanted {
                    self.found.add(dir.path().to_owned(), Problem::Permissions);
                }
                self.looked_at.insert(components);
            }
        }
        Ok(())
    }

    /// Reports `dir` if anybody except the superuser may create entries in it.
    fn check_plain(&mut self, dir: &Dir) -> Result<()> {
        let access = dir.access()?;
        let is_writable = access.mode & 0o022 != 0 || access.acl.is_some();
        if dir.readers() == Readers::Everyone && (access.uid != Uid::ROOT || is_writable) {
            self.add_permissions(dir.path().to_owned());
        }
        Ok(())
    }

    /// Reports `dir` if anybody except its owner has access to it.
    fn check_private(&mut self, dir: &Dir) -> Result<()> {
        if dir.access()?.mode & 0o077 != 0 {
            self.add_permissions(dir.path().to_owned());
        }
        Ok(())
    }

    /// Like [`Check::check_plain`], for `top` and all `data` directories on the way to a place
    /// below it.
    fn check_way(&mut self, top: &Dir, names: &[String]) -> Result<()> {
        for end in 0..=names.len() {
            // Guard directories are checked by [`Check::check_access`].
            if end == 0 || names[end - 1] == layout::DATA {
                self.check_plain(&top.open_below(&names[..end])?)?;
            }
        }
        Ok(())
    }

    fn add_permissions(&mut self, path: PathBuf) {
        self.found.add(path, Problem::Permissions);
    }

    fn check_data(&mut self, top: &Dir, components: &[String], data: &Dir) -> Result<()> {
        let mut names = data.list()?;
        names.retain(|name| layout::guard_name(name) == GuardName::Foreign);
        let mut needed: BTreeSet<String> = BTreeSet::new();
        let mut actual: HashMap<String, (u64, Hash)> = HashMap::new();
        let mut is_known_whole = true;
        for name in &names {
            let DataName::Manifest(edition) = layout::data_name(name) else {
                continue;
            };
            let id = edition.id;
            if !self.all.contains(&id) || !self.editions.has(edition) {
                continue;
            }
            needed.insert(name.clone());
            if let Some(ids) = self.missing.get_mut(components) {
                ids.remove(&edition);
            }
            match self.read_manifest(components, data, name, id) {
                Ok(manifest) => {
                    let packed = self.packed.get_mut(&edition);
                    let packed = packed.map(|shards| shards.remove(components));
                    if packed.is_some_and(|p| p.is_none_or(|p| !p.says_the_same(&manifest))) {
                        self.add_pack(edition, "it differs from a manifest");
                    }
                    self.check_access(top, &manifest.guard()?)?;
                    for segment in &manifest.segments {
                        for (name, bytes, hash) in segment.named_files() {
                            if self.wanted.contains(&id) {
                                let known =
                                    self.check_file(data, &name, (bytes, hash), &mut actual);
                                self.found
                                    .add_new(data.join(&name), known.map(|k| k.of(&name)));
                            }
                            needed.insert(name);
                        }
                    }
                }
                Err(error) => {
                    is_known_whole = false;
                    if let Some(shards) = self.packed.get_mut(&edition) {
                        shards.remove(components);
                    }
                    self.found.add_error(error, data.join(name));
                }
            }
        }
        self.check_overlays(data, &names, &mut needed, &mut actual)?;
        for name in names.iter().filter(|name| !needed.contains(*name)) {
            let problem = match layout::data_name(name) {
                DataName::Foreign => Problem::Foreign,
                DataName::Segment(..) | DataName::Names(_) if !is_known_whole => continue,
                _ => Problem::Unreferenced,
            };
            self.found.add(data.join(name), problem);
        }
        Ok(())
    }

    /// Checks overlays in effect: they are not part of a snapshot but must be valid as well.
    fn check_overlays(
        &mut self,
        data: &Dir,
        names: &[String],
        needed: &mut BTreeSet<String>,
        actual: &mut HashMap<String, (u64, Hash)>,
    ) -> Result<()> {
        for name in names {
            let Some((edition, _)) = layout::overlay_name(name) else {
                continue;
            };
            if !self.all.contains(&edition.id) || !self.editions.has(edition) {
                continue;
            }
            // Overlays of another boot were not synced and are not read.
            if !matches!(Live::open(self.source.dir(), edition), Ok(Some(_))) {
                continue;
            }
            needed.insert(name.clone());
            let path = data.join(name);
            let read = data.read(name);
            let overlay = read.and_then(|bytes| Overlay::from_bytes(&bytes, &path, edition));
            let overlay = match overlay {
                Ok(overlay) => overlay,
                // A newer overlay has replaced it.
                Err(error) if error.is_missing() => continue,
                Err(error) => {
                    self.found.add_error(error, path);
                    continue;
                }
            };
            for segment in &overlay.segments {
                for (name, bytes, hash) in segment.named_files() {
                    let problem = self.check_file(data, &name, (bytes, hash), actual);
                    self.found.add_new(data.join(&name), problem);
                    needed.insert(name);
                }
            }
        }
        Ok(())
    }

    fn read_manifest(
        &mut self,
        components: &[String],
        data: &Dir,
        name: &str,
        id: SnapshotId,
    ) -> Result<Manifest> {
        let bytes = data.read(name)?;
        let path = data.join(name);
        let manifest = Manifest::from_bytes(&bytes, &path, id)?;
        if manifest.root != self.source.root()
            || layout::data_components(&manifest.guard()?.0) != components
        {
            return Err(IndexError::damaged(&path, "it belongs elsewhere"));
        }
        self.found.files += 1;
        Ok(manifest)
    }

    /// Checks one segment file. Each file is read only once, however many manifests name it.
    fn check_file(
        &mut self,
        data: &Dir,
        name: &str,
        (expected_bytes, expected_hash): (u64, Hash),
        actual: &mut HashMap<String, (u64, Hash)>,
    ) -> Option<Problem> {
        let (found_bytes, hash) = match actual.get(name) {
            Some(known) => *known,
            None => match self.hash_file(data, name) {
                Ok(new) => {
                    actual.insert(name.to_owned(), new);
                    new
                }
                Err(error) => return Some(Problem::of_error(error)),
            },
        };
        Some(match found_bytes.cmp(&expected_bytes) {
            std::cmp::Ordering::Less => Problem::Truncated {
                expected_bytes,
                found_bytes,
            },
            std::cmp::Ordering::Greater => Problem::Longer {
                expected_bytes,
                found_bytes,
            },
            std::cmp::Ordering::Equal if hash != expected_hash => Problem::Changed,
            std::cmp::Ordering::Equal => return None,
        })
    }

    fn hash_file(&mut self, data: &Dir, name: &str) -> Result<(u64, Hash)> {
        let mut file = data.open_file(name)?;
        let mut hasher = Xxh3::new();
        let mut size_bytes = 0;
        loop {
            let count = match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(IndexError::io("read", data.join(name), error)),
            };
            hasher.update(self.buffer.get(..count).unwrap_or_default());
            size_bytes += count as u64;
        }
        self.found.files += 1;
        self.found.size_bytes += size_bytes;
        Ok((size_bytes, Hash(hasher.digest128())))
    }
}
