//! `-user`: belongs to the user NAME, given as a name or a number.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::between;
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-user` predicate.
pub(crate) static USER: Predicate = Predicate {
    name: "-user",
    aliases: &[],
    args: "NAME",
    kind: Kind::Test,
    help: "belongs to user NAME (a numeric user ID is allowed)",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Uid]),
    standard: Standard::Posix,
    parse: Parse::Leaf(parse),
};

#[derive(Debug)]
struct User {
    id: u32,
}

impl Leaf for User {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        row.uid().0 == self.id
    }

    fn filter(&self) -> Filter {
        let id = i128::from(self.id);
        between(Column::Uid, id, id)
    }
}

fn parse(args: &mut Arguments<'_>) -> Result<Box<dyn Leaf>, FindError> {
    let name = args.value()?;
    if name.is_empty() {
        let reason = "The argument to -user should not be empty";
        return Err(FindError::bad("-user", reason));
    }
    let known = trawl_sys::identity::uid_of(name).ok().flatten();
    let number = || {
        let digits = name.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(name).ok().filter(|_| digits)?;
        text.parse().ok()
    };
    if let Some(id) = known.or_else(number) {
        return Ok(Box::new(User { id }));
    }
    unknown(args, name)
}

fn unknown(args: &Arguments<'_>, name: &[u8]) -> Result<Box<dyn Leaf>, FindError> {
    Err(FindError::bad(
        "-user",
        format!("{} is not the name of a known user", args.quoted(name)),
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn names_and_numbers_are_taken() {
        let root = Spec {
            uid: 0,
            ..Spec::default()
        };
        let other = Spec {
            uid: 4711,
            ..Spec::default()
        };
        assert!(matches("-user root", &root) && !matches("-user root", &other));
        assert!(matches("-user 4711", &other) && !matches("-user 4711", &root));
        assert_eq!(
            error_of("-user no-one"),
            "‘no-one’ is not the name of a known user"
        );
    }
}
