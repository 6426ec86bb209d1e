//! `libtrawl-preload.so`: preloaded in front of the C library, it answers the questions of
//! unmodified programs about directories from tables of the bulk service (`trawl-table-service`), and passes
//! everything else on.
//!
//! How a call is handled: [`place`] determines which table could know about a path; [`tables`]
//! looks for a valid table that does; [`policy`] decides whether to ask the service for one
//! (`trawl_table_client`). If nothing is known, the C library's own function is called ([`real`]).
//! Calls that change something advance the run's generation ([`page`]), which invalidates every
//! table of every program of the run. Directories that are opened without need get virtual
//! descriptors ([`descriptors`]): numbers that the kernel has not given out, made real by the first
//! call that needs more than a table. The service is told of a start with many arguments
//! ([`start`]), so that it can fetch the files among them ahead.
//!
//! Invariants: without the variables of a service, calls are only passed on. No call waits for a
//! lock, allocates memory (except for directory streams and walks, as in the C library), or leaves
//! `errno` other than the call itself would. All functions may be called from signal handlers that
//! may call the C library's. A table is believed only while its generation is the page's and it is
//! younger than the agreed age. Nothing panics.
//!
//! Functions with variable arguments are defined with one more fixed argument. On the supported
//! platforms, x86-64 and AArch64 Linux, integer arguments are passed alike in both cases, and
//! reading an argument that was not passed yields some number that is not used.

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
mod start;
mod streams;
mod tables;
