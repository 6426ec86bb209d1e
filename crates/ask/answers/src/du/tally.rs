//! Sums computed entry by entry, where the sums that the index keeps are not enough: with patterns
//! of paths to leave out, with times, through links.
//!
//! Memory grows with the depth, with the width of the directories on the way, and with the number
//! of files that must not be counted twice.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_find::resolve::{Follow, Remembered, Resolved, resolve};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path::{is_within, join, split};
use trawl_model::rows::Row;
use trawl_model::{FileType, Meta, TimeKind};
use trawl_query::{Index, Located, Request, Start, Usage};

use trawl_session::live_part::{meta_of, target};
use trawl_session::spelling::printed_path;
use trawl_session::{Missing, Notice, Session};

use super::{Amount, DuOptions, Links, Sum, Visit};
use crate::error::Ended;

/// The parts of a row that are kept.
#[derive(Clone, Debug)]
struct Entry {
    name: Vec<u8>,
    /// Device and inode number, which identify the object.
    id: (u64, u64),
    nlink: u32,
    kind: FileType,
    amount: Amount,
}

/// A directory and some of its entries.
type Listed = (Vec<u8>, Vec<Entry>);

/// A directory whose entries are being counted.
struct Frame {
    /// Path in the index.
    path: Vec<u8>,
    own: Entry,
    /// Sum of everything that is not in a subdirectory.
    files: Amount,
    below: Amount,
    /// Subdirectories that were not entered yet.
    dirs: BTreeMap<Vec<u8>, Entry>,
}

/// Counter of entries. Files that count only once are remembered from one start to the next.
pub(crate) struct Tally<'a> {
    options: &'a DuOptions,
    cancel: Option<&'a AtomicBool>,
    listener: &'a dyn Fn(Notice),
    index: Arc<Index>,
    /// Targets of links, looked up many at a time.
    known: Remembered<Arc<Index>>,
    time: TimeKind,
    seen: HashSet<(u64, u64)>,
    /// Directories that are being counted, including those reached through links.
    active: Vec<(u64, u64)>,
    /// Number of links whose target could not be read.
    unreachable: u64,
}

/// A start and how it is printed.
struct PrintedStart<'a> {
    start: &'a Start,
    printed: &'a [u8],
    depth: usize,
    device: u64,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(session: &Session<'a>, options: &'a DuOptions) -> Tally<'a> {
        let index = session.share_index();
        Tally {
            options,
            cancel: session.cancel(),
            listener: session.listener(),
            known: Remembered::new(Arc::clone(&index), link_columns()),
            index,
            time: options.time.unwrap_or_default(),
            seen: HashSet::new(),
            active: Vec::new(),
            unreachable: 0,
        }
    }

    /// Counts `start`, printed as `printed`, and returns its space.
    pub(crate) fn count(
        &mut self,
        start: &Start,
        printed: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Amount, Ended> {
        let place = PrintedStart {
            start,
            printed,
            depth: 0,
            device: start.own_row().dev().as_u64(),
        };
        match start.is_dir {
            true => self.subtree(&place, visit),
            false => {
                let entry = self.entry(&start.own_row());
                self.file(&entry, printed, 0, visit)
            }
        }
    }

    fn entry(&self, row: &Row<'_>) -> Entry {
        Entry::new(row.name(), &row.meta(), self.time)
    }

    /// Counts an entry that is not a directory, unless it was counted before.
    fn file(
        &mut self,
        entry: &Entry,
        printed: &[u8],
        depth: usize,
        visit: &mut Visit<'_>,
    ) -> Result<Amount, Ended> {
        if !self.is_new(entry) {
            return Ok(Amount::NOTHING);
        }
        Ended::check(visit(&Sum {
            path: printed,
            depth,
            is_dir: false,
            amount: entry.amount,
        }))?;
        Ok(entry.amount)
    }

    /// Returns true if the entry must be counted now.
    fn is_new(&mut self, entry: &Entry) -> bool {
        let every = !self.options.is_single || self.options.links == Links::Targets;
        let has_names = entry.kind != FileType::Directory && entry.nlink > 1;
        self.options.count_links || !(every || has_names) || self.seen.insert(entry.id)
    }

    /// Counts a directory with everything below it.
    fn subtree(
        &mut self,
        place: &PrintedStart<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<Amount, Ended> {
        let request = Request {
            columns: columns(),
            cancel: self.cancel,
            ..Request::default()
        };
        let mut frames = Vec::new();
        self.open(
            &mut frames,
            &place.start.path,
            self.entry(&place.start.own_row()),
        );
        let mut failed = None;
        let time = self.time;
        let index = Arc::clone(&self.index);
        index.walk(
            place.start,
            &request,
            |listing, out: &mut Vec<Listed>| {
                let rows = listing.range.clone().map(|at| Row {
                    batch: listing.batch,
                    at,
                    dir: listing.dir.path,
                });
                let entries = rows.map(|row| Entry::new(row.name(), &row.meta(), time));
                out.push((listing.dir.path.to_vec(), entries.collect()));
            },
            |listings| match self.listings(place, &mut frames, listings, visit) {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Some(failure);
                    ControlFlow::Break(())
                }
            },
        )?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        let mut whole = Amount::NOTHING;
        while !frames.is_empty() {
            whole = self.close(place, &mut frames, visit)?;
        }
        Ok(whole)
    }

    fn open(&mut self, frames: &mut Vec<Frame>, path: &[u8], own: Entry) {
        self.active.push(own.id);
        frames.push(Frame {
            path: path.to_vec(),
            own,
            files: Amount::NOTHING,
            below: Amount::NOTHING,
            dirs: BTreeMap::new(),
        });
    }

    /// Counts the entries of several directories.
    fn listings(
        &mut self,
        place: &PrintedStart<'_>,
        frames: &mut Vec<Frame>,
        listings: Vec<Listed>,
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        if self.options.links == Links::Targets {
            let links = listings.iter().flat_map(|(dir, entries)| {
                let links = entries.iter().filter(|one| one.kind == FileType::Symlink);
                links.map(|link| join(dir, &link.name))
            });
            let links: Vec<Vec<u8>> = links.collect();
            let links = links.iter().map(Vec::as_slice);
            self.known.prepare_links(links)?;
        }
        for (dir, entries) in listings {
            self.listing(place, frames, &dir, entries, visit)?;
        }
        Ok(())
    }

    /// Counts entries of a directory; skips them if the directory was left out.
    fn listing(
        &mut self,
        place: &PrintedStart<'_>,
        frames: &mut Vec<Frame>,
        dir: &[u8],
        entries: Vec<Entry>,
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        while frames
            .last()
            .is_some_and(|frame| !is_within(dir, &frame.path))
        {
            self.close(place, frames, visit)?;
        }
        if frames.last().is_none_or(|frame| frame.path != dir) {
            let above = frames
                .last_mut()
                .filter(|frame| split(dir).is_some_and(|(above, _)| above == frame.path));
            let name = split(dir).map_or(&b""[..], |(_, name)| name);
            let Some(own) = above.and_then(|frame| frame.dirs.remove(name)) else {
                return Ok(());
            };
            self.open(frames, dir, own);
        }
        for entry in entries {
            self.one(place, frames, entry, visit)?;
        }
        Ok(())
    }

    /// Counts an entry of the innermost directory.
    fn one(
        &mut self,
        place: &PrintedStart<'_>,
        frames: &mut [Frame],
        entry: Entry,
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        let Some(frame) = frames.last_mut() else {
            return Ok(());
        };
        let path = join(&frame.path, &entry.name);
        let printed = printed_path(place.printed, &place.start.path, &path);
        if self.options.excluded.has(&printed) {
            return Ok(());
        }
        if entry.kind == FileType::Symlink && self.options.links == Links::Targets {
            return self.through(place, frame, &entry, &printed, visit);
        }
        if self.options.one_file_system && entry.id.0 != place.device {
            return Ok(());
        }
        if entry.kind == FileType::Directory && self.active.contains(&entry.id) {
            // A link led to a directory above this one.
            return Ok(());
        }
        if entry.kind == FileType::Directory {
            frame.dirs.insert(entry.name.clone(), entry);
            return Ok(());
        }
        let depth = depth_of(place, &path);
        let amount = self.file(&entry, &printed, depth, visit)?;
        frame.files.add(&amount);
        Ok(())
    }

    /// Counts the target of a link.
    fn through(
        &mut self,
        place: &PrintedStart<'_>,
        frame: &mut Frame,
        link: &Entry,
        printed: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<(), Ended> {
        let path = join(&frame.path, &link.name);
        let depth = depth_of(place, &path);
        let (target, start) = match resolve(&self.known, b"", &path, Follow::Last)? {
            Resolved::To(Located::Found(start), _) => (self.entry(&start.own_row()), Some(start)),
            Resolved::To(Located::Missing { .. }, _) => {
                return self.missing(printed, Missing::NotFound);
            }
            Resolved::To(Located::NotDirectory { .. }, _) => {
                return self.missing(printed, Missing::NotDirectory);
            }
            Resolved::To(Located::NotIndexed { .. } | Located::Hidden { .. }, _) => {
                match self.outside(&path, printed) {
                    Some(target) => (target, None),
                    None => return Ok(()),
                }
            }
            Resolved::To(Located::Denied { .. }, _) => {
                return self.missing(printed, Missing::Denied);
            }
            Resolved::Loop => return self.missing(printed, Missing::Loop),
            Resolved::Unread(error) => return self.missing(printed, Missing::Unread(error)),
            _ => return self.missing(printed, Missing::TargetUnread),
        };
        if self.options.one_file_system && target.id.0 != place.device {
            return Ok(());
        }
        let Some(start) = start.filter(|start| start.is_dir) else {
            let amount = self.file(&target, printed, depth, visit)?;
            frame.files.add(&amount);
            return Ok(());
        };
        // A directory that contains the link is already being counted.
        if !self.active.contains(&target.id) {
            let inner = PrintedStart {
                start: &start,
                printed,
                depth,
                device: place.device,
            };
            let amount = self.subtree(&inner, visit)?;
            frame.below.add(&amount);
        }
        Ok(())
    }

    /// Looks up the target of the link at `path` in the live file system, because it is not in the
    /// index.
    fn outside(&mut self, path: &[u8], printed: &[u8]) -> Option<Entry> {
        let why = match target(path) {
            Ok(live) if !live.is_dir() => {
                return Some(Entry::new(b"", &meta_of(&live), self.time));
            }
            Ok(_) => Missing::TargetNotIndexed,
            Err(error) => Missing::Unread(error),
        };
        let _ = self.missing(printed, why);
        None
    }

    /// Reports that a link's target cannot be looked up.
    fn missing(&mut self, printed: &[u8], why: Missing) -> Result<(), Ended> {
        (self.listener)(Notice::Missing {
            given: printed.to_vec(),
            why,
        });
        self.unreachable += 1;
        Ok(())
    }

    /// Returns the number of links whose target could not be looked up since the last call.
    pub(crate) fn take_unreachable(&mut self) -> u64 {
        std::mem::take(&mut self.unreachable)
    }

    /// Finishes the innermost directory and returns its space.
    fn close(
        &mut self,
        place: &PrintedStart<'_>,
        frames: &mut Vec<Frame>,
        visit: &mut Visit<'_>,
    ) -> Result<Amount, Ended> {
        let Some(mut frame) = frames.pop() else {
            return Ok(Amount::NOTHING);
        };
        // These directories could not be listed.
        for (name, dir) in std::mem::take(&mut frame.dirs) {
            let path = join(&frame.path, &name);
            let printed = printed_path(place.printed, &place.start.path, &path);
            if self.is_new(&dir) {
                Ended::check(visit(&Sum {
                    path: &printed,
                    depth: depth_of(place, &path),
                    is_dir: true,
                    amount: dir.amount,
                }))?;
                frame.below.add(&dir.amount);
            }
        }
        self.active.pop();
        let mut inner = frame.files;
        let mut shown = frame.own.amount;
        shown.add(&frame.files);
        if !self.options.separate {
            shown.add(&frame.below);
        }
        inner.add(&frame.below);
        if self.is_new(&frame.own) {
            inner.add(&frame.own.amount);
            let printed = printed_path(place.printed, &place.start.path, &frame.path);
            Ended::check(visit(&Sum {
                path: &printed,
                depth: depth_of(place, &frame.path),
                is_dir: true,
                amount: shown,
            }))?;
        }
        if let Some(above) = frames.last_mut() {
            above.below.add(&inner);
        }
        Ok(inner)
    }
}

impl Entry {
    fn new(name: &[u8], meta: &Meta, time: TimeKind) -> Entry {
        let is_dir = meta.file_type() == FileType::Directory;
        Entry {
            name: name.to_vec(),
            id: (meta.dev.as_u64(), meta.ino),
            nlink: meta.nlink,
            kind: meta.file_type(),
            amount: Amount {
                usage: Usage {
                    blocks: meta.blocks,
                    size_bytes: meta.size,
                    dir_size_bytes: if is_dir { meta.size } else { 0 },
                    inodes: 1,
                },
                time: time.of(meta).unwrap_or_default(),
            },
        }
    }
}

fn depth_of(place: &PrintedStart<'_>, path: &[u8]) -> usize {
    let top = trawl_model::path::depth(&place.start.path);
    place.depth + trawl_model::path::depth(path).saturating_sub(top)
}

fn link_columns() -> ColumnSet {
    columns().union(ColumnSet::of(&[Column::LinkTarget]))
}

fn columns() -> ColumnSet {
    ColumnSet::of(&[
        Column::Name,
        Column::Ino,
        Column::Dev,
        Column::Mode,
        Column::Nlink,
        Column::Size,
        Column::Blocks,
        Column::Atime,
        Column::AtimeNs,
        Column::Mtime,
        Column::MtimeNs,
        Column::Ctime,
        Column::CtimeNs,
    ])
}
