//! `-printf`: prints a format. [`crate::format`] implements the directives.

use trawl_model::ColumnSet;
use trawl_model::rows::Row;

use crate::context::Context;
use crate::error::FindError;
use crate::format::Format;
use crate::leaf::{Effect, Facts, Leaf};
use crate::output::Sink;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-printf` predicate.
pub(crate) static PRINTF: Predicate = Predicate {
    name: "-printf",
    aliases: &[],
    args: "FORMAT",
    kind: Kind::Action,
    help: "print FORMAT, interpreting %-directives and \\\\-escapes",
    cost: Cost::Output,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        leaf(args, text, Sink::Stdout)
    }),
};

#[derive(Debug)]
struct Printf {
    format: Format,
    sink: Sink,
}

impl Leaf for Printf {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.print_to(self.sink, |cx| self.format.print(row, cx));
        true
    }

    fn columns(&self) -> ColumnSet {
        self.format.columns()
    }

    fn facts(&self) -> Option<Facts> {
        Some(self.format.facts())
    }

    fn follows_links(&self) -> bool {
        self.format.follows_links()
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

/// A leaf that prints the format `text` to this sink.
pub(super) fn leaf(
    args: &mut Arguments<'_>,
    text: &[u8],
    sink: Sink,
) -> Result<Box<dyn Leaf>, FindError> {
    let mut remarks = Vec::new();
    let format = Format::parse(text, &mut remarks)
        .map_err(|reason| FindError::bad("-printf", reason.to_string()))?;
    for remark in remarks {
        // GNU find prints these whether or not warnings are on.
        args.warn_always(format!("warning: {remark}"));
    }
    Ok(Box::new(Printf { format, sink }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, program, run_on};

    #[test]
    fn formats_are_filled_in() {
        let run = run_on(
            "-printf %f:%s\\n",
            &Spec {
                size: 5,
                ..Spec::named("n")
            },
        );
        assert_eq!(run.printed, b"n:5\n");
        assert_eq!(error_of("-printf %"), "error: % at end of format string");
        assert_eq!(
            program("-printf %q").warnings,
            ["warning: unrecognized format directive `%q'"]
        );
    }
}
