//! strftime(3) in the "C" locale, for years of any size.

use std::fmt::Write as _;

use crate::zone::{Civil, Zone, is_leap};

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns the first three letters of the weekday.
pub fn weekday_abbreviation(civil: &Civil) -> &'static str {
    WEEKDAYS
        .get(civil.weekday as usize)
        .map_or("?", |day| &day[..3])
}

/// Returns the first three letters of the month.
pub fn month_abbreviation(civil: &Civil) -> &'static str {
    month_name(civil).get(..3).unwrap_or("?")
}

fn month_name(civil: &Civil) -> &'static str {
    MONTHS
        .get((civil.month as usize).wrapping_sub(1))
        .unwrap_or(&"?")
}

/// Appends `format` with its directives replaced.
///
/// A directive that strftime(3) does not have is copied as it is.
pub fn format(out: &mut String, format: &str, civil: &Civil, zone: &Zone) {
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some(letter) => directive(out, letter, civil, zone),
            None => out.push('%'),
        }
    }
}

/// Appends the value of one directive.
pub fn directive(out: &mut String, letter: char, civil: &Civil, zone: &Zone) {
    if let Some(expansion) = composite(letter) {
        return format(out, expansion, civil, zone);
    }
    if let Some((value, width, pad)) = number(letter, civil) {
        return push_padded(out, value, width, pad);
    }
    match letter {
        'a' => out.push_str(weekday_abbreviation(civil)),
        'A' => out.push_str(WEEKDAYS.get(civil.weekday as usize).unwrap_or(&"?")),
        'b' | 'h' => out.push_str(month_abbreviation(civil)),
        'B' => out.push_str(month_name(civil)),
        'p' => out.push_str(if civil.hour < 12 { "AM" } else { "PM" }),
        'P' => out.push_str(if civil.hour < 12 { "am" } else { "pm" }),
        'n' => out.push('\n'),
        't' => out.push('\t'),
        '%' => out.push('%'),
        'z' => push_offset(out, civil.offset_secs),
        'Z' => out.push_str(&zone.abbreviation(civil.unix_secs)),
        other => {
            out.push('%');
            out.push(other);
        }
    }
}

fn composite(letter: char) -> Option<&'static str> {
    Some(match letter {
        'c' => "%a %b %e %H:%M:%S %Y",
        'D' | 'x' => "%m/%d/%y",
        'F' => "%Y-%m-%d",
        'r' => "%I:%M:%S %p",
        'R' => "%H:%M",
        'T' | 'X' => "%H:%M:%S",
        _ => return None,
    })
}

/// Returns value, minimum width and filler of a directive that is a number.
pub(crate) fn number(letter: char, civil: &Civil) -> Option<(i64, usize, char)> {
    let hour_of_twelve = (i64::from(civil.hour) + 11) % 12 + 1;
    let weekday = i64::from(civil.weekday);
    let year_day = i64::from(civil.year_day);
    Some(match letter {
        'C' => (civil.year.div_euclid(100), 2, '0'),
        'd' => (i64::from(civil.day), 2, '0'),
        'e' => (i64::from(civil.day), 2, ' '),
        'g' => (iso_week(civil).0.rem_euclid(100), 2, '0'),
        'G' => (iso_week(civil).0, 1, '0'),
        'H' => (i64::from(civil.hour), 2, '0'),
        'I' => (hour_of_twelve, 2, '0'),
        'j' => (year_day + 1, 3, '0'),
        'k' => (i64::from(civil.hour), 2, ' '),
        'l' => (hour_of_twelve, 2, ' '),
        'm' => (i64::from(civil.month), 2, '0'),
        'M' => (i64::from(civil.minute), 2, '0'),
        's' => (civil.unix_secs, 1, '0'),
        'S' => (i64::from(civil.second), 2, '0'),
        'u' => ((weekday + 6) % 7 + 1, 1, '0'),
        'U' => ((year_day + 7 - weekday) / 7, 2, '0'),
        'V' => (iso_week(civil).1, 2, '0'),
        'w' => (weekday, 1, '0'),
        'W' => ((year_day + 7 - (weekday + 6) % 7) / 7, 2, '0'),
        'y' => (civil.year.rem_euclid(100), 2, '0'),
        'Y' => (civil.year, 1, '0'),
        _ => return None,
    })
}

/// Appends `value`, filled up to `width` digits, which do not include the sign.
pub(crate) fn push_padded(out: &mut String, value: i64, width: usize, pad: char) {
    if value < 0 {
        out.push('-');
    }
    let value = value.unsigned_abs();
    let digits = value.checked_ilog10().map_or(1, |log| log as usize + 1);
    out.extend(std::iter::repeat_n(pad, width.saturating_sub(digits)));
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

fn push_offset(out: &mut String, offset_secs: i32) {
    let minutes = offset_secs.unsigned_abs() / 60;
    let sign = if offset_secs < 0 { '-' } else { '+' };
    out.push_str(&format!("{sign}{:02}{:02}", minutes / 60, minutes % 60));
}

/// Returns year and week of ISO 8601: weeks begin on Monday, and the first week
/// of a year contains the year's first Thursday.
fn iso_week(civil: &Civil) -> (i64, i64) {
    let monday_based = (i64::from(civil.weekday) + 6) % 7;
    // The week's Thursday, as a day of this year.
    let thursday = i64::from(civil.year_day) - monday_based + 3;
    let length = |year| if is_leap(year) { 366 } else { 365 };
    if thursday < 0 {
        let year = civil.year - 1;
        (year, (thursday + length(year)) / 7 + 1)
    } else if thursday >= length(civil.year) {
        (civil.year + 1, (thursday - length(civil.year)) / 7 + 1)
    } else {
        (civil.year, thursday / 7 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// date(1) has the same directives; `%k`, `%l` and `%P` are GNU extensions.
    #[test]
    fn agrees_with_date() {
        let directives = "aAbBcCdDeFgGhHIjklmMpPrRsSTuUVwWxXyYzZ%";
        let asked: String = directives.chars().map(|c| format!("[%{c}]")).collect();
        let zone = Zone::utc();
        let mut secs = -4_000_000_000i64;
        while secs < 8_000_000_000 {
            secs += 311_234_567;
            let output = trawl_testkit::oracle::command("date")
                .args(["-u", "-d", &format!("@{secs}"), &format!("+{asked}")])
                .env("LC_ALL", "C")
                .output()
                .expect("date(1) is part of every system");
            let mut ours = String::new();
            format(&mut ours, &asked, &zone.civil(secs), &zone);
            assert_eq!(ours, String::from_utf8_lossy(&output.stdout).trim_end());
        }
    }

    #[test]
    fn unknown_directives_stay() {
        let (mut out, zone) = (String::new(), Zone::utc());
        format(&mut out, "%q %", &zone.civil(0), &zone);
        assert_eq!(out, "%q %");
    }
}
