//! Export in Prometheus' protobuf exposition format, the only one in which Prometheus scrapes native
//! histograms: messages `io.prometheus.client.MetricFamily`, each after its length.
//!
//! The metrics are those of the text formats, and the native histograms those of version 2.0, with
//! these differences: an information metric is a gauge that is always 1, and counts of buckets are
//! differences from the bucket before.
//!
//! Source: <https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto>.

use super::spans;
use crate::{Error, Histogram, Profile, Unit};

/// Media type for the HTTP header `Content-Type`.
pub const MEDIA_TYPE: &str = "application/vnd.google.protobuf; \
                              proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// `enum MetricType`.
const COUNTER: u64 = 0;
const GAUGE: u64 = 1;
const HISTOGRAM: u64 = 4;

/// Fields of `message Metric`.
const METRIC_GAUGE: u32 = 2;
const METRIC_COUNTER: u32 = 3;
const METRIC_HISTOGRAM: u32 = 7;

/// Returns a profile as delimited messages.
///
/// # Errors
/// Fails if a histogram cannot be coarsened to a schema of Prometheus, or counts exceed 64 bits.
pub fn write(profile: &Profile) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    family(
        &mut out,
        "trawl_profile_info",
        "The profile.",
        GAUGE,
        vec![info(profile)],
    );
    let unit = match profile.unit() {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Cycles { .. } => "cycles",
    };
    let mut latencies = Vec::new();
    for (operation, one) in profile.operations() {
        let mut metric = labels(profile, operation);
        metric.message(METRIC_HISTOGRAM, &histogram(profile, operation, one)?);
        latencies.push(metric);
    }
    let name = format!("trawl_latency_{unit}");
    family(&mut out, &name, "Latencies of calls.", HISTOGRAM, latencies);
    calls(&mut out, profile);
    Ok(out)
}

fn info(profile: &Profile) -> Message {
    let mut metric = Message::default();
    metric.message(1, &label("layer", &profile.layer));
    metric.message(1, &label("title", &profile.title));
    metric.message(1, &label("resolution", &profile.resolution().to_string()));
    if let Unit::Cycles { frequency_hz } = profile.unit() {
        metric.message(1, &label("frequency_hz", &frequency_hz.to_string()));
    }
    metric.message(METRIC_GAUGE, &value(1.0));
    metric
}

fn calls(out: &mut Vec<u8>, profile: &Profile) {
    let entered = |one: &Histogram| one.counts().carried as f64 + one.counts().entered as f64;
    let metrics = |field: u32, count: &dyn Fn(&Histogram) -> f64| -> Vec<Message> {
        let one = |(operation, one): (&str, &Histogram)| {
            let mut metric = labels(profile, operation);
            metric.message(field, &value(count(one)));
            metric
        };
        profile.operations().map(one).collect()
    };
    let all = metrics(METRIC_COUNTER, &entered);
    family(
        out,
        "trawl_calls_entered_total",
        "Calls that entered.",
        COUNTER,
        all,
    );
    let all = metrics(METRIC_COUNTER, &|one| one.counts().dropped as f64);
    let help = "Calls that left without a latency.";
    family(out, "trawl_calls_dropped_total", help, COUNTER, all);
    let all = metrics(METRIC_GAUGE, &|one| one.in_flight() as f64);
    let help = "Calls that entered and did not leave.";
    family(out, "trawl_calls_in_flight", help, GAUGE, all);
}

/// Writes a `MetricFamily` after its length.
fn family(out: &mut Vec<u8>, name: &str, help: &str, kind: u64, metrics: Vec<Message>) {
    let mut family = Message::default();
    family.bytes(1, name.as_bytes());
    family.bytes(2, help.as_bytes());
    family.number(3, kind);
    for metric in &metrics {
        family.message(4, metric);
    }
    varint(out, family.0.len() as u64);
    out.extend(family.0);
}

/// Returns a `Metric` with its labels.
fn labels(profile: &Profile, operation: &str) -> Message {
    let mut metric = Message::default();
    metric.message(1, &label("layer", &profile.layer));
    metric.message(1, &label("operation", operation));
    metric
}

fn label(name: &str, value: &str) -> Message {
    let mut pair = Message::default();
    pair.bytes(1, name.as_bytes());
    pair.bytes(2, value.as_bytes());
    pair
}

/// Returns a `Gauge` or a `Counter`.
fn value(value: f64) -> Message {
    let mut message = Message::default();
    message.double(1, value);
    message
}

fn histogram(profile: &Profile, operation: &str, one: &Histogram) -> Result<Message, Error> {
    let (resolution, schema) = one.resolution().binary();
    let coarse = one.coarsened(resolution);
    let coarse = coarse.map_err(|fault| fault.of(operation))?;
    let count = u64::try_from(coarse.recorded());
    let overflow = |_| crate::Fault::Overflow("calls").of(operation);
    let mut message = Message::default();
    message.number(1, count.map_err(overflow)?);
    message.double(2, coarse.counts().total as f64);
    message.signed(5, schema.into());
    message.double(6, 1.0); // zero_threshold
    message.number(7, coarse.count(0));
    let (spans, counts) = spans(coarse.buckets());
    for (offset, length) in spans {
        let mut span = Message::default();
        span.signed(1, offset as i64);
        span.number(2, length as u64);
        message.message(12, &span);
    }
    let mut before = 0_u64;
    for count in counts {
        // Modulo 2^64, as readers add the differences.
        message.signed(13, count.wrapping_sub(before).cast_signed());
        before = count;
    }
    if let Some(start_ns) = profile.start_unix_ns {
        let mut created = Message::default();
        created.number(1, start_ns / 1_000_000_000);
        created.number(2, start_ns % 1_000_000_000);
        message.message(15, &created);
    }
    Ok(message)
}

/// A message of Protocol Buffers (<https://protobuf.dev/programming-guides/encoding/>).
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn tag(&mut self, field: u32, wire_type: u32) {
        varint(&mut self.0, u64::from(field << 3 | wire_type));
    }

    fn number(&mut self, field: u32, number: u64) {
        self.tag(field, 0);
        varint(&mut self.0, number);
    }

    /// Writes a number of type sint32 or sint64: zigzag.
    fn signed(&mut self, field: u32, number: i64) {
        self.number(field, (number << 1 ^ number >> 63).cast_unsigned());
    }

    fn double(&mut self, field: u32, number: f64) {
        self.tag(field, 1);
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
