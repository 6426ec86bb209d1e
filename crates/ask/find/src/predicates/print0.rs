//! `-print0`: prints the path and a NUL byte, for other programs.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};
use trawl_text::quote::Terminal;

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::output::Sink;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-print0` predicate.
pub(crate) static PRINT0: Predicate = Predicate {
    name: "-print0",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "print the path and a NUL byte, for `xargs -0`",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(leaf(Sink::Stdout))),
};

#[derive(Debug)]
struct Print0 {
    sink: Sink,
}

impl Leaf for Print0 {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        // The path is never escaped, not even on a terminal.
        cx.print_to(self.sink, |cx| cx.print_path(row, 0, Terminal::Absent));
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }

    fn path_end(&self) -> Option<u8> {
        (self.sink == Sink::Stdout).then_some(0)
    }
}

/// A leaf that prints the path and a NUL byte to this sink.
pub(super) fn leaf(sink: Sink) -> Box<dyn Leaf> {
    Box::new(Print0 { sink })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on};

    #[test]
    fn paths_end_with_a_nul() {
        let run = run_on("-print0", &Spec::named("a\nb"));
        assert_eq!(run.printed, b"./top/a\nb\0");
    }
}
