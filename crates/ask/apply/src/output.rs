//! Output of commands that run at once: each is kept in a temporary file and written whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use trawl_model::sync::{lock, wait_for};

/// Number of outputs that may wait for their turn, each with a descriptor.
const WAITING_MAX: usize = 128;

/// Time after which a waiting command looks whether it should go on waiting.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Where whole outputs go.
pub(crate) struct Writer<'w> {
    is_ordered: bool,
    state: Mutex<State<'w>>,
    written: Condvar,
    /// Not in the state: whoever writes holds its lock, and may wait for the reader of the output.
    is_closed: AtomicBool,
}

struct State<'w> {
    sink: &'w mut (dyn Write + Send),
    next: u64,
    /// `None` for a command without output.
    waiting: BTreeMap<u64, Option<File>>,
}

impl<'w> Writer<'w> {
    pub(crate) fn new(sink: &'w mut (dyn Write + Send), is_ordered: bool) -> Writer<'w> {
        Writer {
            is_ordered,
            state: Mutex::new(State {
                sink,
                next: 0,
                waiting: BTreeMap::new(),
            }),
            written: Condvar::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Writes the output of the command with this number, from 0: now, or when those before it have
    /// been written.
    pub(crate) fn put(&self, number: u64, output: Option<File>) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !self.is_ordered {
            return state.copy(output);
        }
        while !self.is_closed.load(Ordering::Acquire)
            && number != state.next
            && state.waiting.len() >= WAITING_MAX
        {
            // `close` does not take the lock, so it may come between the test and the wait.
            state = wait_for(&self.written, state, LOOK_AGAIN);
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
        self.is_closed.store(true, Ordering::Release);
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
