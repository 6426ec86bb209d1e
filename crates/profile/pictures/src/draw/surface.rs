//! One operation over time, in three dimensions.
//!
//! "The z axis contains the number of operations that fall within a given bucket (the x axis) within
//! a given elapsed time interval (the y axis)." (§3.1.5, Figures 3.5 and 3.6)
//!
//! Columns stand on a grid, seen from the front, the right and above. Columns are drawn from the far
//! corner to the near one, so that near ones hide far ones.

use trawl_histogram::Sliced;

use super::Measure;
use super::chart::{Scale, filled, layer};
use super::timeline::{Rows, called, heat, in_words, range, value};
use crate::Error;
use crate::ink::Ink;
use crate::picture::{Anchor, HEADING, Item, Picture, Style};
use trawl_text::figures;

/// The most rows: more slices are joined in equal groups.
const ROWS_MOST: usize = 40;

const WIDTH: f64 = 850.0;

/// Corner of the floor that is nearest to the viewer.
const NEAR: (f64, f64) = (300.0, HEADING + 440.0);

/// How far the floor reaches along the buckets, and along time.
const BUCKETS: (f64, f64) = (480.0, -120.0);
const TIME: (f64, f64) = (-220.0, -130.0);

/// The greatest height of a column.
const HEIGHT: f64 = 190.0;

/// The floor and its columns.
struct Stage {
    first: usize,
    buckets: usize,
    rows: usize,
}

impl Stage {
    /// Returns the point over the floor, in buckets, rows and pixels of height.
    fn at(&self, bucket: f64, row: f64, height: f64) -> (f64, f64) {
        let along = (bucket - self.first as f64) / self.buckets as f64;
        let back = row / self.rows as f64;
        (
            NEAR.0 + along * BUCKETS.0 + back * TIME.0,
            NEAR.1 + along * BUCKETS.1 + back * TIME.1 - height,
        )
    }

    fn column(&self, picture: &mut Picture, bucket: usize, row: usize, height: f64, ink: Ink) {
        let (left, right) = (bucket as f64 + 0.06, bucket as f64 + 0.94);
        let (front, back) = (row as f64 + 0.06, row as f64 + 0.94);
        let top = [(left, front), (right, front), (right, back), (left, back)];
        let face = |a: (f64, f64), b: (f64, f64)| {
            vec![
                self.at(a.0, a.1, 0.0),
                self.at(b.0, b.1, 0.0),
                self.at(b.0, b.1, height),
                self.at(a.0, a.1, height),
            ]
        };
        let mut push = |points, shade| {
            picture.items.push(Item::Polygon { points, ink, shade });
        };
        push(face(top[3], top[0]), 0.34);
        push(face(top[0], top[1]), 0.18);
        push(
            top.iter()
                .map(|one| self.at(one.0, one.1, height))
                .collect(),
            0.0,
        );
    }
}

/// Draws one operation over time in three dimensions. The height is logarithmic for calls, linear for
/// latencies.
///
/// # Errors
/// The profile has no call of the operation.
pub fn surface(sliced: &Sliced, operation: &str, measure: Measure) -> Result<Picture, Error> {
    let profile = sliced.whole();
    let one = called(profile, operation)?;
    let scale = Scale::of(profile);
    let rows = Rows::new(sliced, operation, ROWS_MOST);
    let first = filled(one.buckets()).next().map_or(0, |(bucket, _)| bucket);
    let stage = Stage {
        first: first.saturating_sub(1),
        buckets: one.buckets().len() + 1 - first.saturating_sub(1),
        rows: rows.rows.len().max(1),
    };
    let what = match measure {
        Measure::Calls => "calls (logarithmic)",
        Measure::Latency => "total latency",
    };
    let title = format!("{operation} ({}) over time: {what}", layer(profile));
    let mut picture = Picture::new(&title, WIDTH);
    picture.description =
        "Columns on a grid: latency grows to the right, elapsed time to the back; \
                           the more of it, the higher the column."
            .to_owned();
    floor(&mut picture, &stage, scale, &rows);
    columns(&mut picture, &stage, scale, &rows, measure);
    picture.height = NEAR.1 + 50.0;
    Ok(picture)
}

fn columns(picture: &mut Picture, stage: &Stage, scale: Scale, rows: &Rows, measure: Measure) {
    let (least, most) = range(rows, scale, measure);
    let share = |value: f64| match measure {
        Measure::Calls => (value.log10() + 0.3) / (most.max(10.0).log10() + 0.3),
        Measure::Latency => value / most,
    };
    for (row, (_, buckets)) in rows.rows.iter().enumerate().rev() {
        let cells: Vec<(usize, u64)> = filled(buckets).collect();
        for (bucket, count) in cells.into_iter().rev() {
            let value = value(measure, scale, bucket, count);
            let ink = heat(value, (least, most));
            stage.column(picture, bucket, row, share(value) * HEIGHT, ink);
        }
    }
    let name = in_words(measure, most);
    let style = Style::AXIS.at(Anchor::Start);
    let text = format!("highest column: {name}");
    picture.text((16.0, HEADING + 16.0), &text, style);
}

/// Draws the grid on the floor, with times and elapsed times at its edges.
fn floor(picture: &mut Picture, stage: &Stage, scale: Scale, rows: &Rows) {
    let last = (stage.first + stage.buckets) as f64;
    let depth = stage.rows as f64;
    let step = stage.buckets.div_ceil(9).max(1);
    for bucket in (stage.first..=stage.first + stage.buckets).step_by(step) {
        let at = bucket as f64;
        picture.line(stage.at(at, 0.0, 0.0), stage.at(at, depth, 0.0), Ink::Grid);
        let (x, y) = stage.at(at, 0.0, 0.0);
        let label = figures::time(scale.begin(bucket).exp2());
        picture.text((x + 4.0, y + 18.0), &label, Style::AXIS.at(Anchor::Start));
    }
    let step = stage.rows.div_ceil(6).max(1);
    for row in (0..=stage.rows).step_by(step) {
        let at = row as f64;
        picture.line(
            stage.at(stage.first as f64, at, 0.0),
            stage.at(last, at, 0.0),
            Ink::Grid,
        );
        let (x, y) = stage.at(stage.first as f64, at, 0.0);
        let label = rows.when(row);
        picture.text((x - 10.0, y + 6.0), &label, Style::AXIS.at(Anchor::End));
    }
    let (x, y) = stage.at((stage.first as f64 + last) / 2.0, 0.0, 0.0);
    picture.text((x + 30.0, y + 42.0), "latency", Style::AXIS);
    let (x, y) = stage.at(stage.first as f64, depth / 2.0, 0.0);
    picture.text((x - 50.0, y + 42.0), "elapsed time", Style::AXIS);
}
