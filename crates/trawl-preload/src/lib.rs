//! `libtrawl-preload.so`: put in front of the C library, it answers what unmodified programs ask
//! about directories from tables of the bulk service (`trawl-bulk`), and passes on all else.
//!
//! How a call goes: [`place`] says which table could know about a path, [`tables`] whether one that
//! is good still does, [`policy`] whether the service is to be asked for one (`trawl_bulk_client`); if nothing
//! is known the C library's own function is called ([`real`]). Calls that change something move
//! the run's generation on ([`page`]), so that every table of every program of the run is old.
//! Directories that are opened without need are virtual descriptors ([`descriptors`]): numbers that
//! the kernel has not given out, made real by the first call that needs more than a table.
//!
//! Invariants: without the variables of a service nothing is done but passing calls on. No call
//! waits for a lock, allocates (but for directory streams and walks, as the C library does) or leaves `errno`
//! otherwise than the call itself would; all may be called from signal handlers that may call the
//! C library's. A table is believed only while its generation is the page's and it is younger than
//! the age that was agreed on. Nothing panics.
//!
//! Functions with variable arguments take a fixed one more: on x86-64 and AArch64 Linux, which are
//! what this is for, integer arguments are passed alike in both, and reading one that was not given
//! gives some number that is not used.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of each exported function is that of the C library's function of the same name"
)]

mod behind;
mod calls;
mod descriptors;
mod kernel;
mod meter;
mod page;
mod place;
mod policy;
mod reads;
mod real;
mod search_path;
mod settings;
mod streams;
mod tables;
