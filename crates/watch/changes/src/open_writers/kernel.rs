//! Queries the kernel for the files that tasks have open for writing, and for the tasks whose
//! memory mappings have changed, through two small BPF programs for its iterators over files and
//! tasks.
//!
//! Offsets come from the kernel's own type information and are not trusted until they have been
//! tried on a file and a mapping of this process. If that fails (another PID namespace, a kernel
//! with a different meaning), this method is not used.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use trawl_sys::bpf::Register::{R1, R2, R3, R6, R7, R8, R9, R10};
use trawl_sys::bpf::{Program, TaskIterator, Width};
use trawl_sys::device::DeviceNumber;
use trawl_sys::file;
use trawl_sys::shared::SharedBytes;

use super::btf::Types;

/// The kernel's type information.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Number of the helper `bpf_seq_write`.
const WRITE: i32 = 127;
/// `FMODE_WRITE` in a file's mode.
const OPENED_TO_WRITE: i32 = 0x2;
const S_IFMT: i32 = 0o170_000;
const S_IFREG: i32 = 0o100_000;
/// `PF_KTHREAD` in a task's flags.
const KERNEL_THREAD: i32 = 0x0020_0000;

/// A regular file that a task has open for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenForWriting {
    /// Id of the task (a thread, if it has descriptors of its own).
    pub(super) task: u32,
    pub(super) fd: u32,
    /// Device number in the file system's superblock; stat(2) may report another one.
    pub(super) device: DeviceNumber,
    pub(super) ino: u64,
    /// Identity of the inode while it is open. Files of two subvolumes may share the numbers.
    pub(super) inode: u64,
}

/// A task that represents its process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapper {
    pub(super) task: u32,
    pub(super) memory: Memory,
    /// A number that changes with every change of the mappings; `None` if the kernel has none.
    pub(super) changes: Option<u32>,
}

/// Identity of the memory of a program that a task runs; no two are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    address: u64,
    started: u64,
    /// Number of programs that the task ran before.
    programs: u64,
}

/// The two loaded iterators.
#[derive(Debug)]
pub(super) struct Kernel {
    files: TaskIterator,
    tasks: TaskIterator,
    has_changes: bool,
}

const HELD_BYTES: usize = 32;
const MAPPER_BYTES: usize = 32;

impl Kernel {
    /// Loads the programs; returns `None` if the kernel refuses them, or if they do not see the
    /// files of this process.
    pub(super) fn load() -> Option<Kernel> {
        let bytes = fs::read(TYPES).ok()?;
        let types = Types::parse(&bytes, &STRUCTURES_AND_FUNCTIONS)?;
        let load = |name, program, function| {
            TaskIterator::load(name, &program, types.function(function)?).ok()
        };
        let changes = types.offset("mm_struct", "mm_lock_seq");
        let tasks = task_program(&types, changes)?;
        let kernel = Kernel {
            files: load(c"trawl_files", file_program(&types)?, "bpf_iter_task_file")?,
            tasks: load(c"trawl_tasks", tasks, "bpf_iter_task")?,
            has_changes: changes.is_some(),
        };
        kernel.tried()
    }

    /// Returns the regular files that are open for writing, one for each descriptor.
    pub(super) fn held(&self) -> Option<Vec<OpenForWriting>> {
        let mut bytes = Vec::new();
        self.files.read(&mut bytes).ok()?;
        Some(bytes.chunks_exact(HELD_BYTES).map(held).collect())
    }

    /// Returns the tasks that represent a memory of their own.
    pub(super) fn mappers(&self) -> Option<Vec<Mapper>> {
        let mut bytes = Vec::new();
        self.tasks.read(&mut bytes).ok()?;
        let mappers = bytes.chunks_exact(MAPPER_BYTES);
        Some(mappers.map(|record| self.mapper(record)).collect())
    }

    fn mapper(&self, record: &[u8]) -> Mapper {
        Mapper {
            task: four(record, 0),
            changes: self.has_changes.then(|| four(record, 4)),
            memory: Memory {
                address: eight(record, 8),
                started: eight(record, 16),
                programs: eight(record, 24),
            },
        }
    }

    /// Returns itself if it sees the files and mappings that this process makes.
    fn tried(mut self) -> Option<Kernel> {
        let own = file::nowhere(c"trawl-trial").ok()?;
        let before = self.own_mapper()?;
        let expected = as_held(&own)?;
        let is_expected = |found: OpenForWriting| {
            let inode = found.inode;
            found == OpenForWriting { inode, ..expected }
        };
        if !self.held()?.into_iter().any(is_expected) {
            return None;
        }
        let mapped = SharedBytes::of(&own, 1).ok()?;
        let during = self.own_mapper()?;
        drop(mapped);
        let after = self.own_mapper()?;
        let changes = [before, during, after].map(|mapper| mapper.changes);
        // A number that does not change is useless.
        self.has_changes &= changes[0] != changes[1] && changes[1] != changes[2];
        let is_same = before.memory == during.memory && during.memory == after.memory;
        is_same.then_some(self)
    }

    fn own_mapper(&self) -> Option<Mapper> {
        let own = std::process::id();
        self.mappers()?
            .into_iter()
            .find(|mapper| mapper.task == own)
    }
}

fn as_held(file: &File) -> Option<OpenForWriting> {
    let found = file.metadata().ok()?;
    Some(OpenForWriting {
        task: std::process::id(),
        fd: u32::try_from(file.as_raw_fd()).ok()?,
        device: DeviceNumber::from_u64(found.dev()),
        ino: found.ino(),
        inode: 0,
    })
}

const STRUCTURES_AND_FUNCTIONS: [&str; 9] = [
    "bpf_iter__task",
    "bpf_iter__task_file",
    "file",
    "inode",
    "mm_struct",
    "super_block",
    "task_struct",
    "bpf_iter_task",
    "bpf_iter_task_file",
];

/// Makes the program that writes a record for each regular file that is open for writing: task,
/// descriptor, inode address, device, padding, inode number.
fn file_program(types: &Types<'_>) -> Option<Program> {
    let of = |structure, member| types.offset(structure, member);
    let context = |member| of("bpf_iter__task_file", member);
    let mut program = Program::default();
    program.copy(R9, R1);
    // It is null at the end of the iteration.
    program.load(Width::Eight, R6, R9, context("file")?);
    program.leave_if(R6, 0);
    program.load(Width::Eight, R7, R9, context("task")?);
    program.leave_if(R7, 0);
    program.load(Width::Four, R2, R6, of("file", "f_mode")?);
    program.and(R2, OPENED_TO_WRITE);
    program.leave_if(R2, 0);
    program.load(Width::Eight, R8, R6, of("file", "f_inode")?);
    program.load(Width::Two, R2, R8, of("inode", "i_mode")?);
    program.and(R2, S_IFMT);
    program.leave_unless(R2, S_IFREG);
    program.store(Width::Eight, R10, -24, R8);
    program.load(Width::Eight, R2, R8, of("inode", "i_ino")?);
    program.store(Width::Eight, R10, -8, R2);
    program.load(Width::Eight, R2, R8, of("inode", "i_sb")?);
    program.load(Width::Four, R2, R2, of("super_block", "s_dev")?);
    program.store(Width::Eight, R10, -16, R2);
    program.load(Width::Four, R2, R7, of("task_struct", "pid")?);
    program.store(Width::Four, R10, -32, R2);
    program.load(Width::Four, R2, R9, context("fd")?);
    program.store(Width::Four, R10, -28, R2);
    write_down(&mut program, context("meta")?, HELD_BYTES as i32);
    Some(program)
}

/// Makes the program that writes a record for one task of each process with memory: task, changes,
/// address, start time, programs run.
fn task_program(types: &Types<'_>, changes: Option<i16>) -> Option<Program> {
    let of = |structure, member| types.offset(structure, member);
    let context = |member| of("bpf_iter__task", member);
    let task = |member| of("task_struct", member);
    let mut program = Program::default();
    program.copy(R9, R1);
    program.load(Width::Eight, R7, R9, context("task")?);
    program.leave_if(R7, 0);
    program.load(Width::Four, R2, R7, task("flags")?);
    program.and(R2, KERNEL_THREAD);
    program.leave_unless(R2, 0);
    program.load(Width::Eight, R8, R7, task("mm")?);
    program.leave_if(R8, 0);
    program.store(Width::Eight, R10, -24, R8);
    // The first thread, or any thread if the first has ended and left them its memory.
    program.load(Width::Four, R2, R7, task("pid")?);
    program.store(Width::Four, R10, -32, R2);
    program.load(Width::Four, R3, R7, task("tgid")?);
    let is_first = program.skip_if_equal(R2, R3);
    program.load(Width::Eight, R2, R7, task("group_leader")?);
    program.load(Width::Eight, R2, R2, task("mm")?);
    program.leave_unless(R2, 0);
    program.here(is_first);
    match changes {
        Some(offset) => program.load(Width::Four, R2, R8, offset),
        None => program.set(R2, 0),
    }
    program.store(Width::Four, R10, -28, R2);
    program.load(Width::Eight, R2, R7, task("start_boottime")?);
    program.store(Width::Eight, R10, -16, R2);
    program.load(Width::Eight, R2, R7, task("self_exec_id")?);
    program.store(Width::Eight, R10, -8, R2);
    write_down(&mut program, context("meta")?, MAPPER_BYTES as i32);
    Some(program)
}

/// Writes the last `bytes` bytes of the program's stack; the context is in `R9`.
fn write_down(program: &mut Program, meta: i16, bytes: i32) {
    // The first member of `meta` is the sequence file to write to.
    program.load(Width::Eight, R1, R9, meta);
    program.load(Width::Eight, R1, R1, 0);
    program.copy(R2, R10);
    program.add(R2, -bytes);
    program.set(R3, bytes);
    program.call(WRITE);
}

fn held(record: &[u8]) -> OpenForWriting {
    // The kernel's encoding: 12 bits of the major number above 20 bits of the minor.
    let device = u32::try_from(eight(record, 16)).unwrap_or(0);
    OpenForWriting {
        task: four(record, 0),
        fd: four(record, 4),
        device: DeviceNumber {
            major: device >> 20,
            minor: device & 0xf_ffff,
        },
        ino: eight(record, 24),
        inode: eight(record, 8),
    }
}

fn four(record: &[u8], at: usize) -> u32 {
    let found = record
        .get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok());
    u32::from_ne_bytes(found.unwrap_or_default())
}

fn eight(record: &[u8], at: usize) -> u64 {
    let found = record
        .get(at..at + 8)
        .and_then(|bytes| bytes.try_into().ok());
    u64::from_ne_bytes(found.unwrap_or_default())
}
