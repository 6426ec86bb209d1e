//! Parses dates as people write them, like `date -d` and `find -newermt`:
//! `2021-02-03 04:05 +0100`, `@1612345678.5`, `2 weeks ago`, `next friday`,
//! `TZ="Asia/Tokyo" 9:00`.
//!
//! A text is split into words and numbers (`words`), these are parsed as items
//! in any order (`items`), and the items are converted to a time (`moment`).
//! The grammar is that of the GNU tools ("Date input formats" in the coreutils
//! manual), including its surprises: in `10:30 +90 minutes` the number belongs
//! to the time, as its offset from UTC.

mod items;
mod moment;
mod words;

use trawl_model::Timestamp;

use crate::zone::Zone;

/// Returns the time that a text stands for; `None` if it is not a valid date.
pub fn parse(text: &[u8], now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let text = text.trim_ascii_start();
    match text.strip_prefix(b"TZ=\"") {
        Some(rest) => {
            let (name, text) = quoted(rest)?;
            parse_in(text, now, &Zone::named(&name))
        }
        None => parse_in(text, now, zone),
    }
}

fn parse_in(text: &[u8], now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let words = words::split(text, &words::Local::around(now.secs, zone))?;
    match items::read(&words)? {
        items::Text::Seconds(time) => Some(time),
        items::Text::Items(said) => moment::of(&said, now, zone),
    }
}

/// Returns the text before a quotation mark, and the text after it.
fn quoted(text: &[u8]) -> Option<(String, &[u8])> {
    let mut name = Vec::new();
    let mut bytes = text.iter();
    loop {
        match bytes.next()? {
            b'"' => break,
            b'\\' => match bytes.next()? {
                byte @ (b'"' | b'\\') => name.push(*byte),
                _ => return None,
            },
            byte => name.push(*byte),
        }
    }
    let name = String::from_utf8_lossy(&name).into_owned();
    Some((name, bytes.as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    /// Texts, separated by bars.
    const TEXTS: &[&str] = &[
        "now|today|yesterday|tomorrow|midnight|noon|2 weeks ago|next friday|last month|foo",
        "|   |@0|@-5.5|@1.25|@1234567890.123456789|@-0.25|@99999999999|@ 5|@5x|@5 UTC|@1 2 days ago",
        "@9223372036854775808|1.5 sec|1.5 days ago",
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
        "sep. 5|Sat.|10:00 EST DST|10:00 -2 hours|10:30 +90 minutes|Feb 3 2 years ago|now Feb 3 2021",
        "3 feb 10:30|3 feb +0200|2021-02-03T10|2021-02-03T|T|T +1 day|20210203 T10:30|10:00 J|10:00 T",
        "2021-03-28 02:30|2021-10-31 02:30|2021-11-07 01:30|2021-03-27 02:30 1 day|10:00 CEST|DST",
        "20210203 CEST|CET DST 10:00|UTC +1 day ago|1 day hence|10:00 PDT|2 wednesday 20210203",
        "6 months ago|-9 months|+200 days|TZ=\"EST5EDT\" 9:00|TZ=\"XYZ-3:30\" noon|TZ=\"a\\\"b\" 9:00",
        "2021-03-28 02:30 +0100|3 feb +90 minutes|3-feb-90|2 wednesday 1 month 2 days ago",
        "99999999999999 years|2021-06-01 12:00 local|last monday 10:00",
        "(X NOW 2261|(|2021-02-03 (x|2021-02-03 (a(b)|6 feb 1628 IST|6 feb 1628 CET|6 jul 1628 CEST",
        "6 jul 1628 EST|6 feb 1628 EDT|6 jul 1942 CEST|6 feb 1942 CET|6 jul 1942 CET|6 jul 2021 EST",
    ];

    fn now() -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp {
            secs: i64::try_from(since.as_secs()).unwrap(),
            nanos: since.subsec_nanos(),
        }
    }

    /// Asks date(1).
    fn ask_date(text: &str, zone: &str) -> Option<Timestamp> {
        let mut date = trawl_testkit::oracle::command("date");
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
        for zone in ZONES {
            for text in TEXTS.iter().flat_map(|line| line.split('|')) {
                wrong.extend(difference(text, zone));
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    }

    const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"];

    /// Describes how the answers differ, if they do.
    fn difference(text: &str, name: &str) -> Option<String> {
        let zone = Zone::named(name);
        // The clock of date(1) lies between these.
        let before = parse(text.as_bytes(), now(), &zone);
        let theirs = ask_date(text, name);
        let after = parse(text.as_bytes(), now(), &zone);
        let differs = theirs < before || after < theirs;
        differs.then(|| format!("{name} {text:?}: {before:?}, date {theirs:?}"))
    }

    /// Items of random texts, each with the number of texts in eight that
    /// contain it.
    const ITEMS: &[(u64, &str)] = &[
        (
            2,
            "monday|next tue|last friday|sun|2 wednesday|this thursday|Sat,",
        ),
        (
            5,
            "2021-02-03|3 Feb 2021|Feb 3 2021|Feb 3|3 feb|2/3/2021|2021/2/3|20210203|3-Feb-21|\
             february 28, 2024|31 Dec 1999|2024-02-29|2021-03-28|2021-10-31",
        ),
        (
            5,
            "10:30|10:30:15|23:59|0:00|5pm|12:30 am|10:30:15.25|noon|midnight|T10:30|11 a.m.|02:30",
        ),
        (3, "UTC|Z|+0200|-05:30|EST|CEST|+3|GMT+1|PDT|K"),
        (
            4,
            "1 day ago|2 days|+1 week|-1 month|next month|last year|3 hours ago|+90 minutes|now|\
             tomorrow|yesterday|today|1 month 2 days ago|fortnight|-30 sec|next day|2 years ago",
        ),
        (1, "12 hours|6 months ago|1.5 sec|(so) -7 days"),
    ];

    #[test]
    fn random_dates_are_read_as_date_reads_them() {
        let told = std::env::var("TRAWL_TEST_DATES").ok();
        let count = told.and_then(|text| text.parse().ok()).unwrap_or(500);
        let mut state = 17u64;
        let mut below = |bound: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        let (mut wrong, mut read) = (Vec::new(), 0);
        for _ in 0..count {
            let mut items: Vec<&str> = Vec::new();
            for (often, texts) in ITEMS {
                let texts: Vec<&str> = texts.split('|').collect();
                let item = texts[below(texts.len())];
                if (below(8) as u64) < *often {
                    items.insert(if below(4) == 0 { 0 } else { items.len() }, item);
                }
            }
            let (text, zone) = (items.join(" "), ZONES[below(ZONES.len())]);
            wrong.extend(difference(&text, zone));
            read += usize::from(parse(text.as_bytes(), now(), &Zone::named(zone)).is_some());
        }
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(read > count / 2, "{read} of {count}");
    }

    /// date(1) cannot show these times, but find(1) accepts them.
    #[test]
    fn the_ends_of_time_are_read() {
        let zone = Zone::utc();
        for secs in [i64::MIN, i64::MAX] {
            let text = format!("@{secs}");
            let read = parse(text.as_bytes(), now(), &zone);
            assert_eq!(read, Some(Timestamp { secs, nanos: 0 }));
        }
        assert!(parse(b"9223372036854775807 seconds ago", now(), &zone).is_some());
        assert_eq!(parse(b"9223372036854775807 days", now(), &zone), None);
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
