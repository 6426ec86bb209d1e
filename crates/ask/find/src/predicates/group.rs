//! `-group`: belongs to the group NAME, given as a name or a number.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::between;
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-group` predicate.
pub(crate) static GROUP: Predicate = Predicate {
    name: "-group",
    aliases: &[],
    args: "NAME",
    kind: Kind::Test,
    help: "belongs to group NAME (a numeric group ID is allowed)",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Gid]),
    standard: Standard::Posix,
    parse: Parse::Leaf(parse),
};

#[derive(Debug)]
struct Group {
    id: u32,
}

impl Leaf for Group {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        row.gid().0 == self.id
    }

    fn filter(&self) -> Filter {
        let id = i128::from(self.id);
        between(Column::Gid, id, id)
    }
}

fn parse(args: &mut Arguments<'_>) -> Result<Box<dyn Leaf>, FindError> {
    let name = args.value()?;
    if name.is_empty() {
        let reason = "argument to -group is empty, but should be a group name";
        return Err(FindError::bad("-group", reason));
    }
    let known = trawl_sys::identity::gid_of(name).ok().flatten();
    let number = || {
        let digits = name.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(name).ok().filter(|_| digits)?;
        text.parse().ok()
    };
    if let Some(id) = known.or_else(number) {
        return Ok(Box::new(Group { id }));
    }
    unknown(args, name)
}

fn unknown(args: &Arguments<'_>, name: &[u8]) -> Result<Box<dyn Leaf>, FindError> {
    let digits = name.iter().take_while(|b| b.is_ascii_digit()).count();
    let suffix = match digits {
        0 => String::new(),
        _ => format!(
            " and it does not look like a numeric group ID because it has the unexpected suffix {}",
            args.quoted(&name[digits..])
        ),
    };
    let quoted = args.quoted(name);
    let reason = format!("{quoted} is not the name of an existing group{suffix}");
    Err(FindError::bad("-group", reason))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn names_and_numbers_are_taken() {
        let root = Spec {
            gid: 0,
            ..Spec::default()
        };
        let other = Spec {
            gid: 4711,
            ..Spec::default()
        };
        assert!(matches("-group root", &root) && !matches("-group root", &other));
        assert!(matches("-group 4711", &other) && !matches("-group 4711", &root));
        assert_eq!(
            error_of("-group no-one"),
            "‘no-one’ is not the name of an existing group"
        );
    }
}
