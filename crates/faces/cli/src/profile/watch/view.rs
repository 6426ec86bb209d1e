//! The view as lines of text. Pure: what is shown depends only on the state and the size.
//!
//! ```text
//! grep -r x /usr · system-calls · every 1 s
//!   operation        calls    latency   share     mean
//! > read            12,345     1.2 s     80 %    97 µs
//!   openat           1,234     100 ms    10 %    81 µs
//!
//! read: the last interval                   before
//!   512 ns      1,204 ████████              │░░▒▒▓█
//!  1.02 µs        310 ████                  │  ░░▒▒
//! q quit  ↑↓ select  s order: latency  tab layer  p pause
//! ```

use trawl_histogram::{Histogram, Resolution};
use trawl_text::figures::{count, share, time};

use super::super::bars::bar;
use super::state::State;

/// A line, and how it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// How a line is drawn on a terminal with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Heading,
    Selected,
    /// Coloured from this column on, by shade.
    Heat(usize),
}

/// Shades of the heat map, from no call to the most.
pub(super) const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// Columns of a latency, a count and a bar, with the spaces between them.
const LEFT_WIDTH: usize = 9 + 1 + 11 + 1;
/// Widest and narrowest bars.
const BAR_WIDTHS: (usize, usize) = (30, 4);
/// Narrowest view with a heat map.
const HEAT_FROM: usize = 48;

/// Returns the lines of a terminal: at most `rows`, each at most `columns` wide.
pub(super) fn lines(state: &State, columns: usize, rows: usize) -> Vec<Line> {
    // Title, heading, keys; a blank line and a heading of the histogram.
    let free = rows.saturating_sub(5);
    let table = match free {
        0..4 => rows.saturating_sub(3),
        _ => (free * 2 / 5).max(2),
    };
    let mut lines = vec![title(state), heading()];
    lines.extend(operations(state, table));
    if free >= 4 {
        while lines.len() < table + 2 {
            lines.push(plain(String::new()));
        }
        lines.push(plain(String::new()));
        lines.extend(histogram(state, columns, free - table));
        while lines.len() + 1 < rows {
            lines.push(plain(String::new()));
        }
    }
    lines.truncate(rows.saturating_sub(1));
    lines.push(keys(state));
    lines.truncate(rows);
    for line in &mut lines {
        if line.text.chars().count() > columns {
            line.text = line.text.chars().take(columns).collect();
        }
    }
    lines
}

fn plain(text: String) -> Line {
    let kind = Kind::Plain;
    Line { text, kind }
}

fn title(state: &State) -> Line {
    let shown = |text: &str| trawl_text::words::shown(text.as_bytes());
    let layer = state.layer_name();
    let every = time(state.interval.as_secs_f64());
    let mut text = format!("{} · {} · every {every}", shown(&state.title), shown(layer));
    if state.is_paused {
        text += " · paused";
    }
    if state.has_ended {
        text += " · ended";
    }
    let kind = Kind::Heading;
    Line { text, kind }
}

fn heading() -> Line {
    let (name, calls, latency, share, mean) = ("operation", "calls", "latency", "share", "mean");
    let text = format!("  {name:<18} {calls:>11} {latency:>9} {share:>11} {mean:>9}");
    let kind = Kind::Heading;
    Line { text, kind }
}

/// Returns the operations around the selected one.
fn operations(state: &State, rows: usize) -> Vec<Line> {
    let operations = state.operations();
    let total: u128 = operations.iter().map(|(_, one)| one.counts().total).sum();
    let selected = state.selected();
    let at = operations
        .iter()
        .position(|(name, _)| Some(*name) == selected);
    let skipped = (at.unwrap_or(0) + 1).saturating_sub(rows);
    let shown = operations.iter().skip(skipped).take(rows);
    let mut lines: Vec<Line> = shown
        .map(|(name, one)| operation(state, name, one, total))
        .collect();
    if lines.is_empty() {
        lines.push(plain("  no call returned in this interval".to_owned()));
    }
    lines
}

fn operation(state: &State, name: &str, one: &Histogram, total: u128) -> Line {
    let seconds = |latency: f64| time(state.unit().seconds(latency));
    let (mark, kind) = match state.selected() == Some(name) {
        true => ('>', Kind::Selected),
        false => (' ', Kind::Plain),
    };
    let name = trawl_text::words::shown(name.as_bytes());
    let text = format!(
        "{mark} {name:<18} {:>11} {:>9} {:>11} {:>9}",
        count(u64::try_from(one.recorded()).unwrap_or(u64::MAX)),
        seconds(one.counts().total as f64),
        share(one.counts().total as f64 / total.max(1) as f64),
        seconds(one.mean().unwrap_or(0.0))
    );
    Line { text, kind }
}

/// Returns the histogram of the selected operation, and its past as a heat map.
fn histogram(state: &State, columns: usize, rows: usize) -> Vec<Line> {
    let Some(name) = state.selected() else {
        return Vec::new();
    };
    let resolution = state
        .latest()
        .map_or(Resolution::ONE, |one| one.resolution());
    let (bar_width, heat_width) = widths(columns);
    let past: Vec<&[u64]> = state.past(name).take(heat_width.max(1)).collect();
    let axis = Axis::of(&past, rows);
    let columns: Vec<Vec<u64>> = past.iter().map(|buckets| axis.sums(buckets)).collect();
    let most = columns.iter().flatten().copied().max().unwrap_or(0);
    let shown = trawl_text::words::shown(name.as_bytes());
    let left = LEFT_WIDTH + bar_width;
    let mut text = format!("{shown}: calls by latency");
    if heat_width > 0 {
        let room = left.saturating_sub(text.chars().count());
        text += &format!("{:room$} │over time, now at the left", "");
    }
    let mut lines = vec![Line {
        text,
        kind: Kind::Heading,
    }];
    for row in 0..axis.rows {
        let from = resolution.least(u16::try_from(axis.bucket(row)).unwrap_or(u16::MAX));
        let calls = columns
            .first()
            .and_then(|one| one.get(row))
            .copied()
            .unwrap_or(0);
        let mut text = format!(
            "{:>9} {:>11} {:<bar_width$}",
            time(state.unit().seconds(from as f64)),
            count(calls),
            bar(calls, most, bar_width)
        );
        if heat_width > 0 {
            text += " │";
            let cells = columns.iter().map(|one| one.get(row).copied().unwrap_or(0));
            text.extend(cells.map(|calls| shade(calls, most)));
        }
        lines.push(Line {
            text,
            kind: Kind::Heat(left + 2),
        });
    }
    lines
}

/// Returns the widths of the bars and of the heat map.
fn widths(columns: usize) -> (usize, usize) {
    let (widest, narrowest) = BAR_WIDTHS;
    if columns < HEAT_FROM {
        return (
            columns.saturating_sub(LEFT_WIDTH).clamp(narrowest, widest),
            0,
        );
    }
    let bar = (columns.saturating_sub(LEFT_WIDTH) / 3).clamp(narrowest, widest);
    (bar, columns - LEFT_WIDTH - bar - 2)
}

/// Which buckets the rows show.
struct Axis {
    first: usize,
    /// Buckets in each row.
    together: usize,
    rows: usize,
}

impl Axis {
    /// Chooses the buckets that hold something in any interval; several for each row if there are
    /// more than rows.
    fn of(past: &[&[u64]], rows: usize) -> Axis {
        let filled = |buckets: &&[u64]| buckets.iter().position(|count| *count > 0);
        let first = past.iter().filter_map(filled).min().unwrap_or(0);
        let end = past.iter().map(|buckets| buckets.len()).max().unwrap_or(0);
        let buckets = end.saturating_sub(first);
        let together = buckets.div_ceil(rows.max(1)).max(1);
        Axis {
            first,
            together,
            rows: buckets.div_ceil(together),
        }
    }

    /// Returns the first bucket of a row.
    fn bucket(&self, row: usize) -> usize {
        self.first + row * self.together
    }

    /// Returns the calls in each row.
    fn sums(&self, buckets: &[u64]) -> Vec<u64> {
        let shown = buckets.get(self.first..).unwrap_or_default();
        let add = |sum: u64, count: &u64| sum.saturating_add(*count);
        let rows = shown.chunks(self.together);
        rows.map(|row| row.iter().fold(0, add)).collect()
    }
}

/// Returns the shade of a count, on a logarithmic scale.
fn shade(calls: u64, most: u64) -> char {
    let height = |calls: u64| (calls as f64).ln_1p();
    let part = height(calls) / height(most.max(1));
    let at = (part * (SHADES.len() - 1) as f64).ceil() as usize;
    SHADES.get(at).copied().unwrap_or('█')
}

fn keys(state: &State) -> Line {
    let layer = match state.layers().len() {
        0 | 1 => "",
        _ => "  tab layer",
    };
    let order = state.order.name();
    let text = format!("q quit  ↑↓ select  s order: {order}{layer}  p pause");
    Line {
        text,
        kind: Kind::Heading,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use trawl_histogram::{Profile, Unit};

    use super::super::keys::Key;
    use super::*;

    /// A state with two intervals: reads of 1 and 100 µs, and one write of 5 ms in the second.
    fn state() -> State {
        let profile = |latencies: &[(&str, u64)]| {
            let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
            profile.layer = "system-calls".to_owned();
            for (name, latency) in latencies {
                let mut one = Histogram::new(Resolution::ONE);
                one.record(*latency);
                profile.add(name, &one).expect("it fits");
            }
            profile
        };
        let mut state = State::new("make \u{1b}[31m", Duration::from_secs(1), &["system-calls"]);
        state.push(vec![profile(&[("read", 1_000)])]);
        let second = [("read", 1_000), ("read", 100_000), ("write", 5_000_000)];
        state.push(vec![profile(&second)]);
        state
    }

    fn text(state: &State, columns: usize, rows: usize) -> String {
        let lines = lines(state, columns, rows);
        let lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
        lines.join("\n")
    }

    #[test]
    fn every_size_is_filled_and_none_exceeded() {
        for (columns, rows) in [
            (80, 24),
            (200, 60),
            (40, 10),
            (20, 5),
            (10, 3),
            (1, 1),
            (300, 2),
        ] {
            for state in [state(), State::new("", Duration::from_millis(1), &[])] {
                let lines = lines(&state, columns, rows);
                assert!(lines.len() <= rows, "{columns}x{rows}");
                let widest = lines.iter().map(|line| line.text.chars().count()).max();
                assert!(widest.unwrap_or(0) <= columns, "{columns}x{rows}");
                if rows >= 10 {
                    assert_eq!(lines.len(), rows);
                }
            }
        }
    }

    #[test]
    fn operations_come_by_latency_and_can_be_selected() {
        let mut state = state();
        let shown = text(&state, 80, 24);
        assert!(
            shown.contains("> write") && shown.contains("  read"),
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(shown.contains("write: calls by latency"), "{shown}");
        state.press(Key::Down);
        let shown = text(&state, 80, 24);
        assert!(
            shown.contains("> read") && shown.contains("read: calls by"),
            "{shown}"
        );
        state.press(Key::Down);
        assert_eq!(state.selected(), Some("read"), "it is the last one");
        state.press(Key::Order);
        assert!(text(&state, 80, 24).contains("order: calls"));
        assert_eq!(state.operations()[0].0, "read");
    }

    #[test]
    fn the_heat_map_has_a_column_for_each_interval() {
        let mut state = state();
        state.press(Key::Down);
        let shown = text(&state, 80, 24);
        // Two intervals with a call of 1 µs, one with a call of 100 µs: 2^9 and 2^16 ns.
        let row = |from: &str| {
            shown
                .lines()
                .find(|line| line.trim_start().starts_with(from))
        };
        let cells = |from| row(from).and_then(|line| line.split('│').nth(1));
        assert_eq!(cells("512 ns"), Some("██"), "{shown}");
        assert_eq!(cells("65.5 µs").map(str::trim_end), Some("█"), "{shown}");
    }

    #[test]
    fn buckets_are_put_together_if_there_are_more_than_rows() {
        let long = vec![1_u64; 64];
        let axis = Axis::of(&[&long], 10);
        assert_eq!((axis.together, axis.rows), (7, 10));
        assert_eq!(axis.sums(&long).iter().sum::<u64>(), 64);
        assert_eq!(shade(0, 10), ' ');
        assert_eq!(shade(10, 10), '█');
        assert_eq!(shade(1, 1_000_000), '░');
    }
}
