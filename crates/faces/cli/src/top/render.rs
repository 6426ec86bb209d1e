//! Lines for people: an amount, its share of the whole with a bar on a terminal, and the name.

use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format};

use crate::index::progress::grouped;
use trawl_report::bar::{BAR_WIDTH, Ink, bar, share};

/// Format of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Units {
    /// Three digits and a letter.
    Human,
    /// Bytes.
    Bytes,
}

/// The amount at the beginning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// Bytes.
    Size(u64),
    /// A number of entries.
    Number(u64),
    /// A time and a size.
    Time(String, u64),
}

impl Amount {
    fn text(&self, units: Units) -> String {
        let size = |bytes: u64| match units {
            Units::Human => format(u128::from(bytes), Scale::Binary),
            Units::Bytes => bytes.to_string(),
        };
        match self {
            Amount::Size(bytes) => size(*bytes),
            Amount::Number(number) => match units {
                Units::Human => grouped(*number),
                Units::Bytes => number.to_string(),
            },
            Amount::Time(time, bytes) => format!("{time}  {:>6}", size(*bytes)),
        }
    }

    /// Returns the amount for another machine: its kind and number, and its time.
    pub(super) fn encode(self) -> [Vec<u8>; 2] {
        let (kind, number, time) = match self {
            Amount::Size(bytes) => (0, bytes, String::new()),
            Amount::Number(number) => (1, number, String::new()),
            Amount::Time(time, bytes) => (2, bytes, time),
        };
        let number = [&[kind][..], &number.to_le_bytes()].concat();
        [number, time.into_bytes()]
    }

    /// Returns the amount that another machine has encoded; `None` if it is invalid.
    pub(super) fn decode(number: &[u8], time: &[u8]) -> Option<Amount> {
        let (kind, number) = number.split_first()?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        match (kind, time) {
            (0, []) => Some(Amount::Size(number)),
            (1, []) => Some(Amount::Number(number)),
            (2, time) => Some(Amount::Time(String::from_utf8(time.into()).ok()?, number)),
            _ => None,
        }
    }

    /// Returns the part of the whole; `None` if the amount has no share.
    fn part(&self) -> Option<u64> {
        match self {
            Amount::Size(number) | Amount::Number(number) => Some(*number),
            Amount::Time(..) => None,
        }
    }
}

/// Look of the lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) units: Units,
    pub(super) terminal: Terminal,
    pub(super) ink: Ink,
}

/// Formats lines of amounts and names.
pub(super) fn lines(rows: &[(Amount, Vec<u8>)], whole: u64, style: Style) -> Vec<u8> {
    let cells: Vec<String> = rows.iter().map(|(a, _)| a.text(style.units)).collect();
    let wide = cells.iter().map(String::len).max().unwrap_or(0);
    let bars = match style.ink {
        Ink::Blocks | Ink::Signs if style.terminal == Terminal::Absent => None,
        ink => Some(ink),
    };
    let mut out = Vec::new();
    for ((amount, name), cell) in rows.iter().zip(cells) {
        match (bars, amount.part()) {
            (Some(ink), Some(part)) => {
                let share = share(part, whole);
                let bar = bar(share, ink);
                let room = BAR_WIDTH.saturating_sub(bar.chars().count());
                let percent = share * 100.0;
                let line = format!("{cell:>wide$}  {percent:>5.1}%  {bar}{:room$}  ", "");
                out.extend_from_slice(line.as_bytes());
            }
            (Some(_), None) => out.extend_from_slice(format!("{cell:>wide$}  ").as_bytes()),
            (None, _) => {
                out.extend_from_slice(cell.as_bytes());
                out.push(b'\t');
            }
        }
        out.extend_from_slice(&style.terminal.show(name));
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_text::locale::Locale;

    #[test]
    fn terminals_get_columns_and_pipes_get_tabs() {
        let rows = [
            (Amount::Size(3 << 20), b"/a\x1b".to_vec()),
            (Amount::Size(512), b"/b".to_vec()),
        ];
        let style = |terminal| Style {
            units: Units::Human,
            terminal,
            ink: Ink::Signs,
        };
        let watched = lines(&rows, 6 << 20, style(Terminal::Watched(Locale::Utf8)));
        assert_eq!(
            String::from_utf8(watched).unwrap(),
            "3.0M   50.0%  ##########            /a?\n \
             512    0.0%                        /b\n"
        );
        let piped = lines(&rows, 6 << 20, style(Terminal::Absent));
        assert_eq!(piped, b"3.0M\t/a\x1b\n512\t/b\n");
        let time = [(Amount::Time("2024".into(), 7), b"x".to_vec())];
        assert_eq!(
            lines(&time, 0, style(Terminal::Absent)),
            b"2024       7\tx\n"
        );
    }
}
