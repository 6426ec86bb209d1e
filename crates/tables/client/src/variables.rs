//! Parses the variables that a service passes to programs, once before the program begins.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

/// A text that is written once, before there is a second thread.
#[derive(Debug)]
pub struct Text<const N: usize> {
    bytes: UnsafeCell<[u8; N]>,
    length: AtomicU32,
}

// SAFETY: `set` is called only before there is a second thread, and the bytes are read only once
// the length, which is stored after them, is not zero.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> Default for Text<N> {
    fn default() -> Text<N> {
        Text::new()
    }
}

impl<const N: usize> Text<N> {
    /// Makes an empty text.
    pub const fn new() -> Text<N> {
        Text {
            bytes: UnsafeCell::new([0; N]),
            length: AtomicU32::new(0),
        }
    }

    /// Stores a text, if it fits with a NUL and none was stored before.
    pub fn set(&self, text: &[u8]) {
        if text.len() >= N || self.length.load(Ordering::Acquire) != 0 {
            return;
        }
        // SAFETY: nobody reads yet, see above.
        let bytes = unsafe { &mut *self.bytes.get() };
        bytes[..text.len()].copy_from_slice(text);
        self.length.store(text.len() as u32, Ordering::Release);
    }

    /// Returns the text; empty if none was stored.
    pub fn get(&self) -> &[u8] {
        let length = self.length.load(Ordering::Acquire) as usize;
        // SAFETY: nobody writes once the length is not zero, see above.
        let bytes = unsafe { &*self.bytes.get() };
        bytes.get(..length).unwrap_or_default()
    }

    /// Returns the text followed by a NUL; `None` if none was stored.
    pub fn c_str(&self) -> Option<&CStr> {
        let text: *const u8 = match self.get() {
            [] => return None,
            text => text.as_ptr(),
        };
        // SAFETY: at least one more byte of the array follows the text. It is zero, and nobody
        // writes it once the length is not zero.
        Some(unsafe { CStr::from_ptr(text.cast()) })
    }
}

/// The values of a service's variables.
#[derive(Debug)]
pub struct Variables {
    /// The service's socket.
    pub socket: Text<108>,
    /// The file of the run's page.
    pub page: Text<512>,
    roots: Text<8192>,
    age_ns: AtomicI64,
    entries_max: AtomicU32,
    files_min: AtomicU32,
    is_ready: AtomicBool,
    is_eager: AtomicBool,
    is_restless: AtomicBool,
}

impl Default for Variables {
    fn default() -> Variables {
        Variables::new()
    }
}

impl Variables {
    /// Makes an instance without values.
    pub const fn new() -> Variables {
        Variables {
            socket: Text::new(),
            page: Text::new(),
            roots: Text::new(),
            age_ns: AtomicI64::new(0),
            entries_max: AtomicU32::new(1 << 20),
            files_min: AtomicU32::new(0),
            is_ready: AtomicBool::new(false),
            is_eager: AtomicBool::new(false),
            is_restless: AtomicBool::new(false),
        }
    }

    /// Reads a program's environment; `other` receives the name and value of variables that are not
    /// the service's.
    ///
    /// # Safety
    /// `environment` is an array of C strings that ends in NULL, and there is no second thread.
    pub unsafe fn read<'a>(
        &self,
        environment: *const *const c_char,
        mut other: impl FnMut(&'a [u8], &'a [u8]),
    ) {
        let mut at = environment;
        // SAFETY: guaranteed by the caller.
        while let Some(text) = unsafe { bytes(*at) } {
            if let Some(middle) = text.iter().position(|byte| *byte == b'=')
                && let (name, Some((_, value))) = (
                    text.get(..middle).unwrap_or_default(),
                    text.get(middle..).and_then(<[u8]>::split_first),
                )
            {
                match name.strip_prefix(b"TRAWL_BULK_") {
                    Some(name) => self.variable(name, value),
                    None => other(name, value),
                }
            }
            // SAFETY: it was not the last element.
            at = unsafe { at.add(1) };
        }
    }

    fn variable(&self, name: &[u8], value: &[u8]) {
        match name {
            b"SOCKET" => self.socket.set(value),
            b"PAGE" => self.page.set(value),
            b"ROOTS" => self.roots.set(value),
            b"AGE_MS" => {
                let age = number(value).unwrap_or(0).min(3_600_000);
                let age_ns = i64::from(age).saturating_mul(1_000_000);
                self.age_ns.store(age_ns, Ordering::Relaxed);
            }
            b"ENTRIES" => {
                let entries = number(value).unwrap_or(1 << 20);
                self.entries_max.store(entries, Ordering::Relaxed);
            }
            b"FILES" => self
                .files_min
                .store(number(value).unwrap_or(0), Ordering::Relaxed),
            b"HASTE" => {
                let is_restless = value == b"restless";
                let is_eager = is_restless || value == b"eager";
                let is_ready = is_eager || value == b"ready";
                self.is_restless.store(is_restless, Ordering::Relaxed);
                self.is_eager.store(is_eager, Ordering::Relaxed);
                self.is_ready.store(is_ready, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Returns whether all values needed for a question are there.
    pub fn is_whole(&self) -> bool {
        let texts = [self.socket.get(), self.page.get(), self.roots.get()];
        texts.iter().all(|text| !text.is_empty()) && self.age_ns() > 0
    }

    /// Returns the maximum age of a table in nanoseconds.
    pub fn age_ns(&self) -> i64 {
        self.age_ns.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of entries to ask for at once.
    pub fn entries_max(&self) -> u32 {
        self.entries_max.load(Ordering::Relaxed)
    }

    /// Returns the number of arguments that may be files from which on a program's start is told;
    /// `None` if none is.
    pub fn files_min(&self) -> Option<u32> {
        Some(self.files_min.load(Ordering::Relaxed)).filter(|least| *least > 0)
    }

    /// Returns whether to ask even where calls are cheap.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Returns whether to ask at the first call.
    pub fn is_eager(&self) -> bool {
        self.is_eager.load(Ordering::Relaxed)
    }

    /// Returns whether to ask regardless of recent changes and questions in vain: for tests, which
    /// then have a table behind nearly every call.
    pub fn is_restless(&self) -> bool {
        self.is_restless.load(Ordering::Relaxed)
    }

    /// Returns whether a path is a covered directory or lies below one.
    pub fn is_covered(&self, path: &[u8]) -> bool {
        let mut roots = self.roots.get().split(|byte| *byte == b':');
        roots.any(|root| {
            let rest = match root {
                b"" => None,
                b"/" => Some(path),
                root => path.strip_prefix(root),
            };
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }
}

/// Returns the bytes of a C string, without using the C library; `None` for NULL.
///
/// # Safety
/// `text` is NULL, or ends in NUL and does not change while the result is used.
pub unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    let mut length = 0;
    // SAFETY: the caller guarantees that it ends in NUL.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        Some(core::slice::from_raw_parts(text.cast(), length))
    }
}

fn number(text: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    let mut all = None;
    for byte in text {
        let before: u32 = all.unwrap_or(0);
        all = Some(before.checked_mul(10)?.checked_add(digit(byte)?)?);
    }
    all
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn variables_are_read_or_left() {
        let variables = Variables::new();
        let texts = [
            c"TRAWL_BULK_SOCKET=/s",
            c"TRAWL_BULK_PAGE=/p",
            c"TRAWL_BULK_ROOTS=/a:/b/c",
            c"TRAWL_BULK_AGE_MS=1500",
            c"TRAWL_BULK_ENTRIES=none",
            c"TRAWL_BULK_HASTE=eager",
            c"TRAWL_BULK_FILES=8",
            c"PATH=/x=y",
            c"no sign",
        ];
        let mut pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let mut others = Vec::new();
        // SAFETY: the strings live, and the last pointer is NULL.
        unsafe {
            variables.read(pointers.as_ptr(), |name, value| {
                others.push((name.to_vec(), value.to_vec()));
            });
        }
        assert_eq!(others, [(b"PATH".to_vec(), b"/x=y".to_vec())]);
        assert!(variables.is_whole() && variables.is_eager());
        assert_eq!(variables.files_min(), Some(8));
        assert_eq!(variables.socket.get(), b"/s");
        assert_eq!(variables.page.c_str(), Some(c"/p"));
        assert_eq!(
            (variables.age_ns(), variables.entries_max()),
            (1_500_000_000, 1 << 20)
        );
        for (path, is_covered) in [("/a", true), ("/a/x", true), ("/b", false), ("/b/c/", true)] {
            assert_eq!(variables.is_covered(path.as_bytes()), is_covered, "{path}");
        }
    }

    #[test]
    fn numbers_are_whole() {
        for (text, value) in [
            ("0", Some(0)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("", None),
            ("1x", None),
        ] {
            assert_eq!(number(text.as_bytes()), value, "{text}");
        }
    }
}
