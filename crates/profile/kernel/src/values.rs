//! Values of calls, counted by the latency of the call: "We then store logarithmic profiles of
//! internal OS parameters in separate profiles for separate peaks" (Joukov, §3.1.6). Peaks are not
//! known while calls are counted, so each latency bucket has a histogram of its own.

use std::str::FromStr;

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray};
use trawl_histogram::{Correlated, Counts, Histogram, Profile, Resolution};

use crate::error::KernelError;
use crate::layout::{CALLS, ROW};
use crate::names;

/// The most values of one recording: `VALUE_ROWS` in `bpf/system_calls.c`.
pub const VALUES_MAX: usize = 16;

/// A value of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// The result: for calls that read and write, the number of bytes moved. Failed calls have
    /// none.
    Result,
    /// The third argument: for calls that read and write, the number of bytes asked for. It counts
    /// for calls that succeed.
    Size,
    /// The fourth argument: for calls that read and write at a position, the position. It counts
    /// for calls that succeed.
    Offset,
}

impl Quantity {
    /// Returns all of them.
    pub const ALL: [Quantity; 3] = [Quantity::Result, Quantity::Size, Quantity::Offset];

    /// Returns the name that commands use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Result => "result",
            Quantity::Size => "size",
            Quantity::Offset => "offset",
        }
    }

    /// Returns the name of the value in recordings.
    #[must_use]
    pub fn value(self) -> &'static str {
        match self {
            Quantity::Result => "result",
            Quantity::Size => "size_bytes",
            Quantity::Offset => "offset_bytes",
        }
    }
}

/// A value of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The operation.
    pub operation: String,
    /// The value.
    pub quantity: Quantity,
}

impl FromStr for Wanted {
    type Err = String;

    /// Reads `OPERATION:VALUE`.
    fn from_str(text: &str) -> Result<Wanted, String> {
        let (operation, name) = text.split_once(':').ok_or("it is not OPERATION:VALUE")?;
        let mut all = Quantity::ALL.into_iter();
        match all.find(|quantity| quantity.name() == name) {
            Some(quantity) => Ok(Wanted {
                operation: operation.to_owned(),
                quantity,
            }),
            None => {
                let names = Quantity::ALL.map(Quantity::name).join(", ");
                Err(format!("the values are {names}"))
            }
        }
    }
}

/// A row of the programs' table of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    number: u32,
    quantity: Quantity,
}

/// Tables that the BPF programs look up.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) all: Vec<Row>,
    /// For each call, the number of its first row, from 1.
    pub(crate) first: [u8; CALLS as usize],
    pub(crate) quantities: [u8; VALUES_MAX],
    pub(crate) numbers: [u32; VALUES_MAX],
}

impl Rows {
    /// Sorts the values by call.
    pub(crate) fn new(wanted: &[Wanted]) -> Result<Rows, KernelError> {
        let mut all = Vec::new();
        for one in wanted {
            let number = names::number_of(&one.operation);
            let number = number.ok_or_else(|| KernelError::NoCall(one.operation.clone()))?;
            all.push(Row {
                number,
                quantity: one.quantity,
            });
        }
        all.sort_by_key(|row| (row.number, row.quantity));
        all.dedup_by_key(|row| (row.number, row.quantity));
        if all.len() > VALUES_MAX {
            return Err(KernelError::Values { limit: VALUES_MAX });
        }
        let mut rows = Rows {
            first: [0; CALLS as usize],
            quantities: [0; VALUES_MAX],
            numbers: [0; VALUES_MAX],
            all,
        };
        let places = rows.quantities.iter_mut().zip(&mut rows.numbers);
        for ((at, row), (quantity, number)) in (1..).zip(&rows.all).zip(places) {
            (*quantity, *number) = (row.quantity as u8 + 1, row.number);
            match rows.first.get_mut(row.number as usize) {
                Some(first) if *first == 0 => *first = at,
                _ => {}
            }
        }
        Ok(rows)
    }

    /// Returns the number of rows.
    pub(crate) fn count(&self) -> u32 {
        self.all.len() as u32
    }
}

/// Words of `struct values`.
type ValueWords = [u64; 6 + ROW];
type ValueMap<'m> = PerCpuArray<&'m MapData, ValueWords>;

/// How often a histogram is read again if it changes meanwhile.
const ATTEMPTS: u32 = 8;

/// Reads the values of the calls in `profile`.
pub(crate) fn read(
    programs: &Ebpf,
    rows: &Rows,
    profile: &Profile,
) -> Result<Vec<Correlated>, KernelError> {
    const MAP: &str = "values";
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map = ValueMap::try_from(map).map_err(|source| KernelError::Map { map: MAP, source })?;
    let mut correlated: Vec<Correlated> = Vec::new();
    for (at, row) in (0_u32..).zip(&rows.all) {
        let operation = names::name_of(row.number).unwrap_or_default();
        if profile.get(operation).is_none() {
            continue;
        }
        let name = row.quantity.value();
        let place = correlated.iter().position(|one| one.value() == name);
        let place = match place {
            Some(place) => place,
            None => {
                correlated.push(Correlated::new(name, Resolution::ONE)?);
                correlated.len() - 1
            }
        };
        let elements = ROW as u32 * u32::from(profile.resolution().get());
        let mut buckets = Vec::new();
        for (bucket, element) in (0_u16..).zip(at * elements..(at + 1) * elements) {
            let read = histogram(&map, element);
            buckets.push((bucket, read.map_err(|source| source.of(operation))?));
        }
        if let Some(one) = correlated.get_mut(place) {
            one.from_buckets(operation, buckets)?;
        }
    }
    Ok(correlated)
}

/// Why an element cannot be read.
enum Problem {
    Map(aya::maps::MapError),
    Fault(trawl_histogram::Fault),
}

impl Problem {
    fn of(self, operation: &str) -> KernelError {
        match self {
            Problem::Map(source) => KernelError::Map {
                map: "values",
                source,
            },
            Problem::Fault(source) => KernelError::Profile(trawl_histogram::Error::Operation {
                operation: operation.to_owned(),
                source,
            }),
        }
    }
}

/// Reads an element until it does not change meanwhile, or a few times if it always does.
fn histogram(map: &ValueMap<'_>, element: u32) -> Result<Histogram, Problem> {
    let sum = || map.get(&element, 0).map(|cpus| summed(&cpus));
    let mut seen = sum().map_err(Problem::Map)?;
    for _ in 0..ATTEMPTS {
        let now = sum().map_err(Problem::Map)?;
        if now == seen {
            break;
        }
        seen = now;
    }
    let made = Histogram::from_moving(Resolution::ONE, seen.counts, seen.buckets);
    made.map_err(Problem::Fault)
}

#[derive(PartialEq)]
struct Summed {
    counts: Counts,
    buckets: Vec<u64>,
}

/// Adds what each CPU counted.
fn summed(cpus: &[ValueWords]) -> Summed {
    let mut sum = Summed {
        counts: Counts::default(),
        buckets: vec![0; ROW],
    };
    for [
        _,
        dropped,
        total,
        total_high,
        complement_of_min,
        max,
        buckets @ ..,
    ] in cpus
    {
        let recorded: u64 = buckets.iter().sum();
        let counts = &mut sum.counts;
        counts.dropped += dropped;
        counts.left += recorded + dropped;
        counts.total += u128::from(*total_high) << 64 | u128::from(*total);
        if recorded > 0 {
            let min = !complement_of_min;
            counts.min = Some(counts.min.map_or(min, |known| known.min(min)));
            counts.max = Some(counts.max.map_or(*max, |known| known.max(*max)));
        }
        for (sum, count) in sum.buckets.iter_mut().zip(buckets) {
            *sum += count;
        }
    }
    sum.counts.entered = sum.counts.left;
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Wanted {
        text.parse().expect("well formed")
    }

    #[test]
    fn values_are_named_by_operation_and_value() {
        let read = wanted("read:result");
        assert_eq!(
            (read.operation.as_str(), read.quantity),
            ("read", Quantity::Result)
        );
        assert!("read".parse::<Wanted>().is_err());
        let error = "read:colour".parse::<Wanted>().unwrap_err();
        assert!(error.contains("result, size, offset"), "{error}");
    }

    #[test]
    fn rows_of_a_call_lie_together() {
        let all = ["write:size", "read:size", "write:result", "read:size"].map(wanted);
        let rows = Rows::new(&all).expect("all exist");
        assert_eq!(rows.all.len(), 3, "once each");
        for name in ["read", "write"] {
            let number = names::number_of(name).expect("it exists");
            let first = usize::from(rows.first[number as usize]) - 1;
            assert_eq!(rows.numbers[first], number);
            assert!(first == 0 || rows.numbers[first - 1] != number);
        }
        assert!(Rows::new(&[wanted("colour:size")]).is_err());
    }
}
