//! `-daystart`: measures times from the beginning of today rather than from 24
//! hours ago.

use trawl_model::{ColumnSet, Timestamp};

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-daystart` predicate.
pub(crate) static DAYSTART: Predicate = Predicate {
    name: "-daystart",
    aliases: &[],
    args: "",
    kind: Kind::PositionalOption,
    help: "measure times in later tests from the beginning of today, not from 24 hours ago",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        let zone = (args.env.zone)();
        args.settings.day_start.get_or_insert_with(|| Timestamp {
            secs: zone.day_start(args.env.now.secs),
            nanos: 0,
        });
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{NOW, Spec, matches};
    use trawl_text::zone::Zone;

    #[test]
    fn days_begin_at_midnight() {
        let today = NOW.secs - Zone::utc().day_start(NOW.secs);
        for (words, age_secs, expected) in [
            ("-daystart -mtime 0", today - 1, true),
            ("-daystart -mtime 0", today + 1, false),
            ("-daystart -mtime 1", today + 1, true),
            ("-mtime 0 -daystart", today + 1, true),
        ] {
            let spec = Spec::default().mtime_ago(age_secs);
            assert_eq!(matches(words, &spec), expected, "{words} {age_secs}");
        }
    }
}
