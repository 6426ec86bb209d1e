//! `-related-to`: is related to a named file, and `-relations`: which relations count from here on.

use trawl_model::{Column, ColumnSet};

use super::group_of::Among;
use crate::error::FindError;
use crate::grouping::{DEPTH_MAX, Direction, Relations};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-related-to` predicate.
pub(crate) static RELATED_TO: Predicate = Predicate {
    name: "-related-to",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "is related to FILE as `trawl related FILE` shows: built from, opened with, includes, …",
    cost: Cost::Path,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let file = args.value()?;
        let wanted = &args.settings.relations;
        let related = args.env.grouping.related_to(file, wanted);
        let related = related.map_err(|why| FindError::bad("-related-to", why))?;
        Ok(Box::new(Among::new(related)))
    }),
};

/// The `-relations` predicate.
pub(crate) static RELATIONS: Predicate = Predicate {
    name: "-relations",
    aliases: &[],
    args: "NAME=VALUE,...",
    kind: Kind::PositionalOption,
    help: "let later -related-to follow only these relations, named by options of trawl related: \
           kind=KIND (may be repeated), direction=forward|backward, depth=N",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Trawl,
    parse: Parse::Option(|args| {
        let text = args.value()?;
        match relations(text) {
            Some(relations) => args.settings.relations = relations,
            None => return Err(args.invalid(text)),
        }
        Ok(())
    }),
};

/// Parses the value of `-relations`. Names of kinds are judged by what knows relations.
fn relations(text: &[u8]) -> Option<Relations> {
    let mut relations = Relations::default();
    for pair in std::str::from_utf8(text).ok()?.split(',') {
        match pair.split_once('=')? {
            (_, "") => return None,
            ("kind", kind) => relations.kinds.push(kind.to_owned()),
            ("direction", "forward") => relations.direction = Direction::Forward,
            ("direction", "backward") => relations.direction = Direction::Backward,
            ("direction", "both") => relations.direction = Direction::Both,
            ("depth", depth) => relations.depth = depth.parse().ok()?,
            _ => return None,
        }
    }
    (1..=DEPTH_MAX)
        .contains(&relations.depth)
        .then_some(relations)
}

#[cfg(test)]
mod tests {
    use super::{Direction, Relations, relations};
    use crate::testing::{Spec, error_of, matches};

    /// `/w/top/name` is related to `here`.
    #[test]
    fn names_and_directories_must_agree() {
        for (name, expected) in [("name", true), ("other", false)] {
            let spec = Spec::named(name);
            assert_eq!(matches("-related-to here", &spec), expected, "{name}");
        }
        assert_eq!(error_of("-related-to gone"), "there is no file gone");
    }

    /// `/w/top/far` is related to `here` at depth 2.
    #[test]
    fn relations_are_chosen_from_there_on() {
        let far = Spec::named("far");
        for (test, expected) in [
            ("-related-to here", false),
            ("-relations depth=2 -related-to here", true),
            ("-related-to here -relations depth=2", false),
            (
                "-relations depth=2 -relations kind=k -related-to here",
                false,
            ),
        ] {
            assert_eq!(matches(test, &far), expected, "{test}");
        }
    }

    #[test]
    fn names_are_those_of_options() {
        let wanted = Relations {
            kinds: vec!["includes".into(), "made-by".into()],
            direction: Direction::Backward,
            depth: 20,
        };
        let text = b"kind=includes,direction=backward,kind=made-by,depth=20";
        assert_eq!(relations(text), Some(wanted));
        let wrong = "|,|includes|kind|kind=|depth=0|depth=101|depth=-1|depth=x|direction=up|\
                     kind=a,|=|colour=red|Kind=a";
        for wrong in wrong.split('|') {
            assert_eq!(relations(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(error_of("-relations depth=0").contains("-relations"));
    }
}
