//! The user layer of latency profiles: how long the file functions of the C library take in
//! unmodified programs, by operation, program, thread and call site. "We can modify the libraries to intercept
//! the calls at runtime, letting us profile programs for which source code is not available" (Joukov,
//! §5.2).
//!
//! | module | purpose |
//! |---|---|
//! | [`probe`] | whether profiles are available here, and what the probe costs |
//! | [`Session`] | memory shared with the programs of one run, and their environment |
//! | [`Reading`] | what they have recorded until now |
//! | [`symbols`] | names of call sites |
//! | [`unseen`] | why a program cannot be seen |
//!
//! Invariants: the shared memory is written by foreign programs and hostile: reading it gives
//! profiles that satisfy `entered = Σ buckets + in flight + dropped`, and reports what does not. Its
//! size is sealed, so that no program can make this process fail. This crate starts no command but
//! the one that measures the probe, and reads no clock.
//!
//! ```no_run
//! use std::process::Command;
//! use trawl_user_profile::{Options, Session, availability};
//!
//! let library = std::path::Path::new("/usr/local/lib/trawl/libtrawl-profile.so");
//! let probe = availability(library)?;
//! let session = Session::start(library, &probe, &Options::default())?;
//! let mut command = Command::new("make");
//! command.envs(session.environment(std::env::var_os("LD_PRELOAD").as_deref()));
//! # let _ =
//! command.status();
//! for (name, histogram) in session.read().whole.by_total() {
//!     println!("{name}: {} calls", histogram.counts().entered);
//! }
//! # Ok::<(), trawl_user_profile::Error>(())
//! ```

#![forbid(unsafe_code)]

mod block;
mod error;
pub mod probe;
mod reading;
mod session;
pub mod symbols;
pub mod unseen;

pub use error::Error;
pub use probe::{Probe, availability};
pub use reading::{CallSite, Damage, Reading, Thread};
pub use session::{Clock, Options, Session, Threads};
pub use symbols::Symbols;
pub use trawl_profile_mapping::CallSites;
