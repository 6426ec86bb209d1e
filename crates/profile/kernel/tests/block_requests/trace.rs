//! Latencies against the kernel's own trace of the same requests: the expected histograms are
//! computed anew from its times.
//!
//! Source: <https://docs.kernel.org/trace/ftrace.html>, <https://docs.kernel.org/trace/events.html>

use std::collections::BTreeMap;
use std::path::PathBuf;

use trawl_kernel_profile::Filter;
use trawl_testkit::oracle::command;
use trawl_testkit::scratch::Scratch;

use crate::device::Loop;
use crate::{READS, alone, assert_equal, attach};

/// The kernel's files for tracing, which are mounted while a test needs them if the machine has not
/// mounted them.
struct Tracing {
    path: PathBuf,
    mounted: Option<Scratch>,
}

impl Tracing {
    fn new() -> Option<Tracing> {
        let path = PathBuf::from("/sys/kernel/tracing");
        let mut tracing = Tracing {
            path,
            mounted: None,
        };
        if !tracing.path.join("events").exists() {
            let place = Scratch::new("tracing");
            let mut mount = command("mount");
            mount.args(["-t", "tracefs", "none"]).arg(place.path());
            if !mount.status().is_ok_and(|status| status.success()) {
                return None;
            }
            tracing.path = place.path().to_owned();
            tracing.mounted = Some(place);
        }
        Some(tracing)
    }

    /// Returns whether the kernel has an event.
    fn has(&self, event: &str) -> bool {
        let folder = format!("events/block/block_{event}");
        self.path.join(folder).exists()
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        if self.mounted.is_some() {
            let _ = command("umount").arg(&self.path).status();
        }
    }
}

/// A trace of a device's requests, which ends with the test.
pub(crate) struct Trace {
    path: PathBuf,
    _tracing: Tracing,
}

/// An event of the trace.
pub(crate) struct Event {
    /// Without `block_`, such as `rq_issue`.
    pub(crate) name: String,
    pub(crate) time_us: u64,
    /// What is done: `R`, `W`, `D`, and letters for how.
    pub(crate) kind: String,
    /// The first sector.
    pub(crate) sector: u64,
}

impl Trace {
    /// Begins to record these events; `None`, with a message, where that is not possible.
    pub(crate) fn new(device: &Loop, events: &[&str]) -> Option<Trace> {
        let Some(tracing) = Tracing::new() else {
            eprintln!("skipped, because tracefs cannot be mounted");
            return None;
        };
        if let Some(event) = events.iter().find(|event| !tracing.has(event)) {
            eprintln!("skipped, because the kernel has no event block_{event}");
            return None;
        }
        let path = format!("instances/trawl-test-{}", std::process::id());
        let path = tracing.path.join(path);
        if let Err(error) = std::fs::create_dir(&path) {
            eprintln!(
                "skipped, because no trace can be made: {}: {error}",
                path.display()
            );
            return None;
        }
        let trace = Trace {
            path,
            _tracing: tracing,
        };
        trace.set("trace_clock", "mono");
        trace.set("buffer_size_kb", "8192");
        let number = std::fs::read_to_string(format!("/sys/block/{}/dev", device.name)).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let number = (major.parse::<u32>().unwrap() << 20) | minor.parse::<u32>().unwrap();
        for event in events {
            let folder = format!("events/block/block_{event}");
            trace.set(&format!("{folder}/filter"), &format!("dev == {number}"));
            trace.set(&format!("{folder}/enable"), "1");
        }
        Some(trace)
    }

    fn set(&self, file: &str, value: &str) {
        std::fs::write(self.path.join(file), value).unwrap();
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let text = std::fs::read_to_string(self.path.join("trace")).unwrap();
        let event = |line: &str| {
            let (before, after) = line.split_once(": block_")?;
            let (seconds, micros) = before.rsplit(' ').next()?.split_once('.')?;
            let time_us = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
            let (name, fields) = after.split_once(": ")?;
            let mut words = fields.split_whitespace();
            let kind = words.nth(1)?.to_owned();
            let sector = words
                .by_ref()
                .skip_while(|word| !word.ends_with(')'))
                .nth(1)?;
            Some(Event {
                name: name.to_owned(),
                time_us,
                kind,
                sector: sector.parse().ok()?,
            })
        };
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(event)
            .collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// How far the two may look at the clock apart, in microseconds: the trace's times are cut to whole
/// ones, and an interrupt may come between.
const APART_US: u64 = 60;
/// Share of requests for which they may be further apart, as on a busy machine.
const FURTHER: f64 = 0.02;

#[test]
fn latencies_are_those_of_the_kernels_trace() {
    let _alone = alone();
    let Some(device) = Loop::new(64 << 20) else {
        return;
    };
    if !device.schedule("mq-deadline") {
        eprintln!("skipped, because the kernel does not have mq-deadline");
        return;
    }
    let events = [
        "rq_insert",
        "rq_issue",
        "rq_complete",
        "rq_requeue",
        "rq_merge",
    ];
    let Some(trace) = Trace::new(&device, &events) else {
        return;
    };
    let Some(mut layer) = attach(&Filter::Everything, 1) else {
        return;
    };
    let readers: Vec<_> = (0..6).map(|at| device.read(4096, at * 2500, 800)).collect();
    for mut reader in readers {
        assert!(reader.wait().unwrap().success());
    }
    let reading = layer.read().unwrap();
    let mut expected: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let (mut inserted, mut issued) = (BTreeMap::new(), BTreeMap::new());
    for Event {
        name,
        time_us,
        sector,
        ..
    } in trace.events()
    {
        match name.as_str() {
            "rq_insert" => drop(inserted.insert(sector, time_us)),
            "rq_issue" => {
                if let Some(since_us) = inserted.remove(&sector) {
                    expected
                        .entry("queue")
                        .or_default()
                        .push(time_us - since_us);
                }
                issued.insert(sector, time_us);
            }
            "rq_complete" => {
                if let Some(since_us) = issued.remove(&sector) {
                    expected
                        .entry("device")
                        .or_default()
                        .push(time_us - since_us);
                }
            }
            other => panic!("{other}: these requests are neither merged nor given back"),
        }
    }
    for (operation, latencies_us) in expected {
        assert_eq!(latencies_us.len(), 4800, "{operation} in the trace");
        let mut found = vec![0_u64; 64];
        for kind in READS {
            let one = reading
                .profile
                .get(&format!("{}:{kind}:{operation}", device.name));
            let counts = one.map(|one| one.buckets().to_vec()).unwrap_or_default();
            found
                .iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
        let recorded = found.iter().sum::<u64>().into();
        assert_equal(&reading, &device.name, recorded, 4800, operation);
        compare(operation, &latencies_us, &found);
    }
}

/// At each border, as many requests are below it as in the trace, except those whose latency the
/// trace has close to the border.
fn compare(operation: &str, expected_us: &[u64], found: &[u64]) {
    let further = (expected_us.len() as f64 * FURTHER) as u64;
    for bucket in 1..found.len() {
        let border_ns = 1_u64 << bucket;
        let below: u64 = found.iter().take(bucket).sum();
        let count = |is_below: &dyn Fn(u64) -> bool| {
            expected_us
                .iter()
                .filter(|latency_us| is_below(**latency_us))
                .count() as u64
        };
        let least = count(&|latency_us| (latency_us + APART_US) * 1000 < border_ns);
        let most = count(&|latency_us| latency_us.saturating_sub(APART_US) * 1000 < border_ns);
        assert!(
            (least.saturating_sub(further)..=most + further).contains(&below),
            "{operation}: {below} below {border_ns} ns, expected {least} to {most}"
        );
    }
}
