//! Small files that arrive with the answer to a search, until they are opened.
//!
//! Invariant: at most [`MOST_BYTES`] are held; what comes beyond is dropped, and fetched when it is
//! opened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use trawl_call::Executor;
use trawl_model::sync::lock;
use trawl_remote::Remote;
use trawl_remote::client::{ContentsWish, WithContents};

/// Maximum number of bytes of all files that are held.
const MOST_BYTES: usize = 16 << 20;
/// The part of one search that is kept.
const WISH: ContentsWish = ContentsWish {
    file_bytes: 16 << 10,
    all_bytes: 1 << 20,
};

/// Files by name.
#[derive(Debug, Default)]
pub(crate) struct Arrived(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    files: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Arrived {
    /// Returns the executor that searches at a server and keeps the files that arrive.
    pub(crate) fn executor(self: &Arc<Arrived>, remote: Remote) -> Arc<dyn Executor> {
        let arrived = Arc::clone(self);
        Arc::new(WithContents {
            remote,
            wish: WISH,
            sink: Arc::new(move |name, _, bytes| arrived.put(name, bytes)),
        })
    }

    fn put(&self, name: Vec<u8>, bytes: Vec<u8>) {
        let mut held = lock(&self.0);
        let size = name.len() + bytes.len();
        if held.bytes + size > MOST_BYTES {
            return;
        }
        held.bytes += size;
        let length = name.len();
        if let Some(before) = held.files.insert(name, bytes) {
            held.bytes -= length + before.len();
        }
    }

    /// Returns a file that has arrived, once.
    pub(crate) fn take(&self, name: &[u8]) -> Option<Vec<u8>> {
        let mut held = lock(&self.0);
        let bytes = held.files.remove(name)?;
        held.bytes -= name.len() + bytes.len();
        Some(bytes)
    }
}
