//! The search call from one machine to another: one round trip, however deep the tree.
//!
//! A client sends hello and question at once; the server sends the answer's records as they are
//! found, and says when it is whole. Nothing is asked directory by directory.
//!
//! - [`wire`]: frames and what is in them.
//! - [`transport`]: where they go: descriptors, TLS.
//! - [`server`]: answers on one connection, as the user that its process is.
//! - [`listen`]: sockets; each client is served by a process of its own user.
//! - [`tls`]: certificates on both sides; a process of its own ends TLS.
//! - [`chirp`]: another protocol's line `search`.
//! - [`exports`]: which trees are shown, under which names.
//! - [`client`]: [`Remote`], an executor like the walk and the index.
//!
//! Invariants: what comes from the other end is untrusted on both sides; memory for one
//! connection is bounded whatever the other end does or does not; an answer that was not said to be
//! whole is an error or is gone on with, never taken for one; the kernel decides what a user
//! sees, because the process that looks is that user's; nothing outside an export is reached.
//!
//! Knows nothing of the index, the daemon that keeps it, or output.

#![forbid(unsafe_code)]

pub mod chirp;
pub mod client;
mod error;
pub mod exports;
pub mod frames;
pub mod listen;
pub mod server;
pub mod tls;
pub mod transport;
pub mod wire;

pub use client::{Address, Remote};
pub use error::RemoteError;
pub use exports::{Export, Exports};
pub use server::{Limits, Serving, serve};
