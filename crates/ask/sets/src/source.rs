//! Where the names of a set's members come from.

use trawl_call::{Attributes, request::Cancel};

use crate::member::Problem;

/// A name that satisfied the query when it was looked at.
#[derive(Clone, Debug)]
pub struct Found {
    /// Path or URL, as it would be opened.
    pub name: Vec<u8>,
    /// Attributes that came with the name.
    pub attributes: Option<Attributes>,
}

impl Found {
    /// Returns a found name of which nothing else is known.
    pub fn named(name: impl Into<Vec<u8>>) -> Found {
        Found {
            name: name.into(),
            attributes: None,
        }
    }
}

/// A stream of names. It is pulled by one thread at a time, which may block in it; after the end it
/// is not pulled again. The same name may come twice; the set removes repeats.
pub trait Names: Send {
    /// Returns the next name, a problem in the place of names, or `None` at the end. Returns
    /// promptly (with `None`) once `cancel` is set.
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>>;
}

/// Names that are known beforehand.
impl<I: Iterator<Item = Vec<u8>> + Send> Names for I {
    fn next(&mut self, _: &Cancel) -> Option<Result<Found, Problem>> {
        Iterator::next(self).map(|name| Ok(Found::named(name)))
    }
}
