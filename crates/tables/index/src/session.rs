//! Supplies the names for one table.

use std::sync::Arc;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use trawl_query::DecodedListings;
use trawl_table_service::{Begun, Demand, Name, Names, WantedDirectory};

use crate::Use;
use crate::asking::{Asking, Coming};
use crate::reading::Reading;

/// Number of directories of a table that are listed before the daemon is asked. A barrier and
/// opening the index take some 5 ms of CPU time; each name lookup then saves 2 to 3 µs per
/// directory. A walk that has come this far may well continue as far again.
const DIRECTORIES_MIN: u32 = 2048;

/// Directories with more names are listed: for these the kernel is cheaper.
const NAMES_MAX: u64 = 256;
/// Maximum average time per directory; beyond it the index is not asked further. Its pages may be
/// arranged so that many are decoded for each directory.
const TIME_EACH: Duration = Duration::from_micros(40);
/// Number of directories before the average time is checked.
const TOLD_MIN: u32 = 128;

/// The names for one table.
pub(crate) struct Session {
    asking: Arc<Asking>,
    demand: Demand,
    begun: Begun,
    /// Number of requested directories.
    wanted: u32,
    state: State,
    decoded: Option<DecodedListings>,
    as_of_ns: Option<i64>,
    /// Number of directories looked up in the index, and the time that took.
    told: u32,
    took: Duration,
}

enum State {
    /// The daemon was not asked yet.
    Quiet,
    Asked(Coming),
    Known(Arc<Reading>),
    /// The index has nothing to offer.
    Unknown,
}

impl Session {
    pub(crate) fn begin(asking: &Arc<Asking>, demand: &Demand, begun: Begun) -> Session {
        let last = asking.last(demand, begun);
        Session {
            asking: Arc::clone(asking),
            demand: demand.clone(),
            begun,
            wanted: 0,
            state: last.map_or(State::Quiet, State::Known),
            decoded: None,
            as_of_ns: None,
            told: 0,
            took: Duration::ZERO,
        }
    }

    fn reading(&mut self) -> Option<Arc<Reading>> {
        self.wanted += 1;
        let least = match self.asking.when {
            Use::Automatic => DIRECTORIES_MIN,
            Use::Always => 0,
        };
        if matches!(self.state, State::Quiet) && self.wanted > least {
            let coming = self.asking.ask(&self.demand, self.begun);
            self.state = coming.map_or(State::Unknown, State::Asked);
        }
        if let State::Asked(coming) = &self.state {
            let came = match self.asking.when {
                Use::Automatic => coming.try_recv(),
                Use::Always => {
                    let came = self.asking.wait(&self.demand, coming);
                    came.ok_or(TryRecvError::Disconnected)
                }
            };
            match came {
                Ok(reading) => self.state = State::Known(reading),
                Err(TryRecvError::Disconnected) => self.state = State::Unknown,
                Err(TryRecvError::Empty) => {}
            }
        }
        match &self.state {
            State::Known(reading) => Some(Arc::clone(reading)),
            _ => None,
        }
    }
}

impl Names for Session {
    fn names(&mut self, wanted: &WantedDirectory<'_>) -> Option<Vec<Name>> {
        let reading = self.reading()?;
        let is_always = self.asking.when == Use::Always;
        let names_max = if is_always { u64::MAX } else { NAMES_MAX };
        let begun = Instant::now();
        let names = reading.names(wanted, &mut self.decoded, names_max);
        self.took += begun.elapsed();
        self.told += 1;
        if !is_always && self.told >= TOLD_MIN && self.took > TIME_EACH * self.told {
            self.state = State::Unknown;
        }
        if names.is_some() {
            self.as_of_ns = Some(reading.begun_ns);
        }
        names
    }

    fn as_of_ns(&self) -> Option<i64> {
        self.as_of_ns
    }
}
