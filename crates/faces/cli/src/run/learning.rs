//! `trawl run --learn`.

use std::time::{SystemTime, UNIX_EPOCH};

use trawl_relations::Place;
use trawl_run::RunError;

use super::{FAILED, RunArgs, teller};
use crate::exit::Exit;
use crate::output::say;

/// Runs the command, and adds what its programs did to the user's access graph.
pub(super) fn run(args: &RunArgs) -> Exit {
    // Where nothing can be kept, nothing is run.
    let place = match Place::of_process() {
        Ok(place) => place,
        Err(error) => {
            say(error);
            return FAILED;
        }
    };
    let (code, accesses) = match trawl_run::learning::run(&args.command, &teller()) {
        Ok(ended) => ended,
        Err(error @ RunError::Usage(_)) => {
            say(format_args!("{error}; run the command without --learn"));
            return FAILED;
        }
        Err(error) => {
            say(error);
            return FAILED;
        }
    };
    if accesses.lost > 0 {
        let lost = accesses.lost;
        say(format_args!(
            "{lost} accesses were not recorded: beyond the limits, or while a file system did not answer"
        ));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    });
    if let Err(error) = place.change(|graph| graph.learn(&accesses, now_ns)) {
        say(error);
        return if code == 0 {
            FAILED
        } else {
            Exit::Command(code)
        };
    }
    Exit::Command(code)
}
