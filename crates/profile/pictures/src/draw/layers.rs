//! The layers of a system under each other, for each operation.
//!
//! "The comparison of user-level and file-system-level profiles helps isolate VFS behavior from the
//! behavior of lower file systems." (§3.1.4)

use trawl_analysis::layers::Calls;
use trawl_histogram::{Histogram, Profile};

use super::chart::{Axis, Chart, Heights, Scale, called, calls, layer, total};
use crate::ink::Ink;
use crate::picture::{Anchor, HEADING, Picture, Rect, Style, fit};

/// The most operations of the upper layer that the picture shows.
const SHOWN_MOST: usize = 12;

const LEFT: f64 = 60.0;
const PLOT: f64 = 600.0;
const NAMES: f64 = 200.0;
const ROW: f64 = 54.0;
const GAP: f64 = 14.0;
const HEAD: f64 = 30.0;

/// A chart of the picture.
struct Row<'a> {
    layer: &'a str,
    operation: &'a str,
    scale: Scale,
    histogram: &'a Histogram,
}

/// Draws layers under each other, the upper one first. An operation that `calls` does not list calls
/// the operation of its own name in each lower layer.
pub fn layers(all: &[&Profile], calls: &[Calls]) -> Picture {
    let groups = groups(all, calls);
    let rows = || groups.iter().flat_map(|(_, rows)| rows);
    let axis = Axis::over(
        rows().map(|row| (row.scale, row.histogram.buckets())),
        LEFT,
        PLOT,
    );
    let heights = Heights::over(rows().map(|row| row.histogram.buckets()));
    let names: Vec<&str> = all.iter().map(|one| layer(one)).collect();
    let title = format!("Layers under each other: {}", names.join(", "));
    let mut picture = Picture::new(&title, LEFT + PLOT + NAMES + 16.0);
    picture.description =
        "For each operation, the histogram of each layer under that of the layer \
                           above. A peak at the same place in a lower layer comes from there."
            .to_owned();
    let top = HEADING + 24.0;
    let height = |rows: &[Row<'_>]| HEAD + rows.len() as f64 * (ROW + GAP);
    let bottom = top + groups.iter().map(|(_, rows)| height(rows)).sum::<f64>();
    axis.times(&mut picture, top, bottom);
    let mut y = top;
    for (name, rows) in &groups {
        group(&mut picture, name, rows, (axis, heights, y));
        y += height(rows);
    }
    if let Some(first) = all.first() {
        axis.numbers(&mut picture, Scale::of(first), bottom);
    }
    picture.height = bottom + 44.0;
    picture
}

/// Draws the charts of one operation under its name.
fn group(
    picture: &mut Picture,
    name: &str,
    rows: &[Row<'_>],
    (axis, heights, top): (Axis, Heights, f64),
) {
    picture.open(name);
    let text = fit(name, Style::NAME.size, PLOT);
    picture.text((LEFT, top + HEAD - 8.0), &text, Style::NAME);
    for (at, row) in rows.iter().enumerate() {
        let area = Rect {
            left: LEFT,
            top: top + HEAD + at as f64 * (ROW + GAP),
            width: PLOT,
            height: ROW,
        };
        let chart = Chart {
            axis,
            heights,
            area,
        };
        draw(picture, &chart, row, at);
    }
    picture.close();
}

fn draw(picture: &mut Picture, chart: &Chart, row: &Row<'_>, depth: usize) {
    let area = &chart.area;
    chart.heights.grid(picture, area);
    let ink = if depth == 0 { Ink::First } else { Ink::Heat(6) };
    chart.bars(picture, row.scale, row.histogram.buckets(), ink);
    let left = area.right() + 14.0;
    let style = Style::AXIS.at(Anchor::Start);
    let lines = [
        format!("{}: {}", row.layer, row.operation),
        calls(row.histogram),
        total(row.histogram, row.scale),
    ];
    for (at, line) in (0..).zip(&lines) {
        let style = if at == 0 {
            style.in_ink(Ink::Text)
        } else {
            style
        };
        let text = fit(line, style.size, NAMES - 14.0);
        picture.text((left, area.top + 13.0 + f64::from(at) * 15.0), &text, style);
    }
}

/// Returns the operations of the upper layer, each with the charts of all layers.
fn groups<'a>(all: &[&'a Profile], calls: &'a [Calls]) -> Vec<(&'a str, Vec<Row<'a>>)> {
    let Some((upper, lower)) = all.split_first() else {
        return Vec::new();
    };
    let operations = called(upper).into_iter().take(SHOWN_MOST);
    operations
        .map(|(name, one)| {
            let mut rows = vec![row(upper, name, one)];
            let mut above = vec![name];
            for profile in lower {
                above = below(&above, profile, calls);
                let found = above
                    .iter()
                    .filter_map(|name| Some((*name, profile.get(name)?)));
                rows.extend(found.map(|(name, one)| row(profile, name, one)));
            }
            (name, rows)
        })
        .collect()
}

fn row<'a>(profile: &'a Profile, operation: &'a str, histogram: &'a Histogram) -> Row<'a> {
    Row {
        layer: layer(profile),
        operation,
        scale: Scale::of(profile),
        histogram,
    }
}

/// Returns the operations of a layer that these of the layer above call. A layer in which nothing
/// has the name is skipped: what lies under it is called by the same operations.
fn below<'a>(above: &[&'a str], profile: &Profile, calls: &'a [Calls]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in above {
        match calls.iter().find(|one| one.upper == *name) {
            Some(listed) => found.extend(listed.lower.iter().map(String::as_str)),
            None => found.push(name),
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|name| profile.get(name).is_some());
    if found.is_empty() {
        above.to_vec()
    } else {
        found
    }
}
