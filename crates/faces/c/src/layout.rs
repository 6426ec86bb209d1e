//! The structures and constants of the header, under their names there.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A record, as `trawl_readsearch` returns it.
#[repr(C)]
#[derive(Debug)]
pub struct trawl_searchent {
    /// The path, NUL-terminated.
    pub path: *mut c_char,
    /// The attributes, or NULL.
    pub info: *mut libc::stat,
    /// The operation that failed: a `TRAWL_ERR_` number, 0 for a match.
    pub errsource: c_int,
    /// The errno of the failure, 0 for a match.
    pub err: c_int,
    /// Index of the directory in the list.
    pub root: c_uint,
    /// Always 0.
    pub reserved: c_uint,
    /// Length of the path in bytes.
    pub path_length: usize,
}

/// The options of a search, besides pattern and flags.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct trawl_search_options {
    /// Size of the structure as the caller knows it.
    pub size: usize,
    /// The source to ask.
    pub served_by: c_int,
    /// Maximum depth in levels, 0 for the default.
    pub max_depth: c_uint,
    /// Directory of the index, or NULL.
    pub index: *const c_char,
    /// Cookie of the position to resume at, or NULL.
    pub cookie: *const c_void,
    /// Length of the cookie in bytes.
    pub cookie_bytes: usize,
    /// How long to wait for daemons, in milliseconds; 0 for the default, -1 to ask none.
    pub wait_ms: c_int,
    /// Must be 0.
    pub reserved: c_int,
    /// Address of the server that answers, or NULL.
    pub remote: *const c_char,
}

/// Position at which a search in one call ended.
#[repr(C)]
#[derive(Debug)]
pub struct trawl_search_place {
    /// Memory for the cookie.
    pub cookie: *mut c_void,
    /// Size of this memory in bytes.
    pub room: usize,
    /// Length of the cookie in it, in bytes.
    pub used: usize,
    /// Bytes that the cookie of this position needs.
    pub needed: usize,
    /// Bytes that the next record needs; 0 at the end.
    pub next_bytes: usize,
}

/// A handled signal ends a wait. A flag of the C interface only: executors do not know it.
pub const TRAWL_INTR: c_int = 1 << 12;
/// The paper's bound of the depth, which ends a search. A flag of the C interface only, too.
pub const TRAWL_DEPTH16: c_int = 1 << 13;

/// The index where it is as of now, else the file system.
pub const TRAWL_AUTO: c_int = 0;
/// The file system.
pub const TRAWL_LIVE: c_int = 1;
/// The index as it is.
pub const TRAWL_INDEX: c_int = 2;
/// A server on another machine.
pub const TRAWL_REMOTE: c_int = 3;
