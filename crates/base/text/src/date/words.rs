//! Splits a date into words.

use trawl_model::Timestamp;

use crate::zone::Zone;

/// A number as it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    /// The value, including its sign.
    pub(super) value: i64,
    pub(super) digits: usize,
    pub(super) is_negative: bool,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    /// This many days.
    Days(i64),
    Hour,
    Minute,
    Second,
}

/// The halves of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Am,
    Pm,
}

/// A word of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Digits without a sign.
    Number(Number),
    /// A sign and digits.
    Signed(Number),
    /// Digits with a fraction; the value is rounded down.
    Fraction(Timestamp),
    SignedFraction(Timestamp),
    Half(Half),
    /// 1 to 12.
    Month(i64),
    /// 0 to 6, from Sunday.
    Weekday(i64),
    /// A zone, in seconds east of UTC.
    Zone(i64),
    /// A summer time zone, in seconds east of UTC without the added hour.
    SummerZone(i64),
    /// The current zone's abbreviation, and whether it is that of summer time.
    Local {
        is_summer: bool,
    },
    Dst,
    Unit(Unit),
    /// `tomorrow`
    Day(i64),
    /// `next`, `third`
    Ordinal(i64),
    /// `ago` or `hence`: the factor for the amount before it.
    Ago(i64),
    /// `T` between a date and a time, or a zone.
    T,
    Other(u8),
}

/// The abbreviations of the current zone, about now.
pub(super) struct Local(Vec<(String, bool)>);

impl Local {
    pub(super) fn around(now: i64, zone: &Zone) -> Local {
        const QUARTER_SECS: i64 = 90 * 86_400;
        let mut names: Vec<(String, bool)> = Vec::new();
        for quarter in 0..4 {
            let at = now.saturating_add(quarter * QUARTER_SECS);
            let is_summer = zone.is_summer(at);
            if names.iter().all(|(_, known)| *known != is_summer) {
                names.push((zone.abbreviation(at), is_summer));
            }
        }
        Local(names)
    }

    fn find(&self, word: &str) -> Option<Word> {
        let found = self.0.iter().find(|(name, _)| name == word)?;
        Some(Word::Local { is_summer: found.1 })
    }
}

const MONTHS: [&str; 12] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];
const WEEKDAYS: [&str; 7] = [
    "SUNDAY",
    "MONDAY",
    "TUESDAY",
    "WEDNESDAY",
    "THURSDAY",
    "FRIDAY",
    "SATURDAY",
];
const SHORT_DAYS: &[(&str, i64)] = &[("TUES", 2), ("WEDNES", 3), ("THUR", 4), ("THURS", 4)];
const ORDINALS: &[(&str, i64)] = &[
    ("LAST", -1),
    ("THIS", 0),
    ("NEXT", 1),
    ("FIRST", 1),
    ("THIRD", 3),
    ("FOURTH", 4),
    ("FIFTH", 5),
    ("SIXTH", 6),
    ("SEVENTH", 7),
    ("EIGHTH", 8),
    ("NINTH", 9),
    ("TENTH", 10),
    ("ELEVENTH", 11),
    ("TWELFTH", 12),
];
const UNITS: &[(&str, Unit)] = &[
    ("YEAR", Unit::Year),
    ("MONTH", Unit::Month),
    ("FORTNIGHT", Unit::Days(14)),
    ("WEEK", Unit::Days(7)),
    ("DAY", Unit::Days(1)),
    ("HOUR", Unit::Hour),
    ("MINUTE", Unit::Minute),
    ("MIN", Unit::Minute),
    ("SECOND", Unit::Second),
    ("SEC", Unit::Second),
];

const MINUTE_SECS: i64 = 60;

/// Names of zones, minutes east of UTC in winter, and whether the name is that
/// of summer time.
const ZONES: &[(&str, i64, bool)] = &[
    ("WET", 0, false),
    ("WEST", 0, true),
    ("BST", 0, true),
    ("ART", -180, false),
    ("BRT", -180, false),
    ("BRST", -180, true),
    ("NST", -210, false),
    ("NDT", -210, true),
    ("AST", -240, false),
    ("ADT", -240, true),
    ("CLT", -240, false),
    ("CLST", -240, true),
    ("EST", -300, false),
    ("EDT", -300, true),
    ("CST", -360, false),
    ("CDT", -360, true),
    ("MST", -420, false),
    ("MDT", -420, true),
    ("PST", -480, false),
    ("PDT", -480, true),
    ("AKST", -540, false),
    ("AKDT", -540, true),
    ("HST", -600, false),
    ("HAST", -600, false),
    ("HADT", -600, true),
    ("SST", -720, false),
    ("WAT", 60, false),
    ("CET", 60, false),
    ("CEST", 60, true),
    ("MET", 60, false),
    ("MEZ", 60, false),
    ("MEST", 60, true),
    ("MESZ", 60, true),
    ("EET", 120, false),
    ("EEST", 120, true),
    ("CAT", 120, false),
    ("SAST", 120, false),
    ("EAT", 180, false),
    ("MSK", 180, false),
    ("MSD", 180, true),
    ("IST", 330, false),
    ("SGT", 480, false),
    ("KST", 540, false),
    ("JST", 540, false),
    ("GST", 600, false),
    ("NZST", 720, false),
    ("NZDT", 720, true),
];

/// Returns the text's words; `None` if one of them is unknown.
pub(super) fn split(text: &[u8], local: &Local) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        match first {
            b' ' | b'\t'..=b'\r' => rest = after,
            b'0'..=b'9' => {
                let (word, behind) = number(rest, None)?;
                words.push(word);
                rest = behind;
            }
            b'+' | b'-' => {
                let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
                let blanks = after.iter().take_while(|byte| is_blank(byte)).count();
                rest = &after[blanks..];
                // A sign before anything else is ignored.
                if rest.first().is_some_and(u8::is_ascii_digit) {
                    let (word, behind) = number(rest, Some(*first == b'-'))?;
                    words.push(word);
                    rest = behind;
                }
            }
            byte if byte.is_ascii_alphabetic() => {
                let is_in_word = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b'.';
                let length = rest.iter().take_while(is_in_word).count();
                let (word, behind) = rest.split_at(length);
                words.push(meaning(
                    &String::from_utf8_lossy(word).to_ascii_uppercase(),
                    local,
                )?);
                rest = behind;
            }
            b'(' => rest = comment(rest),
            byte => {
                words.push(Word::Other(*byte));
                rest = after;
            }
        }
    }
    Some(words)
}

/// Returns the text after a comment. Comments nest; one that is not closed
/// extends to the end of the text.
fn comment(text: &[u8]) -> &[u8] {
    let mut depth = 0u64;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    &[]
}

fn number(text: &[u8], sign: Option<bool>) -> Option<(Word, &[u8])> {
    let is_negative = sign == Some(true);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (whole, rest) = text.split_at(digits);
    let value = whole.iter().try_fold(0i64, |value, digit| {
        let digit = i64::from(digit - b'0');
        let value = value.checked_mul(10)?;
        value.checked_add(if is_negative { -digit } else { digit })
    })?;
    let fraction = match rest {
        [b'.' | b',', fraction @ ..] => fraction,
        _ => &[],
    };
    let length = fraction
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (fraction, behind) = fraction.split_at(length);
    if fraction.is_empty() {
        let number = Number {
            value,
            digits,
            is_negative,
        };
        let word = match sign {
            Some(_) => Word::Signed(number),
            None => Word::Number(number),
        };
        return Some((word, rest));
    }
    let time = with_fraction(value, fraction, is_negative)?;
    let word = match sign {
        Some(_) => Word::SignedFraction(time),
        None => Word::Fraction(time),
    };
    Some((word, behind))
}

fn with_fraction(secs: i64, fraction: &[u8], is_negative: bool) -> Option<Timestamp> {
    let digit = |at: usize| u32::from(fraction.get(at).map_or(0, |digit| digit - b'0'));
    let mut nanos = (0..9).fold(0, |nanos, at| nanos * 10 + digit(at));
    if is_negative && fraction.iter().skip(9).any(|digit| *digit != b'0') {
        nanos += 1;
    }
    match is_negative && nanos > 0 {
        true => Some(Timestamp {
            secs: secs.checked_sub(1)?,
            nanos: 1_000_000_000 - nanos,
        }),
        false => Some(Timestamp { secs, nanos }),
    }
}

/// Returns the meaning of a word of capitals and full stops.
fn meaning(word: &str, local: &Local) -> Option<Word> {
    let unit = |word: &str| find(UNITS, word).map(Word::Unit);
    let plural = || word.strip_suffix('S').and_then(unit);
    half(word)
        .or_else(|| month_or_day(word))
        .or_else(|| zone(word, local))
        .or_else(|| (word == "DST").then_some(Word::Dst))
        .or_else(|| unit(word))
        .or_else(plural)
        .or_else(|| relative(word))
        .or_else(|| military(word))
        .or_else(|| zone(&word.replace('.', ""), local))
}

fn half(word: &str) -> Option<Word> {
    match word {
        "AM" | "A.M." => Some(Word::Half(Half::Am)),
        "PM" | "P.M." => Some(Word::Half(Half::Pm)),
        _ => None,
    }
}

fn month_or_day(word: &str) -> Option<Word> {
    let short = match word.as_bytes() {
        [_, _, _] | [_, _, _, b'.'] => word.get(..3),
        _ => None,
    };
    let is_it = |name: &str| match short {
        Some(short) => name.starts_with(short),
        None => name == word,
    };
    let number = |at: usize| i64::try_from(at).ok();
    if let Some(at) = MONTHS.iter().position(|name| is_it(name)) {
        return number(at + 1).map(Word::Month);
    }
    if word == "SEPT" {
        return Some(Word::Month(9));
    }
    if let Some(at) = WEEKDAYS.iter().position(|name| is_it(name)) {
        return number(at).map(Word::Weekday);
    }
    find(SHORT_DAYS, word).map(Word::Weekday)
}

fn zone(word: &str, local: &Local) -> Option<Word> {
    if matches!(word, "GMT" | "UT" | "UTC") {
        return Some(Word::Zone(0));
    }
    local.find(word).or_else(|| {
        let (_, minutes, is_summer) = ZONES.iter().find(|(name, ..)| *name == word)?;
        Some(match is_summer {
            true => Word::SummerZone(minutes * MINUTE_SECS),
            false => Word::Zone(minutes * MINUTE_SECS),
        })
    })
}

fn relative(word: &str) -> Option<Word> {
    match word {
        "TOMORROW" => Some(Word::Day(1)),
        "YESTERDAY" => Some(Word::Day(-1)),
        "TODAY" | "NOW" => Some(Word::Day(0)),
        "AGO" => Some(Word::Ago(-1)),
        "HENCE" => Some(Word::Ago(1)),
        _ => find(ORDINALS, word).map(Word::Ordinal),
    }
}

/// Returns the zone of a single letter.
fn military(word: &str) -> Option<Word> {
    let [letter] = word.as_bytes() else {
        return None;
    };
    let hours = match letter {
        b'A'..=b'I' => i64::from(letter - b'A') + 1,
        b'K'..=b'M' => i64::from(letter - b'K') + 10,
        b'N'..=b'S' | b'U'..=b'Y' => -1 - i64::from(letter - b'N'),
        b'T' => return Some(Word::T),
        b'Z' => 0,
        _ => return None,
    };
    Some(Word::Zone(hours * 60 * MINUTE_SECS))
}

fn find<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let row = table.iter().find(|(name, _)| *name == word)?;
    Some(row.1)
}
