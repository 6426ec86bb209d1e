//! The shape of the JSON, and its conversion from and to the crate's types.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU64;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::VERSION;
use crate::{
    BUCKETS_MAX, Correlated, Counts, Error, Histogram, OPERATIONS_MAX, Peak, Profile, Resolution,
    SLICES_MAX, Slice, Sliced, Unit,
};

/// The most values that a file correlates.
const VALUES_MAX: usize = 256;

/// The version alone, of a file whose other fields may be unknown.
#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    pub(super) version: u64,
    title: String,
    layer: String,
    unit: UnitName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frequency_hz: Option<NonZeroU64>,
    resolution: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_unix_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ns: Option<u64>,
    #[serde(deserialize_with = "at_most::<_, _, OPERATIONS_MAX>")]
    operations: Vec<Operation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slices: Option<Slices>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most::<_, _, VALUES_MAX>"
    )]
    correlated: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UnitName {
    Nanoseconds,
    Cycles,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    operation: String,
    histogram: Counted,
}

/// A histogram, whose resolution is known from elsewhere.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    #[serde(default, skip_serializing_if = "is_zero")]
    carried: u64,
    entered: u64,
    left: u64,
    dropped: u64,
    total: u128,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
    #[serde(deserialize_with = "at_most::<_, _, BUCKETS_MAX>")]
    buckets: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Slices(#[serde(deserialize_with = "at_most::<_, _, SLICES_MAX>")] Vec<Interval>);

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Interval(#[serde(deserialize_with = "at_most::<_, _, OPERATIONS_MAX>")] Vec<Buckets>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Buckets {
    operation: String,
    #[serde(deserialize_with = "at_most::<_, _, BUCKETS_MAX>")]
    buckets: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    value: String,
    resolution: u64,
    #[serde(deserialize_with = "at_most::<_, _, OPERATIONS_MAX>")]
    operations: Vec<Peaks>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peaks {
    operation: String,
    #[serde(deserialize_with = "at_most::<_, _, BUCKETS_MAX>")]
    peaks: Vec<OnePeak>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnePeak {
    first: u16,
    last: u16,
    values: Counted,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Reads at most `LIMIT` elements, so that a small file cannot take much memory.
fn at_most<'de, D, T, const LIMIT: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct AtMost<T, const LIMIT: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const LIMIT: usize> Visitor<'de> for AtMost<T, LIMIT> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an array of at most {LIMIT} elements")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = elements.next_element()? {
                if all.len() == LIMIT {
                    return Err(serde::de::Error::invalid_length(LIMIT + 1, &self));
                }
                all.push(one);
            }
            Ok(all)
        }
    }

    deserializer.deserialize_seq(AtMost::<T, LIMIT>(PhantomData))
}

impl Capture {
    pub(super) fn of(capture: &crate::Capture) -> Capture {
        let sliced = &capture.profile;
        let whole = sliced.whole();
        let (unit, frequency_hz) = match whole.unit() {
            Unit::Nanoseconds => (UnitName::Nanoseconds, None),
            Unit::Cycles { frequency_hz } => (UnitName::Cycles, Some(frequency_hz)),
        };
        let has_timeline = sliced.interval_ns().is_some() || sliced.slices().len() != 1;
        let slices = || sliced.slices().iter().map(Interval::of).collect();
        Capture {
            version: VERSION,
            title: whole.title.clone(),
            layer: whole.layer.clone(),
            unit,
            frequency_hz,
            resolution: whole.resolution().get().into(),
            start_unix_ns: whole.start_unix_ns,
            duration_ns: whole.duration_ns,
            operations: whole.operations().map(Operation::of).collect(),
            interval_ns: sliced.interval_ns(),
            slices: has_timeline.then(|| Slices(slices())),
            correlated: capture.correlated.iter().map(Value::of).collect(),
        }
    }

    pub(super) fn into_capture(self) -> Result<crate::Capture, Error> {
        let unit = match (self.unit, self.frequency_hz) {
            (UnitName::Nanoseconds, None) => Unit::Nanoseconds,
            (UnitName::Cycles, Some(frequency_hz)) => Unit::Cycles { frequency_hz },
            (UnitName::Nanoseconds, Some(_)) => {
                return Err(Error::Unit("frequency_hz belongs to the unit cycles"));
            }
            (UnitName::Cycles, None) => {
                return Err(Error::Unit("the unit cycles needs frequency_hz"));
            }
        };
        let mut whole = Profile::new(unit, Resolution::try_from(self.resolution)?);
        whole.title = self.title;
        whole.layer = self.layer;
        whole.start_unix_ns = self.start_unix_ns;
        whole.duration_ns = self.duration_ns;
        for one in self.operations {
            let histogram = one
                .histogram
                .into_histogram(&one.operation, whole.resolution())?;
            whole.insert(&one.operation, histogram)?;
        }
        let profile = match (self.slices, self.interval_ns) {
            (None, None) => Sliced::from(whole),
            (slices, interval_ns) => {
                let slices = slices.map_or(Vec::new(), |slices| slices.0);
                let slices = slices.into_iter().map(Interval::into_slice);
                Sliced::new(whole, interval_ns, slices.collect::<Result<_, _>>()?)?
            }
        };
        let correlated = self.correlated.into_iter().map(Value::into_correlated);
        Ok(crate::Capture {
            profile,
            correlated: correlated.collect::<Result<_, _>>()?,
        })
    }
}

impl Operation {
    fn of((operation, histogram): (&str, &Histogram)) -> Operation {
        Operation {
            operation: operation.to_owned(),
            histogram: Counted::of(histogram),
        }
    }
}

impl Counted {
    fn of(histogram: &Histogram) -> Counted {
        let counts = *histogram.counts();
        Counted {
            carried: counts.carried,
            entered: counts.entered,
            left: counts.left,
            dropped: counts.dropped,
            total: counts.total,
            min: counts.min,
            max: counts.max,
            buckets: histogram.buckets().to_vec(),
        }
    }

    fn into_histogram(self, name: &str, resolution: Resolution) -> Result<Histogram, Error> {
        let counts = Counts {
            carried: self.carried,
            entered: self.entered,
            left: self.left,
            dropped: self.dropped,
            total: self.total,
            min: self.min,
            max: self.max,
        };
        Histogram::from_parts(resolution, counts, self.buckets).map_err(|fault| fault.of(name))
    }
}

impl Interval {
    fn of(slice: &Slice) -> Interval {
        let operations = slice.operations().map(|(operation, buckets)| Buckets {
            operation: operation.to_owned(),
            buckets: buckets.to_vec(),
        });
        Interval(operations.collect())
    }

    fn into_slice(self) -> Result<Slice, Error> {
        let mut slice = Slice::new();
        for one in self.0 {
            if !slice.buckets(&one.operation).is_empty() {
                return Err(Error::Twice(one.operation));
            }
            slice.set(&one.operation, one.buckets);
        }
        Ok(slice)
    }
}

impl Value {
    fn of(correlated: &Correlated) -> Value {
        let operations = correlated.operations().map(|(operation, peaks)| Peaks {
            operation: operation.to_owned(),
            peaks: peaks.iter().map(OnePeak::of).collect(),
        });
        Value {
            value: correlated.value().to_owned(),
            resolution: correlated.resolution().get().into(),
            operations: operations.collect(),
        }
    }

    fn into_correlated(self) -> Result<Correlated, Error> {
        let mut correlated = Correlated::new(&self.value, Resolution::try_from(self.resolution)?)?;
        for one in self.operations {
            let mut peaks = Vec::with_capacity(one.peaks.len());
            for peak in one.peaks {
                let resolution = correlated.resolution();
                let values = peak.values.into_histogram(&one.operation, resolution)?;
                peaks.push(Peak::new(peak.first..=peak.last, values));
            }
            correlated.insert(&one.operation, peaks)?;
        }
        Ok(correlated)
    }
}

impl OnePeak {
    fn of(peak: &Peak) -> OnePeak {
        OnePeak {
            first: *peak.buckets().start(),
            last: *peak.buckets().end(),
            values: Counted::of(peak.values()),
        }
    }
}
