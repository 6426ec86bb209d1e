//! Counts and times of questions, in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trawl_questions::table::{Named, QUESTIONS};

/// Upper bounds of the histogram's buckets, in milliseconds.
const BOUNDS: [u64; 9] = [5, 10, 25, 50, 100, 250, 1_000, 5_000, 30_000];

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was answered.
    Complete,
    /// Something is missing, or follows.
    Partial,
    /// It was refused or failed.
    Failed,
    /// The client left.
    Cancelled,
}

const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Complete, "complete"),
    (Outcome::Partial, "partial"),
    (Outcome::Failed, "failed"),
    (Outcome::Cancelled, "cancelled"),
];

impl Outcome {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        let known = OUTCOMES.iter().find(|(outcome, _)| *outcome == self);
        known.map_or("", |(_, name)| name)
    }
}

/// The counters of a server.
#[derive(Debug)]
pub struct Metrics {
    questions: Vec<Counters>,
    /// Connections that are open.
    connections: AtomicU64,
}

#[derive(Debug, Default)]
struct Counters {
    outcomes: [AtomicU64; OUTCOMES.len()],
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    microseconds: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            questions: QUESTIONS.iter().map(|_| Counters::default()).collect(),
            connections: AtomicU64::new(0),
        }
    }
}

/// A connection, counted until it is dropped.
#[derive(Debug)]
pub struct Connected(Arc<Metrics>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A question that is being answered. If it is dropped before its outcome is known, the client left.
#[derive(Debug)]
pub struct Timed {
    metrics: Arc<Metrics>,
    /// The question's place in the table.
    place: usize,
    begun: std::time::Instant,
    outcome: Outcome,
}

impl Timed {
    /// Says how the question ended.
    pub fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        if let Some(counters) = self.metrics.questions.get(self.place) {
            counters.add(self.outcome, self.begun.elapsed());
        }
    }
}

impl Counters {
    fn add(&self, outcome: Outcome, time: Duration) {
        let one = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        for ((known, _), counter) in OUTCOMES.iter().zip(&self.outcomes) {
            if *known == outcome {
                one(counter);
            }
        }
        let milliseconds = time.as_secs_f64() * 1e3;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            if milliseconds <= *bound as f64 {
                one(bucket);
            }
        }
        one(&self.count);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts a connection.
    pub fn connected(self: &Arc<Metrics>) -> Connected {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected(Arc::clone(self))
    }

    /// Begins to measure a question.
    pub fn begin(self: &Arc<Metrics>, named: &Named) -> Timed {
        Timed {
            metrics: Arc::clone(self),
            place: named.place(),
            begun: std::time::Instant::now(),
            outcome: Outcome::Cancelled,
        }
    }

    /// Returns the text. Questions that nobody asked are left out.
    pub fn text(&self) -> String {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut out = String::new();
        let _ = writeln!(
            out,
            "# HELP trawl_web_connections Connections that are open.\n\
             # TYPE trawl_web_connections gauge\n\
             trawl_web_connections {}\n\
             # HELP trawl_web_questions_total Questions, by how they ended.\n\
             # TYPE trawl_web_questions_total counter",
            get(&self.connections)
        );
        let asked = || {
            let all = QUESTIONS.iter().zip(&self.questions);
            all.filter(|(_, counters)| get(&counters.count) > 0)
        };
        for (question, counters) in asked() {
            for ((_, outcome), counter) in OUTCOMES.iter().zip(&counters.outcomes) {
                let (name, count) = (question.name, get(counter));
                let _ = writeln!(
                    out,
                    "trawl_web_questions_total{{question=\"{name}\",outcome=\"{outcome}\"}} {count}"
                );
            }
        }
        out += "# HELP trawl_web_question_seconds Time until a page was answered or a download ended.\n\
                # TYPE trawl_web_question_seconds histogram\n";
        for (question, counters) in asked() {
            let name = question.name;
            let series = "trawl_web_question_seconds";
            for (bound, bucket) in BOUNDS.iter().zip(&counters.buckets) {
                let (bound, count) = (*bound as f64 / 1e3, get(bucket));
                let _ = writeln!(
                    out,
                    "{series}_bucket{{question=\"{name}\",le=\"{bound}\"}} {count}"
                );
            }
            let count = get(&counters.count);
            let seconds = get(&counters.microseconds) as f64 / 1e6;
            let _ = writeln!(
                out,
                "{series}_bucket{{question=\"{name}\",le=\"+Inf\"}} {count}\n\
                 {series}_sum{{question=\"{name}\"}} {seconds}\n\
                 {series}_count{{question=\"{name}\"}} {count}"
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_questions::table::named;

    #[test]
    fn questions_are_counted_by_how_they_ended() {
        let metrics = Arc::new(Metrics::default());
        let find = named("find").expect("a question");
        metrics.begin(find).end(Outcome::Complete);
        metrics.begin(find).end(Outcome::Complete);
        drop(metrics.begin(find));
        let text = metrics.text();
        for line in [
            "trawl_web_questions_total{question=\"find\",outcome=\"complete\"} 2",
            "trawl_web_questions_total{question=\"find\",outcome=\"cancelled\"} 1",
            "trawl_web_question_seconds_bucket{question=\"find\",le=\"+Inf\"} 3",
            "trawl_web_question_seconds_count{question=\"find\"} 3",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(!text.contains("\"du\""), "nobody asked it");
    }
}
