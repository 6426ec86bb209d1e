//! `-quit`: ends the search.

use trawl_model::ColumnSet;
use trawl_model::rows::Row;

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-quit` predicate.
pub(crate) static QUIT: Predicate = Predicate {
    name: "-quit",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "end the search",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(Box::new(Quit))),
};

#[derive(Debug)]
struct Quit;

impl Leaf for Quit {
    fn eval(&self, _: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.quit = true;
        true
    }

    fn effect(&self) -> Effect {
        Effect::Quit
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on};

    #[test]
    fn nothing_is_done_behind_it() {
        let row = Spec::named("f");
        for (words, printed) in [
            ("-print -quit -print", "./top/f\n"),
            ("-quit -print", ""),
            ("-quit , -print", ""),
            ("! -quit -o -print", ""),
            ("-false -quit -o -print", "./top/f\n"),
        ] {
            let run = run_on(words, &row);
            assert_eq!(String::from_utf8_lossy(&run.printed), printed, "{words}");
            assert_eq!(run.quit, !words.starts_with("-false"), "{words}");
        }
    }
}
