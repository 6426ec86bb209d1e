//! Small programs that the kernel runs for each thing that one of its iterators goes over: each open
//! file, each task. What they write is read as bytes.
//!
//! A program is checked by the kernel before it is taken, and refused if it could do harm or read
//! what is not there. Needs `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN`; what it sees are the
//! tasks of the reader's PID namespace.
//!
//! What a program looks at, and where that lies, is for its writer to know.

mod program;

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
/// `BPF_OBJ_NAME_LEN`, the last byte of which is 0.
const NAME_BYTES: usize = 16;
/// The kernel fills no more than 8 pages a read.
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

/// The part that attaches one, as much of it as has to be told.
#[repr(C)]
struct Link {
    program: i32,
    target: u32,
    attach_type: u32,
    flags: u32,
}

/// The part that begins an iteration.
#[repr(C)]
struct Create {
    link: i32,
    flags: u32,
}

/// A program with the iterator that it is for.
#[derive(Debug)]
pub struct TaskIterator {
    link: OwnedFd,
}

impl TaskIterator {
    /// Has the kernel check a program and keep it for an iterator: `attach_to` is the number of the
    /// iterator's function (`bpf_iter_task_file`, for one) among the kernel's types.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/bpf.2.html>
    ///
    /// # Errors
    /// `EPERM` without privilege or where the machine is locked down, `EACCES` or `EINVAL` where the
    /// kernel refuses the program, `ENOSYS` in one without BPF.
    pub fn load(name: &CStr, program: &Program, attach_to: u32) -> Result<Self, SysError> {
        // As the kernel wants it, for what programs of this licence may call.
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
        // SAFETY: laid out as the kernel's structure; what it points at (instructions, a string that
        // ends with a NUL) outlives the call, and there are as many instructions as it says.
        let program = unsafe { ask(LOAD, &mut request) }?;
        let mut request = Link {
            program: program.as_raw_fd(),
            target: 0,
            attach_type: TRACE_ITERATOR,
            flags: 0,
        };
        // SAFETY: as above; it points at nothing.
        let link = unsafe { ask(LINK_CREATE, &mut request) }?;
        Ok(TaskIterator { link })
    }

    /// Goes over everything once, and appends what the program wrote.
    ///
    /// Source: <https://docs.kernel.org/bpf/bpf_iterators.html>
    ///
    /// # Errors
    /// `ENOMEM`, and those of read(2).
    pub fn read(&self, into: &mut Vec<u8>) -> Result<(), SysError> {
        let mut request = Create {
            link: self.link.as_raw_fd(),
            flags: 0,
        };
        // SAFETY: laid out as the kernel's structure; it points at nothing.
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
                // It went over very much without a word, and goes on.
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

/// A request that makes a descriptor.
///
/// # Safety
/// `T` is laid out as the part of `union bpf_attr` that the command has, and its pointers are valid.
unsafe fn ask<T>(command: libc::c_int, request: &mut T) -> Result<OwnedFd, SysError> {
    // SAFETY: as the caller says; the kernel reads and writes no more than the size told.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(request),
            size_of::<T>(),
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the call returned a new descriptor (closed by exec) that nobody else owns.
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
        // Without privilege it is refused anyway.
        assert!(TaskIterator::load(c"nonsense", &program, 1).is_err());
    }
}
