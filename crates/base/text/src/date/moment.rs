//! Computes the time that the items of a date stand for.

use trawl_model::Timestamp;

use super::items::{Clock, Said, Shift};
use super::words::{Half, Number};
use crate::zone::{Zone, seconds_of};

const DAY_SECS: i64 = 86_400;

/// A date and a time of day on a calendar. The month or the day may be out of
/// range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Local {
    year: i64,
    month: i64,
    day: i64,
    of_day: i64,
}

/// How to determine the offset from UTC.
#[derive(Clone, Copy)]
enum Distance {
    /// The zone's offset at that time.
    Asked,
    /// This many seconds east of UTC, whatever the season.
    Fixed(i64),
    /// The zone's offset at that time, if the zone is then in the season that
    /// `is_summer` says. Otherwise `east` seconds east of UTC, the zone's
    /// offset in that season of this year.
    Season { is_summer: bool, east: i64 },
}

/// Returns the time.
pub(super) fn of(said: &Said, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let seen = said.seen;
    let (of_day, nanos) = time_of_day(said, now, zone)?;
    let local = date(said, now, of_day, zone)?;
    let mut moment = Moment::at(local, said, now, zone)?;
    if seen.days > 0 && seen.dates == 0 {
        moment.go_to_weekday(said.weekday)?;
    }
    moment.shift_date(&said.shift)?;
    let secs = match seen.zones > 0 {
        true => moment
            .secs
            .checked_add(moment.east)?
            .checked_sub(said.zone_secs)?,
        false => moment.secs,
    };
    add_clock(secs, nanos, &said.shift)
}

/// Returns seconds since midnight, and nanoseconds. Without a time of day it is
/// midnight, or the current time if the text only counts from now.
fn time_of_day(said: &Said, now: Timestamp, zone: &Zone) -> Option<(i64, u32)> {
    match &said.clock {
        Some(clock) => Some((of_day(clock)?, clock.nanos)),
        None if said.seen.shifts > 0 && said.seen.dates + said.seen.days == 0 => {
            let civil = zone.civil(now.secs);
            let minutes = i64::from(civil.hour) * 60 + i64::from(civil.minute);
            Some((minutes * 60 + i64::from(civil.second), now.nanos))
        }
        None => Some((0, 0)),
    }
}

fn date(said: &Said, now: Timestamp, of_day: i64, zone: &Zone) -> Option<Local> {
    let today = zone.civil(now.secs);
    let date = said.date.map(|date| (date.month, date.day));
    let (month, day) = date.unwrap_or((today.month.into(), today.day.into()));
    Some(Local {
        year: said.year.map_or(Some(today.year), year_of)?,
        month,
        day,
        of_day,
    })
}

/// A time that is being computed.
struct Moment<'a> {
    zone: &'a Zone,
    local: Local,
    distance: Distance,
    secs: i64,
    /// Seconds that `local` is assumed to be east of UTC.
    east: i64,
}

impl Moment<'_> {
    /// Returns `None` if this is not a valid time in the zone, nor in a zone
    /// that the text names.
    fn at<'a>(local: Local, said: &Said, now: Timestamp, zone: &'a Zone) -> Option<Moment<'a>> {
        let seen = said.seen;
        let distance = if seen.locals > 0 {
            Distance::Season {
                is_summer: said.is_summer,
                east: season(said.is_summer, now.secs, zone),
            }
        } else if seen.dates + seen.days + seen.times > 0 {
            Distance::Asked
        } else {
            // A text that only counts from now keeps the season.
            Distance::Fixed(zone.civil(now.secs).offset_secs.into())
        };
        let (secs, east) = match check(local, distance, zone) {
            Some(secs) => (secs, zone.civil(secs).offset_secs.into()),
            None => {
                let is_elsewhere = seen.zones > 0 && is_on_calendar(local);
                let elsewhere = Distance::Fixed(said.zone_secs);
                let secs = resolve(local, elsewhere, zone).filter(|_| is_elsewhere)?;
                (secs, said.zone_secs)
            }
        };
        Some(Moment {
            zone,
            local,
            distance,
            secs,
            east,
        })
    }

    fn move_to(&mut self, local: Local, distance: Distance) -> Option<()> {
        self.local = local;
        self.secs = resolve(local, distance, self.zone)?;
        self.east = self.zone.civil(self.secs).offset_secs.into();
        Some(())
    }

    fn go_to_weekday(&mut self, weekday: (i64, i64)) -> Option<()> {
        let mut local = self.local;
        let days = days_to(weekday, self.secs, self.zone)?;
        local.day = local.day.checked_add(days)?;
        self.move_to(local, Distance::Asked)?;
        let civil = self.zone.civil(self.secs);
        self.local.year = civil.year;
        (self.local.month, self.local.day) = (civil.month.into(), civil.day.into());
        Some(())
    }

    fn shift_date(&mut self, shift: &Shift) -> Option<()> {
        if (shift.years, shift.months, shift.days) == (0, 0, 0) {
            return Some(());
        }
        let local = Local {
            year: self.local.year.checked_add(shift.years)?,
            month: self.local.month.checked_add(shift.months)?,
            day: self.local.day.checked_add(shift.days)?,
            of_day: self.local.of_day,
        };
        self.move_to(local, self.distance)
    }
}

/// Adds hours and smaller units, which are added to the time itself.
fn add_clock(secs: i64, nanos: u32, shift: &Shift) -> Option<Timestamp> {
    let minutes = shift.hours.checked_mul(60)?.checked_add(shift.minutes)?;
    let secs = secs
        .checked_add(minutes.checked_mul(60)?)?
        .checked_add(shift.secs)?;
    let nanos = i64::from(nanos).checked_add(shift.nanos)?;
    Some(Timestamp {
        secs: secs.checked_add(nanos.div_euclid(1_000_000_000))?,
        nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?,
    })
}

/// Returns the year; two digits stand for 1969 to 2068.
fn year_of(year: Number) -> Option<i64> {
    let century = match (year.digits, year.value) {
        (2, 0..69) => 2000,
        (2, 69..) => 1900,
        _ => 0,
    };
    year.value.checked_add(century)
}

/// Returns seconds since midnight; `None` if the time of day is invalid.
fn of_day(clock: &Clock) -> Option<i64> {
    let hour = match (clock.half, clock.hour) {
        (None, hour @ 0..=23) => hour,
        (Some(Half::Am), 12) => 0,
        (Some(Half::Pm), 12) => 12,
        (Some(Half::Am), hour @ 1..=11) => hour,
        (Some(Half::Pm), hour @ 1..=11) => hour + 12,
        _ => return None,
    };
    let is_shown = (0..60).contains(&clock.minute) && (0..60).contains(&clock.second);
    is_shown.then_some((hour * 60 + clock.minute) * 60 + clock.second)
}

/// Returns the zone's offset from UTC in summer, or in winter.
fn season(is_summer: bool, now: i64, zone: &Zone) -> i64 {
    let quarters = (0..4).map(|quarter| now.saturating_add(quarter * 90 * DAY_SECS));
    let mut found = quarters.filter(|at| zone.is_summer(*at) == is_summer);
    let at = found.next().unwrap_or(now);
    zone.civil(at).offset_secs.into()
}

/// Returns the seconds since 1970 of a local time; `None` if it does not exist.
fn check(local: Local, distance: Distance, zone: &Zone) -> Option<i64> {
    if !is_on_calendar(local) {
        return None;
    }
    let secs = resolve(local, distance, zone)?;
    let offset = i64::from(zone.civil(secs).offset_secs);
    (flat(local)? == secs.checked_add(offset)?).then_some(secs)
}

fn is_on_calendar(local: Local) -> bool {
    let Some(secs) = flat(local) else {
        return false;
    };
    let civil = Zone::utc().civil(secs);
    (local.year, local.month, local.day) == (civil.year, civil.month.into(), civil.day.into())
}

/// Returns the seconds since 1970 if the local time were UTC.
fn flat(local: Local) -> Option<i64> {
    let month = local.month.checked_sub(1)?;
    let year = local.year.checked_add(month.div_euclid(12))?;
    let first = seconds_of(year, month.rem_euclid(12))?;
    let days = local.day.checked_sub(1)?.checked_mul(DAY_SECS)?;
    first.checked_add(days)?.checked_add(local.of_day)
}

/// Returns the seconds since 1970 of a local time. Of two such times, returns
/// the one that is found first starting from UTC. In the gap where clocks were
/// put forward, the result is as if they had not been.
fn resolve(local: Local, distance: Distance, zone: &Zone) -> Option<i64> {
    let flat = flat(local)?;
    match distance {
        Distance::Fixed(offset) => flat.checked_sub(offset),
        Distance::Asked => as_shown(flat, zone),
        Distance::Season { is_summer, east } => {
            let shown = as_shown(flat, zone);
            let is_so = |secs: &i64| zone.is_summer(*secs) == is_summer;
            shown.filter(is_so).or_else(|| flat.checked_sub(east))
        }
    }
}

/// Returns the seconds since 1970 at which clocks of the zone show this time.
fn as_shown(flat: i64, zone: &Zone) -> Option<i64> {
    let (mut guess, mut latest) = (flat, i64::MIN);
    for _ in 0..4 {
        let offset = i64::from(zone.civil(guess).offset_secs);
        let next = flat.checked_sub(offset)?;
        if next == guess {
            return Some(next);
        }
        latest = match guess == flat {
            true => next,
            false => latest.max(next),
        };
        guess = next;
    }
    Some(latest)
}

/// Returns the number of days from the day of `secs` to the given weekday.
fn days_to((count, weekday): (i64, i64), secs: i64, zone: &Zone) -> Option<i64> {
    let today = i64::from(zone.civil(secs).weekday);
    let weeks = match count > 0 && today != weekday {
        true => count - 1,
        false => count,
    };
    let days = (weekday - today).rem_euclid(7);
    weeks.checked_mul(7)?.checked_add(days)
}
