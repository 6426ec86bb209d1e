//! Decides which snapshots of a source to keep, by a rule such as
//! `last=3,daily=7,weekly=5,within=30d`.
//!
//! Each part of a rule keeps snapshots independently; a snapshot stays if any part keeps it.
//! `daily=7` keeps the newest snapshot of each of the last seven days that have any; a day without
//! snapshots does not count. Hours, weeks (which begin on Monday), months and years work likewise.
//! Pure: the time and the local clock's reading are passed in.

use crate::id::SnapshotId;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use trawl_model::Timestamp;

const DAY_SECS: i64 = 86_400;

/// The period by which snapshots are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Period {
    /// Every snapshot.
    Last,
    /// The newest snapshot of each hour.
    Hour,
    /// The newest snapshot of each day.
    Day,
    /// The newest snapshot of each week.
    Week,
    /// The newest snapshot of each month.
    Month,
    /// The newest snapshot of each year.
    Year,
}

/// A rule for which snapshots to keep; the current one is always kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Number of snapshots to keep for each period that the rule names.
    counts: Vec<(Period, u32)>,
    /// Maximum age, in seconds since the start of the scan, of snapshots to keep.
    within_secs: Option<u64>,
}

/// Reason why a snapshot is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is the current one.
    Current,
    /// It is the newest of a period; the number is that period's rank, from 1 for the most recent.
    Newest(Period, u32),
    /// It is young enough.
    Within,
}

/// A rule's decision about one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The snapshot.
    pub id: SnapshotId,
    /// Reasons to keep it; it is removed if there are none.
    pub reasons: Vec<Reason>,
}

/// Error for text that is not a rule, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part:?} is not a retention rule: {problem}")]
pub struct NotARule {
    part: String,
    problem: &'static str,
}

/// Function that returns what a local clock shows at a time, as seconds since 1970 as if the clock
/// were set to UTC.
pub type LocalSecs<'a> = &'a dyn Fn(Timestamp) -> i64;

impl Period {
    /// All periods, in the order in which rules are written.
    pub const ALL: [Period; 6] = [
        Period::Last,
        Period::Hour,
        Period::Day,
        Period::Week,
        Period::Month,
        Period::Year,
    ];

    /// Returns the period's word in a rule.
    pub const fn word(self) -> &'static str {
        match self {
            Period::Last => "last",
            Period::Hour => "hourly",
            Period::Day => "daily",
            Period::Week => "weekly",
            Period::Month => "monthly",
            Period::Year => "yearly",
        }
    }

    /// Returns a number that is the same for all times in one such period.
    fn number(self, nth: usize, local_secs: i64) -> i64 {
        let day = local_secs.div_euclid(DAY_SECS);
        match self {
            Period::Last => nth as i64,
            Period::Hour => local_secs.div_euclid(3600),
            Period::Day => day,
            // 1970-01-01 was a Thursday.
            Period::Week => (day + 3).div_euclid(7),
            Period::Month => year_and_month(day).0 * 12 + year_and_month(day).1,
            Period::Year => year_and_month(day).0,
        }
    }
}

impl Rule {
    /// Returns a rule that keeps this many of the newest snapshots.
    pub fn last(count: u32) -> Rule {
        Rule {
            counts: vec![(Period::Last, count)],
            within_secs: None,
        }
    }

    /// Also keeps snapshots whose scan began at most this many seconds ago.
    #[must_use]
    pub fn or_within(mut self, secs: u64) -> Rule {
        self.within_secs = Some(secs);
        self
    }

    /// Decides about committed snapshots. `ids` are ascending and end with the current one; the
    /// answer is newest first.
    pub fn judge(&self, ids: &[SnapshotId], now: Timestamp, local: LocalSecs<'_>) -> Vec<Verdict> {
        // For each count, the rank and number of the last period seen.
        let unseen = |(period, count): &(Period, u32)| (*period, *count, None::<(u32, i64)>);
        let mut seen: Vec<_> = self.counts.iter().map(unseen).collect();
        let mut verdicts = Vec::with_capacity(ids.len());
        for (nth, id) in ids.iter().rev().enumerate() {
            let mut reasons = Vec::new();
            if nth == 0 {
                reasons.push(Reason::Current);
            }
            for (period, count, last) in &mut seen {
                let number = period.number(nth, local(id.time()));
                let rank = match *last {
                    Some((_, before)) if before == number => continue,
                    Some((rank, _)) => rank.saturating_add(1),
                    None => 1,
                };
                *last = Some((rank, number));
                if rank <= *count {
                    reasons.push(Reason::Newest(*period, rank));
                }
            }
            if self.is_within(*id, now) {
                reasons.push(Reason::Within);
            }
            verdicts.push(Verdict { id: *id, reasons });
        }
        verdicts
    }

    fn is_within(&self, id: SnapshotId, now: Timestamp) -> bool {
        let age_ns = now.as_nanos().saturating_sub(i128::from(id.0));
        (self.within_secs).is_some_and(|secs| age_ns <= i128::from(secs) * 1_000_000_000)
    }
}

/// Decides which snapshots stay when others are removed.
pub trait Keeps {
    /// Returns the elements of `ids` that stay. `ids` are committed snapshots, ascending, and end
    /// with the current one.
    fn kept(&self, ids: &[SnapshotId]) -> BTreeSet<SnapshotId>;
}

/// A rule applied at a time.
#[derive(Clone, Copy)]
pub struct RuleAt<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The current time.
    pub now: Timestamp,
    /// The local clock.
    pub local: LocalSecs<'a>,
}

impl RuleAt<'_> {
    /// Returns the rule's decision about each snapshot, newest first.
    pub fn judge(&self, ids: &[SnapshotId]) -> Vec<Verdict> {
        self.rule.judge(ids, self.now, self.local)
    }
}

impl Keeps for RuleAt<'_> {
    fn kept(&self, ids: &[SnapshotId]) -> BTreeSet<SnapshotId> {
        let verdicts = self.judge(ids).into_iter();
        let stays = verdicts.filter(|verdict| !verdict.reasons.is_empty());
        stays.map(|verdict| verdict.id).collect()
    }
}

impl FromStr for Rule {
    type Err = NotARule;

    /// Parses `3`, or comma-separated parts such as `daily=7` and `within=30d`, each at most once.
    fn from_str(text: &str) -> Result<Rule, NotARule> {
        if let Ok(count) = text.parse() {
            return match count {
                0 => Err(not_a_rule(text, "at least the current one is kept")),
                count => Ok(Rule::last(count)),
            };
        }
        let mut rule = Rule::default();
        for part in text.split(',') {
            let (word, value) = part.split_once('=').ok_or_else(|| {
                not_a_rule(part, "write a number, or parts such as daily=7,weekly=5")
            })?;
            if word == "within" {
                let secs = parse_age(value).ok_or_else(|| {
                    not_a_rule(part, "an age is a number and one of s, m, h, d, w, y")
                })?;
                if rule.within_secs.replace(secs).is_some() {
                    return Err(not_a_rule(part, "it is given twice"));
                }
                continue;
            }
            let period = Period::ALL.into_iter().find(|period| period.word() == word);
            let problem = "the words are last, hourly, daily, weekly, monthly, yearly and within";
            let period = period.ok_or_else(|| not_a_rule(part, problem))?;
            let count = value.parse().ok().filter(|count| *count > 0);
            let count = count.ok_or_else(|| not_a_rule(part, "it needs a number above 0"))?;
            if rule.counts.iter().any(|(known, _)| *known == period) {
                return Err(not_a_rule(part, "it is given twice"));
            }
            rule.counts.push((period, count));
        }
        rule.counts.sort_unstable();
        Ok(rule)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts.iter();
        let counts = counts.map(|(period, count)| format!("{}={count}", period.word()));
        let within = self.within_secs.map(|secs| format!("within={}", age(secs)));
        let parts: Vec<String> = counts.chain(within).collect();
        f.write_str(&parts.join(","))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Current => f.write_str("current"),
            Reason::Newest(period, rank) => write!(f, "{} {rank}", period.word()),
            Reason::Within => f.write_str("within"),
        }
    }
}

fn not_a_rule(part: &str, problem: &'static str) -> NotARule {
    NotARule {
        part: part.to_owned(),
        problem,
    }
}

const UNITS: [(&str, u64); 6] = [
    ("y", 365 * 86_400),
    ("w", 7 * 86_400),
    ("d", 86_400),
    ("h", 3600),
    ("m", 60),
    ("s", 1),
];

/// Parses `90`, `90s`, `15m`, `12h`, `30d`, `8w` or `1y` as seconds.
pub fn parse_age(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { "s" } else { unit };
    let (_, secs) = UNITS.into_iter().find(|(word, _)| *word == unit)?;
    number.parse::<u64>().ok()?.checked_mul(secs)
}

/// Returns the shortest text that [`parse_age`] reads as `secs`, in the largest unit that divides
/// it.
fn age(secs: u64) -> String {
    let whole = UNITS
        .into_iter()
        .find(|(_, unit)| secs.is_multiple_of(*unit) && secs > 0);
    let (word, unit) = whole.unwrap_or(("s", 1));
    format!("{}{word}", secs / unit)
}

/// Returns the year and the month, from 0, of a day counted from 1970-01-01 in the proleptic
/// Gregorian calendar. The computation starts years in March, so that the leap day comes last.
fn year_and_month(day: i64) -> (i64, i64) {
    let day = day + 719_468;
    let cycle = day.div_euclid(146_097);
    let in_cycle = day.rem_euclid(146_097);
    let year = (in_cycle - in_cycle / 1460 + in_cycle / 36_524 - in_cycle / 146_096) / 365;
    let in_year = in_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let year = year + 400 * cycle;
    match month {
        0..=9 => (year, month + 2),
        _ => (year + 1, month - 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;
    /// 2024-02-29T12:00:00Z, a Thursday.
    const NOON: i64 = 1_709_208_000;

    fn id(secs: i64) -> SnapshotId {
        SnapshotId(secs as u64 * 1_000_000_000)
    }

    fn utc(time: Timestamp) -> i64 {
        time.secs
    }

    /// Returns for each kept snapshot its age in hours before noon and the reasons, newest first.
    fn kept(rule: &str, hours_ago: &[i64]) -> Vec<(i64, String)> {
        let rule: Rule = rule.parse().unwrap();
        let mut ids: Vec<SnapshotId> = hours_ago.iter().map(|h| id(NOON - h * HOUR)).collect();
        ids.sort_unstable();
        let now = id(NOON).time();
        let verdicts = rule.judge(&ids, now, &utc).into_iter();
        let stays = verdicts.filter(|verdict| !verdict.reasons.is_empty());
        let text = |reasons: &[Reason]| {
            let reasons: Vec<String> = reasons.iter().map(Reason::to_string).collect();
            reasons.join("+")
        };
        stays
            .map(|v| ((NOON - v.id.time().secs) / HOUR, text(&v.reasons)))
            .collect()
    }

    fn hours(rule: &str, hours_ago: &[i64]) -> Vec<i64> {
        let kept = kept(rule, hours_ago).into_iter();
        kept.map(|(hours, _)| hours).collect()
    }

    #[test]
    fn numbers_and_ages_keep_the_newest_and_the_young() {
        let all = [0, 1, 5, 30, 31];
        assert_eq!(hours("3", &all), [0, 1, 5]);
        assert_eq!(hours("last=2,within=30h", &all), [0, 1, 5, 30]);
        assert_eq!(hours("within=1h", &[100, 50]), [50]);
        assert_eq!(kept("within=1h", &[100, 50])[0].1, "current");
    }

    #[test]
    fn the_newest_of_each_day_stays() {
        // 12 hours ago is midnight, which is today; 13 is yesterday.
        let all = [0, 3, 12, 13, 36, 37, 100, 101];
        assert_eq!(hours("daily=2", &all), [0, 13]);
        // A day without snapshots does not count.
        assert_eq!(hours("daily=4", &all), [0, 13, 37, 100]);
        let reasons = kept("daily=2,last=2", &all);
        let texts = ["current+last 1+daily 1", "last 2", "daily 2"];
        assert_eq!(
            reasons.iter().map(|(_, t)| t.as_str()).collect::<Vec<_>>(),
            texts
        );
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_the_first() {
        // Monday 00:00 was 84 hours before Thursday noon.
        assert_eq!(hours("weekly=2", &[0, 84, 85, 90]), [0, 85]);
        // 29 February noon: the month began 28 days and 12 hours ago.
        let first = 28 * 24 + 12;
        assert_eq!(
            hours("monthly=2", &[0, first, first + 1, first + 700]),
            [0, first + 1]
        );
        // The year began 31 days before that.
        let year = first + 31 * 24;
        assert_eq!(
            hours("yearly=2", &[0, year, year + 1, year + 100]),
            [0, year + 1]
        );
        assert_eq!(hours("hourly=2", &[0, 1, 2]), [0, 1]);
    }

    #[test]
    fn days_are_those_of_local_clocks() {
        let rule: Rule = "daily=2".parse().unwrap();
        let ids = [id(NOON - 14 * HOUR), id(NOON - 13 * HOUR), id(NOON)];
        let now = id(NOON).time();
        let kept = |east: i64| {
            let local = move |time: Timestamp| time.secs + east * HOUR;
            let at = RuleAt {
                rule: &rule,
                now,
                local: &local,
            };
            at.kept(&ids).len()
        };
        assert_eq!((kept(0), kept(1), kept(2)), (2, 2, 1));
        assert_eq!(kept(-11), 2);
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let days = [
            (0, 1970, 0),
            (-1, 1969, 11),
            (19_782, 2024, 1),
            (19_783, 2024, 2),
            (11_016, 2000, 1),
        ];
        for (day, year, month) in days {
            assert_eq!(year_and_month(day), (year, month), "day {day}");
        }
    }

    #[test]
    fn rules_read_back_as_they_are_written() {
        for text in [
            "last=3",
            "last=3,daily=7,weekly=5,within=30d",
            "yearly=1",
            "within=90m",
        ] {
            let rule: Rule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
        assert_eq!("7".parse::<Rule>().unwrap().to_string(), "last=7");
        let other: Rule = "within=14d,daily=2,last=1".parse().unwrap();
        assert_eq!(other.to_string(), "last=1,daily=2,within=2w");
        for text in [
            "",
            "0",
            "x",
            "daily",
            "daily=",
            "daily=0",
            "daily=-1",
            "daily=1,daily=2",
            "within=3q",
            "within=1d,within=2d",
            "dayly=3",
            "last=3,",
            "-1",
            "within=99999999999999999999y",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
