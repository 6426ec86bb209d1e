//! Structures and numbers of the header, with the names that they have there.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A record, as `trawl_readsearch` gives it.
#[repr(C)]
#[derive(Debug)]
pub struct trawl_searchent {
    /// The path, NUL-ended.
    pub path: *mut c_char,
    /// What stat(2) says, or NULL.
    pub info: *mut libc::stat,
    /// What failed: a `TRAWL_ERR_` number, 0 for a match.
    pub errsource: c_int,
    /// Why: an errno, 0 for a match.
    pub err: c_int,
    /// The directory's place in the list.
    pub root: c_uint,
    /// 0.
    pub reserved: c_uint,
    /// Length of the path.
    pub path_length: usize,
}

/// What is asked besides pattern and flags.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct trawl_search_options {
    /// The structure's size as the caller knows it.
    pub size: usize,
    /// Who answers.
    pub served_by: c_int,
    /// How deep to go, 0 for the default.
    pub max_depth: c_uint,
    /// The index's directory, or NULL.
    pub index: *const c_char,
    /// Where to go on from, or NULL.
    pub cookie: *const c_void,
    /// The cookie's length.
    pub cookie_bytes: usize,
    /// How long a daemon is waited for; 0 for the default, -1 to ask none.
    pub wait_ms: c_int,
    /// 0.
    pub reserved: c_int,
    /// A server that answers, or NULL.
    pub remote: *const c_char,
}

/// Where a search in one call ended.
#[repr(C)]
#[derive(Debug)]
pub struct trawl_search_place {
    /// Memory for the cookie.
    pub cookie: *mut c_void,
    /// How much.
    pub room: usize,
    /// Bytes of the cookie in it.
    pub used: usize,
    /// Bytes that the cookie of this place needs.
    pub needed: usize,
    /// Bytes that the next record needs; 0 at the end.
    pub next_bytes: usize,
}

/// A signal that is handled ends a wait. Of this interface alone: no executor knows of it.
pub const TRAWL_INTR: c_int = 1 << 12;
/// The paper's bound of the depth, which ends a search. Of this interface alone, too.
pub const TRAWL_DEPTH16: c_int = 1 << 13;

/// Takes the index where it is as of now, else the file system.
pub const TRAWL_AUTO: c_int = 0;
/// The file system.
pub const TRAWL_LIVE: c_int = 1;
/// The index as it is.
pub const TRAWL_INDEX: c_int = 2;
/// A server on another machine.
pub const TRAWL_REMOTE: c_int = 3;
