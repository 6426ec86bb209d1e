//! What is in an open file, read ahead while it is read in order.
//!
//! A file is read in chunks. The first one comes with opening it, which is when the server says
//! whether it may be read. While chunk follows chunk the next ones are on their way already.
//!
//! Invariant: a chunk is given only as long as the file is known to have the version that it is of.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trawl_sys::Errno;

use super::held::{Held, Seen};

/// What is asked for at once.
const CHUNK_BYTES: u64 = trawl_remote::wire::READ_MAX_BYTES as u64;
/// A file of no more bytes is small.
const SMALL_BYTES: usize = 64 << 10;
/// How many chunks are on their way while a file is read in order.
const AHEAD: u64 = 3;
/// So often what has several versions is read once more.
const TRIES: usize = 3;
/// What was said of a file is believed for so long at least when it is read: whoever reads has
/// asked before, unless it is a mapping.
pub const MAPPED_LEAST: Duration = Duration::from_millis(100);

#[derive(Clone)]
struct Piece {
    seen: Seen,
    bytes: Arc<Vec<u8>>,
}

enum Chunk {
    Coming,
    Here(Piece),
    Failed(Errno),
}

#[derive(Default)]
struct State {
    chunks: BTreeMap<u64, Chunk>,
    /// The chunk that was read last.
    last: Option<u64>,
}

/// An open file as one of those who have it open reads it.
#[derive(Clone)]
pub struct Content(Arc<Shared>);

struct Shared {
    held: Held,
    state: Mutex<State>,
    changed: Condvar,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Content").field(&self.0.held).finish()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, number: u64) -> Result<Piece, Errno> {
        let offset = number.saturating_mul(CHUNK_BYTES);
        let found = self.held.fetch(offset, CHUNK_BYTES as u32);
        let found = found.map(|(seen, bytes)| Piece {
            seen,
            bytes: Arc::new(bytes),
        });
        let chunk = match &found {
            Ok(piece) => Chunk::Here(piece.clone()),
            Err(errno) => Chunk::Failed(*errno),
        };
        self.state().chunks.insert(number, chunk);
        self.changed.notify_all();
        found
    }
}

impl Content {
    /// A file of which nothing is read yet.
    pub fn new(held: Held) -> Content {
        Content(Arc::new(Shared {
            held,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Whether the first bytes are here, as they are now.
    pub fn is_begun(&self) -> bool {
        let last = self.0.held.last();
        let state = self.0.state();
        let first = state.chunks.get(&0);
        matches!(first, Some(Chunk::Here(piece)) if is_current(piece, last.as_ref()))
    }

    /// Whether it takes little memory.
    pub fn is_small(&self) -> bool {
        let state = self.0.state();
        let chunks = state.chunks.values();
        let bytes = chunks.map(|chunk| match chunk {
            Chunk::Here(piece) => piece.bytes.len(),
            Chunk::Coming | Chunk::Failed(_) => SMALL_BYTES + 1,
        });
        bytes.sum::<usize>() <= SMALL_BYTES
    }

    /// Whether it is of this open file.
    pub fn is_of(&self, held: &Held) -> bool {
        self.0.held.is(held)
    }

    /// Asks for the first bytes: so many are there, if that is not the first chunk's length.
    ///
    /// # Errors
    /// Why it cannot be read; `EIO` if the server cannot be asked.
    pub fn begin(&self) -> Result<(Seen, usize), Errno> {
        let piece = self.0.fetch(0)?;
        Ok((piece.seen, piece.bytes.len()))
    }

    /// Bytes of the file; fewer at its end alone. They are of one version, the one that is told,
    /// unless the file changes all the time.
    ///
    /// # Errors
    /// Why it cannot be read; `ESTALE` if it is gone; `EIO` if the server cannot be asked.
    pub fn read(&self, offset: u64, length: usize) -> Result<(Vec<u8>, Seen), Errno> {
        let mut tries = TRIES;
        loop {
            let (bytes, seen, is_one) = self.read_once(offset, length)?;
            tries -= 1;
            if is_one {
                return Ok((bytes, seen));
            }
            if tries == 0 {
                let is_settled = false;
                return Ok((bytes, Seen { is_settled, ..seen }));
            }
        }
    }

    /// The same, asked for now and not kept.
    ///
    /// # Errors
    /// As [`Content::read`].
    pub fn read_now(&self, offset: u64, length: usize) -> Result<(Vec<u8>, Seen), Errno> {
        let most = |left: usize| left.min(CHUNK_BYTES as usize) as u32;
        let (mut seen, mut bytes) = self.0.held.fetch(offset, most(length))?;
        while bytes.len() < length && bytes.len().is_multiple_of(CHUNK_BYTES as usize) {
            let at = offset.saturating_add(bytes.len() as u64);
            let (next, more) = self.0.held.fetch(at, most(length - bytes.len()))?;
            if more.is_empty() {
                break;
            }
            seen.is_settled &= next.is_settled && next.version() == seen.version();
            bytes.extend_from_slice(&more);
        }
        Ok((bytes, seen))
    }

    /// The same, and whether they are all of one version.
    fn read_once(&self, offset: u64, length: usize) -> Result<(Vec<u8>, Seen, bool), Errno> {
        let mut bytes = Vec::with_capacity(length);
        let mut first = None::<Seen>;
        let mut is_one = true;
        loop {
            let at = offset.saturating_add(bytes.len() as u64);
            let (number, within) = (at / CHUNK_BYTES, (at % CHUNK_BYTES) as usize);
            let Piece { seen, bytes: chunk } = self.chunk(number)?;
            let first = *first.get_or_insert(seen);
            is_one &= first.version() == seen.version();
            self.look_ahead(number, &chunk);
            let there = chunk.get(within..).unwrap_or_default();
            let taken = there.len().min(length - bytes.len());
            bytes.extend_from_slice(&there[..taken]);
            if bytes.len() >= length || (chunk.len() as u64) < CHUNK_BYTES {
                let is_settled = first.is_settled && seen.is_settled;
                return Ok((
                    bytes,
                    Seen {
                        is_settled,
                        ..first
                    },
                    is_one,
                ));
            }
        }
    }

    fn chunk(&self, number: u64) -> Result<Piece, Errno> {
        let shared = &self.0;
        loop {
            let now = shared.held.current(MAPPED_LEAST);
            let mut state = shared.state();
            match state.chunks.get(&number) {
                Some(Chunk::Here(piece)) if is_current(piece, now.as_ref()) => {
                    return Ok(piece.clone());
                }
                Some(Chunk::Failed(errno)) => {
                    let errno = *errno;
                    // Whoever asks again is answered anew.
                    state.chunks.remove(&number);
                    return Err(errno);
                }
                Some(Chunk::Coming) => {
                    let waited = shared.changed.wait(state);
                    drop(waited.unwrap_or_else(PoisonError::into_inner));
                }
                Some(Chunk::Here(_)) | None => {
                    state.chunks.insert(number, Chunk::Coming);
                    drop(state);
                    let found = shared.fetch(number);
                    if found.is_err() {
                        shared.state().chunks.remove(&number);
                    }
                    return found;
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
            let work = move || drop(shared.fetch(next));
            let thread = std::thread::Builder::new().name("read ahead".into());
            if thread.spawn(work).is_err() {
                state.chunks.remove(&next);
                break;
            }
        }
    }
}

/// Whether a chunk is what is in the file, which is known to be so. A version that is not settled
/// may be that of other bytes, too: then only those that were asked for no earlier are.
fn is_current(piece: &Piece, now: Option<&Seen>) -> bool {
    now.is_some_and(|now| {
        piece.seen.version() == now.version()
            && (piece.seen.is_settled || piece.seen.asked >= now.asked)
    })
}
