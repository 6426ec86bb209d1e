//! `-limit`: ends the search once it has been evaluated N times. Without
//! another action, it is evaluated after each path that is printed.

use std::sync::atomic::{AtomicUsize, Ordering};

use trawl_model::ColumnSet;
use trawl_model::rows::Row;

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-limit` predicate.
pub(crate) static LIMIT: Predicate = Predicate {
    name: "-limit",
    aliases: &[],
    args: "N",
    kind: Kind::Action,
    help: "end the search when this is evaluated for the Nth time, as in -print -limit 10; \
           without another action, print N paths",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Bfs,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        let number = std::str::from_utf8(text).ok().and_then(|n| n.parse().ok());
        match number {
            Some(most) if most > 0 => {
                let least = args.settings.limit.map_or(most, |least| least.min(most));
                args.settings.limit = Some(least);
                Ok(Box::new(Limit {
                    left: AtomicUsize::new(most),
                }))
            }
            _ => Err(args.invalid(text)),
        }
    }),
};

#[derive(Debug)]
struct Limit {
    left: AtomicUsize,
}

impl Leaf for Limit {
    fn eval(&self, _: &Row<'_>, cx: &mut Context<'_>) -> bool {
        // Only one thread evaluates this at a time, so no count is lost between
        // the two steps.
        let left = self.left.load(Ordering::Relaxed).saturating_sub(1);
        self.left.store(left, Ordering::Relaxed);
        cx.acted = true;
        cx.quit |= left == 0;
        true
    }

    fn effect(&self) -> Effect {
        Effect::InOrder
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program};

    #[test]
    fn what_is_printed_by_default_is_counted() {
        use crate::testing::shape;
        for (words, expected) in [
            ("-limit 3", "and(true print limit)"),
            ("-limit 3 -name x", "and(true name print limit)"),
            (
                "-name x -limit 3 -limit 2",
                "and(true name true print limit limit)",
            ),
            ("-print -limit 3", "and(print limit)"),
        ] {
            assert_eq!(shape(&program(words).expr), expected, "{words}");
        }
    }

    #[test]
    fn it_needs_its_turn_and_a_number() {
        assert!(program("-print -limit 3").expr.needs_turns());
        assert!(program("-limit 3").prints_by_default);
        for words in ["-limit 0", "-limit x", "-limit -1"] {
            assert!(error_of(words).starts_with("invalid argument"), "{words}");
        }
    }
}
