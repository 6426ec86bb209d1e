//! The calls that programs have recorded so far.

use std::collections::BTreeMap;

use trawl_histogram::{Counts, Histogram, Profile};
use trawl_profile_mapping::calls::NAMES;
use trawl_profile_mapping::layout::{
    DROPPED_AT, ENTRY_STATE_AT, NAME_BYTES_MAX, NEXT_AT, REGION_NAME_AT, REGION_NAME_BYTES_AT,
    REGION_PROCESS_AT, REGION_THREAD_AT, STATE_MASK, STATE_NEW,
};

use crate::block::{self, Block};
use crate::{Session, Threads};

/// The calls that programs have recorded so far. Each profile satisfies [`Profile::check`].
#[derive(Clone, Debug)]
pub struct Reading {
    /// All programs together, with the calls that were dropped because all regions were in use.
    pub whole: Profile,
    /// For each program, by the name of its file.
    pub programs: BTreeMap<String, Profile>,
    /// For each thread, if the session tells them apart; in the order of their first calls.
    pub threads: Vec<Thread>,
    /// Calls that were dropped because all regions were in use.
    pub without_region: u64,
    /// Regions that were given out.
    pub regions: usize,
    /// Counts of which a part was derived, because their thread was killed or did not pause while
    /// they changed.
    pub derived: u64,
    /// Operations left out because their counts contradict each other.
    pub damaged: Vec<Damage>,
}

/// The profile of one thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The name of its program's file.
    pub program: String,
    /// Process id, in the program's PID namespace.
    pub process: u32,
    /// Thread id, likewise.
    pub thread: u32,
    /// Its calls.
    pub profile: Profile,
}

/// Counts that contradict themselves: the program has overwritten them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The program.
    pub program: String,
    /// The operation.
    pub operation: &'static str,
    /// The contradiction.
    pub cause: String,
}

impl Session {
    /// Returns what programs have recorded until now. It may be called at any time, also while they
    /// run.
    pub fn read(&self) -> Reading {
        let given_out = usize::try_from(self.word(NEXT_AT)).unwrap_or(usize::MAX);
        let mut reading = Reading {
            whole: self.empty(),
            programs: BTreeMap::new(),
            threads: Vec::new(),
            without_region: 0,
            regions: given_out.min(self.layout.regions()),
            derived: 0,
            damaged: Vec::new(),
        };
        for region in 0..reading.regions {
            let state = self.word(self.layout.entry(region) + ENTRY_STATE_AT) & STATE_MASK;
            if state != STATE_NEW {
                self.read_region(region, &mut reading);
            }
        }
        for (number, name) in NAMES.iter().enumerate() {
            let dropped = self.word(DROPPED_AT + number);
            if dropped > 0 {
                self.add_dropped(name, dropped, &mut reading);
            }
        }
        reading
    }

    fn empty(&self) -> Profile {
        let mut profile = Profile::new(self.unit(), self.resolution);
        "user".clone_into(&mut profile.layer);
        profile
    }

    /// Adds a thread's counts to the reading.
    fn read_region(&self, region: usize, reading: &mut Reading) {
        let program = self.program(region);
        let mut profile = self.empty();
        for (number, name) in NAMES.iter().enumerate() {
            let words = self.some_words(self.layout.block_range(region, number));
            let Some(block) = block::read(words, self.resolution) else {
                continue;
            };
            reading.derived += u64::from(block.is_derived);
            if let Err(cause) = self.add(name, block, &program, &mut profile, reading) {
                reading.damaged.push(Damage {
                    program: program.clone(),
                    operation: name,
                    cause,
                });
            }
        }
        if self.threads == Threads::Apart && !profile.is_empty() {
            let start = self.layout.region(region);
            reading.threads.push(Thread {
                program,
                process: self.word(start + REGION_PROCESS_AT) as u32,
                thread: self.word(start + REGION_THREAD_AT) as u32,
                profile,
            });
        }
    }

    /// Adds an operation's counts everywhere or, if they are damaged, nowhere.
    fn add(
        &self,
        name: &str,
        block: Block,
        program: &str,
        thread: &mut Profile,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let histogram = block.histogram.map_err(|fault| fault.to_string())?;
        // Forged counts may be too great to be added. The whole has the greatest ones.
        let whole = &mut reading.whole;
        whole.add(name, &histogram).map_err(|e| e.to_string())?;
        let of_program = reading.programs.entry(program.to_owned());
        let of_program = of_program.or_insert_with(|| self.empty());
        of_program
            .add(name, &histogram)
            .map_err(|e| e.to_string())?;
        thread.add(name, &histogram).map_err(|e| e.to_string())
    }

    fn add_dropped(&self, name: &'static str, dropped: u64, reading: &mut Reading) {
        let counts = Counts {
            entered: dropped,
            left: dropped,
            dropped,
            ..Counts::default()
        };
        let added = Histogram::from_parts(self.resolution, counts, Vec::new())
            .map_err(|fault| fault.to_string())
            .and_then(|one| reading.whole.add(name, &one).map_err(|e| e.to_string()));
        match added {
            Ok(()) => reading.without_region = reading.without_region.saturating_add(dropped),
            Err(cause) => reading.damaged.push(Damage {
                program: String::new(),
                operation: name,
                cause,
            }),
        }
    }

    /// Returns the name of a region's program, with odd characters replaced.
    fn program(&self, region: usize) -> String {
        let start = self.layout.region(region);
        let length = self.word(start + REGION_NAME_BYTES_AT);
        let length = usize::try_from(length).map_or(NAME_BYTES_MAX, |one| one.min(NAME_BYTES_MAX));
        let words = (0..NAME_BYTES_MAX / 8).map(|at| self.word(start + REGION_NAME_AT + at));
        let mut bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        bytes.truncate(length);
        let name = String::from_utf8_lossy(&bytes);
        let is_odd = |one: char| one.is_control() || one.is_whitespace();
        match name.is_empty() {
            true => "?".to_owned(),
            false => name.replace(is_odd, "?"),
        }
    }
}
