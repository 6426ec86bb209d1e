//! Rows for programs, on standard output.

use trawl_find::record;
use trawl_report::{Row, Schema};
use trawl_text::owners::Owners;

use crate::failure::Failure;
use crate::output::{Output, cells};
use trawl_report::listing::Item;

pub use trawl_report::Form;

/// Fills a row with an item; `path` is spelled as the user would spell it.
pub(crate) fn fill(row: &mut Row<'_>, path: &[u8], item: &Item, owners: &Owners) {
    record::fill(row, path, item.meta.as_ref(), &item.target, owners);
}

/// Reports of this program go to standard output.
pub(crate) type Report = trawl_report::Report<Output>;

/// Begins a report on standard output.
pub(crate) fn report(schema: &'static Schema, form: Form) -> Report {
    Report::new(schema, form, cells(), Output::stdout())
}

/// Ends a report: writes what is still in its buffer.
pub(crate) fn finish(report: Report) -> Result<(), Failure> {
    report.into_output().finish()
}
