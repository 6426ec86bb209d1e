//! Trees of servers, and the directories at which they are shown.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use trawl_mount::{Keeping, Mounted, Tree};
use trawl_remote::Remote;
use trawl_remote::tls::Certificates;
use trawl_text::words::quoted;

use crate::error::RunError;
use crate::notice::{Notice, Tell};
use crate::place::{self, Place};

/// The way in which trees are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As a file system that this program serves (FUSE).
    Mount,
    /// Copied into memory before a system call needs them.
    Sandbox {
        /// Maximum size of file contents that are kept, in bytes.
        memory_bytes: u64,
    },
}

/// How servers are asked, and how their trees are cached.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// How trees are cached.
    pub keeping: Keeping,
    /// Files for servers that are reached through TLS.
    pub certificates: Certificates,
}

/// A tree and the directory at which it is shown.
pub(crate) struct ShownTree {
    pub(crate) mounted: Mounted,
    pub(crate) point: PathBuf,
}

impl ShownTree {
    pub(crate) fn tree(&self) -> &Tree {
        self.mounted.tree()
    }
}

/// Opens a directory of a server.
pub(crate) fn open(place: &Place, options: &TreeOptions, tell: &Tell) -> Result<Tree, RunError> {
    let address = place.address.clone();
    let remote = Remote::new(address.with_certificates(options.certificates.clone()));
    let keeping = options.keeping;
    let server = place.address.to_string();
    let tell = Arc::clone(tell);
    let tell = Box::new(move |text: &str| {
        tell(&Notice::Tree {
            text: text.to_owned(),
        });
    });
    Ok(Tree::open(remote, &server, &place.path, keeping, tell)?)
}

/// Opens all trees, given as `SERVER:/PATH=/POINT`.
pub(crate) fn prepare(
    remotes: &[OsString],
    options: &TreeOptions,
    tell: &Tell,
) -> Result<Vec<ShownTree>, RunError> {
    let mut shown: Vec<ShownTree> = Vec::new();
    for text in remotes {
        let (place, point) = place::with_point(text)?;
        let point = std::fs::canonicalize(&point).map_err(|source| RunError::File {
            action: "mount on",
            path: point,
            source,
        })?;
        if shown.iter().any(|shown| shown.point == point) {
            let point = quoted(point.as_os_str().as_encoded_bytes());
            return Err(RunError::Usage(format!(
                "cannot show two directories at {point}: give each --remote a directory of its own"
            )));
        }
        let tree = open(&place, options, tell)?;
        let mounted = Mounted::new(tree);
        shown.push(ShownTree { mounted, point });
    }
    Ok(shown)
}
