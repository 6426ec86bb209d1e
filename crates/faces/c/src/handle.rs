//! The implementation of `TRAWL_SEARCH`: a running search, and which calls on it may overlap.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::{AsFd, RawFd};
use std::sync::{Mutex, MutexGuard, TryLockError};

use trawl_call::search::{Filled, Rest};
use trawl_call::waiter::Waiter;
use trawl_call::{CallError, Cancel, Cookie, Search, ServedBy};
use trawl_sys::wait::readable;

use crate::entry::Entry;
use crate::failure::{BROKEN, BUSY, FOREIGN, Failure, INTERRUPTED};
use crate::fork;
use crate::layout::trawl_searchent;

/// A running search. Only [`Handle::cancel`] may be called while another thread is in a call.
pub struct Handle {
    cancel: Cancel,
    /// Identifies the process that opened it.
    generation: u64,
    state: Mutex<State>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

struct State {
    /// The search; `None` while the helper thread has it.
    search: Option<Search>,
    helper: Option<Waiter<Search>>,
    entry: Entry,
    /// Position after the last record returned, while the helper thread has the search.
    place: Cookie,
    served_by: Option<ServedBy>,
    is_at_end: bool,
    /// Signals end waits: the helper thread does all waiting.
    is_interruptible: bool,
    /// The errno of the error that ended the search early.
    failed: Option<c_int>,
    text: CString,
}

impl Handle {
    pub(crate) fn new(search: Search) -> Handle {
        Handle {
            cancel: search.cancel(),
            generation: fork::generation(),
            state: Mutex::new(State {
                place: search.cookie(),
                search: Some(search),
                helper: None,
                entry: Entry::new(),
                served_by: None,
                is_at_end: false,
                is_interruptible: false,
                failed: None,
                text: CString::default(),
            }),
        }
    }

    /// Creates a handle whose waits end when a signal is handled. Call it with all signals blocked.
    pub(crate) fn interruptible(search: Search) -> Result<Handle, Failure> {
        let mut handle = Handle::new(search);
        let state = match handle.state.get_mut() {
            Ok(state) => state,
            Err(poisoned) => poisoned.into_inner(),
        };
        state.is_interruptible = true;
        state.helper = Some(Waiter::start()?);
        state.settle(Next::Record);
        Ok(handle)
    }

    /// Cancels the search, from any thread and from signal handlers: it only sets an atomic flag.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Returns the next record; `None` at the end.
    pub(crate) fn read(&self) -> Result<Option<*mut trawl_searchent>, c_int> {
        self.go_on(State::read)
    }

    /// Writes whole records to a buffer.
    pub(crate) fn fill(&self, buffer: &mut [u8]) -> Result<Filled, c_int> {
        self.go_on(|state| state.fill(buffer))
    }

    /// Returns a descriptor that is readable while something can be read without waiting.
    pub(crate) fn descriptor(&self) -> Result<RawFd, c_int> {
        let mut state = self.lock().map_err(|(errno, _)| errno)?;
        match state.descriptor() {
            Ok(descriptor) => Ok(descriptor),
            Err(failure) => {
                // The search itself goes on.
                state.text = failure.text;
                Err(failure.errno)
            }
        }
    }

    /// Returns the cookie of the search's position, also after an error.
    pub(crate) fn cookie(&self) -> Result<Vec<u8>, c_int> {
        let state = self.lock().map_err(|(errno, _)| errno)?;
        Ok(state.cookie())
    }

    /// Copies the cookie and returns its length. An empty buffer only asks for the length; one that
    /// is too short gives `ERANGE`.
    pub(crate) fn copy_cookie(&self, buffer: &mut [u8]) -> Result<usize, c_int> {
        let mut state = self.lock().map_err(|(errno, _)| errno)?;
        let cookie = state.cookie();
        if buffer.is_empty() {
            return Ok(cookie.len());
        }
        let Some(room) = buffer.get_mut(..cookie.len()) else {
            let failure = Failure::no_room(cookie.len());
            // The search itself goes on.
            state.text = failure.text;
            return Err(failure.errno);
        };
        room.copy_from_slice(&cookie);
        Ok(cookie.len())
    }

    /// Returns who gave the last record.
    pub(crate) fn served_by(&self) -> Result<Option<ServedBy>, c_int> {
        let state = self.lock().map_err(|(errno, _)| errno)?;
        Ok(state.served_by)
    }

    /// Returns the text of the last error.
    pub(crate) fn text(&self) -> *const c_char {
        match self.lock() {
            Ok(state) => state.text.as_ptr(),
            Err((_, text)) => text.as_ptr(),
        }
    }

    /// Closes the search. In a child of fork(2), which has the search's memory and descriptors but
    /// not its threads, the memory stays allocated.
    pub(crate) fn close(self: Box<Handle>) {
        self.cancel();
        if self.generation != fork::generation() {
            std::mem::forget(self);
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, (c_int, &'static CStr)> {
        if self.generation != fork::generation() {
            return Err((libc::EINVAL, FOREIGN));
        }
        self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => (libc::EBUSY, BUSY),
            TryLockError::Poisoned(_) => (libc::EIO, BROKEN),
        })
    }

    /// Runs a step that returns records. After a failure every further call fails the same way.
    fn go_on<T>(&self, step: impl FnOnce(&mut State) -> Result<T, Stop>) -> Result<T, c_int> {
        let mut state = self.lock().map_err(|(errno, _)| errno)?;
        if let Some(errno) = state.failed {
            return Err(errno);
        }
        let done = match self.cancel.is_cancelled() && !state.is_at_end {
            true => Err(CallError::Cancelled.into()),
            false => step(&mut state),
        };
        done.map_err(|stop| match stop {
            // The signal's handler cancelled the search.
            Stop::Interrupted if self.cancel.is_cancelled() => {
                state.stop(CallError::Cancelled.into())
            }
            stop => state.stop(stop),
        })
    }
}

/// Why a step returns nothing.
enum Stop {
    /// The search ended early.
    Failed(CallError),
    /// A signal was handled; the search goes on.
    Interrupted,
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Stop {
        Stop::Failed(error)
    }
}

/// The next result that callers expect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Record,
    End,
}

impl State {
    fn read(&mut self) -> Result<Option<*mut trawl_searchent>, Stop> {
        let search = self.search()?;
        let is_record = search.advance()?;
        let Some(search) = &self.search else {
            return Err(lost().into());
        };
        if let Some(record) = search.record()? {
            self.entry.set(&record);
        }
        self.settle(match is_record {
            true => Next::Record,
            false => Next::End,
        });
        Ok(is_record.then(|| self.entry.seen()))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled, Stop> {
        // A polling caller does not wait here.
        let is_polled = self.helper.is_some();
        let search = self.search()?;
        let filled = match is_polled {
            true => search.fill_ready(buffer)?,
            false => search.fill(buffer)?,
        };
        self.settle(match filled.rest {
            Rest::Nothing => Next::End,
            Rest::More { .. } => Next::Record,
        });
        Ok(filled)
    }

    /// Returns the search, and takes it back from the helper thread first if necessary.
    fn search(&mut self) -> Result<&mut Search, Stop> {
        if self.search.is_none() {
            if self.is_interruptible {
                self.wait()?;
            }
            self.search = self.helper.as_ref().and_then(Waiter::take_back);
        }
        self.search.as_mut().ok_or_else(|| lost().into())
    }

    /// Waits until the helper thread is done, or a signal was handled.
    fn wait(&self) -> Result<(), Stop> {
        let Some(helper) = &self.helper else {
            return Ok(());
        };
        let failed = |error: trawl_sys::SysError| {
            CallError::Thread(std::io::Error::from_raw_os_error(error.errno.0))
        };
        match readable([helper.as_fd()], None).map_err(failed)? {
            [true] => Ok(()),
            [false] => Err(Stop::Interrupted),
        }
    }

    /// Updates the state after a step. If the next record has to be waited for, hands the search to
    /// the helper thread.
    fn settle(&mut self, next: Next) {
        self.is_at_end = next == Next::End;
        let Some(search) = &self.search else { return };
        self.served_by = search.served_by();
        let Some(helper) = &self.helper else { return };
        if self.is_at_end {
            helper.make_readable();
        } else if search.is_waiting() {
            self.place = search.cookie();
            if let Some(search) = self.search.take() {
                helper.hand_over(move || {
                    let mut search = search;
                    search.wait();
                    search
                });
            }
        }
    }

    fn stop(&mut self, stop: Stop) -> c_int {
        match stop {
            Stop::Failed(error) => self.fail(error.into()),
            Stop::Interrupted => {
                self.text = INTERRUPTED.to_owned();
                libc::EINTR
            }
        }
    }

    fn cookie(&self) -> Vec<u8> {
        match &self.search {
            Some(search) => search.cookie().to_bytes(),
            None => self.place.to_bytes(),
        }
    }

    fn fail(&mut self, failure: Failure) -> c_int {
        self.failed = Some(failure.errno);
        self.text = failure.text;
        if let Some(helper) = &self.helper {
            helper.make_readable();
        }
        failure.errno
    }

    fn descriptor(&mut self) -> Result<RawFd, Failure> {
        if let Some(helper) = &self.helper {
            return Ok(helper.descriptor());
        }
        let helper = Waiter::start()?;
        let descriptor = helper.descriptor();
        helper.make_readable();
        self.helper = Some(helper);
        if !self.is_at_end && self.failed.is_none() {
            self.settle(Next::Record);
        }
        Ok(descriptor)
    }
}

/// The error for a search that was lost because the helper thread panicked.
fn lost() -> CallError {
    CallError::Thread(std::io::Error::from_raw_os_error(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::BorrowedFd;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use trawl_call::executor::{Block, Executor, Stream};
    use trawl_call::packed::encode;
    use trawl_call::{Options, Outcome, Pattern, RecordRef, Request};

    /// Steps of a stream; the test sends each one when it is due.
    enum Act {
        Give(&'static [&'static str]),
        Fail,
        Panic,
    }

    struct Acts(Mutex<Option<Receiver<Act>>>);

    struct Play(Receiver<Act>);

    impl Executor for Acts {
        fn begin(&self, _: Request) -> Result<Box<dyn Stream>, CallError> {
            let acts = self.0.lock().unwrap().take().unwrap();
            Ok(Box::new(Play(acts)))
        }
    }

    impl Stream for Play {
        fn next_block(&mut self) -> Result<Option<Block>, CallError> {
            match self.0.recv() {
                Err(_) => Ok(None),
                Ok(Act::Fail) => Err(lost()),
                Ok(Act::Panic) => panic!("as the test says"),
                Ok(Act::Give(paths)) => {
                    let mut packed = Vec::new();
                    for path in paths {
                        let record = RecordRef {
                            root: 0,
                            path: path.as_bytes(),
                            outcome: Outcome::Match(None),
                        };
                        encode(&record, &mut packed);
                    }
                    let served_by = ServedBy::Live;
                    Ok(Some(Block { served_by, packed }))
                }
            }
        }
    }

    fn begin() -> (Sender<Act>, Box<Handle>) {
        let (acts, executor) = channel();
        let pattern = Pattern::new(b"*", Default::default()).unwrap();
        let request = Request::new(&pattern, &["/"], Options::default()).unwrap();
        let executor = Acts(Mutex::new(Some(executor)));
        let search = Search::open(&executor, request).unwrap();
        (acts, Box::new(Handle::new(search)))
    }

    fn is_readable(descriptor: RawFd, wait: Option<Duration>) -> bool {
        // SAFETY: the handle is open.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        readable([descriptor], wait).unwrap()[0]
    }

    fn path(handle: &Handle) -> Option<String> {
        let entry = handle.read().unwrap()?;
        // SAFETY: the handle keeps the path until the next call.
        let path = unsafe { CStr::from_ptr((*entry).path) };
        Some(path.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_descriptor_is_readable_when_a_record_is_there() {
        let (acts, handle) = begin();
        let descriptor = handle.descriptor().unwrap();
        let now = Some(Duration::ZERO);
        for round in 0..50 {
            assert!(!is_readable(descriptor, now), "{round}");
            acts.send(Act::Give(&["one", "two"])).unwrap();
            assert!(is_readable(descriptor, None));
            assert_eq!(path(&handle).as_deref(), Some("one"));
            // The second record is ready, too.
            assert!(is_readable(descriptor, now));
            let here = handle.cookie().unwrap();
            assert_eq!(path(&handle).as_deref(), Some("two"));
            assert_ne!(handle.cookie().unwrap(), here);
        }
        // A caller that does not poll waits.
        acts.send(Act::Give(&["three"])).unwrap();
        assert_eq!(path(&handle).as_deref(), Some("three"));
        assert!(!is_readable(descriptor, now));
        drop(acts);
        assert!(is_readable(descriptor, None));
        assert_eq!(path(&handle), None);
        assert!(is_readable(descriptor, now));
        handle.close();
    }

    #[test]
    fn a_polled_buffer_gets_what_is_there() {
        let (acts, handle) = begin();
        let descriptor = handle.descriptor().unwrap();
        acts.send(Act::Give(&["one", "two"])).unwrap();
        let filled = handle.fill(&mut [0; 1000]).unwrap();
        let least = trawl_call::packed::LENGTH_MIN;
        assert_eq!(filled.records, 2);
        assert_eq!(filled.rest, Rest::More { next_bytes: least });
        assert!(!is_readable(descriptor, Some(Duration::ZERO)));
        drop(acts);
        assert_eq!(handle.fill(&mut [0; 1000]).unwrap().rest, Rest::Nothing);
    }

    #[test]
    fn what_was_read_before_an_error_is_given_first() {
        let (acts, handle) = begin();
        acts.send(Act::Give(&["one"])).unwrap();
        acts.send(Act::Fail).unwrap();
        let filled = handle.fill(&mut [0; 1000]).unwrap();
        assert_eq!(filled.records, 1);
        assert_ne!(filled.rest, Rest::Nothing);
        for _ in 0..2 {
            assert_eq!(handle.fill(&mut [0; 1000]), Err(libc::EIO));
            assert_eq!(handle.read(), Err(libc::EIO));
        }
    }

    #[test]
    fn a_panic_leaves_a_handle_that_fails_and_can_be_closed() {
        let (acts, handle) = begin();
        acts.send(Act::Panic).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| handle.read())).is_err());
        assert_eq!(handle.read(), Err(libc::EIO));
        // SAFETY: the text belongs to the library.
        assert_eq!(unsafe { CStr::from_ptr(handle.text()) }, BROKEN);
        handle.close();

        let (acts, handle) = begin();
        let descriptor = handle.descriptor().unwrap();
        acts.send(Act::Panic).unwrap();
        assert!(is_readable(descriptor, None));
        assert_eq!(handle.read(), Err(libc::EIO));
        assert_eq!(handle.read(), Err(libc::EIO));
        handle.close();
    }
}
