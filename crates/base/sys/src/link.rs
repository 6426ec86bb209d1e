//! Targets of symbolic links.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use crate::error::{Named, Op, SysError};

/// A reusable buffer for one link target. The kernel's own limit is `PATH_MAX` (4,096 bytes); the
/// buffer grows for file systems that allow longer targets.
#[derive(Debug)]
pub struct TargetBuffer {
    bytes: Vec<MaybeUninit<u8>>,
}

impl Default for TargetBuffer {
    fn default() -> Self {
        TargetBuffer {
            bytes: vec![MaybeUninit::uninit(); 4096],
        }
    }
}

/// Reads the target of the link `name` in `directory`. Fails with `EINVAL` if it is not (or no
/// longer) a link.
///
/// Source: <https://man7.org/linux/man-pages/man2/readlink.2.html>
pub fn read_link_at<'a>(
    directory: impl AsFd,
    name: &CStr,
    buffer: &'a mut TargetBuffer,
) -> Result<&'a [u8], SysError> {
    let directory = directory.as_fd();
    loop {
        let capacity = buffer.bytes.len();
        let (target, _) = rustix::fs::readlinkat_raw(directory, name, &mut *buffer.bytes)
            .named(Op::Readlinkat)?;
        let length = target.len();
        if length < capacity {
            break;
        }
        buffer.bytes.resize(capacity * 2, MaybeUninit::uninit());
    }
    let (target, _) =
        rustix::fs::readlinkat_raw(directory, name, &mut *buffer.bytes).named(Op::Readlinkat)?;
    Ok(target)
}
