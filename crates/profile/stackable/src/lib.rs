//! A pass-through file system that profiles the file system below it: the paper's Base0fs. "Stackable
//! file systems can be mounted on top of other file systems to provide extra functionality" (Joukov,
//! §4.1), here the measurement of every operation that reaches the lower file system.
//!
//! | module | purpose |
//! |---|---|
//! | [`operations`] | the table of operations, and the system calls that each one makes below |
//! | `meter` | one recorder for each thread; the profile |
//! | `below` | the file system below: calls on descriptors, which never leave the source |
//! | `nodes` | files that the kernel knows, as long as it knows them |
//! | `open` | open files and directories |
//! | `attributes` | attributes in the form that the kernel asks for |
//! | `pass` | what each operation does |
//! | `file_system` | the operations in the form of the kernel's requests (FUSE) |
//! | `forgetting` | bounds the number of descriptors |
//! | [`serving`] | mounts it, for everybody or for one command, and serves a mount until it is gone |
//!
//! Invariants: nobody gets by the mount what the source would refuse: the kernel checks permissions
//! with fresh attributes before it asks, names never lead out of the source or into another mounted
//! file system, and new files belong to their makers. Only time below is counted, never our own.
//!
//! This crate prints nothing and knows nothing of recordings and layers.

#![forbid(unsafe_code)]

mod attributes;
mod below;
mod error;
mod file_system;
mod forgetting;
mod meter;
mod nodes;
mod open;
pub mod operations;
mod pass;
pub mod serving;

pub use error::StackableError;
pub use serving::{Data, Options, Serving, Visible, enclose, mount};
