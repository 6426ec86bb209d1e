//! `-type`: has the type that a letter, or one of a list of letters, stands
//! for.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};

use crate::compare::between;
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::{Facts, Leaf};
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-type` predicate.
pub(crate) static TYPE: Predicate = Predicate {
    name: "-type",
    aliases: &[],
    args: "[fdlpsbc,…]",
    kind: Kind::Test,
    help: "is a regular file, directory, symbolic link, pipe, socket, block or character device",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Mode]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| {
        let wanted = parse(args, "-type")?;
        Ok(Box::new(Type { wanted }))
    }),
};

#[derive(Debug)]
struct Type {
    wanted: Vec<FileType>,
}

impl Leaf for Type {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.wanted.contains(&row.file_type())
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts::Type)
    }

    fn filter(&self) -> Filter {
        let modes = |kind: &FileType| {
            let bits = i128::from(type_bits(*kind));
            between(Column::Mode, bits, bits + 0o7777)
        };
        let filters = self.wanted.iter().map(modes);
        filters.reduce(|a, b| a.or(&b)).unwrap_or_default()
    }
}

/// The bits of a mode that give the type.
pub(super) fn type_bits(kind: FileType) -> u32 {
    (0..16)
        .map(|bits| bits << 12)
        .find(|bits| FileType::from_mode(*bits) == kind)
        .unwrap_or(0)
}

/// Reads the letters of `-type` and `-xtype`.
pub(super) fn parse(
    args: &mut Arguments<'_>,
    name: &'static str,
) -> Result<Vec<FileType>, FindError> {
    let text = args.value()?;
    let bad = |reason: String| Err(FindError::bad(name, reason));
    if text.is_empty() {
        return bad(format!(
            "Arguments to {name} should contain at least one letter"
        ));
    }
    let mut wanted = Vec::new();
    let mut rest = text;
    while let Some((letter, tail)) = rest.split_first() {
        let shown = String::from_utf8_lossy(std::slice::from_ref(letter)).into_owned();
        let Some(kind) = kind_of(*letter) else {
            return bad(match letter {
                b'D' => format!(
                    "{name} D is not supported because Solaris doors are not supported on the \
                     platform find was compiled on."
                ),
                _ => format!("Unknown argument to {name}: {shown}"),
            });
        };
        if wanted.contains(&kind) {
            return bad(format!(
                "Duplicate file type '{shown}' in the argument list to {name}."
            ));
        }
        wanted.push(kind);
        rest = match tail {
            [] => tail,
            [b','] => {
                return bad(format!(
                    "Last file type in list argument to {name} is missing, i.e., list is ending \
                     on: ','"
                ));
            }
            [b',', more @ ..] => more,
            _ => {
                return bad(format!(
                    "Must separate multiple arguments to {name} using: ','"
                ));
            }
        };
    }
    Ok(wanted)
}

fn kind_of(letter: u8) -> Option<FileType> {
    Some(match letter {
        b'f' => FileType::Regular,
        b'd' => FileType::Directory,
        b'l' => FileType::Symlink,
        b'p' => FileType::Fifo,
        b's' => FileType::Socket,
        b'b' => FileType::Block,
        b'c' => FileType::Char,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, filter_of, matches};

    #[test]
    fn types_are_told_apart() {
        for (letter, mode) in [
            ("f", 0o100_644),
            ("d", 0o040_755),
            ("l", 0o120_777),
            ("p", 0o010_600),
            ("s", 0o140_600),
            ("b", 0o060_600),
            ("c", 0o020_600),
        ] {
            let spec = Spec {
                mode,
                ..Spec::default()
            };
            for other in "fdlpsbc".chars() {
                let words = format!("-type {other}");
                let expected = letter.starts_with(other);
                assert_eq!(matches(&words, &spec), expected, "{words} {mode:o}");
                let filter = filter_of(&words).expect("it prints");
                let admitted = filter.clauses[0].admits(i128::from(mode));
                assert_eq!(admitted, expected, "{words} {mode:o}");
            }
            assert!(matches("-type f,d,l,p,s,b,c", &spec));
        }
    }

    #[test]
    fn odd_lists_are_refused_in_finds_words() {
        for (words, expected) in [
            ("-type q", "Unknown argument to -type: q"),
            (
                "-type ff",
                "Must separate multiple arguments to -type using: ','",
            ),
            (
                "-type f,",
                "Last file type in list argument to -type is missing, i.e., list is ending on: ','",
            ),
            (
                "-type f,f",
                "Duplicate file type 'f' in the argument list to -type.",
            ),
            ("-type ,f", "Unknown argument to -type: ,"),
            ("-type f,,d", "Unknown argument to -type: ,"),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
    }
}
