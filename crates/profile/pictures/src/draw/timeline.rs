//! One operation over time, as a heat map: latency to the right, elapsed time downwards.
//!
//! "To compare profiles with vastly different maximal values in the buckets, and to allow direct
//! timeline comparisons, we have also shown the same profiles from a different angle (top view)."
//! (§7.3, Figure 7.12)

use trawl_histogram::{Histogram, Profile, Sliced};

use super::Measure;
use super::chart::{Axis, Scale, filled, layer};
use crate::Error;
use crate::ink::Ink;
use crate::picture::{Anchor, HEADING, Item, Mark, Picture, Rect, Shape, Style};
use trawl_text::figures;

/// The most rows: more slices are joined in equal groups.
const ROWS_MOST: usize = 96;

const LEFT: f64 = 60.0;
const PLOT: f64 = 720.0;

/// Slices of one operation, joined to rows.
pub(crate) struct Rows {
    /// For each row the number of its first slice and its buckets.
    pub(crate) rows: Vec<(usize, Vec<u64>)>,
    /// Length of a row in seconds, if it is known.
    pub(crate) seconds: Option<f64>,
    /// Slices in a row.
    pub(crate) together: usize,
}

impl Rows {
    pub(crate) fn new(sliced: &Sliced, operation: &str, most: usize) -> Rows {
        let slices = sliced.slices();
        let together = slices.len().div_ceil(most.max(1)).max(1);
        let rows = slices.chunks(together).enumerate().map(|(at, chunk)| {
            let mut sum: Vec<u64> = Vec::new();
            for slice in chunk {
                let buckets = slice.buckets(operation);
                sum.resize(sum.len().max(buckets.len()), 0);
                for (sum, count) in sum.iter_mut().zip(buckets) {
                    *sum = sum.saturating_add(*count);
                }
            }
            (at * together, sum)
        });
        let seconds = sliced.interval_ns().map(|ns| ns as f64 / 1e9);
        Rows {
            rows: rows.collect(),
            seconds: seconds.map(|seconds| seconds * together as f64),
            together,
        }
    }

    /// Returns when a row begins: "2.5 s", or "slice 3" if the length of slices is unknown.
    pub(crate) fn when(&self, row: usize) -> String {
        match self.seconds {
            Some(seconds) => figures::time(row as f64 * seconds),
            None => format!("slice {}", row * self.together + 1),
        }
    }
}

/// Returns what a picture shows of a bucket.
pub(crate) fn value(measure: Measure, scale: Scale, bucket: usize, count: u64) -> f64 {
    match measure {
        Measure::Calls => count as f64,
        Measure::Latency => count as f64 * scale.mean(bucket),
    }
}

/// Returns the step of the ramp for a value: logarithmic.
pub(crate) fn heat(value: f64, (least, most): (f64, f64)) -> Ink {
    let last = f64::from(Ink::STEPS - 1);
    let share = (value / least).ln() / (most / least).ln().max(1e-9);
    let share = if most > least { share } else { 1.0 };
    Ink::Heat((share.clamp(0.0, 1.0) * last).round() as u8)
}

/// Returns the histogram of an operation that has calls.
pub(crate) fn called<'p>(profile: &'p Profile, operation: &str) -> Result<&'p Histogram, Error> {
    let one = profile.get(operation);
    let one = one.filter(|one| !one.buckets().is_empty());
    one.ok_or_else(|| Error::Operation(operation.to_owned()))
}

/// Returns what a picture shows of a bucket, in words.
pub(crate) fn in_words(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Calls => figures::calls(value as u64),
        Measure::Latency => figures::time(value),
    }
}

/// Draws one operation over time as a heat map.
///
/// # Errors
/// The profile has no call of the operation.
pub fn timeline(sliced: &Sliced, operation: &str, measure: Measure) -> Result<Picture, Error> {
    let profile = sliced.whole();
    let one = called(profile, operation)?;
    let scale = Scale::of(profile);
    let rows = Rows::new(sliced, operation, ROWS_MOST);
    let title = match measure {
        Measure::Calls => format!("{operation} ({}) over time: calls", layer(profile)),
        Measure::Latency => format!("{operation} ({}) over time: total latency", layer(profile)),
    };
    let mut picture = Picture::new(&title, LEFT + PLOT + 70.0);
    picture.description =
        "Latency grows to the right, elapsed time downwards; the more of it, the \
                           stronger the colour."
            .to_owned();
    let axis = Axis::over([(scale, one.buckets())], LEFT, PLOT);
    let height = (320.0 / rows.rows.len().max(1) as f64).clamp(4.0, 22.0);
    let area = Rect {
        left: LEFT,
        top: HEADING + 24.0,
        width: PLOT,
        height: height * rows.rows.len() as f64,
    };
    axis.times(&mut picture, area.top, area.bottom());
    let range = range(&rows, scale, measure);
    for at in 0..rows.rows.len() {
        row(
            &mut picture,
            &rows,
            at,
            (scale, axis, measure, range),
            (area.top, height),
        );
    }
    elapsed(&mut picture, &rows, &area, height);
    axis.numbers(&mut picture, scale, area.bottom());
    legend(&mut picture, measure, range, area.bottom() + 50.0);
    picture.height = area.bottom() + 84.0;
    Ok(picture)
}

/// Returns the least and the greatest value of all buckets.
pub(crate) fn range(rows: &Rows, scale: Scale, measure: Measure) -> (f64, f64) {
    let cells = rows.rows.iter().flat_map(|(_, buckets)| filled(buckets));
    let values = cells.map(|(bucket, count)| value(measure, scale, bucket, count));
    values.fold((f64::INFINITY, 0.0), |(least, most), one| {
        (one.min(least), one.max(most))
    })
}

fn row(
    picture: &mut Picture,
    rows: &Rows,
    at: usize,
    (scale, axis, measure, range): (Scale, Axis, Measure, (f64, f64)),
    (top, height): (f64, f64),
) {
    let (first, buckets) = &rows.rows[at];
    for (bucket, count) in filled(buckets) {
        let (left, width) = axis.bucket(scale, bucket);
        let cell = Rect {
            left,
            top: top + at as f64 * height,
            width,
            height,
        };
        let tip = format!(
            "from {}: {} of {}, together about {}; bucket {bucket}",
            rows.when(at),
            figures::calls(count),
            scale.range(bucket),
            figures::time(count as f64 * scale.mean(bucket)),
        );
        picture.items.push(Item::Mark {
            shape: Shape::Bar(cell),
            area: cell,
            ink: heat(value(measure, scale, bucket, count), range),
            mark: Mark {
                bucket,
                count,
                row: Some(*first),
                tip,
            },
        });
    }
}

/// Writes elapsed times at the left.
fn elapsed(picture: &mut Picture, rows: &Rows, area: &Rect, height: f64) {
    let step = (22.0 / height).ceil().max(1.0) as usize;
    for at in (0..rows.rows.len()).step_by(step) {
        let y = area.top + at as f64 * height;
        let label = rows.when(at);
        picture.text(
            (area.left - 6.0, y + 10.0),
            &label,
            Style::AXIS.at(Anchor::End),
        );
    }
    let (left, right) = (area.left, area.right());
    picture.line((left, area.bottom()), (right, area.bottom()), Ink::Faint);
    picture.line((left, area.top), (left, area.bottom()), Ink::Faint);
}

/// Draws the ramp with the values at its ends.
fn legend(picture: &mut Picture, measure: Measure, (least, most): (f64, f64), top: f64) {
    let name = |value: f64| in_words(measure, value);
    let middle = LEFT + PLOT / 2.0;
    let left = middle - 9.0 * 14.0;
    for step in 0..Ink::STEPS {
        let rect = Rect {
            left: left + f64::from(step) * 28.0,
            top,
            width: 28.0,
            height: 12.0,
        };
        picture.rect(rect, Ink::Heat(step));
    }
    let y = top + 10.0;
    if least.is_finite() {
        picture.text((left - 8.0, y), &name(least), Style::AXIS.at(Anchor::End));
        let right = left + 9.0 * 28.0 + 8.0;
        picture.text((right, y), &name(most), Style::AXIS.at(Anchor::Start));
    }
}
