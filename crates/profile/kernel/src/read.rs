//! Reads the counters and makes a profile of them.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray};
use aya::{Ebpf, Pod};
use trawl_histogram::{Correlated, Counts, Histogram, Profile, Resolution, Unit};

use crate::apart::{self, Pairs, Part, Settings};
use crate::attach::{IN_FLIGHT, programs_for, walk};
use crate::balance::{self, Balance, Sum};
use crate::error::KernelError;
use crate::layout::{CALL_32BIT, CALL_OTHER, Call, CounterWords, Counters, ROW, SlotWords};
use crate::names;
use crate::values::Rows;

/// The counts of a layer since it was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// The operations. An operation's dropped calls include those that ended with their thread.
    pub profile: Profile,
    /// The operations again, for each program or thread, if they are told apart.
    pub parts: Vec<Part>,
    /// Calls for which there was no room in `parts`.
    pub others: Option<Profile>,
    /// Values of calls by their latency, if they were asked for: one peak for each latency bucket.
    pub correlated: Vec<Correlated>,
    /// Calls that never return, by operation: exit(2), and calls in which a thread was ended.
    pub ended: BTreeMap<String, u64>,
    /// Whether no call entered or left during the reading, so that each operation's counts are exact
    /// to one moment. Otherwise they are off by at most the calls of the reading's duration.
    pub is_still: bool,
    /// Events for which the kernel ran no program; 0 unless programs of other tracers call into ours.
    pub missed: u64,
    /// Processes and threads that could not be followed, for want of memory.
    pub lost_tasks: u64,
}

impl Reading {
    /// Returns the profiles of the whole and of all parts.
    pub(crate) fn profiles_mut(&mut self) -> impl Iterator<Item = &mut Profile> {
        let parts = self.parts.iter_mut().map(|part| &mut part.profile);
        std::iter::once(&mut self.profile)
            .chain(parts)
            .chain(&mut self.others)
    }
}

/// How often an operation's counters are read again if they change meanwhile.
const ATTEMPTS: u32 = 8;

type CounterMap<'m> = PerCpuArray<&'m MapData, CounterWords>;
type BucketMap<'m> = PerCpuArray<&'m MapData, [u64; ROW]>;

/// One operation's counters and buckets, over all CPUs.
pub(crate) struct Read {
    pub(crate) counters: Vec<Counters>,
    pub(crate) buckets: Vec<u64>,
}

impl Read {
    /// Returns whether the operation was ever called.
    pub(crate) fn is_used(&self) -> bool {
        self.counters.iter().any(|one| one.entered > 0)
    }
}

pub(crate) fn read(
    programs: &mut Ebpf,
    resolution: Resolution,
    values: &Rows,
    apart: Settings,
) -> Result<Reading, KernelError> {
    // Rows that are given out from now on belong to the next reading.
    let shared = apart::shared(programs, apart)?;
    let before = all_counters(programs, shared.rows)?;
    let in_flight = calls_in_flight(programs)?;
    let mut reading = Reading {
        profile: Profile::new(Unit::Nanoseconds, resolution),
        parts: Vec::new(),
        others: None,
        correlated: Vec::new(),
        ended: BTreeMap::new(),
        is_still: true,
        missed: missed(programs, programs_for(values, apart))?,
        lost_tasks: shared.lost_tasks,
    };
    let pairs = Pairs::read(programs, apart)?;
    let mut parts: BTreeMap<Option<u32>, Part> = BTreeMap::new();
    for (row, before) in (0..shared.rows).zip(before) {
        let read = read_call(programs, row, resolution)?;
        let Some((part, number)) = pairs.of(row).filter(|_| read.is_used()) else {
            continue;
        };
        let in_flight = in_flight.get(&row).copied().unwrap_or(0);
        let histogram = add(&mut reading, name(number), before, &read, in_flight)?;
        if apart.kind != 0 {
            let part = parts
                .entry(part)
                .or_insert_with(|| pairs.part(part.unwrap_or(0), resolution));
            part.profile.insert(&name(number), histogram)?;
        }
    }
    reading.others = parts.remove(&None).map(|part| part.profile);
    reading.parts = parts.into_values().collect();
    Ok(reading)
}

/// Checks one operation, adds it to a reading, and returns it.
pub(crate) fn add(
    reading: &mut Reading,
    operation: String,
    before: Sum,
    read: &Read,
    in_flight: u64,
) -> Result<Histogram, KernelError> {
    let slack = read.counters.len() as u64;
    let checked = check(
        reading.profile.resolution(),
        &operation,
        before,
        read,
        InFlight {
            calls: in_flight,
            slack,
        },
    )?;
    reading.is_still &= checked.is_exact;
    reading.profile.add(&operation, &checked.histogram)?;
    if checked.ended > 0 {
        *reading.ended.entry(operation).or_default() += checked.ended;
    }
    Ok(checked.histogram)
}

/// The calls of an operation that were found in flight, and how many of them programs may have been
/// counting at that moment.
#[derive(Clone, Copy)]
pub(crate) struct InFlight {
    pub(crate) calls: u64,
    pub(crate) slack: u64,
}

/// An operation whose counts add up.
pub(crate) struct Checked {
    pub(crate) histogram: Histogram,
    pub(crate) ended: u64,
    /// Whether nothing entered or left during the reading.
    pub(crate) is_exact: bool,
}

/// Checks an operation's counts against the calls that were found in flight.
pub(crate) fn check(
    resolution: Resolution,
    operation: &str,
    before: Sum,
    read: &Read,
    in_flight: InFlight,
) -> Result<Checked, KernelError> {
    let after = Sum::of(&read.counters);
    let recorded: u64 = read.buckets.iter().sum();
    let balance = balance::check(before, after, in_flight.calls, in_flight.slack);
    let ended: u64 = read.counters.iter().map(|one| one.ended).sum();
    let dropped = read.counters.iter().map(|one| one.dropped).sum::<u64>() + ended;
    if balance == Balance::Broken {
        return Err(KernelError::Unbalanced {
            operation: operation.to_owned(),
            entered: after.entered,
            recorded,
            in_flight: in_flight.calls,
            dropped,
        });
    }
    let left = recorded + dropped;
    // The independent count, so that the histogram's own check is one of it as well.
    let left = match balance {
        Balance::Exact => after.entered - in_flight.calls,
        _ => left,
    };
    let counts = Counts {
        carried: 0,
        entered: after.entered.max(left),
        left,
        dropped,
        total: read
            .counters
            .iter()
            .map(|one| u128::from(one.total_ns))
            .sum(),
        min: read.counters.iter().filter_map(|one| one.min_ns).min(),
        // No latency is known of a call that never returns.
        max: (recorded > 0)
            .then(|| read.counters.iter().map(|one| one.max_ns).max())
            .flatten(),
    };
    let is_exact = balance == Balance::Exact && left == recorded + dropped;
    let made = match is_exact {
        true => Histogram::from_parts,
        false => Histogram::from_moving,
    };
    let histogram = made(resolution, counts, read.buckets.clone());
    Ok(Checked {
        histogram: histogram.map_err(|source| trawl_histogram::Error::Operation {
            operation: operation.to_owned(),
            source,
        })?,
        ended,
        is_exact,
    })
}

/// Returns the name of a row of counters: the system call's, without white space.
fn name(number: u32) -> String {
    match (number, names::name_of(number)) {
        (CALL_32BIT, _) => "32-bit".to_owned(),
        (CALL_OTHER, _) => "unknown".to_owned(),
        (_, Some(name)) => name.to_owned(),
        (_, None) => format!("call-{number}"),
    }
}

/// Returns the counts of the first `rows` operations.
pub(crate) fn all_counters(programs: &Ebpf, rows: u32) -> Result<Vec<Sum>, KernelError> {
    let map = counter_map(programs)?;
    let sum = |number| counters(&map, number).map(|counters| Sum::of(&counters));
    (0..rows).map(sum).collect()
}

/// Reads an operation, again if its counters change meanwhile, until its buckets fit its counters.
pub(crate) fn read_call(
    programs: &Ebpf,
    number: u32,
    resolution: Resolution,
) -> Result<Read, KernelError> {
    let map = counter_map(programs)?;
    let mut seen = counters(&map, number)?;
    let mut buckets = Vec::new();
    if seen.iter().all(|one| one.entered == 0) {
        return Ok(Read {
            counters: seen,
            buckets,
        });
    }
    for _ in 0..ATTEMPTS {
        buckets = read_buckets(programs, number, resolution)?;
        let now = counters(&map, number)?;
        let left: u64 = now.iter().map(|one| one.left).sum();
        let is_whole = now == seen && left == buckets.iter().sum::<u64>();
        seen = now;
        if is_whole {
            break;
        }
    }
    Ok(Read {
        counters: seen,
        buckets,
    })
}

fn read_buckets(
    programs: &Ebpf,
    number: u32,
    resolution: Resolution,
) -> Result<Vec<u64>, KernelError> {
    const MAP: &str = "buckets";
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = BucketMap::try_from(map).map_err(failed)?;
    let rows = u32::from(resolution.get());
    let mut buckets = Vec::with_capacity(resolution.buckets());
    for row in 0..rows {
        let of_cpus = map.get(&(number * rows + row), 0).map_err(failed)?;
        let sum = |at: usize| of_cpus.iter().filter_map(|one| one.get(at)).sum::<u64>();
        buckets.extend((0..ROW).map(sum));
    }
    Ok(buckets)
}

const COUNTERS: &str = "counters";

fn counter_map(programs: &Ebpf) -> Result<CounterMap<'_>, KernelError> {
    let map = programs
        .map(COUNTERS)
        .ok_or(KernelError::Object(COUNTERS))?;
    CounterMap::try_from(map).map_err(|source| KernelError::Map {
        map: COUNTERS,
        source,
    })
}

fn counters(map: &CounterMap<'_>, number: u32) -> Result<Vec<Counters>, KernelError> {
    let of_cpus = map.get(&number, 0).map_err(|source| KernelError::Map {
        map: COUNTERS,
        source,
    })?;
    Ok(of_cpus.iter().map(Counters::new).collect())
}

/// Returns the number of calls in flight by row. A call moves from its CPU's slot to its
/// task's storage, never back; so slots are read first, and what is found twice counts once.
fn calls_in_flight(programs: &mut Ebpf) -> Result<BTreeMap<u32, u64>, KernelError> {
    const MAP: &str = "slots";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map: PerCpuArray<_, SlotWords> = PerCpuArray::try_from(map).map_err(failed)?;
    let slots = map.get(&0, 0).map_err(failed)?;
    let mut calls: Vec<Call> = slots.iter().filter_map(Call::from_slot).collect();
    let walked = walk(programs, IN_FLIGHT)?;
    let (records, _) = walked.as_chunks::<{ Call::BYTES_WITH_ROW }>();
    calls.extend(records.iter().filter_map(Call::from_bytes_with_row));
    calls.sort_unstable();
    calls.dedup_by_key(|call| (call.tid, call.start_ns));
    let mut by_row = BTreeMap::new();
    for call in calls {
        *by_row.entry(call.row).or_default() += 1;
    }
    Ok(by_row)
}

/// Returns the variables of an object's programs, which lie in its `.bss`.
pub(crate) fn variables<W: Pod>(programs: &Ebpf) -> Result<W, KernelError> {
    const MAP: &str = ".bss";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map: Array<_, W> = Array::try_from(map).map_err(failed)?;
    map.get(&0, 0).map_err(failed)
}

/// Returns what is in flight, by address. `most` is the size of the map.
pub(crate) fn in_flight_by_address<V: Pod>(
    programs: &Ebpf,
    most: usize,
) -> Result<BTreeMap<u64, V>, KernelError> {
    const MAP: &str = "in_flight";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map: HashMap<_, u64, V> = HashMap::try_from(map).map_err(failed)?;
    let mut found = BTreeMap::new();
    // What ends while the walk stands at it lets the walk begin anew, so that some may be found twice,
    // but none is left out.
    for entry in map.iter().take(most * 4) {
        match entry {
            Ok((address, value)) => found.insert(address, value),
            Err(MapError::KeyNotFound) => None,
            Err(error) => return Err(failed(error)),
        };
    }
    Ok(found)
}

/// Returns a name without white space, which profiles do not allow.
pub(crate) fn word(text: &str) -> String {
    let allowed = |one: &char| !one.is_whitespace() && !one.is_control();
    let word: String = text.chars().filter(allowed).collect();
    match word.is_empty() {
        true => "nameless".to_owned(),
        false => word,
    }
}

pub(crate) fn lost_tasks(programs: &Ebpf) -> Result<u64, KernelError> {
    variables(programs)
}

/// Returns how often the kernel skipped a program because it was already running on that CPU.
pub(crate) fn missed(
    programs: &Ebpf,
    of: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Result<u64, KernelError> {
    let mut missed = 0;
    for (name, target) in of {
        let program = programs.program(name).ok_or(KernelError::Object(name))?;
        let fd = program.fd();
        let fd = fd.map_err(|error| crate::diagnosis::of_program(name, target, error))?;
        missed += misses(fd.as_fd())?;
    }
    Ok(missed)
}

/// Returns how often the kernel skipped a program.
pub(crate) fn misses(program: BorrowedFd<'_>) -> Result<u64, KernelError> {
    let number = program.as_raw_fd();
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
    let info = info.map_err(KernelError::Walk)?;
    let count = info
        .lines()
        .find_map(|line| line.strip_prefix("recursion_misses:"));
    // Kernels before 5.12 do not say.
    let count = count.and_then(|count| count.trim().parse().ok());
    Ok(count.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exit_group(2) never returns.
    #[test]
    fn a_call_that_ended_its_process_has_no_latency() {
        let words: CounterWords = [1, 1, 0, 0, 0, 0, 0, 0];
        let read = Read {
            counters: vec![Counters::new(&words)],
            buckets: vec![0; ROW],
        };
        let before = Sum::of(&read.counters);
        let in_flight = InFlight { calls: 0, slack: 1 };
        let checked = check(Resolution::ONE, "exit_group", before, &read, in_flight);
        let checked = checked.expect("it adds up");
        assert!(checked.is_exact);
        assert_eq!(checked.histogram.check(), Ok(()));
        assert_eq!((checked.ended, checked.histogram.counts().max), (1, None));
    }

    /// A processor was held up after it had added the second call to the total.
    #[test]
    fn a_call_that_is_being_counted_makes_no_reading_fail() {
        let words: CounterWords = [2, 0, 0, 210_620, !100_000, 100_000, 1, 0];
        let mut buckets = vec![0; ROW];
        buckets[16] = 1;
        let read = Read {
            counters: vec![Counters::new(&words)],
            buckets,
        };
        let before = Sum::of(&read.counters);
        let in_flight = InFlight { calls: 0, slack: 1 };
        let checked = check(Resolution::ONE, "nfs4:d_delete", before, &read, in_flight);
        let checked = checked.expect("it adds up");
        assert!(!checked.is_exact);
        assert_eq!(checked.histogram.check(), Ok(()));
        assert_eq!(checked.histogram.counts().total, 100_000);
    }
}
