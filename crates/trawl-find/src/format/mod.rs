//! The formats of `-printf`.
//!
//! `parse` cuts a format into segments, `directive` fills one in, `field`
//! pads it. `columns` says which columns a format reads.

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

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Printed as it is.
    Text(Vec<u8>),
    /// Filled in for each entry.
    Directive(Directive, Field),
    /// `\c`: the rest is not printed.
    Stop,
}

/// A format, ready to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    segments: Vec<Segment>,
}

impl Format {
    /// Reads a format. Doubtful pieces are printed as they are and put into
    /// `remarks`.
    ///
    /// # Errors
    /// If the format ends in the middle of a directive, or holds one that
    /// find keeps for later.
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

    /// What of an entry has to be known for it.
    pub fn facts(&self) -> Facts {
        let facts = self.segments.iter().filter_map(|segment| match segment {
            Segment::Directive(directive, _) => Some(directive.facts()),
            _ => None,
        });
        facts.max().unwrap_or(Facts::Name)
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
