//! Reads dirty directories again and publishes their rows.

mod kept;
mod moved;
pub(crate) mod named;
mod noted;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_changes::{Dirty, KeyResolver};
use trawl_format::{IndexDir, IndexError, SegmentId, SnapshotId, Table};
use trawl_model::column::ColumnSet;
use trawl_model::guard::{Bit, Credentials, Predicate};
use trawl_model::operation::Operation;
use trawl_model::sink::SourceRoot;
use trawl_model::{DirAccess, DirBatch, DirId, IdMap, Sink, Timestamp, path};
use trawl_query::{Listings, Located, Part, RowsOf, Values, View};
use trawl_scan::{Excludes, Extent, Mounts, PartRead, Parts, WalkOptions, Xattrs};
use trawl_writer::DEFAULT_MEMORY_BYTES;
use trawl_writer::live::{Belonging, LiveWriter, Published, Removal, Round};

use crate::error::{ApplyError, Result, Unappliable};
use crate::granted::Granted;
use crate::known::{self, Became, KnownEntry, Listing};
use crate::targets::{NameSet, Origin, Targets};
use kept::KeptRows;
use moved::Shut;
use named::{Settling, Unsettled};
use noted::{Closed, Noted, NotedEntries};

/// Options for reading a source; they must be those with which it was indexed.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// How to treat mount points below the root.
    pub mounts: Mounts,
    /// Names and paths to leave out.
    pub excludes: Excludes,
    /// Which extended attributes to read.
    pub xattrs: Xattrs,
    /// Maximum bytes of rows buffered before they are written; 0 means the scanner's default.
    pub memory_bytes: usize,
}

/// Result of one application of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Number of directories read again.
    pub directories: u64,
    /// Number of entries looked at.
    pub entries: u64,
    /// The new generation; `None` if readers see the same as before.
    pub published: Option<Published>,
}

/// Keeps a source's index up to date with its file system.
pub struct Applier {
    pub(crate) writer: LiveWriter,
    /// The source as published last. Its files stay open from one round to the next.
    pub(crate) view: Arc<View>,
    pub(crate) root: Vec<u8>,
    pub(crate) options: ApplyOptions,
    id_map: Option<IdMap>,
    /// Directories that existed when their names were read but not when they were opened: the index
    /// has their names but not their content.
    unread: HashSet<Vec<u8>>,
    /// Directories whose permissions changed between the reading of their rows and of their
    /// content.
    unsettled: HashSet<Vec<u8>>,
    granted: Granted,
    /// Directories found by the last round that not everybody can reach.
    shut: Shut,
    /// A path whose permissions have become stricter than the snapshot's files assume; a new
    /// snapshot without it must be made.
    pub(crate) withdrawn: Option<Vec<u8>>,
}

impl Applier {
    /// Continues from the current snapshot of the source with this root.
    ///
    /// # Errors
    /// [`ApplyError::Unappliable`] if there is no usable snapshot; [`IndexError::Busy`] if another
    /// process writes the source.
    pub fn begin(
        index: &IndexDir,
        root: &[u8],
        options: ApplyOptions,
        now: Timestamp,
    ) -> Result<Applier> {
        let cancel = AtomicBool::new(false);
        let walk = walk_options(&options, &cancel);
        let (_, now_there) = Parts::open::<IndexError>(root, &walk)?;
        let memory_bytes = match options.memory_bytes {
            0 => DEFAULT_MEMORY_BYTES,
            bytes => bytes,
        };
        let begun = LiveWriter::begin(index, now_there, memory_bytes, now);
        let writer = begun.map_err(|error| match error {
            IndexError::Moved { .. } => ApplyError::Unappliable(Unappliable::Moved),
            error => error.into(),
        })?;
        let who = superuser();
        let view = View::new(writer.snapshot(), who).with_places();
        Ok(Applier {
            id_map: writer.source().id_map()?,
            view: Arc::new(view),
            withdrawn: None,
            writer,
            root: root.to_vec(),
            options,
            unread: HashSet::new(),
            unsettled: HashSet::new(),
            granted: Granted::default(),
            shut: Shut::default(),
        })
    }

    /// Reads the dirty entries and publishes the result. All changes up to `as_of` must be in
    /// `dirty` or in earlier calls.
    ///
    /// # Errors
    /// On any error nothing was published, and the entries stay dirty.
    pub fn apply(
        &mut self,
        dirty: &Dirty,
        places: &mut dyn KeyResolver,
        as_of: Timestamp,
        cancel: &AtomicBool,
    ) -> Result<Applied> {
        self.check_base()?;
        let mut targets = Targets::of(dirty, &self.root, &self.options.excludes, places)?;
        let unsettled = Unsettled {
            named: std::mem::take(&mut targets.named),
            places: Some(places),
        };
        self.read_again(targets, unsettled, as_of, cancel)
    }

    /// Reads a directory again with everything below it, whether or not it is dirty.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    pub fn refresh(
        &mut self,
        dir: &[u8],
        as_of: Timestamp,
        cancel: &AtomicBool,
    ) -> Result<Applied> {
        self.check_base()?;
        let mut targets = Targets::default();
        targets.add_above(dir, &self.root);
        targets.add(dir.to_vec(), Extent::Subtree);
        self.read_again(targets, Unsettled::none(), as_of, cancel)
    }

    /// Checks that the directories above the source's root let the same users through as before.
    /// Changes there are not below the root, and so are never dirty.
    ///
    /// # Errors
    /// [`ApplyError::Unappliable`] if they do not, or if the root does not exist.
    pub fn check(&self, cancel: &AtomicBool) -> Result<()> {
        self.check_base()?;
        let walk = walk_options(&self.options, cancel);
        self.open(&walk).map(drop)
    }

    /// Refuses to continue from a base that is lost.
    pub(crate) fn check_base(&self) -> Result<()> {
        match self.writer.is_lost() {
            false => Ok(()),
            true => Err(ApplyError::Unappliable(Unappliable::Everything)),
        }
    }

    fn open<'w>(&self, walk: &'w WalkOptions<'w>) -> Result<(Parts<'w>, SourceRoot)> {
        let opened = Parts::open::<IndexError>(&self.root, walk);
        let (parts, root) = opened.map_err(|_| ApplyError::Unappliable(Unappliable::NoRoot))?;
        match self.writer.is_reached_as(&root) {
            true => Ok((parts, root)),
            false => Err(ApplyError::Unappliable(Unappliable::Moved)),
        }
    }

    /// Releases the source; the published generations stay.
    ///
    /// # Errors
    /// Where its lock cannot be released.
    pub fn end(self) -> Result<()> {
        Ok(self.writer.end()?)
    }

    /// Returns the generation published last; 0 means none.
    pub fn generation(&self) -> u64 {
        self.writer.generation()
    }

    /// Reads the targets. If that shows that more must be read, begins again with the additional
    /// targets, because directories must be read in order.
    pub(crate) fn read_again(
        &mut self,
        mut all: Targets,
        mut unsettled: Unsettled<'_>,
        as_of: Timestamp,
        cancel: &AtomicBool,
    ) -> Result<Applied> {
        let mut more = More::default();
        loop {
            for dir in &more.due {
                all.add(dir.clone(), Extent::Listing);
            }
            let done = self.read_once(&mut all, &mut unsettled, &mut more, as_of, cancel)?;
            if let Some(applied) = done {
                return Ok(applied);
            }
        }
    }

    /// Reads the targets once; `None` if it turned out that there is more to read.
    fn read_once(
        &mut self,
        all: &mut Targets,
        unsettled: &mut Unsettled<'_>,
        more: &mut More,
        as_of: Timestamp,
        cancel: &AtomicBool,
    ) -> Result<Option<Applied>> {
        let view = self.view();
        let mut targets = all.clone();
        let objects = std::mem::take(&mut targets.objects);
        if !objects.is_empty() {
            for dir in view.holders_of(&objects, Some(cancel))? {
                targets.add(dir, Extent::Listing);
            }
        }
        let walk = walk_options(&self.options, cancel);
        let (parts, root) = self.open(&walk)?;
        for dir in self.unread.iter().chain(&self.unsettled) {
            targets.add_found(dir.clone());
        }
        let settling = Settling::new(&unsettled.named, root.entry.meta.dev);
        if targets.is_empty() {
            // An object with a dirty name elsewhere may have another name here.
            if unsettled.add_to(all, &settling.into_left(), &self.root)? {
                return Ok(None);
            }
            self.writer.confirm(as_of)?;
            return Ok(Some(Applied::default()));
        }
        // A pending snapshot leaves out the rows that must disappear.
        let together = more.urgent.keys().copied();
        let together = together.filter(|_| self.withdrawn.is_none() && more.withdrawn.is_none());
        for segment in self.writer.crowding() {
            for dir in view.directories_of(segment)? {
                targets.add_again(dir);
            }
        }
        for segment in together {
            for dir in view.directories_of(segment)? {
                targets.add(dir, Extent::Listing);
            }
        }
        let writer = self.writer.writer_id();
        let superusers = self.is_superusers(&root);
        let mut reading = Reading {
            writer,
            more: more.clone(),
            all_rows: None,
            met: Vec::new(),
            known: HashSet::new(),
            unread: HashSet::new(),
            unsettled: HashSet::new(),
            listed: HashSet::new(),
            passable: HashMap::new(),
            view: &view,
            listings: Listings::new(&view, known::COLUMNS),
            rows: Listings::new(&view, ColumnSet::all()),
            granted: &mut self.granted,
            id_map: self.id_map.as_ref(),
            round: self.writer.round(),
            parts,
            shut: Shut::default(),
            shut_before: &self.shut,
            killed: Vec::new(),
            targets: &mut targets,
            applied: Applied::default(),
            superusers,
            settling,
            root: Some(root),
        };
        for dir in &self.unsettled {
            reading.hide_dir(dir)?;
        }
        reading.run()?;
        let (round, applied, more_now, left, asked) = reading.into_parts();
        let has_more = unsettled.add_to(all, &asked, &self.root)?;
        if has_more || more.takes_more(&more_now) {
            *more = more_now;
            return Ok(None);
        }
        *more = more_now;
        let urgent = &more.urgent;
        let when = match urgent.is_empty() {
            true => Removal::WhenUnread,
            false => Removal::AtOnce,
        };
        let published = {
            let _span = Operation::Publish.span();
            round.publish(as_of, when)?
        };
        (self.unread, self.unsettled, self.shut) = left;
        let left = urgent.iter().find(|(id, _)| self.writer.has(**id));
        let withdrawn = more.withdrawn.as_ref().or(left.map(|(_, path)| path));
        if let Some(path) = withdrawn {
            self.withdrawn = Some(path.clone());
        }
        Ok(Some(Applied {
            published: Some(published),
            ..applied
        }))
    }

    /// Returns true if only the superuser can reach the source. Then values that no row names have
    /// no guard of their own by which they can be told.
    fn is_superusers(&self, root: &SourceRoot) -> bool {
        let mut root = root.clone();
        if let Some(map) = &self.id_map {
            map.apply_root(&mut root);
        }
        let mut above = root.above.iter();
        above.any(|access| Predicate::of(access, Bit::Search).is_superuser_only())
    }

    /// Returns the source as published last.
    pub(crate) fn view(&mut self) -> Arc<View> {
        let view = self.view.renewed(self.writer.snapshot());
        self.view = Arc::new(view);
        Arc::clone(&self.view)
    }
}

pub(crate) fn superuser() -> Arc<Credentials> {
    Arc::new(Credentials {
        uid: trawl_model::Uid::ROOT,
        groups: Vec::new(),
    })
}

fn walk_options<'a>(options: &ApplyOptions, cancel: &'a AtomicBool) -> WalkOptions<'a> {
    let mut walk = WalkOptions::new(cancel);
    walk.mounts = options.mounts;
    walk.excludes = options.excludes.clone();
    walk.xattrs = options.xattrs;
    walk
}

/// Additional reading that a round turned out to need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct More {
    /// Segments of generations that must be rewritten in full, each with the path that forces it.
    urgent: HashMap<SegmentId, Vec<u8>>,
    /// Directories to list.
    due: HashSet<Vec<u8>>,
    /// A path whose permissions have become stricter than the snapshot's files assume, if any. A
    /// new snapshot is made then, so no segment needs to be rewritten for it.
    withdrawn: Option<Vec<u8>>,
}

impl More {
    /// Returns true if `now` asks for more than was read.
    fn takes_more(&self, now: &More) -> bool {
        self.due != now.due || now.withdrawn.is_none() && self.urgent != now.urgent
    }
}

/// Rows of a directory, the entries that others depend on, and the rows that are kept.
type HadOf<'v> = (Vec<RowsOf<'v>>, Listing, Option<KeptRows>);

/// Directories that had disappeared, unsettled directories, and directories that not everybody can
/// reach.
type Left = (HashSet<Vec<u8>>, HashSet<Vec<u8>>, Shut);

/// One round of reading.
struct Reading<'a> {
    /// Writer id of the generations' segments.
    writer: SnapshotId,
    /// Additional reading, due in the next attempt at the latest.
    more: More,
    /// The view including dead rows, once it was needed.
    all_rows: Option<Arc<View>>,
    /// Directories whose access was used and is not yet compared with the index (`met`), and those
    /// for which that was done (`known`).
    met: Vec<(Vec<u8>, DirAccess)>,
    known: HashSet<Vec<u8>>,
    unread: HashSet<Vec<u8>>,
    unsettled: HashSet<Vec<u8>>,
    /// Directories that were listed.
    listed: HashSet<Vec<u8>>,
    /// Present rows of directories that are still to be read, or have one below to be read.
    passable: HashMap<Vec<u8>, KnownEntry>,
    view: &'a Arc<View>,
    /// Rows used to compare directories with their earlier state.
    listings: Listings<'a>,
    /// Whole rows.
    rows: Listings<'a>,
    granted: &'a mut Granted,
    id_map: Option<&'a IdMap>,
    round: Round<'a>,
    parts: Parts<'a>,
    targets: &'a mut Targets,
    applied: Applied,
    /// Findings about objects that may have further names.
    settling: Settling,
    /// Directories that not everybody can reach, found by this round (`shut`) and by the previous
    /// one (`shut_before`).
    shut: Shut,
    shut_before: &'a Shut,
    /// Directory rows of the view that are dead from this round on.
    killed: Vec<RowsOf<'a>>,
    /// The source's root as it is now.
    root: Option<SourceRoot>,
    /// Whether only the superuser can reach the source.
    superusers: bool,
}

impl<'a> Reading<'a> {
    /// Takes the round apart: its segments, its counts, the reading still needed, the directories
    /// left for the next round, and the objects to ask for.
    fn into_parts(self) -> (Round<'a>, Applied, More, Left, HashSet<u64>) {
        let left = (self.unread, self.unsettled, self.shut);
        let asked = self.settling.into_left();
        (self.round, self.applied, self.more, left, asked)
    }

    /// Refuses a root whose permissions differ from the index: they guard everything below.
    fn check_root(&self) -> Result<()> {
        let Some(root) = &self.root else {
            return Ok(());
        };
        let mut now = root.clone();
        if let Some(map) = self.id_map {
            map.apply_root(&mut now);
        }
        let batch = DirBatch {
            heap: now.heap,
            ..DirBatch::default()
        };
        let now = KnownEntry::of_entry(&batch, &now.entry);
        let is_known = match self.view.locate(&root.path)? {
            Located::Found(start) => now.lets_do_as(KnownEntry::of_row(&start.own_row()).access()),
            _ => false,
        };
        match is_known {
            true => Ok(()),
            false => Err(ApplyError::Unappliable(Unappliable::Tightened {
                path: root.path.clone(),
            })),
        }
    }

    /// Writes the root's own row, which is in no listing.
    fn read_root(&mut self, root: SourceRoot) -> Result<()> {
        self.kill(&root.path, Part::Root)?;
        Ok(self.round.root(root)?)
    }

    fn run(&mut self) -> Result<()> {
        self.check_root()?;
        while let Some((dir, target)) = self.targets.next() {
            let (known, listing, kept) = match target.extent {
                Extent::Listing => self.known(&dir, target.names.as_deref())?,
                Extent::Subtree => {
                    self.granted.forget_below(&dir);
                    let known = self.view.rows_of(&dir, Part::Subtree, Values::Some)?;
                    (known, Listing::default(), None)
                }
            };
            let is_listed = known.iter().any(|rows| rows.table == Table::Dirs);
            // A directory that the index leaves out (excluded, or a mount) is ignored; a new one is
            // found through its name.
            let is_ours = match target.origin {
                Origin::Found => true,
                Origin::Dirty => is_listed,
                Origin::Moved => is_listed || self.was_read(&dir),
            };
            if !is_ours {
                continue;
            }
            self.kill_rows(known);
            if let Some(root) = self.root.take_if(|root| root.path == dir) {
                self.read_root(root)?;
            }
            match target.extent {
                Extent::Listing => self.read_listing(&dir, listing, kept)?,
                Extent::Subtree => drop(self.read(&dir, Extent::Subtree, &listing, None)?),
            }
        }
        self.hide_moved()?;
        Ok(self.parts.finish(&mut self.round)?)
    }

    /// Returns what the index has of a directory: its rows, the entries that others depend on, and
    /// the rows that can be kept if only these names are dirty.
    fn known(&mut self, dir: &[u8], dirty: Option<&NameSet>) -> Result<HadOf<'a>> {
        let mut kept = self.kept(dir, dirty)?;
        let (listing, place) = match &mut kept {
            Some(kept) => (std::mem::take(&mut kept.listing), kept.place.clone()),
            None => Listing::read(&mut self.listings, dir)?,
        };
        if kept.is_none() && !self.settling.is_empty() {
            let settling = &mut self.settling;
            self.rows
                .rows(dir, &place, |row| settling.note_known(row))?;
        }
        let values = match self.superusers {
            true => Values::Some,
            false => listing.values(),
        };
        let known = self.listings.rows_of(dir, &place, values)?;
        let kept = match kept {
            Some(kept) => kept.with_values(self.view, dir, &known)?,
            None => None,
        };
        Ok((known, listing, kept))
    }

    /// Compares the access of directories on the way with the index. Rows are placed by the access
    /// that these directories have now. Where the index has another access in their rows, the rows
    /// are read again in the same round, so that both are published together; otherwise nobody
    /// would notice when the access returns to its former state.
    fn compare_met(&mut self) -> Result<()> {
        for (path, mut now) in std::mem::take(&mut self.met) {
            let split = path::split(&path).filter(|_| path != self.view.root());
            let Some((above, name)) = split else {
                continue;
            };
            if let Some(map) = self.id_map {
                map.apply_access(&mut now);
            }
            let listed = self.passable.get(&path);
            if listed.is_some_and(|listed| !listed.lets_do_as(&now)) {
                self.unsettled.insert(path);
                continue;
            }
            if self.listed.contains(above) || !self.known.insert(path.clone()) {
                continue;
            }
            if self.granted.lets_do_as(&path, &now) {
                continue;
            }
            let known = self.listings.entry(above, name, KnownEntry::of_row)?;
            match known.filter(|known| known.lets_do_as(&now)) {
                Some(known) => self.granted.note(path, known),
                None => {
                    self.more.due.insert(above.to_vec());
                }
            }
        }
        Ok(())
    }

    /// Returns true if the parent of `dir` was listed in this round.
    fn was_read(&self, dir: &[u8]) -> bool {
        path::split(dir).is_some_and(|(above, _)| self.listed.contains(above))
    }

    fn kill(&mut self, dir: &[u8], part: Part) -> Result<()> {
        if part == Part::Subtree {
            self.granted.forget_below(dir);
        }
        let rows = self.view.rows_of(dir, part, Values::Some)?;
        self.kill_rows(rows);
        Ok(())
    }

    fn kill_rows(&mut self, known: Vec<RowsOf<'a>>) {
        self.note_killed(&known);
        for rows in known {
            self.round
                .kill(rows.shard, rows.segment, rows.table, rows.rows);
        }
    }

    /// Reads a directory; also returns the entries of its listing that others depend on.
    fn read(
        &mut self,
        dir: &[u8],
        extent: Extent,
        known: &Listing,
        kept: Option<&KeptRows>,
    ) -> Result<(PartRead, NotedEntries)> {
        let _span = Operation::ReReadDirectory.span();
        let mut noted = Noted {
            round: &mut self.round,
            applied: &mut self.applied,
            id_map: self.id_map,
            dir: (extent == Extent::Listing).then_some(dir),
            known,
            found: NotedEntries::default(),
            is_part: kept.is_some(),
            held: None,
            met: &mut self.met,
            settling: &mut self.settling,
            extent,
            closed: Vec::new(),
            shut: &mut self.shut,
        };
        let some = match kept {
            Some(kept) => self.parts.read_names(dir, kept.wanted(), &mut noted)?,
            None => PartRead::Another,
        };
        noted.is_part = false;
        let read = match (some, kept, noted.held.take()) {
            (PartRead::Another | PartRead::TooLarge, ..) => {
                self.parts.read(dir, extent, &mut noted)?
            }
            (PartRead::Done, Some(kept), Some(found)) => {
                kept.give(dir, found, &mut self.rows, &mut noted)?;
                PartRead::Done
            }
            (read, ..) => read,
        };
        let (found, closed) = (noted.found, noted.closed);
        self.compare_met()?;
        self.hide_replaced(dir, closed)?;
        if read == PartRead::Absent {
            self.unread.insert(dir.to_vec());
        }
        Ok((read, found))
    }

    fn read_listing(
        &mut self,
        dir: &[u8],
        mut known: Listing,
        kept: Option<KeptRows>,
    ) -> Result<()> {
        let (read, found) = self.read(dir, Extent::Listing, &known, kept.as_ref())?;
        if read != PartRead::Done {
            return self.kill(dir, Part::Subtree);
        }
        self.listed.insert(dir.to_vec());
        let dirs = found.entries.iter().filter(|(_, now)| now.is_dir());
        let dirs: HashSet<&[u8]> = dirs.map(|(name, _)| &name[..]).collect();
        self.targets.keep_below(dir, |name| dirs.contains(name));
        for (name, now) in &found.entries {
            let path = path::join(dir, name);
            self.granted.forget(&path);
            if now.is_dir() && self.settling.settle(now.dev(), now.ino()) {
                self.targets.add(path.clone(), Extent::Listing);
            }
            if now.is_dir() && self.targets.has_within(&path) {
                self.passable.insert(path.clone(), now.clone());
            }
            let before = known.touched(name, now).cloned();
            match known.compare(name, now) {
                Became::Same => {
                    if let Some((before, id)) = before.zip(found.dir) {
                        self.check_place(id, path, [&before, now])?;
                    }
                }
                Became::Another if now.is_dir() => self.targets.add_found(path),
                Became::Another => self.kill(&path, Part::Subtree)?,
                Became::Stricter => self.hide(dir, name, path, now)?,
            }
        }
        for name in known.gone() {
            let path = path::join(dir, &name);
            self.granted.forget(&path);
            self.kill(&path, Part::Subtree)?;
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Hides a directory's content, or a file's values, that fewer users may see now. Generations
    /// that contain it are read again, with everything else in the same files, so that the files
    /// can be removed. If files of the snapshot contain it, a new snapshot must replace it. Dead
    /// rows count as well.
    fn hide(&mut self, dir: &[u8], name: &[u8], path: Vec<u8>, now: &KnownEntry) -> Result<()> {
        if now.is_dir() {
            self.hide_dir(&path)?;
            self.targets.add_found(path);
            return Ok(());
        }
        let all = self.all_rows();
        self.hide_rows(&path, all.values_of(dir, name)?);
        Ok(())
    }

    /// Like `hide`, for a directory's content.
    fn hide_dir(&mut self, path: &[u8]) -> Result<()> {
        let all = self.all_rows();
        self.hide_rows(path, all.rows_of(path, Part::Subtree, Values::Some)?);
        Ok(())
    }

    /// Hides directories that were at the paths of `closed` before. `closed` are directories that
    /// were found in `top`, or are `top`, and that not everybody may see. Files of the index may
    /// still show the previous directories, in live or dead rows, to users who may not see the
    /// present ones.
    fn hide_replaced(&mut self, top: &[u8], closed: Vec<Closed>) -> Result<()> {
        if closed.is_empty() {
            return Ok(());
        }
        let all = self.all_rows();
        if all.rows_of(top, Part::Subtree, Values::Unnamed)?.is_empty() {
            return Ok(());
        }
        for one in closed {
            let rows = all.rows_of(&one.path, Part::Listing, Values::Unnamed)?;
            let mut guards = rows.iter().map(|rows| &rows.shard.manifest.guard);
            if guards.any(|guard| !one.places.contains(guard)) {
                self.hide_dir(&one.path)?;
            }
        }
        Ok(())
    }

    /// Returns the view including dead rows.
    fn all_rows(&mut self) -> Arc<View> {
        let all = &mut self.all_rows;
        Arc::clone(all.get_or_insert_with(|| Arc::new(self.view.with_dead_rows())))
    }

    fn hide_rows(&mut self, path: &[u8], known: Vec<RowsOf<'_>>) {
        self.hide_segments(path, known.iter().map(|rows| rows.segment));
    }

    fn hide_segments(&mut self, path: &[u8], segments: impl Iterator<Item = SegmentId>) {
        let segments: HashSet<SegmentId> = segments.collect();
        let (beside, of_snapshot): (Vec<_>, Vec<_>) =
            (segments.into_iter()).partition(|segment| segment.snapshot == self.writer);
        if !of_snapshot.is_empty() {
            self.more.withdrawn.get_or_insert_with(|| path.to_vec());
        }
        for segment in beside {
            let urgent = self.more.urgent.entry(segment);
            urgent.or_insert_with(|| path.to_vec());
        }
    }

    /// Checks where a directory's listing lies. The directory's row grants the same access as
    /// before, but its attributes changed in between: its content may have been read while other
    /// permissions held (it is in the listing of directory `above` by number), and another owner
    /// may reach it by its name. Reads it again if the index has it elsewhere than it belongs.
    fn check_place(&mut self, above: DirId, path: Vec<u8>, rows: [&KnownEntry; 2]) -> Result<()> {
        let place = self.listings.find(&path)?;
        let [before, now] = rows.map(KnownEntry::access);
        let shards = self.listings.shards(&place);
        let round = &mut self.round;
        let worst = shards.map(|shard| round.belonging(shard, (above, &path), before, now));
        match worst.max().unwrap_or(Belonging::There) {
            Belonging::There => return Ok(()),
            Belonging::ThereBefore => {}
            // More users may have seen it than its row ever allowed.
            Belonging::Never => self.hide_dir(&path)?,
        }
        self.targets.add_found(path);
        Ok(())
    }
}
