//! Loads the programs into the kernel and attaches them.

use std::fs::File;
use std::io::Read;

use aya::programs::{BtfTracePoint, Iter, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};
use trawl_histogram::Resolution;

use crate::apart::Settings;
use crate::borders::Borders;
use crate::diagnosis::{of_load, of_program, of_types};
use crate::error::KernelError;
use crate::filter::Selection;
use crate::layout::ROW;
use crate::values::Rows;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/system_calls.o");

/// Programs and their tracepoints, in the order in which they are attached: what follows tasks comes
/// before what counts, and a call can be counted only once its end would be seen.
const PROGRAMS: [(&str, &str); 5] = [
    ("put_away", "sched_switch"),
    ("end", "sched_process_exit"),
    ("follow", "sched_process_fork"),
    ("leave", "sys_exit"),
    ("enter", "sys_enter"),
];
/// The program that takes the place of `leave` if values of calls are recorded.
const LEAVE_WITH_VALUES: &str = "leave_with_values";
/// The program that takes the place of `enter` if programs or threads are told apart, and the one that
/// is attached in addition.
const ENTER_IN_PARTS: &str = "enter_in_parts";
const RENAMED: (&str, &str) = ("renamed", "sched_process_exec");

/// Returns the programs that are attached.
pub(crate) fn programs_for(rows: &Rows, apart: Settings) -> Vec<(&'static str, &'static str)> {
    let renamed = (apart.kind != 0).then_some(RENAMED);
    let usual = PROGRAMS.into_iter().map(|(name, target)| match name {
        "leave" if rows.count() > 0 => (LEAVE_WITH_VALUES, target),
        "enter" if apart.kind != 0 => (ENTER_IN_PARTS, target),
        _ => (name, target),
    });
    renamed.into_iter().chain(usual).collect()
}

/// Marks the tasks of a process tree.
pub(crate) const MARK: &str = "mark";
/// Lists calls in flight.
pub(crate) const IN_FLIGHT: &str = "in_flight";

/// Loads all programs, which the kernel checks, and attaches those at tracepoints.
pub(crate) fn attach(
    selection: Selection,
    resolution: Resolution,
    rows: &Rows,
    apart: Settings,
) -> Result<Ebpf, KernelError> {
    let types = Btf::from_sys_fs().map_err(of_types)?;
    let borders = Borders::new(resolution);
    let in_octave = u32::from(resolution.get());
    let mut programs = EbpfLoader::new()
        .btf(Some(&types))
        // Task storage: user space never touches it.
        .allow_unsupported_maps()
        .override_global("filter", &selection.kind, true)
        .override_global("root_pid", &selection.root_pid, true)
        .override_global("cgroup_id", &selection.cgroup_id, true)
        .override_global("cgroup_level", &selection.cgroup_level, true)
        .override_global("apart_by", &apart.kind, true)
        .override_global("row_limit", &apart.rows, true)
        .override_global("part_limit", &apart.parts, true)
        .override_global("resolution", &in_octave, true)
        .override_global("cell_bucket", &borders.cell_bucket, true)
        .override_global("bucket_start", &borders.bucket_start, true)
        .override_global("value_rows", &rows.first, true)
        .override_global("value_quantity", &rows.quantities, true)
        .override_global("value_number", &rows.numbers, true)
        .map_max_entries("parts", apart.parts.max(1))
        .map_max_entries("rows", apart.parts.max(1))
        .map_max_entries("counters", apart.rows)
        .map_max_entries("buckets", apart.rows * in_octave)
        .map_max_entries("values", (rows.count() * ROW as u32 * in_octave).max(1))
        .load(OBJECT)
        .map_err(of_load)?;
    for name in [MARK, IN_FLIGHT] {
        let program: &mut Iter = find(&mut programs, name)?;
        let loaded = program.load("task", &types);
        loaded.map_err(|error| of_program(name, "iterator task", error))?;
    }
    for (name, target) in programs_for(rows, apart) {
        let program: &mut BtfTracePoint = find(&mut programs, name)?;
        let loaded = program.load(target, &types);
        loaded.map_err(|error| of_program(name, target, error))?;
    }
    for (name, target) in programs_for(rows, apart) {
        let program: &mut BtfTracePoint = find(&mut programs, name)?;
        let attached = program.attach();
        attached.map_err(|error| of_program(name, target, error))?;
    }
    Ok(programs)
}

pub(crate) fn find<'p, P>(
    programs: &'p mut Ebpf,
    name: &'static str,
) -> Result<&'p mut P, KernelError>
where
    &'p mut P: TryFrom<&'p mut aya::programs::Program, Error = ProgramError>,
{
    let program = programs.program_mut(name);
    let program = program.ok_or(KernelError::Object(name))?;
    let wrong_kind = |_| KernelError::Object(name);
    program.try_into().map_err(wrong_kind)
}

/// Runs an iterator over all tasks and returns what its program wrote.
pub(crate) fn walk(programs: &mut Ebpf, name: &'static str) -> Result<Vec<u8>, KernelError> {
    let program: &mut Iter = find(programs, name)?;
    let failed = |error| of_program(name, "iterator task", error);
    let link = program.attach().map_err(failed)?;
    let link = program.take_link(link).map_err(failed)?;
    let file = link.into_file().map_err(KernelError::BeginWalk)?;
    read_whole(file).map_err(KernelError::Walk)
}

pub(crate) fn read_whole(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 32 << 10];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            // The kernel visited many tasks without output and interrupts the read; it continues.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
