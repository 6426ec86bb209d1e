//! Details that a layer records on request, besides operations and latencies: whose calls they are, and
//! values of the calls (§3.1.6).

use std::fmt;

pub use trawl_kernel_profile::{Quantity, Wanted};

use crate::error::ProfileError;

/// By what calls are told apart: alike at every layer that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The program that makes the call, by the name of its file.
    Program,
    /// The thread that makes the call.
    Thread,
    /// The place in a program or library from which the call is made.
    CallSite,
}

impl By {
    /// Returns all of them.
    pub const ALL: [By; 3] = [By::Program, By::Thread, By::CallSite];

    /// Returns the name that commands use.
    pub fn name(self) -> &'static str {
        match self {
            By::Program => "program",
            By::Thread => "thread",
            By::CallSite => "call-site",
        }
    }
}

/// Details recorded besides operations and latencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// By what calls are told apart, if they are.
    pub by: Option<By>,
    /// The values.
    pub values: Vec<Wanted>,
}

impl Detail {
    /// Returns whether nothing more is recorded.
    pub fn is_none(&self) -> bool {
        self.by.is_none() && self.values.is_empty()
    }

    /// Says that a layer cannot record this.
    pub(crate) fn refused_by(&self, layer: &'static str) -> ProfileError {
        let detail = match (self.by, self.values.is_empty()) {
            (Some(by), true) => Refused::By(by),
            _ => Refused::Values,
        };
        ProfileError::Detail { layer, detail }
    }
}

/// A detail that a layer cannot record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not tell calls apart in this way.
    By(By),
    /// It knows no values.
    Values,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::By(by) => write!(f, "does not tell calls apart by {}", by.name()),
            Refused::Values => f.write_str("knows no values of calls"),
        }
    }
}

/// Separates the layer from the part in the name of a part's layer.
const SEPARATOR: char = ':';

/// Returns the name of a part of a layer.
pub fn part_name(layer: &str, part: &str) -> String {
    format!("{layer}{SEPARATOR}{part}")
}

/// Returns a layer and its part, if the name is that of a part.
pub fn split_part(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_belong_to_their_layers() {
        let name = part_name("user", "cat:x");
        assert_eq!(split_part(&name), Some(("user", "cat:x")));
        assert_eq!(split_part("user"), None);
    }
}
