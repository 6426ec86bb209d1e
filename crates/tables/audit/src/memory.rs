//! Functions of the C library and the standard library that compiled code uses implicitly: this
//! library links neither.
//!
//! The memory copied and compared here is short: paths and names. Each byte is read and written
//! with a volatile access, so that the compiler does not turn a loop into a call of the function
//! that it is in.

use core::ffi::{c_char, c_int, c_void};

/// memcpy(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void {
    let (into, from): (*mut u8, *const u8) = (to.cast(), from.cast());
    for at in 0..count {
        // SAFETY: the caller guarantees that many bytes at both.
        unsafe { into.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// memmove(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void {
    let (into, from): (*mut u8, *const u8) = (to.cast(), from.cast());
    let is_behind = (into as usize).wrapping_sub(from as usize) < count;
    for step in 0..count {
        let at = match is_behind {
            true => count - 1 - step,
            false => step,
        };
        // SAFETY: the caller guarantees that many bytes at both; no byte is overwritten before it
        // is read.
        unsafe { into.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// memset(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, byte: c_int, count: usize) -> *mut c_void {
    let into: *mut u8 = to.cast();
    for at in 0..count {
        // SAFETY: the caller guarantees that many bytes.
        unsafe { into.add(at).write_volatile(byte as u8) };
    }
    to
}

/// memcmp(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const c_void, other: *const c_void, count: usize) -> c_int {
    let (one, other): (*const u8, *const u8) = (one.cast(), other.cast());
    for at in 0..count {
        // SAFETY: the caller guarantees that many bytes at both.
        let (one, other) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        if one != other {
            return c_int::from(one) - c_int::from(other);
        }
    }
    0
}

/// bcmp(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const c_void, other: *const c_void, count: usize) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { memcmp(one, other, count) }
}

/// strlen(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: the caller guarantees that the text ends in NUL.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}

/// Nothing panics. If something did, there would be no way to report it.
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
