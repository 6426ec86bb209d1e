//! Names side by side: in as many columns as fit, filled from top to bottom or from left to right,
//! or separated by commas.

use crate::listing::name::Name;

/// Minimum width of a column: one character and the two spaces between columns.
const COLUMN_MIN_WIDTH: usize = 3;
const GAP_WIDTH: usize = 2;

/// A name that is ready to print, and its width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Fields before the name.
    pub(crate) front: Vec<u8>,
    /// The name.
    pub(crate) name: Name,
    /// Indicator after the name.
    pub(crate) mark: Option<u8>,
    /// Visible width of all parts, in terminal columns.
    pub(crate) width: usize,
}

/// Direction in which columns are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// From top to bottom, the first column first.
    Down,
    /// From left to right, the first line first.
    Across,
}

/// Lines that hold the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Width of a line in terminal columns; 0 puts everything in one line.
    pub(crate) line_width: usize,
    /// Columns between tab stops; 0 uses only spaces.
    pub(crate) tab_width: usize,
    /// Byte that ends a line.
    pub(crate) ending: u8,
}

impl Page {
    /// Arranges the cells in as many columns as fit. `finish` returns the bytes of a cell, given
    /// the column at which it begins.
    pub(crate) fn columns(
        &self,
        cells: &[Cell],
        fill: Fill,
        finish: impl Fn(&Cell, usize) -> Vec<u8>,
    ) -> Vec<u8> {
        if self.line_width == 0 {
            return self.separated(cells, b' ', finish);
        }
        let mut out = Vec::new();
        if cells.is_empty() {
            return out;
        }
        let widths = column_widths(cells, self.line_width, fill);
        let rows = cells.len().div_ceil(widths.len());
        for row in 0..rows {
            let (first, step) = match fill {
                Fill::Down => (row, rows),
                Fill::Across => (row * widths.len(), 1),
            };
            let mut position = 0;
            let in_row = cells.iter().skip(first).step_by(step);
            let mut columns = in_row.zip(&widths).peekable();
            while let Some((cell, width)) = columns.next() {
                out.extend(finish(cell, position));
                if columns.peek().is_some() {
                    self.fill(&mut out, position + cell.width, position + width);
                    position += width;
                }
            }
            out.push(self.ending);
        }
        out
    }

    /// Joins the cells with `separator`, followed by a space or by a line end.
    pub(crate) fn separated(
        &self,
        cells: &[Cell],
        separator: u8,
        finish: impl Fn(&Cell, usize) -> Vec<u8>,
    ) -> Vec<u8> {
        let (mut out, mut position) = (Vec::new(), 0);
        for (nth, cell) in cells.iter().enumerate() {
            let width = if self.line_width == 0 { 0 } else { cell.width };
            if nth > 0 {
                let fits = self.line_width == 0 || position + width + 2 < self.line_width;
                position = if fits { position + 2 } else { 0 };
                out.extend([separator, if fits { b' ' } else { self.ending }]);
            }
            out.extend(finish(cell, position));
            position += width;
        }
        if !cells.is_empty() {
            out.push(self.ending);
        }
        out
    }

    fn fill(&self, out: &mut Vec<u8>, mut from: usize, to: usize) {
        let tab = self.tab_width;
        while from < to {
            if tab != 0 && to / tab > (from + 1) / tab {
                out.push(b'\t');
                from += tab - from % tab;
            } else {
                out.push(b' ');
                from += 1;
            }
        }
    }
}

/// Returns the widths of as many columns as fit.
fn column_widths(cells: &[Cell], line_width: usize, fill: Fill) -> Vec<usize> {
    let most = line_width
        .div_ceil(COLUMN_MIN_WIDTH)
        .min(cells.len())
        .max(1);
    for columns in (1..=most).rev() {
        let widths = widths_of(cells, columns, fill);
        let total = widths
            .iter()
            .try_fold(0usize, |sum, width| sum.checked_add(*width));
        // If all names have the minimum width, no further check is needed.
        let least = widths.iter().all(|width| *width == COLUMN_MIN_WIDTH);
        if columns == 1 || least || total.is_some_and(|total| total < line_width) {
            return widths;
        }
    }
    vec![COLUMN_MIN_WIDTH]
}

/// Returns the widths of `columns` columns; the last one has no gap.
fn widths_of(cells: &[Cell], columns: usize, fill: Fill) -> Vec<usize> {
    let rows = cells.len().div_ceil(columns);
    let mut widths = vec![COLUMN_MIN_WIDTH; columns];
    for (at, cell) in cells.iter().enumerate() {
        let column = match fill {
            Fill::Down => at / rows,
            Fill::Across => at % columns,
        };
        let gap = if column + 1 == columns { 0 } else { GAP_WIDTH };
        if let Some(width) = widths.get_mut(column) {
            *width = (*width).max(cell.width + gap);
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(names: &[&str]) -> Vec<Cell> {
        let cell = |name: &&str| Cell {
            front: name.as_bytes().to_vec(),
            width: name.len(),
            ..Cell::default()
        };
        names.iter().map(cell).collect()
    }

    fn text(names: &[&str], line_width: usize, tab_width: usize) -> String {
        let page = Page {
            line_width,
            tab_width,
            ending: b'\n',
        };
        let name = |cell: &Cell, _| cell.front.clone();
        String::from_utf8(page.columns(&cells(names), Fill::Down, name)).unwrap()
    }

    #[test]
    fn columns_are_filled_downwards() {
        let names = ["a", "bb", "ccc", "dddd", "e"];
        assert_eq!(text(&names, 80, 0), "a  bb  ccc  dddd  e\n");
        assert_eq!(text(&names, 12, 0), "a    dddd\nbb   e\nccc\n");
        assert_eq!(text(&names, 5, 0), "a\nbb\nccc\ndddd\ne\n");
        assert_eq!(text(&[], 80, 0), "");
    }

    #[test]
    fn any_length_is_one_line() {
        let names = ["0123456789"; 30];
        assert_eq!(text(&names, 0, 8), names.join("  ") + "\n");
    }

    #[test]
    fn tabs_are_used_where_they_reach() {
        assert_eq!(text(&["abcdefgh", "b"], 80, 8), "abcdefgh  b\n");
        assert_eq!(
            text(&["a", "abcdefghijklmn", "c", "d"], 20, 8),
            "a\t\tc\nabcdefghijklmn\td\n"
        );
    }

    #[test]
    fn commas_stand_between_names() {
        let page = Page {
            line_width: 10,
            tab_width: 8,
            ending: b'\n',
        };
        let name = |cell: &Cell, _| cell.front.clone();
        let out = page.separated(&cells(&["aaa", "bbb", "ccc"]), b',', name);
        assert_eq!(out, b"aaa, bbb,\nccc\n");
    }
}
