//! Export as OpenMetrics text, which Prometheus scrapes.
//!
//! | metric | type | meaning |
//! |---|---|---|
//! | `trawl_profile_info` | info | title, resolution, and for cycles their frequency |
//! | `trawl_latency_nanoseconds` or `trawl_latency_cycles` | histogram | latencies |
//! | `trawl_calls_entered_total` | counter | calls that entered |
//! | `trawl_calls_dropped_total` | counter | calls that left without a latency |
//! | `trawl_calls_in_flight` | gauge | calls that entered and did not leave |
//!
//! All but the first have the labels `layer` and `operation`. Latencies stay in the profile's unit:
//! in seconds, the buckets' borders would be no powers of two, and native histograms could not
//! carry them. Least and greatest latencies and values correlated with peaks are not exported: the
//! format has no place for them.
//!
//! # The older text format ([`Version::Prometheus`])
//!
//! Prometheus' own text format, version 0.0.4, is what node_exporter's textfile collector reads. It
//! has classic histograms, as version 1.0 has, but no information metrics, units and start times: the
//! first metric above becomes a gauge that is always 1.
//!
//! # Classic histograms ([`Version::One`])
//!
//! A bucket counts the latencies up to `le`, the greatest integer of a bucket of the profile, and is
//! exact for each resolution up to 2^53; above, readers round `le`. Buckets that no integer lies in,
//! and those above the last one that holds something, are left out.
//!
//! # Native histograms ([`Version::Two`])
//!
//! Version 1.0 of the text format carries no native histograms (Prometheus scrapes them as protobuf
//! only: [`protobuf`]); version 2.0, a draft at the time of writing (2.0.0-rc0), does:
//!
//! - Schema n has buckets whose borders are powers of 2^(2^−n), as resolution r = 2^n has. So
//!   resolutions 1, 2, 4 and 8 are schemas 0, 1, 2 and 3. The others are coarsened to the greatest
//!   power of two that divides them: 6 to 2; 3, 5 and 7 to 1. That is exact
//!   ([`Histogram::coarsened`](crate::Histogram::coarsened)), but resolution is lost.
//! - Bucket b is Prometheus' index b + 1. Prometheus includes the upper border of a bucket, we
//!   include the lower one. They differ for latencies that are powers of two: a clock that rounds
//!   down shows L for any latency from L to L + 1, which our choice fits.
//! - Latencies 0 and 1, our bucket 0, are in the zero bucket, with `zero_threshold` 1, a border of
//!   each schema.

pub mod protobuf;

use std::fmt::{self, Write as _};

use crate::{Error, Histogram, Profile, Unit};

/// A version of OpenMetrics, or its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Prometheus' text format 0.0.4, with classic histograms.
    Prometheus,
    /// Version 1.0, with classic histograms.
    One,
    /// Version 2.0 (release candidate 0), with native histograms.
    Two,
}

impl Version {
    /// Returns the media type for the HTTP header `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            Version::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Version::One => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Version::Two => "application/openmetrics-text; version=2.0.0; charset=utf-8",
        }
    }
}

/// Returns a profile as OpenMetrics text. A profile that is a difference of two readings has no
/// place in it: its counters must only grow.
pub fn write(profile: &Profile, version: Version) -> Result<String, Error> {
    write_all(std::slice::from_ref(profile), version)
}

/// Returns profiles of several layers as one OpenMetrics text. Their unit must be the same.
pub fn write_all(profiles: &[Profile], version: Version) -> Result<String, Error> {
    let unit = profiles.first().map_or(Unit::Nanoseconds, Profile::unit);
    if let Some(other) = profiles.iter().find(|one| one.unit() != unit) {
        return Err(Error::Differ {
            what: "unit",
            ours: unit.to_string(),
            theirs: other.unit().to_string(),
        });
    }
    let mut text = Text {
        profiles,
        unit,
        version,
        text: String::new(),
    };
    // Writing to a string never fails.
    let _ = text.info();
    text.latencies()?;
    let _ = text.calls();
    if version != Version::Prometheus {
        text.text.push_str("# EOF\n");
    }
    Ok(text.text)
}

struct Text<'a> {
    profiles: &'a [Profile],
    unit: Unit,
    version: Version,
    text: String,
}

impl Text<'_> {
    /// Writes the lines that describe a metric. `suffix` is what version 1.0 adds to the name in
    /// samples only.
    fn describe(
        &mut self,
        name: &str,
        suffix: &str,
        kind: &str,
        unit: &str,
        help: &str,
    ) -> fmt::Result {
        let suffix = match self.version {
            Version::One => "",
            Version::Prometheus | Version::Two => suffix,
        };
        writeln!(self.text, "# TYPE {name}{suffix} {kind}")?;
        if !unit.is_empty() && self.version != Version::Prometheus {
            writeln!(self.text, "# UNIT {name}{suffix} {unit}")?;
        }
        writeln!(self.text, "# HELP {name}{suffix} {help}")
    }

    fn info(&mut self) -> fmt::Result {
        let kind = match self.version {
            Version::Prometheus => "gauge",
            Version::One | Version::Two => "info",
        };
        self.describe("trawl_profile", "_info", kind, "", "The profile.")?;
        for profile in self.profiles {
            write!(self.text, "trawl_profile_info{{")?;
            write!(self.text, "layer=\"{}\"", Escaped(&profile.layer))?;
            write!(self.text, ",title=\"{}\"", Escaped(&profile.title))?;
            write!(self.text, ",resolution=\"{}\"", profile.resolution())?;
            if let Unit::Cycles { frequency_hz } = profile.unit() {
                write!(self.text, ",frequency_hz=\"{frequency_hz}\"")?;
            }
            writeln!(self.text, "}} 1")?;
        }
        Ok(())
    }

    fn latencies(&mut self) -> Result<(), Error> {
        let unit = match self.unit {
            Unit::Nanoseconds => "nanoseconds",
            Unit::Cycles { .. } => "cycles",
        };
        let name = format!("trawl_latency_{unit}");
        let _ = self.describe(&name, "", "histogram", unit, "Latencies of calls.");
        for profile in self.profiles {
            for (operation, one) in profile.operations() {
                match self.version {
                    Version::Prometheus | Version::One => {
                        let _ = self.classic(&name, (profile, operation), one);
                    }
                    Version::Two => self.native(&name, (profile, operation), one)?,
                }
            }
        }
        Ok(())
    }

    fn classic(
        &mut self,
        name: &str,
        (profile, operation): (&Profile, &str),
        one: &Histogram,
    ) -> fmt::Result {
        let labels = labels(profile, operation);
        let mut sum = 0_u128;
        for (bucket, count) in (0..).zip(one.buckets()) {
            sum += u128::from(*count);
            let bounds = one.resolution().bounds(bucket);
            if !bounds.is_empty() {
                let le = bounds.end();
                writeln!(self.text, "{name}_bucket{{{labels},le=\"{le}.0\"}} {sum}")?;
            }
        }
        writeln!(self.text, "{name}_bucket{{{labels},le=\"+Inf\"}} {sum}")?;
        writeln!(self.text, "{name}_count{{{labels}}} {sum}")?;
        writeln!(self.text, "{name}_sum{{{labels}}} {}", one.counts().total)?;
        let start = profile.start_unix_ns;
        if let Some(start_ns) = start.filter(|_| self.version == Version::One) {
            let start = Seconds(start_ns);
            writeln!(self.text, "{name}_created{{{labels}}} {start}")?;
        }
        Ok(())
    }

    fn native(
        &mut self,
        name: &str,
        (profile, operation): (&Profile, &str),
        one: &Histogram,
    ) -> Result<(), Error> {
        let (resolution, schema) = one.resolution().binary();
        let coarse = one
            .coarsened(resolution)
            .map_err(|fault| fault.of(operation))?;
        let labels = labels(profile, operation);
        let (spans, counts) = spans(coarse.buckets());
        let spans = spans
            .iter()
            .map(|(offset, length)| format!("{offset}:{length}"));
        let spans = spans.collect::<Vec<_>>().join(",");
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        let counts = counts.join(",");
        let (count, sum) = (coarse.recorded(), coarse.counts().total);
        let zero = coarse.count(0);
        let start = start(profile);
        let text = &mut self.text;
        let _ = write!(
            text,
            "{name}{{{labels}}} {{count:{count},sum:{sum},schema:{schema}"
        );
        let _ = write!(text, ",zero_threshold:1,zero_count:{zero}");
        if !counts.is_empty() {
            let _ = write!(
                text,
                ",positive_spans:[{spans}],positive_buckets:[{counts}]"
            );
        }
        let _ = writeln!(text, "}}{start}");
        Ok(())
    }

    fn calls(&mut self) -> fmt::Result {
        let entered =
            |one: &Histogram| u128::from(one.counts().carried) + u128::from(one.counts().entered);
        let dropped = |one: &Histogram| one.counts().dropped.into();
        let in_flight = |one: &Histogram| one.in_flight().into();
        self.counter("trawl_calls_entered", "Calls that entered.", entered)?;
        self.counter(
            "trawl_calls_dropped",
            "Calls that left without a latency.",
            dropped,
        )?;
        let name = "trawl_calls_in_flight";
        self.describe(
            name,
            "",
            "gauge",
            "",
            "Calls that entered and did not leave.",
        )?;
        self.samples(name, |_| String::new(), in_flight)
    }

    fn counter(&mut self, name: &str, help: &str, count: fn(&Histogram) -> u128) -> fmt::Result {
        self.describe(name, "_total", "counter", "", help)?;
        let start = match self.version {
            Version::Prometheus | Version::One => |_: &Profile| String::new(),
            Version::Two => start,
        };
        self.samples(&format!("{name}_total"), start, count)
    }

    fn samples(
        &mut self,
        name: &str,
        start: fn(&Profile) -> String,
        count: fn(&Histogram) -> u128,
    ) -> fmt::Result {
        for profile in self.profiles {
            let start = start(profile);
            for (operation, one) in profile.operations() {
                let labels = labels(profile, operation);
                writeln!(self.text, "{name}{{{labels}}} {}{start}", count(one))?;
            }
        }
        Ok(())
    }
}

fn labels(profile: &Profile, operation: &str) -> String {
    let layer = Escaped(&profile.layer);
    format!("layer=\"{layer}\",operation=\"{}\"", Escaped(operation))
}

/// Returns the start timestamp of version 2.0, with a space before it.
fn start(profile: &Profile) -> String {
    let start_ns = profile.start_unix_ns;
    start_ns.map_or(String::new(), |start_ns| {
        format!(" st@{}", Seconds(start_ns))
    })
}

/// Returns the spans and the counts of all buckets but bucket 0. A span is an offset from the end of
/// the span before it, the first one's being an index, and a length.
fn spans(buckets: &[u64]) -> (Vec<(usize, usize)>, Vec<u64>) {
    let (mut spans, mut counts) = (Vec::<(usize, usize)>::new(), Vec::new());
    let mut free = 0;
    for (bucket, count) in buckets.iter().enumerate().skip(1) {
        if *count == 0 {
            continue;
        }
        let index = bucket + 1;
        match spans.last_mut() {
            Some((_, length)) if index == free => *length += 1,
            _ => spans.push((index - free, 1)),
        }
        free = index + 1;
        counts.push(*count);
    }
    (spans, counts)
}

/// A label's value: backslashes, double quotes and line feeds are escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|one| match one {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            _ => f.write_char(one),
        })
    }
}

/// Nanoseconds as seconds, exactly.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

#[cfg(test)]
mod tests;
