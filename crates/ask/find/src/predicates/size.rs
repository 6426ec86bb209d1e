//! `-size`: has a size of N units, rounded up.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::{Comparison, Relation, between};
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-size` predicate.
pub(crate) static SIZE: Predicate = Predicate {
    name: "-size",
    aliases: &[],
    args: "N[bcwkMG]",
    kind: Kind::Test,
    help: "has a size of N units, rounded up: b (512 bytes, the default), c (bytes), w (2 bytes), k, M, G",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Size]),
    standard: Standard::Posix,
    parse: Parse::Leaf(parse),
};

#[derive(Debug)]
struct Size {
    wanted: Comparison,
    unit_bytes: u64,
}

impl Leaf for Size {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.wanted.holds(row.size().div_ceil(self.unit_bytes))
    }

    fn filter(&self) -> Filter {
        let unit = i128::from(self.unit_bytes);
        let number = i128::from(self.wanted.number);
        // The largest size that rounds up to `number` is `number * unit`.
        let (low, high) = match self.wanted.relation {
            Relation::Less => (0, (number - 1) * unit),
            Relation::Equal => ((number - 1) * unit + 1, number * unit),
            Relation::Greater => (number * unit + 1, i128::MAX),
        };
        between(Column::Size, low, high)
    }
}

/// The unit, in bytes, that a letter after the number stands for.
pub(crate) fn unit_bytes(letter: u8) -> Option<u64> {
    Some(match letter {
        b'b' => 512,
        b'c' => 1,
        b'w' => 2,
        b'k' => 1 << 10,
        b'M' => 1 << 20,
        b'G' => 1 << 30,
        _ => return None,
    })
}

fn parse(args: &mut Arguments<'_>) -> Result<Box<dyn Leaf>, FindError> {
    let text = args.value()?;
    let shown = String::from_utf8_lossy(text);
    let Some(last) = text.last() else {
        return Err(FindError::bad("-size", "invalid null argument to -size"));
    };
    let (unit_bytes, number) = match last {
        b'0'..=b'9' => (512, text),
        letter => {
            let Some(unit) = unit_bytes(*letter) else {
                let letter = String::from_utf8_lossy(std::slice::from_ref(letter));
                let reason = format!("invalid -size type `{letter}'");
                return Err(FindError::bad("-size", reason));
            };
            (unit, &text[..text.len() - 1])
        }
    };
    let wanted = Comparison::parse(number)
        .ok_or_else(|| FindError::bad("-size", format!("Invalid argument `{shown}' to -size")))?;
    Ok(Box::new(Size { wanted, unit_bytes }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, filter_of, matches};

    #[test]
    fn sizes_are_rounded_up() {
        for (argument, size, expected) in [
            ("0", 0, true),
            ("0", 1, false),
            ("1", 1, true),
            ("1", 512, true),
            ("2", 513, true),
            ("-1", 0, true),
            ("-1", 1, false),
            ("+0", 1, true),
            ("1k", 1, true),
            ("-1M", 1, false),
            ("-2M", 1 << 20, true),
            ("+1G", 1 << 30, false),
            ("+1G", (1 << 30) + 1, true),
            ("5c", 5, true),
            ("3w", 5, true),
            ("1b", 512, true),
            ("18446744073709551615G", u64::MAX, false),
        ] {
            let words = format!("-size {argument}");
            let spec = Spec {
                size,
                ..Spec::default()
            };
            assert_eq!(matches(&words, &spec), expected, "{words} {size}");
            let filter = filter_of(&words).expect("it prints");
            let admitted = filter.clauses[0].admits(i128::from(size));
            assert_eq!(admitted, expected, "filter of {words} for {size}");
        }
    }

    #[test]
    fn odd_sizes_are_refused_in_finds_words() {
        for (words, expected) in [
            ("-size x", "invalid -size type `x'"),
            ("-size 1x", "invalid -size type `x'"),
            ("-size +", "invalid -size type `+'"),
            ("-size c", "Invalid argument `c' to -size"),
            ("-size 1.5k", "Invalid argument `1.5k' to -size"),
            (
                "-size 99999999999999999999",
                "Invalid argument `99999999999999999999' to -size",
            ),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
    }
}
