//! System calls by number, without the C library.

use core::arch::asm;
use core::ffi::{c_int, c_long};

/// The largest errno.
const ERRNO_MAX: isize = 4095;

/// Calls the kernel. The error is an errno.
///
/// # Safety
/// As the system call: pointer arguments point to the memory that it reads or writes.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn call(number: c_long, words: [usize; 6]) -> Result<usize, c_int> {
    let result: isize;
    // SAFETY: guaranteed by the caller; the operands list everything that the instruction changes.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") words[0],
            in("rsi") words[1],
            in("rdx") words[2],
            in("r10") words[3],
            in("r8") words[4],
            in("r9") words[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    value(result)
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn call(number: c_long, words: [usize; 6]) -> Result<usize, c_int> {
    let result: isize;
    // SAFETY: guaranteed by the caller; the operands list everything that the instruction changes.
    unsafe {
        asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") words[0] => result,
            in("x1") words[1],
            in("x2") words[2],
            in("x3") words[3],
            in("x4") words[4],
            in("x5") words[5],
            options(nostack),
        );
    }
    value(result)
}

fn value(result: isize) -> Result<usize, c_int> {
    match (-ERRNO_MAX..0).contains(&result) {
        true => Err(-result as c_int),
        false => Ok(result as usize),
    }
}
