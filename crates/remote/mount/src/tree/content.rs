//! The contents of an open file, read ahead while it is read in order.
//!
//! A file is read in chunks. The first chunk is fetched on opening, when the server says whether
//! the file may be read. While chunks are read in order, the next ones are already being fetched.
//!
//! Invariant: a chunk is used only as long as the file is known to have the chunk's version.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use trawl_model::sync::{lock, wait};
use trawl_sys::Errno;

use super::held::{FileAnswer, OpenFile};

/// Number of bytes that are requested at once.
const CHUNK_BYTES: u64 = trawl_remote::wire::READ_MAX_BYTES as u64;
/// Maximum size of a small file in bytes.
const SMALL_BYTES: usize = 64 << 10;
/// Number of chunks fetched ahead while a file is read in order.
const AHEAD: u64 = 3;
/// Number of attempts to read bytes of a single version.
const TRIES: usize = 3;
/// Minimum time for which a reader trusts the last answer about a file: a program that reads has
/// just asked about the file, unless it reads a mapping.
pub const MAPPED_LEAST: Duration = Duration::from_millis(100);

#[derive(Clone)]
struct Piece {
    seen: FileAnswer,
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

/// The contents of an open file, as read through one handle.
#[derive(Clone)]
pub struct Content(Arc<Shared>);

struct Shared {
    held: OpenFile,
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
        lock(&self.state)
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
    /// Creates contents of which nothing was read yet.
    pub fn new(held: OpenFile) -> Content {
        Content(Arc::new(Shared {
            held,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Returns whether the first bytes are known and current.
    pub fn is_begun(&self) -> bool {
        let last = self.0.held.last();
        let state = self.0.state();
        let first = state.chunks.get(&0);
        matches!(first, Some(Chunk::Here(piece)) if is_current(piece, last.as_ref()))
    }

    /// Returns whether it takes little memory.
    pub fn is_small(&self) -> bool {
        let state = self.0.state();
        let chunks = state.chunks.values();
        let bytes = chunks.map(|chunk| match chunk {
            Chunk::Here(piece) => piece.bytes.len(),
            Chunk::Coming | Chunk::Failed(_) => SMALL_BYTES + 1,
        });
        bytes.sum::<usize>() <= SMALL_BYTES
    }

    /// Returns whether it belongs to this open file.
    pub fn is_of(&self, held: &OpenFile) -> bool {
        self.0.held.is(held)
    }

    /// Fetches the first chunk, and returns its length.
    ///
    /// # Errors
    /// The reason why the file cannot be read; `EIO` if the server cannot be asked.
    pub fn begin(&self) -> Result<(FileAnswer, usize), Errno> {
        let piece = self.0.fetch(0)?;
        Ok((piece.seen, piece.bytes.len()))
    }

    /// Reads bytes of the file; a shorter result means its end. All bytes are of the returned
    /// version, unless the file changes all the time.
    ///
    /// # Errors
    /// The reason why the file cannot be read; `ESTALE` if it is gone; `EIO` if the server cannot
    /// be asked.
    pub fn read(&self, offset: u64, length: usize) -> Result<(Vec<u8>, FileAnswer), Errno> {
        let mut tries = TRIES;
        loop {
            let (bytes, seen, is_one) = self.read_once(offset, length)?;
            tries -= 1;
            if is_one {
                return Ok((bytes, seen));
            }
            if tries == 0 {
                let is_settled = false;
                return Ok((bytes, FileAnswer { is_settled, ..seen }));
            }
        }
    }

    /// Like [`Content::read`], but asks the server now and keeps nothing.
    ///
    /// # Errors
    /// As [`Content::read`].
    pub fn read_now(&self, offset: u64, length: usize) -> Result<(Vec<u8>, FileAnswer), Errno> {
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

    /// Reads once, and returns whether all bytes are of one version.
    fn read_once(&self, offset: u64, length: usize) -> Result<(Vec<u8>, FileAnswer, bool), Errno> {
        let mut bytes = Vec::with_capacity(length);
        let mut first = None::<FileAnswer>;
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
                    FileAnswer {
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
                    // The next reader tries again.
                    state.chunks.remove(&number);
                    return Err(errno);
                }
                Some(Chunk::Coming) => {
                    drop(wait(&shared.changed, state));
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

    /// Fetches the chunks that will be read next, and drops those that were read.
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

/// Returns whether a chunk has the file's current contents. An unsettled version may stand for
/// several contents, so its chunks count only if they were requested no earlier than the last
/// answer.
fn is_current(piece: &Piece, now: Option<&FileAnswer>) -> bool {
    now.is_some_and(|now| {
        piece.seen.version() == now.version()
            && (piece.seen.is_settled || piece.seen.asked >= now.asked)
    })
}
