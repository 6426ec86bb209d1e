//! The formats of `-printf`.
//!
//! `parse` splits a format into segments, `directive` prints the value of a
//! directive, `field` pads it.

mod directive;
mod field;
mod parse;

use trawl_model::ColumnSet;
use trawl_model::rows::Row;

use crate::context::Context;
use crate::leaf::Facts;
pub use directive::{Directive, Moment};
pub use field::Field;
pub use parse::FormatError;

/// A segment of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Text that is printed as it is.
    Text(Vec<u8>),
    /// A directive that is printed for each entry.
    Directive(Directive, Field),
    /// `\c`: nothing after it is printed.
    Stop,
}

/// A format, ready to be printed for entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    segments: Vec<Segment>,
}

impl Format {
    /// Parses a format. Invalid directives and escapes are printed as they are,
    /// and described in `remarks`.
    ///
    /// # Errors
    /// If the format ends in the middle of a directive, or holds one that GNU
    /// find reserves for later.
    pub fn parse(text: &[u8], remarks: &mut Vec<String>) -> Result<Format, FormatError> {
        let segments = parse::segments(text, remarks)?;
        Ok(Format { segments })
    }

    /// Prints the format for a row.
    pub fn print(&self, row: &Row<'_>, cx: &mut Context<'_>) {
        for segment in &self.segments {
            match segment {
                Segment::Text(text) => cx.out.bytes.extend_from_slice(text),
                Segment::Directive(directive, field) => directive.print(*field, row, cx),
                Segment::Stop => return,
            }
        }
    }

    /// The facts that it needs about an entry.
    pub fn facts(&self) -> Facts {
        let facts = self.segments.iter().filter_map(|segment| match segment {
            Segment::Directive(directive, _) => Some(directive.facts()),
            _ => None,
        });
        facts.max().unwrap_or(Facts::Name)
    }

    /// Returns true if it asks where symbolic links lead.
    pub(crate) fn follows_links(&self) -> bool {
        let is_target =
            |segment: &Segment| matches!(segment, Segment::Directive(Directive::TargetType, _));
        self.segments.iter().any(is_target)
    }

    /// The columns that it reads.
    pub fn columns(&self) -> ColumnSet {
        let columns = |segment: &Segment| match segment {
            Segment::Directive(directive, _) => directive.columns(),
            _ => ColumnSet::EMPTY,
        };
        self.segments
            .iter()
            .fold(ColumnSet::EMPTY, |set, segment| set.union(columns(segment)))
    }
}
