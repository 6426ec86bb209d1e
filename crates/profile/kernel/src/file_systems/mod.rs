//! The layer of file-system operations.

mod attach;
mod layout;
mod operations;
mod read;
mod samples;
mod symbols;
mod template;
pub(crate) mod types;
mod vectors;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use trawl_histogram::Resolution;

use crate::error::KernelError;
use crate::filter::Filter;
use crate::read::Reading;
use attach::Attachment;

/// File-system operations that are being counted: each function in the operation vectors of the
/// mounted file systems, with the time from its beginning to its end.
///
/// | | |
/// |---|---|
/// | operations | `TYPE:MEMBER`, such as `ext4:read_iter`; found in the kernel's memory, not listed |
/// | nested | each for itself: a write of an overlay contains one of the file system below |
/// | counted | calls that begin while the layer is attached |
/// | not counted | calls in interrupts; those that file systems make of their own functions after inlining |
/// | dropped | calls whose end was not seen, and those nested more than 16 deep |
///
/// Needs `CAP_BPF`, `CAP_PERFMON` and `CAP_SYS_RESOURCE` or `CAP_SYS_ADMIN`, and a kernel that lets
/// programs trace its functions (`fentry`): Linux 5.11 with type information.
#[derive(Debug)]
pub struct FileSystems {
    attachment: Attachment,
    resolution: Resolution,
    attached: Instant,
    start_unix_ns: Option<u64>,
}

/// The functions that were found and attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Types of file systems, such as `ext4`.
    pub file_systems: Vec<String>,
    /// Functions that are counted, with the names of their operations.
    pub functions: Vec<(String, String)>,
    /// Functions that cannot be traced, with the reasons.
    pub unseen: Vec<String>,
    /// Time that finding the functions took.
    pub discovery: Duration,
    /// Time that the kernel took to check the programs for the functions, in all threads together.
    pub loading: Duration,
    /// Time that loading and attaching all programs took.
    pub attaching: Duration,
}

impl FileSystems {
    /// Finds the operations of the mounted file systems and starts to count.
    ///
    /// # Errors
    /// Says what is missing: privilege, BPF, type information, a kernel that can trace its functions;
    /// or why the filter cannot be used.
    pub fn attach(filter: &Filter, resolution: Resolution) -> Result<FileSystems, KernelError> {
        let attachment = attach::attach(filter, resolution)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Ok(FileSystems {
            attachment,
            resolution,
            attached: Instant::now(),
            start_unix_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    /// Tries to trace one function of the kernel, which is removed at once.
    ///
    /// # Errors
    /// As [`FileSystems::attach`].
    pub fn probe() -> Result<(), KernelError> {
        attach::probe()
    }

    /// Returns what is counted.
    pub fn coverage(&self) -> &Coverage {
        &self.attachment.coverage
    }

    /// Leaves the kernel without waiting for it. The kernel waits at each function until no task can
    /// still run in its programs; another process does that. Calls are counted until then, for nobody.
    pub fn leave(self) {
        self.attachment.leave();
    }

    /// Returns what was counted since the layer was attached, checked: a reading whose counts do not
    /// add up is an error.
    ///
    /// # Errors
    /// Fails if counts contradict themselves, or if the kernel's maps cannot be read.
    pub fn read(&mut self) -> Result<Reading, KernelError> {
        let mut reading = read::read(&mut self.attachment, self.resolution)?;
        reading.profile.layer = "file-system".to_owned();
        reading.profile.start_unix_ns = self.start_unix_ns;
        reading.profile.duration_ns = u64::try_from(self.attached.elapsed().as_nanos()).ok();
        reading.profile.check()?;
        Ok(reading)
    }
}
