//! Names side by side, as many columns as fit, filled from top to bottom.

/// The narrowest column: one character and the two spaces between columns.
const COLUMN_MIN_WIDTH: usize = 3;
const GAP_WIDTH: usize = 2;
const TAB_WIDTH: usize = 8;

/// A name ready to print and the columns it takes.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What is written, colours included.
    pub(crate) bytes: Vec<u8>,
    /// What is seen, in terminal columns.
    pub(crate) width: usize,
}

/// What fills the space between columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// Tabs where they reach, as GNU ls does.
    Tabs,
    /// Spaces only.
    Spaces,
}

/// The cells as lines of at most `line_width` columns (0: all in one line).
pub(crate) fn layout(cells: &[Cell], line_width: usize, gap: Gap) -> Vec<u8> {
    let mut out = Vec::new();
    if cells.is_empty() {
        return out;
    }
    if line_width == 0 {
        let line: Vec<&[u8]> = cells.iter().map(|cell| cell.bytes.as_slice()).collect();
        return [line.join(&b"  "[..]), vec![b'\n']].concat();
    }
    let widths = column_widths(cells, line_width);
    let rows = cells.len().div_ceil(widths.len());
    for row in 0..rows {
        let mut position = 0;
        let in_row = cells.iter().skip(row).step_by(rows);
        let mut columns = in_row.zip(&widths).peekable();
        while let Some((cell, width)) = columns.next() {
            out.extend_from_slice(&cell.bytes);
            if columns.peek().is_some() {
                fill(&mut out, position + cell.width, position + width, gap);
                position += width;
            }
        }
        out.push(b'\n');
    }
    out
}

/// The widths of the most columns that fit.
fn column_widths(cells: &[Cell], line_width: usize) -> Vec<usize> {
    let most = line_width
        .div_ceil(COLUMN_MIN_WIDTH)
        .min(cells.len())
        .max(1);
    // Columns that do fit are rarely many; start where the shortest names would just fit.
    for columns in (1..=most).rev() {
        let widths = widths_of(cells, columns);
        let total = widths
            .iter()
            .try_fold(0usize, |sum, width| sum.checked_add(*width));
        if columns == 1 || total.is_some_and(|total| total < line_width) {
            return widths;
        }
    }
    vec![COLUMN_MIN_WIDTH]
}

/// The widths if there are `columns` columns; the last has no gap.
fn widths_of(cells: &[Cell], columns: usize) -> Vec<usize> {
    let rows = cells.len().div_ceil(columns);
    let mut widths = vec![COLUMN_MIN_WIDTH; columns];
    for (at, cell) in cells.iter().enumerate() {
        let column = at / rows;
        let gap = if column + 1 == columns { 0 } else { GAP_WIDTH };
        if let Some(width) = widths.get_mut(column) {
            *width = (*width).max(cell.width + gap);
        }
    }
    widths
}

fn fill(out: &mut Vec<u8>, mut from: usize, to: usize, gap: Gap) {
    while from < to {
        if gap == Gap::Tabs && to / TAB_WIDTH > (from + 1) / TAB_WIDTH {
            out.push(b'\t');
            from += TAB_WIDTH - from % TAB_WIDTH;
        } else {
            out.push(b' ');
            from += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(names: &[&str]) -> Vec<Cell> {
        let cell = |name: &&str| Cell {
            bytes: name.as_bytes().to_vec(),
            width: name.len(),
        };
        names.iter().map(cell).collect()
    }

    fn text(names: &[&str], width: usize, gap: Gap) -> String {
        String::from_utf8(layout(&cells(names), width, gap)).unwrap()
    }

    #[test]
    fn columns_are_filled_downwards() {
        let names = ["a", "bb", "ccc", "dddd", "e"];
        assert_eq!(text(&names, 80, Gap::Spaces), "a  bb  ccc  dddd  e\n");
        assert_eq!(text(&names, 12, Gap::Spaces), "a    dddd\nbb   e\nccc\n");
        assert_eq!(text(&names, 5, Gap::Spaces), "a\nbb\nccc\ndddd\ne\n");
        assert_eq!(text(&[], 80, Gap::Spaces), "");
    }

    #[test]
    fn any_length_is_one_line() {
        let names = ["0123456789"; 30];
        assert_eq!(text(&names, 0, Gap::Tabs), names.join("  ") + "\n");
    }

    #[test]
    fn tabs_are_used_where_they_reach() {
        assert_eq!(text(&["abcdefgh", "b"], 80, Gap::Tabs), "abcdefgh  b\n");
        assert_eq!(
            text(&["a", "abcdefghijklmn", "c", "d"], 20, Gap::Tabs),
            "a\t\tc\nabcdefghijklmn\td\n"
        );
    }
}
