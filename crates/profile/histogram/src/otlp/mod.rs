//! Export as OTLP/JSON: the body of a request to an OpenTelemetry collector's `/v1/metrics`.
//!
//! | metric | kind | meaning |
//! |---|---|---|
//! | `trawl.latency` | exponential histogram | latencies, in `ns` or `{cycle}` |
//! | `trawl.calls.entered` | monotonic sum | calls that entered |
//! | `trawl.calls.dropped` | monotonic sum | calls that left without a latency |
//! | `trawl.calls.in_flight` | sum | calls that entered and did not leave |
//!
//! Data points have the attributes `layer` and `operation`; the scope has the profile's title,
//! resolution, and for cycles their frequency. Values correlated with peaks are not exported.
//!
//! - Scale s has buckets whose borders are powers of 2^(2^−s), as resolution r = 2^s has. So
//!   resolutions 1, 2, 4 and 8 are scales 0 to 3. The others are coarsened to the greatest power of
//!   two that divides them: 6 to 2; 3, 5 and 7 to 1. That is exact
//!   ([`Histogram::coarsened`](crate::Histogram::coarsened)), but resolution is lost.
//! - Bucket b is OpenTelemetry's index b. OpenTelemetry includes the upper border of a bucket, we
//!   include the lower one. They differ for latencies that are powers of two: a clock that rounds
//!   down shows L for any latency from L to L + 1, which our choice fits.
//! - Latencies 0 and 1, our bucket 0, are in the zero bucket, with `zeroThreshold` 1.
//! - Integers of 64 bits are strings, as protobuf's JSON mapping demands. `sum`, `min` and `max` are
//!   floating point; unknown extremes are left out.

use serde_json::{Value, json};

use crate::{Error, Histogram, Profile, Unit};

/// OTLP's number for sums since the start.
const CUMULATIVE: u8 = 2;

/// Returns a profile as OTLP/JSON. `time_unix_ns` is the time of the reading; counts are cumulative
/// since the profile's start.
pub fn write(profile: &Profile, time_unix_ns: u64) -> Result<String, Error> {
    let exporter = Exporter {
        profile,
        time_unix_ns,
    };
    let metrics = [
        exporter.latencies()?,
        exporter.sum("trawl.calls.entered", true, |one| {
            one.counts().carried.saturating_add(one.counts().entered)
        }),
        exporter.sum("trawl.calls.dropped", true, |one| one.counts().dropped),
        exporter.sum("trawl.calls.in_flight", false, Histogram::in_flight),
    ];
    let scope = json!({ "name": "trawl", "attributes": exporter.about() });
    let body = json!({
        "resourceMetrics": [{
            "resource": {},
            "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
        }],
    });
    Ok(body.to_string())
}

struct Exporter<'a> {
    profile: &'a Profile,
    time_unix_ns: u64,
}

impl Exporter<'_> {
    fn about(&self) -> Vec<Value> {
        let mut about = vec![
            text("title", &self.profile.title),
            integer("resolution", self.profile.resolution().get().into()),
        ];
        if let Unit::Cycles { frequency_hz } = self.profile.unit() {
            about.push(integer("frequency_hz", frequency_hz.get()));
        }
        about
    }

    fn latencies(&self) -> Result<Value, Error> {
        let unit = match self.profile.unit() {
            Unit::Nanoseconds => "ns",
            Unit::Cycles { .. } => "{cycle}",
        };
        let mut points = Vec::new();
        for (operation, one) in self.profile.operations() {
            points.push(self.latency(operation, one)?);
        }
        Ok(json!({
            "name": "trawl.latency",
            "description": "Latencies of calls.",
            "unit": unit,
            "exponentialHistogram": {
                "aggregationTemporality": CUMULATIVE,
                "dataPoints": points,
            },
        }))
    }

    fn latency(&self, operation: &str, one: &Histogram) -> Result<Value, Error> {
        let (resolution, scale) = one.resolution().binary();
        let coarse = one
            .coarsened(resolution)
            .map_err(|fault| fault.of(operation))?;
        let counts = coarse.counts();
        let mut point = self.point(operation);
        point["count"] = coarse.recorded().to_string().into();
        point["sum"] = (counts.total as f64).into();
        point["scale"] = scale.into();
        point["zeroCount"] = coarse.count(0).to_string().into();
        point["zeroThreshold"] = 1.0.into();
        let used = coarse.buckets().iter().enumerate().skip(1);
        if let Some((first, _)) = used.clone().find(|(_, count)| **count > 0) {
            let counts = used.skip(first - 1).map(|(_, count)| count.to_string());
            let counts: Vec<String> = counts.collect();
            point["positive"] = json!({ "offset": first, "bucketCounts": counts });
        }
        if let Some(min) = counts.min {
            point["min"] = (min as f64).into();
        }
        if let Some(max) = counts.max {
            point["max"] = (max as f64).into();
        }
        Ok(point)
    }

    fn sum(&self, name: &str, is_monotonic: bool, count: fn(&Histogram) -> u64) -> Value {
        let points = self.profile.operations().map(|(operation, one)| {
            let mut point = self.point(operation);
            point["asInt"] = count(one).to_string().into();
            point
        });
        json!({
            "name": name,
            "unit": "{call}",
            "sum": {
                "aggregationTemporality": CUMULATIVE,
                "isMonotonic": is_monotonic,
                "dataPoints": points.collect::<Vec<_>>(),
            },
        })
    }

    /// Returns a data point without values.
    fn point(&self, operation: &str) -> Value {
        let mut point = json!({
            "attributes": [text("layer", &self.profile.layer), text("operation", operation)],
            "timeUnixNano": self.time_unix_ns.to_string(),
        });
        if let Some(start_unix_ns) = self.profile.start_unix_ns {
            point["startTimeUnixNano"] = start_unix_ns.to_string().into();
        }
        point
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn integer(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
mod tests;
