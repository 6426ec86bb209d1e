//! Output of commands that run at once: each is kept in a temporary file and written whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::{Condvar, Mutex};

use trawl_model::sync::{lock, wait};

/// Number of outputs that may wait for their turn, each with a descriptor.
const WAITING_MAX: usize = 128;

/// Where whole outputs go.
pub(crate) struct Writer<'w> {
    is_ordered: bool,
    state: Mutex<State<'w>>,
    written: Condvar,
}

struct State<'w> {
    sink: &'w mut (dyn Write + Send),
    next: u64,
    /// `None` for a command without output.
    waiting: BTreeMap<u64, Option<File>>,
    is_closed: bool,
}

impl<'w> Writer<'w> {
    pub(crate) fn new(sink: &'w mut (dyn Write + Send), is_ordered: bool) -> Writer<'w> {
        Writer {
            is_ordered,
            state: Mutex::new(State {
                sink,
                next: 0,
                waiting: BTreeMap::new(),
                is_closed: false,
            }),
            written: Condvar::new(),
        }
    }

    /// Writes the output of the command with this number, from 0: now, or when those before it have
    /// been written.
    pub(crate) fn put(&self, number: u64, output: Option<File>) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !self.is_ordered {
            return state.copy(output);
        }
        while !state.is_closed && number != state.next && state.waiting.len() >= WAITING_MAX {
            state = wait(&self.written, state);
        }
        state.waiting.insert(number, output);
        loop {
            let next = state.next;
            let Some(output) = state.waiting.remove(&next) else {
                break;
            };
            state.copy(output)?;
            state.next += 1;
        }
        self.written.notify_all();
        Ok(())
    }

    /// Lets nobody wait any more.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.written.notify_all();
    }
}

impl State<'_> {
    fn copy(&mut self, output: Option<File>) -> io::Result<()> {
        let Some(mut file) = output else {
            return Ok(());
        };
        file.rewind()?;
        io::copy(&mut file, &mut self.sink)?;
        self.sink.flush()
    }
}

/// Returns a file for the output of a command: without a name in `TMPDIR`, so that the system may
/// write large outputs to disk; in memory where that is impossible.
pub(crate) fn file() -> io::Result<File> {
    let file = trawl_sys::file::unnamed_temporary(&std::env::temp_dir());
    let file = file.or_else(|_| trawl_sys::file::nowhere(c"trawl-set-output"));
    file.map_err(|error| io::Error::from_raw_os_error(error.errno.0))
}
