//! Records latency profiles: at which layers, of which processes, for how long.
//!
//! | module | purpose |
//! |---|---|
//! | [`layer`] | the layers, and what each can see on this machine |
//! | [`detail`] | what layers record on request: programs, threads, call sites, values of calls |
//! | [`recording`] | what a run yields: a profile for each layer, and facts about the machine |
//! | `block` | the layer of block requests |
//! | `rpc` | the layer of the kernel's calls to servers |
//! | [`stackable`] | the layer of a directory, for a command and for a mount |
//! | `user` | the layer of programs |
//! | `parts` | programs, threads and call sites, alike at every layer |
//! | [`run`] | attaches layers to a command, a process, a control group or the machine |
//! | [`own`] | Trawl's own operations, recorded in this process |
//! | [`times`] | characteristic times of this machine (§3.1.2) |
//!
//! Invariants: a command is attached to before its first instruction; every reading that is kept
//! adds up, or the recording fails; layers leave the system when the recording ends, after the caller
//! has written it.
//!
//! Prints nothing. The analysis of recordings is `trawl-analysis`.

#![forbid(unsafe_code)]

mod block;
pub mod detail;
mod error;
pub mod layer;
pub mod own;
mod parts;
pub mod recording;
mod rpc;
pub mod run;
pub mod stackable;
pub mod times;
mod user;

pub use detail::{By, Detail, Quantity, Wanted};
pub use error::ProfileError;
pub use layer::{LAYERS, Layer, USUAL};
pub use recording::{Machine, Recording};
pub use run::{Ended, Leaving, Recorded, Streams, Subject, Watch, Wishes, record};
pub use stackable::{Mounting, record_mount};
pub use trawl_stackable::{Data, Options as StackableOptions, Visible};
