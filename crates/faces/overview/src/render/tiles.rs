//! Areas that show the sizes of a tree's parts: a squarified treemap (Bruls, Huizing, van Wijk 2000)
//! as inline SVG. Places are percentages, so that the text keeps its size on a narrow screen.

use std::fmt::Write as _;

use super::html::escape;
use crate::document::{Tile, Tiles};
use crate::names::visible;
use crate::numbers;

/// Width of a picture for each unit of its height, as on a wide screen.
const ASPECT: f64 = 2.6;
/// Room for the label of a tile with tiles in it, as a share of the picture's height.
const LABEL: f64 = 0.06;
/// Number of colours in the style sheet.
const COLOURS: usize = 10;

/// A rectangle; the picture is `ASPECT` wide and 1 high.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Writes the picture.
pub(super) fn push(out: &mut String, tiles: &Tiles) {
    let caption = escape(&visible(&tiles.caption));
    let _ = write!(
        out,
        "<figure><figcaption>{caption}</figcaption>\
         <svg class=\"tiles\" role=\"img\" aria-label=\"{caption}\" width=\"100%\" height=\"340\">"
    );
    let whole = Area {
        x: 0.0,
        y: 0.0,
        width: ASPECT,
        height: 1.0,
    };
    let sizes: Vec<u64> = tiles.tiles.iter().map(|tile| tile.bytes).collect();
    for (at, (tile, area)) in tiles.tiles.iter().zip(areas(&sizes, whole)).enumerate() {
        push_tile(out, tile, area, at % COLOURS);
    }
    out.push_str("</svg></figure>\n");
}

fn push_tile(out: &mut String, tile: &Tile, area: Area, colour: usize) {
    push_area(out, tile, area, colour, "");
    let inner = Area {
        x: area.x + 0.006,
        y: area.y + LABEL,
        width: area.width - 0.012,
        height: area.height - LABEL - 0.008,
    };
    if inner.width < 0.1 || inner.height < 0.04 {
        return;
    }
    let sizes: Vec<u64> = tile.tiles.iter().map(|tile| tile.bytes).collect();
    // What is not listed keeps its place.
    let listed = sizes.iter().copied().fold(0, u64::saturating_add);
    let rest = tile.bytes.saturating_sub(listed);
    let sizes: Vec<u64> = sizes.into_iter().chain([rest]).collect();
    for (tile, area) in tile.tiles.iter().zip(areas(&sizes, inner)) {
        push_area(out, tile, area, colour, " inner");
    }
}

/// Writes a rectangle with its label, which ends at its border.
fn push_area(out: &mut String, tile: &Tile, area: Area, colour: usize, more: &str) {
    if area.width < 0.004 || area.height < 0.008 {
        return;
    }
    let label = escape(&visible(&tile.label));
    let size = numbers::size(tile.bytes);
    let (x, width) = (100.0 * area.x / ASPECT, 100.0 * area.width / ASPECT);
    let (y, height) = (100.0 * area.y, 100.0 * area.height);
    let _ = write!(
        out,
        "<svg x=\"{x:.2}%\" y=\"{y:.2}%\" width=\"{width:.2}%\" height=\"{height:.2}%\">\
         <title>{label}: {size}</title>\
         <rect class=\"tile c{colour}{more}\" width=\"100%\" height=\"100%\"/>"
    );
    if area.width > 0.16 && area.height >= 0.05 {
        let _ = write!(
            out,
            "<text x=\"5\" y=\"14\">{label} <tspan>{size}</tspan></text>"
        );
    }
    out.push_str("</svg>");
}

/// Divides an area in proportion to sizes, as close to squares as possible. The sizes should fall.
fn areas(sizes: &[u64], within: Area) -> Vec<Area> {
    let whole: f64 = sizes.iter().map(|size| *size as f64).sum();
    let scale = match whole > 0.0 {
        true => within.width * within.height / whole,
        false => 0.0,
    };
    let sizes: Vec<f64> = sizes.iter().map(|size| *size as f64 * scale).collect();
    let (mut free, mut found, mut rest) = (within, Vec::new(), &sizes[..]);
    while !rest.is_empty() {
        let side = free.width.min(free.height);
        let count = strip(rest, side);
        let (of_strip, others) = rest.split_at(count);
        free = lay(of_strip, free, &mut found);
        rest = others;
    }
    found
}

/// Returns the number of first sizes that make the best strip along a side of this length.
fn strip(sizes: &[f64], side: f64) -> usize {
    let mut best = f64::INFINITY;
    for count in 1..=sizes.len() {
        let worst = worst(&sizes[..count], side);
        if worst > best {
            return count - 1;
        }
        best = worst;
    }
    sizes.len()
}

/// Returns the worst ratio of sides in a strip.
fn worst(sizes: &[f64], side: f64) -> f64 {
    let sum: f64 = sizes.iter().sum();
    let (most, least) = sizes
        .iter()
        .fold((0.0_f64, f64::INFINITY), |(most, least), size| {
            (most.max(*size), least.min(*size))
        });
    match sum > 0.0 && least > 0.0 {
        true => (side * side * most / (sum * sum)).max(sum * sum / (side * side * least)),
        false => f64::MAX,
    }
}

/// Lays a strip along the shorter side of what is free, and returns what is left.
fn lay(sizes: &[f64], free: Area, found: &mut Vec<Area>) -> Area {
    let sum: f64 = sizes.iter().sum();
    let is_upright = free.height <= free.width;
    let side = if is_upright { free.height } else { free.width };
    let depth = if side > 0.0 { sum / side } else { 0.0 };
    let mut at = 0.0;
    for size in sizes {
        let length = if depth > 0.0 { size / depth } else { 0.0 };
        found.push(match is_upright {
            true => Area {
                y: free.y + at,
                width: depth,
                height: length,
                ..free
            },
            false => Area {
                x: free.x + at,
                width: length,
                height: depth,
                ..free
            },
        });
        at += length;
    }
    match is_upright {
        true => Area {
            x: free.x + depth,
            width: (free.width - depth).max(0.0),
            ..free
        },
        false => Area {
            y: free.y + depth,
            height: (free.height - depth).max(0.0),
            ..free
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_proportional_and_fill_the_picture() {
        let whole = Area {
            x: 0.0,
            y: 0.0,
            width: ASPECT,
            height: 1.0,
        };
        for sizes in [
            &[6, 6, 4, 3, 2, 2, 1][..],
            &[1],
            &[1 << 60, 1, 0, 0],
            &[0, 0],
            &[],
        ] {
            let found = areas(sizes, whole);
            assert_eq!(found.len(), sizes.len());
            let sum: u64 = sizes.iter().sum();
            for (area, size) in found.iter().zip(sizes) {
                let expected = ASPECT * (*size as f64) / (sum.max(1) as f64);
                assert!(
                    (area.width * area.height - expected).abs() < 1e-9,
                    "{area:?}"
                );
                let is_within =
                    |from: f64, length: f64, most: f64| from >= 0.0 && from + length <= most + 1e-9;
                assert!(is_within(area.x, area.width, ASPECT), "{area:?}");
                assert!(is_within(area.y, area.height, 1.0), "{area:?}");
            }
        }
    }

    #[test]
    fn areas_are_nearly_square() {
        let whole = Area {
            x: 0.0,
            y: 0.0,
            width: 6.0,
            height: 4.0,
        };
        // The example of the paper.
        let found = areas(&[6, 6, 4, 3, 2, 2, 1], whole);
        assert_eq!((found[0].width, found[0].height), (3.0, 2.0));
        assert_eq!((found[1].x, found[1].y), (0.0, 2.0));
        assert_eq!(found[2].x, 3.0);
    }
}
