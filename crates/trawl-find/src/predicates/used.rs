//! `-used`: how many days after its status changed the entry was read.

use trawl_model::Timestamp;
use trawl_model::rows::Row;

use crate::age::{DAY_SECS, Which, Window};
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static USED: Predicate = Predicate {
    name: "-used",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was read N days after its status last changed",
    cost: Cost::Number,
    columns: Which::Access.columns().union(Which::Change.columns()),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        // find compares a span of time as if it were a moment.
        let window = Window::parse(text, Timestamp::default(), DAY_SECS).ok_or_else(|| {
            let shown = String::from_utf8_lossy(text);
            FindError::bad("-used", format!("Invalid argument {shown} to -used"))
        })?;
        Ok(Box::new(Used { window }))
    }),
};

#[derive(Debug)]
struct Used {
    window: Window,
}

impl Leaf for Used {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        let nanos = row.atime().as_nanos() - row.ctime().as_nanos();
        let billion = 1_000_000_000;
        let secs = i64::try_from(nanos.div_euclid(billion)).unwrap_or(i64::MAX);
        self.window.holds(Timestamp {
            secs,
            nanos: nanos.rem_euclid(billion) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn spans_are_compared_as_find_compares_them() {
        let read_before_change = Spec::default().atime_ago(90_000).ctime_ago(50_000);
        let read_after_change = Spec::default().atime_ago(0).ctime_ago(50_000);
        assert!(matches("-used 1", &read_before_change));
        assert!(!matches("-used 1", &read_after_change));
        assert!(matches("-used -1", &read_after_change));
        assert_eq!(error_of("-used x"), "Invalid argument x to -used");
    }
}
