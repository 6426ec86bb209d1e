//! The fixed formats of times in `ls -l`, `find -ls`, `%t` and `stat`.

use std::fmt::Write as _;

use trawl_model::Timestamp;

use crate::strftime;
use crate::zone::Zone;

/// Half a Gregorian year, the age from which ls(1) considers a time old.
const HALF_YEAR_SECS: i64 = 31_556_952 / 2;
/// Half a year for find(1).
const FIND_RECENT_SECS: i64 = 6 * 30 * 86_400;
const HOUR_SECS: i64 = 3_600;

/// Appends a time as `ls -l` does in the "C" locale: `Nov  5 12:34`, or
/// `Nov  5 2024` if it is older than half a year or lies in the future.
pub fn ls(out: &mut String, time: Timestamp, now: Timestamp, zone: &Zone) {
    let recent = time < now && now.minus_secs(HALF_YEAR_SECS) < time;
    short(out, time.secs, recent, zone);
}

/// Appends a time as `find -ls` does: like [`ls`], but half a year is six
/// months of 30 days, and up to an hour in the future counts as recent.
pub fn find_ls(out: &mut String, time: Timestamp, now: Timestamp, zone: &Zone) {
    let recent = now.secs.saturating_sub(FIND_RECENT_SECS) <= time.secs
        && time.secs <= now.secs.saturating_add(HOUR_SECS);
    short(out, time.secs, recent, zone);
}

fn short(out: &mut String, secs: i64, recent: bool, zone: &Zone) {
    let format = if recent { "%b %e %H:%M" } else { "%b %e  %Y" };
    strftime::format(out, format, &zone.civil(secs), zone);
}

/// Appends a time as find's `%t`, `%a` and `%c` do:
/// `Fri Nov  5 12:34:56.7890000000 2024`. The last zero is GNU find's own.
pub fn ctime(out: &mut String, time: Timestamp, zone: &Zone) {
    let civil = zone.civil(time.secs);
    let _ = write!(
        out,
        "{} {} {:2} {:02}:{:02}:{:02}.{:09}0 {:04}",
        strftime::weekday_abbreviation(&civil),
        strftime::month_abbreviation(&civil),
        civil.day,
        civil.hour,
        civil.minute,
        civil.second,
        time.nanos,
        civil.year
    );
}

/// Appends a time as `%y` of stat(1) and `ls --time-style=full-iso` do:
/// `2024-11-05 12:34:56.789000000 +0100`.
pub fn full_iso(out: &mut String, time: Timestamp, zone: &Zone) {
    let civil = zone.civil(time.secs);
    strftime::format(out, "%Y-%m-%d %H:%M:%S", &civil, zone);
    let _ = write!(out, ".{:09} ", time.nanos);
    strftime::directive(out, 'z', &civil, zone);
}

/// Appends a time as `ls --time-style=long-iso` and `du --time` do:
/// `2024-11-05 12:34`.
pub fn long_iso(out: &mut String, time: Timestamp, zone: &Zone) {
    strftime::format(out, "%Y-%m-%d %H:%M", &zone.civil(time.secs), zone);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64, nanos: u32) -> Timestamp {
        Timestamp { secs, nanos }
    }

    #[test]
    fn times_look_as_in_the_tools() {
        let zone = Zone::utc();
        let shown = |show: &dyn Fn(&mut String)| {
            let mut out = String::new();
            show(&mut out);
            out
        };
        let time = at(-312_753_294, 700_000_000);
        assert_eq!(
            shown(&|o| ctime(o, time, &zone)),
            "Wed Feb  3 04:05:06.7000000000 1960"
        );
        assert_eq!(
            shown(&|o| full_iso(o, time, &zone)),
            "1960-02-03 04:05:06.700000000 +0000"
        );
        let now = at(1_700_000_000, 0);
        for (back, expected) in [
            (60, "Nov 14 22:12"),
            (-60, "Nov 14  2023"),
            (HALF_YEAR_SECS - 1, "May 16 07:18"),
            (HALF_YEAR_SECS, "May 16  2023"),
        ] {
            let time = now.minus_secs(back);
            assert_eq!(shown(&|o| ls(o, time, now, &zone)), expected, "{back}");
        }
        for (back, expected) in [
            (-HOUR_SECS, "Nov 14 23:13"),
            (-HOUR_SECS - 60, "Nov 14  2023"),
            (FIND_RECENT_SECS, "May 18 22:13"),
            (FIND_RECENT_SECS + 1, "May 18  2023"),
        ] {
            let time = now.minus_secs(back);
            assert_eq!(shown(&|o| find_ls(o, time, now, &zone)), expected, "{back}");
        }
    }
}
