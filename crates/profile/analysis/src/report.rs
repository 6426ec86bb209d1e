//! Everything about a single profile: sorted operations, their peaks, the activities that take such
//! times, and warnings of preemption.

use trawl_histogram::Histogram;

use crate::peaks::{CharacteristicTime, Detection, Near, Peak, peaks};
use crate::preemption::{self, Machine, Warning};
use crate::preprocess::{LeftOut, Row, preprocess};
use crate::view::View;

/// Options of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Leave out operations with a smaller share of the total latency.
    pub least_share: f64,
    /// Criteria for a peak.
    pub detection: Detection,
    /// Characteristic times of the machine that recorded the profile, in the profile's unit.
    pub times: Vec<CharacteristicTime>,
    /// Layer of the profile: it decides which activities can be the cause of a peak.
    pub layer: String,
    /// Name a characteristic time beside a peak if it lies within this factor of its centre.
    pub times_factor: f64,
    /// Facts about the scheduler and the load; without them, there are no warnings of preemption.
    pub machine: Option<Machine>,
}

impl Default for Options {
    /// Operations with at least 0.1 % of the latency; times within a factor of 1.5, about half a
    /// bucket in both directions at r = 1.
    fn default() -> Self {
        Self {
            least_share: 0.001,
            detection: Detection::default(),
            times: Vec::new(),
            layer: String::new(),
            times_factor: 1.5,
            machine: None,
        }
    }
}

/// A profile, described.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Operations that contribute, greatest total latency first.
    pub operations: Vec<Described<'a>>,
    /// The others.
    pub left_out: LeftOut,
}

/// One operation, described.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    /// The operation and its part of the whole.
    pub row: Row<'a>,
    /// Its peaks, lowest latency first.
    pub peaks: Vec<NamedPeak>,
    /// Set if preemption may have disturbed it.
    pub warning: Option<Warning>,
}

/// A peak with the activities that take such times.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPeak {
    /// The peak.
    pub peak: Peak,
    /// Characteristic times near it, nearest first.
    pub near: Vec<Near>,
}

/// Describes the operations of a profile.
#[must_use]
pub fn report<'a>(
    operations: impl IntoIterator<Item = (&'a str, &'a Histogram)>,
    options: &Options,
) -> Report<'a> {
    let prepared = preprocess(operations, options.least_share);
    let describe = |row: &Row<'a>| {
        let view = View::from(row.histogram);
        let named = |peak: Peak| NamedPeak {
            near: peak.near(
                &options.times,
                options.times_factor,
                (&options.layer, row.operation),
            ),
            peak,
        };
        let peaks = peaks(view, &options.detection);
        let machine = options.machine.as_ref();
        Described {
            row: *row,
            peaks: peaks.into_iter().map(named).collect(),
            warning: machine.and_then(|machine| preemption::warning(view, machine)),
        }
    };
    Report {
        operations: prepared.rows.iter().map(describe).collect(),
        left_out: prepared.left_out,
    }
}
