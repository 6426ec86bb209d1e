//! `-empty`: is a regular file of 0 bytes or a directory without entries.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_text::quote;

use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-empty` predicate.
pub(crate) static EMPTY: Predicate = Predicate {
    name: "-empty",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "is an empty regular file or an empty directory",
    cost: Cost::Look,
    columns: ColumnSet::of(&[Column::Mode, Column::Size, Column::Name, Column::Dev]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(Box::new(Empty))),
};

#[derive(Debug)]
struct Empty;

impl Leaf for Empty {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        match row.file_type() {
            FileType::Regular => row.size() == 0,
            FileType::Directory => is_empty(row, cx),
            _ => false,
        }
    }

    fn needs_empty_directories(&self) -> bool {
        true
    }
}

/// GNU find opens the directory here, and reports an error if it may not.
fn is_empty(row: &Row<'_>, cx: &mut Context<'_>) -> bool {
    let path = cx.path(row).to_vec();
    cx.probe
        .is_empty_directory(row, &path)
        .unwrap_or_else(|cause| {
            let quoted = quote::message(&path, cx.world.locale);
            cx.complain(&format!("{quoted}: {}", cause.0));
            false
        })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn files_and_directories_can_be_empty() {
        let dir = |name| Spec {
            mode: 0o040_755,
            size: 4096,
            ..Spec::named(name)
        };
        for (spec, expected) in [
            (
                Spec {
                    size: 0,
                    ..Spec::default()
                },
                true,
            ),
            (
                Spec {
                    size: 1,
                    ..Spec::default()
                },
                false,
            ),
            (
                Spec {
                    size: 0,
                    mode: 0o020_644,
                    ..Spec::default()
                },
                false,
            ),
            (dir("bare"), true),
            (dir("full"), false),
        ] {
            assert_eq!(matches("-empty", &spec), expected, "{spec:?}");
        }
    }
}
