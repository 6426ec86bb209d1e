//! Compares times with the present: `-mtime`, `-mmin` and related tests.
//!
//! GNU find measures ages from a reference time, and an age equals N if it lies
//! in a window of one unit. Fractions are allowed. The arithmetic below is GNU
//! find's, including the one-second asymmetry of `-mtime -N`.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, Timestamp};

use crate::compare::{Relation, between, split_relation};
use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;

/// Seconds per day.
pub const DAY_SECS: i64 = 86_400;
/// Seconds per minute.
pub const MINUTE_SECS: i64 = 60;

/// One of an entry's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// Last access.
    Access,
    /// Creation.
    Birth,
    /// Last change of the inode.
    Change,
    /// Last change of the content.
    Modification,
}

impl Which {
    /// Returns this time of a row; `None` if it is not known.
    pub fn of(self, row: &Row<'_>) -> Option<Timestamp> {
        match self {
            Which::Access => Some(row.atime()),
            Which::Birth => row.btime(),
            Which::Change => Some(row.ctime()),
            Which::Modification => Some(row.mtime()),
        }
    }

    /// The columns that hold this time.
    pub const fn columns(self) -> ColumnSet {
        match self {
            Which::Access => ColumnSet::of(&[Column::Atime, Column::AtimeNs]),
            Which::Birth => ColumnSet::of(&[Column::Btime, Column::BtimeNs]),
            Which::Change => ColumnSet::of(&[Column::Ctime, Column::CtimeNs]),
            Which::Modification => ColumnSet::of(&[Column::Mtime, Column::MtimeNs]),
        }
    }

    /// A condition that this time's seconds lie from `low` to `high`; empty for
    /// a time that may be missing.
    pub fn seconds_between(self, low: i128, high: i128) -> Filter {
        match self {
            Which::Access => between(Column::Atime, low, high),
            Which::Birth => Filter::default(),
            Which::Change => between(Column::Ctime, low, high),
            Which::Modification => between(Column::Mtime, low, high),
        }
    }
}

/// An age that an argument gives, as a window of times to compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// How a time must relate to `reference`. A greater age means a smaller
    /// time.
    pub relation: Relation,
    /// The time to compare with.
    pub reference: Timestamp,
    /// For `Equal`: length of the window after the reference, in seconds.
    pub unit_secs: i64,
}

impl Window {
    /// Parses `N`, `+N` or `-N` units before `origin`. Returns `None` if `text`
    /// is not a number.
    pub fn parse(text: &[u8], origin: Timestamp, unit_secs: i64) -> Option<Window> {
        let (relation, number) = split_relation(text);
        let seconds = parse_float(number)? * unit_secs as f64;
        let whole = seconds.trunc();
        let nanos = ((seconds - whole) * 1e9) as i64;
        let mut secs = origin.secs.saturating_sub(whole as i64);
        let mut nanos = i64::from(origin.nanos) - nanos;
        if nanos < 0 {
            nanos += 1_000_000_000;
            secs = secs.saturating_sub(1);
        }
        if nanos >= 1_000_000_000 {
            nanos -= 1_000_000_000;
            secs = secs.saturating_add(1);
        }
        Some(Window {
            relation: match relation {
                Relation::Less => Relation::Greater,
                Relation::Equal => Relation::Equal,
                Relation::Greater => Relation::Less,
            },
            reference: Timestamp {
                secs,
                nanos: nanos as u32,
            },
            unit_secs,
        })
    }

    /// Whether `time` lies in the window.
    pub fn holds(&self, time: Timestamp) -> bool {
        match self.relation {
            Relation::Less => time < self.reference,
            Relation::Greater => time > self.reference,
            Relation::Equal => {
                let delta = time.as_nanos() - self.reference.as_nanos();
                delta > 0 && delta <= i128::from(self.unit_secs) * 1_000_000_000
            }
        }
    }

    /// The range of seconds, inclusive, of all times in the window.
    pub fn seconds(&self) -> (i128, i128) {
        let reference = i128::from(self.reference.secs);
        match self.relation {
            Relation::Less => (i128::from(i64::MIN), reference),
            Relation::Greater => (reference, i128::from(i64::MAX)),
            Relation::Equal => (reference, reference + i128::from(self.unit_secs) + 1),
        }
    }
}

/// Parses a number as strtod(3) does, but returns `None` for `nan`, at which
/// GNU find fails an assertion.
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    let is_blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let text = std::str::from_utf8(text).ok()?.trim_start_matches(is_blank);
    let (sign, unsigned) = match text.as_bytes() {
        [b'-', ..] => (-1.0, &text[1..]),
        [b'+', ..] => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    match unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")) {
        Some(digits) => parse_hex_float(digits).map(|number| sign * number),
        None => text.parse::<f64>().ok().filter(|n| !n.is_nan()),
    }
}

/// Parses a number such as `1.8p3`. All parts but digits on one side of the
/// point may be missing.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = 0.0;
    let mut weight = 1.0;
    for digit in whole.chars() {
        number = number * 16.0 + f64::from(digit.to_digit(16)?);
    }
    for digit in fraction.chars() {
        weight /= 16.0;
        number += weight * f64::from(digit.to_digit(16)?);
    }
    // Greater exponents change no number that is finite and not zero.
    Some(number * 2f64.powi(exponent.clamp(-2_000, 2_000)))
}

/// A test of one of an entry's times.
#[derive(Debug)]
pub struct Age {
    which: Which,
    window: Window,
}

impl Age {
    /// Parses `-mtime` and related tests: days, counted from now or, after
    /// `-daystart`, from the end of today.
    pub fn in_days(args: &mut Arguments<'_>, which: Which) -> Result<Box<dyn Leaf>, FindError> {
        let text = args.value()?;
        let mut origin = args.day_origin();
        if split_relation(text).0 == Relation::Less {
            // GNU find's own reading of "less than N days ago".
            origin.secs = origin.secs.saturating_add(DAY_SECS - 1);
        }
        let window = Window::parse(text, origin, DAY_SECS).ok_or_else(|| args.invalid(text))?;
        Ok(Box::new(Age { which, window }))
    }

    /// Parses `-mmin` and related tests: minutes, counted from now or, after
    /// `-daystart`, from the end of today.
    pub fn in_minutes(args: &mut Arguments<'_>, which: Which) -> Result<Box<dyn Leaf>, FindError> {
        let text = args.value()?;
        let mut origin = args.day_origin();
        origin.secs = origin.secs.saturating_add(DAY_SECS);
        let window = Window::parse(text, origin, MINUTE_SECS).ok_or_else(|| args.invalid(text))?;
        Ok(Box::new(Age { which, window }))
    }
}

impl Leaf for Age {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.which
            .of(row)
            .is_some_and(|time| self.window.holds(time))
    }

    fn moment(&self) -> Option<Timestamp> {
        Some(self.window.reference)
    }

    fn filter(&self) -> Filter {
        let (low, high) = self.window.seconds();
        self.which.seconds_between(low, high)
    }
}

/// A test of whether one of an entry's times is later than a given time.
#[derive(Debug)]
pub struct Newer {
    /// The time of the entry.
    pub which: Which,
    /// The given time.
    pub than: Timestamp,
}

impl Newer {
    /// Reads the name of a file, with whose time of modification the predicate
    /// `name` compares.
    pub(crate) fn than_file(
        args: &mut Arguments<'_>,
        name: &'static str,
        which: Which,
    ) -> Result<Box<dyn Leaf>, FindError> {
        let than = args.reference(name)?.mtime;
        Ok(Box::new(Newer { which, than }))
    }
}

impl Leaf for Newer {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.which.of(row).is_some_and(|time| time > self.than)
    }

    fn moment(&self) -> Option<Timestamp> {
        Some(self.than)
    }

    fn filter(&self) -> Filter {
        self.which
            .seconds_between(i128::from(self.than.secs), i128::from(i64::MAX))
    }

    fn columns(&self) -> ColumnSet {
        self.which.columns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64, nanos: u32) -> Timestamp {
        Timestamp { secs, nanos }
    }

    #[test]
    fn windows_are_open_below_and_closed_above() {
        let origin = at(1_000_000, 5);
        let window = Window::parse(b"2", origin, 60).unwrap();
        for (time, expected) in [
            (at(999_880, 5), false),
            (at(999_880, 6), true),
            (at(999_940, 5), true),
            (at(999_940, 6), false),
        ] {
            assert_eq!(window.holds(time), expected, "{time:?}");
        }
        let less = Window::parse(b"-1.5", origin, 60).unwrap();
        assert!(less.holds(at(999_911, 0)) && !less.holds(at(999_910, 5)));
        let more = Window::parse(b"+0", origin, 60).unwrap();
        assert!(more.holds(at(1_000_000, 4)) && !more.holds(at(1_000_000, 5)));
    }

    #[test]
    fn odd_numbers_are_no_danger() {
        for text in [
            "1e300", "inf", "-1e300", "+inf", "--1e300", "0x10", " 1", "1e-9", "0x1p9999", "-0x.8",
        ] {
            for origin in [at(i64::MIN, 0), at(0, 999_999_999), at(i64::MAX, 1)] {
                let window = Window::parse(text.as_bytes(), origin, DAY_SECS).expect(text);
                let _ = (window.holds(at(i64::MIN, 0)), window.seconds());
            }
        }
        for text in ["", "x", "1d", "nan", "0x", "0x.", "0x1p", "0xg", "1 ", "+"] {
            assert_eq!(Window::parse(text.as_bytes(), at(0, 0), 60), None, "{text}");
        }
    }
}
