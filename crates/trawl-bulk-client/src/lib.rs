//! Asks the bulk service from within other people's programs.
//!
//! Invariants: of the C library nothing is used, only its types: its functions may be ours, or not
//! there at all. So `errno` stays as it is, nothing is allocated, no lock is waited for, and no
//! descriptor stays open. What the service sends is not trusted further than its sender is.

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

pub use ask::{Mapped, ask};
pub use directories::Directories;
pub use variables::{Text, Variables, bytes};
