//! Reads the counters and makes a profile of them.

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::maps::HashMap;
use trawl_histogram::{Correlated, Profile, Resolution, Unit};

use super::attach::PROGRAMS;
use super::layout::{
    DEVICE, DEVICE_ROWS, DeviceBytes, IN_FLIGHT_MAX, KINDS, OPERATIONS, ProgressWords, StateWords,
    rows_in_flight, slot_and_name,
};
use super::sizes;
use crate::error::KernelError;
use crate::read::{
    InFlight, all_counters, check, in_flight_by_address, missed, read_call, variables, word,
};

/// The counts of a layer since it was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockReading {
    /// The operations, as `DEVICE:KIND:OPERATION`. An operation's dropped requests include those that
    /// were merged.
    pub profile: Profile,
    /// Sizes of requests in bytes, by the device's latency, for the operations `device`: each octave
    /// of latencies that holds a request is a peak of its own.
    pub sizes: Correlated,
    /// Requests that were absorbed by others after they had been counted, by operation.
    pub merged: BTreeMap<String, u64>,
    /// Whether no request came or went during the reading, so that each operation's counts are exact
    /// to one moment. Otherwise they are off by at most the requests of the reading's duration.
    pub is_still: bool,
    /// Events for which the kernel ran no program: because an interrupt came while the same program
    /// ran on that processor, or for a reason that the kernel does not count. The end of a request is
    /// found to be missing when the next request takes its place in memory; until then, the request
    /// appears to be in flight.
    pub missed: u64,
    /// Requests beyond those that can be in flight at a time; they count as dropped.
    pub overflowed: u64,
}

/// Programs on one processor that may be between two of their steps: one in a task, one in each kind
/// of interrupt that it can be stopped by.
const NESTED: u64 = 3;

/// The name of the devices for which there was no slot.
const OTHER_DEVICES: &str = "others";

pub(crate) fn read(
    programs: &Ebpf,
    slots: u32,
    resolution: Resolution,
) -> Result<BlockReading, KernelError> {
    let names = names(programs, slots)?;
    let before = all_counters(programs, slots * DEVICE_ROWS)?;
    let in_flight = requests_in_flight(programs)?;
    let firsts = PROGRAMS
        .into_iter()
        .filter(|(name, _)| !name.ends_with("_missed"));
    let missed = missed(programs, firsts)?;
    let [_, _, overflowed, caught, unseen]: StateWords = variables(programs)?;
    let mut reading = BlockReading {
        profile: Profile::new(Unit::Nanoseconds, resolution),
        sizes: Correlated::new(sizes::VALUE, Resolution::ONE)?,
        merged: BTreeMap::new(),
        is_still: true,
        missed: missed.saturating_sub(caught) + unseen,
        overflowed,
    };
    for (row, before) in (0_u32..).zip(before) {
        let read = read_call(programs, row, resolution)?;
        if !read.counters.iter().any(|one| one.entered > 0) {
            continue;
        }
        // Of a device that appeared during this reading, the next one tells.
        let Some(operation) = name(&names, slots, row) else {
            continue;
        };
        let in_flight = InFlight {
            calls: in_flight.get(&row).copied().unwrap_or(0),
            slack: read.counters.len() as u64 * NESTED,
        };
        let checked = check(resolution, &operation, before, &read, in_flight)?;
        reading.is_still &= checked.is_exact;
        reading.profile.insert(&operation, checked.histogram)?;
        if checked.ended > 0 {
            reading.merged.insert(operation.clone(), checked.ended);
        }
        if row % OPERATIONS.len() as u32 == DEVICE {
            let kind = row / OPERATIONS.len() as u32;
            sizes::add(programs, kind, resolution, &operation, &mut reading.sizes)?;
        }
    }
    Ok(reading)
}

/// Returns `DEVICE:KIND:OPERATION`; `None` if the row's device has no name yet.
fn name(names: &BTreeMap<u32, String>, slots: u32, row: u32) -> Option<String> {
    let slot = row / DEVICE_ROWS;
    let device = match slot + 1 == slots {
        true => OTHER_DEVICES,
        false => names.get(&slot)?,
    };
    let within = (row % DEVICE_ROWS) as usize;
    let kind = KINDS.get(within / OPERATIONS.len()).unwrap_or(&"");
    let operation = OPERATIONS.get(within % OPERATIONS.len()).unwrap_or(&"");
    Some(format!("{device}:{kind}:{operation}"))
}

/// Names of devices by slot. A device that has the name of one that is gone is told apart by its
/// number.
fn names(programs: &Ebpf, slots: u32) -> Result<BTreeMap<u32, String>, KernelError> {
    const MAP: &str = "devices";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map: HashMap<_, u32, DeviceBytes> = HashMap::try_from(map).map_err(failed)?;
    let mut devices = Vec::new();
    for entry in map.iter() {
        let (number, bytes) = entry.map_err(failed)?;
        let (slot, name) = slot_and_name(&bytes);
        devices.push((slot, number, name));
    }
    // The device that was there first keeps its name.
    devices.sort_unstable();
    let mut names = BTreeMap::new();
    let mut taken = BTreeMap::new();
    for (slot, number, name) in devices {
        let name = word(&name);
        if slot + 1 < slots {
            match taken.insert(name.clone(), number) {
                None => names.insert(slot, name),
                Some(_) => names.insert(
                    slot,
                    format!("{name}-{}.{}", number >> 20, number & 0xf_ffff),
                ),
            };
        }
    }
    Ok(names)
}

/// Returns the number of requests in flight by row.
fn requests_in_flight(programs: &Ebpf) -> Result<BTreeMap<u32, u64>, KernelError> {
    let requests: BTreeMap<u64, ProgressWords> = in_flight_by_address(programs, IN_FLIGHT_MAX)?;
    let mut by_row = BTreeMap::new();
    for progress in requests.values() {
        for row in rows_in_flight(progress) {
            *by_row.entry(row).or_default() += 1;
        }
    }
    Ok(by_row)
}
