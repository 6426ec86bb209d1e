//! Which parts of a process's memory write to files: mappings that are shared and writable.
//!
//! Asked one by one of the open `/proc/PID/maps` (Linux 6.11): the kernel looks for such as are meant,
//! so a process that has none costs one call, whatever else it has mapped.

use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use crate::error::{Errno, Op, SysError};

/// `struct procmap_query` of `linux/fs.h`.
#[repr(C)]
#[derive(Default)]
struct ProcmapQuery {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    vma_start: u64,
    vma_end: u64,
    vma_flags: u64,
    vma_page_size: u64,
    vma_offset: u64,
    inode: u64,
    dev_major: u32,
    dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

const VMA_WRITABLE: u64 = 0x02;
const VMA_SHARED: u64 = 0x08;
const COVERING_OR_NEXT_VMA: u64 = 0x10;
const FILE_BACKED_VMA: u64 = 0x20;
/// `_IOWR('f', 17, struct procmap_query)`, computed as the architecture's libc does.
const PROCMAP_QUERY: libc::Ioctl = libc::_IOWR::<ProcmapQuery>(b'f' as u32, 17);

/// What a kernel says of mappings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// The next that is meant: its addresses.
    At(Range<u64>),
    /// None is left.
    None,
    /// The kernel cannot be asked so: read the text.
    Unknown,
}

/// The first shared and writable mapping of a file at this address or after it, of the process whose
/// `maps` is open.
///
/// # Errors
/// What the kernel says, but that there is none or that it cannot be asked.
///
/// Source: <https://www.kernel.org/doc/html/latest/filesystems/proc.html>, `PROCMAP_QUERY`.
pub fn next_written(maps: impl AsFd, from: u64) -> Result<Mapped, SysError> {
    let mut query = ProcmapQuery {
        size: size_of::<ProcmapQuery>() as u64,
        query_flags: VMA_WRITABLE | VMA_SHARED | COVERING_OR_NEXT_VMA | FILE_BACKED_VMA,
        query_addr: from,
        ..ProcmapQuery::default()
    };
    // SAFETY: the descriptor is open for the borrow's length; the kernel reads and writes at most
    // `size` bytes of the structure, and no buffers, since their sizes are zero.
    let code = unsafe {
        libc::ioctl(
            maps.as_fd().as_raw_fd(),
            PROCMAP_QUERY,
            std::ptr::from_mut(&mut query),
        )
    };
    if code == 0 {
        return Ok(Mapped::At(query.vma_start..query.vma_end));
    }
    let error = SysError::last(Op::ProcmapQuery);
    match error.errno {
        // It has ended, or has no memory of its own.
        Errno::NOENT | Errno(libc::ESRCH) => Ok(Mapped::None),
        Errno::NOTTY | Errno::INVAL => Ok(Mapped::Unknown),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_long_as_the_kernels() {
        assert_eq!(size_of::<ProcmapQuery>(), 104);
    }

    #[test]
    fn we_have_written_to_no_file_through_memory_yet() {
        let maps = std::fs::File::open("/proc/self/maps").unwrap();
        let found = next_written(&maps, 0).unwrap();
        assert!(matches!(found, Mapped::None | Mapped::Unknown), "{found:?}");
        let text = std::fs::File::open("/proc/self/status").unwrap();
        assert_eq!(next_written(&text, 0).unwrap(), Mapped::Unknown);
    }
}
