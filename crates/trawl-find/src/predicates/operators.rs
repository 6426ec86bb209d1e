//! The operators and parentheses. How they bind: `parser::grammar`.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Operator, Parse, Predicate, Standard};

macro_rules! operator {
    ($(#[$doc:meta])* $name:ident, $spelled:literal, $aliases:expr, $args:literal, $standard:ident, $help:literal, $operator:ident) => {
        $(#[$doc])*
        pub(crate) static $name: Predicate = Predicate {
            name: $spelled,
            aliases: $aliases,
            args: $args,
            kind: Kind::Operator,
            help: $help,
            cost: Cost::Free,
            columns: ColumnSet::EMPTY,
            standard: Standard::$standard,
            parse: Parse::Operator(Operator::$operator),
        };
    };
}

operator!(
    /// Opens a group.
    OPEN, "(", &[], "EXPR )", Posix, "EXPR as one", Open
);
operator!(
    /// Closes a group.
    CLOSE, ")", &[], "", Posix, "closes a group", Close
);
operator!(
    /// Negation.
    NOT, "!", &["-not"], "EXPR", Posix, "true if EXPR is false", Not
);
operator!(
    /// Conjunction; also understood between two words without it.
    AND, "-a", &["-and"], "EXPR", Posix, "true if both sides are; may be left out", And
);
operator!(
    /// Disjunction.
    OR, "-o", &["-or"], "EXPR", Posix, "true if one side is", Or
);
operator!(
    /// Sequence.
    COMMA, ",", &[], "EXPR", Gnu, "does both sides; the last one counts", Comma
);
