//! The structures and constants of `trawl/sets.h`, under their names there.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint};

/// A member, or the error in its place.
#[repr(C)]
#[derive(Debug)]
pub struct trawl_setent {
    /// Path or URL, NUL-terminated.
    pub name: *mut c_char,
    /// Length of the name in bytes.
    pub name_length: usize,
    /// Attributes, or NULL.
    pub info: *mut libc::stat,
    /// Descriptor of the member, or -1.
    pub fd: c_int,
    /// Whether the descriptor is a pipe.
    pub is_stream: c_int,
    /// What failed: a `TRAWL_SET_ERR_` number, 0 for a member.
    pub errsource: c_int,
    /// The errno of the failure, 0 for a member.
    pub err: c_int,
}

/// The options of a set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct trawl_set_options {
    /// Size of the structure as the caller knows it.
    pub size: usize,
    /// The source that expands wildcards.
    pub served_by: c_int,
    /// How long to wait for daemons, in milliseconds; 0 for the default, -1 to ask none.
    pub wait_ms: c_int,
    /// Directory of the index, or NULL.
    pub index: *const c_char,
    /// Maximum number of bytes fetched ahead, 0 for the default.
    pub ahead_bytes: u64,
    /// Maximum number of descriptors open ahead, 0 for the default.
    pub descriptors: c_uint,
    /// Maximum number of requests in flight at one place, 0 for the default.
    pub in_flight: c_uint,
}

/// What a set has done so far; times in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the header documents them")]
pub struct trawl_set_stats {
    pub size: usize,
    pub members: u64,
    pub delivered: u64,
    pub problems: u64,
    pub cached: u64,
    pub fetched_bytes: u64,
    pub unused_bytes: u64,
    pub fetch_ns: u64,
    pub wait_ns: u64,
    pub processing_ns: u64,
}

/// Members come in the order in which they are found.
pub const TRAWL_SET_ORDERED: c_int = 1 << 0;
/// Names may run commands.
pub const TRAWL_SET_COMMANDS: c_int = 1 << 1;
/// Attributes come with names.
pub const TRAWL_SET_METADATA: c_int = 1 << 2;
/// The descriptor is the caller's to close.
pub const TRAWL_SET_CALLER_CLOSES: c_int = 1 << 0;
/// A part of the name was being expanded.
pub const TRAWL_SET_ERR_EXPAND: c_int = 1;
/// The member was being opened.
pub const TRAWL_SET_ERR_OPEN: c_int = 2;
/// The member's first bytes were being fetched.
pub const TRAWL_SET_ERR_FETCH: c_int = 3;
