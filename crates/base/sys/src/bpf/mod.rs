//! Small programs that the kernel runs for each element of one of its iterators: each open file,
//! each task. Their output is read as bytes.
//!
//! The kernel checks a program before it accepts it, and refuses one that could do harm or read
//! invalid memory. Needs `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN`. A program sees the tasks
//! of the reader's PID namespace.
//!
//! The caller must know which kernel data a program reads, and at which offsets.

mod program;
pub mod tracing;

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{Errno, Named, Op, SysError};

pub use program::{Label, Program, Register, Width};

const LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const ITERATOR_CREATE: libc::c_int = 33;
/// `BPF_PROG_TYPE_TRACING`
const TRACING: u32 = 26;
/// `BPF_TRACE_ITER`
const TRACE_ITERATOR: u32 = 28;
/// `BPF_OBJ_NAME_LEN`; the last byte is 0.
const NAME_BYTES: usize = 16;
/// The kernel returns at most 8 pages a read.
const READ_BYTES: usize = 32 << 10;

/// The part of `union bpf_attr` that loads a program.
#[repr(C)]
#[derive(Default)]
struct Load {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    expected_attach_type: u32,
    types: u32,
    function_bytes: u32,
    functions: u64,
    function_count: u32,
    line_bytes: u32,
    lines: u64,
    line_count: u32,
    attach_to: u32,
    attach_program: u32,
    relocations: u32,
}

/// The part of `union bpf_attr` that attaches a program, with the fields needed here.
#[repr(C)]
struct Link {
    program: i32,
    target: u32,
    attach_type: u32,
    flags: u32,
}

/// The part of `union bpf_attr` that begins an iteration.
#[repr(C)]
struct Create {
    link: i32,
    flags: u32,
}

/// A loaded program, attached to its iterator.
#[derive(Debug)]
pub struct TaskIterator {
    link: OwnedFd,
}

impl TaskIterator {
    /// Loads a program, which the kernel checks, and attaches it to an iterator. `attach_to` is the
    /// number of the iterator's function (such as `bpf_iter_task_file`) among the kernel's types.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/bpf.2.html>
    ///
    /// # Errors
    /// Fails with `EPERM` without privilege or if the machine is locked down, with `EACCES` or
    /// `EINVAL` if the kernel refuses the program, and with `ENOSYS` if the kernel has no BPF.
    pub fn load(name: &CStr, program: &Program, attach_to: u32) -> Result<Self, SysError> {
        // The kernel requires a licence string; it determines the helpers that a program may call.
        let license = c"Dual MIT/GPL";
        let instructions = program.instructions();
        let mut request = Load {
            program_type: TRACING,
            instruction_count: u32::try_from(instructions.len()).unwrap_or(u32::MAX),
            instructions: instructions.as_ptr() as u64,
            license: license.as_ptr() as u64,
            expected_attach_type: TRACE_ITERATOR,
            attach_to,
            ..Load::default()
        };
        let kept = request.name.iter_mut().take(NAME_BYTES - 1);
        for (to, from) in kept.zip(name.to_bytes()) {
            *to = *from;
        }
        // SAFETY: the request has the kernel's layout; the data that it points to (instructions, a
        // NUL-terminated string) outlives the call, and there are as many instructions as it says.
        let program = unsafe { ask(LOAD, &mut request) }?;
        let mut request = Link {
            program: program.as_raw_fd(),
            target: 0,
            attach_type: TRACE_ITERATOR,
            flags: 0,
        };
        // SAFETY: as above; it contains no pointers.
        let link = unsafe { ask(LINK_CREATE, &mut request) }?;
        Ok(TaskIterator { link })
    }

    /// Runs one complete iteration and appends the program's output to `into`.
    ///
    /// Source: <https://docs.kernel.org/bpf/bpf_iterators.html>
    ///
    /// # Errors
    /// Fails with `ENOMEM`, and with the errors of read(2).
    pub fn read(&self, into: &mut Vec<u8>) -> Result<(), SysError> {
        let mut request = Create {
            link: self.link.as_raw_fd(),
            flags: 0,
        };
        // SAFETY: the request has the kernel's layout; it contains no pointers.
        let begun = unsafe { ask(ITERATOR_CREATE, &mut request) }?;
        loop {
            let had = into.len();
            into.resize(had + READ_BYTES, 0);
            let room = into.get_mut(had..).unwrap_or_default();
            let read = rustix::io::read(&begun, room).named(Op::Read);
            into.truncate(had + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // The kernel visited many elements without output and interrupts the read; it
                // continues.
                Err(e) if matches!(e.errno, Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for TaskIterator {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

/// Makes a bpf(2) request that returns a descriptor.
///
/// # Safety
/// `T` must have the layout of the command's part of `union bpf_attr`, and its pointers must be
/// valid.
unsafe fn ask<T>(command: libc::c_int, request: &mut T) -> Result<OwnedFd, SysError> {
    // SAFETY: guaranteed by the caller; the kernel reads and writes no more than the given size.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(request),
            size_of::<T>(),
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the call returned a new descriptor (closed by exec) that nothing else owns.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(SysError::last(Op::Bpf)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_structure_lies_as_the_kernels() {
        assert_eq!(offset_of!(Load, name), 48);
        assert_eq!(offset_of!(Load, expected_attach_type), 68);
        assert_eq!(offset_of!(Load, attach_to), 108);
        assert_eq!(size_of::<Load>(), 120);
    }

    #[test]
    fn a_program_that_reads_what_is_not_there_is_refused() {
        let mut program = Program::default();
        program.load(Width::Eight, Register::R2, Register::R1, 1 << 12);
        // Without privilege, the program is refused in any case.
        assert!(TaskIterator::load(c"nonsense", &program, 1).is_err());
    }
}
