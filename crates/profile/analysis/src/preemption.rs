//! Estimates how many requests the scheduler preempted, and warns if it disturbed a profile.
//!
//! "The total probability that a process is forcibly preempted while being profiled is:
//! Pr(fp) = t_cpu / t_period × (1 − Y)^(Q / t_period) (3.5). The expected value of preempted
//! requests for N such Bernoulli trials is N × Pr(fp). We estimate that we can ignore the preemption
//! effects if N × Pr(fp) < 1." (§3.3.1)
//!
//! For a process that never yields, Eq. 3.6 says which bucket loses requests and which gains them:
//! m_b = n_b − n_b · (3/2·2ᵇ)/Q + Σ_{k ∈ K(b)} n_k · (3/2·2ᵏ)/Q.
//!
//! The two do not agree at Y = 0: Eq. 3.5 gives t_cpu / t_period for each request, Eq. 3.6 gives
//! t_cpu / Q. Eq. 3.5 asks where a preemption hits once it is due, and it is due once in Q, not once
//! in t_period. So Eq. 3.5 is an upper bound, safe for deciding what to ignore; Eq. 3.6 estimates the
//! number. A [`Warning`] holds both.
//!
//! All times have one unit, that of the profile.

use crate::view::View;

/// Parameters of Equation 3.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// N: number of requests.
    pub requests: f64,
    /// t_cpu: average CPU time of a request.
    pub cpu: f64,
    /// t_period: "the average sum of user and system CPU times between requests".
    pub period: f64,
    /// Y: "the probability that a process yields during a request", 0 to 1.
    pub yields: f64,
    /// Q: "the quantum of time that a process is allowed to run by the scheduler before it is
    /// preempted".
    pub quantum: f64,
}

impl Load {
    /// Returns Pr(fp), Equation 3.5.
    #[must_use]
    pub fn probability(&self) -> f64 {
        if self.period <= 0.0 {
            return 0.0;
        }
        let share = (self.cpu / self.period).clamp(0.0, 1.0);
        share * self.no_yield()
    }

    /// Returns "the probability that a process does not yield the CPU during Q cycles".
    fn no_yield(&self) -> f64 {
        let stays = (1.0 - self.yields).clamp(0.0, 1.0);
        stays.powf(self.quantum / self.period)
    }

    /// Returns N × Pr(fp): less than 1 can be ignored.
    #[must_use]
    pub fn expected(&self) -> f64 {
        self.requests * self.probability()
    }

    /// Returns which of the paper's two kinds of workload this is.
    ///
    /// "We call a workload *CPU-intensive* if T_cpu ≫ NQY and *yield-intensive* if T_cpu ≪ NQY."
    /// (§3.3.1) A factor of ten is much.
    #[must_use]
    pub fn intensity(&self) -> Intensity {
        let all_cpu = self.requests * self.period;
        let yielding = self.requests * self.quantum * self.yields;
        if all_cpu >= MUCH * yielding {
            Intensity::Cpu
        } else if all_cpu * MUCH <= yielding {
            Intensity::Yield
        } else {
            Intensity::Between
        }
    }
}

const MUCH: f64 = 10.0;

/// How a process uses its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intensity {
    /// It computes: preemption can be seen.
    Cpu,
    /// It yields: preemption is "astronomically" rare.
    Yield,
    /// Neither much more than the other.
    Between,
}

/// The result of Equation 3.6 for a profile captured without preemption.
#[derive(Clone, Debug, PartialEq)]
pub struct Preempted {
    /// m_b: the expected content of each bucket with preemption.
    pub buckets: Vec<f64>,
    /// Requests that are preempted, and where they go.
    pub moves: Vec<Move>,
}

/// Requests that move from one bucket to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The bucket k of a request that is not preempted.
    pub from: usize,
    /// Its bucket b if it is preempted.
    pub to: usize,
    /// Expected number of requests.
    pub requests: f64,
}

/// "The result is calculated with the ±33% precision because the bucket contents can be 33%
/// different from our expected bucket's latency mean value." (§3.3.1)
pub const PRECISION: f64 = 1.0 / 3.0;

impl Preempted {
    /// Returns the expected number of preempted requests; [`PRECISION`] is its precision.
    #[must_use]
    pub fn requests(&self) -> f64 {
        self.moves.iter().map(|one| one.requests).sum()
    }
}

/// Applies Equation 3.6 to a profile of `processes` processes on one CPU that never yield.
///
/// As in the paper's K(b), bucket 0 never moves. A request longer than a quantum is preempted once.
#[must_use]
pub fn preempted(view: View<'_>, quantum: f64, processes: u32) -> Preempted {
    let mut buckets: Vec<f64> = view.counts().iter().map(|count| *count as f64).collect();
    let waits = f64::from(processes.saturating_sub(1)) * quantum;
    let mut moves = Vec::new();
    for (from, count) in view.filled_in(1, view.counts().len()) {
        let to = view.bucket_of(view.middle(from) + waits);
        let requests = count * (view.middle(from) / quantum).clamp(0.0, 1.0);
        if to != from && quantum > 0.0 {
            moves.push(Move { from, to, requests });
        }
    }
    for one in &moves {
        if buckets.len() <= one.to {
            buckets.resize(one.to + 1, 0.0);
        }
        buckets[one.from] -= one.requests;
        buckets[one.to] += one.requests;
    }
    Preempted { buckets, moves }
}

/// Facts about the scheduler and the processes that ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Q: the scheduler's quantum.
    pub quantum: f64,
    /// t_period: CPU time of the processes, user and system, divided by the number of requests.
    pub period: f64,
    /// Processes that wanted to run.
    pub processes: u32,
    /// CPUs that they ran on.
    pub cpus: u32,
    /// Requests of at least this latency waited, and so yielded the CPU: the time of a context
    /// switch, for example.
    pub wait_from: f64,
}

/// Preemption may have disturbed a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The numbers of Equation 3.5, as derived from the profile.
    pub load: Load,
    /// N × Pr(fp), at least 1: an upper bound.
    pub expected_most: f64,
    /// Requests that Equation 3.6 moves, times the probability that the process does not yield.
    pub expected: f64,
    /// The bucket that most of them reach; `None` if none moves.
    pub bucket: Option<usize>,
}

/// Returns a warning if the expected number of preempted requests is at least 1.
///
/// "All the values involved in this equation can be derived from the profile", and the user time
/// "can be measured using a tool like `time`" (§3.3.1). "Forcible preemption and the wait time
/// changes […] almost never happen if there are only two processes that run on two CPUs" (§3.4.3):
/// there is no warning if every process has a CPU.
#[must_use]
pub fn warning(view: View<'_>, machine: &Machine) -> Option<Warning> {
    if machine.processes <= machine.cpus {
        return None;
    }
    let load = load(view, machine);
    let expected_most = load.expected();
    if expected_most < 1.0 {
        return None;
    }
    let running = &view.counts()[..first_waiting(view, machine.wait_from)];
    let each = machine.processes.div_ceil(machine.cpus.max(1));
    let moved = preempted(View::new(running, view.resolution()), machine.quantum, each);
    let most = moved
        .moves
        .iter()
        .max_by(|a, b| a.requests.total_cmp(&b.requests));
    Some(Warning {
        load,
        expected_most,
        expected: moved.requests() * load.no_yield(),
        bucket: most.map(|one| one.to),
    })
}

/// Derives the numbers of Equation 3.5 from a profile: requests that did not wait give the CPU time,
/// the others the probability of yielding.
#[must_use]
pub fn load(view: View<'_>, machine: &Machine) -> Load {
    let waiting = first_waiting(view, machine.wait_from);
    let requests = view.operations() as f64;
    let running = view.operations_in(0, waiting) as f64;
    let cpu = if running > 0.0 {
        view.latency_in(0, waiting) / running
    } else {
        0.0
    };
    Load {
        requests,
        cpu,
        period: machine.period.max(cpu),
        yields: if requests > 0.0 {
            1.0 - running / requests
        } else {
            0.0
        },
        quantum: machine.quantum,
    }
}

/// Returns the first bucket that begins at `wait_from` or later.
fn first_waiting(view: View<'_>, wait_from: f64) -> usize {
    let buckets = 0..view.counts().len();
    let waits = |bucket: &usize| view.low(*bucket) >= wait_from;
    buckets.clone().find(waits).unwrap_or(buckets.end)
}
