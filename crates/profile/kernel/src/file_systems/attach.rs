//! Finds the functions, and attaches two programs to each.

use std::collections::HashMap as Map;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use aya::maps::HashMap;
use aya::programs::{BtfTracePoint, Iter};
use aya::{Btf, Ebpf, EbpfLoader};
use trawl_histogram::Resolution;
use trawl_sys::bpf::tracing::{self, Moment, Target};
use trawl_sys::{Errno, SysError};

use super::Coverage;
use super::layout::Layout;
use super::operations::{Function, Operations};
use super::symbols::{self, Modules};
use super::template::{Constants, Template, templates};
use super::types::{Types, kind};
use super::vectors::{FileSystem, Reader};
use crate::attach::{IN_FLIGHT, MARK, find, walk};
use crate::borders::Borders;
use crate::diagnosis::{of_load, of_program, of_trace, of_types};
use crate::error::KernelError;
use crate::filter::{Filter, MOUNT, Selection};

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/file_systems.o");
const FOLLOW: (&str, &str) = ("follow", "sched_process_fork");
/// A function that every kernel has and that is rarely called: it is traced for a moment, to find out
/// whether the kernel allows it.
const PROBED: &str = "vfs_fsync";
/// Descriptors for programs and links: enough for 16,000 functions.
const DESCRIPTORS: u64 = 1 << 16;

/// Threads that load programs at a time.
const LOADERS_MAX: usize = 8;

/// `ENOTSUPP`, which the C library has no name for.
const NOT_SUPPORTED: Errno = Errno(524);

/// A function with its programs.
pub(super) struct Traced {
    /// The programs, for their counts of misses.
    pub(super) programs: [OwnedFd; 2],
    links: [OwnedFd; 2],
}

/// The programs and links that this layer has in the kernel.
pub(super) struct Attachment {
    pub(super) programs: Ebpf,
    pub(super) traced: Vec<Traced>,
    /// Names of the rows of counters.
    pub(super) names: Vec<String>,
    pub(super) coverage: Coverage,
}

impl Attachment {
    /// Leaves the kernel; another process waits for that.
    pub(super) fn leave(self) {
        let links = self.traced.into_iter().flat_map(|traced| traced.links);
        // Otherwise this process waits.
        let _ = trawl_sys::background_close::close_in_background(links.collect());
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = self.traced.len();
        f.debug_struct("Attachment")
            .field("functions", &functions)
            .finish()
    }
}

/// The functions found, before any is attached.
struct Found {
    systems: Vec<FileSystem>,
    layout: Layout,
}

pub(super) fn attach(filter: &Filter, resolution: Resolution) -> Result<Attachment, KernelError> {
    let mut selection = filter.selection_of_files()?;
    let begun = Instant::now();
    let kernel = Types::of_kernel().ok_or(KernelError::Types("vmlinux"))?;
    let types = Btf::from_sys_fs().map_err(of_types)?;
    let mut modules = Modules::new();
    let only = match filter {
        Filter::Mount(path) => Some(path.as_path()),
        _ => None,
    };
    let found = discover(&kernel, &types, &mut modules, only)?;
    selection.mount_super = only.and_then(|_| found.systems.first()?.supers.first().copied());
    let operations = Operations::new(&found.systems);
    let mut coverage = Coverage {
        file_systems: found.systems.iter().map(|one| one.name.clone()).collect(),
        discovery: begun.elapsed(),
        ..Coverage::default()
    };
    let begun = Instant::now();
    // Each function needs four. If the limit is too low, the remaining functions are reported as
    // unseen.
    let _ = trawl_sys::process::raise_descriptor_limit(DESCRIPTORS);
    let mut programs = load(&selection, resolution, &found, &operations, &types)?;
    if matches!(filter, Filter::Tree(_)) {
        while !walk(&mut programs, MARK)?.is_empty() {}
    }
    let (enter, leave) = templates(OBJECT, &programs, &types)?;
    let tracer = Tracer {
        kernel: Place::new(&kernel, None, "", &operations),
        modules: places(&modules, &operations)?,
        layout: &found.layout,
        enter,
        leave,
    };
    let traced = tracer.trace_all(&operations, &mut coverage)?;
    coverage.attaching = begun.elapsed();
    Ok(Attachment {
        programs,
        traced,
        names: operations.names,
        coverage,
    })
}

/// Finds the file systems and their functions.
fn discover<'k>(
    kernel: &'k Types<'static>,
    types: &Btf,
    modules: &mut Modules<'k>,
    only: Option<&Path>,
) -> Result<Found, KernelError> {
    let layout = Layout::new(kernel).map_err(KernelError::Types)?;
    let samples = super::samples::open(only)?;
    let mut reader = Reader::load(&layout, types)?;
    let mut systems = reader.file_systems(&layout, &samples)?;
    read_modules(&systems, kernel, modules);
    symbols::complete(&mut systems, &mut reader, &layout, kernel, modules)?;
    read_modules(&systems, kernel, modules);
    match systems.iter().all(|system| system.functions.is_empty()) {
        true => Err(KernelError::NoFileSystem),
        false => Ok(Found { systems, layout }),
    }
}

fn read_modules<'k>(systems: &[FileSystem], kernel: &'k Types<'static>, modules: &mut Modules<'k>) {
    let symbols = systems.iter().flat_map(|system| system.functions.keys());
    let names: BTreeSet<&str> = symbols.map(|symbol| symbol.module.as_str()).collect();
    for name in names {
        if !name.is_empty()
            && !modules.contains_key(name)
            && let Some(types) = kernel.of_module(name)
        {
            modules.insert(name.to_owned(), types);
        }
    }
}

/// Loads everything but the programs for functions, and follows processes from now on.
fn load(
    selection: &Selection,
    resolution: Resolution,
    found: &Found,
    operations: &Operations,
    types: &Btf,
) -> Result<Ebpf, KernelError> {
    let borders = Borders::new(resolution);
    let in_octave = u32::from(resolution.get());
    let rows = operations.names.len().max(1) as u32;
    let mount_super = selection.mount_super.unwrap_or(0);
    if selection.kind == MOUNT && mount_super == 0 {
        return Err(KernelError::NoFileSystem);
    }
    let mut programs = EbpfLoader::new()
        .btf(Some(types))
        .allow_unsupported_maps()
        .override_global("filter", &selection.kind, true)
        .override_global("root_pid", &selection.root_pid, true)
        .override_global("cgroup_id", &selection.cgroup_id, true)
        .override_global("cgroup_level", &selection.cgroup_level, true)
        .override_global("mount_super", &mount_super, true)
        .override_global("type_of_super", &found.layout.type_of_super, true)
        .override_global("stack_bytes", &found.layout.stack_bytes, true)
        .override_global("resolution", &in_octave, true)
        .override_global("cell_bucket", &borders.cell_bucket, true)
        .override_global("bucket_start", &borders.bucket_start, true)
        .map_max_entries("counters", rows)
        .map_max_entries("buckets", rows * in_octave)
        .load(OBJECT)
        .map_err(of_load)?;
    name_types(&mut programs, &found.systems)?;
    for name in [MARK, IN_FLIGHT] {
        let program: &mut Iter = find(&mut programs, name)?;
        let loaded = program.load("task", types);
        loaded.map_err(|error| of_program(name, "iterator task", error))?;
    }
    let (name, target) = FOLLOW;
    let failed = |error| of_program(name, target, error);
    let program: &mut BtfTracePoint = find(&mut programs, name)?;
    program.load(target, types).map_err(failed)?;
    program.attach().map_err(failed)?;
    Ok(programs)
}

/// Tells the programs the numbers of the types of file systems.
fn name_types(programs: &mut Ebpf, systems: &[FileSystem]) -> Result<(), KernelError> {
    const MAP: &str = "types";
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map_mut(MAP).ok_or(KernelError::Object(MAP))?;
    let mut map: HashMap<_, u64, u32> = HashMap::try_from(map).map_err(failed)?;
    for (number, system) in (1..).zip(systems) {
        map.insert(system.address, number, 0).map_err(failed)?;
    }
    Ok(())
}

/// The kernel or a module, with the functions that are wanted there.
struct Place<'p, 'k> {
    types: &'p Types<'k>,
    descriptor: Option<OwnedFd>,
    ids: Map<&'p str, u32>,
}

impl<'p, 'k> Place<'p, 'k> {
    fn new(
        types: &'p Types<'k>,
        descriptor: Option<OwnedFd>,
        module: &str,
        operations: &'p Operations,
    ) -> Self {
        let own = operations.functions.iter().map(|one| &one.symbol);
        let own = own.filter(|symbol| symbol.module == module);
        let names: HashSet<&str> = own.map(|symbol| symbol.name.as_str()).collect();
        Place {
            ids: types.find(kind::FUNCTION, &names),
            types,
            descriptor,
        }
    }
}

fn places<'p, 'k>(
    modules: &'p Modules<'k>,
    operations: &'p Operations,
) -> Result<BTreeMap<&'p str, Place<'p, 'k>>, KernelError> {
    let mut places = BTreeMap::new();
    if modules.is_empty() {
        return Ok(places);
    }
    for found in tracing::all_types().map_err(|error| of_trace("module types", error))? {
        let name = String::from_utf8_lossy(&found.name).into_owned();
        if let Some((name, types)) = modules.get_key_value(&name) {
            let place = Place::new(types, Some(found.descriptor), name, operations);
            places.insert(name.as_str(), place);
        }
    }
    Ok(places)
}

struct Tracer<'p, 'k> {
    kernel: Place<'p, 'k>,
    modules: BTreeMap<&'p str, Place<'p, 'k>>,
    layout: &'p Layout,
    enter: Template,
    leave: Template,
}

impl Tracer<'_, '_> {
    /// Traces all functions that can be traced; an error if none can.
    fn trace_all(
        &self,
        operations: &Operations,
        coverage: &mut Coverage,
    ) -> Result<Vec<Traced>, KernelError> {
        let mut all = Tracing::default();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, loaded) = mpsc::channel();
            for _ in 0..loaders(operations.functions.len()) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || self.load_some(operations, next, &sender));
            }
            drop(sender);
            // The kernel attaches one after the other, in whichever thread.
            for loaded in loaded {
                coverage.loading += loaded.lasted;
                all.add(operations, loaded);
            }
        });
        let (traced, first) = all.finish(coverage);
        match (traced.is_empty(), first) {
            (true, Some(error)) => Err(of_trace("functions of file systems", error)),
            (true, None) => Err(KernelError::NoFileSystem),
            (false, _) => Ok(traced),
        }
    }

    /// Loads the programs of functions that no other thread has taken, until there are none left.
    fn load_some(
        &self,
        operations: &Operations,
        next: &AtomicUsize,
        loaded: &mpsc::Sender<Loaded>,
    ) {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(function) = operations.functions.get(at) else {
                return;
            };
            let begun = Instant::now();
            let programs = self.load(function);
            let lasted = begun.elapsed();
            let one = Loaded {
                at,
                programs,
                lasted,
            };
            if loaded.send(one).is_err() {
                return;
            }
        }
    }

    /// Loads the programs that run where a function begins and where it ends.
    fn load(&self, function: &Function) -> Result<[OwnedFd; 2], Untraced> {
        let symbol = &function.symbol;
        let place = match symbol.module.as_str() {
            "" => &self.kernel,
            module => self.modules.get(module).ok_or(Untraced::NotDescribed)?,
        };
        let id = place.ids.get(symbol.name.as_str());
        let id = *id.ok_or(Untraced::NotDescribed)?;
        let prototype = place.types.prototype(id).ok_or(Untraced::NotDescribed)?;
        let constants = Constants {
            row: function.row,
            types: function.types,
            way: self.layout.way(place.types, prototype),
        };
        let target = Target {
            id,
            module: place.descriptor.as_ref().map(AsFd::as_fd),
        };
        let (enter, leave) = (self.enter.with(&constants), self.leave.with(&constants));
        Ok([
            tracing::load(c"enter", &enter, Moment::Entry, target)?,
            tracing::load(c"leave", &leave, Moment::Exit, target)?,
        ])
    }
}

/// Returns how many threads load programs: the kernel checks several at a time.
fn loaders(functions: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(LOADERS_MAX).min(functions).max(1)
}

/// The programs of a function, or why they were refused.
struct Loaded {
    /// Place of the function among the operations'.
    at: usize,
    programs: Result<[OwnedFd; 2], Untraced>,
    lasted: Duration,
}

/// The functions that were attached so far, and those that could not be, by their places.
#[derive(Default)]
struct Tracing {
    traced: BTreeMap<usize, (Traced, (String, String))>,
    unseen: BTreeMap<usize, String>,
    first: Option<SysError>,
}

impl Tracing {
    fn add(&mut self, operations: &Operations, loaded: Loaded) {
        let Some(function) = operations.functions.get(loaded.at) else {
            return;
        };
        let name = &function.symbol.name;
        match loaded.programs.and_then(attach_both) {
            Ok(done) => {
                let operation = operations.names.get(function.row as usize);
                let named = (name.clone(), operation.cloned().unwrap_or_default());
                self.traced.insert(loaded.at, (done, named));
            }
            Err(untraced) => {
                self.unseen.insert(loaded.at, format!("{name}: {untraced}"));
                if let Untraced::Refused(error) = untraced {
                    self.first.get_or_insert(error);
                }
            }
        }
    }

    /// Returns the functions, in order, and the first refusal.
    fn finish(self, coverage: &mut Coverage) -> (Vec<Traced>, Option<SysError>) {
        let (traced, functions) = self.traced.into_values().unzip();
        coverage.functions = functions;
        coverage.unseen = self.unseen.into_values().collect();
        (traced, self.first)
    }
}

/// What counts comes last: a call can be counted only once its end would be seen.
fn attach_both(programs: [OwnedFd; 2]) -> Result<Traced, Untraced> {
    let [enter, leave] = &programs;
    let left = tracing::attach(leave.as_fd())?;
    let entered = tracing::attach(enter.as_fd())?;
    Ok(Traced {
        links: [entered, left],
        programs,
    })
}

enum Untraced {
    NotDescribed,
    Refused(SysError),
}

impl fmt::Display for Untraced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untraced::NotDescribed => f.write_str("the kernel does not describe it"),
            Untraced::Refused(error) if error.errno == NOT_SUPPORTED => {
                f.write_str("this kernel cannot trace a function with such arguments")
            }
            Untraced::Refused(error) => error.fmt(f),
        }
    }
}

impl From<SysError> for Untraced {
    fn from(error: SysError) -> Untraced {
        Untraced::Refused(error)
    }
}

/// Attaches an empty program to a function, and removes it.
pub(super) fn probe() -> Result<(), KernelError> {
    let kernel = Types::of_kernel().ok_or(KernelError::Types("vmlinux"))?;
    let found = kernel.find(kind::FUNCTION, &HashSet::from([PROBED]));
    let id = *found.get(PROBED).ok_or(KernelError::Types(PROBED))?;
    let target = Target { id, module: None };
    // R0 = 0, exit.
    let program = tracing::load(c"probe", &[0xb7, 0x95], Moment::Entry, target);
    let program = program.map_err(|error| of_trace(PROBED, error))?;
    let link = tracing::attach(program.as_fd());
    link.map(drop).map_err(|error| of_trace(PROBED, error))
}
