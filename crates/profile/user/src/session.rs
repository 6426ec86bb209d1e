//! One run: the memory that its programs share with us.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use trawl_histogram::{Resolution, Unit};
use trawl_profile_mapping::calls::OPERATIONS;
use trawl_profile_mapping::layout::{
    CLOCK_AT, CLOCK_CYCLES, CLOCK_MONOTONIC, FLAG_CLOCK_ONLY, FLAG_MEASURE, FLAG_SITES,
    FLAG_THREADS, FLAGS_AT, MAGIC, MAGIC_AT, OPERATIONS_AT, REGIONS_AT, REGIONS_MAX, RESOLUTION_AT,
    VERSION, VERSION_AT,
};
use trawl_profile_mapping::{CallSites, Layout, VARIABLE};
use trawl_sys::shared_words::SharedWords;

use crate::probe::Extent;
use crate::{Error, Probe};

/// The dynamic loader's variable for libraries to load first.
const PRELOAD: &str = "LD_PRELOAD";

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The resolution of histograms.
    pub resolution: Resolution,
    /// The most threads whose calls are recorded at one time, in all programs together; calls of
    /// further ones are counted as dropped. A thread takes memory only for what it calls: at
    /// resolution 1 about 4 KiB for each 7 functions.
    pub threads_max: usize,
    /// Whether threads are told apart.
    pub threads: Threads,
    /// Whether call sites are told apart.
    pub call_sites: CallSites,
    /// The clock.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            resolution: Resolution::ONE,
            threads_max: 1024,
            threads: Threads::Merged,
            call_sites: CallSites::Ignored,
            clock: Clock::Best,
        }
    }
}

/// Whether threads are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// A thread continues the counts of an ended one of its program: memory depends on the number of
    /// threads at one time.
    Merged,
    /// Each thread of each process keeps its own counts: memory depends on their total number, and
    /// `threads_max` limits it.
    Apart,
}

/// How latencies are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The CPU's cycle counter if it is invariant, otherwise CLOCK_MONOTONIC.
    Best,
    /// CLOCK_MONOTONIC, in nanoseconds.
    Monotonic,
}

/// Memory shared with the programs of one run. It disappears with the session and the programs.
#[derive(Debug)]
pub struct Session {
    library: PathBuf,
    file: File,
    words: SharedWords,
    pub(crate) layout: Layout,
    pub(crate) resolution: Resolution,
    pub(crate) threads: Threads,
    unit: Unit,
}

impl Session {
    /// Makes the memory. The session must live as long as programs are to be started: they open the
    /// memory by way of this process.
    ///
    /// # Errors
    /// Fails if the memory cannot be made, or the library's path cannot be preloaded.
    pub fn start(library: &Path, probe: &Probe, options: &Options) -> Result<Session, Error> {
        let frequency_hz = match options.clock {
            Clock::Best => probe.frequency_hz,
            Clock::Monotonic => None,
        };
        let unit = match frequency_hz {
            Some(frequency_hz) => Unit::Cycles { frequency_hz },
            None => Unit::Nanoseconds,
        };
        Session::make(library, unit, options, 0)
    }

    /// Makes the memory with which a program measures the probe.
    pub(crate) fn to_measure(library: &Path, extent: Extent) -> Result<Session, Error> {
        let options = Options {
            threads_max: 4,
            ..Options::default()
        };
        let flags = match extent {
            Extent::Clock => FLAG_MEASURE | FLAG_CLOCK_ONLY,
            Extent::Cost => FLAG_MEASURE,
        };
        Session::make(library, Unit::Nanoseconds, &options, flags)
    }

    fn make(library: &Path, unit: Unit, options: &Options, flags: u64) -> Result<Session, Error> {
        let is_bad = |byte: &u8| byte.is_ascii_whitespace() || b":$".contains(byte);
        if !library.is_absolute() || library.as_os_str().as_bytes().iter().any(is_bad) {
            return Err(Error::LibraryPath {
                path: library.to_owned(),
            });
        }
        let resolution = u64::from(options.resolution.get());
        let layout = Layout::new(resolution, options.threads_max as u64, options.call_sites);
        let layout = layout.map_err(|_| Error::Regions {
            amount: options.threads_max,
            limit: REGIONS_MAX,
        })?;
        let bytes = layout.words() * size_of::<u64>();
        let file = trawl_sys::file::nowhere_of_size(c"trawl-profile", bytes as u64);
        let file = file.map_err(Error::Memory)?;
        let words = SharedWords::of(&file, layout.words()).map_err(Error::Memory)?;
        let clock = match unit {
            Unit::Cycles { .. } => CLOCK_CYCLES,
            Unit::Nanoseconds => CLOCK_MONOTONIC,
        };
        let flags = match options.threads {
            Threads::Merged => flags,
            Threads::Apart => flags | FLAG_THREADS,
        };
        let flags = match options.call_sites {
            CallSites::Ignored => flags,
            CallSites::Apart => flags | FLAG_SITES,
        };
        let header = [
            (VERSION_AT, VERSION),
            (RESOLUTION_AT, resolution),
            (OPERATIONS_AT, OPERATIONS as u64),
            (REGIONS_AT, layout.regions() as u64),
            (CLOCK_AT, clock),
            (FLAGS_AT, flags),
            (MAGIC_AT, MAGIC),
        ];
        for (at, value) in header {
            words.words()[at].store(value, Ordering::Release);
        }
        Ok(Session {
            library: library.to_owned(),
            file,
            words,
            layout,
            resolution: options.resolution,
            threads: options.threads,
            unit,
        })
    }

    /// Returns the variables that a command needs, `LD_PRELOAD` and ours. `preloaded` is the value
    /// of `LD_PRELOAD` that the command would have otherwise: those libraries are loaded, too, behind
    /// ours.
    pub fn environment(&self, preloaded: Option<&OsStr>) -> [(OsString, OsString); 2] {
        let mut preload = self.library.clone().into_os_string();
        if let Some(others) = preloaded.filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        [(PRELOAD.into(), preload), (VARIABLE.into(), path.into())]
    }

    /// Returns the unit of latencies.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns a word of the memory; 0 outside of it.
    pub(crate) fn word(&self, at: usize) -> u64 {
        let word = self.words.words().get(at);
        word.map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Returns some words; nothing if they lie outside.
    pub(crate) fn some_words(&self, range: std::ops::Range<usize>) -> &[AtomicU64] {
        self.words.words().get(range).unwrap_or_default()
    }
}
