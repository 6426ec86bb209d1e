//! The wrappers: one for each symbol of the table in `trawl-profile-mapping`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use trawl_profile_mapping::{Operation, for_each_call};

use crate::real::{ErrorNumber, Mapped, Missing, Real};
use crate::record;

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

        $($(
            // Cancellation and exceptions of the program's functions pass through.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $symbol($($argument: $kind),*) -> $result {
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
                let entry = record::enter(Operation::$operation);
                // SAFETY: the arguments are the caller's own.
                let result = unsafe { function($($argument),*) };
                record::leave(entry);
                result
            }
        )*)*
    };
}

for_each_call!(wrap);
