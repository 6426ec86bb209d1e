//! Reads one block: the counts of one operation in one region, while its owner may change them.
//!
//! A copy is consistent if the block's sequence number was even and did not change meanwhile. If
//! that does not happen, because the owner was killed in the middle of a change, or never pauses, what
//! may be inconsistent is derived from the rest: the calls that left are those in the buckets and the
//! dropped ones, and extremes that do not fit are unknown.

use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, fence};
use std::thread;
use std::time::Duration;

use trawl_histogram::{Counts, Fault, Histogram, Resolution};
use trawl_profile_mapping::layout::{
    BLOCK_HEADER_WORDS, DROPPED_IN_BLOCK_AT, ENTERED_AT, GREATEST_AT, LEAST_COMPLEMENT_AT, LEFT_AT,
    SEQUENCE_AT, TOTAL_AT,
};

/// How often a block is copied before the owner gets time, and how often altogether.
const QUICK_ATTEMPTS: usize = 64;
const ATTEMPTS: usize = 80;
const PAUSE: Duration = Duration::from_micros(250);

/// A block as read.
pub(crate) struct Block {
    /// Its counts, which may be forged.
    pub(crate) histogram: Result<Histogram, Fault>,
    /// Whether a part was derived.
    pub(crate) is_derived: bool,
}

/// Reads a block; `None` if nothing was ever recorded in it.
pub(crate) fn read(words: &[AtomicU64], resolution: Resolution) -> Option<Block> {
    if words.get(ENTERED_AT)?.load(Relaxed) == 0 && words.get(LEFT_AT)?.load(Relaxed) == 0 {
        return None;
    }
    let mut copy = vec![0; words.len()];
    for attempt in 0..ATTEMPTS {
        if is_copied(words, &mut copy) {
            return Some(Block {
                histogram: checked(histogram(&copy, resolution)),
                is_derived: false,
            });
        }
        if attempt >= QUICK_ATTEMPTS {
            thread::sleep(PAUSE);
        }
    }
    Some(Block {
        histogram: checked(derived(words, resolution)),
        is_derived: true,
    })
}

/// Copies a block; returns whether it did not change meanwhile.
fn is_copied(words: &[AtomicU64], copy: &mut [u64]) -> bool {
    let Some(sequence) = words.get(SEQUENCE_AT) else {
        return false;
    };
    let before = sequence.load(Acquire);
    // Entering changes one word only, without the sequence number.
    for (to, word) in copy.iter_mut().zip(words) {
        *to = word.load(Relaxed);
    }
    fence(Acquire);
    before.is_multiple_of(2) && sequence.load(Relaxed) == before
}

/// Returns the histogram in a copy.
fn histogram(copy: &[u64], resolution: Resolution) -> Result<Histogram, Fault> {
    let word = |at: usize| copy.get(at).copied().unwrap_or(0);
    let buckets = copy.get(BLOCK_HEADER_WORDS..).unwrap_or_default();
    let is_any = buckets.iter().any(|count| *count > 0);
    let counts = Counts {
        carried: 0,
        entered: word(ENTERED_AT),
        left: word(LEFT_AT),
        dropped: word(DROPPED_IN_BLOCK_AT),
        total: u128::from(word(TOTAL_AT + 1)) << 64 | u128::from(word(TOTAL_AT)),
        min: is_any.then(|| !word(LEAST_COMPLEMENT_AT)),
        max: is_any.then(|| word(GREATEST_AT)),
    };
    Histogram::from_parts(resolution, counts, buckets.to_vec())
}

/// Returns a histogram of a block that is changing.
fn derived(words: &[AtomicU64], resolution: Resolution) -> Result<Histogram, Fault> {
    // Calls that entered are read last: no call leaves before it enters.
    let mut copy: Vec<u64> = words.iter().map(|word| word.load(Acquire)).collect();
    if let (Some(to), Some(entered)) = (copy.get_mut(ENTERED_AT), words.get(ENTERED_AT)) {
        *to = entered.load(Acquire);
    }
    let read = histogram(&copy, resolution)?;
    let left = read.recorded() + u128::from(read.counts().dropped);
    let counts = Counts {
        left: u64::try_from(left).map_err(|_| Fault::Overflow("calls in buckets"))?,
        ..*read.counts()
    };
    Histogram::from_moving(resolution, counts, read.buckets().to_vec())
}

fn checked(histogram: Result<Histogram, Fault>) -> Result<Histogram, Fault> {
    let histogram = histogram?;
    histogram.check()?;
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block in which calls of these latencies entered and left, at resolution 1, by the paper's
    /// formula b = ⌊log₂(latency)⌋.
    fn block(latencies: &[u64]) -> Vec<u64> {
        let mut words = vec![0; BLOCK_HEADER_WORDS + 64];
        for latency in latencies {
            words[ENTERED_AT] += 1;
            words[LEFT_AT] += 1;
            words[TOTAL_AT] += latency;
            words[LEAST_COMPLEMENT_AT] = words[LEAST_COMPLEMENT_AT].max(!latency);
            words[GREATEST_AT] = words[GREATEST_AT].max(*latency);
            words[BLOCK_HEADER_WORDS + latency.ilog2() as usize] += 1;
        }
        words
    }

    fn read_words(words: Vec<u64>) -> Option<Block> {
        let words: Vec<_> = words.into_iter().map(AtomicU64::new).collect();
        read(&words, Resolution::ONE)
    }

    #[test]
    fn a_block_at_rest_is_read_as_it_is() {
        let read = read_words(block(&[5, 6, 1000])).expect("not empty");
        let histogram = read.histogram.expect("consistent");
        assert!(!read.is_derived);
        assert_eq!(histogram.counts().total, 1011);
        let extremes = (histogram.counts().min, histogram.counts().max);
        assert_eq!(extremes, (Some(5), Some(1000)));
        assert_eq!((histogram.count(2), histogram.count(9)), (2, 1));
        assert!(read_words(block(&[])).is_none());
    }

    #[test]
    fn a_change_that_was_cut_short_leaves_the_call_in_flight() {
        let whole = block(&[5, 900]);
        // The changes of one call of latency 20, in the order of the probe.
        let changes: [(usize, u64); 5] = [
            (SEQUENCE_AT, 1),
            (TOTAL_AT, 20),
            (LEAST_COMPLEMENT_AT, 0),
            (BLOCK_HEADER_WORDS + 4, 1),
            (LEFT_AT, 1),
        ];
        for count in 1..=changes.len() {
            let mut words = whole.clone();
            words[ENTERED_AT] += 1;
            for (at, amount) in &changes[..count] {
                words[*at] += amount;
            }
            let read = read_words(words).expect("not empty");
            let histogram = read.histogram.expect("consistent");
            assert!(read.is_derived);
            assert_eq!(histogram.in_flight(), u64::from(count < 4), "{count}");
            assert_eq!(histogram.counts().entered, 3);
        }
    }

    #[test]
    fn forged_blocks_are_faults() {
        for at in [ENTERED_AT, LEFT_AT, DROPPED_IN_BLOCK_AT, TOTAL_AT + 1] {
            let mut words = block(&[5, 6, 7]);
            words[at] = words[at].wrapping_sub(1);
            let read = read_words(words).expect("not empty");
            assert!(read.histogram.is_err(), "{at}");
        }
        let read = read_words(vec![u64::MAX; BLOCK_HEADER_WORDS + 64]);
        assert!(read.expect("not empty").histogram.is_err());
        assert!(read_words(vec![1; 3]).is_some());
        assert!(read_words(vec![]).is_none());
    }
}
