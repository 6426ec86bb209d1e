//! Limits on the arguments of a command, computed as GNU find computes them, so
//! that commands are split at the same places.

use std::os::unix::ffi::OsStrExt;

use trawl_sys::command::argument_limit_bytes;

use crate::error::FindError;

/// Maximum bytes of arguments per command.
const SENSIBLE_BYTES: usize = 128 << 10;
/// Minimum that every system supports, `_POSIX_ARG_MAX`.
const LEAST_BYTES: usize = 4096;
/// Bytes reserved for additions of the command to its environment.
const HEADROOM_BYTES: usize = 2048;

/// Limits of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes of all words, including the NUL after each.
    pub(super) bytes: usize,
    /// Number of words.
    pub(super) words: usize,
}

impl Limits {
    /// The limits of this process.
    pub(super) fn of_process() -> Result<Limits, FindError> {
        let of_one = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            name.as_bytes().len() + value.as_bytes().len() + b"=\0".len()
        };
        let environment = std::env::vars_os().map(of_one).sum();
        Limits::new(argument_limit_bytes(), environment).ok_or_else(|| {
            let reason = "The environment is too large for exec().";
            FindError::bad("-exec", reason)
        })
    }

    fn new(system_bytes: usize, environment_bytes: usize) -> Option<Limits> {
        let left = system_bytes
            .checked_sub(environment_bytes.checked_add(HEADROOM_BYTES)?)
            .filter(|left| *left > 0)?;
        Some(Limits {
            bytes: SENSIBLE_BYTES.max(LEAST_BYTES).min(left),
            words: (left / size_of::<usize>()).saturating_sub(2).max(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_counts() {
        let limits = |system, environment| Limits::new(system, environment);
        let plenty = limits(2 << 20, 1000).unwrap();
        assert_eq!(plenty.bytes, 128 << 10);
        assert_eq!(plenty.words, ((2 << 20) - 1000 - 2048) / 8 - 2);
        assert_eq!(limits(128 << 10, 1000).unwrap().bytes, (128 << 10) - 3048);
        assert_eq!(limits(4096, 4096), None);
        assert_eq!(limits(4096, 2048), None);
    }
}
