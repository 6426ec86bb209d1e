//! Pairs of profiles that are labelled by how they were made.
//!
//! The paper compared its methods with people: "We manually classified these profiles into
//! 'different' and 'same' categories" (§6.3). Here the generator knows: two runs of one operation are
//! the *same* if nothing but chance lies between them, and *different* if one of [`Change`] was made.
//! No method of ours takes part in the labels. A change is only made where a person could see it: on
//! a path of at least 100 requests in an operation of at least 0.5 % of the run's latency, and by the
//! factors stated at [`Change`]. Smaller changes are not labelled at all.
//!
//! Pairs come from complete profiles, because the paper's phases need to know the rest of the run.

#![allow(dead_code)]

pub(crate) mod random;
pub(crate) mod workload;

use std::num::NonZeroU64;

use trawl_analysis::compare::{Context, Method, Settings, complete};
use trawl_analysis::{Pair, View};
use trawl_histogram::{Histogram, Profile, Resolution, Unit};

use random::Random;
use workload::{INSIGNIFICANT, Operation, Path, workload};

/// What lies between the runs of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Change {
    /// Nothing: same.
    None,
    /// Nothing, and the operation hardly matters in its run: same.
    Insignificant,
    /// A path takes 1.6 to 8 times as long, or as short.
    Shift,
    /// One profile has a path with 3 to 20 % of the requests that the other lacks, at least a factor
    /// of 6 from every other path.
    Peak,
    /// A path's share grew or shrank by a factor of 2 to 5.
    Mass,
    /// Another number of processes: 5 to 40 % of the requests wait for a lock that another process
    /// holds, for some multiple of the fastest path's time (Figure 3.1).
    Processes,
    /// The operation was called 2.2 to 6 times as often, the others were not.
    Calls,
}

impl Change {
    pub(crate) const ALL: [Change; 7] = [
        Change::None,
        Change::Insignificant,
        Change::Shift,
        Change::Peak,
        Change::Mass,
        Change::Processes,
        Change::Calls,
    ];

    pub(crate) fn is_different(self) -> bool {
        !matches!(self, Change::None | Change::Insignificant)
    }
}

/// How much work the two runs did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The same work, as in the paper's benchmarks.
    Fixed,
    /// One run lasted longer, was sampled, or had more independent processes: by a factor of 1.5 to
    /// 16, for all operations.
    Scaled,
}

/// Two profiles of one operation, and what lies between them.
pub(crate) struct Labelled {
    pub(crate) operation: &'static str,
    pub(crate) change: Change,
    pub(crate) first: Histogram,
    pub(crate) second: Histogram,
    pub(crate) context: Context,
}

impl Labelled {
    pub(crate) fn pair(&self) -> Pair<'_> {
        Pair::new(View::from(&self.first), View::from(&self.second)).expect("one resolution")
    }

    pub(crate) fn score(&self, method: Method, settings: &Settings) -> f64 {
        method.score(self.pair(), &self.context, settings)
    }
}

/// Makes pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    pub(crate) seed: u64,
    /// Pairs of complete profiles, of eight operations each.
    pub(crate) runs: usize,
    pub(crate) work: Work,
    pub(crate) resolution: Resolution,
    /// How much two runs differ although nothing changed: see [`Operation::run`].
    pub(crate) noise: f64,
}

impl Generator {
    pub(crate) fn pairs(&self) -> Vec<Labelled> {
        let mut random = Random::new(self.seed);
        let runs = 0..self.runs;
        runs.flat_map(|_| self.run(&mut random)).collect()
    }

    fn run(&self, random: &mut Random) -> Vec<Labelled> {
        let before = workload(random);
        let total_ns: f64 = before.iter().map(Operation::latency_ns).sum();
        let scale = self.scale(random);
        let mut made = Vec::new();
        for operation in &before {
            let (change, mut first, mut second) = change(operation, total_ns, scale, random);
            first.requests *= scale.recip().min(1.0);
            second.requests *= scale.min(1.0);
            if random.happens(0.5) {
                std::mem::swap(&mut first.paths, &mut second.paths);
            }
            let first = first.run(self.resolution, self.noise, random);
            let second = second.run(self.resolution, self.noise, random);
            made.push((operation.name, change, first, second));
        }
        label(made, self.resolution)
    }

    fn scale(&self, random: &mut Random) -> f64 {
        let factor = random.log_between(1.5, 16.0);
        match self.work {
            Work::Fixed => 1.0,
            Work::Scaled => random.either_way(factor),
        }
    }
}

type Made = (&'static str, Change, Histogram, Histogram);

fn label(made: Vec<Made>, resolution: Resolution) -> Vec<Labelled> {
    let first = profile(made.iter().map(|one| (one.0, &one.2)), resolution);
    let second = profile(made.iter().map(|one| (one.0, &one.3)), resolution);
    let context = complete::context(&first, &second);
    let label = |(operation, change, first, second)| Labelled {
        operation,
        change,
        first,
        second,
        context,
    };
    made.into_iter().map(label).collect()
}

/// Returns a profile of these operations.
pub(crate) fn profile<'a>(
    operations: impl Iterator<Item = (&'a str, &'a Histogram)>,
    resolution: Resolution,
) -> Profile {
    let mut profile = Profile::new(Unit::Nanoseconds, resolution);
    for (name, histogram) in operations {
        let inserted = profile.insert(name, histogram.clone());
        inserted.expect("names differ and resolutions do not");
    }
    profile
}

/// Returns a unit that is not nanoseconds.
pub(crate) fn cycles() -> Unit {
    let frequency_hz = NonZeroU64::new(1_700_000_000).expect("not zero");
    Unit::Cycles { frequency_hz }
}

/// Changes an operation, or leaves it, and says which. One of the runs does less work, by `scale`.
fn change(
    operation: &Operation,
    total_ns: f64,
    scale: f64,
    random: &mut Random,
) -> (Change, Operation, Operation) {
    let least = SEEN_LEAST * scale.max(scale.recip());
    let (first, mut second) = (operation.clone(), operation.clone());
    if INSIGNIFICANT.contains(&operation.name) {
        return (Change::Insignificant, first, second);
    }
    if !random.happens(0.45) || operation.latency_ns() < 0.005 * total_ns {
        return (Change::None, first, second);
    }
    let change = *random.choose(&Change::ALL[2..]);
    let changed = match change {
        Change::Shift => shift(&mut second, least, random),
        Change::Peak => add_peak(&mut second, least, random),
        Change::Mass => move_mass(&mut second, least, random),
        Change::Processes => contend(&mut second, least, random),
        _ => {
            let factor = random.log_between(2.2, 6.0);
            second.requests *= random.either_way(factor);
            true
        }
    };
    if changed {
        (change, first, second)
    } else {
        (Change::None, first.clone(), first)
    }
}

/// Requests that a path needs, in the smaller run, for a person to see it change.
const SEEN_LEAST: f64 = 100.0;

/// Returns the paths with enough requests, from the `from`th on.
fn seen(operation: &Operation, from: usize, least: f64) -> Vec<usize> {
    let is_seen = |at: &usize| operation.paths[*at].share * operation.requests >= least;
    (from..operation.paths.len()).filter(is_seen).collect()
}

fn shift(operation: &mut Operation, least: f64, random: &mut Random) -> bool {
    let seen = seen(operation, 0, least);
    if seen.is_empty() {
        return false;
    }
    let at = *random.choose(&seen);
    let factor = random.log_between(1.6, 8.0);
    operation.paths[at].median_ns *= random.either_way(factor);
    true
}

fn add_peak(operation: &mut Operation, least: f64, random: &mut Random) -> bool {
    let share = random.between(0.03, 0.2);
    if share * operation.requests < least {
        return false;
    }
    for _ in 0..100 {
        let median_ns = random.log_between(1e3, 4e7);
        let apart = |path: &Path| (path.median_ns / median_ns).ln().abs() >= 6_f64.ln();
        if operation.paths.iter().all(apart) {
            let sigma = random.between(0.2, 0.4);
            insert(operation, share, median_ns, sigma);
            return true;
        }
    }
    false
}

/// Adds a path; the others keep their proportions.
fn insert(operation: &mut Operation, share: f64, median_ns: f64, sigma: f64) {
    for path in &mut operation.paths {
        path.share *= 1.0 - share;
    }
    operation.paths.push(Path {
        share,
        median_ns,
        sigma,
    });
}

fn move_mass(operation: &mut Operation, least: f64, random: &mut Random) -> bool {
    let seen = seen(operation, 1, least);
    if seen.is_empty() {
        return false;
    }
    let at = *random.choose(&seen);
    let factor = random.between(2.0, 5.0);
    let others: f64 = operation.paths.iter().skip(1).map(|path| path.share).sum();
    let grown = operation.paths[at].share * factor;
    let fits = others - operation.paths[at].share + grown < 0.9;
    operation.paths[at].share = if fits && random.happens(0.5) {
        grown
    } else {
        operation.paths[at].share / factor
    };
    operation.fill_up();
    true
}

fn contend(operation: &mut Operation, least: f64, random: &mut Random) -> bool {
    let share = random.between(0.05, 0.4);
    let wait_ns = operation.paths[0].median_ns * random.log_between(8.0, 60.0);
    let is_hidden = |path: &Path| (path.median_ns / wait_ns).ln().abs() < 4_f64.ln();
    if operation.paths.iter().any(is_hidden) || share * operation.requests < least {
        return false;
    }
    insert(operation, share, wait_ns, 0.4);
    true
}

/// Errors of a method at one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Errors {
    pub(crate) threshold_percent: f64,
    /// Share of the same pairs that were called different.
    pub(crate) false_positives: f64,
    /// Share of the different pairs that were called the same.
    pub(crate) false_negatives: f64,
}

/// Returns the errors at thresholds of 0, 1, … 100 percent.
pub(crate) fn errors(pairs: &[Labelled], method: Method, settings: &Settings) -> Vec<Errors> {
    let score = |pair: &Labelled| pair.score(method, settings);
    let scored = pairs
        .iter()
        .map(|pair| (pair.change.is_different(), score(pair)));
    let (different, same): (Vec<_>, Vec<_>) = scored.partition(|one| one.0);
    let above = |scores: &[(bool, f64)], threshold: f64| {
        let above = scores.iter().filter(|one| one.1 > threshold).count();
        above as f64 / scores.len() as f64
    };
    let at = |threshold_percent: f64| Errors {
        threshold_percent,
        false_positives: above(&same, threshold_percent),
        false_negatives: 1.0 - above(&different, threshold_percent),
    };
    (0..=100).map(|percent| at(f64::from(percent))).collect()
}

/// Returns the longest range of thresholds at which both errors stay below `most`; `None` if there is
/// none.
pub(crate) fn good_range(errors: &[Errors], most: f64) -> Option<(f64, f64)> {
    let is_good = |one: &Errors| one.false_positives < most && one.false_negatives < most;
    let ranges = errors.chunk_by(|a, b| is_good(a) == is_good(b));
    let best = ranges
        .filter(|range| is_good(&range[0]))
        .max_by_key(|range| range.len())?;
    Some((
        best[0].threshold_percent,
        best[best.len() - 1].threshold_percent,
    ))
}
