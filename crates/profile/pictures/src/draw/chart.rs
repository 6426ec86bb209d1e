//! The parts that all charts share: the axis of latencies, the axis of counts, and bars between them.
//!
//! "Note that both axes are logarithmic (x-axis is base 2, y-axis is base 10)." (Figure 3.1) Bucket
//! numbers stand below, times above. All positions are computed from times, so that profiles with
//! different units or resolutions share an axis.

use trawl_histogram::{Histogram, Profile, Resolution, Unit};

use crate::ink::Ink;
use crate::picture::{Anchor, Item, Mark, Picture, Rect, Shape, Style};
use trawl_text::figures;

/// How buckets relate to times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) unit: Unit,
    pub(crate) resolution: Resolution,
}

impl Scale {
    pub(crate) fn of(profile: &Profile) -> Scale {
        Scale {
            unit: profile.unit(),
            resolution: profile.resolution(),
        }
    }

    /// Returns log₂ of the time at which a bucket begins, in seconds.
    pub(crate) fn begin(self, bucket: usize) -> f64 {
        bucket as f64 / f64::from(self.resolution.get()) - self.unit.per_second().log2()
    }

    /// Returns log₂ of the time in seconds for a latency in the profile's unit.
    pub(crate) fn log2(self, latency: f64) -> f64 {
        self.unit.seconds(latency).log2()
    }

    /// Returns a bucket's average latency in seconds.
    pub(crate) fn mean(self, bucket: usize) -> f64 {
        let bucket = u16::try_from(bucket).unwrap_or(u16::MAX);
        self.unit.seconds(self.resolution.mean(bucket))
    }

    /// Returns the times of a bucket: "2.4 µs to 4.8 µs".
    pub(crate) fn range(self, bucket: usize) -> String {
        let begin = match bucket {
            0 => 0.0,
            _ => self.begin(bucket).exp2(),
        };
        let end = self.begin(bucket + 1).exp2();
        format!("{} to {}", figures::time(begin), figures::time(end))
    }
}

/// Returns the buckets that hold something, with their counts.
pub(crate) fn filled(buckets: &[u64]) -> impl DoubleEndedIterator<Item = (usize, u64)> {
    let all = buckets.iter().copied().enumerate();
    all.filter(|(_, count)| *count > 0)
}

/// The axis of latencies: log₂ of seconds becomes a place in the picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    from: f64,
    to: f64,
    pub(crate) left: f64,
    pub(crate) width: f64,
}

/// Fewest doublings that an axis shows: a single bucket must not fill the picture.
const DOUBLINGS_LEAST: f64 = 12.0;

impl Axis {
    /// Returns an axis on which all these histograms fit, with a margin of a doubling.
    pub(crate) fn over<'a>(
        all: impl IntoIterator<Item = (Scale, &'a [u64])>,
        left: f64,
        width: f64,
    ) -> Axis {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for (scale, buckets) in all {
            for (bucket, _) in filled(buckets) {
                from = from.min(scale.begin(bucket) - 1.0);
                to = to.max(scale.begin(bucket + 1) + 1.0);
            }
        }
        if from > to {
            (from, to) = (-20.0, -8.0);
        }
        let missing = (DOUBLINGS_LEAST - (to - from)).max(0.0);
        Axis {
            from: from - (missing / 2.0).floor(),
            to: to + (missing / 2.0).ceil(),
            left,
            width,
        }
    }

    /// Returns the same axis at another place.
    pub(crate) fn at(self, left: f64) -> Axis {
        Axis { left, ..self }
    }

    pub(crate) fn x(&self, log2_seconds: f64) -> f64 {
        let share = (log2_seconds - self.from) / (self.to - self.from);
        self.left + share.clamp(0.0, 1.0) * self.width
    }

    /// Returns a bucket's left end and width.
    pub(crate) fn bucket(&self, scale: Scale, bucket: usize) -> (f64, f64) {
        let left = self.x(scale.begin(bucket));
        (left, self.x(scale.begin(bucket + 1)) - left)
    }

    /// Returns the buckets of a scale that lie on the axis.
    pub(crate) fn buckets(&self, scale: Scale) -> std::ops::Range<usize> {
        let r = f64::from(scale.resolution.get());
        let bucket = |log2: f64| (log2 + scale.unit.per_second().log2()) * r;
        let first = bucket(self.from).ceil().max(0.0) as usize;
        let last = bucket(self.to).floor().max(0.0) as usize;
        first..last.min(scale.resolution.buckets())
    }

    /// Draws times above, and lines from them through the chart.
    pub(crate) fn times(&self, picture: &mut Picture, top: f64, bottom: f64) {
        let decade = self.width / (self.to - self.from) * std::f64::consts::LOG2_10;
        let step = if decade < 48.0 { 3 } else { 1 };
        let exponents = (self.from * std::f64::consts::LOG10_2).ceil() as i32
            ..=(self.to * std::f64::consts::LOG10_2).floor() as i32;
        for exponent in exponents {
            let x = self.x(f64::from(exponent) * std::f64::consts::LOG2_10);
            picture.line((x, top), (x, bottom), Ink::Grid);
            if exponent.rem_euclid(step) == 0 {
                picture.text((x, top - 6.0), &tick(exponent), Style::AXIS);
            }
        }
    }

    /// Draws bucket numbers below.
    pub(crate) fn numbers(&self, picture: &mut Picture, scale: Scale, top: f64) {
        let buckets = self.buckets(scale);
        let each = self.width / buckets.len().max(1) as f64;
        let fits = |step: &usize| *step as f64 * each >= 24.0;
        let step = [1, 2, 5, 10, 20, 50, 100].into_iter().find(fits);
        let step = step.unwrap_or(200);
        for bucket in buckets.filter(|bucket| bucket.is_multiple_of(step)) {
            let (left, width) = self.bucket(scale, bucket);
            let at = (left + width / 2.0, top + 14.0);
            picture.text(at, &bucket.to_string(), Style::AXIS);
        }
        let what = match scale.unit {
            Unit::Nanoseconds => "latency in ns",
            Unit::Cycles { .. } => "latency in CPU cycles",
        };
        let text = match scale.resolution.get() {
            1 => format!("bucket number: log₂({what})"),
            r => format!("bucket number: {r} × log₂({what})"),
        };
        let at = (self.left + self.width / 2.0, top + 31.0);
        picture.text(at, &text, Style::AXIS);
    }
}

/// Returns the label of 10^exponent seconds.
fn tick(exponent: i32) -> String {
    match exponent {
        1.. => {
            let seconds = 10_u64.checked_pow(exponent.unsigned_abs());
            format!("{} s", figures::count(seconds.unwrap_or(u64::MAX)))
        }
        -9..=0 => figures::time(10_f64.powi(exponent)),
        _ => format!("10^{exponent} s"),
    }
}

/// The axis of counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heights {
    decades: f64,
}

/// Height of a single call, in decades: the logarithm of 1 is 0, which could not be seen.
const ONE: f64 = 0.3;

impl Heights {
    /// Returns an axis up to a count.
    pub(crate) fn up_to(most: u64) -> Heights {
        Heights {
            decades: (most.max(10) as f64).log10() * 1.04,
        }
    }

    /// Returns an axis on which all these histograms fit.
    pub(crate) fn over<'a>(all: impl IntoIterator<Item = &'a [u64]>) -> Heights {
        let most = all.into_iter().flatten().max();
        Heights::up_to(most.copied().unwrap_or(0))
    }

    /// Returns how high a count is, as a share of the chart's height.
    pub(crate) fn share(&self, count: u64) -> f64 {
        match count {
            0 => 0.0,
            _ => (((count as f64).log10() + ONE) / (self.decades + ONE)).min(1.0),
        }
    }

    /// Draws the grid and the counts at its left.
    pub(crate) fn grid(&self, picture: &mut Picture, area: &Rect) {
        let room = area.height / (self.decades + ONE);
        let step = if room < 14.0 { 3 } else { 1 };
        for exponent in (0..=self.decades.floor() as i32).filter(|one| one % step == 0) {
            let count = 10_f64.powi(exponent) as u64;
            let y = area.bottom() - self.share(count) * area.height;
            picture.line((area.left, y), (area.right(), y), Ink::Grid);
            let label = figures::power(exponent);
            let at = (area.left - 6.0, y + 4.0);
            picture.text(at, &label, Style::AXIS.at(Anchor::End));
        }
        let (bottom, right) = (area.bottom(), area.right());
        picture.line((area.left, bottom), (right, bottom), Ink::Faint);
    }
}

/// A chart: where bars stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chart {
    pub(crate) axis: Axis,
    pub(crate) heights: Heights,
    pub(crate) area: Rect,
}

impl Chart {
    /// Returns the place of a bucket's bar.
    pub(crate) fn bar(&self, scale: Scale, bucket: usize, count: u64) -> Rect {
        let (left, width) = self.axis.bucket(scale, bucket);
        let height = self.heights.share(count) * self.area.height;
        let gap = (width * 0.12).min(2.0);
        Rect {
            left: left + gap / 2.0,
            top: self.area.bottom() - height,
            width: width - gap,
            height,
        }
    }

    /// Draws a histogram's bars.
    pub(crate) fn bars(&self, picture: &mut Picture, scale: Scale, buckets: &[u64], ink: Ink) {
        let all: f64 = buckets.iter().map(|count| *count as f64).sum();
        for (bucket, count) in filled(buckets) {
            let bar = self.bar(scale, bucket, count);
            let area = Rect {
                top: self.area.top,
                height: self.area.height,
                ..bar
            };
            let mark = Mark {
                bucket,
                count,
                row: None,
                tip: tip(scale, bucket, count, all),
            };
            picture.items.push(Item::Mark {
                shape: Shape::Bar(bar),
                area,
                ink,
                mark,
            });
        }
    }

    /// Draws the tops of another histogram's bars, to compare with.
    pub(crate) fn ghost(&self, picture: &mut Picture, scale: Scale, buckets: &[u64], ink: Ink) {
        for (bucket, count) in filled(buckets) {
            let bar = self.bar(scale, bucket, count);
            let cap = Rect {
                top: bar.top - 1.0,
                height: 2.0,
                ..bar
            };
            picture.rect(cap, ink);
        }
    }
}

/// Returns what a bar says.
fn tip(scale: Scale, bucket: usize, count: u64, all: f64) -> String {
    format!(
        "{}: {} ({}), together about {}; bucket {bucket}",
        scale.range(bucket),
        figures::calls(count),
        figures::share(count as f64 / all.max(1.0)),
        figures::time(count as f64 * scale.mean(bucket)),
    )
}

/// Returns "27,408 calls".
pub(crate) fn calls(histogram: &Histogram) -> String {
    figures::calls(u64::try_from(histogram.recorded()).unwrap_or(u64::MAX))
}

/// Returns the total latency of a histogram, in words.
pub(crate) fn total(histogram: &Histogram, scale: Scale) -> String {
    figures::time(scale.unit.seconds(histogram.counts().total as f64))
}

/// Returns the operations that were called, greatest total latency first.
pub(crate) fn called(profile: &Profile) -> Vec<(&str, &Histogram)> {
    let mut all = profile.by_total();
    all.retain(|(_, one)| !one.buckets().is_empty());
    all
}

/// Returns a layer's name, or a name for a layer without one.
pub(crate) fn layer(profile: &Profile) -> &str {
    match profile.layer.as_str() {
        "" => "profile",
        named => named,
    }
}
