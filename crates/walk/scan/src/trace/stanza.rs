//! The second pass over one directory: makes batches of its entries.

use trawl_model::{Acl, DirAccess, DirBatch, Entry, Errno, FileType, Issue, Meta, Op, Span, Xattr};

use super::line::{self, BadLine, Line};
use crate::progress::Progress;

/// Maximum number of entries in one batch.
const FRAGMENT_ENTRIES: usize = 65_536;

/// Name of the access ACL's attribute; traces rarely contain it.
const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";

/// Collects the entries of one directory.
#[derive(Debug)]
pub(crate) struct Collector {
    /// Data about the directory itself, copied into every fragment.
    model: DirBatch,
    batch: DirBatch,
    /// The directory's path as it appears in its entries' paths; ends with a slash unless empty.
    prefix: Vec<u8>,
    damage: Option<Damage>,
    sort_keys: Vec<(u64, u32)>,
    counts: Progress,
}

/// A run of consecutive lines that cannot be used.
#[derive(Clone, Copy, Debug)]
struct Damage {
    line: u64,
    offset: u64,
    lines: u64,
    reason: Reason,
}

#[derive(Clone, Copy, Debug)]
enum Reason {
    Bad(BadLine),
    Outside,
}

/// Position of a line in the file: after `before`, which starts at `line` and `offset`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position<'a> {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) before: &'a [u8],
}

impl Position<'_> {
    /// Returns the line's number, which is counted only on demand.
    fn line(&self) -> u64 {
        self.line + line::newlines(self.before)
    }

    fn offset(&self) -> u64 {
        self.offset + self.before.len() as u64
    }
}

/// Adds the attributes of the next entry to a batch; ACLs go to fields of their own.
pub(crate) fn add_xattrs(batch: &mut DirBatch, entry: &mut Entry, pairs: &[(&[u8], &[u8])]) {
    let mut names = Vec::new();
    for (name, _) in pairs {
        names.extend_from_slice(name);
        names.push(0);
    }
    entry.xattr_names = batch.push_bytes(&names);
    let mut start = entry.xattr_names.start;
    // A fragment has at most 65,536 entries, a name at most 65,535 bytes.
    let index = batch.entries.len() as u32;
    for (name, value) in pairs {
        let name_span = Span {
            start,
            len: name.len() as u32,
        };
        start += name_span.len + 1;
        let value = batch.push_bytes(value);
        match *name {
            ACL_ACCESS => entry.acl = value,
            ACL_DEFAULT => entry.acl_default = value,
            _ => batch.xattrs.push(Xattr {
                entry: index,
                name: name_span,
                value,
            }),
        }
    }
}

/// Returns a recorded directory's permissions, from its mode and attributes.
pub(crate) fn access(meta: &Meta, xattrs: &[u8]) -> DirAccess {
    let pairs = line::xattrs(xattrs).unwrap_or_default();
    let acl = pairs
        .iter()
        .find(|(name, _)| *name == ACL_ACCESS)
        .and_then(|(_, value)| Acl::parse(value));
    DirAccess {
        mode: meta.mode,
        uid: meta.uid,
        gid: meta.gid,
        acl,
    }
}

/// Makes an issue of a trace.
pub(crate) fn parse_issue(path: Vec<u8>, detail: String) -> Issue {
    Issue {
        path,
        op: Op::Parse,
        errno: Errno(0),
        detail,
    }
}

impl Collector {
    /// Makes a collector for the directory that `model` describes (everything but entries).
    pub(crate) fn new(model: DirBatch, trace_path: &[u8]) -> Self {
        let mut prefix = trace_path.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        Collector {
            batch: DirBatch::default(),
            model,
            prefix,
            damage: None,
            sort_keys: Vec::new(),
            counts: Progress {
                directories: 1,
                ..Progress::default()
            },
        }
    }

    /// Returns the counts since the last call.
    pub(crate) fn take_counts(&mut self) -> Progress {
        std::mem::take(&mut self.counts)
    }

    /// Returns true if nothing has been collected since the last batch.
    pub(crate) fn is_empty(&self) -> bool {
        self.batch.entries.is_empty() && self.batch.issues.is_empty() && self.damage.is_none()
    }

    /// Returns true if the next entry needs a new fragment.
    pub(crate) fn is_full(&self) -> bool {
        self.batch.entries.len() >= FRAGMENT_ENTRIES
    }

    /// Reserves memory for the entries of a stanza of this size.
    pub(crate) fn reserve(&mut self, stanza_bytes: u64) {
        // A line has about 100 bytes of numbers, and a path.
        let entries =
            usize::try_from(stanza_bytes).unwrap_or(usize::MAX) / (120 + self.prefix.len());
        self.batch
            .entries
            .reserve((entries + 1).min(FRAGMENT_ENTRIES));
        self.batch.heap.reserve(16 * entries.min(FRAGMENT_ENTRIES));
    }

    /// Adds an issue of the directory or of one below it.
    pub(crate) fn issue(&mut self, path: Vec<u8>, detail: String) {
        self.batch.issues.push(parse_issue(path, detail));
    }

    /// Adds the row of a subdirectory.
    pub(crate) fn add_directory(&mut self, name: &[u8], meta: Meta, xattrs: &[u8], line: u64) {
        let entry = Entry {
            meta,
            name: self.batch.push_bytes(name),
            ..Entry::default()
        };
        self.push(entry, xattrs, || line);
    }

    /// Adds the entry of one line of the directory's stanza.
    pub(crate) fn add_line(&mut self, line: &Line<'_>, position: Position<'_>) {
        if line.kind == b'e' {
            return;
        }
        match self.read_line(line) {
            Ok((name, meta)) => {
                self.end_damage();
                self.add_entry(line, name, meta, position);
            }
            Err(reason) => self.note_damage(reason, position),
        }
    }

    fn add_entry(&mut self, line: &Line<'_>, name: &[u8], meta: Meta, position: Position<'_>) {
        let mut entry = Entry {
            meta,
            name: self.batch.push_bytes(name),
            ..Entry::default()
        };
        if meta.file_type() == FileType::Symlink {
            entry.link_target = self.batch.push_bytes(line.link);
        }
        if meta.file_type() == FileType::Regular {
            self.counts.bytes = self.counts.bytes.saturating_add(meta.size);
        }
        self.push(entry, line.xattrs, || position.line());
    }

    /// Returns the name and attributes of a line that belongs to this directory.
    fn read_line<'a>(&self, line: &'a Line<'_>) -> Result<(&'a [u8], Meta), Reason> {
        let Some(name) = line.name_within(&self.prefix) else {
            return Err(line
                .clean_path()
                .map_or_else(Reason::Bad, |_| Reason::Outside));
        };
        let meta = line.meta().map_err(Reason::Bad)?;
        if meta.file_type() == FileType::Directory {
            return Err(Reason::Bad(BadLine::Type));
        }
        if meta.file_type() == FileType::Symlink && memchr::memchr(0, line.link).is_some() {
            return Err(Reason::Bad(BadLine::Path));
        }
        Ok((name, meta))
    }

    fn push(&mut self, mut entry: Entry, xattrs: &[u8], line: impl Fn() -> u64) {
        // A count of zero is by far the most common case.
        if xattrs != b"0000" {
            match line::xattrs(xattrs) {
                Some(pairs) => add_xattrs(&mut self.batch, &mut entry, &pairs),
                None => {
                    let path =
                        trawl_model::path::join(&self.model.path, self.batch.bytes(entry.name));
                    self.issue(
                        path,
                        format!("line {}: its extended attributes are damaged", line()),
                    );
                }
            }
        }
        self.batch.entries.push(entry);
    }

    /// Records a line that cannot be split.
    pub(crate) fn add_bad_line(&mut self, bad: BadLine, position: Position<'_>) {
        self.note_damage(Reason::Bad(bad), position);
    }

    fn note_damage(&mut self, reason: Reason, position: Position<'_>) {
        let first = || Damage {
            line: position.line(),
            offset: position.offset(),
            lines: 0,
            reason,
        };
        self.damage.get_or_insert_with(first).lines += 1;
    }

    /// Converts a run of damaged lines into one issue.
    fn end_damage(&mut self) {
        let Some(Damage {
            line,
            offset,
            lines,
            reason,
        }) = self.damage.take()
        else {
            return;
        };
        let what = match reason {
            Reason::Bad(bad) => bad.describe(),
            Reason::Outside => "it does not belong to the directory of its stanza".into(),
        };
        let detail = match lines {
            1 => format!("line {line} (byte {offset}): {what}"),
            _ => format!(
                "{lines} lines from line {line} (byte {offset}) on cannot be used; the first: {what}"
            ),
        };
        self.issue(self.model.path.clone(), detail);
    }

    /// Returns the batch collected so far, sorted by name.
    pub(crate) fn take_batch(&mut self) -> DirBatch {
        self.end_damage();
        self.sort();
        let mut batch = std::mem::take(&mut self.batch);
        batch.dir = self.model.dir;
        batch.parent = self.model.parent;
        batch.path.clone_from(&self.model.path);
        batch.access.clone_from(&self.model.access);
        batch.own = self.model.own;
        batch.fragment = self.model.fragment;
        self.model.fragment += 1;
        self.counts.entries += batch.entries.len() as u64;
        self.counts.issues += batch.issues.len() as u64;
        batch
    }

    fn sort(&mut self) {
        let (entries, heap) = (&self.batch.entries, &self.batch.heap);
        let name = |entry: &Entry| {
            let start = entry.name.start as usize;
            heap.get(start..start + entry.name.len as usize)
                .unwrap_or_default()
        };
        if entries.is_sorted_by(|a, b| name(a) <= name(b)) {
            return;
        }
        let keys = &mut self.sort_keys;
        keys.clear();
        keys.extend(
            entries
                .iter()
                .zip(0u32..)
                .map(|(entry, i)| (prefix(name(entry)), i)),
        );
        let full = |i: u32| entries.get(i as usize).map_or(&[][..], name);
        keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| full(a.1).cmp(full(b.1))));
        let sorted = keys
            .iter()
            .filter_map(|(_, i)| entries.get(*i as usize).copied())
            .collect();
        if !self.batch.xattrs.is_empty() {
            let mut places = vec![0u32; entries.len()];
            for ((_, old), new) in keys.iter().zip(0u32..) {
                if let Some(place) = places.get_mut(*old as usize) {
                    *place = new;
                }
            }
            for xattr in &mut self.batch.xattrs {
                xattr.entry = places
                    .get(xattr.entry as usize)
                    .copied()
                    .unwrap_or(xattr.entry);
            }
            self.batch.xattrs.sort_by_key(|xattr| xattr.entry);
        }
        self.batch.entries = sorted;
    }
}

fn prefix(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = name.len().min(8);
    first[..len].copy_from_slice(&name[..len]);
    u64::from_be_bytes(first)
}
