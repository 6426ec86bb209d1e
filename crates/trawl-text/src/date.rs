//! Dates as people write them, read as `date -d` and `find -newermt` read
//! them: `2021-02-03 04:05 +0100`, `@1612345678.5`, `2 weeks ago`, `next
//! friday`, `TZ="Asia/Tokyo" 9:00`.
//!
//! The grammar is the parse_datetime crate's. Here is what that leaves out: a
//! text of blanks means midnight, as in the GNU tools, and one that only
//! counts from now (`2 months ago`) keeps now's distance from Greenwich, so
//! that it is an hour off where summer time began or ended in between.
//!
//! Read where the GNU tools refuse: `2021-02-03T10`, times of a night in
//! which clocks were put forward. Refused where they read: `sep.` and its
//! like, `DST` behind a zone. `10:00 -2 hours` is two hours before ten (there
//! it is noon in Greenwich and an hour more).

use jiff::Zoned;
use jiff::tz::TimeZone;
use parse_datetime::parse_datetime_at_date;
use trawl_model::Timestamp;

use crate::zone::Zone;

/// The time that a text names, if it names one.
pub fn parse(text: &[u8], now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match text.trim_ascii() {
        "" => "00:00",
        text => text,
    };
    let quoted = text.strip_prefix("TZ=\"");
    if quoted.is_some_and(|rest| !rest.contains('"')) {
        return None;
    }
    let now = zoned(now, zone.get())?;
    let now = match counts_from_now(text) {
        true => now.with_time_zone(TimeZone::fixed(now.offset())),
        false => now,
    };
    let found = parse_datetime_at_date(now, text).ok()?;
    Some(Timestamp {
        secs: found.unix_epoch_second(),
        nanos: u32::try_from(found.subsec_nanosecond()).ok()?,
    })
}

fn zoned(time: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    let nanos = i32::try_from(time.nanos).ok()?;
    let instant = jiff::Timestamp::new(time.secs, nanos).ok()?;
    Some(instant.to_zoned(zone.clone()))
}

const UNITS: &[&str] = &[
    "year",
    "month",
    "fortnight",
    "week",
    "day",
    "hour",
    "minute",
    "min",
    "second",
    "sec",
];
const ORDINALS: &[&str] = &[
    "last", "this", "next", "first", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
    "ninth", "tenth", "eleventh", "twelfth",
];
const WHOLE: &[&str] = &["now", "today", "yesterday", "tomorrow", "ago"];

/// True if the text names neither a date nor a day of the week nor a time.
fn counts_from_now(text: &str) -> bool {
    let mut rest = text.as_bytes();
    // A number, or a word for one, wants a unit.
    let mut is_counted = false;
    while let Some(first) = rest.first() {
        let is_in_word: fn(&u8) -> bool = match first {
            b'0'..=b'9' => u8::is_ascii_digit,
            byte if byte.is_ascii_alphabetic() => u8::is_ascii_alphabetic,
            b' ' | b'\t' | b'\n' | b'+' | b'-' => |byte| b" \t\n+-".contains(byte),
            _ => return false,
        };
        let length = rest.iter().take_while(|byte| is_in_word(byte)).count();
        let (word, after) = rest.split_at(length);
        rest = after;
        let word = word.to_ascii_lowercase();
        let is_one_of = |words: &[&str]| words.iter().any(|known| known.as_bytes() == word);
        is_counted = match first {
            b'0'..=b'9' if is_counted => return false,
            b'0'..=b'9' => true,
            byte if !byte.is_ascii_alphabetic() => is_counted,
            _ if is_one_of(ORDINALS) && !is_counted => true,
            _ if is_one_of(WHOLE) && !is_counted => false,
            _ if is_one_of(UNITS) => false,
            _ => match word.strip_suffix(b"s") {
                Some(unit) if UNITS.iter().any(|known| known.as_bytes() == unit) => false,
                _ => return false,
            },
        };
    }
    !is_counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;
    use std::time::{SystemTime, UNIX_EPOCH};

    /// Separated by bars.
    const TEXTS: &[&str] = &[
        "now|today|yesterday|tomorrow|midnight|noon|2 weeks ago|next friday|last month|foo",
        "|   |@0|@-5.5|@1.25|@1234567890.123456789|@-0.25|@99999999999|@ 5|@5x|@5 UTC|@1 2 days ago",
        "@9223372036854775807|@-9223372036854775808|@9223372036854775808|1.5 sec|1.5 days ago",
        "2021-02-03|2021-02-03T04:05:06|2021-02-03T04:05:06Z|2021-02-03T04:05:06+02:00",
        "2021-02-03T04:05:06.5+0200|2021-02-03 04:05:06,25|20210203|20210203 0405|20210203T040506",
        "2021-02-03 04:05 EST|2021-02-03 04:05 CET|2021-02-03 04:05 PM|2020-01-01 10:00 UTC+2",
        "5pm|5 pm|12am|12pm|10:30|10:30:15.5|24:00|23:60|23:59:60|00:00|0000|10h|10:30am|10:30 a.m.",
        "0:30 pm|13:00 pm|3:4|10.30|24:01|10:00 11:00|10:30 tomorrow|tomorrow 10:30|noon yesterday",
        "Friday|last friday|this friday|monday|mon|tues|wednes|thur|thurs|2 monday|first monday",
        "next week|next year|last year|next hour|last day|1 year ago|3 months ago|1 fortnight ago",
        "third day|twelfth month ago|-1 day|+1 day|1 day|day|month|-2 days ago|2 hours ago",
        "90 minutes ago|30 sec|1 week 2 days ago|1 week ago 2 days|-1 month +1 day|1 day 1 day",
        "1day|1d|1 HOUR AGO|Yesterday|TOMORROW|ago|2 ago|2|week ago|--1 day|- 1 day|now now",
        "Jan 5 2021|Jan 5|5 Jan|5 January 2021|January 5, 2021|5-Jan-2021|5 Jan 21|5 Jan 70|5 Jan 69",
        "1/2|1/2/21|12/31/2020|2021/1/2|21/1/2|99-1-2|68-1-2|69-1-2|100-1-2|0001-01-01|9999-12-31",
        "2021-02-29|2021-13-01|2021-00-10|1900-01-01|10000-01-01|2021-W05|2021-034|May|may 5|sept 5",
        "Sat Nov 21 22:00:00 UTC 2026|Sat, 21 Nov 2026 22:00:00 +0000|Sat Nov 21 22:00:00 2026",
        "2026-11-21 22:00:00.123456789 +0100|TZ=\"America/New_York\" 2021-06-01 12:00|TZ=UTC 10:00",
        "TZ=\"UTC\" 10:00|TZ=\"UTC|2021-01-31 1 month|2021-01-31 next month|2020-02-29 1 year",
        "2021-01-31 -1 month|2021-02-03 3 days ago|2021-02-03 10:00 2 hours ago|10:00 -2|10:00 +0530",
        "10:00 UTC|10:00Z|10:00 A|a|z|UTC|EST|PST|10:00 BST|GMT|GMT+2|UTC-5|UTC+05:30|10:00 MSK",
        "0|1|12|123|1234|12345|123456|1970|21-1-2|foo 2021-02-03|2021-02-03 2021-02-04|monday tuesday",
        "(comment) 10:00|10:00 (comment (nested)) Z|2021-02-03, 10:00|Fri 2021-02-03|next|last|this",
        "2021-02-03 thursday|2021-02-04 thursday|2021-02-04 last thursday|2021-02-04 next thursday",
        "2021-02-03 +4 days|2021-02-03 10am|2021-02-03 10:00+01|2021-02-03 10:00-0930",
        "99999999999999 years|9223372036854775807 seconds ago|2021-06-01 12:00 local|last monday 10:00",
    ];

    fn now() -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp {
            secs: i64::try_from(since.as_secs()).unwrap(),
            nanos: since.subsec_nanos(),
        }
    }

    /// What date(1) says.
    fn ask_date(text: &str, zone: &str) -> Option<Timestamp> {
        let mut date = Command::new("date");
        let date = date.args(["-d", text, "+%s %N"]).env("TZ", zone);
        let output = date.env("LC_ALL", "C").output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let (secs, nanos) = line.trim().split_once(' ')?;
        Some(Timestamp {
            secs: secs.parse().unwrap(),
            nanos: nanos.parse().unwrap(),
        })
    }

    #[test]
    fn dates_are_read_as_date_reads_them() {
        let mut wrong = Vec::new();
        for name in ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"] {
            let zone = Zone::of(TimeZone::get(name).unwrap());
            for text in TEXTS.iter().flat_map(|line| line.split('|')) {
                // Its clock lies between these.
                let before = parse(text.as_bytes(), now(), &zone);
                let theirs = ask_date(text, name);
                let after = parse(text.as_bytes(), now(), &zone);
                if theirs < before || after < theirs {
                    wrong.push(format!("{name} {text:?}: {before:?}, date {theirs:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    }

    proptest! {
        #[test]
        fn no_text_is_a_danger(
            text in any::<Vec<u8>>(),
            words in proptest::collection::vec(0usize..24, 0..6),
            secs: i64,
        ) {
            const WORDS: [&str; 24] = [
                "@", "-", "+", "9223372036854775807", "2147483647", "year", "ago", "next",
                "friday", "TZ=\"", "\"", "10:30", "2021-02-29", "12/31", "jan", "am", "Z",
                "month", ".5", "(", "é", "60", "T", "99999999999999999999",
            ];
            let words: Vec<&str> = words.iter().map(|at| WORDS[*at]).collect();
            let zone = Zone::utc();
            for now in [Timestamp { secs, nanos: 7 }, Timestamp { secs: secs >> 28, nanos: 7 }] {
                let _ = parse(&text, now, &zone);
                let _ = parse(words.join(" ").as_bytes(), now, &zone);
                let _ = parse(words.concat().as_bytes(), now, &zone);
            }
        }
    }
}
