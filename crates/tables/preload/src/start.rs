//! Tells the service that this program has started, if its arguments may name many files: the
//! service fetches them ahead (`trawl run`). Which files these are is for the service to find out;
//! here only the arguments' first bytes are looked at.
//!
//! Invariants: nothing is waited for, no descriptor stays open, no thread is started, and the
//! arguments are not changed.

use std::ffi::c_char;

use trawl_table_client::tell_start;

use crate::{kernel, settings};

/// Tells the service of this start, if `least` arguments or more are not options, or if one may
/// name a list of files.
///
/// # Safety
/// `arguments` is NULL or an array of C strings that ends in NULL.
pub(crate) unsafe fn tell(arguments: *const *const c_char, least: u32) {
    // SAFETY: guaranteed by the caller.
    if !arguments.is_null() && unsafe { has_files(arguments, least) } {
        tell_start(settings::socket(), settings::user());
    }
}

/// Returns whether the arguments may name enough files.
///
/// # Safety
/// `arguments` is an array of C strings that ends in NULL.
unsafe fn has_files(arguments: *const *const c_char, least: u32) -> bool {
    let mut files = 0;
    for at in 1.. {
        // SAFETY: guaranteed by the caller; no element before this one was NULL, unless it is the
        // program's name, after which there is nothing.
        let argument = unsafe {
            match (*arguments).is_null() {
                true => None,
                false => kernel::bytes(*arguments.add(at)),
            }
        };
        match argument {
            None => return false,
            Some(option) if option.starts_with(b"-") => {
                if is_list(option) {
                    return true;
                }
            }
            Some(_) => files += 1,
        }
        if files >= least {
            return true;
        }
    }
    false
}

/// Returns whether an option may name a list of files: `-T`, also behind other letters,
/// `--files-from` and `--files0-from`.
fn is_list(option: &[u8]) -> bool {
    option.starts_with(b"--files") || !option.starts_with(b"--") && option.contains(&b'T')
}
