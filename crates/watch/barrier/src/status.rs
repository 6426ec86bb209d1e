//! Defines the daemon's status: one table of its fields, with their names, audiences and meanings.

use std::fmt::Write as _;

use crate::protocol::{decode_bytes, encode_bytes};

/// The users who may see a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everyone who may see the source.
    All,
    /// The superuser and the index's owner.
    Owner,
}

/// The kind of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A number that can rise and fall.
    Gauge,
    /// A number that only rises.
    Counter,
}

/// One field of the status.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, units last.
    pub name: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// The users who may see it.
    pub audience: Audience,
    /// What it means.
    pub help: &'static str,
}

const fn field(name: &'static str, kind: Kind, audience: Audience, help: &'static str) -> Field {
    Field {
        name,
        kind,
        audience,
        help,
    }
}

use Audience::{All, Owner};
use Kind::{Counter, Gauge, Text};

/// All fields of a source's status.
#[rustfmt::skip]
pub const FIELDS: &[Field] = &[
    field("state", Text, All, "watching, catching-up (the index is behind and being repaired) or failed"),
    field("lag_ms", Gauge, All, "age of the oldest change that is not in the index"),
    field("why", Text, Owner, "why the index is behind"),
    field("how", Text, Owner, "how changes are noticed"),
    field("file_system", Text, Owner, "kind of file system"),
    field("uncovered_directories", Gauge, Owner, "number of directories that cannot be watched"),
    field("dirty", Gauge, Owner, "number of dirty entries"),
    field("dirty_bytes", Gauge, Owner, "memory of the dirty entries"),
    field("last_queue", Gauge, Owner, "events waiting at the last barrier"),
    field("events_total", Counter, Owner, "events read"),
    field("overflows_total", Counter, Owner, "number of times that events were lost"),
    field("barriers_total", Counter, Owner, "barriers asked for"),
    field("last_barrier_us", Gauge, Owner, "time from the start of the last barrier until its changes were in the index"),
    field("applied_total", Counter, Owner, "number of times that changes were published"),
    field("rescans_total", Counter, Owner, "number of repeated scans, of all or part of the source"),
    field("catch_ups_total", Counter, Owner, "number of times that changes were found without a scan after trust was lost"),
    field("recovery", Text, Owner, "how changes were found the last time that trust was lost: transactions, inodes, times or scan"),
    field("recovery_why", Text, Owner, "why no cheaper method was used"),
    field("recovery_looked_at", Gauge, Owner, "files looked at in the last recovery"),
    field("recovery_dirty", Gauge, Owner, "files that differed from the index in the last recovery"),
    field("recovery_ms", Gauge, Owner, "duration of the last recovery"),
    field("checkpoints_total", Counter, Owner, "snapshots made from published changes"),
    field("failures_total", Counter, Owner, "number of times that nothing could be published"),
    field("last_failure", Text, Owner, "reason of the last failure"),
    field("last_apply_us", Gauge, Owner, "duration of the last publication"),
    field("applied_age_ms", Gauge, Owner, "time since the last publication"),
    field("snapshot", Text, Owner, "the snapshot published last"),
    field("connections", Gauge, Owner, "open connections"),
    field("refused_total", Counter, Owner, "connections refused"),
    field("up_ms", Gauge, Owner, "age of the daemon"),
];

/// The values of the fields that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    values: Vec<(&'static str, String)>,
}

impl Status {
    /// Sets a number.
    pub(crate) fn number(&mut self, name: &'static str, value: impl TryInto<u64>) {
        let value = value.try_into().unwrap_or(u64::MAX);
        self.values.push((name, value.to_string()));
    }

    /// Sets a text.
    pub(crate) fn text(&mut self, name: &'static str, value: &str) {
        self.values.push((name, value.to_owned()));
    }

    /// Returns the known fields and their values, in the order of [`FIELDS`].
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, &str)> {
        FIELDS.iter().filter_map(|field| {
            let found = self.values.iter().find(|(name, _)| *name == field.name);
            found.map(|(_, value)| (field, &value[..]))
        })
    }

    /// Returns a value by its field's name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| &value[..])
    }

    /// Encodes the fields that this audience may see.
    pub(crate) fn encode(&self, audience: Audience) -> String {
        let mut text = "trawl 1 status\n".to_owned();
        for (field, value) in self.fields() {
            if audience == Owner || field.audience == All {
                let _ = writeln!(text, "{} {}", field.name, encode_bytes(value.as_bytes()));
            }
        }
        text
    }

    /// Parses a reply; `None` if it is malformed. Fields of other versions are ignored.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Status> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let mut lines = text.split('\n');
        if lines.next() != Some("trawl 1 status") {
            return None;
        }
        let mut status = Status::default();
        for line in lines {
            let (name, value) = line.split_once(' ')?;
            let value = String::from_utf8_lossy(&decode_bytes(value)?).into_owned();
            let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
                continue;
            };
            if field.kind != Text && value.parse::<u64>().is_err() {
                return None;
            }
            status.values.push((field.name, value));
        }
        Some(status)
    }
}

/// Returns a field's Prometheus name, with the base unit, and the number of decimal digits in its
/// value.
///
/// Source: <https://prometheus.io/docs/practices/naming/#base-units>
fn in_base_units(name: &str) -> (String, usize) {
    for (unit, decimals) in [("_ms", 3), ("_us", 6)] {
        if let Some(stem) = name.strip_suffix(unit) {
            return (format!("{stem}_seconds"), decimals);
        }
    }
    (name.to_owned(), 0)
}

/// Formats an integer with its last `decimals` digits behind a decimal point.
fn with_point(value: &str, decimals: usize) -> String {
    let digits = format!("{value:0>width$}", width = decimals + 1);
    match (decimals, digits.split_at(digits.len() - decimals)) {
        (0, _) => digits,
        (_, (whole, fraction)) => format!("{whole}.{fraction}"),
    }
}

/// Renders the status of several sources, each given with its root, in the text format of
/// Prometheus: times in seconds, sizes in bytes.
///
/// Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>
#[must_use]
pub fn prometheus(sources: &[(String, Status)]) -> String {
    let mut text = String::new();
    for field in FIELDS {
        let (name, decimals) = in_base_units(field.name);
        let mut samples = String::new();
        for (root, status) in sources {
            let Some(value) = status.get(field.name) else {
                continue;
            };
            let root = label(root);
            let _ = match (field.kind, field.name) {
                (Text, "state" | "recovery") => writeln!(
                    samples,
                    "trawl_watch_{name}{{source=\"{root}\",{name}=\"{}\"}} 1",
                    label(value)
                ),
                (Text, _) => Ok(()),
                _ => {
                    let value = with_point(value, decimals);
                    writeln!(samples, "trawl_watch_{name}{{source=\"{root}\"}} {value}")
                }
            };
        }
        if !samples.is_empty() {
            let kind = match field.kind {
                Counter => "counter",
                _ => "gauge",
            };
            text.push_str(&family(&format!("trawl_watch_{name}"), kind, field.help));
            text.push_str(&samples);
        }
    }
    text
}

/// Returns the header lines of one metric.
fn family(name: &str, kind: &str, help: &str) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} {kind}\n")
}

/// Renders a gauge of several sources, each given with its root, in the text format of Prometheus.
#[must_use]
pub fn prometheus_gauge(name: &str, help: &str, samples: &[(String, String)]) -> String {
    let mut text = family(name, "gauge", help);
    for (root, value) in samples {
        let _ = writeln!(text, "{name}{{source=\"{}\"}} {value}", label(root));
    }
    text
}

fn label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let mut status = Status::default();
        status.text("state", "watching");
        status.number("lag_ms", 12u64);
        status.number("events_total", 34u64);
        status.text("why", "a \"reason\"\nwith lines");
        status
    }

    #[test]
    fn others_are_told_the_state_and_the_lag_only() {
        let sent = status().encode(All);
        assert_eq!(sent, "trawl 1 status\nstate watching\nlag_ms 12\n");
        let all = Status::parse(status().encode(Owner).as_bytes()).unwrap();
        assert_eq!(all.fields().count(), 4);
        assert_eq!(all.get("why"), status().get("why"));
        assert_eq!(Status::parse(b"trawl 1 status\nlag_ms x\n"), None);
        assert_eq!(Status::parse(b""), None);
    }

    #[test]
    fn times_are_told_in_seconds() {
        for (value, decimals, told) in [
            ("0", 0, "0"),
            ("0", 3, "0.000"),
            ("12", 3, "0.012"),
            ("61234", 3, "61.234"),
            ("1", 6, "0.000001"),
            ("2000000", 6, "2.000000"),
        ] {
            assert_eq!(with_point(value, decimals), told);
        }
        for field in FIELDS {
            let (name, _) = in_base_units(field.name);
            let unit = name.rsplit('_').next().unwrap_or_default();
            assert!(!["ms", "us", "ns", "s"].contains(&unit), "{name}");
            assert_eq!(unit == "total", field.kind == Counter, "{name}");
        }
    }

    #[test]
    fn prometheus_reads_names_types_and_labels() {
        let text = prometheus(&[("/a\"b".to_owned(), status()), ("/c".to_owned(), status())]);
        let expected = "\
# HELP trawl_watch_state watching, catching-up (the index is behind and being repaired) or failed
# TYPE trawl_watch_state gauge
trawl_watch_state{source=\"/a\\\"b\",state=\"watching\"} 1
trawl_watch_state{source=\"/c\",state=\"watching\"} 1
# HELP trawl_watch_lag_seconds age of the oldest change that is not in the index
# TYPE trawl_watch_lag_seconds gauge
trawl_watch_lag_seconds{source=\"/a\\\"b\"} 0.012
trawl_watch_lag_seconds{source=\"/c\"} 0.012
# HELP trawl_watch_events_total events read
# TYPE trawl_watch_events_total counter
trawl_watch_events_total{source=\"/a\\\"b\"} 34
trawl_watch_events_total{source=\"/c\"} 34
";
        assert_eq!(text, expected);
    }
}
