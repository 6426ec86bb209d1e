//! One operation, large: its bars, its peaks, and the times that the machine's activities take.
//!
//! "Figure 3.3 shows a magnified profile of the read_inode operation […] Here we also show the
//! latency of every bucket using the right axis." (§3.1.2) Rings show it here.

use trawl_analysis::View;
use trawl_analysis::peaks::{CharacteristicTime, Detection, Peak, peaks};
use trawl_histogram::{Histogram, Profile};

use super::chart::{Axis, Chart, Heights, Scale, calls, filled, layer, total};
use crate::Error;
use crate::ink::Ink;
use crate::picture::{Anchor, HEADING, Item, Mark, Picture, Rect, Shape, Style, Weight, fit};
use trawl_text::figures;

const LEFT: f64 = 60.0;
const PLOT: f64 = 720.0;
const HEIGHT: f64 = 300.0;

/// Draws one operation of a profile. `times` are in the profile's unit.
///
/// # Errors
/// The profile has no call of the operation.
pub fn operation(
    profile: &Profile,
    operation: &str,
    times: &[CharacteristicTime],
) -> Result<Picture, Error> {
    let missing = || Error::Operation(operation.to_owned());
    let one = profile
        .get(operation)
        .filter(|one| !one.buckets().is_empty());
    let one = one.ok_or_else(missing)?;
    let scale = Scale::of(profile);
    let title = format!(
        "{operation} ({}): {}, {} in all",
        layer(profile),
        calls(one),
        total(one, scale)
    );
    let mut picture = Picture::new(&title, LEFT + PLOT + 70.0);
    let area = Rect {
        left: LEFT,
        top: HEADING + 68.0,
        width: PLOT,
        height: HEIGHT,
    };
    let chart = Chart {
        axis: Axis::over([(scale, one.buckets())], LEFT, PLOT),
        heights: Heights::over([one.buckets()]),
        area,
    };
    let found = peaks(View::from(one), &Detection::default());
    picture.description = format!("A histogram with {} peaks.", found.len());
    chart
        .axis
        .times(&mut picture, area.top - 30.0, area.bottom());
    chart.heights.grid(&mut picture, &area);
    let named = characteristic(&mut picture, &chart, scale, times);
    chart.bars(&mut picture, scale, one.buckets(), Ink::First);
    rings(&mut picture, &chart, scale, one);
    for (peak, number) in found.iter().zip(1..) {
        bracket(&mut picture, &chart, scale, peak, number);
    }
    chart.axis.numbers(&mut picture, scale, area.bottom());
    let above = Style::AXIS.at(Anchor::Start);
    picture.text((16.0, HEADING + 12.0), "bars: calls", above);
    picture.height = area.bottom() + 44.0;
    for line in named {
        let style = above.in_ink(Ink::Note);
        let line = fit(&line, style.size, PLOT);
        picture.text((LEFT, picture.height + 6.0), &line, style);
        picture.height += 18.0;
    }
    Ok(picture)
}

/// Draws the bracket over a peak, with its number: the page explains the peaks by number.
fn bracket(picture: &mut Picture, chart: &Chart, scale: Scale, peak: &Peak, number: usize) {
    let y = chart.area.top - 4.0;
    let left = chart.axis.bucket(scale, peak.first).0 + 1.0;
    let (last, width) = chart.axis.bucket(scale, peak.last);
    let right = last + width - 1.0;
    for x in [left, right] {
        picture.line((x, y), (x, y + 5.0), Ink::Note);
    }
    picture.line((left, y), (right, y), Ink::Note);
    let text = format!("peak {number}");
    let room = right - left;
    let text = if room < 40.0 {
        number.to_string()
    } else {
        text
    };
    let style = Style::AXIS.in_ink(Ink::Note);
    picture.text(((left + right) / 2.0, y - 6.0), &text, style);
}

/// Draws the times that activities of the machine take, each with a letter; returns what the letters
/// mean.
fn characteristic(
    picture: &mut Picture,
    chart: &Chart,
    scale: Scale,
    times: &[CharacteristicTime],
) -> Vec<String> {
    let area = &chart.area;
    let mut names = Vec::new();
    for (time, letter) in times.iter().filter(|time| time.time > 0.0).zip('a'..='z') {
        let x = chart.axis.x(scale.log2(time.time));
        if x <= area.left || x >= area.right() {
            continue;
        }
        picture.dashes((x, area.top), (x, area.bottom()), Ink::Note);
        let style = Style {
            weight: Weight::Bold,
            ..Style::AXIS.at(Anchor::Start).in_ink(Ink::Note)
        };
        picture.text((x + 4.0, area.top + 14.0), &letter.to_string(), style);
        let seconds = scale.unit.seconds(time.time);
        names.push(format!(
            "{letter}: {}, {}",
            time.name,
            figures::time(seconds)
        ));
    }
    names
}

/// Draws each bucket's estimated total latency, on an axis at the right.
fn rings(picture: &mut Picture, chart: &Chart, scale: Scale, one: &Histogram) {
    let sums: Vec<(usize, u64, f64)> = filled(one.buckets())
        .map(|(bucket, count)| (bucket, count, count as f64 * scale.mean(bucket)))
        .collect();
    let logs = || sums.iter().map(|(_, _, sum)| sum.log10());
    let most = logs().fold(f64::NEG_INFINITY, f64::max).ceil();
    let least = logs().fold(f64::INFINITY, f64::min).floor().min(most - 2.0);
    let area = &chart.area;
    let y = |log: f64| area.bottom() - (log - least) / (most - least) * area.height;
    let style = Style::AXIS.at(Anchor::Start).in_ink(Ink::Second);
    for exponent in (least as i32..=most as i32).filter(|one| one.rem_euclid(3) == 0) {
        let label = figures::time(10_f64.powi(exponent));
        picture.text(
            (area.right() + 6.0, y(f64::from(exponent)) + 4.0),
            &label,
            style,
        );
    }
    let text = "rings: time of all calls in a bucket";
    let at = (area.right() + 62.0, HEADING + 12.0);
    picture.text(at, text, style.at(Anchor::End));
    for (bucket, count, sum) in &sums {
        let (left, width) = chart.axis.bucket(scale, *bucket);
        let (x, y) = (left + width / 2.0, y(sum.log10()));
        let area = Rect {
            left: x - 6.0,
            top: y - 6.0,
            width: 12.0,
            height: 12.0,
        };
        let tip = format!(
            "{}: all {} together took about {}",
            scale.range(*bucket),
            figures::calls(*count),
            figures::time(*sum)
        );
        let shape = Shape::Ring { x, y, radius: 3.5 };
        let mark = Mark {
            bucket: *bucket,
            count: *count,
            row: None,
            tip,
        };
        picture.items.push(Item::Mark {
            shape,
            area,
            ink: Ink::Second,
            mark,
        });
    }
}
