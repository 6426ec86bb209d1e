//! A complete profile: all operations under each other, on one axis.
//!
//! "Operations are sorted from top to bottom by their total latency." (Figure 3.2)

use trawl_histogram::{Histogram, Profile};

use super::chart::{Axis, Chart, Heights, Scale, called, calls, layer, total};
use crate::ink::Ink;
use crate::picture::{HEADING, Picture, Rect, Style, fit};
use trawl_text::figures;

/// The most operations that the picture shows; it says how many it leaves out.
const SHOWN_MOST: usize = 40;

const LEFT: f64 = 60.0;
const PLOT: f64 = 600.0;
const NAMES: f64 = 200.0;

/// Draws a complete profile.
pub fn complete(profile: &Profile) -> Picture {
    let all = called(profile);
    let shown = &all[..all.len().min(SHOWN_MOST)];
    let scale = Scale::of(profile);
    let buckets = || shown.iter().map(|(_, one)| one.buckets());
    let axis = Axis::over(buckets().map(|one| (scale, one)), LEFT, PLOT);
    let heights = Heights::over(buckets());
    let title = match profile.title.as_str() {
        "" => format!("Complete profile: {}", layer(profile)),
        title => format!("Complete profile: {title} ({})", layer(profile)),
    };
    let mut picture = Picture::new(&title, LEFT + PLOT + NAMES + 16.0);
    picture.description = describe(shown.len());
    let (row, gap) = if shown.len() > 12 {
        (46.0, 14.0)
    } else {
        (64.0, 18.0)
    };
    let top = HEADING + 24.0;
    let bottom = top + shown.len() as f64 * (row + gap);
    axis.times(&mut picture, top, bottom);
    let latency: f64 = all.iter().map(|(_, one)| one.counts().total as f64).sum();
    for (at, (name, one)) in shown.iter().enumerate() {
        let area = Rect {
            left: LEFT,
            top: top + at as f64 * (row + gap) + gap,
            width: PLOT,
            height: row,
        };
        let chart = Chart {
            axis,
            heights,
            area,
        };
        operation(&mut picture, &chart, scale, (name, one), latency);
    }
    axis.numbers(&mut picture, scale, bottom);
    picture.height = bottom + 44.0;
    left_out(&mut picture, &all[shown.len()..], bottom);
    picture
}

/// Draws one operation; `latency` is that of all of them.
fn operation(
    picture: &mut Picture,
    chart: &Chart,
    scale: Scale,
    (name, one): (&str, &Histogram),
    latency: f64,
) {
    chart.heights.grid(picture, &chart.area);
    picture.open(name);
    let share = figures::share(one.counts().total as f64 / latency.max(1.0));
    let lines = [calls(one), format!("{} · {share}", total(one, scale))];
    names(picture, &chart.area, name, &lines);
    chart.bars(picture, scale, one.buckets(), Ink::First);
    picture.close();
}

fn describe(operations: usize) -> String {
    format!(
        "{operations} histograms under each other, those with the greatest total time first. To the \
         right, calls took longer; the higher a bar, the more calls."
    )
}

/// Writes an operation's name and numbers beside its chart.
fn names(picture: &mut Picture, area: &Rect, name: &str, lines: &[String]) {
    let left = area.right() + 14.0;
    let name = fit(name, Style::NAME.size, NAMES - 14.0);
    picture.text((left, area.top + 14.0), &name, Style::NAME);
    let style = Style {
        anchor: Style::NAME.anchor,
        ..Style::AXIS
    };
    for (line, at) in lines.iter().zip(1..) {
        let y = area.top + 14.0 + f64::from(at) * 15.0;
        picture.text((left, y), line, style);
    }
}

fn left_out(picture: &mut Picture, rest: &[(&str, &Histogram)], bottom: f64) {
    if rest.is_empty() {
        return;
    }
    let text = format!("{} more operations", figures::count(rest.len() as u64));
    let style = Style::AXIS.at(Style::NAME.anchor);
    picture.text((LEFT + PLOT + 14.0, bottom + 14.0), &text, style);
}
