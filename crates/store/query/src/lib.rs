//! Answers queries from an index: entries, directories and sums.
//!
//! Invariants:
//!
//! - bytes read from an index are untrusted: invalid contents give an error
//!   that names the file, never a panic, and no length is used before it is
//!   checked;
//! - memory is bounded by the work in flight (some morsels of rows for each
//!   thread, some rows of each segment's dirs table) and by the pages that a view
//!   keeps for lookups, not by the size of the scope;
//! - answers have the same order whatever the shards and segments: directories
//!   depth first by name bytes, rows of a directory by name bytes.
//!
//! Read first: [`Index::locate`] returns a [`Start`]; [`Index::walk`] visits
//! the rows below it. `segment` reads files, `locate` finds single rows,
//! `lookup` finds many rows by their paths, `sweep` reads columns in no
//! particular order, `ranking` finds the first rows by size or time, `merge`
//! orders directories across segments, `plan` divides them into morsels,
//! `decode` reads a morsel's rows.
//!
//! The kernel decides what can be read: files that the process may not open do
//! not exist for this crate. The asking user's credentials serve only to
//! explain why something cannot be seen, and therefore what is missing from an
//! answer.
//!
//! Knows nothing of the find language or of output.
#![forbid(unsafe_code)]
#![allow(
    clippy::single_range_in_vec_init,
    reason = "rows are read as lists of ranges, often of a single one"
)]

mod as_of;
mod asker;
mod blocks;
mod closed_since;
mod decode;
mod denied;
mod directories;
mod duplicates;
mod entries_at;
mod error;
mod hidden;
mod holders;
mod index;
mod indices;
mod issues;
mod links;
mod listings;
mod locate;
mod lookup;
mod merge;
mod objects;
mod open_sidecars;
mod permission;
mod places;
mod plan;
mod promise;
mod ranking;
mod search;
mod segment;
mod selection;
mod sidecar;
mod stats;
pub mod stored;
mod superseded;
mod sweep;
mod together;
mod totals;
mod usage;
mod view;
mod walk;
mod xattrs;

pub use as_of::AsOf;
pub use asker::{Asker, asker};
pub use blocks::{Block, BlockListing, Blocks};
pub use denied::DeniedRequest;
pub use directories::{DirRequest, Directory, Own, Sums};
pub use duplicates::{Alike, DuplicateRequest};
pub use entries_at::Entry;
pub use error::{QueryError, Result};
pub use index::{Index, Start, View};
pub use links::{Repeats, SeenLinks};
pub use listings::{DecodedListings, ListingPlace, Listings, Outline};
pub use locate::Located;
pub use objects::{DirObject, GoneDirectory};
pub use promise::{Promise, Promises};
pub use ranking::{RankBy, RankEnd, RankRequest, Ranked};
pub use search::{Event, Hit, NameRequest};
pub use segment::{Scratch, SegmentFile};
pub use selection::RowSelection;
pub use stats::{
    AGE_BOUNDS_SECS, AGE_BUCKETS, Count, DEPTHS, Key, NAME_LENGTHS, RowTest, SIZE_BUCKETS, Stats,
    StatsRequest, Trait, age_bucket, extension, size_bucket,
};
pub use superseded::{Part, RowsOf, ValueIn, Values};
pub use sweep::{Columns, LinkCount, SweepRequest};
pub use together::Places as IndexPlaces;
pub use totals::Totals;
pub use trawl_format::SnapshotInfo;
pub use trawl_names::{Beginning, Matcher, Trail};
pub use usage::{Detail, Usage, UsageOf, UsageRequest};
pub use walk::{Batch, DirInfo, Listing, Order, Request};
pub use xattrs::{ACL_ACCESS, ACL_DEFAULT, Attribute, AttributeRequest, Attributed, Links};
