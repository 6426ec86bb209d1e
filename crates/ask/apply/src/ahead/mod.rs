//! Fetches the files ahead that a running program was started with, as in `grep foo *.c`, in the
//! order of its arguments.
//!
//! [`OneByOne`] does this for commands that are run on one file after the other, [`fetch_group`] for
//! files that belong together.
//!
//! Everything happens in this process: the program's arguments are read from `/proc`, the files are
//! opened here, and the kernel is asked to read their first bytes into its cache. How far the program
//! has come is seen by which of the files it has open.
//!
//! Invariants: the program has no descriptor, thread or signal more than otherwise, and waits for
//! nothing. Only regular files are opened, and none is read, so that no access time changes. At
//! most [`Bounds`] bytes and files are fetched beyond the file that the program was last seen with.

mod arguments;
mod gate;
mod one_by_one;
mod process;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use trawl_sets::{Options, Set};

use gate::{Bounds, Files, Follows, Gate, Gated, Window};
pub use one_by_one::OneByOne;
use process::Process;

/// Maximum number of programs whose files are fetched at once; those of others are not.
const PROGRAMS_MAX: usize = 8;
/// Maximum number of requests in flight for one program.
const IN_FLIGHT: usize = 16;

/// Programs whose files are being fetched, by process id.
#[derive(Debug, Default)]
pub struct Ahead(Mutex<HashMap<i32, Arc<AtomicBool>>>);

impl Ahead {
    /// Notes that a program has started, and returns at once. A program that the process ran
    /// before is forgotten.
    pub fn started(self: &Arc<Self>, process: i32) {
        let is_over = Arc::new(AtomicBool::new(false));
        if !self.enter(process, &is_over) {
            return;
        }
        let (ahead, ends) = (Arc::clone(self), Arc::clone(&is_over));
        let work = move || {
            fetch_for(process, &ends);
            ahead.leave(process, &ends);
        };
        let thread = std::thread::Builder::new().name("fetch-ahead".into());
        if thread.spawn(work).is_err() {
            self.leave(process, &is_over);
        }
    }

    fn enter(&self, process: i32, is_over: &Arc<AtomicBool>) -> bool {
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = programs.remove(&process) {
            before.store(true, Ordering::Relaxed);
        }
        let has_room = programs.len() < PROGRAMS_MAX;
        if has_room {
            programs.insert(process, Arc::clone(is_over));
        }
        has_room
    }

    fn leave(&self, process: i32, is_over: &Arc<AtomicBool>) {
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if programs
            .get(&process)
            .is_some_and(|now| Arc::ptr_eq(now, is_over))
        {
            programs.remove(&process);
        }
    }
}

/// Fetches the files of a program, until all are, or the program has ended or `is_over` is set.
fn fetch_for(process: i32, is_over: &Arc<AtomicBool>) {
    let Some((process, arguments)) = Process::started(process) else {
        return;
    };
    let Some(directory) = process.directory() else {
        return;
    };
    let names = arguments::files(&arguments, &directory);
    let gate = Gate::new(Follows::Process(process), &names, Bounds::default());
    fetch(gate, names, is_over);
}

/// Maximum number of files of a group that are fetched at once.
pub const GROUP_FILES_MAX: usize = 512;
/// No more files of a group are begun once this many bytes of it were fetched.
pub const GROUP_BYTES_MAX: u64 = 32 << 20;

/// Fetches files of a group, one of which was opened, from the first on, and returns when the kernel
/// was asked to read them: at most [`GROUP_FILES_MAX`] files, up to 1 MiB of each, and
/// [`GROUP_BYTES_MAX`] bytes with what is in flight then.
pub fn fetch_group(names: Vec<Vec<u8>>) {
    let window = Window {
        files: GROUP_FILES_MAX,
        bytes: GROUP_BYTES_MAX,
    };
    let bounds = Bounds {
        first: window,
        then: window,
        ..Bounds::default()
    };
    let gate = Gate::new(Follows::Nobody, &names, bounds);
    fetch(gate, names, &Arc::default());
}

/// Fetches files as far as the gate lets them through.
fn fetch(gate: Gate, names: Vec<Vec<u8>>, is_over: &Arc<AtomicBool>) {
    let gate = Arc::new(gate);
    let options = Options {
        descriptors: 2 * IN_FLIGHT,
        in_flight: IN_FLIGHT,
        threads: IN_FLIGHT,
        ..Options::default()
    };
    let given = Box::new(Gated::new(Arc::clone(&gate), names, Arc::clone(is_over)));
    if let Ok(set) = Set::open(given, vec![Arc::new(Files(gate))], options) {
        // The program itself reports files that it cannot open.
        set.apply(drop);
    }
}
