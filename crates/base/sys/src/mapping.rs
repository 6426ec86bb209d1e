//! Memory mappings through which a process writes to files: shared and writable ones.
//!
//! The open `/proc/PID/maps` is queried for one mapping at a time (Linux 6.11). The kernel skips
//! all other mappings, so a process without such a mapping costs one call, however many others it
//! has.

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
/// `_IOWR('f', 17, struct procmap_query)`, computed as the architecture's libc does it.
const PROCMAP_QUERY: libc::Ioctl = libc::_IOWR::<ProcmapQuery>(b'f' as u32, 17);

/// Result of a search for a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// Addresses of the next matching mapping.
    At(Range<u64>),
    /// There is no further mapping.
    None,
    /// The kernel does not support the query; the text must be read instead.
    Unknown,
}

/// Returns the first shared and writable file mapping at or after this address, in the process
/// whose `maps` file is open.
///
/// # Errors
/// Returns the kernel's error, unless it means that there is no mapping or no support.
///
/// Source: <https://www.kernel.org/doc/html/latest/filesystems/proc.html>, `PROCMAP_QUERY`.
pub fn next_written(maps: impl AsFd, from: u64) -> Result<Mapped, SysError> {
    let mut query = ProcmapQuery {
        size: size_of::<ProcmapQuery>() as u64,
        query_flags: VMA_WRITABLE | VMA_SHARED | COVERING_OR_NEXT_VMA | FILE_BACKED_VMA,
        query_addr: from,
        ..ProcmapQuery::default()
    };
    // SAFETY: the descriptor is open while it is borrowed; the kernel reads and writes at most
    // `size` bytes of the structure, and no buffers, because their sizes are zero.
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
        // The process has ended or has no memory of its own.
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
