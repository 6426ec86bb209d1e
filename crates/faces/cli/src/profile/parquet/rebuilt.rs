//! A recording made of the rows of a Parquet file.
//!
//! Rows are facts, and the metadata describes them as far as it still fits: an operation whose buckets
//! are those that the metadata has keeps its exact total and extremes. For others, of which rows were
//! changed or left out, the total is estimated from the buckets, as the analysis does (§3.1.5), and
//! the extremes are unknown. Operations without rows are left out, unless they never had any.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use trawl_histogram::{Capture, Histogram, Profile, Resolution, SLICES_MAX, Slice, Sliced, Unit};
use trawl_profile::recording::CAPTURES_MAX;
use trawl_profile::{Machine, Recording};

use super::NANOSECONDS;
use super::columns::Columns;

/// The most buckets that are in memory: 512 MiB.
const CELLS_MAX: usize = 1 << 26;

/// Buckets by slice and operation.
type Buckets = BTreeMap<u64, BTreeMap<String, Vec<u64>>>;

/// The rows of a layer.
#[derive(Default)]
struct Layer {
    buckets: Buckets,
    /// Numbers of its first row: resolution, units in a second, length of a slice.
    facts: [Option<u64>; 3],
}

/// Returns the recording of these rows.
pub(super) fn recording(
    columns: &Columns,
    described: Option<Recording>,
) -> Result<Recording, String> {
    let mut recording = described.unwrap_or_else(|| Recording {
        subject: String::new(),
        machine: Machine::default(),
        losses: Vec::new(),
        captures: Vec::new(),
    });
    let (mut layers, order) = layers(columns)?;
    let described = std::mem::take(&mut recording.captures);
    let mut names: Vec<&str> = described.iter().map(layer_of).collect();
    names.extend(order);
    let mut made = BTreeSet::new();
    for name in names {
        let known = described.iter().find(|one| layer_of(one) == name);
        let Some(layer) = layers.remove(name) else {
            // It has been made already, has no rows any more, or never had any.
            if let Some(known) = known.filter(|known| made.insert(name) && is_empty(known)) {
                recording.captures.push(known.clone());
            }
            continue;
        };
        made.insert(name);
        let capture = capture(name, layer, known);
        let capture = capture.map_err(|cause| format!("layer {name}: {cause}"))?;
        recording.captures.push(capture);
    }
    Ok(recording)
}

/// Returns whether no call of a layer returned.
fn is_empty(capture: &Capture) -> bool {
    let mut operations = capture.profile.whole().operations();
    operations.all(|(_, one)| one.recorded() == 0)
}

fn layer_of(capture: &Capture) -> &str {
    &capture.profile.whole().layer
}

/// Sorts rows by layer; returns the layers' names, too, in the order of the rows.
fn layers(columns: &Columns) -> Result<(BTreeMap<&str, Layer>, Vec<&str>), String> {
    let (mut layers, mut order) = (BTreeMap::<&str, Layer>::new(), Vec::new());
    let mut cells = 0;
    for (row, name) in columns.layer.iter().enumerate() {
        let name: &str = name;
        let number = |column: &[u64]| column.get(row).copied();
        let missing = || format!("row {row} is not complete");
        let slice = number(&columns.slice).ok_or_else(missing)?;
        let bucket = number(&columns.bucket).ok_or_else(missing)?;
        let calls = number(&columns.calls).ok_or_else(missing)?;
        let operation = columns.operation.get(row).ok_or_else(missing)?;
        if !layers.contains_key(name) {
            order.push(name);
        }
        let layer = layers.entry(name).or_insert_with(|| Layer {
            buckets: Buckets::new(),
            facts: [
                number(&columns.resolution),
                number(&columns.units_per_second),
                number(&columns.slice_ns),
            ],
        });
        cells += layer.add(slice, operation, bucket, calls)?;
        if cells > CELLS_MAX {
            return Err(format!("its slices have more than {CELLS_MAX} buckets"));
        }
        if order.len() > CAPTURES_MAX {
            return Err(format!("it has more than {CAPTURES_MAX} layers"));
        }
    }
    Ok((layers, order))
}

impl Layer {
    /// Adds calls, and returns how many buckets were added for that.
    fn add(
        &mut self,
        slice: u64,
        operation: &str,
        bucket: u64,
        calls: u64,
    ) -> Result<usize, String> {
        let slices = SLICES_MAX as u64;
        if slice >= slices {
            return Err(format!("slice {slice} is beyond the limit of {slices}"));
        }
        let limit = trawl_histogram::BUCKETS_MAX;
        let bucket = usize::try_from(bucket).ok().filter(|at| *at < limit);
        let bucket = bucket.ok_or_else(|| format!("there are only buckets below {limit}"))?;
        let slice = self.buckets.entry(slice).or_default();
        if !slice.contains_key(operation) {
            slice.insert(operation.to_owned(), Vec::new());
        }
        let buckets = slice.entry(operation.to_owned()).or_default();
        let before = buckets.len();
        buckets.resize(before.max(bucket + 1), 0);
        let added = buckets.len() - before;
        let sum = buckets.get_mut(bucket);
        let sum = sum.ok_or("a bucket is missing")?;
        *sum = sum.checked_add(calls).ok_or("the calls exceed 64 bits")?;
        Ok(added)
    }
}

fn capture(name: &str, layer: Layer, known: Option<&Capture>) -> Result<Capture, String> {
    let mut whole = empty(name, &layer, known)?;
    for (operation, buckets) in sums(&layer.buckets)? {
        let exact = known.and_then(|known| known.profile.whole().get(&operation));
        let exact = exact.filter(|exact| is_same(exact, &buckets, whole.resolution()));
        let histogram = match exact {
            Some(exact) => exact.clone(),
            None => {
                let estimated = Histogram::estimated(whole.resolution(), buckets);
                estimated.map_err(|fault| fault.to_string())?
            }
        };
        let done = whole.insert(&operation, histogram);
        done.map_err(|error| error.to_string())?;
    }
    let mut correlated = Vec::new();
    if let Some(known) = known {
        let all = known.profile.whole().operations();
        for (operation, one) in all.filter(|(_, one)| one.recorded() == 0) {
            let done = whole.insert(operation, one.clone());
            done.map_err(|error| error.to_string())?;
        }
        if whole == *known.profile.whole() {
            correlated.clone_from(&known.correlated);
        }
    }
    let interval_ns = layer.facts[2].filter(|ns| *ns > 0);
    let interval_ns = interval_ns.or(known.and_then(|known| known.profile.interval_ns()));
    let slices = slices(layer.buckets, known);
    let profile = Sliced::new(whole, interval_ns, slices).map_err(|error| error.to_string())?;
    let capture = Capture {
        profile,
        correlated,
    };
    capture.check().map_err(|error| error.to_string())?;
    Ok(capture)
}

/// Returns the profile without its operations.
fn empty(name: &str, layer: &Layer, known: Option<&Capture>) -> Result<Profile, String> {
    let known = known.map(|known| known.profile.whole());
    let resolution = match (layer.facts[0], known) {
        (Some(number), _) => u8::try_from(number)
            .ok()
            .and_then(|number| Resolution::new(number).ok())
            .ok_or_else(|| format!("a resolution is a number from 1 to 8, not {number}"))?,
        (None, Some(known)) => known.resolution(),
        (None, None) => return Err("the column resolution is missing".to_owned()),
    };
    let unit = match (layer.facts[1], known) {
        (Some(NANOSECONDS), _) => Unit::Nanoseconds,
        (Some(hz), _) => {
            let frequency_hz = NonZeroU64::new(hz).ok_or("units_per_second is 0")?;
            Unit::Cycles { frequency_hz }
        }
        (None, Some(known)) => known.unit(),
        (None, None) => return Err("the column units_per_second is missing".to_owned()),
    };
    let mut profile = Profile::new(unit, resolution);
    name.clone_into(&mut profile.layer);
    if let Some(known) = known {
        profile.title.clone_from(&known.title);
        profile.start_unix_ns = known.start_unix_ns;
        profile.duration_ns = known.duration_ns;
    }
    Ok(profile)
}

/// Adds up the slices.
fn sums(buckets: &Buckets) -> Result<BTreeMap<String, Vec<u64>>, String> {
    let mut sums: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (operation, buckets) in buckets.values().flatten() {
        let sum = sums.entry(operation.clone()).or_default();
        sum.resize(sum.len().max(buckets.len()), 0);
        for (sum, calls) in sum.iter_mut().zip(buckets) {
            *sum = sum.checked_add(*calls).ok_or("the calls exceed 64 bits")?;
        }
    }
    Ok(sums)
}

fn is_same(exact: &Histogram, buckets: &[u64], resolution: Resolution) -> bool {
    let filled = buckets.iter().rposition(|calls| *calls > 0);
    let buckets = buckets.get(..filled.map_or(0, |last| last + 1));
    exact.resolution() == resolution && buckets == Some(exact.buckets())
}

/// Returns the slices, with those between them and behind them that are empty.
fn slices(buckets: Buckets, known: Option<&Capture>) -> Vec<Slice> {
    let last = buckets.keys().next_back().map_or(0, |last| last + 1);
    let last = usize::try_from(last).unwrap_or(SLICES_MAX);
    let known = known.map_or(0, |known| known.profile.slices().len());
    let mut slices = vec![Slice::new(); last.max(known)];
    for (at, operations) in buckets {
        let slice = usize::try_from(at).ok().and_then(|at| slices.get_mut(at));
        if let Some(slice) = slice {
            for (operation, buckets) in operations {
                slice.set(&operation, buckets);
            }
        }
    }
    slices
}
