//! Trawl's own operations ([`trawl_model::operation`]): records them in this process.
//!
//! [`start`] installs the observer for the rest of the process. Each thread gets a recorder of its
//! own with its first operation, so threads share nothing while they record. A reading is taken at
//! any time, by any thread, and adds up; operations that are under way are in flight.

use std::cell::RefCell;
use std::sync::OnceLock;

use trawl_histogram::recorder::{OperationId, Plan, Recorder, Recorders, Started};
use trawl_histogram::{Capture, Profile, Resolution, Unit};
use trawl_kernel_profile::Filter;
use trawl_model::operation::{self, Layer, Observer, Operation};
use trawl_sys::process;

use crate::error::ProfileError;
use crate::layer::{self, Attached, Cost};
use crate::recording::{Machine, Recording};

/// Two buckets for each doubling: their borders are those of native histograms of schema 1, and a
/// recorder takes about 30 KiB.
const RESOLUTION: u8 = 2;

/// The unit of all latencies.
pub const UNIT: Unit = Unit::Nanoseconds;

/// Returns the resolution of all histograms.
pub fn resolution() -> Resolution {
    Resolution::new(RESOLUTION).unwrap_or(Resolution::ONE)
}

static OWN: OnceLock<Own> = OnceLock::new();

thread_local! {
    /// This thread's recorder, from its first operation on.
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// Records the operations of this process.
#[derive(Debug)]
pub struct Own {
    recorders: Recorders,
    /// In the order of [`Operation::ALL`].
    ids: Vec<OperationId>,
    begun_ns: u64,
}

/// Begins to record, unless this process records already. Returns what is recorded.
///
/// # Errors
/// Fails if something else observes operations.
pub fn start() -> Result<&'static Own, ProfileError> {
    if let Some(own) = OWN.get() {
        return Ok(own);
    }
    let new = Own::new()?;
    let own = OWN.get_or_init(|| new);
    // False if another thread has just installed it.
    operation::observe(own);
    Ok(own)
}

/// Returns what is recorded, if this process records.
pub fn started() -> Option<&'static Own> {
    OWN.get()
}

impl Own {
    fn new() -> Result<Own, ProfileError> {
        let mut template = Profile::new(UNIT, resolution());
        let now = process::now();
        let nanos = u64::try_from(now.secs).unwrap_or(0) * 1_000_000_000;
        template.start_unix_ns = Some(nanos + u64::from(now.nanos));
        let mut plan = Plan::new(&template);
        // Two layers may have operations of one name.
        let name = |one: &Operation| format!("{}:{}", one.layer().name(), one.name());
        let ids = Operation::ALL.iter().map(|one| plan.operation(&name(one)));
        let ids = ids.collect::<Result<_, _>>()?;
        Ok(Own {
            ids,
            recorders: Recorders::new(plan)?,
            begun_ns: process::monotonic_ns(),
        })
    }

    /// Returns the operations that have begun so far: a profile for each layer that has some.
    ///
    /// # Errors
    /// Fails if a thread was stopped in the middle of recording.
    pub fn read(&self, title: &str) -> Result<Vec<Profile>, ProfileError> {
        let duration_ns = process::monotonic_ns().saturating_sub(self.begun_ns);
        let all = self.recorders.read(Some(duration_ns))?.profile;
        let mut profiles = Vec::new();
        for layer in Layer::ALL {
            let mut profile = Profile::new(all.unit(), all.resolution());
            title.clone_into(&mut profile.title);
            layer.name().clone_into(&mut profile.layer);
            (profile.start_unix_ns, profile.duration_ns) = (all.start_unix_ns, all.duration_ns);
            for one in Operation::ALL.iter().filter(|one| one.layer() == *layer) {
                let name = format!("{}:{}", layer.name(), one.name());
                if let Some(known) = all.get(&name).filter(|known| known.counts().entered > 0) {
                    profile.insert(one.name(), known.clone())?;
                }
            }
            if !profile.is_empty() {
                profiles.push(profile);
            }
        }
        Ok(profiles)
    }

    /// Returns the recording of a command that is about to end.
    ///
    /// # Errors
    /// As [`Own::read`].
    pub fn recording(&self, subject: &str) -> Result<Recording, ProfileError> {
        let profiles = self.read(subject)?;
        Ok(Recording {
            subject: subject.to_owned(),
            machine: Machine::unmeasured(),
            losses: Vec::new(),
            captures: profiles.into_iter().map(Capture::from).collect(),
        })
    }

    /// Calls `work` with this thread's recorder. A thread that is ending has none any more.
    #[inline]
    fn with(&self, operation: Operation, work: impl FnOnce(&mut Recorder, OperationId)) {
        let Some(id) = self.ids.get(operation.number()) else {
            return;
        };
        let _ = RECORDER.try_with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut() {
                let recorder = kept.get_or_insert_with(|| self.recorders.start());
                work(recorder, *id);
            }
        });
    }
}

/// Number of operations with which the cost of one is measured.
const MEASURED: u32 = 10_000;

/// The layer in the list of layers. A process records it about itself, so it is attached to none.
#[derive(Debug)]
pub(crate) struct OwnLayer;

impl layer::Layer for OwnLayer {
    fn name(&self) -> &'static str {
        Layer::Trawl.name()
    }

    fn about(&self) -> &'static str {
        "what trawl itself does, with --profile FILE before or after any command"
    }

    fn availability(&self) -> Result<Cost, ProfileError> {
        // Measured beside the recording of this process, if there is one.
        let own = Own::new()?;
        let (mut recorder, id) = (own.recorders.start(), own.ids.first().copied());
        let begun_ns = process::monotonic_ns();
        for _ in 0..MEASURED {
            let Some(id) = id else { break };
            let started = recorder.enter(id, process::monotonic_ns());
            recorder.leave(started, process::monotonic_ns());
        }
        let took_ns = process::monotonic_ns().saturating_sub(begun_ns);
        Ok(Cost {
            each_ns: Some(took_ns as f64 / f64::from(MEASURED)),
        })
    }

    fn attach(
        &self,
        _filter: &Filter,
        _resolution: Resolution,
    ) -> Result<Box<dyn Attached>, ProfileError> {
        let layer = layer::Layer::name(self);
        Err(ProfileError::OnlyOwn { layer })
    }
}

impl Observer for Own {
    fn now_ns(&self) -> u64 {
        process::monotonic_ns()
    }

    fn enter(&self, operation: Operation) -> u64 {
        self.with(operation, |recorder, id| {
            let _ = recorder.enter(id, 0);
        });
        // Read last, so that entering is not counted.
        process::monotonic_ns()
    }

    fn leave(&self, operation: Operation, since_ns: u64) {
        let now_ns = process::monotonic_ns();
        self.with(operation, |recorder, id| {
            recorder.leave(Started::since(id, since_ns), now_ns);
        });
    }

    fn record(&self, operation: Operation, since_ns: u64) {
        let now_ns = process::monotonic_ns();
        self.with(operation, |recorder, id| {
            let started = recorder.enter(id, since_ns);
            recorder.leave(started, now_ns);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{scope, sleep};
    use std::time::Duration;

    // One test: the observer is the whole process's.
    #[test]
    fn every_thread_is_counted_and_every_reading_adds_up() {
        const THREADS: u64 = 4;
        const EACH: u64 = 10_000;
        let own = start().unwrap();
        let delay = Duration::from_millis(20);
        let under_way = Operation::Round.span();
        scope(|scope| {
            let work = || {
                for _ in 0..EACH {
                    drop(Operation::DecodePages.span());
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                own.read("")
                    .unwrap()
                    .iter()
                    .for_each(|one| one.check().unwrap());
            }
        });
        for _ in 0..3 {
            let _outer = Operation::AskDaemon.span();
            let begun = Operation::FetchMember.begin();
            sleep(delay);
            scope(|scope| scope.spawn(move || begun.end()).join()).unwrap();
        }
        let recording = own.recording("a test").unwrap();
        let [trawl] = &recording.captures[..] else {
            panic!("{recording:?}");
        };
        let profile = trawl.profile.whole();
        assert_eq!((&*profile.layer, &*profile.title), ("trawl", "a test"));
        let pages = profile.get("decode-pages").unwrap();
        assert_eq!(pages.counts().entered, THREADS * EACH);
        assert_eq!(pages.recorded(), (THREADS * EACH).into());
        let round = profile.get("round").unwrap();
        assert_eq!((round.counts().entered, round.in_flight()), (1, 1));
        for name in ["ask-daemon", "fetch-member"] {
            let one = profile.get(name).unwrap();
            assert_eq!(one.recorded(), 3);
            // Nothing sleeps for less than it is told to.
            assert!(one.counts().min >= Some(20_000_000), "{one:?}");
        }
        assert!(profile.get("sort").is_none(), "it never began");
        drop(under_way);
        let text = recording.to_json().unwrap();
        let read = Recording::read(text.as_bytes()).unwrap();
        assert_eq!(read, recording);
        let measured = read.with_times();
        assert!(!measured.machine.times.is_empty());
        assert_eq!(measured.clone().with_times(), measured);
    }
}
