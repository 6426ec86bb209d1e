//! Bytes that every match of a regular expression contains.

use crate::pattern::{Case, Needles, Subject};

pub(crate) fn needles(_pattern: &str, subject: Subject, case: Case) -> Needles {
    Needles::none(subject, case)
}
