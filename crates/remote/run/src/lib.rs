//! Runs programs that see trees of other machines, mounts such trees, and serves the user's trees to
//! other machines.
//!
//! | module | contents |
//! |---|---|
//! | `program` | a command that sees trees, or is answered from tables, and how it ended |
//! | `child` | starts the command in mounts of its own, passes signals on to it and waits for it |
//! | [`learning`] | a command whose programs' files are recorded |
//! | `preload` | bulk answers for the command's programs |
//! | `trees` | trees of servers and where they are shown |
//! | `place` | directories of servers, as users write them |
//! | [`mount`] | a tree for all users who may see its mount |
//! | [`serve`], `sockets`, `answer` | answers searches of other machines, at sockets and as the user |
//! | `notice`, `error` | messages for the user, and reasons why nothing was run or served |
//!
//! Invariants: nobody else sees the mounts of a command, and they disappear with it. A server
//! answers each client as a process of the client's user.
//!
//! This crate prints nothing and never ends the process: messages go to the caller ([`Tell`]).

#![forbid(unsafe_code)]

mod answer;
mod child;
mod error;
pub mod learning;
pub mod mount;
mod notice;
mod place;
mod preload;
mod program;
pub mod serve;
mod sockets;
mod trees;

pub use error::RunError;
pub use notice::{Notice, Tell};
pub use preload::Wishes;
pub use program::{Ended, Program, run};
pub use trawl_mount::{Asking, Keeping};
pub use trawl_remote::tls::Certificates;
pub use trawl_table_index::Use;
pub use trawl_table_service::Haste;
pub use trees::{TreeOptions, Way};
