//! Reads the counters and makes a profile of them.

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::maps::HashMap;
use trawl_histogram::{Profile, Resolution, Unit};

use super::attach::PROGRAMS;
use crate::error::KernelError;
use crate::read::{self, Reading};

/// Names of the operations on a call, in the order of their rows in `bpf/rpc_calls.c`.
pub(super) const OPERATIONS: [&str; 3] = ["whole", "queue", "round-trip"];
/// Slots for procedures, of which NFS 4.2 has 70; the last one is for all others.
pub(super) const SLOTS: u32 = 257;
/// `IN_FLIGHT_MAX` in `bpf/rpc_calls.c`.
const IN_FLIGHT_MAX: usize = 16_384;

/// Words of `struct state`.
type StateWords = [u64; 4];
/// `struct procedure`.
type ProcedureBytes = [u8; 56];

pub(super) fn read(programs: &Ebpf, resolution: Resolution) -> Result<Reading, KernelError> {
    let rows = SLOTS * OPERATIONS.len() as u32;
    let before = read::all_counters(programs, rows)?;
    let in_flight = in_flight(programs)?;
    let names = names(programs)?;
    let [_, overflowed, unseen, lost_tasks]: StateWords = read::variables(programs)?;
    let missed = read::missed(programs, PROGRAMS)?;
    let mut reading = Reading {
        profile: Profile::new(Unit::Nanoseconds, resolution),
        parts: Vec::new(),
        others: None,
        correlated: Vec::new(),
        ended: BTreeMap::new(),
        is_still: true,
        missed: missed + overflowed + unseen,
        lost_tasks,
    };
    for (row, before) in (0..rows).zip(before) {
        let read = read::read_call(programs, row, resolution)?;
        if !read.is_used() {
            continue;
        }
        // The next reading tells of a procedure that appeared during this one.
        let Some(name) = name(&names, row) else {
            continue;
        };
        let calls = in_flight.get(&row).copied().unwrap_or(0);
        read::add(&mut reading, name, before, &read, calls)?;
    }
    Ok(reading)
}

/// Returns `PROCEDURE:OPERATION`; `None` if the row's procedure has no name yet.
fn name(names: &BTreeMap<u32, String>, row: u32) -> Option<String> {
    let slot = row / OPERATIONS.len() as u32;
    let operation = OPERATIONS.get(row as usize % OPERATIONS.len())?;
    let procedure = match slot + 1 == SLOTS {
        true => "others",
        false => names.get(&slot)?,
    };
    Some(format!("{procedure}:{operation}"))
}

/// Names of procedures by slot. Several versions of a module may have lived in the kernel, each with
/// its own addresses: all but the first of a name are told apart by their slots.
fn names(programs: &Ebpf) -> Result<BTreeMap<u32, String>, KernelError> {
    const MAP: &str = "procedures";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map: HashMap<_, u64, ProcedureBytes> = HashMap::try_from(map).map_err(failed)?;
    let mut found = BTreeMap::new();
    for entry in map.iter() {
        let (_, bytes) = entry.map_err(failed)?;
        let (slot, name) = slot_and_name(&bytes);
        found.insert(slot, name);
    }
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    for (slot, name) in found {
        let is_taken = names.values().any(|taken| *taken == name);
        names.insert(
            slot,
            match is_taken {
                true => format!("{name}-{slot}"),
                false => name,
            },
        );
    }
    Ok(names)
}

/// Reads `struct procedure`; the name is written as the kernel writes it (`nfsv4 READ`), with a colon.
fn slot_and_name(bytes: &ProcedureBytes) -> (u32, String) {
    let [a, b, c, d, e, f, g, h, text @ ..] = *bytes;
    let (program, procedure) = text.split_at(16);
    let version = u32::from_le_bytes([e, f, g, h]);
    let name = format!("{}v{version}:{}", word(program), word(procedure));
    (u32::from_le_bytes([a, b, c, d]), name)
}

/// Returns a name without white space, which profiles do not allow.
fn word(bytes: &[u8]) -> String {
    let until_zero: Vec<u8> = bytes.iter().copied().take_while(|one| *one != 0).collect();
    read::word(&String::from_utf8_lossy(&until_zero))
}

/// Returns the number of calls in flight by row.
fn in_flight(programs: &Ebpf) -> Result<BTreeMap<u32, u64>, KernelError> {
    let calls: BTreeMap<u64, u32> = read::in_flight_by_address(programs, IN_FLIGHT_MAX)?;
    let mut by_row = BTreeMap::new();
    for row in calls.values() {
        *by_row.entry(*row).or_default() += 1;
    }
    Ok(by_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_are_named_as_the_kernel_does() {
        let mut bytes = [0; 56];
        bytes[0] = 7;
        bytes[4] = 4;
        bytes[8..11].copy_from_slice(b"nfs");
        bytes[24..28].copy_from_slice(b"READ");
        assert_eq!(slot_and_name(&bytes), (7, "nfsv4:READ".to_owned()));
        let names = BTreeMap::from([(7, "nfsv4:READ".to_owned())]);
        assert_eq!(name(&names, 23).unwrap(), "nfsv4:READ:round-trip");
        assert_eq!(name(&names, 24), None);
        assert_eq!(name(&names, 256 * 3).unwrap(), "others:whole");
    }
}
