//! Lets the writer share unchanged segments of the previous snapshot.

use super::{Sharing, Work, Writing};
use crate::carry::{KnownItems, Previous, Returned};
use crate::item_file::{Continues, ItemWriter, SectionHead};
use crate::items::{Content, Extras, Item, ItemKey, Itemizer};
use crate::revision::totals_of_rows;
use crate::segment::{Listing, XattrRow, sort_rows};
use crate::shard::ShardBuffer;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use trawl_format::ListingKind;
use trawl_format::error::Result;
use trawl_format::id::SnapshotId;
use trawl_format::layout;
use trawl_format::manifest::{SegmentInfo, Totals};
use trawl_format::snapshot::ShardList;
use trawl_model::placement::GuardId;
use trawl_model::{DirBatch, Issue};

impl Work {
    /// Begins to share segments with the snapshot of `list`, the current one.
    pub(super) fn share(&mut self, writing: Writing, list: Option<&ShardList>, known: &KnownItems) {
        let previous = match (writing, list) {
            (Writing::Alone, _) => return,
            (Writing::Sharing, Some(list)) => {
                Previous::load(&self.source, list, self.options.started)
            }
            _ => None,
        };
        if let Some(previous) = &previous {
            previous.tell(known);
        }
        self.sharing = Some(Sharing {
            itemizer: Itemizer::new(ItemKey::new(&self.key)),
            file: None,
            items: list.map(|list| list.items.clone()).unwrap_or_default(),
            previous,
        });
    }

    pub(super) fn previous(&self) -> Option<&Previous> {
        self.sharing.as_ref()?.previous.as_ref()
    }

    /// Adds rows of a directory, or an own row.
    pub(super) fn put_rows(
        &mut self,
        guard: GuardId,
        kind: ListingKind,
        mut batch: DirBatch,
        extras: Extras,
    ) -> Result<()> {
        let continues = match batch.fragment {
            0 => Continues::No,
            _ => Continues::Yes,
        };
        if self.sharing.is_some() {
            // Items cover rows in stored order.
            sort_rows(&mut batch);
        }
        self.put(guard, Content::Rows(kind, batch), extras, continues)
    }

    /// Adds attribute values that came with a fragment of a directory.
    pub(super) fn put_values(
        &mut self,
        rows: Vec<(GuardId, XattrRow)>,
        fragment: u32,
    ) -> Result<()> {
        let continues = match fragment {
            0 => Continues::No,
            _ => Continues::Yes,
        };
        let mut by_guard: Vec<(GuardId, Vec<XattrRow>)> = Vec::new();
        for (guard, row) in rows {
            match by_guard.iter_mut().find(|(known, _)| *known == guard) {
                Some((_, group)) => group.push(row),
                None => by_guard.push((guard, vec![row])),
            }
        }
        for (guard, mut group) in by_guard {
            if !group.is_sorted_by(|a, b| a.name <= b.name) {
                group.sort_by(|a, b| a.name.cmp(&b.name));
            }
            self.put(guard, Content::Values(group), Extras::Some, continues)?;
        }
        Ok(())
    }

    pub(super) fn put_issue(&mut self, guard: GuardId, issue: Issue) -> Result<()> {
        self.put(guard, Content::Issue(issue), Extras::Some, Continues::No)
    }

    /// Adds content to a shard, unless a segment of the previous snapshot has it.
    fn put(
        &mut self,
        guard: GuardId,
        content: Content,
        extras: Extras,
        continues: Continues,
    ) -> Result<()> {
        let before = self.shard(guard).previous();
        if let Some(sharing) = &mut self.sharing {
            let item = sharing.item(&content, extras);
            if let (Some(previous), Some(shard)) = (&mut sharing.previous, before)
                && previous.take(shard, &item, || totals_of(&content))
            {
                return Ok(());
            }
            if continues == Continues::Yes {
                // A segment must not contain two fragments of one directory: they could not be told
                // apart.
                self.flush(guard)?;
            }
            self.shard(guard).add_item(item, continues);
        }
        self.add(guard, content);
        Ok(())
    }

    pub(super) fn add(&mut self, guard: GuardId, content: Content) {
        let clock = self.clock;
        let shard = self.shard(guard);
        shard.note_use(clock);
        self.memory_bytes += match content {
            Content::Rows(kind, batch) => shard.add_listing(Listing { kind, batch }),
            Content::Values(rows) => rows.into_iter().map(|row| shard.add_xattr(row)).sum(),
            Content::Issue(issue) => shard.add_issue(issue),
        };
    }

    /// Decides which segments of the previous snapshot stay, and adds the items that came back in
    /// the others.
    pub(super) fn settle(&mut self) -> Result<()> {
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let Some(mut previous) = sharing.previous.take() else {
            return Ok(());
        };
        let by_previous: HashMap<usize, GuardId> = (self.shards.iter())
            .filter_map(|(guard, shard)| Some((shard.previous()?, *guard)))
            .collect();
        let used = self.shards.values().filter(|shard| shard.is_used());
        let written: HashSet<usize> = used.filter_map(ShardBuffer::previous).collect();
        let settlement = previous.settle(&written);
        for (at, totals) in &settlement.totals {
            if let Some(guard) = by_previous.get(at) {
                self.shard(*guard).count(totals);
            }
        }
        self.take_over(&by_previous, settlement.shared)?;
        if !settlement.partial.is_empty() {
            let snapshot = previous.open(&self.source, Arc::clone(&self.top))?;
            previous.read_back(
                snapshot,
                &settlement.partial,
                &mut |returned| match by_previous.get(&returned.shard) {
                    Some(guard) => self.put_back(*guard, returned),
                    None => Ok(()),
                },
            )?;
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.previous = Some(previous);
        }
        Ok(())
    }

    /// Takes over whole segments.
    fn take_over(
        &mut self,
        by_previous: &HashMap<usize, GuardId>,
        shared: Vec<(usize, SegmentInfo)>,
    ) -> Result<()> {
        let mut by_guard: HashMap<GuardId, Vec<SegmentInfo>> = HashMap::new();
        for (at, info) in shared {
            if let Some(guard) = by_previous.get(&at) {
                by_guard.entry(*guard).or_default().push(info);
            }
        }
        for (guard, segments) in by_guard {
            if let Some(shard) = self.shards.get_mut(&guard) {
                // Opens or makes the guard directories, as writing a segment would.
                self.dirs.open(&self.top, &shard.guard().0)?;
                shard.share(segments);
            }
        }
        Ok(())
    }

    /// Adds an unchanged item of a segment that does not stay. Its rows have been counted, so they
    /// are subtracted before they are added again.
    fn put_back(&mut self, guard: GuardId, returned: Returned) -> Result<()> {
        let waits = self.shard(guard).continues();
        if returned.is_first && Continues::Yes == waits.or(returned.continues) {
            self.flush(guard)?;
        }
        let shard = self.shard(guard);
        shard.uncount(&totals_of(&returned.content));
        shard.add_item(returned.item, returned.continues);
        self.add(guard, returned.content);
        self.make_room()
    }

    /// Records the items of a segment that was written.
    pub(super) fn keep_items(&mut self, head: &SectionHead, items: &[Item]) -> Result<()> {
        let Some(sharing) = self.sharing.as_mut().filter(|_| !items.is_empty()) else {
            return Ok(());
        };
        let file = match &mut sharing.file {
            Some(file) => file,
            None => {
                let private = self.source.private()?;
                let file = ItemWriter::create(&private, &layout::items_file(self.id))?;
                sharing.items.push(self.id);
                sharing.file.insert(file)
            }
        };
        file.add(head, items)
    }

    pub(super) fn finish_items(&mut self) -> Result<()> {
        let file = self
            .sharing
            .as_mut()
            .and_then(|sharing| sharing.file.take());
        file.map_or(Ok(()), ItemWriter::finish)
    }

    /// Returns the writers whose items files describe these shards' segments.
    pub(super) fn item_files(&self, used: &[&ShardBuffer]) -> Vec<SnapshotId> {
        let Some(sharing) = &self.sharing else {
            return Vec::new();
        };
        let segments = used.iter().flat_map(|shard| shard.segments());
        let writers: BTreeSet<SnapshotId> = segments.map(|s| s.id.snapshot).collect();
        let has_items = |id: &SnapshotId| sharing.items.contains(id);
        writers.into_iter().filter(has_items).collect()
    }
}

impl Sharing {
    fn item(&mut self, content: &Content, extras: Extras) -> Item {
        match content {
            Content::Rows(kind, batch) => self.itemizer.listing(*kind, batch, extras),
            Content::Values(rows) => self.itemizer.values(rows),
            Content::Issue(issue) => self.itemizer.issue(issue),
        }
    }
}

/// Returns the share of the content in the sums over its shard.
fn totals_of(content: &Content) -> Totals {
    match content {
        Content::Rows(kind, batch) => totals_of_rows(*kind, batch),
        Content::Values(rows) => Totals {
            xattrs: rows.len() as u64,
            ..Totals::default()
        },
        Content::Issue(_) => Totals {
            issues: 1,
            ..Totals::default()
        },
    }
}

impl Continues {
    fn or(self, other: Continues) -> Continues {
        match self {
            Continues::Yes => Continues::Yes,
            Continues::No => other,
        }
    }
}
