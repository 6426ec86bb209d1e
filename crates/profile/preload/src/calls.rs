//! The wrappers: one for each symbol of the table in `trawl-profile-mapping`. A wrapper passes its
//! caller's address on as one more argument, without a frame of its own, to the function that measures.

use std::ffi::{c_char, c_int, c_uint, c_void};

use trawl_profile_mapping::{Operation, for_each_call};

use crate::real::{ErrorNumber, Mapped, Missing, Real};
use crate::record;

/// The whole body of a wrapper with these arguments: calls a function with one argument more, the
/// return address. The arguments in registers stay where they are.
macro_rules! pass_on {
    ($to:path,) => {
        pass_in!($to, "rdi", "x0")
    };
    ($to:path, $a:ident) => {
        pass_in!($to, "rsi", "x1")
    };
    ($to:path, $a:ident $b:ident) => {
        pass_in!($to, "rdx", "x2")
    };
    ($to:path, $a:ident $b:ident $c:ident) => {
        pass_in!($to, "rcx", "x3")
    };
    ($to:path, $a:ident $b:ident $c:ident $d:ident) => {
        pass_in!($to, "r8", "x4")
    };
    ($to:path, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        pass_in!($to, "r9", "x5")
    };
    ($to:path, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident) => {
        pass_seventh!($to)
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! pass_in {
    ($to:path, $register:literal, $other:literal) => {
        std::arch::naked_asm!(
            concat!("mov ", $register, ", [rsp]"),
            "jmp {to}",
            to = sym $to,
        )
    };
}

/// The seventh argument lies on the stack, which the pushed word also aligns.
#[cfg(target_arch = "x86_64")]
macro_rules! pass_seventh {
    ($to:path) => {
        std::arch::naked_asm!(
            ".cfi_startproc",
            "push qword ptr [rsp]",
            ".cfi_adjust_cfa_offset 8",
            "call {to}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_endproc",
            to = sym $to,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! pass_in {
    ($to:path, $other:literal, $register:literal) => {
        std::arch::naked_asm!(
            concat!("mov ", $register, ", x30"),
            "b {to}",
            to = sym $to,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! pass_seventh {
    ($to:path) => {
        pass_in!($to, "", "x6")
    };
}

macro_rules! wrap {
    ($($operation:ident {
        $($symbol:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*
    })*) => {
        /// The C library's functions.
        #[allow(non_upper_case_globals, reason = "they have the functions' names")]
        mod reals {
            use super::Real;
            $($(pub(super) static $symbol: Real = Real::new(concat!(stringify!($symbol), "\0"));)*)*
        }

        /// Looks all functions up.
        pub(crate) fn look_all_up() {
            $($(reals::$symbol.look_up();)*)*
        }

        /// Functions that measure a call from an address.
        mod measured {
            use super::*;
            $($(
                // Cancellation and exceptions of the program's functions pass through.
                pub(super) unsafe extern "C-unwind" fn $symbol(
                    $($argument: $kind,)*
                    caller: usize,
                ) -> $result {
                    let found = reals::$symbol.get();
                    if found.is_null() {
                        return Missing::MISSING;
                    }
                    // SAFETY: the C library's function of this name has this type (its manual page).
                    let function = unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C-unwind" fn($($kind),*) -> $result,
                        >(found)
                    };
                    let entry = record::enter(Operation::$operation, caller);
                    // SAFETY: the arguments are the caller's own.
                    let result = unsafe { function($($argument),*) };
                    record::leave(entry);
                    result
                }
            )*)*
        }

        $($(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $symbol($($argument: $kind),*) -> $result {
                pass_on!(measured::$symbol, $($argument)*)
            }
        )*)*
    };
}

for_each_call!(wrap);
