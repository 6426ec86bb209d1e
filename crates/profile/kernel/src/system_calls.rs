//! The layer of system calls.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use aya::Ebpf;
use trawl_histogram::Resolution;

use crate::apart::{Apart, Settings};
use crate::attach::{self, MARK};
use crate::error::KernelError;
use crate::filter::Filter;
use crate::read::{self, Reading};
use crate::values::{self, Rows, Wanted};

/// System calls that are being counted, with the time from entering the kernel to leaving it.
///
/// | | |
/// |---|---|
/// | counted | calls that enter while the layer is attached, interrupted calls and their restarts each for themselves, as strace(1) counts them |
/// | not counted | calls that entered before; calls that seccomp or a tracer refuses before the kernel's tracepoint; work of io_uring, which is no system call |
/// | in flight | calls that have not returned, found by looking at the tasks |
/// | dropped | calls that never return (exit(2), calls of threads that are ended), as [`Reading::ended`]; calls of tasks for which there was no memory |
/// | `32-bit` | all calls of 32-bit programs, which number them differently; `int $0x80` in a 64-bit program is counted by its number as if it were a 64-bit call |
///
/// Needs `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN`; Linux 5.11 with type information; and room
/// in the kernel: 288 KiB per CPU at resolution 1, and 256 KiB more for each further one.
///
/// For a timeline, read at an interval and subtract (`trawl_histogram::Slicer`): the kernel's side
/// knows nothing of slices.
#[derive(Debug)]
pub struct SystemCalls {
    programs: Ebpf,
    resolution: Resolution,
    values: Rows,
    apart: Settings,
    attached: Instant,
    start_unix_ns: Option<u64>,
}

impl SystemCalls {
    /// Starts to count.
    ///
    /// # Errors
    /// Says what is missing: privilege, BPF, type information; or why the filter cannot be used.
    pub fn attach(filter: &Filter, resolution: Resolution) -> Result<SystemCalls, KernelError> {
        SystemCalls::attach_with(filter, resolution, None, &[])
    }

    /// Starts to count, with programs or threads told apart, and with values of calls. Without
    /// them nothing more is spent: other programs are attached.
    ///
    /// Telling apart needs Linux 5.12, and room for [`crate::PAIRS_MAX`] further pairs: 4.5 MiB per
    /// CPU at resolution 1, and 4 MiB more for each further one.
    ///
    /// # Errors
    /// As [`SystemCalls::attach`]; names a call that does not exist.
    pub fn attach_with(
        filter: &Filter,
        resolution: Resolution,
        apart: Option<Apart>,
        values: &[Wanted],
    ) -> Result<SystemCalls, KernelError> {
        let values = Rows::new(values)?;
        let apart = Settings::new(apart);
        let selection = filter.selection()?;
        let mut programs = attach::attach(selection, resolution, &values, apart)?;
        if matches!(filter, Filter::Tree(_)) {
            mark_tree(&mut programs)?;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Ok(SystemCalls {
            programs,
            resolution,
            values,
            apart,
            attached: Instant::now(),
            start_unix_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    /// Returns what was counted since the layer was attached, checked: a reading whose counts do not
    /// add up is an error.
    ///
    /// # Errors
    /// Fails if counts contradict themselves, or if the kernel's maps cannot be read.
    pub fn read(&mut self) -> Result<Reading, KernelError> {
        let programs = &mut self.programs;
        let mut reading = read::read(programs, self.resolution, &self.values, self.apart)?;
        let duration_ns = u64::try_from(self.attached.elapsed().as_nanos()).ok();
        for profile in reading.profiles_mut() {
            profile.layer = "system-calls".to_owned();
            profile.start_unix_ns = self.start_unix_ns;
            profile.duration_ns = duration_ns;
            profile.check()?;
        }
        reading.correlated = values::read(&self.programs, &self.values, &reading.profile)?;
        Ok(reading)
    }
}

/// Marks the tasks of the tree until a walk finds no further one. Children of marked tasks are marked
/// as they are made, so one that a walk overlooks has a parent that this walk marked.
fn mark_tree(programs: &mut Ebpf) -> Result<(), KernelError> {
    while !attach::walk(programs, MARK)?.is_empty() {}
    Ok(())
}
