//! What callers in C give, read and checked.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use trawl_ask::barrier;
use trawl_ask::search::{Choice, Who};
use trawl_call::options::{DEPTH_PAPER, Flags};
use trawl_call::request::{ROOTS_MAX, parse_roots};
use trawl_call::{CallError, Cookie, Executor, Options, Pattern, Request, Search};
use trawl_remote::{Address, Remote};

use crate::failure::Failure;
use crate::layout::{
    TRAWL_AUTO, TRAWL_DEPTH16, TRAWL_INDEX, TRAWL_INTR, TRAWL_LIVE, TRAWL_REMOTE,
    trawl_search_options,
};

/// What is asked besides pattern and flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    served_by: c_int,
    max_depth: usize,
    index: Option<PathBuf>,
    pub(crate) cookie: Option<Vec<u8>>,
    /// `None` if no daemon is to be asked.
    wait: Wait,
    remote: Option<Address>,
}

/// How long a daemon is waited for.
#[derive(Clone, Copy, Debug)]
struct Wait(Option<Duration>);

impl Default for Wait {
    fn default() -> Wait {
        Wait(Some(barrier::DEADLINE))
    }
}

/// A string.
///
/// # Safety
/// NULL, or NUL-ended and there as long as the result.
pub(crate) unsafe fn text<'a>(given: *const c_char, what: &str) -> Result<&'a [u8], Failure> {
    if given.is_null() {
        return Err(Failure::invalid(format_args!("{what} is NULL")));
    }
    // SAFETY: not NULL, and the caller promises the rest.
    Ok(unsafe { CStr::from_ptr(given) }.to_bytes())
}

/// A list of directories in one string.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn paths(given: *const c_char) -> Result<Vec<Vec<u8>>, Failure> {
    // SAFETY: the caller promises it.
    let list = unsafe { text(given, "the list of directories") }?;
    Ok(parse_roots(list)?)
}

/// A list of directories as an array.
///
/// # Safety
/// NULL, or `count` strings that are NULL or NUL-ended.
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
        // SAFETY: the caller promises that there are so many strings.
        let path = unsafe { text(*given.add(at), "a directory") }?;
        Ok(path.to_vec())
    };
    (0..count).map(one).collect()
}

/// Bytes of the caller's.
///
/// # Safety
/// NULL, or memory of so many bytes that is there as long as the result.
pub(crate) unsafe fn bytes<'a>(
    given: *const c_void,
    length: usize,
    what: &str,
) -> Result<&'a [u8], Failure> {
    match (given.is_null(), isize::try_from(length)) {
        (_, Ok(0)) => Ok(&[]),
        (true, _) => Err(Failure::invalid(format_args!("{what} is NULL"))),
        (_, Err(_)) => Err(Failure::invalid(format_args!("{what} is too long"))),
        // SAFETY: neither NULL nor longer than memory is, and the caller promises the rest.
        (false, Ok(_)) => Ok(unsafe { std::slice::from_raw_parts(given.cast(), length) }),
    }
}

/// The same to write to.
///
/// # Safety
/// As [`bytes`], and nobody else uses the memory meanwhile.
pub(crate) unsafe fn bytes_mut<'a>(
    given: *mut c_void,
    length: usize,
    what: &str,
) -> Result<&'a mut [u8], Failure> {
    // SAFETY: the caller promises it; it is only looked at whether it can be.
    unsafe { bytes(given, length, what) }?;
    match length {
        0 => Ok(&mut []),
        // SAFETY: as above, and nobody else uses it.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(given.cast(), length) }),
    }
}

/// Options, of whatever version the caller knows: what it does not know is as if it were zero,
/// and what it knows more must be.
///
/// # Safety
/// NULL, or a structure of as many bytes as its first member says, whose pointers are NULL or
/// lead to what the header says.
pub(crate) unsafe fn wishes(given: *const trawl_search_options) -> Result<Wishes, Failure> {
    if given.is_null() {
        return Ok(Wishes::default());
    }
    // SAFETY: the caller promises at least the size.
    let size = unsafe { (&raw const (*given).size).read() };
    if size < size_of::<usize>() {
        return Err(Failure::invalid(
            "the size of the options is not set: write sizeof(struct trawl_search_options)",
        ));
    }
    // SAFETY: the caller promises so many bytes.
    let theirs = unsafe { bytes(given.cast(), size, "the options") }?;
    let known = size.min(size_of::<trawl_search_options>());
    if theirs[known..].iter().any(|byte| *byte != 0) {
        let text = "options that this version of the library does not know";
        return Err(Failure::new(libc::E2BIG, text));
    }
    // SAFETY: the structure is numbers and pointers, for which zeros are values.
    let mut ours: trawl_search_options = unsafe { std::mem::zeroed() };
    // SAFETY: both have at least so many bytes, and ours is nobody else's.
    unsafe { std::ptr::copy_nonoverlapping(theirs.as_ptr(), (&raw mut ours).cast(), known) };
    // SAFETY: the caller promises what the pointers lead to.
    unsafe { read(&ours) }
}

/// # Safety
/// As [`wishes`].
unsafe fn read(given: &trawl_search_options) -> Result<Wishes, Failure> {
    if !(TRAWL_AUTO..=TRAWL_REMOTE).contains(&given.served_by) || given.reserved != 0 {
        return Err(Failure::invalid(
            "served_by is none of TRAWL_AUTO, TRAWL_LIVE, TRAWL_INDEX, TRAWL_REMOTE, or reserved is not 0",
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
    let wait = match given.wait_ms {
        0 => Wait::default(),
        -1 => Wait(None),
        wait => Wait(Some(Duration::from_millis(
            u64::try_from(wait).map_err(|_| Failure::invalid("wait_ms is negative, and not -1"))?,
        ))),
    };
    Ok(Wishes {
        served_by: given.served_by,
        max_depth: given.max_depth as usize,
        index: index.map(|index| OsStr::from_bytes(index).into()),
        cookie: (given.cookie_bytes > 0).then(|| cookie.to_vec()),
        wait,
        remote,
    })
}

/// Whether a signal is to end waits.
pub(crate) fn is_interruptible(flags: c_int) -> bool {
    flags & TRAWL_INTR != 0
}

/// Begins a search.
pub(crate) fn open(
    roots: &[Vec<u8>],
    pattern: &[u8],
    flags: c_int,
    wishes: Wishes,
) -> Result<Search, Failure> {
    let ends_where_deep = flags & TRAWL_DEPTH16 != 0;
    let flags = flags & !(TRAWL_INTR | TRAWL_DEPTH16);
    // The same bits: a negative number has one that there is not.
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

/// Who is asked.
fn executor(wishes: Wishes, pattern: &Pattern) -> Result<Box<dyn Executor>, Failure> {
    if let Some(address) = wishes.remote {
        // Others are reached with programs and files of the user's settings.
        if is_secure() && !matches!(address, Address::Unix(_)) {
            return Err(Failure::new(
                libc::EPERM,
                "a program with more rights than its user can only ask servers at unix:PATH",
            ));
        }
        return Ok(Box::new(Remote::new(address)));
    }
    // A program with more rights than its user does not do as that user's environment says.
    let ignores_settings = is_secure() && wishes.index.is_none();
    let who = match wishes.served_by {
        TRAWL_LIVE => Who::Live,
        TRAWL_INDEX if ignores_settings => {
            return Err(Failure::new(
                libc::EPERM,
                "a program with more rights than its user has to name the index",
            ));
        }
        TRAWL_INDEX => Who::Index,
        _ if ignores_settings => Who::Live,
        _ => Who::Auto,
    };
    let choice = Choice {
        who,
        index: wishes.index,
        wait: wishes.wait.0,
    };
    Ok(choice.executor(pattern)?)
}

/// Whether the kernel says that the environment is somebody else's.
///
/// Source: <https://man7.org/linux/man-pages/man3/secure_getenv.3.html>
fn is_secure() -> bool {
    // SAFETY: reads a number that the kernel gave the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
