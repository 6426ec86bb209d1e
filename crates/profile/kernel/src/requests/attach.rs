//! Loads the programs into the kernel and attaches them.

use aya::maps::{Array, HashMap};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use rustix::time::{ClockId, clock_gettime};
use trawl_histogram::Resolution;

use super::devices::Disks;
use super::layout::{
    DEVICE_ROWS, DeviceBytes, IN_FLIGHT_MAX, KINDS, OCTAVES, StateWords, device_bytes,
};
use crate::attach::find;
use crate::borders::Borders;
use crate::diagnosis::{of_load, of_program, of_types};
use crate::error::KernelError;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/block_requests.o");

/// Programs and their tracepoints, in the order in which they are attached: ends first, and each
/// `NAME_missed` behind `NAME`, of which it counts what that one has missed.
pub(crate) const PROGRAMS: [(&str, &str); 8] = [
    ("complete", "block_rq_complete"),
    ("complete_missed", "block_rq_complete"),
    ("merge", "block_rq_merge"),
    ("requeue", "block_rq_requeue"),
    ("issue", "block_rq_issue"),
    ("issue_missed", "block_rq_issue"),
    ("insert", "block_rq_insert"),
    ("insert_missed", "block_rq_insert"),
];

/// Loads all programs, which the kernel checks, attaches them, and begins to count.
pub(crate) fn attach(disks: &Disks, resolution: Resolution) -> Result<Ebpf, KernelError> {
    let types = Btf::from_sys_fs().map_err(of_types)?;
    let borders = Borders::new(resolution);
    let in_octave = u32::from(resolution.get());
    let slots = disks.slots();
    let only_known = u32::from(matches!(disks, Disks::These(_)));
    let rows = slots * DEVICE_ROWS;
    let mut programs = EbpfLoader::new()
        .btf(Some(&types))
        .override_global("only_known", &only_known, true)
        .override_global("slots_max", &slots, true)
        .override_global("resolution", &in_octave, true)
        .override_global("cell_bucket", &borders.cell_bucket, true)
        .override_global("bucket_start", &borders.bucket_start, true)
        .map_max_entries("devices", slots)
        .map_max_entries("in_flight", IN_FLIGHT_MAX as u32)
        .map_max_entries("counters", rows)
        .map_max_entries("buckets", rows * in_octave)
        .map_max_entries("sizes", slots * KINDS.len() as u32 * OCTAVES)
        .load(OBJECT)
        .map_err(of_load)?;
    if let Disks::These(all) = disks {
        enter(
            &mut programs,
            all.iter().map(|(number, name)| (*number, name.as_str())),
        )?;
    }
    for (name, target) in PROGRAMS {
        let program: &mut BtfTracePoint = find(&mut programs, name)?;
        let loaded = program.load(target, &types);
        loaded.map_err(|error| of_program(name, target, error))?;
    }
    for (name, target) in PROGRAMS {
        let program: &mut BtfTracePoint = find(&mut programs, name)?;
        let attached = program.attach();
        attached.map_err(|error| of_program(name, target, error))?;
    }
    begin(&mut programs)?;
    Ok(programs)
}

/// Enters the selected devices.
fn enter<'d>(
    programs: &mut Ebpf,
    disks: impl Iterator<Item = (u32, &'d str)>,
) -> Result<(), KernelError> {
    const MAP: &str = "devices";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map_mut(MAP).ok_or(KernelError::Object(MAP))?;
    let mut map: HashMap<_, u32, DeviceBytes> = HashMap::try_from(map).map_err(failed)?;
    for (slot, (number, name)) in (0..).zip(disks) {
        map.insert(number, device_bytes(slot, name), 0)
            .map_err(failed)?;
    }
    Ok(())
}

/// Requests that are made from now on are counted: all programs are attached.
fn begin(programs: &mut Ebpf) -> Result<(), KernelError> {
    const MAP: &str = ".bss";
    let failed = |source| KernelError::Map { map: MAP, source };
    let now = clock_gettime(ClockId::Monotonic);
    let now_ns = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
    let map = programs.map_mut(MAP).ok_or(KernelError::Object(MAP))?;
    let mut map: Array<_, StateWords> = Array::try_from(map).map_err(failed)?;
    map.set(0, [now_ns, 0, 0, 0, 0], 0).map_err(failed)
}
