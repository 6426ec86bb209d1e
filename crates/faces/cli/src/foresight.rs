//! Files that `find -exec` runs commands on are fetched ahead of them.

use std::sync::{Arc, LazyLock};

use trawl_apply::{Ahead, OneByOne};
use trawl_find::foresight::Foresight;

/// Fetches the files ahead that a command has been given, in the order of its arguments.
pub(crate) fn of_arguments(process: i32) {
    static AHEAD: LazyLock<Arc<Ahead>> = LazyLock::new(Arc::default);
    AHEAD.started(process);
}

/// Returns what fetches files ahead of commands that are run on one after the other.
pub(crate) fn of_turns() -> Option<Box<dyn Foresight>> {
    Some(Box::new(Turns(OneByOne::default())))
}

#[derive(Debug)]
struct Turns(OneByOne);

impl Foresight for Turns {
    fn may_read(&self, program: &[u8]) -> bool {
        OneByOne::may_read(program)
    }

    fn coming(&mut self, files: Vec<Vec<u8>>) {
        self.0.coming(files);
    }

    fn before(&mut self, position: usize) {
        self.0.before(position);
    }

    fn after(&mut self, position: usize) {
        self.0.after(position);
    }
}
