//! Parses the words of a date into items.

use trawl_model::Timestamp;

use super::words::{Half, Number, Unit, Word};

/// Amounts to add to the time at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shift {
    pub(super) years: i64,
    pub(super) months: i64,
    pub(super) days: i64,
    pub(super) hours: i64,
    pub(super) minutes: i64,
    pub(super) secs: i64,
    pub(super) nanos: i64,
}

/// A time of day, not yet validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanos: u32,
    pub(super) half: Option<Half>,
}

/// A month and a day, not yet validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date {
    pub(super) month: i64,
    pub(super) day: i64,
}

/// Number of items of each kind. Only `shifts` may occur more than once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ItemCounts {
    pub(super) dates: u32,
    pub(super) times: u32,
    pub(super) days: u32,
    pub(super) zones: u32,
    pub(super) locals: u32,
    pub(super) shifts: u32,
}

/// All items of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    pub(super) year: Option<Number>,
    pub(super) date: Option<Date>,
    pub(super) clock: Option<Clock>,
    /// The count of a weekday, such as 1 for `next`, and the weekday.
    pub(super) weekday: (i64, i64),
    pub(super) zone_secs: i64,
    pub(super) is_summer: bool,
    pub(super) shift: Shift,
    pub(super) seen: ItemCounts,
}

/// A whole text.
pub(super) enum Text {
    /// `@` and seconds.
    Seconds(Timestamp),
    Items(Said),
}

/// Parses all words; `None` if they are not a valid date.
pub(super) fn read(words: &[Word]) -> Option<Text> {
    if let [Word::Other(b'@'), seconds] = words {
        return Some(Text::Seconds(match seconds {
            Word::Number(number) | Word::Signed(number) => Timestamp {
                secs: number.value,
                nanos: 0,
            },
            Word::Fraction(time) | Word::SignedFraction(time) => *time,
            _ => return None,
        }));
    }
    let mut reader = Reader {
        rest: words,
        said: Said::default(),
    };
    while !reader.rest.is_empty() {
        reader.item()?;
    }
    let seen = reader.said.seen;
    let kinds = [seen.dates, seen.times, seen.days, seen.zones + seen.locals];
    let is_once = kinds.into_iter().all(|times| times <= 1);
    is_once.then_some(Text::Items(reader.said))
}

struct Reader<'a> {
    rest: &'a [Word],
    said: Said,
}

impl Reader<'_> {
    fn peek(&self) -> Option<Word> {
        self.rest.first().copied()
    }

    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn next(&mut self) -> Option<Word> {
        let word = self.peek();
        self.skip();
        word
    }

    /// Takes the next word if it is `word`.
    fn takes(&mut self, word: Word) -> bool {
        let is_it = self.peek() == Some(word);
        if is_it {
            self.skip();
        }
        is_it
    }

    fn item(&mut self) -> Option<()> {
        match self.next()? {
            Word::Number(number) => self.behind_number(number),
            Word::Signed(number) => {
                let unit = self.unit()?;
                self.shift_or_ago(unit, number.value)
            }
            Word::Fraction(time) | Word::SignedFraction(time) => self.fraction(time),
            Word::Unit(unit) => self.shift_or_ago(unit, 1),
            Word::Day(days) => self.add(Unit::Days(1), days),
            Word::Ordinal(count) => match self.next()? {
                Word::Weekday(day) => self.weekday(count, day),
                Word::Unit(unit) => self.shift_or_ago(unit, count),
                _ => None,
            },
            Word::Month(month) => self.behind_month(month),
            Word::Weekday(day) => {
                self.takes(Word::Other(b','));
                self.weekday(0, day)
            }
            Word::Local { is_summer } => {
                self.said.is_summer = is_summer | self.takes(Word::Dst);
                self.said.seen.locals += 1;
                Some(())
            }
            Word::Zone(secs) => self.behind_zone(secs),
            Word::T => {
                self.zone(-7 * 3600);
                match self.peek() {
                    Some(Word::Signed(number)) => self.signed_unit(number),
                    _ => Some(()),
                }
            }
            Word::SummerZone(secs) => {
                self.zone(secs + 3600);
                Some(())
            }
            Word::Half(_) | Word::Dst | Word::Ago(_) | Word::Other(_) => None,
        }
    }

    fn unit(&mut self) -> Option<Unit> {
        match self.next()? {
            Word::Unit(unit) => Some(unit),
            _ => None,
        }
    }

    fn ago(&mut self) -> i64 {
        match self.peek() {
            Some(Word::Ago(sign)) => {
                self.skip();
                sign
            }
            _ => 1,
        }
    }

    fn shift_or_ago(&mut self, unit: Unit, count: i64) -> Option<()> {
        let sign = self.ago();
        self.add(unit, count.checked_mul(sign)?)
    }

    /// Adds a number with a fraction; only seconds can have one.
    fn fraction(&mut self, time: Timestamp) -> Option<()> {
        if !self.takes(Word::Unit(Unit::Second)) {
            return None;
        }
        let sign = self.ago();
        let nanos = i64::from(time.nanos).checked_mul(sign)?;
        self.said.shift.nanos = self.said.shift.nanos.checked_add(nanos)?;
        self.add(Unit::Second, time.secs.checked_mul(sign)?)
    }

    /// Takes the current word, a signed number, and the unit after it.
    fn signed_unit(&mut self, number: Number) -> Option<()> {
        self.skip();
        let unit = self.unit()?;
        self.add(unit, number.value)
    }

    fn add(&mut self, unit: Unit, count: i64) -> Option<()> {
        let shift = &mut self.said.shift;
        let (sum, count) = match unit {
            Unit::Year => (&mut shift.years, count),
            Unit::Month => (&mut shift.months, count),
            Unit::Days(days) => (&mut shift.days, count.checked_mul(days)?),
            Unit::Hour => (&mut shift.hours, count),
            Unit::Minute => (&mut shift.minutes, count),
            Unit::Second => (&mut shift.secs, count),
        };
        *sum = sum.checked_add(count)?;
        self.said.seen.shifts += 1;
        Some(())
    }

    fn weekday(&mut self, count: i64, day: i64) -> Option<()> {
        self.said.weekday = (count, day);
        self.said.seen.days += 1;
        Some(())
    }

    fn zone(&mut self, secs: i64) {
        self.said.zone_secs = secs;
        self.said.seen.zones += 1;
    }

    fn date(&mut self, month: i64, day: i64) {
        self.said.date = Some(Date { month, day });
        self.said.seen.dates += 1;
    }

    fn clock(&mut self, hour: i64, minute: i64, second: Timestamp, half: Option<Half>) {
        self.said.clock = Some(Clock {
            hour,
            minute,
            second: second.secs,
            nanos: second.nanos,
            half,
        });
        self.said.seen.times += 1;
    }

    fn behind_number(&mut self, number: Number) -> Option<()> {
        match self.peek() {
            Some(Word::Half(half)) => {
                self.skip();
                self.clock(number.value, 0, Timestamp::default(), Some(half));
                Some(())
            }
            Some(Word::Other(b':')) => self.time(number, Halves::Allowed),
            Some(Word::Other(b'/')) => self.slashes(number),
            Some(Word::Month(month)) => {
                self.skip();
                self.date(month, number.value);
                if let Some(Word::Number(_) | Word::Signed(_)) = self.peek() {
                    self.said.year = Some(self.dashed_year()?);
                }
                Some(())
            }
            Some(Word::Weekday(day)) => {
                self.skip();
                self.weekday(number.value, day)
            }
            Some(Word::Unit(unit)) => {
                self.skip();
                self.shift_or_ago(unit, number.value)
            }
            Some(Word::Signed(second)) => self.behind_two_numbers(number, second),
            _ => {
                self.digits(number);
                Some(())
            }
        }
    }

    /// Parses `2021-02-03`, `20210203 +1 day`, or an hour and its offset. The
    /// second number is the current word.
    fn behind_two_numbers(&mut self, first: Number, second: Number) -> Option<()> {
        match self.rest.get(1).copied() {
            Some(Word::Signed(third)) => {
                self.rest = self.rest.get(2..).unwrap_or_default();
                self.said.year = Some(first);
                self.date(second.value.checked_neg()?, third.value.checked_neg()?);
                match (self.takes(Word::T), self.peek()) {
                    (false, _) => Some(()),
                    (true, Some(Word::Number(hour))) => {
                        self.skip();
                        self.time(hour, Halves::None)
                    }
                    (true, _) => None,
                }
            }
            Some(Word::Unit(_)) => {
                self.digits(first);
                self.signed_unit(second)
            }
            _ => {
                self.clock(first.value, 0, Timestamp::default(), None);
                self.distance(0)
            }
        }
    }

    /// Parses the rest of a time after its hour.
    fn time(&mut self, hour: Number, halves: Halves) -> Option<()> {
        if !self.takes(Word::Other(b':')) {
            let is_distance = matches!(self.peek(), Some(Word::Signed(_)));
            is_distance.then_some(())?;
            self.clock(hour.value, 0, Timestamp::default(), None);
            return self.distance(0);
        }
        let Word::Number(minute) = self.next()? else {
            return None;
        };
        let mut second = Timestamp::default();
        if self.takes(Word::Other(b':')) {
            second = match self.next()? {
                Word::Number(number) => Timestamp {
                    secs: number.value,
                    nanos: 0,
                },
                Word::Fraction(time) => time,
                _ => return None,
            };
        }
        let half = match self.peek() {
            Some(Word::Half(half)) if halves == Halves::Allowed => {
                self.skip();
                Some(half)
            }
            _ => None,
        };
        self.clock(hour.value, minute.value, second, half);
        match self.peek() {
            Some(Word::Signed(_)) if half.is_none() => self.distance(0),
            _ => Some(()),
        }
    }

    /// Parses an offset from UTC at the current word, and adds it to that of a
    /// zone.
    fn distance(&mut self, zone_secs: i64) -> Option<()> {
        let Word::Signed(number) = self.next()? else {
            return None;
        };
        let minutes = match self.takes(Word::Other(b':')) {
            true => match self.next()? {
                Word::Number(minutes) => {
                    let hours = number.value.checked_mul(60)?;
                    match number.is_negative {
                        true => hours.checked_sub(minutes.value)?,
                        false => hours.checked_add(minutes.value)?,
                    }
                }
                _ => return None,
            },
            false if number.digits <= 2 => number.value * 60,
            false => (number.value / 100)
                .checked_mul(60)?
                .checked_add(number.value % 100)?,
        };
        (minutes.unsigned_abs() <= 24 * 60).then_some(())?;
        self.zone(zone_secs + minutes * 60);
        Some(())
    }

    fn behind_zone(&mut self, secs: i64) -> Option<()> {
        match (self.peek(), self.rest.get(1)) {
            (Some(Word::Signed(number)), Some(Word::Unit(_))) => {
                self.zone(secs);
                self.signed_unit(number)
            }
            (Some(Word::Signed(_)), _) => self.distance(secs),
            (Some(Word::Dst), _) => {
                self.skip();
                self.zone(secs + 3600);
                Some(())
            }
            _ => {
                self.zone(secs);
                Some(())
            }
        }
    }

    /// Parses `3/14`, `3/14/2021` and `2021/3/14`.
    fn slashes(&mut self, first: Number) -> Option<()> {
        self.skip();
        let Word::Number(second) = self.next()? else {
            return None;
        };
        if !self.takes(Word::Other(b'/')) {
            self.date(first.value, second.value);
            return Some(());
        }
        let Word::Number(third) = self.next()? else {
            return None;
        };
        match first.digits >= 4 {
            true => {
                self.said.year = Some(first);
                self.date(second.value, third.value);
            }
            false => {
                self.said.year = Some(third);
                self.date(first.value, second.value);
            }
        }
        Some(())
    }

    /// Parses a year; the sign before it may be a dash.
    fn dashed_year(&mut self) -> Option<Number> {
        match self.next()? {
            Word::Number(year) => Some(year),
            Word::Signed(year) => Some(Number {
                value: year.value.checked_abs()?,
                // After a plus sign, it is a year of the first century.
                digits: if year.is_negative { year.digits } else { 4 },
                ..year
            }),
            _ => None,
        }
    }

    fn behind_month(&mut self, month: i64) -> Option<()> {
        match self.next()? {
            Word::Number(day) => {
                self.date(month, day.value);
                if self.takes(Word::Other(b',')) {
                    match self.next()? {
                        Word::Number(year) => self.said.year = Some(year),
                        _ => return None,
                    }
                }
                Some(())
            }
            Word::Signed(day) => {
                self.date(month, day.value.checked_neg()?);
                let is_dashed = matches!(self.peek(), Some(Word::Signed(_)));
                self.said.year = Some(self.dashed_year().filter(|_| is_dashed)?);
                Some(())
            }
            _ => None,
        }
    }

    /// Interprets a number that stands alone.
    fn digits(&mut self, number: Number) {
        let (value, digits) = (number.value, number.digits);
        let ItemCounts {
            dates,
            times,
            shifts,
            ..
        } = self.said.seen;
        let wants_year = dates > 0 && self.said.year.is_none() && shifts == 0;
        if wants_year && (times > 0 || digits > 2) {
            self.said.year = Some(number);
        } else if digits > 4 {
            self.date(value / 100 % 100, value % 100);
            self.said.year = Some(Number {
                value: value / 10_000,
                digits: digits - 4,
                is_negative: false,
            });
        } else {
            let (hour, minute) = match digits <= 2 {
                true => (value, 0),
                false => (value / 100, value % 100),
            };
            self.clock(hour, minute, Timestamp::default(), None);
        }
    }
}

/// Whether a time may be followed by `am` or `pm`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Halves {
    Allowed,
    None,
}
