//! `-print`: prints the path and a newline; the default action.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::expr::Node;
use crate::leaf::{Effect, Leaf};
use crate::output::Sink;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-print` predicate.
pub(crate) static PRINT: Predicate = Predicate {
    name: "-print",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "print the path and a newline (the default); on a terminal, with ? for control characters",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|_| Ok(leaf(Sink::Stdout))),
};

#[derive(Debug)]
struct Print {
    sink: Sink,
}

impl Leaf for Print {
    #[inline]
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.print_to(self.sink, |cx| cx.print_path(row, b'\n', cx.terminal));
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }

    fn path_end(&self) -> Option<u8> {
        (self.sink == Sink::Stdout).then_some(b'\n')
    }
}

/// A leaf that prints the path and a newline to this sink.
pub(super) fn leaf(sink: Sink) -> Box<dyn Leaf> {
    Box::new(Print { sink })
}

/// A node for the default action.
pub(crate) fn node() -> Node {
    Node::new(&PRINT, leaf(Sink::Stdout))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on};

    #[test]
    fn paths_are_printed_as_they_are() {
        for (words, printed) in [
            ("-print", "./top/a\nb\n"),
            ("", "./top/a\nb\n"),
            ("-print -print", "./top/a\nb\n./top/a\nb\n"),
            ("! -print", "./top/a\nb\n"),
            ("-false -print", ""),
        ] {
            let run = run_on(words, &Spec::named("a\nb"));
            assert_eq!(String::from_utf8_lossy(&run.printed), printed, "{words}");
        }
    }
}
