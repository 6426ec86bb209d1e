//! The layer of block requests.

mod attach;
mod devices;
mod layout;
mod read;
mod sizes;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use aya::Ebpf;
use trawl_histogram::Resolution;

use crate::error::KernelError;
use crate::filter::Filter;
use devices::Disks;

pub use read::BlockReading;

/// Requests to block devices that are being counted, by device and kind:
/// `DEVICE:KIND:OPERATION`, such as `vda:read:device`.
///
/// | operation | from | to |
/// |---|---|---|
/// | `queue` | the request is put into the queue of the scheduler or the driver | it is given to the driver |
/// | `device` | the request is given to the driver | the device has completed all of it |
/// | `whole` | the kernel made the request, as `/proc/diskstats` counts its time | as `device` |
///
/// | kind | requests |
/// |---|---|
/// | `read`, `write` | reads, and writes that no program waits for |
/// | `read-ahead` | reads of pages that no program has asked for yet |
/// | `write-sync` | writes that a program waits for |
/// | `read-meta`, `write-meta` | reads and writes that file systems mark as metadata |
/// | `flush`, `discard`, `write-zeroes` | the operations of these names |
/// | `other` | commands of drivers, zones |
///
/// | | |
/// |---|---|
/// | counted | requests that the kernel makes while the layer is attached |
/// | not counted | requests that were made before; devices without requests (zram, most of device-mapper and md), whose lower devices' requests are counted |
/// | a request that goes to the driver at once | has no operation `queue` |
/// | a request that the driver gives back | `device`: this attempt is dropped; the request is in the queue again. So `queue` and `device` count attempts, and `whole` counts requests |
/// | a request that another one absorbs | `queue` and `whole`: dropped, as [`BlockReading::merged`] |
///
/// Needs Linux 5.12 with type information, and `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN`.
#[derive(Debug)]
pub struct BlockRequests {
    programs: Ebpf,
    resolution: Resolution,
    slots: u32,
    attached: Instant,
    start_unix_ns: Option<u64>,
}

impl BlockRequests {
    /// Starts to count. A filter selects the devices below a mount, or everything.
    ///
    /// # Errors
    /// Says what is missing: privilege, BPF, type information; or why the filter cannot be used.
    pub fn attach(filter: &Filter, resolution: Resolution) -> Result<BlockRequests, KernelError> {
        let disks = Disks::selected_by(filter)?;
        let slots = disks.slots();
        let programs = attach::attach(&disks, resolution)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Ok(BlockRequests {
            programs,
            resolution,
            slots,
            attached: Instant::now(),
            start_unix_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    /// Returns the counts since the layer was attached. A reading whose counts do not add up is an
    /// error.
    ///
    /// # Errors
    /// Fails if counts contradict themselves, or if the kernel's maps cannot be read.
    pub fn read(&mut self) -> Result<BlockReading, KernelError> {
        let mut reading = read::read(&self.programs, self.slots, self.resolution)?;
        reading.profile.layer = "block".to_owned();
        reading.profile.start_unix_ns = self.start_unix_ns;
        reading.profile.duration_ns = u64::try_from(self.attached.elapsed().as_nanos()).ok();
        reading.profile.check()?;
        reading.sizes.check()?;
        Ok(reading)
    }
}
