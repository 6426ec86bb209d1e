//! Finds the members of SUNRPC's structures, loads the programs and attaches them.

use std::collections::HashSet;
use std::path::Path;

use aya::programs::{BtfTracePoint, Iter, RawTracePoint};
use aya::{Btf, Ebpf, EbpfLoader};
use trawl_histogram::Resolution;

use super::read::{OPERATIONS, SLOTS};
use crate::attach::{MARK, find, walk};
use crate::borders::Borders;
use crate::diagnosis::{of_load, of_program, of_types};
use crate::error::KernelError;
use crate::file_systems::types::{Types, kind};
use crate::filter::Filter;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/rpc_calls.o");

/// Programs and their tracepoints, in the order in which they are attached: ends first.
pub(super) const PROGRAMS: [(&str, &str); 3] = [
    ("measured", "rpc_stats_latency"),
    ("end", "rpc_task_end"),
    ("begin", "rpc_task_begin"),
];
const FOLLOW: (&str, &str) = ("follow", "sched_process_fork");
/// The module that has the client.
const MODULE: &str = "sunrpc";
/// Is there if the client is, as a module or built in.
const LOADED: &str = "/sys/module/sunrpc";

/// Offsets that the programs need: their names there, the structures and the members.
const OFFSETS: [(&str, &str, &str); 7] = [
    ("client_of_task", "rpc_task", "tk_client"),
    ("procedure_of_task", "rpc_task", "tk_msg.rpc_proc"),
    ("request_of_task", "rpc_task", "tk_rqstp"),
    ("program_of_client", "rpc_clnt", "cl_program"),
    ("version_of_client", "rpc_clnt", "cl_vers"),
    ("name_of_program", "rpc_program", "name"),
    ("name_of_procedure", "rpc_procinfo", "p_name"),
];

/// Loads all programs, which the kernel checks, and attaches them.
pub(super) fn attach(filter: &Filter, resolution: Resolution) -> Result<Ebpf, KernelError> {
    if matches!(filter, Filter::Mount(_)) {
        return Err(KernelError::RpcFilter {
            filter: "mount",
            cause: "mounts of one server share connections; record a command or the whole machine \
                    (--all)",
        });
    }
    let selection = filter.selection()?;
    let offsets = offsets()?;
    let types = Btf::from_sys_fs().map_err(of_types)?;
    let borders = Borders::new(resolution);
    let in_octave = u32::from(resolution.get());
    let rows = SLOTS * OPERATIONS.len() as u32;
    let mut loader = EbpfLoader::new();
    loader
        .btf(Some(&types))
        .allow_unsupported_maps()
        .override_global("filter", &selection.kind, true)
        .override_global("root_pid", &selection.root_pid, true)
        .override_global("cgroup_id", &selection.cgroup_id, true)
        .override_global("cgroup_level", &selection.cgroup_level, true)
        .override_global("slots_max", &SLOTS, true)
        .override_global("resolution", &in_octave, true)
        .override_global("cell_bucket", &borders.cell_bucket, true)
        .override_global("bucket_start", &borders.bucket_start, true)
        .map_max_entries("counters", rows)
        .map_max_entries("buckets", rows * in_octave);
    for (name, offset) in &offsets {
        loader.override_global(name, offset, true);
    }
    let mut programs = loader.load(OBJECT).map_err(of_load)?;
    follow(&mut programs, filter, &types)?;
    for (name, target) in PROGRAMS {
        let program: &mut RawTracePoint = find(&mut programs, name)?;
        let loaded = program.load();
        loaded.map_err(|error| of_program(name, target, error))?;
    }
    for (name, target) in PROGRAMS {
        let program: &mut RawTracePoint = find(&mut programs, name)?;
        let attached = program.attach(target);
        attached.map_err(|error| of_program(name, target, error))?;
    }
    Ok(programs)
}

/// Follows the processes of a tree.
fn follow(programs: &mut Ebpf, filter: &Filter, types: &Btf) -> Result<(), KernelError> {
    if !matches!(filter, Filter::Tree(_)) {
        return Ok(());
    }
    let program: &mut Iter = find(programs, MARK)?;
    let loaded = program.load("task", types);
    loaded.map_err(|error| of_program(MARK, "iterator task", error))?;
    let (name, target) = FOLLOW;
    let failed = |error| of_program(name, target, error);
    let program: &mut BtfTracePoint = find(programs, name)?;
    program.load(target, types).map_err(failed)?;
    program.attach().map_err(failed)?;
    while !walk(programs, MARK)?.is_empty() {}
    Ok(())
}

/// Returns the offsets in the running kernel, by their names in the programs.
fn offsets() -> Result<Vec<(&'static str, u32)>, KernelError> {
    if !Path::new(LOADED).exists() {
        return Err(KernelError::NoRpc);
    }
    let kernel = Types::of_kernel().ok_or(KernelError::Types("vmlinux"))?;
    let module = kernel.of_module(MODULE);
    let types = module.as_ref().unwrap_or(&kernel);
    let structures: HashSet<&'static str> = OFFSETS.iter().map(|one| one.1).collect();
    // The kernel describes those that its own code uses, too.
    let mut found = kernel.find(kind::STRUCT, &structures);
    found.extend(types.find(kind::STRUCT, &structures));
    let offset = |(name, structure, path): (&'static str, &'static str, &'static str)| {
        let id = *found.get(structure).ok_or(KernelError::Types(structure))?;
        let member = types.member(id, path).ok_or(KernelError::Types(path))?;
        Ok((name, member.offset))
    };
    OFFSETS.into_iter().map(offset).collect()
}
