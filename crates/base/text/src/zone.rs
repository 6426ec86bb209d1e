//! The local time zone, and the calendar.
//!
//! The zone is read when the first time is converted, never before. The
//! calendar is the proleptic Gregorian one for every `i64` second. Beyond the
//! range of the zone library (year 9999), the same instant a whole number of
//! 400-year cycles away is used instead; its calendar and rules are the same.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The file of the system's time zone, localtime(5).
const LOCAL_TIME: &str = "/etc/localtime";
/// The folder of the time zones, unless `TZDIR` names another.
const ZONE_FOLDER: &str = "/usr/share/zoneinfo";
/// Maximum number of bytes read of a zone's file; the longest have some thousand.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// When summer time begins and ends if `TZ` does not say, as in the C library.
const DEFAULT_RULE: &str = ",M3.2.0,M11.1.0";
const DAY_SECS: i64 = 86_400;
/// 400 Gregorian years: 146,097 days, a whole number of weeks.
const CYCLE_SECS: i64 = 146_097 * DAY_SECS;
/// Up to this distance from 1970, the zone library is asked for the instant
/// itself.
const ASKED_SECS: i64 = 250_000_000_000;

/// A time zone that is read on first use.
#[derive(Debug, Default)]
pub struct Zone {
    zone: OnceLock<TimeZone>,
}

/// An instant as clocks and calendars of a zone show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub unix_secs: i64,
    /// Astronomical year (0 is 1 BC).
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// Days since Sunday, 0 to 6.
    pub weekday: u8,
    /// Days since 1 January, 0 to 365.
    pub year_day: u16,
    /// Seconds east of UTC.
    pub offset_secs: i32,
}

impl Zone {
    /// The zone that `TZ` or `/etc/localtime` specifies; UTC if there is none.
    pub const fn local() -> Zone {
        Zone {
            zone: OnceLock::new(),
        }
    }

    /// UTC.
    pub fn utc() -> Zone {
        Zone {
            zone: OnceLock::from(TimeZone::UTC),
        }
    }

    /// Returns the zone of a `TZ` value, a place or rules; UTC if it is
    /// neither.
    pub(crate) fn named(name: &str) -> Zone {
        // A question may come from another user, whose names stay within the folder.
        let path = Path::new(name.strip_prefix(':').unwrap_or(name));
        let is_below = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let zone = match is_below {
            true => zone_of(OsStr::new(name), &zone_folder()),
            false => TimeZone::UTC,
        };
        Zone {
            zone: OnceLock::from(zone),
        }
    }

    fn get(&self) -> &TimeZone {
        self.zone.get_or_init(system)
    }

    /// Returns the calendar date and the time of day at `unix_secs`.
    pub fn civil(&self, unix_secs: i64) -> Civil {
        let offset = self.get().to_offset(stand_in(unix_secs)).seconds();
        civil_at(unix_secs, offset)
    }

    /// Returns the zone's abbreviation at `unix_secs`, such as `CET` or `-03`.
    pub fn abbreviation(&self, unix_secs: i64) -> String {
        let info = self.get().to_offset_info(stand_in(unix_secs));
        info.abbreviation().to_owned()
    }

    /// Returns true if clocks show summer time at `unix_secs`.
    pub(crate) fn is_summer(&self, unix_secs: i64) -> bool {
        self.get()
            .to_offset_info(stand_in(unix_secs))
            .dst()
            .is_dst()
    }

    /// Returns the start of the day of `unix_secs` as find(1) computes it for
    /// `-daystart`: it subtracts the time of day, even if the clock was changed
    /// since midnight.
    pub fn day_start(&self, unix_secs: i64) -> i64 {
        let civil = self.civil(unix_secs);
        let since = i64::from(civil.hour) * 3600 + i64::from(civil.minute) * 60;
        unix_secs.saturating_sub(since + i64::from(civil.second))
    }
}

/// Returns the zone of this process. The zone's name is not needed, so the file
/// is read directly: to find the name, the library would list all zones.
fn system() -> TimeZone {
    if let Some(name) = std::env::var_os("TZ") {
        return zone_of(&name, &zone_folder());
    }
    let zone = zone_in(Path::new(LOCAL_TIME));
    zone.unwrap_or_else(|| TimeZone::try_system().unwrap_or(TimeZone::UTC))
}

fn zone_folder() -> PathBuf {
    let folder = std::env::var_os("TZDIR").filter(|folder| !folder.is_empty());
    folder.map_or_else(|| PathBuf::from(ZONE_FOLDER), PathBuf::from)
}

/// Returns the zone in a file, tzfile(5).
fn zone_in(file: &Path) -> Option<TimeZone> {
    // Opening a device or a FIFO may wait or have effects.
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(file).ok()?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif("", &bytes).ok()
}

/// Returns the zone of a `TZ` value as the C library does: that of a file in
/// `folder`, or else of rules, or else UTC under the name that the value begins
/// with. Case matters in the names of files.
fn zone_of(name: &OsStr, folder: &Path) -> TimeZone {
    let bytes = name.as_bytes();
    let name = OsStr::from_bytes(bytes.strip_prefix(b":").unwrap_or(bytes));
    if name.is_empty() {
        return TimeZone::UTC;
    }
    if let Some(zone) = zone_in(&folder.join(name)) {
        return zone;
    }
    let Some(name) = name.to_str() else {
        return TimeZone::UTC;
    };
    by_rules(name)
        .or_else(|| in_library(name))
        .or_else(|| utc_called(name))
        .unwrap_or(TimeZone::UTC)
}

/// Returns the zone of rules such as `CET-1CEST,M3.5.0,M10.5.0/3`, of which the
/// dates may be missing.
fn by_rules(rules: &str) -> Option<TimeZone> {
    if let Ok(zone) = TimeZone::posix(rules) {
        return Some(zone);
    }
    let names = rules.strip_suffix(',').unwrap_or(rules);
    if names.contains(',') {
        return None;
    }
    TimeZone::posix(&format!("{names}{DEFAULT_RULE}")).ok()
}

/// Returns the zone of exactly this name in the zone library, which knows
/// further folders.
fn in_library(name: &str) -> Option<TimeZone> {
    let zone = TimeZone::get(name).ok()?;
    (zone.iana_name() == Some(name)).then_some(zone)
}

/// Returns UTC under the name at the beginning of a value that is no zone:
/// `Nowhere` for `Nowhere/City`.
fn utc_called(value: &str) -> Option<TimeZone> {
    let end = value.find(|c: char| !c.is_ascii_alphabetic());
    let (name, _) = value.split_at(end.unwrap_or(value.len()));
    TimeZone::posix(&format!("{name}0")).ok()
}

fn stand_in(unix_secs: i64) -> Timestamp {
    let secs = if unix_secs.unsigned_abs() <= ASKED_SECS.unsigned_abs() {
        unix_secs
    } else if unix_secs > 0 {
        ASKED_SECS - CYCLE_SECS + (unix_secs - ASKED_SECS).rem_euclid(CYCLE_SECS)
    } else {
        -ASKED_SECS + unix_secs.saturating_add(ASKED_SECS).rem_euclid(CYCLE_SECS)
    };
    Timestamp::from_second(secs).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the calendar date and time of day at a fixed offset from UTC.
fn civil_at(unix_secs: i64, offset_secs: i32) -> Civil {
    let local = i128::from(unix_secs) + i128::from(offset_secs);
    let days = local.div_euclid(i128::from(DAY_SECS)) as i64;
    let of_day = local.rem_euclid(i128::from(DAY_SECS)) as u32;
    let (year, month, day) = date_of(days);
    let first = days_before_year(year);
    Civil {
        unix_secs,
        year,
        month,
        day,
        hour: (of_day / 3600) as u8,
        minute: (of_day / 60 % 60) as u8,
        second: (of_day % 60) as u8,
        // 1970-01-01 was a Thursday.
        weekday: (days + 4).rem_euclid(7) as u8,
        year_day: (days - first) as u16,
        offset_secs,
    }
}

/// Days from 1970-01-01 to 1 January of `year`.
fn days_before_year(year: i64) -> i64 {
    let y = year - 1;
    y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) - 719_162
}

/// Returns the seconds from 1970 to the start of a month in UTC; months count
/// from 0.
pub(crate) fn seconds_of(year: i64, month: i64) -> Option<i64> {
    // For these years, no sum of days overflows.
    let year = Some(year).filter(|year| year.unsigned_abs() < 1 << 40)?;
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months = lengths.get(..usize::try_from(month).ok()?)?;
    let days = days_before_year(year) + months.iter().sum::<i64>();
    days.checked_mul(DAY_SECS)
}

/// Returns true for years with a 29 February.
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns year, month (1 to 12) and day of month of the day `days` after
/// 1970-01-01.
fn date_of(days: i64) -> (i64, u8, u8) {
    let cycle = days.div_euclid(146_097);
    let within = days.rem_euclid(146_097);
    // The guess is never too late, and at most one year too early.
    let mut year = 1970 + cycle * 400 + within / 366;
    while days_before_year(year + 1) <= days {
        year += 1;
    }
    let mut left = (days - days_before_year(year)) as u16;
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// jiff's own calendar is the oracle within its range.
        #[test]
        fn the_calendar_is_that_of_the_library(secs in -300_000_000_000i64..253_402_200_000) {
            let ours = Zone::utc().civil(secs);
            let theirs = Timestamp::from_second(secs).unwrap().to_zoned(TimeZone::UTC);
            prop_assert_eq!(ours.year, i64::from(theirs.year()));
            prop_assert_eq!(i64::from(ours.month), i64::from(theirs.month()));
            prop_assert_eq!(i64::from(ours.day), i64::from(theirs.day()));
            prop_assert_eq!(i64::from(ours.hour), i64::from(theirs.hour()));
            prop_assert_eq!(i64::from(ours.second), i64::from(theirs.second()));
            prop_assert_eq!(i64::from(ours.year_day) + 1, i64::from(theirs.day_of_year()));
            prop_assert_eq!(
                i64::from(ours.weekday),
                i64::from(theirs.weekday().to_sunday_zero_offset())
            );
        }

        #[test]
        fn no_time_is_too_far(secs: i64) {
            let zone = Zone::utc();
            let civil = zone.civil(secs);
            prop_assert!((1..=12).contains(&civil.month) && (1..=31).contains(&civil.day));
            let _ = (zone.abbreviation(secs), zone.day_start(secs));
        }
    }

    /// Returns the offset in hours, and the abbreviation, in January and July
    /// 2024.
    fn winter_and_summer(name: &str, folder: &Path) -> [(i32, String); 2] {
        let zone = Zone {
            zone: OnceLock::from(zone_of(OsStr::new(name), folder)),
        };
        [1_704_110_400, 1_720_000_000].map(|secs| {
            let hours = zone.civil(secs).offset_secs / 3600;
            (hours, zone.abbreviation(secs))
        })
    }

    /// Expected values are from date(1) without zone files.
    #[test]
    fn summer_time_needs_no_rule() {
        let nowhere = Path::new("/nonexistent");
        for (name, january, july) in [
            ("CET-1CEST", (1, "CET"), (2, "CEST")),
            (":CET-1CEST,", (1, "CET"), (2, "CEST")),
            ("GMT0BST", (0, "GMT"), (1, "BST")),
            ("AEST-10AEDT", (10, "AEST"), (11, "AEDT")),
            ("AEST-10AEDT-12", (10, "AEST"), (12, "AEDT")),
            ("<+01>-1<+02>", (1, "+01"), (2, "+02")),
            ("CET-1CEST,M6.1.0,M6.3.0", (1, "CET"), (1, "CET")),
            ("XYZ-3", (3, "XYZ"), (3, "XYZ")),
            ("", (0, "UTC"), (0, "UTC")),
        ] {
            let expected = [january, july].map(|(hours, name)| (hours, name.to_owned()));
            assert_eq!(winter_and_summer(name, nowhere), expected, "{name}");
        }
        // The second Sunday of March, at 2 o'clock.
        let zone = Zone {
            zone: OnceLock::from(zone_of(OsStr::new("CET-1CEST"), nowhere)),
        };
        assert!(!zone.is_summer(1_710_032_399));
        assert!(zone.is_summer(1_710_032_400));
    }

    /// Returns a file of a zone that is always one hour east of UTC.
    fn zone_file() -> Vec<u8> {
        let mut part = b"TZif2".to_vec();
        part.extend([0; 15]);
        // One type of local time, and four bytes of abbreviations.
        part.extend(
            [0, 0, 0, 0, 1, 4]
                .iter()
                .flat_map(|n: &u32| n.to_be_bytes()),
        );
        part.extend(3600i32.to_be_bytes());
        part.extend([0, 0]);
        part.extend(b"ONE\0");
        [&part[..], &part[..], b"\nONE-1\n"].concat()
    }

    #[test]
    fn names_of_zones_are_exact() {
        let folder = std::env::temp_dir().join(format!("trawl-zone-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("posix/Test")).unwrap();
        std::fs::write(folder.join("posix/Test/Place"), zone_file()).unwrap();
        for (name, hours, abbreviation) in [
            ("posix/Test/Place", 1, "ONE"),
            (":posix/Test/Place", 1, "ONE"),
            ("posix/Test", 0, "posix"),
            ("Nowhere/City", 0, "Nowhere"),
            // Whether or not there is a Europe/Berlin.
            ("europe/berlin", 0, "europe"),
        ] {
            let expected = (hours, abbreviation.to_owned());
            let [winter, summer] = winter_and_summer(name, &folder);
            assert_eq!((&winter, &summer), (&expected, &expected), "{name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_outside_are_not_read() {
        let folder = std::env::temp_dir().join(format!("trawl-zone-out-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("One");
        std::fs::write(&file, zone_file()).unwrap();
        let name = file.to_str().unwrap();
        let own = Zone {
            zone: OnceLock::from(zone_of(OsStr::new(name), Path::new(ZONE_FOLDER))),
        };
        assert_eq!(own.civil(0).offset_secs, 3600, "TZ may name any file");
        let up = format!("{}{name}", "../".repeat(30));
        for name in [name, &format!(":{name}"), &up, "/dev/zero"] {
            assert_eq!(Zone::named(name).civil(0).offset_secs, 0, "{name}");
        }
        assert!(zone_in(Path::new("/dev/zero")).is_none());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn far_years_are_right() {
        // date -u -d @9999999999999
        let civil = Zone::utc().civil(9_999_999_999_999);
        assert_eq!((civil.year, civil.month, civil.day), (318_857, 5, 20));
        for secs in [i64::MIN, i64::MAX] {
            let _ = Zone::utc().civil(secs);
        }
        assert_eq!(Zone::utc().day_start(86_400 * 3 + 5), 86_400 * 3);
    }
}
