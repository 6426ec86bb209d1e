//! `-xtype`: tests the type that `-type` does not see: that of a link's target
//! or, where links are followed, that of the link itself.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_text::quote;

use super::file_type;
use crate::compare::between;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::probe::Target;
use crate::traversal::Follow;

/// The `-xtype` predicate.
pub(crate) static XTYPE: Predicate = Predicate {
    name: "-xtype",
    aliases: &[],
    args: "[fdlpsbc,…]",
    kind: Kind::Test,
    help: "has the type after following a symbolic link; with -L, the type of the link itself",
    cost: Cost::Look,
    columns: ColumnSet::of(&[Column::Name, Column::Mode]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let wanted = file_type::parse(args, "-xtype")?;
        Ok(Box::new(OtherType { wanted }))
    }),
};

#[derive(Debug)]
struct OtherType {
    wanted: Vec<FileType>,
}

/// Returns the type that `-type` does not see.
fn look(row: &Row<'_>, path: &[u8], cx: &Context<'_>) -> Target {
    let is_followed = match cx.world.follow {
        Follow::Always => true,
        Follow::Arguments => cx.is_at_start(),
        Follow::Never => false,
    };
    match (is_followed, row.file_type()) {
        (true, _) => cx.probe.own_type(row, path),
        (false, FileType::Symlink) => cx.probe.target(row, path),
        (false, kind) => Target::Is(kind),
    }
}

impl Leaf for OtherType {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let why = match look(row, &path, cx) {
            Target::Is(kind) => return self.wanted.contains(&kind),
            // A link whose target does not exist has its own type.
            Target::Missing => return self.wanted.contains(&row.file_type()),
            Target::Loop => "Too many levels of symbolic links".to_owned(),
            Target::Unknown(cause) => cause.0,
        };
        let quoted = quote::message(&path, cx.world.locale);
        cx.complain(&format!("{quoted}: {why}"));
        false
    }

    fn follows_links(&self) -> bool {
        true
    }

    fn complains_of(&self) -> Option<Filter> {
        Some(of_links())
    }
}

/// The rows that the test may complain of: links, whose target may be out of
/// reach.
fn of_links() -> Filter {
    let bits = i128::from(file_type::type_bits(FileType::Symlink));
    between(Column::Mode, bits, bits + 0o7777)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// In these tests, the targets of links do not exist.
    #[test]
    fn what_is_no_link_has_one_type() {
        let link = Spec {
            mode: 0o120_777,
            ..Spec::default()
        };
        for (words, spec, expected) in [
            ("-xtype f", &Spec::default(), true),
            ("-xtype d,l", &Spec::default(), false),
            ("-xtype l", &link, true),
            ("-xtype f", &link, false),
        ] {
            assert_eq!(matches(words, spec), expected, "{words}");
        }
        assert_eq!(error_of("-xtype q"), "Unknown argument to -xtype: q");
    }
}
