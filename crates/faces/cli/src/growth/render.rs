//! Sizes over time, formatted for people and for programs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use trawl_model::{Timestamp, Uid};
use trawl_query::{Count, SnapshotInfo};
use trawl_report::{Field, Row, Schema, Value, fields, schema};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::strftime;
use trawl_text::units::{Scale, format};
use trawl_text::zone::Zone;

use super::{By, KEYS_SHOWN};
use crate::failure::Failure;
use crate::index::progress::grouped;
use crate::output::Device;
use crate::rows::{Form, Report};
use crate::table::{Align, signed_size, table};
use trawl_answers::growth::{Measured, base};

const DAY_NS: f64 = 86_400e9;

const LABEL: Field = fields::LABEL.without_raw().always();
const ENTRIES_DELTA: Field = Field::integer(
    "entries_delta",
    "number of entries more than in the previous snapshot",
);
const DISK_PER_DAY: Field =
    Field::integer("disk_per_day", "growth of the allocated space per day").in_units("bytes");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "the size of a tree, or of a part of it, in a snapshot",
    fields: &[
        fields::PATH.always(),
        fields::BY.always(),
        fields::KEY,
        LABEL,
        fields::STARTED.always(),
        fields::SNAPSHOT.always(),
        fields::ENTRIES.always(),
        fields::SIZE.always(),
        fields::DISK_BYTES.always(),
        ENTRIES_DELTA,
        fields::SIZE_DELTA,
        fields::DISK_DELTA,
        DISK_PER_DAY,
    ],
    forms: schema::ROWS,
    samples: &["growth", "growth --by ext"],
};

/// Levels of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Levels of a sparkline where text is not UTF-8.
const PLAIN_BARS: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// Measured sizes, oldest first.
pub(super) struct Series<'a> {
    by: By,
    given: &'a [u8],
    times: Vec<SnapshotInfo>,
    sizes: Vec<Measured>,
    owners: Owners,
}

/// Change from one time to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Delta {
    entries: i128,
    size: i128,
    disk: i128,
    /// Disk bytes per day; `None` if no time passed.
    per_day: Option<f64>,
}

impl Delta {
    fn between(before: (Timestamp, Count), after: (Timestamp, Count)) -> Delta {
        let difference = |after: u64, before: u64| i128::from(after) - i128::from(before);
        let disk = 512 * difference(after.1.blocks, before.1.blocks);
        let days = (after.0.as_nanos() - before.0.as_nanos()) as f64 / DAY_NS;
        Delta {
            entries: difference(after.1.entries, before.1.entries),
            size: difference(after.1.size_bytes, before.1.size_bytes),
            disk,
            per_day: (days > 0.0).then(|| disk as f64 / days),
        }
    }
}

impl<'a> Series<'a> {
    pub(super) fn new(by: By, given: &'a [u8]) -> Series<'a> {
        Series {
            by,
            given,
            times: Vec::new(),
            sizes: Vec::new(),
            owners: Owners::default(),
        }
    }

    /// Adds the sizes of a later snapshot.
    pub(super) fn add(&mut self, info: &SnapshotInfo, measured: Measured) {
        self.times.push(info.clone());
        self.sizes.push(measured);
    }

    /// Writes all sizes.
    pub(super) fn put(&self, report: &mut Report) -> Result<(), Failure> {
        if report.form() == Form::Text {
            let text = match self.by {
                By::Total => self.over_time(),
                _ => self.by_key(),
            };
            return Ok(report.put(text)?);
        }
        for key in self.keys() {
            for at in 0..self.times.len() {
                report.row(|row| self.fill(row, key, at))?;
            }
        }
        Ok(())
    }

    fn keys(&self) -> BTreeSet<&[u8]> {
        let keys = self.sizes.iter().flat_map(BTreeMap::keys);
        keys.map(Vec::as_slice).collect()
    }

    fn count(&self, key: &[u8], at: usize) -> Count {
        let sizes = self.sizes.get(at).and_then(|sizes| sizes.get(key));
        sizes.copied().unwrap_or_default()
    }

    fn point(&self, key: &[u8], at: usize) -> (Timestamp, Count) {
        let time = self.times.get(at).map(|info| info.started);
        (time.unwrap_or_default(), self.count(key, at))
    }

    /// Returns the change since the previous snapshot; `None` for the first.
    fn delta(&self, key: &[u8], at: usize) -> Option<Delta> {
        let before = at.checked_sub(1)?;
        Some(Delta::between(self.point(key, before), self.point(key, at)))
    }

    /// Returns a key as people read it.
    fn label(&self, key: &[u8]) -> Vec<u8> {
        match self.by {
            By::Total => self.given.to_vec(),
            By::Dir if self.sizes.iter().any(|sizes| is_top(sizes, key)) => b".".to_vec(),
            By::Dir => base(key).to_vec(),
            By::Ext if key.is_empty() => b"(none)".to_vec(),
            By::Ext if key == b"/" => b"(others)".to_vec(),
            By::Ext => [b".", key].concat(),
            By::Owner => {
                let id = std::str::from_utf8(key).ok().and_then(|id| id.parse().ok());
                let name = id.and_then(|id| self.owners.user(Uid(id)));
                name.map_or_else(|| key.to_vec(), |name| name.to_vec())
            }
        }
    }

    /// Returns a key as the asker writes it: that of a directory is its path.
    fn key<'k>(&self, key: &'k [u8]) -> Cow<'k, [u8]> {
        match self.by {
            By::Dir => trawl_model::mapped::theirs(key),
            _ => Cow::Borrowed(key),
        }
    }

    fn fill(&self, row: &mut Row<'_>, key: &[u8], at: usize) {
        let (time, count) = self.point(key, at);
        let delta = self.delta(key, at);
        let per_day = delta.and_then(|delta| delta.per_day);
        row.put(&fields::PATH, self.given)
            .put(&fields::BY, self.by.name())
            .put(&fields::KEY, &*self.key(key))
            .put(&LABEL, &self.label(key))
            .put(&fields::STARTED, time)
            .put(&fields::SNAPSHOT, &self.id(at))
            .put(&fields::ENTRIES, count.entries)
            .put(&fields::SIZE, count.size_bytes)
            .put(&fields::DISK_BYTES, count.blocks.wrapping_mul(512))
            .put(&ENTRIES_DELTA, delta.map(|delta| delta.entries))
            .put(&fields::SIZE_DELTA, delta.map(|delta| delta.size))
            .put(&fields::DISK_DELTA, delta.map(|delta| delta.disk))
            .put(&DISK_PER_DAY, per_day.map(Value::Rounded));
    }

    fn id(&self, at: usize) -> String {
        let info = self.times.get(at);
        info.map(|info| info.id.to_string()).unwrap_or_default()
    }

    /// Formats a line for each snapshot.
    fn over_time(&self) -> Vec<u8> {
        let heads = [
            "as of", "entries", "content", "disk", "+entries", "+content", "+disk", "a day",
        ];
        let mut rows = vec![heads.map(|head| head.as_bytes().to_vec()).to_vec()];
        let zone = Zone::local();
        for at in 0..self.times.len() {
            let (time, count) = self.point(b"", at);
            let mut row = vec![date(time, &zone).into_bytes()];
            row.extend(counts(&count));
            if let Some(delta) = self.delta(b"", at) {
                row.push(signed(delta.entries).into_bytes());
                row.push(signed_size(delta.size).into_bytes());
                row.push(signed_size(delta.disk).into_bytes());
                row.push(rate(delta.per_day).into_bytes());
            }
            rows.push(row);
        }
        let mut out = table(&rows, Align::FirstLeft);
        if let Some(line) = self.sparkline(b"") {
            out.extend(format!("{line}  disk\n").bytes());
        }
        out
    }

    /// Returns all keys with their changes, the most changed first.
    fn most_changed(&self, last: usize) -> Vec<(&[u8], Delta)> {
        let whole = |key: &[u8]| Delta::between(self.point(key, 0), self.point(key, last));
        let mut keys: Vec<(&[u8], Delta)> = self
            .keys()
            .into_iter()
            .map(|key| (key, whole(key)))
            .collect();
        keys.sort_by_key(|(key, delta)| {
            let disk = self.count(key, last).blocks;
            (
                std::cmp::Reverse((delta.disk.unsigned_abs(), disk)),
                key.to_vec(),
            )
        });
        keys
    }

    /// Formats a line for each key.
    fn by_key(&self) -> Vec<u8> {
        let last = self.times.len().saturating_sub(1);
        let keys = self.most_changed(last);
        let zone = Zone::local();
        let heads = [
            self.by.name(),
            "entries",
            "content",
            "disk",
            "+entries",
            "+content",
            "+disk",
        ];
        let heads = heads.into_iter().chain(["a day", ""]);
        let mut rows = vec![
            heads
                .map(|head| head.as_bytes().to_vec())
                .collect::<Vec<_>>(),
        ];
        for (key, delta) in keys.iter().take(KEYS_SHOWN) {
            rows.push(self.key_row(key, delta, last));
        }
        let mut out = Vec::new();
        if let (Some(first), Some(last)) = (self.times.first(), self.times.last()) {
            let (first, last) = (date(first.started, &zone), date(last.started, &zone));
            out.extend(format!("{} snapshots, {first} to {last}\n", self.times.len()).bytes());
        }
        out.extend(table(&rows, Align::EndsLeft));
        if keys.len() > KEYS_SHOWN {
            let more = grouped((keys.len() - KEYS_SHOWN) as u64);
            out.extend(format!("and {more} more: --csv and --json have all\n").bytes());
        }
        out
    }

    fn key_row(&self, key: &[u8], delta: &Delta, last: usize) -> Vec<Vec<u8>> {
        let terminal = match Device::of_stdout() {
            Device::Terminal => Terminal::Watched(Locale::from_env()),
            Device::Other => Terminal::Absent,
        };
        let mut row = vec![terminal.show(&self.label(key)).into_owned()];
        row.extend(counts(&self.count(key, last)));
        row.push(signed(delta.entries).into_bytes());
        row.push(signed_size(delta.size).into_bytes());
        row.push(signed_size(delta.disk).into_bytes());
        row.push(rate(delta.per_day).into_bytes());
        row.push(self.sparkline(key).unwrap_or_default().into_bytes());
        row
    }

    /// Draws disk use over time; `None` unless the output is a terminal.
    fn sparkline(&self, key: &[u8]) -> Option<String> {
        let is_drawn = Device::of_stdout() == Device::Terminal && self.times.len() > 1;
        let values = (0..self.times.len()).map(|at| self.count(key, at).blocks);
        let bars = match Locale::from_env().is_utf8() {
            true => BARS,
            false => PLAIN_BARS,
        };
        is_drawn.then(|| sparkline(&values.collect::<Vec<_>>(), bars))
    }
}

/// Returns true if a key is the start itself, which all other keys lie within.
fn is_top(sizes: &Measured, key: &[u8]) -> bool {
    sizes.keys().next().is_some_and(|first| first == key)
}

fn counts(count: &Count) -> [Vec<u8>; 3] {
    let size = |bytes: u64| format(u128::from(bytes), Scale::Binary).into_bytes();
    [
        grouped(count.entries).into_bytes(),
        size(count.size_bytes),
        size(count.blocks.saturating_mul(512)),
    ]
}

fn signed(number: i128) -> String {
    let text = grouped(u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX));
    match number {
        0 => text,
        1.. => format!("+{text}"),
        _ => format!("-{text}"),
    }
}

fn rate(per_day: Option<f64>) -> String {
    per_day.map_or_else(String::new, |rate| signed_size(rate as i128))
}

fn date(time: Timestamp, zone: &Zone) -> String {
    let mut text = String::new();
    strftime::format(&mut text, "%Y-%m-%d %H:%M:%S", &zone.civil(time.secs), zone);
    text
}

/// Draws a bar for each value, scaled between the least and the greatest.
fn sparkline(values: &[u64], bars: [char; 8]) -> String {
    let least = values.iter().min().copied().unwrap_or(0);
    let range = values.iter().max().copied().unwrap_or(0) - least;
    let bar = |value: &u64| {
        let part = (value - least) as f64 / range.max(1) as f64;
        bars[((part * 7.0).round() as usize).min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_from_the_least_to_the_greatest() {
        assert_eq!(sparkline(&[10, 10], BARS), "▁▁");
        assert_eq!(sparkline(&[0, 7, 14, 7], BARS), "▁▅█▅");
        assert_eq!(sparkline(&[1, 2], PLAIN_BARS), "_#");
        assert_eq!(sparkline(&[], BARS), "");
    }

    #[test]
    fn a_rate_is_what_a_day_would_bring() {
        let at = |secs| Timestamp { secs, nanos: 0 };
        let count = |blocks| Count {
            blocks,
            ..Count::default()
        };
        let delta = Delta::between((at(0), count(10)), (at(43_200), count(12)));
        assert_eq!(delta.disk, 1024);
        assert_eq!(delta.per_day, Some(2048.0));
        let still = Delta::between((at(5), count(1)), (at(5), count(0)));
        assert_eq!((still.disk, still.per_day), (-512, None));
    }
}
