//! The search call between machines: one round trip, however deep the tree.
//!
//! A client sends its hello and its question together. The server sends the records of the answer
//! as it finds them, and marks the end of a complete answer. No request is made per directory.
//!
//! - [`wire`]: frames, their limits, and the fields of which bodies consist.
//! - `messages`: the table of messages; a module for each: encoding, decoding, serving, asking.
//! - [`transport`]: byte streams that carry frames: descriptors, TLS.
//! - [`server`]: answers the requests of one connection, as the user that the process runs as.
//! - [`listen`]: sockets; a process of each client's own user serves the client.
//! - [`tls`]: certificates on both sides; a separate process terminates TLS.
//! - [`chirp`]: the `search` line of the Chirp protocol.
//! - [`exports`]: the trees that a server shows, and their names.
//! - [`client`]: [`Remote`], an executor like the live walk and the index.
//! - [`rows`]: what a command prints whose rows the client merges.
//! - `measured`: requests as operations of Trawl's own profile.
//! - [`mounts`]: the servers behind Trawl's own mounts, which are asked about the mounted trees.
//!
//! Invariants: both sides treat everything from the other end as untrusted; memory per connection
//! is bounded whatever the other end does or omits; an answer without its end marker is an error or
//! is resumed, and is never taken for complete; the kernel decides what a user sees, because the
//! process that looks runs as that user; nothing outside an export is reached.
//!
//! This crate knows nothing of the index, of the daemon that keeps it, or of output.

#![forbid(unsafe_code)]

pub mod chirp;
pub mod client;
mod error;
pub mod exports;
pub mod frames;
pub mod listen;
mod measured;
mod messages;
pub mod mounts;
pub mod rows;
pub mod server;
pub mod tls;
pub mod transport;
pub mod wire;

pub use client::{Address, Remote};
pub use error::RemoteError;
pub use exports::{Export, Exports};
pub use server::{Commands, Limits, Serving, serve};
