//! Changes to words that only this thread writes, but that a signal handler of this thread may also
//! change, between any two instructions. On x86-64 one instruction that adds to memory, without the
//! `lock` prefix, is enough: no signal arrives in its middle, and no other CPU writes the word.

#[cfg(target_arch = "aarch64")]
use std::sync::atomic::{AtomicU64, Ordering};

/// A word of the shared memory.
pub(crate) type Word = *mut u64;

/// Adds to a word.
///
/// # Safety
/// The word is mapped, and only this thread writes it.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn add(word: Word, amount: u64) {
    // SAFETY: guaranteed by the caller. The block is also a barrier for the compiler, and x86-64
    // makes stores visible in their order.
    unsafe {
        std::arch::asm!(
            "add qword ptr [{word}], {amount}",
            word = in(reg) word,
            amount = in(reg) amount,
            options(nostack),
        );
    }
}

/// Adds to a number of 128 bits, the lower word first.
///
/// # Safety
/// Both words are mapped, and only this thread writes them.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn add_wide(low: Word, amount: u64) {
    // SAFETY: guaranteed by the caller. A handler between the two instructions finds the carry in
    // the saved flags again, and sums do not depend on their order.
    unsafe {
        std::arch::asm!(
            "add qword ptr [{low}], {amount}",
            "adc qword ptr [{low} + 8], 0",
            low = in(reg) low,
            amount = in(reg) amount,
            options(nostack),
        );
    }
}

/// Adds to a word.
///
/// # Safety
/// The word is mapped, and only this thread writes it.
#[inline(always)]
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn add(word: Word, amount: u64) {
    // SAFETY: guaranteed by the caller. Stores must become visible in their order.
    unsafe { AtomicU64::from_ptr(word) }.fetch_add(amount, Ordering::AcqRel);
}

/// Adds to a number of 128 bits, the lower word first.
///
/// # Safety
/// Both words are mapped, and only this thread writes them.
#[inline(always)]
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn add_wide(low: Word, amount: u64) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let before = AtomicU64::from_ptr(low).fetch_add(amount, Ordering::AcqRel);
        if before.checked_add(amount).is_none() {
            add(low.add(1), 1);
        }
    }
}
