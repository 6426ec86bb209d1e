//! Measures the calls below: one recorder for each thread that answers the kernel.
//!
//! A recorder is limited to 64 KiB, so at fine resolutions the operations are divided among several.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use trawl_histogram::recorder::{OperationId, Plan, RECORDER_BYTES_MAX, Recorder, Recorders};
use trawl_histogram::{Error, Profile, Resolution, Unit};

use crate::operations::Operation;

/// The layer's name in profiles.
pub(crate) const LAYER: &str = "stackable";

/// Recorders of all threads.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Tells meters apart, of which a process may have several.
    number: u64,
    groups: Vec<Recorders>,
    /// For each operation its group, and its id there.
    places: Vec<(usize, OperationId)>,
    begun: Instant,
    template: Profile,
}

/// The recorders of one thread, and the number of their meter.
struct Own {
    number: u64,
    recorders: Vec<Recorder>,
}

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

static METERS: AtomicU64 = AtomicU64::new(0);

impl Meter {
    pub(crate) fn new(resolution: Resolution) -> Result<Meter, Error> {
        let mut template = Profile::new(Unit::Nanoseconds, resolution);
        LAYER.clone_into(&mut template.layer);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        template.start_unix_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        let mut places = Vec::new();
        let mut plans = vec![Plan::new(&template)];
        let mut plan = Plan::new(&template);
        for operation in Operation::ALL {
            let mut longer = plan.clone();
            let mut id = longer.operation(operation.name())?;
            if longer.bytes() > RECORDER_BYTES_MAX {
                plans.push(Plan::new(&template));
                longer = Plan::new(&template);
                id = longer.operation(operation.name())?;
            }
            plan = longer;
            let last = plans.len() - 1;
            places.push((last, id));
            if let Some(place) = plans.last_mut() {
                place.clone_from(&plan);
            }
        }
        let groups = plans.into_iter().map(Recorders::new);
        Ok(Meter {
            number: METERS.fetch_add(1, Ordering::Relaxed),
            groups: groups.collect::<Result<_, _>>()?,
            places,
            begun: Instant::now(),
            template,
        })
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Does `work`, and counts its time as that of an operation.
    pub(crate) fn measure<T>(&self, operation: Operation, work: impl FnOnce() -> T) -> T {
        OWN.with_borrow_mut(|own| {
            if own.as_ref().is_none_or(|own| own.number != self.number) {
                *own = Some(Own {
                    number: self.number,
                    recorders: self.groups.iter().map(Recorders::start).collect(),
                });
            }
            let place = self.places.get(operation as usize);
            let recorder = own.as_mut().zip(place).and_then(|(own, (group, id))| {
                let recorder = own.recorders.get_mut(*group)?;
                Some((recorder, *id))
            });
            // There is one for every operation.
            let Some((recorder, id)) = recorder else {
                return work();
            };
            let call = recorder.enter(id, self.now_ns());
            let result = work();
            recorder.leave(call, self.now_ns());
            result
        })
    }

    /// Returns what was counted until now; operations that never happened are left out.
    pub(crate) fn read(&self) -> Result<Profile, Error> {
        let mut profile = self.template.clone();
        profile.duration_ns = Some(self.now_ns());
        for group in &self.groups {
            let reading = group.read(None)?.profile;
            let happened = reading
                .operations()
                .filter(|(_, one)| one.counts().entered > 0);
            for (name, histogram) in happened {
                profile.insert(name, histogram.clone())?;
            }
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_recorder_at_every_resolution() {
        for resolution in 1..=8 {
            let resolution = Resolution::new(resolution).unwrap();
            let meter = Meter::new(resolution).unwrap();
            for (times, operation) in (1..).zip(Operation::ALL) {
                for _ in 0..times {
                    meter.measure(*operation, || ());
                }
            }
            let profile = meter.read().unwrap();
            assert_eq!(profile.len(), Operation::ALL.len());
            for (times, operation) in (1..).zip(Operation::ALL) {
                let counts = profile.get(operation.name()).unwrap().counts();
                assert_eq!((counts.entered, counts.left), (times, times));
            }
        }
    }
}
