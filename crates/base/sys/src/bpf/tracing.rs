//! Programs that the kernel runs where one of its functions begins (fentry) or ends (fexit), and the
//! type information of the kernel and its modules, which says how functions are called.
//!
//! Programs are given as finished instructions, whose map references are descriptors already.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{LOAD, Load, NAME_BYTES, TRACING, ask};
use crate::error::{Errno, Op, SysError};

const NEXT_TYPES: libc::c_int = 23;
const TYPES_BY_ID: libc::c_int = 19;
const INFORMATION: libc::c_int = 15;
const ATTACH_TRACEPOINT: libc::c_int = 17;
/// `BPF_TRACE_FENTRY`
const TRACE_ENTRY: u32 = 24;
/// `BPF_TRACE_FEXIT`
const TRACE_EXIT: u32 = 25;

/// Where in a function a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the first instruction; the program sees the arguments.
    Entry,
    /// After the function has returned.
    Exit,
}

/// A function of the kernel or of one of its modules, by its number among the types.
#[derive(Clone, Copy, Debug)]
pub struct Target<'t> {
    /// The number of the function's type.
    pub id: u32,
    /// The module's types; `None` for the kernel's own.
    pub module: Option<BorrowedFd<'t>>,
}

/// Loads a program for a function, which the kernel checks. `instructions` has one word for each, as
/// the kernel defines them.
///
/// Source: <https://man7.org/linux/man-pages/man2/bpf.2.html>
///
/// # Errors
/// Fails with `EPERM` without privilege, with `ENOTSUPP` or `EINVAL` if the kernel traces no functions
/// or not this one, and with `EACCES` or `EINVAL` if it refuses the program.
pub fn load(
    name: &CStr,
    instructions: &[u64],
    moment: Moment,
    target: Target<'_>,
) -> Result<OwnedFd, SysError> {
    let license = c"Dual MIT/GPL";
    let mut request = Load {
        program_type: TRACING,
        instruction_count: u32::try_from(instructions.len()).unwrap_or(u32::MAX),
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        expected_attach_type: match moment {
            Moment::Entry => TRACE_ENTRY,
            Moment::Exit => TRACE_EXIT,
        },
        attach_to: target.id,
        // The same field holds the descriptor of the types.
        attach_program: target.module.map_or(0, |module| module.as_raw_fd() as u32),
        ..Load::default()
    };
    let kept = request.name.iter_mut().take(NAME_BYTES - 1);
    for (to, from) in kept.zip(name.to_bytes()) {
        *to = *from;
    }
    // SAFETY: the request has the kernel's layout; the data that it points to (instructions, a
    // NUL-terminated string) outlives the call, and there are as many instructions as it says.
    unsafe { ask(LOAD, &mut request) }
}

/// The part of `union bpf_attr` that attaches a program to what it was loaded for.
#[repr(C)]
struct Attach {
    name: u64,
    program: u32,
    padding: u32,
}

/// Attaches a loaded program; it stays until the descriptor is closed.
///
/// # Errors
/// Fails with `EPERM` without privilege, with `ENOTSUPP` or `EBUSY` if the function cannot be traced,
/// and with `E2BIG` if too many programs trace it already.
pub fn attach(program: BorrowedFd<'_>) -> Result<OwnedFd, SysError> {
    let mut request = Attach {
        name: 0,
        program: program.as_raw_fd() as u32,
        padding: 0,
    };
    // SAFETY: the request has the kernel's layout; it contains no pointers.
    unsafe { ask(ATTACH_TRACEPOINT, &mut request) }
}

/// The part of `union bpf_attr` that walks the kernel's objects by number.
#[repr(C)]
#[derive(Default)]
struct Number {
    start: u32,
    next: u32,
    flags: u32,
}

/// The part of `union bpf_attr` that asks for information.
#[repr(C)]
struct Ask {
    object: u32,
    bytes: u32,
    into: u64,
}

/// `struct bpf_btf_info`
#[repr(C)]
#[derive(Default)]
struct TypesInformation {
    types: u64,
    types_bytes: u32,
    id: u32,
    name: u64,
    name_bytes: u32,
    is_kernel: u32,
}

/// Type information that the kernel holds.
#[derive(Debug)]
pub struct Types {
    /// A descriptor of it, for [`Target::module`].
    pub descriptor: OwnedFd,
    /// Name of the module, `vmlinux` for the kernel, and empty for programs.
    pub name: Vec<u8>,
}

/// Returns all type information that the kernel holds.
///
/// # Errors
/// Fails with `EPERM` without privilege.
pub fn all_types() -> Result<Vec<Types>, SysError> {
    let mut found = Vec::new();
    let mut number = Number::default();
    while let Some(id) = next_types(&mut number)? {
        let mut request = Number {
            start: id,
            ..Number::default()
        };
        // SAFETY: the request has the kernel's layout; it contains no pointers.
        match unsafe { ask(TYPES_BY_ID, &mut request) } {
            Ok(descriptor) => {
                let name = name_of(&descriptor)?;
                found.push(Types { descriptor, name });
            }
            // It was removed meanwhile.
            Err(error) if error.errno == Errno::NOENT => {}
            Err(error) => return Err(error),
        }
        number.start = id;
    }
    Ok(found)
}

fn next_types(number: &mut Number) -> Result<Option<u32>, SysError> {
    // SAFETY: the request has the kernel's layout; it contains no pointers.
    match unsafe { tell(NEXT_TYPES, number) } {
        Ok(()) => Ok(Some(number.next)),
        Err(error) if error.errno == Errno::NOENT => Ok(None),
        Err(error) => Err(error),
    }
}

fn name_of(descriptor: &OwnedFd) -> Result<Vec<u8>, SysError> {
    let mut name = [0_u8; 64];
    let mut information = TypesInformation {
        name: name.as_mut_ptr() as u64,
        name_bytes: name.len() as u32,
        ..TypesInformation::default()
    };
    let mut request = Ask {
        object: descriptor.as_raw_fd() as u32,
        bytes: size_of::<TypesInformation>() as u32,
        into: std::ptr::from_mut(&mut information) as u64,
    };
    // SAFETY: the request has the kernel's layout; both buffers that it points to outlive the call
    // and have the sizes that it says.
    unsafe { tell(INFORMATION, &mut request) }?;
    Ok(name
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default()
        .to_vec())
}

/// Makes a bpf(2) request that returns no descriptor.
///
/// # Safety
/// As [`ask`].
unsafe fn tell<T>(command: libc::c_int, request: &mut T) -> Result<(), SysError> {
    // SAFETY: guaranteed by the caller; the kernel reads and writes no more than the given size.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(request),
            size_of::<T>(),
        )
    };
    match answer {
        0 => Ok(()),
        _ => Err(SysError::last(Op::Bpf)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own types are there wherever BPF is allowed.
    #[test]
    fn the_kernels_types_are_listed() {
        match all_types() {
            Ok(types) => assert!(types.iter().any(|one| one.name == b"vmlinux")),
            Err(error) => eprintln!("skipped, because bpf(2) fails: {error}"),
        }
    }
}
