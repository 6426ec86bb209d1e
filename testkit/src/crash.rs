//! Kills a writer at each of its crash points in turn.
//!
//! A program built with debug assertions counts its crash points (each sync, each rename) and
//! aborts at the one whose number [`VARIABLE`] holds, counting from 1. [`at_each_point`] runs it
//! with 1, 2, 3 … until it reaches its end, and lets the test inspect the state that each crash
//! leaves.

use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::oracle::{Ran, run};

/// The environment variable that holds the number of the fatal point.
pub const VARIABLE: &str = "TRAWL_CRASH_AT";

/// More points than any program under test has: a program that passes this limit never ends.
const MOST_POINTS: u32 = 10_000;

const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;

/// Result of running a program with a crash at each of its points.
#[derive(Clone, Debug)]
pub struct Crashes {
    /// Number of points at which it died. 0 means that it has none: was it built without debug
    /// assertions?
    pub points: u32,
    /// The run that reached its end.
    pub last: Ran,
}

/// Runs the command that `prepare` makes for each point (restoring the files if needed) and calls
/// `inspect` after each crash, until a run ends by itself.
///
/// # Panics
/// If a run dies of anything but an abort or a kill, or if it never ends.
#[track_caller]
pub fn at_each_point(
    mut prepare: impl FnMut(u32) -> Command,
    mut inspect: impl FnMut(u32, &Ran),
) -> Crashes {
    // A thousand aborts need no core files. A failure to disable them does no harm.
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    );
    for point in 1..=MOST_POINTS {
        let ran = run(prepare(point).env(VARIABLE, point.to_string()));
        match ran.signal {
            None => {
                return Crashes {
                    points: point - 1,
                    last: ran,
                };
            }
            Some(SIGABRT | SIGKILL) => inspect(point, &ran),
            Some(_) => panic!("died of the wrong signal at crash point {point}: {ran}"),
        }
    }
    panic!("still dying after {MOST_POINTS} crash points");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::command;

    #[test]
    fn every_point_is_visited_once_and_the_end_is_seen() {
        let script = "for n in 1 2 3; do [ $n != $TRAWL_CRASH_AT ] || kill -ABRT $$; done; exit 1";
        let mut seen = Vec::new();
        let crashes = at_each_point(
            |_| {
                let mut shell = command("sh");
                shell.args(["-c", script]);
                shell
            },
            |point, _| seen.push(point),
        );
        assert_eq!((crashes.points, crashes.last.code), (3, Some(1)));
        assert_eq!(seen, [1, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "wrong signal")]
    fn another_death_is_a_failure() {
        at_each_point(
            |_| {
                let mut shell = command("sh");
                shell.args(["-c", "kill -SEGV $$"]);
                shell
            },
            |_, _| {},
        );
    }
}
