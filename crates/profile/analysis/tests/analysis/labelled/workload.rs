//! Synthetic workloads: operations whose requests take one of several paths, each with log-normal
//! latencies, as "every pattern of requests corresponds to a set of possible execution paths S" (§3).

use trawl_histogram::{Histogram, Resolution};

use super::random::Random;

/// An execution path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Share of the operation's requests.
    pub(crate) share: f64,
    pub(crate) median_ns: f64,
    /// Standard deviation of the latency's natural logarithm.
    pub(crate) sigma: f64,
}

/// An operation of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) requests: f64,
    pub(crate) paths: Vec<Path>,
}

/// Ranges from which an operation's parameters are drawn: share, median in nanoseconds, sigma. The
/// first path has the share that the others leave.
struct Template {
    name: &'static str,
    requests: (f64, f64),
    paths: &'static [[(f64, f64); 3]],
}

const HIT: [(f64, f64); 3] = [(0.0, 0.0), (400.0, 2_500.0), (0.15, 0.4)];
const WRITE: [(f64, f64); 3] = [(0.0, 0.0), (2_000.0, 8_000.0), (0.2, 0.4)];
const READAHEAD: [(f64, f64); 3] = [(0.04, 0.2), (25_000.0, 70_000.0), (0.2, 0.4)];
const DISK: [(f64, f64); 3] = [(0.02, 0.1), (2e6, 9e6), (0.25, 0.5)];
const LOCK: [(f64, f64); 3] = [(0.03, 0.2), (100_000.0, 400_000.0), (0.2, 0.5)];
const SYNC: [(f64, f64); 3] = [(0.0, 0.0), (4e6, 2e7), (0.25, 0.5)];
const JOURNAL: [(f64, f64); 3] = [(0.02, 0.08), (1e7, 4e7), (0.2, 0.4)];

/// The operations of a workload. The last two are insignificant beside the others.
const TEMPLATES: [Template; 8] = [
    Template {
        name: "read",
        requests: (5e3, 4e4),
        paths: &[HIT, READAHEAD, DISK],
    },
    Template {
        name: "lookup",
        requests: (5e3, 3e4),
        paths: &[HIT, DISK],
    },
    Template {
        name: "readdir",
        requests: (3e3, 1e4),
        paths: &[WRITE, LOCK, DISK],
    },
    Template {
        name: "write",
        requests: (4e3, 2e4),
        paths: &[WRITE, LOCK],
    },
    Template {
        name: "create",
        requests: (3e3, 1e4),
        paths: &[LOCK, JOURNAL],
    },
    Template {
        name: "fsync",
        requests: (3e2, 2e3),
        paths: &[SYNC],
    },
    Template {
        name: "statfs",
        requests: (3.0, 20.0),
        paths: &[HIT],
    },
    Template {
        name: "flush",
        requests: (50.0, 300.0),
        paths: &[HIT],
    },
];

/// The operations that never change and hardly matter.
pub(crate) const INSIGNIFICANT: [&str; 2] = ["statfs", "flush"];

impl Operation {
    fn draw(template: &Template, random: &mut Random) -> Self {
        let draw = |[share, median, sigma]: &[(f64, f64); 3], random: &mut Random| Path {
            share: random.between(share.0, share.1),
            median_ns: random.log_between(median.0, median.1),
            sigma: random.between(sigma.0, sigma.1),
        };
        let paths = template.paths.iter().map(|path| draw(path, random));
        let mut operation = Self {
            name: template.name,
            paths: paths.collect(),
            requests: random.log_between(template.requests.0, template.requests.1),
        };
        operation.paths[0].share = 0.0;
        operation.fill_up();
        operation
    }

    /// Gives the first path the share that the others leave.
    pub(crate) fn fill_up(&mut self) {
        let others: f64 = self.paths.iter().skip(1).map(|path| path.share).sum();
        self.paths[0].share = 1.0 - others;
    }

    pub(crate) fn latency_ns(&self) -> f64 {
        let mean = |path: &Path| path.median_ns * (path.sigma * path.sigma / 2.0).exp();
        let each: f64 = self.paths.iter().map(|path| path.share * mean(path)).sum();
        each * self.requests
    }

    /// Runs the operation once: no two runs are alike, even if nothing changed. With a noise of 1,
    /// places vary by 3 %, shares by 5 %, requests by 2 % (standard deviations). One request in
    /// 20,000 is disturbed and takes much longer.
    pub(crate) fn run(&self, resolution: Resolution, noise: f64, random: &mut Random) -> Histogram {
        let mut varied = self.clone();
        for path in &mut varied.paths {
            path.median_ns *= (0.03 * noise * random.normal()).exp();
            path.share *= (0.05 * noise * random.normal()).exp();
        }
        let shares: f64 = varied.paths.iter().skip(1).map(|path| path.share).sum();
        varied.paths[0].share = (1.0 - shares).max(0.0);
        let requests = self.requests * (0.02 * noise * random.normal()).exp();
        let mut histogram = Histogram::new(resolution);
        for _ in 0..requests.round() as u64 {
            histogram.record(varied.latency(random) as u64);
        }
        histogram
    }

    fn latency(&self, random: &mut Random) -> f64 {
        let mut left = random.unit();
        let mut chosen = &self.paths[0];
        for path in &self.paths {
            chosen = path;
            left -= path.share;
            if left < 0.0 {
                break;
            }
        }
        let latency_ns = chosen.median_ns * (chosen.sigma * random.normal()).exp();
        if random.happens(1.0 / 20_000.0) {
            latency_ns + random.log_between(1e5, 1e8)
        } else {
            latency_ns
        }
    }
}

/// Returns the operations of a random workload.
pub(crate) fn workload(random: &mut Random) -> Vec<Operation> {
    let draw = |template| Operation::draw(template, random);
    TEMPLATES.iter().map(draw).collect()
}
