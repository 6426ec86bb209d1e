//! Rows for programs, on standard output.

use std::io::IsTerminal;

use trawl_arrow::Arrow;
use trawl_find::record;
use trawl_report::{Renderer, Row, Schema};
use trawl_text::owners::Owners;

use crate::beside;
use crate::failure::Failure;
use crate::output::{Output, cells};
use trawl_report::listing::Item;

pub use trawl_report::Form;

/// Why an Arrow stream is not written to a terminal, and the remedy.
pub(crate) const NOT_FOR_TERMINALS: &str =
    "--arrow writes bytes that are not for terminals: send them to a file or a pipe";

/// Fills a row with an item; `path` is spelled as the user would spell it.
pub(crate) fn fill(row: &mut Row<'_>, path: &[u8], item: &Item, owners: &Owners) {
    record::fill(row, path, item.meta.as_ref(), &item.target, owners);
}

/// Reports of this program go to standard output.
pub(crate) type Report = trawl_report::Report<Output>;

/// Begins a report on standard output.
pub(crate) fn report(schema: &'static Schema, form: Form) -> Report {
    report_to(schema, form, Output::stdout())
}

/// Fails if standard output is a terminal, which an Arrow stream would garble.
pub(crate) fn refuse_terminal() -> Result<(), Failure> {
    match std::io::stdout().is_terminal() {
        true => Err(Failure::Usage(NOT_FOR_TERMINALS.into())),
        false => Ok(()),
    }
}

/// Begins a report on an output.
pub(crate) fn report_to(schema: &'static Schema, form: Form, output: Output) -> Report {
    match beside::more() {
        Some(more) if form == Form::Arrow => Report::with(schema, form, (more.arrow)(), output),
        _ => Report::new(schema, form, cells(), output),
    }
}

/// Returns the renderer of Arrow streams; only `trawl-more` contains it.
pub(crate) fn arrow() -> Box<dyn Renderer + Send> {
    Box::new(Arrow::default())
}

/// Ends a report: writes what is still in its buffer.
pub(crate) fn finish(report: Report) -> Result<(), Failure> {
    report.into_output()?.finish()
}
