//! What is in a file, read ahead while it is read in order.
//!
//! A file is read in chunks. The first one comes with opening it, which is when the server says
//! whether it may be read. While chunk follows chunk the next ones are on their way already.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use trawl_sys::Errno;

use super::{Inner, Tree};

/// What is asked for at once.
const CHUNK_BYTES: u64 = trawl_remote::wire::READ_MAX_BYTES as u64;
/// How many chunks are on their way while a file is read in order.
const AHEAD: u64 = 3;

enum Chunk {
    Coming,
    Here(Arc<Vec<u8>>),
    Failed(Errno),
}

#[derive(Default)]
struct State {
    chunks: BTreeMap<u64, Chunk>,
    /// The chunk that was read last.
    last: Option<u64>,
}

/// An open file.
#[derive(Clone)]
pub struct Content(Arc<Shared>);

struct Shared {
    tree: Arc<Inner>,
    path: Vec<u8>,
    state: Mutex<State>,
    changed: Condvar,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.0.path.escape_ascii().to_string();
        f.debug_tuple("Content").field(&path).finish()
    }
}

impl Tree {
    /// A file, of which nothing is read yet.
    pub fn content(&self, path: &[u8]) -> Content {
        Content(Arc::new(Shared {
            tree: Arc::clone(&self.0),
            path: path.to_vec(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, number: u64) {
        let offset = number.saturating_mul(CHUNK_BYTES);
        let path = self.tree.server_path(&self.path);
        let answer = self.tree.remote.read(&path, offset, CHUNK_BYTES as u32);
        let chunk = match self.tree.asked(answer) {
            Ok(bytes) => Chunk::Here(Arc::new(bytes)),
            Err(errno) => Chunk::Failed(errno),
        };
        self.state().chunks.insert(number, chunk);
        self.changed.notify_all();
    }
}

impl Content {
    /// Asks for the first bytes: so many are there, if that is not the first chunk's length.
    ///
    /// # Errors
    /// Why it cannot be read; `EIO` if the server cannot be asked.
    pub fn begin(&self) -> Result<usize, Errno> {
        Ok(self.chunk(0)?.len())
    }

    /// Bytes of the file; fewer at its end alone.
    ///
    /// # Errors
    /// Why it cannot be read; `EIO` if the server cannot be asked.
    pub fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let at = offset.saturating_add(bytes.len() as u64);
            let (number, within) = (at / CHUNK_BYTES, (at % CHUNK_BYTES) as usize);
            let chunk = self.chunk(number)?;
            self.look_ahead(number, &chunk);
            let there = chunk.get(within..).unwrap_or_default();
            let taken = there.len().min(length - bytes.len());
            bytes.extend_from_slice(&there[..taken]);
            if (chunk.len() as u64) < CHUNK_BYTES {
                break;
            }
        }
        Ok(bytes)
    }

    fn chunk(&self, number: u64) -> Result<Arc<Vec<u8>>, Errno> {
        let shared = &self.0;
        let mut state = shared.state();
        loop {
            match state.chunks.get(&number) {
                Some(Chunk::Here(bytes)) => return Ok(Arc::clone(bytes)),
                Some(Chunk::Failed(errno)) => {
                    let errno = *errno;
                    // Whoever asks again is answered anew.
                    state.chunks.remove(&number);
                    return Err(errno);
                }
                Some(Chunk::Coming) => {
                    let waited = shared.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => {
                    state.chunks.insert(number, Chunk::Coming);
                    drop(state);
                    shared.fetch(number);
                    state = shared.state();
                }
            }
        }
    }

    /// Sends for what will be read next, and lets go of what was read.
    fn look_ahead(&self, number: u64, chunk: &[u8]) {
        let mut state = self.0.state();
        let is_in_order = match state.last {
            Some(last) => number == last || number == last + 1,
            None => number == 0,
        };
        let is_new = state.last != Some(number);
        state.last = Some(number);
        if !is_new {
            return;
        }
        let is_far = |other: &u64| *other + 1 < number || *other > number + AHEAD;
        state
            .chunks
            .retain(|other, chunk| matches!(chunk, Chunk::Coming) || !is_far(other));
        if !is_in_order || (chunk.len() as u64) < CHUNK_BYTES {
            return;
        }
        for next in number + 1..=number + AHEAD {
            if state.chunks.contains_key(&next) {
                continue;
            }
            state.chunks.insert(next, Chunk::Coming);
            let shared = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name("read ahead".into());
            if thread.spawn(move || shared.fetch(next)).is_err() {
                state.chunks.remove(&next);
                break;
            }
        }
    }
}
