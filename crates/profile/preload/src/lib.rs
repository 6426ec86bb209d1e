//! `libtrawl-profile.so`: preloaded in front of the C library, it measures how long a program's
//! calls of the C library's file functions take, and counts the latencies in memory shared with the
//! profiler. "Alternatively, we can modify the libraries to intercept the calls at runtime, letting
//! us profile programs for which source code is not available" (Joukov, §5.2).
//!
//! How a call is handled: its wrapper ([`calls`], made from the table in `trawl-profile-mapping`)
//! counts that it enters and reads the clock ([`record`], [`clock`]), calls the C library's function
//! ([`real`]), reads the clock again and counts the latency. Each thread writes a region of its own,
//! which it claims with its first call ([`region`]), and [`site`] a part of it for each call site, on
//! request; [`process`] finds the memory and notices forks.
//!
//! Invariants: results and `errno` are those of the C library's function. Recording takes no lock,
//! allocates nothing and makes no system call, except once for each process and thread. The memory
//! is reached through a mapping only, so programs may close all their descriptors. Without the
//! variable of a profiler, or with one that names no usable memory, calls are only passed on. All
//! functions may be called from signal handlers that may call the C library's, and before
//! constructors have run. Nothing panics, and exceptions and cancellation pass through.
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

mod calls;
mod cells;
mod clock;
mod kernel;
mod measure;
mod process;
mod real;
mod record;
mod region;
mod site;
