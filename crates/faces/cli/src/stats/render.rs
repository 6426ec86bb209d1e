//! Counts as aligned columns with small bars.

use trawl_answers::stats::Group;
use trawl_query::Count;
use trawl_report::bar::{Ink, bar, share};
use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format};

use crate::index::progress::{counted, grouped};
use crate::width::width;

/// Quantity of which shares and bars are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Weight {
    /// Number of entries
    #[default]
    #[value(alias = "files")]
    Entries,
    /// Apparent sizes
    Content,
    /// Allocated space
    Disk,
}

impl Weight {
    /// Returns the heading of the column of shares. In sections about regular files only, shares
    /// are of all regular files.
    fn heading(self, is_of_files: bool) -> &'static str {
        match (self, is_of_files) {
            (Weight::Entries, false) => "share of entries",
            (Weight::Content, false) => "share of content",
            (Weight::Disk, false) => "share of disk",
            (Weight::Entries, true) => "share of files",
            (Weight::Content, true) => "share of files' content",
            (Weight::Disk, true) => "share of files' disk",
        }
    }

    /// Returns this quantity of a count.
    pub(crate) fn of(self, count: &Count) -> u64 {
        match self {
            Weight::Entries => count.entries,
            Weight::Content => count.size_bytes,
            Weight::Disk => count.blocks,
        }
    }
}

/// Formats the lines of a section: label, entries, content, disk, share and bar.
pub(crate) fn section(
    title: &str,
    rows: &[Group],
    whole: (Count, Weight),
    terminal: Terminal,
    ink: Ink,
) -> Vec<u8> {
    let (whole, weight) = whole;
    let cells: Vec<[Vec<u8>; 4]> = rows.iter().map(|row| cells(row, terminal)).collect();
    let heads = [title, "entries", "content", "disk"];
    let widths: [usize; 4] = std::array::from_fn(|column| {
        let widest = cells
            .iter()
            .map(|row| width(&row[column]))
            .max()
            .unwrap_or(0);
        widest.max(heads[column].len())
    });
    let mut out = Vec::new();
    push_line(
        &mut out,
        &heads.map(|head| head.as_bytes().to_vec()),
        &widths,
    );
    let is_of_files = !rows.is_empty() && rows.iter().all(|row| row.is_of_files);
    out.extend(format!("   {}\n", weight.heading(is_of_files)).bytes());
    for (row, cells) in rows.iter().zip(&cells) {
        push_line(&mut out, cells, &widths);
        let share = share(weight.of(&row.count), weight.of(&whole));
        out.extend(
            format!("  {:>5.1}%  {}", share * 100.0, bar(share, ink))
                .trim_end()
                .bytes(),
        );
        out.push(b'\n');
    }
    out
}

fn cells(row: &Group, terminal: Terminal) -> [Vec<u8>; 4] {
    let size = |bytes: u64| format(u128::from(bytes), Scale::Binary).into_bytes();
    let mut label = row.label.clone();
    if let Some(directories) = row.directories {
        label.extend(format!(": {}", counted(directories, "directory")).bytes());
    }
    [
        terminal.show(&label).into_owned(),
        grouped(row.count.entries).into_bytes(),
        size(row.count.size_bytes),
        size(row.count.blocks.saturating_mul(512)),
    ]
}

fn push_line(out: &mut Vec<u8>, cells: &[Vec<u8>; 4], widths: &[usize; 4]) {
    for (column, (cell, wide)) in cells.iter().zip(widths).enumerate() {
        let room = wide.saturating_sub(width(cell));
        if column == 0 {
            out.extend_from_slice(cell);
            out.resize(out.len() + room, b' ');
        } else {
            out.resize(out.len() + 2 + room, b' ');
            out.extend_from_slice(cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::SortKey;

    fn row(label: &str, entries: u64, bytes: u64) -> Group {
        let count = Count {
            entries,
            size_bytes: bytes,
            blocks: bytes / 512,
        };
        Group {
            by: "type".to_owned(),
            is_of_files: false,
            key: None,
            id: None,
            label: label.as_bytes().to_vec(),
            count,
            directories: None,
            place: SortKey::default(),
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [row("files", 750, 5 << 20), row("d\x1br", 250, 0)];
        let whole = Count {
            entries: 1000,
            ..Count::default()
        };
        let locale = trawl_text::locale::Locale::Utf8;
        let text = section(
            "type",
            &rows,
            (whole, Weight::Entries),
            Terminal::Watched(locale),
            Ink::Signs,
        );
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text,
            "type   entries  content  disk   share of entries\n\
             files      750     5.0M  5.0M   75.0%  ###############\n\
             d?r        250        0     0   25.0%  #####\n"
        );
    }

    #[test]
    fn shares_say_what_they_are_of() {
        let mut of_files = row("c", 3, 0);
        of_files.is_of_files = true;
        let head = |row: &Group, weight| {
            let whole = (Count::default(), weight);
            let rows = std::slice::from_ref(row);
            let text = section("x", rows, whole, Terminal::Absent, Ink::Signs);
            let text = String::from_utf8(text).unwrap();
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert!(head(&of_files, Weight::Entries).ends_with("  share of files"));
        assert!(head(&of_files, Weight::Disk).ends_with("  share of files' disk"));
        assert!(head(&row("d", 1, 0), Weight::Content).ends_with("  share of content"));
    }
}
