//! Attributes that programs push to files they hold open for writing.
//!
//! "Search Hooks offer a flexible mechanism to allow applications to feed the file index when they
//! are manipulating data, which is the *inline index* approach" (Propeller, section 3.3).
//!
//! - [`set`], [`get`], [`list`], [`remove`]: the attributes of an open file.
//! - [`Value`], [`Kind`]: typed values, their form on disk and their form for people.
//!
//! An attribute is an extended attribute `user.trawl.NAME` of the file itself, so there is no second
//! source of truth: it is copied, renamed and removed with the file, the kernel decides who may set
//! it (users who may write the file) and who may read it (users who may read the file), and setting
//! it changes the file's ctime, by which indexes notice it.
//!
//! Invariants: what [`set`] stored, [`get`] returns; bytes that [`set`] would not have stored are an
//! error of [`get`] and are left out by [`list`], and never panic.
//!
//! Does not know how attributes are searched.

#![forbid(unsafe_code)]

mod error;
mod file;
mod text;
mod value;

pub use error::AttributeError;
pub use file::{get, is_name, list, remove, set};
pub use value::{Kind, Value};

/// Maximum length of a name in bytes. Hooks' attributes have the same rule of names.
pub const NAME_BYTES_MAX: usize = 64;
/// Maximum length of a text in bytes: a search compares no more of it.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Maximum length of an encoded value in bytes. File systems may have less room.
pub const VALUE_BYTES_MAX: usize = 4096;
/// Maximum number of values of a list.
pub const LIST_MAX: usize = 256;
