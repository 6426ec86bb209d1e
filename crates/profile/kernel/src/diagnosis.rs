//! Turns the kernel's refusals into causes that a reader can act on.

use std::error::Error;
use std::io;

use aya::programs::ProgramError;
use aya::{BtfError, EbpfError};

use trawl_sys::SysError;

use crate::error::KernelError;

/// Bits of capabilities, from capability(7).
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// `errno` of a refusal for want of privilege, and of a missing bpf(2).
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENOSYS: i32 = 38;

pub(crate) fn of_types(error: BtfError) -> KernelError {
    KernelError::NoTypes(error)
}

pub(crate) fn of_load(error: EbpfError) -> KernelError {
    of_system(&error).unwrap_or_else(|| KernelError::Load(Box::new(error)))
}

pub(crate) fn of_program(
    program: &'static str,
    target: &'static str,
    error: ProgramError,
) -> KernelError {
    of_system(&error).unwrap_or_else(|| KernelError::Program {
        program,
        target,
        source: Box::new(error),
    })
}

/// A function of the kernel cannot be traced.
pub(crate) fn of_trace(target: &'static str, error: SysError) -> KernelError {
    let source = io::Error::from_raw_os_error(error.errno.0);
    match of_system(&source) {
        Some(cause) => cause,
        None => KernelError::NoTracing { target, source },
    }
}

/// Returns the cause if it is one of the machine or of this process, not of a program.
fn of_system(error: &(dyn Error + 'static)) -> Option<KernelError> {
    let number = errno_of(error)?;
    let source = io::Error::from_raw_os_error(number);
    match number {
        ENOSYS => Some(KernelError::NoBpf(source)),
        EPERM | EACCES => match missing_capabilities(effective_capabilities()?) {
            Some(missing) => Some(KernelError::Privilege { missing, source }),
            None if is_locked_down() => Some(KernelError::LockedDown(source)),
            None => None,
        },
        _ => None,
    }
}

/// Returns the `errno` of the innermost cause that has one.
fn errno_of(error: &(dyn Error + 'static)) -> Option<i32> {
    let own = error.downcast_ref::<io::Error>();
    let own = own.and_then(io::Error::raw_os_error);
    own.or_else(|| errno_of(error.source()?))
}

/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>
fn effective_capabilities() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn missing_capabilities(effective: u64) -> Option<&'static str> {
    let has = |bit: u32| effective & (1 << bit) != 0;
    match (has(SYS_ADMIN), has(BPF), has(PERFMON)) {
        (true, ..) | (_, true, true) => None,
        (_, true, false) => Some("CAP_PERFMON"),
        (_, false, true) => Some("CAP_BPF"),
        (_, false, false) => Some("CAP_BPF and CAP_PERFMON"),
    }
}

fn is_locked_down() -> bool {
    let state = std::fs::read_to_string(LOCKDOWN);
    state.is_ok_and(|state| state.contains("[confidentiality]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// capabilities(7): "CAP_BPF … was added to separate out BPF functionality from the overloaded
    /// CAP_SYS_ADMIN capability"; tracing programs need CAP_PERFMON, too.
    #[test]
    fn missing_capabilities_are_named() {
        assert_eq!(missing_capabilities(0), Some("CAP_BPF and CAP_PERFMON"));
        assert_eq!(missing_capabilities(1 << 38), Some("CAP_BPF"));
        assert_eq!(missing_capabilities(1 << 39), Some("CAP_PERFMON"));
        assert_eq!(missing_capabilities(3 << 38), None);
        assert_eq!(missing_capabilities(1 << 21), None);
    }
}
