//! Runs a command for many entries: `-exec … {} +`. Always true; the exit code
//! shows that a command failed.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard};

use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_sys::command::Input;

use super::beside::Beside;
use super::launch::{Outcome, launch};
use super::{Where, single, words};
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::{Effect, Leaf};
use trawl_sys::command::Limits;

/// Message for an argument that fits into no command.
const TOO_LONG: &str = "can not fit single argument within argument list size limit";

/// Number of arguments from which on others are told of a command's start.
const MANY: usize = 8;

/// A command that collects arguments.
#[derive(Debug)]
pub(super) struct Batch {
    /// The words before the arguments.
    first: Vec<OsString>,
    first_bytes: usize,
    place: Where,
    limits: Limits,
    pending: Mutex<Pending>,
}

/// The arguments collected so far.
#[derive(Debug, Default)]
struct Pending {
    words: Vec<OsString>,
    bytes: usize,
    /// The directory that the command will run in; find's own directory if
    /// `None`.
    dir: Option<OwnedFd>,
    /// The path of that directory, as printed.
    dir_path: Vec<u8>,
    /// The depth of the arguments below the start point.
    depth: usize,
}

impl Batch {
    pub(super) fn new(
        first: Vec<Vec<u8>>,
        place: Where,
        limits: Limits,
    ) -> Result<Batch, FindError> {
        let first_bytes = bytes_of(first.iter().map(Vec::len));
        if first_bytes > limits.bytes {
            return Err(FindError::bad("-exec", TOO_LONG));
        }
        Ok(Batch {
            first: first.iter().map(|word| words::as_it_is(word)).collect(),
            first_bytes,
            place,
            limits,
            pending: Mutex::default(),
        })
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }

    /// Runs the command with the arguments collected so far, if there are any.
    fn run(&self, pending: &mut Pending, cx: &mut Context<'_>) {
        let Pending { words, dir, .. } = std::mem::take(pending);
        if words.is_empty() {
            return;
        }
        let started = match words.len() {
            MANY.. => cx.world.started,
            _ => |_| {},
        };
        let words = [&self.first[..], &words].concat();
        let dir = dir.as_ref().map(AsFd::as_fd);
        if launch(&words, dir, Input::Inherited, started, cx) == Outcome::Failure {
            cx.failed = true;
        }
    }

    /// Adds an argument. If the command is full, runs it before or after
    /// adding.
    fn add(&self, pending: &mut Pending, word: &[u8], cx: &mut Context<'_>) {
        let bytes = word.len() + 1;
        if self.first_bytes + pending.bytes + bytes > self.limits.bytes {
            if pending.words.is_empty() {
                cx.complain(TOO_LONG);
                cx.quit = true;
                return;
            }
            let again = pending.again();
            self.run(pending, cx);
            *pending = again;
        }
        pending.words.push(words::as_it_is(word));
        pending.bytes += bytes;
        if self.first.len() + pending.words.len() >= self.limits.words {
            self.run(pending, cx);
        }
    }

    /// Switches to the directory of this row, and returns the name of the row's
    /// entry there. Returns `None` if the directory cannot be opened.
    fn enter(
        &self,
        pending: &mut Pending,
        row: &Row<'_>,
        path: &[u8],
        cx: &mut Context<'_>,
    ) -> Option<Vec<u8>> {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let dir_path = &path[..slash.map_or(0, |at| at + 1)];
        if cx.is_at_start() || pending.dir_path != dir_path {
            self.run(pending, cx);
        }
        if !pending.words.is_empty() {
            return Some([b"./", row.name()].concat());
        }
        match Beside::of(row, path, cx) {
            Ok(beside) => {
                pending.dir = beside.dir;
                pending.dir_path = dir_path.to_vec();
                pending.depth = cx.depth;
                Some(beside.name)
            }
            Err(error) => {
                single::complain(path, &error.into(), cx);
                None
            }
        }
    }
}

impl Pending {
    /// Returns the same place without arguments.
    fn again(&self) -> Pending {
        Pending {
            dir: self.dir.as_ref().and_then(|dir| dir.try_clone().ok()),
            dir_path: self.dir_path.clone(),
            depth: self.depth,
            ..Pending::default()
        }
    }
}

impl Leaf for Batch {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let pending = &mut *self.pending();
        cx.acted = true;
        match self.place {
            Where::Start => self.add(pending, &path, cx),
            Where::Beside => {
                if let Some(name) = self.enter(pending, row, &path, cx) {
                    self.add(pending, &name, cx);
                }
            }
        }
        true
    }

    fn effect(&self) -> Effect {
        Effect::Change
    }

    fn move_on(&self, depth: usize, cx: &mut Context<'_>) {
        let pending = &mut *self.pending();
        if self.place == Where::Beside && (depth == 0 || depth != pending.depth) {
            self.run(pending, cx);
        }
    }

    fn finish(&self, cx: &mut Context<'_>) {
        if self.place == Where::Start {
            self.run(&mut self.pending(), cx);
        }
    }
}

/// Total size in bytes of words of these lengths, each with its NUL.
fn bytes_of(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.map(|length| length + 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::error_of;

    #[test]
    fn what_never_fits_is_refused() {
        let long = "x".repeat(200 << 10);
        assert_eq!(error_of(&format!("-exec echo {long} {{}} +")), TOO_LONG);
        assert_eq!(bytes_of([4, 0].into_iter()), 6);
        let limits = Limits { bytes: 6, words: 9 };
        let words = || vec![b"echo".to_vec(), Vec::new()];
        assert!(Batch::new(words(), Where::Start, limits).is_ok());
        let limits = Limits { bytes: 5, words: 9 };
        assert!(Batch::new(words(), Where::Start, limits).is_err());
    }
}
