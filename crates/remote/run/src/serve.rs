//! Serves the user's trees to other machines, and to programs that connect to a socket.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_remote::listen::{Crowd, Told, Worker};
use trawl_remote::{Commands, Export, Exports, Limits, RemoteError, Serving, exports};
use trawl_sys::process::raise_descriptor_limit;
use trawl_sys::signal::StopSignals;

use crate::answer::FreshOrLive;
use crate::error::RunError;
use crate::notice::{Notice, Tell};
use crate::sockets;

pub use crate::sockets::Sockets;

/// What clients are served, and how.
#[derive(Clone, Debug)]
pub struct Served {
    /// The index that the user named, if any.
    pub index: Option<PathBuf>,
    /// The trees that clients see.
    pub exports: Exports,
    /// How long a client may pause while it receives an answer.
    pub stall: Duration,
    /// How many directories are watched for a client that caches them.
    pub directories: usize,
    /// By how much each request is delayed.
    pub delay: Duration,
    /// The program that answers command lines.
    pub commands: Commands,
}

impl Served {
    /// Returns what the protocol's server needs: answers come from the index where a daemon
    /// confirms that it is up to date, elsewhere from the file system.
    pub fn serving(self) -> Serving {
        Serving {
            exports: self.exports,
            executor: Arc::new(FreshOrLive { index: self.index }),
            limits: Limits {
                stall: self.stall,
                directories: self.directories,
                ..Limits::default()
            },
            delay: self.delay,
            commands: Some(Arc::new(self.commands)),
        }
    }
}

/// Returns the trees that clients see: those in the administrator's file if `is_restricted`, else
/// those in `named`, each as `NAME=DIR`, else everything.
///
/// # Errors
/// Fails if the file or a tree cannot be used.
pub fn exports(is_restricted: bool, named: &[OsString]) -> Result<Exports, RemoteError> {
    use std::os::unix::ffi::OsStrExt;
    if is_restricted {
        return Exports::from_file(Path::new(exports::FILE));
    }
    match named {
        [] => Ok(Exports::Everything),
        texts => {
            let exports = texts.iter().map(|text| Export::parse(text.as_bytes()));
            Exports::named(exports.collect::<Result<_, _>>()?)
        }
    }
}

/// Listens at sockets until a signal asks to stop. Each client is served by a process of its user,
/// which `worker` starts; `learn` receives what these processes tell of themselves.
///
/// # Errors
/// Fails if a socket cannot be opened, or no more clients can be accepted.
pub fn listen(
    sockets: &Sockets,
    worker: &Worker,
    crowd: Crowd,
    tell: &Tell,
    learn: &dyn Fn(Told<'_>),
) -> Result<(), RunError> {
    let stop = StopSignals::take().map_err(|error| RunError::Usage(error.to_string()))?;
    if let Some(text) = too_few_descriptors(crowd.connections) {
        tell(&Notice::Server { text });
    }
    let mut listening = sockets::open(sockets)?;
    for address in listening.addresses() {
        tell(&Notice::Listening { address });
    }
    let say = |text| tell(&Notice::Server { text });
    Ok(listening.run(worker, crowd, &stop, &say, learn)?)
}

/// Descriptors that are needed besides those of connections.
const FURTHER_DESCRIPTORS: u64 = 1024;

/// Raises the limit on descriptors, which the processes that this one starts inherit. Returns a
/// warning if it stays too low for this number of connections.
fn too_few_descriptors(connections: usize) -> Option<String> {
    // A connection has one here, and two in the process that ends TLS.
    let wanted = 2 * connections as u64 + FURTHER_DESCRIPTORS;
    let limit = raise_descriptor_limit(wanted);
    let fit = limit.saturating_sub(FURTHER_DESCRIPTORS);
    (fit < connections as u64).then(|| {
        format!(
            "this process can have {limit} descriptors, too few for {connections} connections: \
             raise the limit (ulimit -n, LimitNOFILE) or lower --connections"
        )
    })
}
