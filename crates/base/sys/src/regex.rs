//! The C library's regular expressions, for patterns that automata cannot match: those with
//! back-references.
//!
//! The C library takes the compilation rules from a process-wide variable, so only one pattern is
//! compiled at a time. Each pattern states its own character encoding, independent of the process's
//! locale.
//!
//! Matching may take time and memory that grow exponentially with the length of a pattern.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Units that a pattern and the text consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// Bytes, as in the locale "C".
    Bytes,
    /// UTF-8 characters.
    Utf8,
}

/// `struct re_pattern_buffer` of `<regex.h>`.
#[repr(C)]
struct Buffer {
    compiled: *mut c_void,
    allocated: c_ulong,
    used: c_ulong,
    syntax: c_ulong,
    fastmap: *mut c_char,
    translate: *mut u8,
    groups: usize,
    /// Bit fields.
    flags: u32,
}

unsafe extern "C" {
    fn re_set_syntax(syntax: c_ulong) -> c_ulong;
    fn re_compile_pattern(
        pattern: *const c_char,
        length: usize,
        buffer: *mut Buffer,
    ) -> *const c_char;
    fn re_match(
        buffer: *mut Buffer,
        text: *const c_char,
        length: c_int,
        start: c_int,
        registers: *mut c_void,
    ) -> c_int;
    fn re_search(
        buffer: *mut Buffer,
        text: *const c_char,
        length: c_int,
        start: c_int,
        range: c_int,
        registers: *mut c_void,
    ) -> c_int;
    fn regfree(buffer: *mut Buffer);
}

/// Held while the process-wide rules are those of one pattern.
static COMPILING: Mutex<()> = Mutex::new(());

/// A compiled pattern.
pub struct Pattern {
    /// Never moved once compiled.
    buffer: Box<UnsafeCell<Buffer>>,
    characters: Characters,
}

// SAFETY: the buffer is owned, and nothing in it belongs to a particular thread.
unsafe impl Send for Pattern {}
// SAFETY: re_match(3) changes data only under a lock of the compiled pattern; without registers it
// does not write to the buffer itself.
unsafe impl Sync for Pattern {}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

impl Pattern {
    /// Compiles a pattern; `syntax` holds rules as bits of `<regex.h>` (`RE_…`).
    ///
    /// Source: <https://www.gnu.org/software/gnulib/manual/html_node/GNU-Pattern-Compiling.html>
    ///
    /// # Errors
    /// Returns the C library's message.
    pub fn new(pattern: &[u8], syntax: u32, characters: Characters) -> Result<Pattern, String> {
        let empty = Buffer {
            compiled: ptr::null_mut(),
            allocated: 0,
            used: 0,
            syntax: 0,
            fastmap: ptr::null_mut(),
            translate: ptr::null_mut(),
            groups: 0,
            flags: 0,
        };
        let compiled = Pattern {
            buffer: Box::new(UnsafeCell::new(empty)),
            characters,
        };
        let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        let _here = Here::enter(characters);
        // SAFETY: nothing else in this process calls these two functions, and the lock keeps the
        // two calls together; the pattern has that length; the buffer has no memory yet and does
        // not move.
        let problem = unsafe {
            re_set_syntax(c_ulong::from(syntax));
            re_compile_pattern(
                pattern.as_ptr().cast(),
                pattern.len(),
                compiled.buffer.get(),
            )
        };
        if problem.is_null() {
            return Ok(compiled);
        }
        // SAFETY: a result that is not null is a NUL-terminated message that is never freed.
        let problem = unsafe { CStr::from_ptr(problem) };
        Err(problem.to_string_lossy().into_owned())
    }

    /// Returns true if the longest match at the start of `text` is the whole of `text`.
    ///
    /// Source: <https://www.gnu.org/software/gnulib/manual/html_node/GNU-Matching.html>
    #[must_use]
    pub fn matches_whole(&self, text: &[u8]) -> bool {
        let Ok(length) = c_int::try_from(text.len()) else {
            return false;
        };
        let _here = Here::enter(self.characters);
        let registers = ptr::null_mut();
        // SAFETY: the buffer holds a compiled pattern; the text has that length.
        let matched = unsafe {
            re_match(
                self.buffer.get(),
                text.as_ptr().cast(),
                length,
                0,
                registers,
            )
        };
        matched == length
    }

    /// Returns true if the pattern matches some part of `text`.
    ///
    /// Source: <https://www.gnu.org/software/gnulib/manual/html_node/GNU-Searching.html>
    #[must_use]
    pub fn matches_part(&self, text: &[u8]) -> bool {
        let Ok(length) = c_int::try_from(text.len()) else {
            return false;
        };
        let _here = Here::enter(self.characters);
        let registers = ptr::null_mut();
        // SAFETY: the buffer holds a compiled pattern; the text has that length; all positions at
        // which a match may start lie within it.
        let place = unsafe {
            re_search(
                self.buffer.get(),
                text.as_ptr().cast(),
                length,
                0,
                length,
                registers,
            )
        };
        place >= 0
    }
}

impl Drop for Pattern {
    fn drop(&mut self) {
        // SAFETY: the memory in the buffer came from re_compile_pattern, or there is none.
        unsafe { regfree(self.buffer.get()) }
    }
}

/// Sets the calling thread's locale to one with these characters, until dropped.
struct Here {
    before: libc::locale_t,
}

impl Here {
    /// Enters the locale. If the C library does not have it, the thread's locale stays unchanged.
    fn enter(characters: Characters) -> Here {
        static UTF8: OnceLock<usize> = OnceLock::new();
        static BYTES: OnceLock<usize> = OnceLock::new();
        let (made, name) = match characters {
            Characters::Utf8 => (&UTF8, c"C.UTF-8"),
            Characters::Bytes => (&BYTES, c"C"),
        };
        let made = made.get_or_init(|| {
            // SAFETY: the name is NUL-terminated; no base locale is given.
            let locale =
                unsafe { libc::newlocale(libc::LC_CTYPE_MASK, name.as_ptr(), ptr::null_mut()) };
            locale as usize
        });
        // SAFETY: the argument is null, which changes nothing, or a locale that is never freed.
        let before = unsafe { libc::uselocale(*made as libc::locale_t) };
        Here { before }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // SAFETY: the argument is the locale that `uselocale` returned in this thread.
        unsafe { libc::uselocale(self.before) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `RE_SYNTAX_POSIX_BASIC`.
    const BASIC: u32 = 0x1_00_02_c6 | 0x100_0000;

    #[test]
    fn references_match_what_groups_did() {
        for (characters, dots) in [(Characters::Bytes, 2), (Characters::Utf8, 1)] {
            let pattern = format!("\\({}\\)\\1", ".".repeat(dots));
            let pattern = Pattern::new(pattern.as_bytes(), BASIC, characters).unwrap();
            assert!(pattern.matches_whole("éé".as_bytes()));
            assert!(!pattern.matches_whole("éè".as_bytes()));
            assert!(!pattern.matches_whole("ééé".as_bytes()));
            assert!(!pattern.matches_whole(b""));
            assert!(pattern.matches_part("xééx".as_bytes()));
            assert!(!pattern.matches_part("abc".as_bytes()));
        }
    }

    #[test]
    fn problems_are_told_in_the_librarys_words() {
        let problem = |pattern: &[u8]| Pattern::new(pattern, BASIC, Characters::Utf8).unwrap_err();
        assert_eq!(problem(b"\\1"), "Invalid back reference");
        assert_eq!(problem(b"\\(a"), "Unmatched ( or \\(");
    }

    #[test]
    fn threads_share_a_pattern() {
        let pattern = Pattern::new(b"\\(a*\\)b\\1", BASIC, Characters::Utf8).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for length in 0..200 {
                        let side = "a".repeat(length);
                        assert!(pattern.matches_whole(format!("{side}b{side}").as_bytes()));
                        assert!(!pattern.matches_whole(format!("{side}ba{side}").as_bytes()));
                        let other = format!("\\({side}b*\\)\\1");
                        Pattern::new(other.as_bytes(), BASIC, Characters::Bytes).unwrap();
                    }
                });
            }
        });
    }
}
