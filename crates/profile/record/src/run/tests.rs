//! Recordings of a layer whose readings take a while.

use std::num::NonZeroU64;

use trawl_histogram::{Histogram, Unit};

use super::*;
use crate::layer::{Attached, Layer, Reading};

/// A layer that counts one more call with each reading.
#[derive(Debug)]
struct Slow {
    reading: Duration,
}

#[derive(Debug)]
struct Counting {
    reading: Duration,
    counted: Histogram,
}

impl Attached for Counting {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        std::thread::sleep(self.reading);
        self.counted.record(NonZeroU64::MIN.get());
        let mut profile = Profile::new(Unit::Nanoseconds, self.counted.resolution());
        profile.insert("read", self.counted.clone())?;
        Ok(Reading::new(profile, Vec::new()))
    }
}

impl Layer for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn about(&self) -> &'static str {
        "calls of a test"
    }

    fn availability(&self) -> Result<crate::layer::Cost, ProfileError> {
        Ok(crate::layer::Cost::default())
    }

    fn attach(
        &self,
        _: &Filter,
        resolution: Resolution,
    ) -> Result<Box<dyn Attached>, ProfileError> {
        Ok(Box::new(Counting {
            reading: self.reading,
            counted: Histogram::new(resolution),
        }))
    }
}

fn wishes(layer: &Slow) -> Wishes<'_> {
    Wishes {
        layers: vec![layer],
        resolution: Resolution::ONE,
        interval: Some(Duration::from_millis(1)),
        duration: None,
        streams: Streams::Nowhere,
    }
}

fn sum(calls: &[u64]) -> u128 {
    calls.iter().map(|calls| u128::from(*calls)).sum()
}

/// Returns the numbers of calls in each slice, and in all.
fn calls(recorded: &Recorded) -> (Vec<u128>, u128) {
    let profile = &recorded.recording.captures[0].profile;
    let slices = profile.slices().iter();
    let calls = slices.map(|slice| {
        let operations = slice.operations();
        operations.map(|(_, calls)| sum(calls)).sum()
    });
    let whole = profile.whole().get("read").map_or(0, Histogram::recorded);
    (calls.collect(), whole)
}

#[test]
fn a_recording_ends_although_readings_take_longer_than_slices() {
    let slow = Slow {
        reading: Duration::from_millis(8),
    };
    let cancel = AtomicBool::new(false);
    let sleeps = Subject::Command(["sleep", "0.2"].map(OsString::from).to_vec());
    let by_command = record(&sleeps, &wishes(&slow), &cancel).unwrap();
    assert!(matches!(by_command.ended, Ended::Command(status) if status.success()));
    let for_a_time = Wishes {
        duration: Some(Duration::from_millis(100)),
        ..wishes(&slow)
    };
    let by_time = record(&Subject::Everything, &for_a_time, &cancel).unwrap();
    assert!(matches!(by_time.ended, Ended::Over));
    let cancelled = AtomicBool::new(true);
    let at_once = record(&Subject::Everything, &wishes(&slow), &cancelled).unwrap();
    assert!(matches!(at_once.ended, Ended::Cancelled));

    // The number of a slice tells its time, and no call is missing.
    for (recorded, least) in [(&by_command, 100), (&by_time, 100), (&at_once, 1)] {
        let (slices, whole) = calls(recorded);
        assert!(slices.len() >= least, "{} slices", slices.len());
        assert_eq!(slices.iter().sum::<u128>(), whole);
        assert!(recorded.recording.losses.is_empty());
    }
    let (slices, _) = calls(&by_command);
    let read = slices.iter().filter(|calls| **calls > 0).count();
    assert!(read <= slices.len() / 4, "{read} of {}", slices.len());
}

#[test]
fn a_timeline_that_is_full_goes_on_in_its_last_slice_and_says_so() {
    let slow = Slow {
        reading: Duration::ZERO,
    };
    let long = Wishes {
        interval: Some(Duration::from_nanos(100)),
        duration: Some(Duration::from_millis(40)),
        ..wishes(&slow)
    };
    let recorded = record(&Subject::Everything, &long, &AtomicBool::new(false)).unwrap();
    let (slices, whole) = calls(&recorded);
    assert_eq!(slices.len(), SLICES_MAX);
    assert_eq!(slices.iter().sum::<u128>(), whole);
    assert!(slices[SLICES_MAX - 1] > 0);
    let losses = &recorded.recording.losses;
    assert!(
        losses.len() == 1 && losses[0].contains("100000 slices"),
        "{losses:?}"
    );
}
