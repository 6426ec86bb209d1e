//! Attributes pushed to files, for C: `include/trawl/attr.h` is the interface.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int};
use std::fmt;
use std::os::fd::BorrowedFd;

use trawl_attributes::{AttributeError, Value};

use crate::arguments;
use crate::exports::{border, kept_failure};
use crate::failure::Failure;

/// Types of values.
pub const TRAWL_ATTR_TEXT: c_int = 1;
/// See `trawl/attr.h`.
pub const TRAWL_ATTR_INTEGER: c_int = 2;
/// See `trawl/attr.h`.
pub const TRAWL_ATTR_REAL: c_int = 3;
/// See `trawl/attr.h`.
pub const TRAWL_ATTR_TIME: c_int = 4;

/// A value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trawl_attr_value {
    /// A `TRAWL_ATTR_` number.
    pub r#type: c_int,
    /// 0.
    pub reserved: c_int,
    /// The value.
    pub of: trawl_attr_of,
}

impl fmt::Debug for trawl_attr_value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trawl_attr_value({})", self.r#type)
    }
}

/// The value in the form of its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub union trawl_attr_of {
    /// NUL-terminated.
    pub text: *const c_char,
    /// An integer.
    pub integer: i64,
    /// A real number.
    pub real: f64,
    /// Nanoseconds since 1970.
    pub time_ns: i64,
}

impl From<AttributeError> for Failure {
    fn from(error: AttributeError) -> Failure {
        Failure::new(error.errno().0, error)
    }
}

/// # Safety
/// A text is NULL, or NUL-terminated.
unsafe fn value(given: &trawl_attr_value) -> Result<Value, Failure> {
    if given.reserved != 0 {
        return Err(Failure::invalid("reserved is not 0"));
    }
    // SAFETY: the type says which member was written, and the caller promises what texts are. All
    // other members are numbers of which any bits are valid.
    unsafe {
        match given.r#type {
            TRAWL_ATTR_TEXT => {
                let text = arguments::text(given.of.text, "the text")?;
                let text = std::str::from_utf8(text);
                let text = text.map_err(|_| Failure::invalid("the text is not UTF-8"))?;
                Ok(Value::Text(text.to_owned()))
            }
            TRAWL_ATTR_INTEGER => Ok(Value::Integer(given.of.integer)),
            TRAWL_ATTR_REAL => Ok(Value::Real(given.of.real)),
            TRAWL_ATTR_TIME => Ok(Value::Time(given.of.time_ns)),
            other => Err(Failure::invalid(format_args!("unknown type: {other}"))),
        }
    }
}

/// # Safety
/// The array is NULL or has `count` values, which are as [`value`] says.
unsafe fn values(given: *const trawl_attr_value, count: usize) -> Result<Value, Failure> {
    if given.is_null() || count == 0 {
        return Err(Failure::invalid("there are no values"));
    }
    if count > trawl_attributes::LIST_MAX {
        return Err(Failure::invalid("there are too many values"));
    }
    // SAFETY: the pointer is not NULL, the length is small, and the caller promises the rest.
    let given = unsafe { std::slice::from_raw_parts(given, count) };
    // SAFETY: the caller promises it.
    let read = |one: &trawl_attr_value| unsafe { value(one) };
    match given {
        [single] => read(single),
        all => all
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Value::List),
    }
}

/// # Safety
/// The name is NULL, or NUL-terminated and valid as long as the result.
unsafe fn name_of<'a>(given: *const c_char) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises it.
    let name = unsafe { arguments::text(given, "the name of the attribute") }?;
    std::str::from_utf8(name).map_err(|_| Failure::invalid("the name is not UTF-8"))
}

/// Calls `body` with the caller's descriptor.
fn with(
    fd: c_int,
    body: impl FnOnce(BorrowedFd<'_>) -> Result<(), AttributeError>,
) -> Result<c_int, Failure> {
    if fd < 0 {
        return Err(Failure::new(libc::EBADF, "the descriptor is negative"));
    }
    // SAFETY: the number is not -1. The caller keeps the descriptor open during the call; if not,
    // the kernel answers EBADF.
    body(unsafe { BorrowedFd::borrow_raw(fd) })?;
    Ok(0)
}

/// Sets an attribute of a file that is open for writing.
///
/// # Safety
/// The name is NULL or NUL-terminated; the array is NULL or has `count` values, whose texts are NULL
/// or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_attr_set(
    fd: c_int,
    name: *const c_char,
    given: *const trawl_attr_value,
    count: usize,
) -> c_int {
    border(-1, || {
        let set = || {
            // SAFETY: the caller promises both.
            let (name, value) = unsafe { (name_of(name)?, values(given, count)?) };
            with(fd, |file| trawl_attributes::set(file, name, &value))
        };
        set().map_err(kept_failure)
    })
}

/// Removes an attribute of a file that is open for writing.
///
/// # Safety
/// The name is NULL or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trawl_attr_remove(fd: c_int, name: *const c_char) -> c_int {
    border(-1, || {
        let remove = || {
            // SAFETY: the caller promises it.
            let name = unsafe { name_of(name) }?;
            with(fd, |file| trawl_attributes::remove(file, name))
        };
        remove().map_err(kept_failure)
    })
}
