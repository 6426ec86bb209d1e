//! Views: a saved question is a directory. "The POSIX layer will rely on *views* to offer the
//! 'directory' concept in the hierarchical file systems" (Propeller, §Views).
//!
//! | module | purpose |
//! |---|---|
//! | [`question`] | where to look, and a find expression that only tests entries |
//! | [`short`] | questions written as a name: `?ext:o&size>1M` |
//! | [`definition`] | a named question, and its line in a file |
//! | [`store`] | the files that hold definitions |
//! | [`naming`] | names of members in a view's directory, and back to paths |
//! | [`answer`] | answers a question, in a process of the asking user |
//! | `wire` | what that process is asked and how it answers |
//! | `asker` | the user behind a request of the kernel |
//! | `crowd` | bounds the questions that one user may have running |
//! | `worker` | starts the process, and reads its answer |
//! | `listing` | one open directory |
//! | `timeouts` | how long the kernel uses names and attributes |
//! | `recent` | names that were listed less than a second ago |
//! | `nodes` | what the kernel knows |
//! | `lookup` | finds one name |
//! | `file_system` | the kernel's requests (FUSE) |
//! | [`serving`] | mounts the views, and serves the mount |
//!
//! Invariants: the process that serves the mount looks at no member itself; every question is
//! answered by a process with the ids of the user who asked the kernel. An answer that was cut
//! short is an error (EIO), never a short directory. Nothing is executed or changed.

#![forbid(unsafe_code)]

pub mod answer;
mod asker;
mod crowd;
pub mod definition;
mod error;
mod file_system;
mod listing;
mod lookup;
pub mod naming;
mod nodes;
pub mod question;
mod recent;
pub mod serving;
pub mod short;
pub mod store;
mod timeouts;
mod wire;
mod worker;

pub use definition::View;
pub use error::ViewError;
pub use question::Question;
pub use serving::{Mounting, Serving, mount};
pub use store::{Scope, Store};
