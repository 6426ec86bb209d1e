//! `-used`: was last accessed N days after its status was last changed.

use trawl_model::rows::Row;

use crate::age::{DAY_SECS, Which, parse_float};
use crate::compare::{Relation, split_relation};
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-used` predicate.
pub(crate) static USED: Predicate = Predicate {
    name: "-used",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last accessed N days after its status was last changed",
    cost: Cost::Number,
    columns: Which::Access.columns().union(Which::Change.columns()),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        let (relation, number) = split_relation(text);
        let days = parse_float(number).ok_or_else(|| {
            let shown = String::from_utf8_lossy(text);
            FindError::bad("-used", format!("Invalid argument {shown} to -used"))
        })?;
        Ok(Box::new(Used {
            relation,
            span_nanos: (days * DAY_SECS as f64 * 1e9) as i128,
        }))
    }),
};

const DAY_NANOS: i128 = DAY_SECS as i128 * 1_000_000_000;

#[derive(Debug)]
struct Used {
    relation: Relation,
    span_nanos: i128,
}

impl Leaf for Used {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        let nanos = row.atime().as_nanos() - row.ctime().as_nanos();
        // An entry that was not accessed since then never matches, whatever the
        // sign.
        nanos >= 0
            && match self.relation {
                Relation::Less => nanos < self.span_nanos,
                Relation::Greater => nanos > self.span_nanos,
                Relation::Equal => {
                    let less = self.span_nanos.saturating_sub(nanos);
                    (1..=DAY_NANOS).contains(&less)
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// Expected values were obtained from GNU find, with access times set
    /// accordingly.
    #[test]
    fn whole_days_begin_the_next_one() {
        let hour = 3_600;
        for (argument, hours, expected) in [
            ("1", 1, true),
            ("1", 0, true),
            ("1", 24, false),
            ("2", 24, true),
            ("2", 25, true),
            ("0", 1, false),
            ("0", 0, false),
            ("+0", 1, true),
            ("+1", 24, false),
            ("+1", 25, true),
            ("-1", 1, true),
            ("-1", 25, false),
            ("-2", 25, true),
            ("-2", -1, false),
            ("0", -1, false),
            ("0.5", 1, true),
        ] {
            let spec = Spec::default().ctime_ago(1_000 * hour);
            let spec = spec.atime_ago((1_000 - hours) * hour);
            assert_eq!(
                matches(&format!("-used {argument}"), &spec),
                expected,
                "{argument} {hours}"
            );
        }
        assert_eq!(error_of("-used x"), "Invalid argument x to -used");
    }
}
