//! Hooks: they turn a file into text, attributes and relations.
//!
//! A hook is built in ([`builtin`]) or a program of the user's ([`manifest`]). Both read hostile
//! files, so neither runs in this process: built-in hooks run in workers, user's in a process for
//! each file, and all of these have given up every right but reading the descriptor that they get
//! ([`trawl_sys::restricted`]).
//!
//! | module | contents |
//! |---|---|
//! | [`format`] | formats of files, and how they are recognised |
//! | [`builtin`] | the table of built-in hooks |
//! | [`manifest`] | users' hooks, loaded from a directory |
//! | [`found`] | what a hook finds, within limits |
//! | [`wire`] | requests to workers and their answers |
//! | [`lines`] | output of users' hooks |
//! | `worker`, `program` | running built-in hooks and users' |
//! | `until` | waiting for them, until a deadline or until this process is told to end |
//! | `plain` | text in UTF-8, which needs no parser |
//!
//! Invariants: nothing that a hook does is worse than a [`Problem`] of the file at hand; whatever a
//! hook answers is held to the [`Limits`] again here, since a hostile file may have taken it over;
//! a hook gets a descriptor, never a path.

#![forbid(unsafe_code)]

pub mod builtin;
mod error;
pub mod format;
pub mod found;
mod hooks;
mod limits;
pub mod lines;
pub mod manifest;
mod plain;
mod program;
mod until;
pub mod wire;
mod worker;

pub use error::HookError;
pub use found::{Extracted, Fault, Problem, Relation, Value};
pub use hooks::{Hooks, PROGRAM, extract, extract_unless, mime_type};
pub use limits::Limits;
pub use program::SYSTEM;
