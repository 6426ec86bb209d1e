//! Direct access: opens the files of a table by their ids.
//!
//! "It allows files to be opened directly without having to issue multiple directory lookup
//! operations, by separating the file-locating function from the file-access APIs" (Propeller,
//! section 2.2).
//!
//! A [`Table`] has the files of a directory, a group or a search result. [`Table::open`] opens one:
//!
//! - by its file handle, without any look at a directory, if the kernel allows it to this process
//!   (`CAP_DAC_READ_SEARCH`, with which no directory is closed);
//! - otherwise by its path from `/`, in one system call in which the kernel checks every directory
//!   as of now. No directory is kept open as a starting point, because it would stay usable after a
//!   directory above it was closed.
//!
//! Invariants: nothing is opened whose every known path the kernel refuses to this process now,
//! unless this process may use handles; what is opened is the file of the id, or there is an error.
//!
//! Does not know how files are found. `docs/direct.md` has what works on which file system.

#![forbid(unsafe_code)]

mod error;
mod id;
mod mounts;
mod table;

pub use error::DirectError;
pub use id::FileId;
pub use table::{Table, Way};
