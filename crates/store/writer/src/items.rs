//! Computes keyed hashes of the parts that segments are made of: one for each listing, each group
//! of attribute values and each issue given to the writer.
//!
//! Two items of one source with the same hash have equal content: every column of every row counts,
//! except the access time of a symbolic link. The key is random and kept in the list of shards,
//! which only the index's owner may read, so that nobody can make one item look like another. The
//! key also depends on the composition of segments, so that a segment of an older program is never
//! mistaken for one that this program would write.
//!
//! The hash does not cover the guard: that is checked with the segment that contains the item.

use crate::segment::XattrRow;
use trawl_format::ListingKind;
use trawl_format::digest::DigestKey;
use trawl_format::schema::{SEGMENT_REVISION, Table};
use trawl_model::{DirBatch, Entry, FileType, Issue, Meta, Timestamp};

/// The hash of an item. Its last bit says whether it is a plain listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Item(pub(crate) [u8; Item::BYTES]);

/// Whether the entries of a listing have anything beyond the attributes of statx(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extras {
    /// No attribute, no ACL, and no read error.
    None,
    /// Some, or unknown.
    Some,
}

/// Content that an item stands for.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "no value outlives a call")]
pub(crate) enum Content {
    /// Rows of a directory, or an own row.
    Rows(ListingKind, DirBatch),
    /// Attribute values of entries of one directory.
    Values(Vec<XattrRow>),
    /// A path that could not be read.
    Issue(Issue),
}

/// The key for hashing items.
#[derive(Clone, Debug)]
pub(crate) struct ItemKey([u8; 32]);

/// Hashes items with a reusable buffer.
#[derive(Debug)]
pub(crate) struct Itemizer {
    key: ItemKey,
    bytes: Vec<u8>,
}

/// First byte of the hashed data, so that items of different kinds never have equal data.
const LISTING: u8 = 0;
const OWN_ROW: u8 = 1;
const VALUES: u8 = 2;
const ISSUE: u8 = 3;
const DIRECTORY: u8 = 4;
const ROW: u8 = 5;

impl Item {
    pub(crate) const BYTES: usize = 16;

    fn of_hash(hash: blake3::Hash, extras: Extras) -> Item {
        let mut bytes = [0; Item::BYTES];
        bytes.copy_from_slice(&hash.as_bytes()[..Item::BYTES]);
        let last = &mut bytes[Item::BYTES - 1];
        *last = (*last & !1) | u8::from(extras == Extras::None);
        Item(bytes)
    }

    /// Returns the item's position in a sorted list of many, as a fraction of 2^64.
    pub(crate) fn position(&self) -> u64 {
        u64::from_be_bytes(self.0.first_chunk().copied().unwrap_or_default())
    }
}

impl ItemKey {
    pub(crate) fn new(key: &DigestKey) -> ItemKey {
        let mut hasher = blake3::Hasher::new_keyed(&key.bytes());
        hasher.update(b"items of segments");
        hasher.update(&SEGMENT_REVISION.to_le_bytes());
        for table in Table::ALL {
            for field in table.fields() {
                hasher.update(table.name().as_bytes()).update(b".");
                hasher.update(field.name.as_bytes()).update(b"\0");
            }
        }
        ItemKey(*hasher.finalize().as_bytes())
    }
}

impl Itemizer {
    pub(crate) fn new(key: ItemKey) -> Itemizer {
        Itemizer {
            key,
            bytes: Vec::new(),
        }
    }

    /// Hashes rows of a directory, in stored order.
    pub(crate) fn listing(&mut self, kind: ListingKind, batch: &DirBatch, extras: Extras) -> Item {
        let out = &mut self.bytes;
        out.clear();
        out.push(match kind {
            ListingKind::Listed => LISTING,
            ListingKind::Root | ListingKind::Barrier => OWN_ROW,
        });
        push_bytes(out, &batch.path);
        push_own(out, &batch.own);
        for entry in &batch.entries {
            push_entry(out, batch, entry);
        }
        self.hash(extras)
    }

    /// Returns both possible items of rows that were read from a segment, since stored rows do not
    /// tell whether their entries had extras.
    pub(crate) fn stored_listing(&mut self, kind: ListingKind, batch: &DirBatch) -> [Item; 2] {
        let some = self.listing(kind, batch, Extras::Some);
        let Item(mut bytes) = some;
        bytes[Item::BYTES - 1] ^= 1;
        [Item(bytes), some]
    }

    /// Hashes attribute values of entries of one directory behind one guard, in stored order.
    pub(crate) fn values(&mut self, rows: &[XattrRow]) -> Item {
        let out = &mut self.bytes;
        out.clear();
        out.push(VALUES);
        push_bytes(out, rows.first().map_or(&[], |row| &row.dir));
        for row in rows {
            push_bytes(out, &row.name);
            push_bytes(out, &row.attr);
            push_bytes(out, &row.value);
        }
        self.hash(Extras::Some)
    }

    pub(crate) fn issue(&mut self, issue: &Issue) -> Item {
        let out = &mut self.bytes;
        out.clear();
        out.extend_from_slice(&[ISSUE, issue.op as u8]);
        out.extend_from_slice(&issue.errno.0.to_le_bytes());
        push_bytes(out, &issue.path);
        push_bytes(out, issue.detail.as_bytes());
        self.hash(Extras::Some)
    }

    /// Hashes a directory with its own attributes.
    pub(crate) fn directory(&mut self, path: &[u8], own: &Meta) -> Item {
        let out = &mut self.bytes;
        out.clear();
        out.push(DIRECTORY);
        push_bytes(out, path);
        push_own(out, own);
        self.hash(Extras::Some)
    }

    /// Hashes one row of a listing.
    pub(crate) fn row(&mut self, batch: &DirBatch, entry: &Entry) -> Item {
        let out = &mut self.bytes;
        out.clear();
        out.push(ROW);
        push_bytes(out, &batch.path);
        push_entry(out, batch, entry);
        self.hash(Extras::Some)
    }

    fn hash(&mut self, extras: Extras) -> Item {
        /// A buffer larger than this is not kept for the next item.
        const KEPT_BYTES: usize = 1 << 20;
        let hash = blake3::keyed_hash(&self.key.0, &self.bytes);
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        Item::of_hash(hash, extras)
    }
}

impl Extras {
    /// Returns the extras of a batch as the source delivered it.
    pub(crate) fn of(batch: &DirBatch) -> Extras {
        let is_plain = |entry: &Entry| {
            entry.xattr_names.is_empty() && entry.acl.is_empty() && entry.acl_default.is_empty()
        };
        match batch.xattrs.is_empty()
            && batch.issues.is_empty()
            && batch.entries.iter().all(is_plain)
        {
            true => Extras::None,
            false => Extras::Some,
        }
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_words(out, [bytes.len() as u64]);
    out.extend_from_slice(bytes);
}

fn push_words<const N: usize>(out: &mut Vec<u8>, words: [u64; N]) {
    out.reserve(8 * N);
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Appends those of a directory's own attributes that the dirs table stores.
fn push_own(out: &mut Vec<u8>, own: &Meta) {
    let born = known_birth(own);
    let birth = born.unwrap_or_default();
    let words = [
        own.ino,
        own.dev.as_u64(),
        pair(own.mode, own.nlink),
        pair(own.uid.0, own.gid.0),
        own.size,
        own.blocks,
        own.atime.secs as u64,
        own.mtime.secs as u64,
        own.ctime.secs as u64,
        birth.secs as u64,
        pair(own.atime.nanos, own.mtime.nanos),
        pair(own.ctime.nanos, birth.nanos),
        u64::from(born.is_some()),
    ];
    push_words(out, words);
}

/// Returns the time of creation, except for the value that readers interpret as unknown.
fn known_birth(meta: &Meta) -> Option<Timestamp> {
    let no_birth = trawl_model::rows::NO_BTIME;
    meta.btime.filter(|time| time.secs != no_birth)
}

/// Returns the access time, except for a symbolic link: reading its target, as each scan does, sets
/// the access time, and this cannot be avoided.
fn known_access(meta: &Meta) -> Timestamp {
    match meta.file_type() {
        FileType::Symlink => Timestamp::default(),
        _ => meta.atime,
    }
}

fn push_entry(out: &mut Vec<u8>, batch: &DirBatch, entry: &Entry) {
    let mut known = *entry;
    known.meta.btime = known_birth(&entry.meta);
    known.meta.atime = known_access(&entry.meta);
    push_words(out, known.words());
    for span in entry.spans().iter().filter(|span| !span.is_empty()) {
        out.extend_from_slice(batch.bytes(*span));
    }
}
