//! Defines the data exchanged between the bulk service and the programs that it answers: a flat
//! table of directories and the names in them, the question for one, and the page that all programs
//! of a run share.
//!
//! Invariants: pure: no I/O, no clock, no dependency. A table is untrusted: [`Table::new`] checks
//! that its parts lie within it, every access checks the rest, and readers neither panic nor
//! allocate. Numbers are little-endian.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(any(feature = "build", test))]
extern crate std;

#[cfg(feature = "build")]
mod build;
mod layout;
pub mod page;
mod read;
pub mod wire;

#[cfg(feature = "build")]
pub use build::{Builder, EntryParts, NewEntry, Search};
pub use layout::{ATTRIBUTE_NAMES, FileKind, Level, PATH_BYTES_MAX, Stat, Time};
pub use read::{BadTable, Directory, Entry, Table};
