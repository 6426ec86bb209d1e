//! `-samefile`: has the same device and inode number as a named file.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::between;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-samefile` predicate.
pub(crate) static SAMEFILE: Predicate = Predicate {
    name: "-samefile",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "refers to the same inode as FILE",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Ino, Column::Dev]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let file = args.reference("-samefile")?;
        Ok(Box::new(SameFile {
            dev: file.dev,
            ino: file.ino,
        }))
    }),
};

#[derive(Debug)]
struct SameFile {
    dev: u64,
    ino: u64,
}

impl Leaf for SameFile {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        row.ino() == self.ino && row.dev().as_u64() == self.dev
    }

    fn filter(&self) -> Filter {
        let ino = i128::from(self.ino);
        between(Column::Ino, ino, ino)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// `here` has inode 7 on device 3.
    #[test]
    fn inode_and_device_must_agree() {
        for (ino, dev, expected) in [(7, 3, true), (7, 4, false), (8, 3, false)] {
            let spec = Spec {
                ino,
                dev,
                ..Spec::default()
            };
            assert_eq!(matches("-samefile here", &spec), expected, "{ino} {dev}");
        }
        assert_eq!(
            error_of("-samefile gone"),
            "‘gone’: No such file or directory"
        );
    }
}
