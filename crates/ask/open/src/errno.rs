//! Maps errors to numbers of errno(3), for interfaces that report numbers.

use std::io;

use trawl_call::CallError;
use trawl_format::IndexError;
use trawl_query::QueryError;

use crate::error::AskError;

/// Returns the errno for a search that has no answer or ended early.
pub fn of_call(error: &CallError) -> i32 {
    match error {
        CallError::Pattern(_)
        | CallError::Flags { .. }
        | CallError::Depth { .. }
        | CallError::Roots { .. }
        | CallError::Cookie { .. } => libc::EINVAL,
        CallError::Record(_) => libc::EBADMSG,
        CallError::NotServed { .. } => libc::EOPNOTSUPP,
        CallError::Index(error) => of_query(error),
        CallError::Thread(error) => of_io(error),
        CallError::Cancelled => libc::ECANCELED,
        CallError::TooDeep { .. } => libc::EOVERFLOW,
        _ => libc::EIO,
    }
}

/// Returns the errno for a failure to find or open an index.
pub fn of_ask(error: &AskError) -> i32 {
    match error {
        AskError::NoHome => libc::ENOENT,
        AskError::Groups(error) => error.errno.0,
        AskError::Query(error) => of_query(error),
    }
}

fn of_io(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

fn of_query(error: &QueryError) -> i32 {
    match error {
        QueryError::Index(IndexError::NoIndex { .. }) => libc::ENOENT,
        QueryError::Read { cause, .. } | QueryError::Thread { cause } => of_io(cause),
        QueryError::Cancelled => libc::ECANCELED,
        _ => libc::EIO,
    }
}
