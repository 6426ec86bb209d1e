//! The layer of the kernel's own calls to servers, by SUNRPC: NFS, its locks and its mounts.

mod attach;
mod read;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use aya::Ebpf;
use trawl_histogram::Resolution;

use crate::error::KernelError;
use crate::filter::Filter;
use crate::read::Reading;

/// Calls of the kernel's SUNRPC client that are being counted, by procedure:
/// `PROGRAMvVERSION:PROCEDURE:OPERATION`, such as `nfsv4:READ:round-trip`.
///
/// | operation | from | to |
/// |---|---|---|
/// | `whole` | the call is begun | it is done |
/// | `queue` | the call is begun | it is sent, for the last time |
/// | `round-trip` | it is sent | its reply is there |
///
/// The kernel measures these times itself; they are those of `/proc/self/mountstats`.
///
/// | | |
/// |---|---|
/// | counted | calls that begin while the layer is attached; of a process tree or control group, those that its tasks begin themselves: writing back, by threads of the kernel, belongs to nobody |
/// | a call that the server asks to repeat | is counted again, as the kernel does |
/// | a call that gets no reply | has only `whole` |
/// | a call that is given up before it has a request | is dropped, as [`Reading::ended`] |
/// | a call that turns into another while it is prepared (`OPEN` into `OPEN_NOATTR`) | is dropped there, too, and counted as the other one |
///
/// Needs Linux 5.12 with type information, the module `sunrpc` (or NFS built in), and `CAP_BPF` and
/// `CAP_PERFMON`, or `CAP_SYS_ADMIN`.
#[derive(Debug)]
pub struct RpcCalls {
    programs: Ebpf,
    resolution: Resolution,
    attached: Instant,
    start_unix_ns: Option<u64>,
}

impl RpcCalls {
    /// Starts to count.
    ///
    /// # Errors
    /// Says what is missing: SUNRPC, privilege, BPF, type information; or why the filter cannot be
    /// used.
    pub fn attach(filter: &Filter, resolution: Resolution) -> Result<RpcCalls, KernelError> {
        let programs = attach::attach(filter, resolution)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Ok(RpcCalls {
            programs,
            resolution,
            attached: Instant::now(),
            start_unix_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    /// Returns the counts since the layer was attached. A reading whose counts do not add up is an
    /// error.
    ///
    /// # Errors
    /// Fails if counts contradict themselves, or if the kernel's maps cannot be read.
    pub fn read(&mut self) -> Result<Reading, KernelError> {
        let mut reading = read::read(&self.programs, self.resolution)?;
        reading.profile.layer = "rpc".to_owned();
        reading.profile.start_unix_ns = self.start_unix_ns;
        reading.profile.duration_ns = u64::try_from(self.attached.elapsed().as_nanos()).ok();
        reading.profile.check()?;
        Ok(reading)
    }
}
