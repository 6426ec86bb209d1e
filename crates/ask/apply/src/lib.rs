//! Runs a command on each member of a set as soon as the member has been fetched.
//!
//! - `ahead`: files that running programs were given as arguments, fetched ahead of them.
//! - [`command`]: the words of a command, and the members filled into them.
//! - [`pool`]: the workers, each of which takes members and runs commands.
//! - `children`: the commands that run now, and signals to them.
//! - `output`: output that is written whole, in order of ends or of members.
//! - `stream`: members that a command cannot open anew, copied into files.
//!
//! Invariants: every delivered member goes to exactly one command or is a problem, or the run ends
//! with an error or an interrupt; no command has a descriptor of a member other than its own; with
//! several commands at once, the output of each is written without a gap.
//!
//! This crate knows nothing of names, and prints nothing: problems and failures go to a listener.

#![forbid(unsafe_code)]

mod ahead;
mod children;
pub mod command;
mod error;
mod output;
pub mod pool;
mod stream;

pub use ahead::{Ahead, GROUP_BYTES_MAX, GROUP_FILES_MAX, OneByOne, fetch_group};
pub use command::Command;
pub use error::ApplyError;
pub use pool::{Applied, Counts, Feeding, Listener, Options, Signals, apply};
