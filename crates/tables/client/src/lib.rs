//! Asks the bulk service from within other people's programs.
//!
//! Invariants: only types of the C library are used: its functions may be ours, or missing. So
//! `errno` does not change, nothing is allocated, no lock is waited for, and no descriptor stays
//! open. The service's data is trusted no further than its user.

#![no_std]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod ask;
mod call;
mod directories;
pub mod kernel;
pub mod page;
pub mod started;
mod variables;

pub use ask::{Mapped, ask, tell_start};
pub use directories::Directories;
pub use variables::{Text, Variables, bytes};
