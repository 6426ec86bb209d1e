//! Reads and checks the arguments of C callers.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use trawl_call::options::{DEPTH_PAPER, Flags};
use trawl_call::request::{ROOTS_MAX, parse_roots};
use trawl_call::{CallError, Cookie, Executor, Options, Pattern, Request, Search};
use trawl_open::barrier;
use trawl_open::search::{AskedSource, Choice};
use trawl_remote::mounts::with_servers;
use trawl_remote::{Address, Remote};

use crate::failure::Failure;
use crate::layout::{
    TRAWL_AUTO, TRAWL_DEPTH16, TRAWL_INDEX, TRAWL_INTR, TRAWL_LIVE, TRAWL_REMOTE,
    trawl_search_options,
};

/// The options of a search, besides pattern and flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    asking: Asking,
    max_depth: usize,
    pub(crate) cookie: Option<Vec<u8>>,
    remote: Option<Address>,
}

/// The source that is asked, and how.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asking {
    served_by: c_int,
    index: Option<PathBuf>,
    /// How long to wait for daemons.
    wait: Wait,
}

impl Asking {
    /// Reads the members that say it.
    pub(crate) fn new(
        served_by: c_int,
        index: Option<PathBuf>,
        wait_ms: c_int,
    ) -> Result<Asking, Failure> {
        if !(TRAWL_AUTO..=TRAWL_INDEX).contains(&served_by) {
            return Err(Failure::invalid(
                "served_by is not TRAWL_AUTO, TRAWL_LIVE or TRAWL_INDEX",
            ));
        }
        let wait = match wait_ms {
            0 => Wait::default(),
            -1 => Wait(None),
            wait => {
                let wait = u64::try_from(wait)
                    .map_err(|_| Failure::invalid("wait_ms is negative, and not -1"))?;
                Wait(Some(Duration::from_millis(wait)))
            }
        };
        Ok(Asking {
            served_by,
            index,
            wait,
        })
    }

    /// Returns the choice of executor. A program with more rights than its user must not obey that
    /// user's environment.
    ///
    /// # Errors
    /// Fails if such a program asks an index that it does not name.
    pub(crate) fn choice(self) -> Result<Choice, Failure> {
        let ignores_settings = is_secure() && self.index.is_none();
        let who = match self.served_by {
            TRAWL_LIVE => AskedSource::Live,
            TRAWL_INDEX if ignores_settings => {
                return Err(Failure::new(
                    libc::EPERM,
                    "a program with more rights than its user has to name the index",
                ));
            }
            TRAWL_INDEX => AskedSource::Index,
            _ if ignores_settings => AskedSource::Live,
            _ => AskedSource::Auto,
        };
        Ok(Choice {
            who,
            index: self.index,
            wait: self.wait.0,
        })
    }
}

/// Maximum time to wait for a daemon; `None` to ask no daemons.
#[derive(Clone, Copy, Debug)]
struct Wait(Option<Duration>);

impl Default for Wait {
    fn default() -> Wait {
        Wait(Some(barrier::DEADLINE))
    }
}

/// Reads a string.
///
/// # Safety
/// The pointer is NULL, or its string is NUL-terminated and valid as long as the result.
pub(crate) unsafe fn text<'a>(given: *const c_char, what: &str) -> Result<&'a [u8], Failure> {
    if given.is_null() {
        return Err(Failure::invalid(format_args!("{what} is NULL")));
    }
    // SAFETY: the pointer is not NULL, and the caller promises the rest.
    Ok(unsafe { CStr::from_ptr(given) }.to_bytes())
}

/// Reads a list of directories in one string.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn paths(given: *const c_char) -> Result<Vec<Vec<u8>>, Failure> {
    // SAFETY: the caller promises it.
    let list = unsafe { text(given, "the list of directories") }?;
    Ok(parse_roots(list)?)
}

/// Reads a list of directories from an array.
///
/// # Safety
/// The pointer is NULL, or points to `count` pointers that are NULL or lead to NUL-terminated
/// strings.
pub(crate) unsafe fn path_array(
    given: *const *const c_char,
    count: usize,
) -> Result<Vec<Vec<u8>>, Failure> {
    if count > ROOTS_MAX {
        return Err(Failure::invalid(
            "there are more than a million directories",
        ));
    }
    if given.is_null() && count > 0 {
        return Err(Failure::invalid("the array of directories is NULL"));
    }
    let one = |at| {
        // SAFETY: the caller promises that the array has `count` strings.
        let path = unsafe { text(*given.add(at), "a directory") }?;
        Ok(path.to_vec())
    };
    (0..count).map(one).collect()
}

/// Returns the caller's memory as a slice.
///
/// # Safety
/// The pointer is NULL, or its memory has `length` bytes and is valid as long as the result.
pub(crate) unsafe fn bytes<'a>(
    given: *const c_void,
    length: usize,
    what: &str,
) -> Result<&'a [u8], Failure> {
    match (given.is_null(), isize::try_from(length)) {
        (_, Ok(0)) => Ok(&[]),
        (true, _) => Err(Failure::invalid(format_args!("{what} is NULL"))),
        (_, Err(_)) => Err(Failure::invalid(format_args!("{what} is too long"))),
        // SAFETY: the pointer is not NULL, the length fits in `isize`, and the caller promises the
        // rest.
        (false, Ok(_)) => Ok(unsafe { std::slice::from_raw_parts(given.cast(), length) }),
    }
}

/// Returns the caller's memory as a mutable slice.
///
/// # Safety
/// As [`bytes`], and nothing else uses the memory meanwhile.
pub(crate) unsafe fn bytes_mut<'a>(
    given: *mut c_void,
    length: usize,
    what: &str,
) -> Result<&'a mut [u8], Failure> {
    // SAFETY: the caller promises it; the slice is dropped at once, only its checks matter.
    unsafe { bytes(given, length, what) }?;
    match length {
        0 => Ok(&mut []),
        // SAFETY: as above, and nothing else uses the memory.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(given.cast(), length) }),
    }
}

/// Reads a structure of any version, whose first member is its size: members that the caller does
/// not know count as zero, and members that this version does not know must be zero.
///
/// # Safety
/// `T` begins with its size in a `usize` and consists of numbers and pointers, for which zero is a
/// valid value; the structure has as many bytes as that member says.
pub(crate) unsafe fn structure<T: Copy>(given: *const T, name: &str) -> Result<T, Failure> {
    // SAFETY: the caller promises at least the first member.
    let size = unsafe { given.cast::<usize>().read() };
    if size < size_of::<usize>() {
        return Err(Failure::invalid(format_args!(
            "the size of the options is not set: write sizeof(struct {name})"
        )));
    }
    // SAFETY: the caller promises `size` bytes.
    let theirs = unsafe { bytes(given.cast(), size, "the options") }?;
    let known = size.min(size_of::<T>());
    if theirs[known..].iter().any(|byte| *byte != 0) {
        let text = "options that this version of the library does not know";
        return Err(Failure::new(libc::E2BIG, text));
    }
    // SAFETY: the caller promises that zero is a valid value.
    let mut ours: T = unsafe { std::mem::zeroed() };
    // SAFETY: both structures have at least `known` bytes, and only this function uses `ours`.
    unsafe { std::ptr::copy_nonoverlapping(theirs.as_ptr(), (&raw mut ours).cast(), known) };
    Ok(ours)
}

/// Reads the options of a search.
///
/// # Safety
/// The pointer is NULL, or the structure has as many bytes as its first member says, and its
/// pointers are NULL or valid as the header says.
pub(crate) unsafe fn wishes(given: *const trawl_search_options) -> Result<Wishes, Failure> {
    if given.is_null() {
        return Ok(Wishes::default());
    }
    // SAFETY: the caller promises it.
    unsafe { read(&structure(given, "trawl_search_options")?) }
}

/// # Safety
/// As [`wishes`].
unsafe fn read(given: &trawl_search_options) -> Result<Wishes, Failure> {
    if !(TRAWL_AUTO..=TRAWL_REMOTE).contains(&given.served_by) || given.reserved != 0 {
        return Err(Failure::invalid(
            "served_by is not TRAWL_AUTO, TRAWL_LIVE, TRAWL_INDEX or TRAWL_REMOTE, or reserved is not 0",
        ));
    }
    let remote = match given.remote.is_null() {
        true => None,
        // SAFETY: the caller promises it.
        false => Some(unsafe { text(given.remote, "the server") }?),
    };
    let remote = remote.map(|address| Address::parse(OsStr::from_bytes(address)));
    let remote = remote.transpose().map_err(Failure::invalid)?;
    match (given.served_by, &remote) {
        (TRAWL_AUTO | TRAWL_REMOTE, Some(_)) | (TRAWL_AUTO..=TRAWL_INDEX, None) => {}
        (_, None) => {
            return Err(Failure::invalid(
                "TRAWL_REMOTE needs the server: set remote",
            ));
        }
        (_, Some(_)) => {
            return Err(Failure::invalid(
                "a server answers itself: with remote, served_by is TRAWL_REMOTE or TRAWL_AUTO",
            ));
        }
    }
    let index = match given.index.is_null() {
        true => None,
        // SAFETY: the caller promises it.
        false => Some(unsafe { text(given.index, "the index") }?),
    };
    // SAFETY: the caller promises it.
    let cookie = unsafe { bytes(given.cookie, given.cookie_bytes, "the cookie") }?;
    // A server answers itself.
    let served_by = match given.served_by {
        TRAWL_REMOTE => TRAWL_AUTO,
        served_by => served_by,
    };
    let index = index.map(|index| OsStr::from_bytes(index).into());
    Ok(Wishes {
        asking: Asking::new(served_by, index, given.wait_ms)?,
        max_depth: given.max_depth as usize,
        cookie: (given.cookie_bytes > 0).then(|| cookie.to_vec()),
        remote,
    })
}

/// Returns whether signals end waits.
pub(crate) fn is_interruptible(flags: c_int) -> bool {
    flags & TRAWL_INTR != 0
}

/// Opens a search.
pub(crate) fn open(
    roots: &[Vec<u8>],
    pattern: &[u8],
    flags: c_int,
    wishes: Wishes,
) -> Result<Search, Failure> {
    let ends_where_deep = flags & TRAWL_DEPTH16 != 0;
    let flags = flags & !(TRAWL_INTR | TRAWL_DEPTH16);
    // The cast keeps the bits: a negative number has an unknown bit set.
    let (language, options) = Flags(flags as u32).read()?;
    let max_depth = match wishes.max_depth {
        0 if ends_where_deep => DEPTH_PAPER,
        0 => options.max_depth,
        depth => depth,
    };
    let pattern = Pattern::new(pattern, language).map_err(CallError::Pattern)?;
    let options = Options {
        max_depth,
        ..options
    };
    let mut request = Request::new(&pattern, roots, options)?;
    if let Some(cookie) = &wishes.cookie {
        request = request.resume_at(Cookie::from_bytes(cookie)?)?;
    }
    let executor = executor(wishes, &pattern)?;
    let search = Search::open(&*executor, request)?;
    Ok(match ends_where_deep {
        true => search.ending_where_too_deep(),
        false => search,
    })
}

/// Returns the executor to ask.
fn executor(wishes: Wishes, pattern: &Pattern) -> Result<Box<dyn Executor>, Failure> {
    if let Some(address) = wishes.remote {
        // Other servers are reached with programs and files that the user's settings name.
        if is_secure() && !matches!(address, Address::Unix(_)) {
            return Err(Failure::new(
                libc::EPERM,
                "a program with more rights than its user can only ask servers at unix:PATH",
            ));
        }
        return Ok(Box::new(Remote::new(address)));
    }
    Ok(wishes.asking.choice()?.executor(pattern, with_servers)?)
}

/// Returns whether the kernel says that the environment is untrusted.
///
/// Source: <https://man7.org/linux/man-pages/man3/secure_getenv.3.html>
pub(crate) fn is_secure() -> bool {
    // SAFETY: this reads a number that the kernel gave the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
