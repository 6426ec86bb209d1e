//! Checks that bundles hold the same data as the small segments that they were made from.
//!
//! Rows are compared as sums of hashes, since the bundle has them in another order. Directories are
//! compared as sets, since the bundle combines a directory's rows from several small segments.
//! Memory is bounded by the directories of one segment of a bundle at a time.

use crate::bundle::Bundle;
use crate::items::{ItemKey, Itemizer};
use crate::read_back;
use crate::revision::Stored;
use crate::segment::XattrRow;
use crate::verify::{Finding, Problem};
use std::collections::HashSet;
use std::path::PathBuf;
use trawl_format::digest::DigestKey;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{SegmentId, SnapshotId};
use trawl_format::layout;
use trawl_format::schema::Table;
use trawl_format::snapshot::Snapshot;
use trawl_format::source::Source;
use trawl_format::store::Dir;

/// Problem reported for a bundle that differs.
const DIFFERS: &str = "its rows differ from those of the segments that it was made from; remove it: readers then use these";

/// Content of segments, regardless of order.
#[derive(Debug, Default, PartialEq, Eq)]
struct SegmentContents {
    rows: u64,
    values: u64,
    issues: u64,
    /// Sum of the hashes of all of these.
    sum: u128,
    dirs: HashSet<u128>,
}

/// A segment of a bundle, and the segments that it was made from as pairs of shard number and id.
type Made = (SegmentId, Vec<(usize, SegmentId)>);

/// Compares the bundles of all snapshots of a source with the segments that they were made from.
/// Does not report unreadable files, which [`crate::verify::verify`] does.
///
/// # Errors
/// If snapshots cannot be listed or opened.
pub fn check_bundles(source: &Source) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut known: HashSet<Vec<String>> = HashSet::new();
    for info in source.snapshots()? {
        let snapshot = match source.snapshot(info.id) {
            Ok(snapshot) => snapshot,
            Err(IndexError::NoSnapshot { .. }) => continue,
            Err(error) => return Err(error),
        };
        let Some(bundle) = snapshot.bundle().cloned() else {
            continue;
        };
        let of_shards = snapshot.clone().without_bundle();
        let of_bundle = snapshot.bundle_alone();
        for (id, members) in made(&snapshot) {
            // Snapshots share segments.
            if !known.insert(names(&snapshot, id, &members)) {
                continue;
            }
            let here = held(&of_bundle, &[(0, id)]);
            let there = held(&of_shards, &members);
            if matches!((here, there), (Ok(here), Ok(there)) if here != there) {
                findings.push(Finding {
                    path: bundle.file_path(id, Table::Entries),
                    problem: Problem::Damaged(DIFFERS.to_owned()),
                });
            }
        }
    }
    Ok(findings)
}

/// Returns files of bundles that no pack names, for snapshots up to the current one.
pub(crate) fn unnamed(private: &Dir, current: Option<SnapshotId>) -> Result<Vec<PathBuf>> {
    let named = Bundle::all_named(private)?;
    let is_left = |id: SegmentId| Some(id.snapshot) <= current && !named.contains(&id);
    let mut names = private.list()?;
    names.retain(|name| layout::segment_of(name).is_some_and(is_left));
    Ok(names.iter().map(|name| private.join(name)).collect())
}

/// Returns the segments of a snapshot's bundle, each with the segments that it was made from.
fn made(snapshot: &Snapshot) -> Vec<Made> {
    let segments = snapshot.bundle().map(|bundle| &bundle.manifest.segments);
    let segments = segments.into_iter().flatten();
    let mut made: Vec<Made> = segments.map(|s| (s.id, Vec::new())).collect();
    for (at, shard) in snapshot.shards.iter().enumerate() {
        for (segment, info) in shard.manifest.segments.iter().enumerate() {
            let number = shard.manifest.bundled(segment).unwrap_or(0) as usize;
            if let Some((_, members)) = made.get_mut(number.wrapping_sub(1)) {
                members.push((at, info.id));
            }
        }
    }
    made
}

/// Names a segment and its members by directory names, since shard numbers differ between
/// snapshots.
fn names(snapshot: &Snapshot, id: SegmentId, members: &[(usize, SegmentId)]) -> Vec<String> {
    let name = |(at, id): &(usize, SegmentId)| {
        let dir = snapshot.shards.get(*at).map(|shard| shard.components());
        format!("{}/{id}", dir.unwrap_or_default().join("/"))
    };
    let mut names: Vec<String> = members.iter().map(name).collect();
    names.sort_unstable();
    names.push(id.to_string());
    names
}

fn held(snapshot: &Snapshot, wanted: &[(usize, SegmentId)]) -> Result<SegmentContents> {
    let mut held = SegmentContents::default();
    let mut itemizer = Itemizer::new(ItemKey::new(&DigestKey::default()));
    read_back::read(snapshot.clone(), wanted, &mut |at, what| {
        let shard = wanted
            .get(at)
            .and_then(|(shard, _)| snapshot.shards.get(*shard));
        let copied = shard.and_then(|shard| Bundle::copied(&shard.manifest.guard));
        if !Bundle::is_copy(&what, copied) {
            held.add(what, &mut itemizer);
        }
        Ok(())
    })?;
    Ok(held)
}

impl SegmentContents {
    fn add(&mut self, what: Stored, itemizer: &mut Itemizer) {
        let number = |item: crate::items::Item| u128::from_le_bytes(item.0);
        match what {
            Stored::Rows(_, batch) => {
                self.dirs
                    .insert(number(itemizer.directory(&batch.path, &batch.own)));
                for entry in &batch.entries {
                    self.rows += 1;
                    let row = number(itemizer.row(&batch, entry));
                    self.sum = self.sum.wrapping_add(row);
                }
            }
            Stored::Value {
                dir,
                name,
                attr,
                value,
            } => {
                self.values += 1;
                let row = XattrRow {
                    dir,
                    name,
                    attr,
                    value,
                };
                let row = number(itemizer.values(&[row]));
                self.sum = self.sum.wrapping_add(row);
            }
            Stored::Issue(issue) => {
                self.issues += 1;
                self.sum = self.sum.wrapping_add(number(itemizer.issue(&issue)));
            }
        }
    }
}
