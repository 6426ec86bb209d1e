//! The entries of a named index over an extended attribute, in the order of its values.
//!
//! The tables of values have them, each behind the guard that xattr(7) asks for; rows are not read. A
//! value that the asking user may not read is left out, as `find -xattr` leaves it out.

use std::collections::BinaryHeap;

use trawl_model::path::{display, split};
use trawl_query::Start;
use trawl_session::Session;

use super::{Among, Span, Valued, Values, keep};
use crate::error::AnswerError;

/// Returns the first entries in order, and one more than the limit if there are more.
pub(super) fn first(
    session: &Session<'_>,
    start: &Start,
    (name, span, among): (&str, &Span, &Among<'_>),
    limit: usize,
) -> Result<Vec<Valued>, AnswerError> {
    if !start.view.has_xattrs() {
        return Err(AnswerError::NoXattrs {
            root: display(start.view.root()).to_vec(),
        });
    }
    let kept = limit.saturating_add(1);
    let mut all = BinaryHeap::new();
    let is_it = |attribute: &[u8]| attribute == name.as_bytes();
    session
        .index()
        .attribute_values(start, session.cancel(), is_it, |path, _, value| {
            let (dir, entry) = split(path).unwrap_or_default();
            if span.admits(value) && among.has(dir, entry) {
                let value = Values::Xattr(value.to_vec());
                keep(&mut all, Valued::new(value, path.to_vec()), kept);
            }
        })?;
    Ok(all.into_sorted_vec())
}
