//! Profiles in words, for "a reader who was never told what the peaks mean".
//!
//! "If some of the profiles have a peak close to these times, then we can hypothesize right away that
//! it is related to that corresponding OS activity." (§3.1.2) Where no characteristic time is known,
//! the words name activities that usually take such times. They are hypotheses, and say so.

use trawl_analysis::compare::groupshift::Group;
use trawl_analysis::compare::phases::Difference;
use trawl_analysis::peaks::{CharacteristicTime, Peak};
use trawl_analysis::select::{Reason, Selected};
use trawl_analysis::{View, layers};
use trawl_histogram::Unit;

use trawl_text::figures::{self, share, time};

/// Characteristic times within this factor of a peak's centre are named.
const NEAR: f64 = 1.5;

/// A peak in words.
pub(crate) struct Explained {
    /// "1 µs to 4 µs".
    pub(crate) range: String,
    /// "94 % of the calls, 2 % of the time".
    pub(crate) shares: String,
    /// The probable activity of the calls.
    pub(crate) guess: String,
}

/// Explains one peak of an operation, `at` a layer and with a name.
pub(crate) fn peak(
    peak: &Peak,
    unit: Unit,
    at: (&str, &str),
    times: &[CharacteristicTime],
) -> Explained {
    let near = peak.near(times, NEAR, at);
    let named = near.iter().map(|one| {
        let measured = time(unit.seconds(one.time));
        format!("{}, which takes {measured} on this machine", one.name)
    });
    let named: Vec<String> = named.collect();
    let named = (!named.is_empty()).then(|| format!("close to {}", named.join(", or to ")));
    let centre = unit.seconds(peak.centre);
    Explained {
        range: range(peak, unit),
        shares: format!(
            "{} of the calls, {} of the time",
            share(peak.operations_share),
            share(peak.latency_share)
        ),
        guess: named.unwrap_or_else(|| usual(centre, at.0).to_owned()),
    }
}

/// Returns "1 µs to 4 µs".
fn range(peak: &Peak, unit: Unit) -> String {
    figures::times(unit.seconds(peak.from), unit.seconds(peak.to))
}

/// Returns what usually takes a time in seconds.
fn usual(seconds: f64, layer: &str) -> &'static str {
    let is_device = trawl_analysis::causes::is_device(layer);
    match seconds {
        ..20e-6 if is_device => {
            "as fast as memory (probably the device's queue or its write cache took the request)"
        }
        ..2e-6 => "answered from memory (no device is that fast)",
        ..20e-6 => "answered from memory, with some work such as copying data or searching a list",
        ..150e-6 => {
            "as long as a fast solid-state disk takes, or as waking another thread and switching to it"
        }
        ..1.5e-3 => {
            "as long as a busy solid-state disk takes, a rotating disk that answers from its own \
             cache, or a round trip through a nearby network"
        }
        ..30e-3 => {
            "as long as a rotating disk takes to move its head and turn its platter, or a process \
             that waits until the scheduler lets it run again"
        }
        ..0.3 => {
            "longer than one disk access: waiting in a queue, for a lock or for the scheduler, or for \
             a network that delays acknowledgements (about 200 ms)"
        }
        _ => "longer than any device needs: waiting for an event, a timer or a lock",
    }
}

/// The share of a peak's calls that its core holds.
const CORE: f64 = 0.75;

/// Returns the fewest buckets around a peak's highest one that hold most of its calls, as times: the
/// tails of a peak reach far on a logarithmic axis, and tell nothing of a usual call.
fn core(view: View<'_>, peak: &Peak, unit: Unit) -> String {
    let (mut first, mut last) = (peak.mode, peak.mode);
    let enough = peak.operations as f64 * CORE;
    while (view.operations_in(first, last + 1) as f64) < enough {
        let before = if first > peak.first {
            view.at(first - 1)
        } else {
            0
        };
        let after = if last < peak.last {
            view.at(last + 1)
        } else {
            0
        };
        match before > after {
            true => first -= 1,
            false if last < peak.last => last += 1,
            false if first > peak.first => first -= 1,
            false => break,
        }
    }
    let from = if first == 0 { 0.0 } else { view.low(first) };
    figures::times(unit.seconds(from), unit.seconds(view.low(last + 1)))
}

/// Returns an operation in one or two sentences: where most calls lie, and where most time goes.
pub(crate) fn summary(
    view: View<'_>,
    peaks: &[Peak],
    unit: Unit,
    at: (&str, &str),
    times: &[CharacteristicTime],
) -> String {
    let by_calls = peaks.iter().max_by_key(|peak| peak.operations);
    let by_time = peaks.iter().max_by(|a, b| a.latency.total_cmp(&b.latency));
    let (Some(common), Some(slow)) = (by_calls, by_time) else {
        return "No call has a latency.".to_owned();
    };
    let guess = peak(common, unit, at, times).guess;
    let most = match common.operations_share {
        ..0.5 => "The most frequent calls",
        share if share < 0.5 / CORE => "Many calls",
        _ => "Most calls",
    };
    let mut text = format!("{most} take {}: {guess}.", core(view, common, unit));
    if slow.mode != common.mode {
        text.push_str(&format!(
            " But {} of the time goes to {} of the calls, which mostly take {}.",
            share(slow.latency_share),
            share(slow.operations_share),
            core(view, slow, unit)
        ));
    }
    text
}

/// Returns why an operation was selected from a comparison, one sentence for each reason.
pub(crate) fn reasons(selected: &Selected<'_>, unit: Unit) -> Vec<String> {
    selected
        .reasons
        .iter()
        .map(|one| reason(one, unit))
        .collect()
}

fn reason(one: &Reason, unit: Unit) -> String {
    match one {
        Reason::LatencyShare(part) => format!("It has {} of the total time.", share(*part)),
        Reason::SlowPeak(peak) => format!(
            "{} of its calls cause {} of its time.",
            share(peak.operations_share),
            share(peak.latency_share)
        ),
        Reason::OnlyFirst => "Only the first profile has calls of it.".to_owned(),
        Reason::OnlySecond => "Only the second profile has calls of it.".to_owned(),
        Reason::Score {
            method,
            percent,
            threshold_percent,
        } => format!(
            "{} rates the difference at {percent:.0} %; more than {threshold_percent:.0} % counts.",
            method.name()
        ),
        Reason::Phase(difference) => phase(difference, unit),
        Reason::Appeared(group) => {
            format!(
                "A peak appeared at {}: {}.",
                place(group, unit),
                became(group)
            )
        }
        Reason::Vanished(group) => {
            format!(
                "The peak at {} vanished: {}.",
                place(group, unit),
                became(group)
            )
        }
        Reason::Moved(group) => {
            let way = if group.movement > 0.0 {
                "longer"
            } else {
                "shorter"
            };
            let factor = group.movement.abs().exp2();
            match factor < 1.05 {
                true => format!(
                    "The calls at {} are spread differently.",
                    place(group, unit)
                ),
                false => format!(
                    "The calls at {} take {factor:.1} times {way}.",
                    place(group, unit)
                ),
            }
        }
        Reason::Grew(group) => format!("At {}, {}.", place(group, unit), became(group)),
    }
}

fn became(group: &Group) -> String {
    let (first, second) = (figures::calls(group.first), figures::count(group.second));
    format!("{first} became {second}")
}

fn place(group: &Group, unit: Unit) -> String {
    figures::times(unit.seconds(group.from), unit.seconds(group.to))
}

fn phase(difference: &Difference, unit: Unit) -> String {
    match difference {
        Difference::OneEmpty => "One profile has no call of it.".to_owned(),
        Difference::Operations { percent } => {
            format!("The number of calls differs by {percent:.0} %.")
        }
        Difference::Latency { percent } => format!("The total time differs by {percent:.0} %."),
        Difference::PeakCount { first, second } => {
            format!("The first profile has {first} peaks, the second {second}.")
        }
        Difference::PeakPlace { first, second } => format!(
            "A peak lies at {} in the first profile, at {} in the second.",
            time(unit.seconds(first.centre)),
            time(unit.seconds(second.centre))
        ),
    }
}

/// Returns what a layer adds to an operation.
pub(crate) fn layer(one: &layers::Difference<'_>, unit: Unit, names: (&str, &str)) -> String {
    let (upper, lower) = names;
    let mut text = match one.own_share {
        ..0.0 => format!(
            "{lower} spent more time than {upper} waited: it works in parallel, or others call it too."
        ),
        own => format!(
            "{} of its time is spent in {upper} itself, the rest in {lower}.",
            share(own)
        ),
    };
    text.push_str(&match one.passed {
        ..0.995 => format!(
            " {upper} passes on {} of its calls and answers the others alone, as a cache does.",
            share(one.passed)
        ),
        1.005.. => format!(" Each call becomes {:.1} calls of {lower}.", one.passed),
        _ => String::new(),
    });
    for (peak, origin) in &one.peaks {
        let at = time(unit.seconds(peak.centre));
        text.push_str(&match origin {
            layers::Origin::Here => format!(" The peak at {at} arises in {upper}."),
            layers::Origin::Below { operation, .. } => {
                format!(" The peak at {at} comes from {lower} ({operation}).")
            }
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use trawl_analysis::peaks::{Detection, peaks};
    use trawl_histogram::Resolution;

    use super::*;

    fn found(buckets: &[u64]) -> Vec<Peak> {
        peaks(View::new(buckets, Resolution::ONE), &Detection::default())
    }

    #[test]
    fn a_known_time_near_a_peak_is_named() {
        // Bucket 21 of nanoseconds reaches from 2.1 ms to 4.2 ms.
        let mut buckets = [0; 22];
        (buckets[10], buckets[21]) = (9000, 100);
        let found = found(&buckets);
        let times = [CharacteristicTime {
            name: "half a disk rotation".to_owned(),
            time: 2.5e6,
        }];
        let words = peak(&found[1], Unit::Nanoseconds, ("vfs", "read"), &times);
        assert_eq!(
            words.guess,
            "close to half a disk rotation, which takes 2.5 ms on this machine"
        );
        assert_eq!(words.range, "2.1 ms to 4.19 ms");
    }

    #[test]
    fn a_summary_says_where_calls_and_where_time_are() {
        // 9000 calls of 1.5 µs take 14 ms, 100 calls of 3 ms take 315 ms.
        let mut buckets = [0; 22];
        (buckets[10], buckets[21]) = (9000, 100);
        let view = View::new(&buckets, Resolution::ONE);
        let text = summary(
            view,
            &found(&buckets),
            Unit::Nanoseconds,
            ("vfs", "read"),
            &[],
        );
        assert_eq!(
            text,
            "Most calls take 1.02 µs to 2.05 µs: answered from memory (no device is that fast). \
             But 96 % of the time goes to 1.1 % of the calls, which mostly take 2.1 ms to 4.19 ms."
        );
    }

    #[test]
    fn the_tails_of_a_peak_are_not_its_core() {
        // Three quarters of 1,000 calls are in bucket 11 and the larger neighbour.
        let mut buckets = [0; 16];
        buckets[9..14].copy_from_slice(&[20, 150, 600, 180, 50]);
        let view = View::new(&buckets, Resolution::ONE);
        let found = found(&buckets);
        assert_eq!((found.len(), found[0].first, found[0].last), (1, 9, 13));
        assert_eq!(
            core(view, &found[0], Unit::Nanoseconds),
            "2.05 µs to 8.19 µs"
        );
    }
}
