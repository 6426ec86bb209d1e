//! Two profiles side by side, on equal axes.
//!
//! "A profile of one version of a file system or one type of workload may be compared with a profile
//! of a different file system or the same file system under a different workload." (§3.2)

use std::collections::BTreeMap;

use trawl_histogram::{Histogram, Profile};

use super::chart::{Axis, Chart, Heights, Scale, calls, total};
use crate::ink::Ink;
use crate::picture::{Anchor, HEADING, Picture, Rect, Style, fit};

/// The most operations that the picture shows: those with the greatest total latency in both.
const SHOWN_MOST: usize = 24;

const LEFT: f64 = 60.0;
const PLOT: f64 = 390.0;
const GAP: f64 = 40.0;
const ROW: f64 = 64.0;
const NAME: f64 = 34.0;

/// One operation of two profiles.
#[derive(Clone, Copy)]
struct Both<'a> {
    name: &'a str,
    first: Option<&'a Histogram>,
    second: Option<&'a Histogram>,
}

/// Draws two profiles side by side. `labels` name them.
pub fn pair(first: &Profile, second: &Profile, labels: (&str, &str)) -> Picture {
    let shown = both(first, second);
    let scales = (Scale::of(first), Scale::of(second));
    let buckets = |scale: Scale, one: Option<&'_ Histogram>| {
        (scale, one.map_or(Vec::new(), |one| one.buckets().to_vec()))
    };
    let all: Vec<(Scale, Vec<u64>)> = shown
        .iter()
        .flat_map(|one| [buckets(scales.0, one.first), buckets(scales.1, one.second)])
        .collect();
    let axis = Axis::over(
        all.iter().map(|(scale, one)| (*scale, one.as_slice())),
        LEFT,
        PLOT,
    );
    let heights = Heights::over(all.iter().map(|(_, one)| one.as_slice()));
    let title = format!("{} (left) and {} (right)", labels.0, labels.1);
    let mut picture = Picture::new(&title, LEFT + PLOT + GAP + PLOT + 20.0);
    picture.description =
        "Each row is an operation. The thin lines in a chart are the tops of the \
                           other profile's bars."
            .to_owned();
    let top = HEADING + 48.0;
    let bottom = top + shown.len() as f64 * (ROW + NAME);
    let sides = [axis, axis.at(LEFT + PLOT + GAP)];
    for (side, (label, ink)) in sides
        .iter()
        .zip([(labels.0, Ink::First), (labels.1, Ink::Second)])
    {
        side.times(&mut picture, top, bottom);
        let style = Style::NAME.in_ink(ink);
        let label = fit(label, style.size, PLOT);
        picture.text((side.left, top - 28.0), &label, style);
    }
    for (at, one) in shown.iter().enumerate() {
        let top = top + at as f64 * (ROW + NAME) + NAME;
        row(&mut picture, one, (&sides, scales, heights, top));
    }
    sides[0].numbers(&mut picture, scales.0, bottom);
    sides[1].numbers(&mut picture, scales.1, bottom);
    picture.height = bottom + 44.0;
    picture
}

/// Draws one operation of both profiles.
fn row(
    picture: &mut Picture,
    one: &Both<'_>,
    (sides, scales, heights, top): (&[Axis; 2], (Scale, Scale), Heights, f64),
) {
    picture.open(one.name);
    let name = fit(one.name, Style::NAME.size, PLOT * 0.5);
    picture.text((LEFT, top - 8.0), &name, Style::NAME);
    let charts = [
        (
            sides[0],
            (scales.0, one.first, Ink::First),
            (scales.1, one.second, Ink::Second),
        ),
        (
            sides[1],
            (scales.1, one.second, Ink::Second),
            (scales.0, one.first, Ink::First),
        ),
    ];
    for (axis, own, other) in charts {
        let area = Rect {
            left: axis.left,
            top,
            width: axis.width,
            height: ROW,
        };
        let chart = Chart {
            axis,
            heights,
            area,
        };
        heights.grid(picture, &area);
        let text = match own.1 {
            Some(one) => format!("{} · {}", calls(one), total(one, own.0)),
            None => "no call".to_owned(),
        };
        let style = Style::AXIS.at(Anchor::End);
        picture.text((area.right(), top - 8.0), &text, style);
        if let Some(one) = own.1 {
            chart.bars(picture, own.0, one.buckets(), own.2);
        }
        if let Some(one) = other.1 {
            chart.ghost(picture, other.0, one.buckets(), other.2);
        }
    }
    picture.close();
}

/// Returns the operations of both profiles, greatest total time first.
fn both<'a>(first: &'a Profile, second: &'a Profile) -> Vec<Both<'a>> {
    let mut all: BTreeMap<&str, Both<'a>> = BTreeMap::new();
    let empty = |name| Both {
        name,
        first: None,
        second: None,
    };
    for (name, one) in first.operations() {
        all.entry(name).or_insert_with(|| empty(name)).first = Some(one);
    }
    for (name, one) in second.operations() {
        all.entry(name).or_insert_with(|| empty(name)).second = Some(one);
    }
    let seconds = |profile: &Profile, one: Option<&Histogram>| {
        one.map_or(0.0, |one| profile.unit().seconds(one.counts().total as f64))
    };
    let total = |one: &Both<'a>| seconds(first, one.first) + seconds(second, one.second);
    let is_called = |one: &Both<'a>| {
        [one.first, one.second]
            .into_iter()
            .flatten()
            .any(|one| !one.buckets().is_empty())
    };
    let mut all: Vec<Both<'a>> = all.into_values().filter(is_called).collect();
    all.sort_by(|a, b| total(b).total_cmp(&total(a)));
    all.truncate(SHOWN_MOST);
    all
}
