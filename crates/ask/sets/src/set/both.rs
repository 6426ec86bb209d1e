//! Unions and intersections: sets whose names are the members of two others.
//!
//! The members of both operands are read as they are found, without touching their iterators. A
//! name of an intersection appears when the operand that finds it last is read: whichever entry is
//! read later sees the other one in its table.

use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

use trawl_call::request::Cancel;
use trawl_model::sync::{lock, wait_for};

use super::members::{Listener, Members, Progress, Use};
use crate::member::Problem;
use crate::source::{Found, Names};

/// How often a wait looks whether it was cancelled.
const TICK: Duration = Duration::from_millis(20);

/// Which members the set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those of either.
    Union,
    /// Those of both.
    Intersection,
}

/// Rings when one of the operands has grown.
#[derive(Default)]
struct Bell {
    count: Mutex<u64>,
    rung: Condvar,
}

impl Listener for Bell {
    fn grown(self: Arc<Self>) {
        *lock(&self.count) += 1;
        self.rung.notify_all();
    }
}

/// The names of a union or an intersection.
pub(crate) struct Both {
    kind: Kind,
    operands: [Use; 2],
    read: [usize; 2],
    turn: usize,
    bell: Arc<Bell>,
    is_listening: bool,
}

impl Both {
    pub(crate) fn new(kind: Kind, left: Use, right: Use) -> Both {
        Both {
            kind,
            operands: [left, right],
            read: [0; 2],
            turn: 0,
            bell: Arc::default(),
            is_listening: false,
        }
    }

    fn members(&self, side: usize) -> &Arc<Members> {
        self.operands[side].members()
    }

    fn listen(&mut self) {
        self.is_listening = true;
        let bell: Arc<dyn Listener> = self.bell.clone();
        for side in 0..2 {
            self.members(side)
                .listen(Weak::clone(&Arc::downgrade(&bell)));
            self.members(side).expand_in_background();
        }
    }

    /// Returns the next entry of this side that belongs to the set, if there is one by now.
    fn read(&mut self, side: usize, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        while !cancel.is_cancelled()
            && let Some(entry) = self.members(side).describe(self.read[side])
        {
            self.read[side] += 1;
            match entry {
                Err(problem) => return Some(Err(super::again(&problem))),
                Ok(found) => {
                    let other = self.members(1 - side);
                    if self.kind == Kind::Union || other.contains(&found.name) {
                        return Some(Ok(found));
                    }
                }
            }
        }
        None
    }
}

impl Names for Both {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        if !self.is_listening {
            self.listen();
        }
        while !cancel.is_cancelled() {
            let heard = *lock(&self.bell.count);
            let progress = [0, 1].map(|side| self.members(side).progress(self.read[side]));
            self.turn = 1 - self.turn;
            for side in [self.turn, 1 - self.turn] {
                if let Some(entry) = self.read(side, cancel) {
                    return Some(entry);
                }
            }
            if progress == [Progress::Ended; 2] {
                return None;
            }
            if let Some(side) = (0..2).find(|side| progress[*side] == Progress::Idle) {
                self.members(side).pull();
                continue;
            }
            let count = lock(&self.bell.count);
            if *count == heard {
                drop(wait_for(&self.bell.rung, count, TICK));
            }
        }
        None
    }
}
