//! Differences counted by directory, owner or extension.
//!
//! The old state of an entry counts in its old group, the new state in its new group: a file that
//! changed its owner is taken from one owner and given to the other. Every name of a file counts.

use std::collections::HashMap;

use trawl_diff::{Difference, Kind};
use trawl_model::rows::OwnedRow;
use trawl_model::{FileType, Uid, path};
use trawl_text::json::Object;
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;

use crate::csv::Line;
use crate::diff::lines::Writing;
use crate::failure::Failure;
use crate::index::progress::grouped;
use crate::output::{Device, Output};
use crate::scope::printed_path;
use crate::table::{Align, signed_size, table};

/// Grouping of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum Grouping {
    /// The directory of the entry, cut at --depth levels
    Dir,
    /// The owner
    Owner,
    /// The part of a regular file's name after the last dot
    Ext,
}

impl Grouping {
    fn name(self) -> &'static str {
        match self {
            Grouping::Dir => "dir",
            Grouping::Owner => "owner",
            Grouping::Ext => "ext",
        }
    }
}

/// Sums of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    created: u64,
    deleted: u64,
    changed: u64,
    moved: u64,
    size_delta: i128,
    disk_delta: i128,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.created += other.created;
        self.deleted += other.deleted;
        self.changed += other.changed;
        self.moved += other.moved;
        self.size_delta += other.size_delta;
        self.disk_delta += other.disk_delta;
    }

    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Created => self.created += 1,
            Kind::Deleted => self.deleted += 1,
            Kind::Changed => self.changed += 1,
            Kind::Moved => self.moved += 1,
        }
    }

    fn put(&mut self, state: &OwnedRow, sign: i128) {
        self.size_delta += sign * i128::from(state.meta.size);
        self.disk_delta += sign * i128::from(state.meta.blocks) * 512;
    }
}

/// Counter of differences.
pub(super) struct Summary<'a> {
    grouping: Grouping,
    depth: usize,
    given: &'a [u8],
    top: &'a [u8],
    groups: HashMap<Vec<u8>, Sums>,
    owners: Owners,
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        grouping: Grouping,
        depth: usize,
        given: &'a [u8],
        top: &'a [u8],
    ) -> Summary<'a> {
        Summary {
            grouping,
            depth,
            given,
            top,
            groups: HashMap::new(),
            owners: Owners::default(),
        }
    }

    pub(super) fn add(&mut self, difference: &Difference) {
        let from = difference.from.as_ref().unwrap_or(&difference.path);
        let before = difference.before.as_ref().map(|state| (state, from, -1));
        let after = difference
            .after
            .as_ref()
            .map(|state| (state, &difference.path, 1));
        let is_counted_at = after
            .or(before)
            .map(|(state, path, _)| self.key(path, state));
        for (state, path, sign) in [before, after].into_iter().flatten() {
            let key = self.key(path, state);
            self.groups.entry(key).or_default().put(state, sign);
        }
        if let Some(key) = is_counted_at {
            self.groups.entry(key).or_default().count(difference.kind);
        }
    }

    fn key(&self, path: &[u8], state: &OwnedRow) -> Vec<u8> {
        match self.grouping {
            Grouping::Owner => state.meta.uid.0.to_string().into_bytes(),
            Grouping::Dir => directory(path, self.top, self.depth).to_vec(),
            Grouping::Ext if state.meta.file_type() == FileType::Regular => {
                let (_, name) = path::split(path).unwrap_or_default();
                trawl_query::extension(name).to_vec()
            }
            Grouping::Ext => Vec::new(),
        }
    }

    /// Returns a key as people read it.
    fn label(&self, key: &[u8]) -> Vec<u8> {
        match self.grouping {
            Grouping::Dir => printed_path(self.given, self.top, key),
            Grouping::Ext if key.is_empty() => b"(none)".to_vec(),
            Grouping::Ext => [b".", key].concat(),
            Grouping::Owner => {
                let id = std::str::from_utf8(key).ok().and_then(|id| id.parse().ok());
                let name = id.and_then(|id| self.owners.user(Uid(id)));
                name.map_or_else(|| key.to_vec(), |name| name.to_vec())
            }
        }
    }

    /// Writes all groups, the one with the largest change first.
    pub(super) fn put(self, writing: Writing, output: &mut Output) -> Result<(), Failure> {
        let mut rows: Vec<(Vec<u8>, Vec<u8>, Sums)> = self
            .groups
            .iter()
            .map(|(key, sums)| (self.label(key), key.clone(), *sums))
            .collect();
        rows.sort_by(|(a_label, _, a), (b_label, _, b)| {
            let size = |sums: &Sums| std::cmp::Reverse(sums.size_delta.unsigned_abs());
            size(a).cmp(&size(b)).then_with(|| a_label.cmp(b_label))
        });
        match writing {
            Writing::Json => rows.iter().try_for_each(|row| output.put(self.json(row))),
            Writing::Csv => {
                output.put(
                    "by,key,key_raw,label,created,deleted,changed,moved,size_delta,disk_delta\n",
                )?;
                rows.iter().try_for_each(|row| output.put(self.csv(row)))
            }
            Writing::Text | Writing::Names | Writing::Null => output.put(self.text(&rows)),
        }
    }

    fn json(&self, (label, key, sums): &(Vec<u8>, Vec<u8>, Sums)) -> String {
        let object = Object::new()
            .text("by", self.grouping.name())
            .bytes("key", key)
            .bytes("label", label)
            .number("created", sums.created)
            .number("deleted", sums.deleted)
            .number("changed", sums.changed)
            .number("moved", sums.moved)
            .number("size_delta", clamp(sums.size_delta))
            .number("disk_delta", clamp(sums.disk_delta));
        object.close() + "\n"
    }

    fn csv(&self, (label, key, sums): &(Vec<u8>, Vec<u8>, Sums)) -> Vec<u8> {
        let line = Line::new()
            .field(self.grouping.name())
            .path(key)
            .field(label);
        let counts = [sums.created, sums.deleted, sums.changed, sums.moved];
        let line = counts.into_iter().fold(line, Line::value);
        line.value(sums.size_delta).value(sums.disk_delta).close()
    }

    fn text(&self, rows: &[(Vec<u8>, Vec<u8>, Sums)]) -> Vec<u8> {
        let terminal = match Device::of_stdout() {
            Device::Terminal => Terminal::Watched(Locale::from_env()),
            Device::Other => Terminal::Absent,
        };
        let cells = |label: &[u8], sums: &Sums| {
            let number = |count: u64| grouped(count).into_bytes();
            vec![
                terminal.show(label).into_owned(),
                number(sums.created),
                number(sums.deleted),
                number(sums.changed),
                number(sums.moved),
                signed_size(sums.size_delta).into_bytes(),
                signed_size(sums.disk_delta).into_bytes(),
            ]
        };
        let mut whole = Sums::default();
        let heads = ["created", "deleted", "changed", "moved", "content", "disk"];
        let heads = std::iter::once(self.grouping.name()).chain(heads);
        let mut lines = vec![heads.map(|head| head.as_bytes().to_vec()).collect()];
        for (label, _, sums) in rows {
            whole.add(sums);
            lines.push(cells(label, sums));
        }
        lines.push(cells(b"total", &whole));
        table(&lines, Align::FirstLeft)
    }
}

fn clamp(number: i128) -> i64 {
    number.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Returns the directory that holds `entry`, or its ancestor that is `depth` levels below `top`.
fn directory<'p>(entry: &'p [u8], top: &[u8], depth: usize) -> &'p [u8] {
    let dir = path::split(entry).map_or(&b""[..], |(dir, _)| dir);
    if !path::is_within(dir, top) {
        return entry;
    }
    let rest = dir.get(top.len()..).unwrap_or_default();
    let slashes = rest.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    match slashes.map(|(at, _)| at).nth(depth) {
        Some(end) => &dir[..top.len() + end],
        None => dir,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_apart_to_a_depth() {
        for (entry, depth, expected) in [
            ("/t/a/b/c/f", 1, "/t/a"),
            ("/t/a/b/c/f", 2, "/t/a/b"),
            ("/t/a/b/c/f", 9, "/t/a/b/c"),
            ("/t/f", 1, "/t"),
            ("/t/a", 1, "/t"),
            ("/t/a/f", 0, "/t"),
            ("/t", 1, "/t"),
        ] {
            let found = directory(entry.as_bytes(), b"/t", depth);
            assert_eq!(found, expected.as_bytes(), "{entry} {depth}");
        }
    }
}
