//! Formats times as date(1), `ls --time-style=+…` and `du --time-style=+…` do:
//! [`crate::strftime`] with flags, widths and fractions.
//!
//! `%-d` has no padding, `%_d` is padded with spaces, `%05e` with zeros, `%^a`
//! is in upper case, `%#Z` in the opposite case, `%3N` is the first digits of
//! the nanoseconds, and `%:z` to `%:::z` are zone offsets with colons. Source:
//! coreutils manual, "date invocation".

use trawl_model::Timestamp;

use crate::strftime;
use crate::zone::{Civil, Zone};

/// Maximum width of padding.
const WIDTH_MAX: usize = 4096;
const NANO_DIGITS: usize = 9;

/// The flags, width and modifiers of a directive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spec {
    pad: Option<char>,
    upper: bool,
    swap: bool,
    width: Option<usize>,
    colons: usize,
}

/// Appends `format` with its directives replaced for `time`.
pub fn format(out: &mut String, format: &str, time: Timestamp, zone: &Zone) {
    let civil = zone.civil(time.secs);
    let moment = Moment { time, civil, zone };
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('%') {
        out.push_str(text);
        let (spec, letter, after) = parse(behind);
        // A second percent sign is a directive only if it follows the first one
        // directly.
        let letter = letter.filter(|letter| *letter != '%' || behind.starts_with('%'));
        if letter.is_some_and(|letter| spec == Spec::default() && moment.push_plain(out, letter)) {
            rest = after;
            continue;
        }
        match letter.and_then(|letter| moment.directive(letter, spec)) {
            Some(shown) => out.push_str(&shown),
            None => {
                // It is not a directive, so it is copied as it is.
                out.push('%');
                out.push_str(&behind[..behind.len() - after.len()]);
            }
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Returns flags, width, modifiers and letter of a directive, and the text
/// after it.
fn parse(text: &str) -> (Spec, Option<char>, &str) {
    let mut spec = Spec::default();
    let mut rest = text;
    while let Some(flag) = rest.chars().next() {
        match flag {
            '-' | '_' | '0' | '+' => spec.pad = Some(flag),
            '^' => spec.upper = true,
            '#' => spec.swap = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 {
        let width = rest[..digits].parse().unwrap_or(WIDTH_MAX);
        spec.width = Some(width.min(WIDTH_MAX));
        rest = &rest[digits..];
    }
    rest = rest.strip_prefix(['E', 'O']).unwrap_or(rest);
    while let Some(after) = rest.strip_prefix(':') {
        spec.colons += 1;
        rest = after;
    }
    let letter = rest.chars().next();
    let after = letter.map_or(rest, |letter| &rest[letter.len_utf8()..]);
    (spec, letter, after)
}

struct Moment<'a> {
    time: Timestamp,
    civil: Civil,
    zone: &'a Zone,
}

impl Moment<'_> {
    /// Appends the value of a common directive without flags and width, as [`Moment::directive`]
    /// returns it, but without allocating. Returns false if it appended nothing.
    fn push_plain(&self, out: &mut String, letter: char) -> bool {
        let (value, digits, filler) = match letter {
            'a' | 'A' | 'b' | 'B' | 'h' | 'p' | 'R' | 'T' => {
                strftime::directive(out, letter, &self.civil, self.zone);
                return true;
            }
            's' => return false,
            'Y' => (self.civil.year, 4, '0'),
            letter => match strftime::number(letter, &self.civil) {
                Some(number) => number,
                None => return false,
            },
        };
        // The sign of a negative number counts towards its width.
        if value < 0 {
            return false;
        }
        strftime::push_padded(out, value, digits, filler);
        true
    }

    /// Returns the value of a directive; `None` if it does not exist.
    fn directive(&self, letter: char, spec: Spec) -> Option<String> {
        if spec.colons > 0 && letter != 'z' {
            return None;
        }
        match letter {
            'N' => Some(self.fraction(spec)),
            's' => Some(number(self.time.secs, 1, '0', spec)),
            'q' => Some(number((i64::from(self.civil.month) + 2) / 3, 1, '0', spec)),
            'z' => self.offset(spec),
            'Y' => Some(number(self.civil.year, 4, '0', spec)),
            'F' => Some(self.date(spec)),
            'D' => Some(self.american_date(spec)),
            _ => match strftime::number(letter, &self.civil) {
                Some((value, digits, pad)) => Some(number(value, digits, pad, spec)),
                None => self.text(letter, spec),
            },
        }
    }

    fn text(&self, letter: char, spec: Spec) -> Option<String> {
        if !"aAbBchnpPrRtTxXZ%".contains(letter) {
            return None;
        }
        let mut plain = String::new();
        strftime::directive(&mut plain, letter, &self.civil, self.zone);
        let cased = match (spec.upper, spec.swap, letter) {
            (_, true, 'p' | 'Z') => plain.to_lowercase(),
            (_, true, 'a' | 'A' | 'b' | 'B' | 'h') => plain.to_uppercase(),
            (true, _, letter) if letter != 'P' => plain.to_uppercase(),
            _ => plain,
        };
        let filler = if matches!(spec.pad, Some('0' | '+')) {
            '0'
        } else {
            ' '
        };
        Some(padded(&cased, filler, spec))
    }

    /// Returns the first digits of the nanoseconds.
    fn fraction(&self, spec: Spec) -> String {
        let width = spec.width.filter(|width| *width > 0).unwrap_or(NANO_DIGITS);
        let digits = format!("{:09}", self.time.nanos);
        let kept = digits.get(..width.min(NANO_DIGITS)).unwrap_or(&digits);
        match spec.pad {
            Some('-') => one_at_least(kept.trim_end_matches('0')),
            Some('_') => format!("{:<width$}", one_at_least(kept.trim_end_matches('0'))),
            _ => format!("{kept:0<width$}"),
        }
    }

    /// Returns `+0100`, `+01:00`, `+01:00:00`, or as much of it as is
    /// necessary.
    fn offset(&self, spec: Spec) -> Option<String> {
        let offset = self.civil.offset_secs;
        let whole = offset.unsigned_abs();
        let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
        // Padding goes before the first digit that is required.
        let (digits, text) = match (spec.colons, minutes, seconds) {
            (0, ..) => (5, bare(&format!("{hours:02}{minutes:02}")).to_owned()),
            (1, ..) | (3, 1.., 0) => (6, format!("{hours}:{minutes:02}")),
            (2, ..) | (3, _, 1..) => (9, format!("{hours}:{minutes:02}:{seconds:02}")),
            (3, 0, 0) => (3, hours.to_string()),
            _ => return None,
        };
        let sign = if offset < 0 { "-" } else { "+" };
        Some(laid_out(sign, &text, digits, '0', spec))
    }

    /// The padding flag applies to the year.
    fn american_date(&self, spec: Spec) -> String {
        let year = Spec {
            width: None,
            ..spec
        };
        let year = number(self.civil.year.rem_euclid(100), 2, '0', year);
        let text = format!("{:02}/{:02}/{year}", self.civil.month, self.civil.day);
        let filler = if matches!(spec.pad, Some('0' | '+')) {
            '0'
        } else {
            ' '
        };
        padded(&text, filler, spec)
    }

    fn date(&self, spec: Spec) -> String {
        let width = spec.width.map_or(4, |width| width.saturating_sub(6));
        let year = Spec {
            width: Some(width),
            ..spec
        };
        let year = number(self.civil.year, 4, '0', year);
        format!("{year}-{:02}-{:02}", self.civil.month, self.civil.day)
    }
}

/// Removes leading zeros.
fn bare(digits: &str) -> &str {
    let bare = digits.trim_start_matches('0');
    if bare.is_empty() { "0" } else { bare }
}

fn one_at_least(digits: &str) -> String {
    if digits.is_empty() { "0" } else { digits }.to_owned()
}

/// Formats a number with the directive's own digits and filler, or with those
/// that `spec` asks for.
fn number(value: i64, digits: usize, filler: char, spec: Spec) -> String {
    let width = spec.width.unwrap_or(digits);
    let plain = value.unsigned_abs().to_string();
    let sign = match (value < 0, spec.pad) {
        (true, _) => "-",
        (false, Some('+')) if digits == 4 && (plain.len() > 4 || width > 4) => "+",
        _ => "",
    };
    laid_out(sign, &plain, digits, filler, spec)
}

fn laid_out(sign: &str, plain: &str, digits: usize, filler: char, spec: Spec) -> String {
    let filler = match spec.pad {
        Some('_') => ' ',
        Some('0' | '+') => '0',
        _ => filler,
    };
    let room = match spec.pad {
        Some('-') => 0,
        _ => {
            let width = spec.width.unwrap_or(digits);
            width.saturating_sub(plain.len() + sign.len())
        }
    };
    let fill: String = std::iter::repeat_n(filler, room).collect();
    match filler {
        ' ' => format!("{fill}{sign}{plain}"),
        _ => format!("{sign}{fill}{plain}"),
    }
}

fn padded(text: &str, filler: char, spec: Spec) -> String {
    let width = match spec.pad {
        Some('-') => 0,
        _ => spec.width.unwrap_or(0),
    };
    let room = width.saturating_sub(text.chars().count());
    let fill: String = std::iter::repeat_n(filler, room).collect();
    fill + text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The oracle is ls(1): date(1) changes some formats before it uses them.
    fn shown_by_ls(asked: &str, time: Timestamp) -> String {
        let file = std::env::temp_dir().join(format!("trawl-date-{}", std::process::id()));
        let touch = trawl_testkit::oracle::command("touch")
            .args(["-d", &format!("@{}.{:09}", time.secs, time.nanos)])
            .arg(&file)
            .status();
        assert!(touch.expect("touch(1) is part of every system").success());
        let output = trawl_testkit::oracle::command("ls")
            .arg(format!("--time-style=+<<{asked}>>"))
            .args(["-go", "-d"])
            .arg(&file)
            .env("LC_ALL", "C")
            .env("TZ", "UTC0")
            .output()
            .expect("ls(1) is part of every system");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let _ = std::fs::remove_file(&file);
        let shown = text
            .split_once("<<")
            .and_then(|(_, rest)| rest.rsplit_once(">>"));
        shown.expect("a time").0.to_owned()
    }

    #[test]
    fn agrees_with_ls() {
        let directives = "aAbBcCdDeFgGhHIjklmMNpPqrRsSTuUVwWxXyYzZ";
        let flags = [
            "", "-", "_", "0", "^", "#", "3", "12", "-12", "_12", "012", "^10",
        ];
        // ls has room for a thousand bytes.
        let mut formats = vec!["[%:z][%::z][%:::z][%Q][%%][%".to_owned()];
        for flag in flags {
            let fields = directives.chars();
            formats.push(fields.map(|letter| format!("[%{flag}{letter}]")).collect());
        }
        let zone = Zone::utc();
        for (secs, nanos) in [
            (0, 0),
            (-2_000_000_000, 0),
            (1_700_000_000, 120_000_000),
            (1_704_067_199, 999_999_999),
            (951_782_400, 1_000),
        ] {
            let time = Timestamp { secs, nanos };
            for asked in &formats {
                let mut ours = String::new();
                format(&mut ours, asked, time, &zone);
                let theirs = shown_by_ls(asked, time);
                let split = |text: &str| text.split("][").map(String::from).collect::<Vec<_>>();
                let (ours, theirs, places) = (split(&ours), split(&theirs), split(asked));
                assert_eq!(ours.len(), theirs.len());
                for ((place, ours), theirs) in places.iter().zip(&ours).zip(&theirs) {
                    assert_eq!(ours, theirs, "{place} of {time:?}");
                }
            }
        }
    }
}
