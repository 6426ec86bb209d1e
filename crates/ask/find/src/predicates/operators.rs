//! The operators and parentheses. `parser::grammar` implements their
//! precedence.

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
    OPEN, "(", &[], "EXPR )", Posix, "groups EXPR", Open
);
operator!(
    /// Closes a group.
    CLOSE, ")", &[], "", Posix, "ends a group", Close
);
operator!(
    /// Negation.
    NOT, "!", &["-not"], "EXPR", Posix, "is true if EXPR is false", Not
);
operator!(
    /// Conjunction; also implied between two words without an operator.
    AND, "-a", &["-and"], "EXPR", Posix, "is true if both sides are; may be left out", And
);
operator!(
    /// Disjunction.
    OR, "-o", &["-or"], "EXPR", Posix, "is true if either side is", Or
);
operator!(
    /// Sequence.
    COMMA, ",", &[], "EXPR", Gnu, "evaluates both sides; has the value of the second", Comma
);
