//! Tables for people: aligned columns of cells, and numbers in them.

use trawl_text::units::{Scale, format};

use crate::width::width;

/// Alignment of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The first column to the left, all others to the right.
    FirstLeft,
    /// The first and the last column to the left, all others to the right.
    EndsLeft,
}

/// Returns the rows with each column as wide as its widest cell and two spaces between columns.
pub fn table(rows: &[Vec<Vec<u8>>], align: Align) -> Vec<u8> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut out = Vec::new();
    for row in rows {
        let begin = out.len();
        for (column, (cell, wide)) in row.iter().zip(&widths).enumerate() {
            let room = wide.saturating_sub(width(cell));
            let is_last = column + 1 == columns;
            let is_left = column == 0 || is_last && align == Align::EndsLeft;
            if column > 0 {
                out.extend_from_slice(b"  ");
            }
            let before = if is_left { 0 } else { room };
            out.resize(out.len() + before, b' ');
            out.extend_from_slice(cell);
            out.resize(out.len() + room - before, b' ');
        }
        while out.len() > begin && out.last() == Some(&b' ') {
            out.pop();
        }
        out.push(b'\n');
    }
    out
}

/// Formats a number of bytes with its sign: `+1.5M`, `-12K`, `0`.
pub fn signed_size(bytes: i128) -> String {
    let text = format(bytes.unsigned_abs(), Scale::Binary);
    match bytes {
        0 => text,
        1.. => format!("+{text}"),
        _ => format!("-{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |cells: [&str; 3]| cells.map(|cell| cell.as_bytes().to_vec()).to_vec();
        let rows = [row(["name", "n", "x"]), row(["a", "100", "long"])];
        let text = |align| String::from_utf8(table(&rows, align)).unwrap();
        assert_eq!(text(Align::FirstLeft), "name    n     x\na     100  long\n");
        assert_eq!(text(Align::EndsLeft), "name    n  x\na     100  long\n");
    }

    #[test]
    fn sizes_have_signs() {
        let sizes = [0, 1536, -2048].map(signed_size);
        assert_eq!(sizes, ["0", "+1.5K", "-2.0K"]);
    }
}
