//! Reads the clock: the CPU's cycle counter where the profiler found that it is invariant,
//! otherwise CLOCK_MONOTONIC. "We use the CPU cycle counter (TSC on x86) to measure time because it
//! has a resolution of tens of nanoseconds, and querying it uses a single instruction" (§5.1).

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CYCLES: AtomicBool = AtomicBool::new(false);

/// Chooses the clock, before the first call is recorded.
pub(crate) fn choose(is_cycles: bool) {
    IS_CYCLES.store(is_cycles, Ordering::Relaxed);
}

/// Returns the time, in the unit of the chosen clock.
#[inline(always)]
pub(crate) fn now() -> u64 {
    match IS_CYCLES.load(Ordering::Relaxed) {
        true => cycles(),
        false => monotonic_ns(),
    }
}

/// Returns the cycle counter.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn cycles() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction; where the kernel forbids it, the program that
    // measures the clock for the profiler dies, and the profiler chooses the other clock.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Returns the cycle counter.
#[inline(always)]
#[cfg(target_arch = "aarch64")]
pub(crate) fn cycles() -> u64 {
    let count: u64;
    // SAFETY: the kernel lets programs read the virtual counter.
    unsafe {
        std::arch::asm!("mrs {count}, cntvct_el0", count = out(reg) count, options(nostack));
    }
    count
}

/// Returns whether the cycle counter runs at one rate, also while the CPU is idle or slow.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_invariant() -> bool {
    const EXTENDED: u32 = 0x8000_0000;
    const POWER: u32 = 0x8000_0007;
    // AMD64 Architecture Programmer's Manual, volume 3, CPUID Fn8000_0007_EDX, TscInvariant; Intel's
    // manual, volume 2, CPUID, names the same bit.
    const TSC_INVARIANT: u32 = 1 << 8;
    #[allow(unused_unsafe, reason = "unsafe only in older versions of Rust")]
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe {
        std::arch::x86_64::__cpuid(EXTENDED).eax >= POWER
            && std::arch::x86_64::__cpuid(POWER).edx & TSC_INVARIANT != 0
    }
}

/// Returns whether the cycle counter runs at one rate: the generic timer always does.
#[cfg(target_arch = "aarch64")]
pub(crate) fn is_invariant() -> bool {
    true
}

/// Returns CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` has room for the result. The C library reads the kernel's shared page, without a
    // system call and without touching `errno`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}
