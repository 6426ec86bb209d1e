//! fnmatch: shell patterns as the C library interprets them in the process's locale ("C" unless a
//! program calls setlocale, which Rust programs do not do: bytes are matched as bytes).

use std::ffi::CStr;
use std::ops::BitOr;

/// Options of [`matches`], combined with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(libc::c_int);

impl Flags {
    /// `*`, `?` and brackets match any character, including slashes and leading dots.
    pub const NONE: Flags = Flags(0);
    /// `FNM_PATHNAME`: only a slash matches a slash.
    pub const PATHNAME: Flags = Flags(libc::FNM_PATHNAME);
    /// `FNM_PERIOD`: only a dot matches a leading dot.
    pub const PERIOD: Flags = Flags(libc::FNM_PERIOD);
    /// `FNM_CASEFOLD`: letters match regardless of case.
    pub const CASEFOLD: Flags = Flags(libc::FNM_CASEFOLD);
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Returns true if the whole of `text` matches `pattern`.
///
/// Source: <https://man7.org/linux/man-pages/man3/fnmatch.3.html>
#[must_use]
pub fn matches(pattern: &CStr, text: &CStr, flags: Flags) -> bool {
    // SAFETY: both strings are NUL-terminated and only read.
    unsafe { libc::fnmatch(pattern.as_ptr(), text.as_ptr(), flags.0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_effect() {
        let match_with = |p: &CStr, t: &CStr, f| matches(p, t, f);
        assert!(match_with(c"*.c", c"a/b.c", Flags::NONE));
        assert!(!match_with(c"*.c", c"a/b.c", Flags::PATHNAME));
        assert!(!match_with(
            c"*",
            c".hidden",
            Flags::PERIOD | Flags::PATHNAME
        ));
        assert!(match_with(c"A[b-d]?", c"acE", Flags::CASEFOLD));
        assert!(match_with(c"\xff*", c"\xff\xfe", Flags::NONE));
    }
}
