//! The work: reading what is dirty, and publishing it.

mod kept;
mod moved;
pub(crate) mod named;
mod noted;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_index::live::{Belonging, LiveWriter, Published, Removal, Round};
use trawl_index::{DEFAULT_MEMORY_BYTES, IndexDir, IndexError, SegmentId, SnapshotId, Table};
use trawl_live::{Dirty, Places};
use trawl_model::column::ColumnSet;
use trawl_model::guard::{Bit, Credentials, Predicate};
use trawl_model::sink::SourceRoot;
use trawl_model::{DirAccess, DirBatch, DirId, IdMap, Sink, Timestamp, path};
use trawl_query::{Listings, Located, Part, RowsOf, Values, View};
use trawl_scan::{Excludes, Extent, Mounts, PartRead, Parts, WalkOptions, Xattrs};

use crate::error::{ApplyError, Result, Unappliable};
use crate::granted::Granted;
use crate::known::{self, Became, Known, Listing};
use crate::targets::{NameSet, Origin, Targets};
use kept::Kept;
use moved::Shut;
use named::{Settling, Unsettled};
use noted::{Closed, Found, Noted};

/// How a source is read: as it was when it was indexed.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// Mount points below the root.
    pub mounts: Mounts,
    /// Names and paths that are left out.
    pub excludes: Excludes,
    /// Extended attributes.
    pub xattrs: Xattrs,
    /// Bytes of rows that are held before they are written; 0: as many as a
    /// scan holds.
    pub memory_bytes: usize,
}

/// What was applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Directories that were read again.
    pub directories: u64,
    /// Entries that were looked at.
    pub entries: u64,
    /// What readers see from now on; `None` if it is what they saw before.
    pub published: Option<Published>,
}

/// Keeps a source's index as its file system is.
pub struct Applier {
    pub(crate) writer: LiveWriter,
    /// The source as it was published last; files stay open from one to the
    /// next.
    pub(crate) view: Arc<View>,
    pub(crate) root: Vec<u8>,
    pub(crate) options: ApplyOptions,
    id_map: Option<IdMap>,
    /// Directories that were there when their names were read, and not when
    /// they were opened: the index has the names and not what is in them.
    unread: HashSet<Vec<u8>>,
    /// Directories that were for others when what is below was read than when
    /// their rows were.
    unsettled: HashSet<Vec<u8>>,
    granted: Granted,
    /// Directories that the last round found, and that not everybody can reach.
    shut: Shut,
    /// What fewer may see than files of the snapshot show, which must be made
    /// one that does not.
    pub(crate) withdrawn: Option<Vec<u8>>,
}

impl Applier {
    /// Goes on from the current snapshot of the source with this root.
    ///
    /// # Errors
    /// [`ApplyError::Unappliable`] if there is none to go on from;
    /// [`IndexError::Busy`] if somebody else writes the source.
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

    /// Looks at what is dirty, and publishes what it finds; `as_of` is up to
    /// when everything that changed is dirty or was.
    ///
    /// # Errors
    /// Whatever they are, nothing was published, and what was dirty still is.
    pub fn apply(
        &mut self,
        dirty: &Dirty,
        places: &mut dyn Places,
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

    /// Reads a directory again with all below it, whether or not it is dirty.
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

    /// Makes sure that the way to the source's root lets through whom it did:
    /// what changes there is not below the root, and so never dirty.
    ///
    /// # Errors
    /// [`ApplyError::Unappliable`] if it does not, or there is no root.
    pub fn check(&self, cancel: &AtomicBool) -> Result<()> {
        self.check_base()?;
        let walk = walk_options(&self.options, cancel);
        self.open(&walk).map(drop)
    }

    /// Refuses to go on from what is not as it was.
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

    /// Lets go of the source; what was published stays.
    ///
    /// # Errors
    /// If its lock cannot be given back.
    pub fn end(self) -> Result<()> {
        Ok(self.writer.end()?)
    }

    /// The generation that was published last; 0: none.
    pub fn generation(&self) -> u64 {
        self.writer.generation()
    }

    /// Reads the targets; where that shows that more must be read, which has
    /// to be in order, begins again with that.
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

    /// `None` if it turned out that there is more to read.
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
            // What has a dirty name elsewhere may have another here.
            if unsettled.add_to(all, &settling.into_left(), &self.root)? {
                return Ok(None);
            }
            self.writer.confirm(as_of)?;
            return Ok(Some(Applied::default()));
        }
        // Where a snapshot is to come, that leaves out what must go.
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
        let published = round.publish(as_of, when)?;
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

    /// True if only the superuser reaches the source: then no guard below says
    /// so of what no row names.
    fn is_superusers(&self, root: &SourceRoot) -> bool {
        let mut root = root.clone();
        if let Some(map) = &self.id_map {
            map.apply_root(&mut root);
        }
        let mut above = root.above.iter();
        above.any(|access| Predicate::of(access, Bit::Search).is_superuser_only())
    }

    /// The source as it was published last.
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

/// What turned out to have to be read, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct More {
    /// Segments beside the snapshot's of which nothing may be left, each with
    /// the path because of which.
    urgent: HashMap<SegmentId, Vec<u8>>,
    /// Directories.
    due: HashSet<Vec<u8>>,
    /// What fewer may see than files of the snapshot show, if anything: then
    /// a snapshot is made, and no segment need be read again for it.
    withdrawn: Option<Vec<u8>>,
}

impl More {
    /// True if `now` asks for more than was read.
    fn takes_more(&self, now: &More) -> bool {
        self.due != now.due || now.withdrawn.is_none() && self.urgent != now.urgent
    }
}

/// Rows of a directory, what of it something depends on, and what is kept.
type HadOf<'v> = (Vec<RowsOf<'v>>, Listing, Option<Kept>);

/// Directories that were not there, unsettled ones, and those that not everybody can reach.
type Left = (HashSet<Vec<u8>>, HashSet<Vec<u8>>, Shut);

/// One round of reading.
struct Reading<'a> {
    /// Of the segments beside the snapshot's.
    writer: SnapshotId,
    /// What is to be read besides, the next time at the latest.
    more: More,
    /// The view with rows that no longer hold, once it was asked for.
    all_rows: Option<Arc<View>>,
    /// Directories whose access was used, until it is compared with what the
    /// index says of it; and those of which that was done.
    met: Vec<(Vec<u8>, DirAccess)>,
    known: HashSet<Vec<u8>>,
    unread: HashSet<Vec<u8>>,
    unsettled: HashSet<Vec<u8>>,
    /// Directories that were listed.
    listed: HashSet<Vec<u8>>,
    /// What these say of directories of which something is still to be read.
    passable: HashMap<Vec<u8>, Known>,
    view: &'a Arc<View>,
    /// What tells what became of directories.
    listings: Listings<'a>,
    /// Whole rows.
    rows: Listings<'a>,
    granted: &'a mut Granted,
    id_map: Option<&'a IdMap>,
    round: Round<'a>,
    parts: Parts<'a>,
    targets: &'a mut Targets,
    applied: Applied,
    /// What is found of objects that may have other names.
    settling: Settling,
    /// Directories that this round found, and that not everybody can reach; and those of the round
    /// before.
    shut: Shut,
    shut_before: &'a Shut,
    /// Rows of directories of the view that no longer hold, from this round on.
    killed: Vec<RowsOf<'a>>,
    /// The source's root as it is now.
    root: Option<SourceRoot>,
    /// Only the superuser reaches it.
    superusers: bool,
}

impl<'a> Reading<'a> {
    /// What it took, how much that was, what must go, and what is to be read
    /// the next time.
    fn into_parts(self) -> (Round<'a>, Applied, More, Left, HashSet<u64>) {
        let left = (self.unread, self.unsettled, self.shut);
        let asked = self.settling.into_left();
        (self.round, self.applied, self.more, left, asked)
    }

    /// Refuses a root that lets others do otherwise than the index says: what
    /// it lets them do guards all below.
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
        let now = Known::of_entry(&batch, &now.entry);
        let is_known = match self.view.locate(&root.path)? {
            Located::Found(start) => now.lets_do_as(Known::of_row(&start.own_row()).access()),
            _ => false,
        };
        match is_known {
            true => Ok(()),
            false => Err(ApplyError::Unappliable(Unappliable::Tightened {
                path: root.path.clone(),
            })),
        }
    }

    /// The root's own row, which no listing has.
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
            // What the index leaves out (an exclusion, a mount) is none of
            // ours; what is new is found where its name is.
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

    /// What the index has of a directory: its rows, what something depends on,
    /// and what can be kept if only these names are dirty.
    fn known(&mut self, dir: &[u8], dirty: Option<&NameSet>) -> Result<HadOf<'a>> {
        let mut kept = self.kept(dir, dirty)?;
        let (listing, place) = match &mut kept {
            Some(kept) => (std::mem::take(&mut kept.listing), kept.place.clone()),
            None => Listing::read(&mut self.listings, dir)?,
        };
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

    /// What was read is placed by the access that the directories on the way
    /// have now. Where the index says another in their rows, these are read
    /// again in the same round, so that both go together: else nobody would
    /// notice when it is as it was before.
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
            let known = self.listings.entry(above, name, Known::of_row)?;
            match known.filter(|known| known.lets_do_as(&now)) {
                Some(known) => self.granted.note(path, known),
                None => {
                    self.more.due.insert(above.to_vec());
                }
            }
        }
        Ok(())
    }

    /// True if what holds `dir` was listed in this round.
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

    /// Reads a directory; what a listing holds is given back, too.
    fn read(
        &mut self,
        dir: &[u8],
        extent: Extent,
        known: &Listing,
        kept: Option<&Kept>,
    ) -> Result<(PartRead, Found)> {
        let mut noted = Noted {
            round: &mut self.round,
            applied: &mut self.applied,
            id_map: self.id_map,
            dir: (extent == Extent::Listing).then_some(dir),
            known,
            found: Found::default(),
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
            (PartRead::Another, ..) => self.parts.read(dir, extent, &mut noted)?,
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

    fn read_listing(&mut self, dir: &[u8], mut known: Listing, kept: Option<Kept>) -> Result<()> {
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
    /// Fewer may see what is in a directory, or a file's values. What tells of
    /// it beside the snapshot is read again with all that lies in the same
    /// files, so that these can go; if files of the snapshot do, another one
    /// must take its place. Rows that no longer hold tell of it, too.
    fn hide(&mut self, dir: &[u8], name: &[u8], path: Vec<u8>, now: &Known) -> Result<()> {
        if now.is_dir() {
            self.hide_dir(&path)?;
            self.targets.add_found(path);
            return Ok(());
        }
        let all = self.all_rows();
        self.hide_rows(&path, all.values_of(dir, name)?);
        Ok(())
    }

    /// The same of what is in a directory.
    fn hide_dir(&mut self, path: &[u8]) -> Result<()> {
        let all = self.all_rows();
        self.hide_rows(path, all.rows_of(path, Part::Subtree, Values::Some)?);
        Ok(())
    }

    /// These were found in the directory `top`, or are it, and are not for everybody. Files may tell
    /// of directories that were at these paths before, whether their rows still hold or not, to
    /// others than may see what is there now.
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

    /// The view with rows that no longer hold.
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

    /// A directory's row says the same as before of what is in it, but its
    /// attributes changed meanwhile: what is in it may have been read while it
    /// was for others (in the listing of directory `above` by number), and
    /// another owner may come to it by its name. Reads it again where the index
    /// has it elsewhere than it belongs.
    fn check_place(&mut self, above: DirId, path: Vec<u8>, rows: [&Known; 2]) -> Result<()> {
        let place = self.listings.find(&path)?;
        let [before, now] = rows.map(Known::access);
        let shards = self.listings.shards(&place);
        let round = &mut self.round;
        let worst = shards.map(|shard| round.belonging(shard, (above, &path), before, now));
        match worst.max().unwrap_or(Belonging::There) {
            Belonging::There => return Ok(()),
            Belonging::ThereBefore => {}
            // More may have seen it than ever by its row.
            Belonging::Never => self.hide_dir(&path)?,
        }
        self.targets.add_found(path);
        Ok(())
    }
}
