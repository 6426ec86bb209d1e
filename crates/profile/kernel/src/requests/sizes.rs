//! Sizes of requests by the device's latency: "a second histogram" for each latency (§3.1.6).

use std::ops::RangeInclusive;

use aya::Ebpf;
use aya::maps::PerCpuArray;
use trawl_histogram::{Correlated, Counts, Error, Histogram, Peak, Resolution};

use super::layout::{OCTAVES, SIZE_LEAST, SizeWords};
use crate::error::KernelError;

/// Name of the value.
pub(crate) const VALUE: &str = "size_bytes";

const MAP: &str = "sizes";

/// Adds the sizes of the requests of a kind to `all`, as those of its operation `device`.
pub(crate) fn add(
    programs: &Ebpf,
    kind: u32,
    resolution: Resolution,
    operation: &str,
    all: &mut Correlated,
) -> Result<(), KernelError> {
    let failed = |source| KernelError::Map { map: MAP, source };
    let map = programs.map(MAP).ok_or(KernelError::Object(MAP))?;
    let map: PerCpuArray<_, SizeWords> = PerCpuArray::try_from(map).map_err(failed)?;
    let mut peaks = Vec::new();
    for octave in 0..OCTAVES {
        let of_cpus = map.get(&(kind * OCTAVES + octave), 0).map_err(failed)?;
        let mut sum: SizeWords = [0; _];
        for words in of_cpus.iter() {
            for (sum, word) in sum.iter_mut().zip(words) {
                *sum += word;
            }
        }
        let values = histogram(&sum).map_err(|source| Error::Operation {
            operation: operation.to_owned(),
            source,
        })?;
        if values.recorded() > 0 {
            peaks.push(Peak::new(buckets(octave, resolution), values));
        }
    }
    if !peaks.is_empty() {
        all.insert(operation, peaks)?;
    }
    Ok(())
}

/// The buckets of an octave of latencies.
fn buckets(octave: u32, resolution: Resolution) -> RangeInclusive<u16> {
    let in_octave = u16::from(resolution.get());
    let first = octave as u16 * in_octave;
    first..=first + in_octave - 1
}

fn histogram(words: &SizeWords) -> Result<Histogram, trawl_histogram::Fault> {
    let [total, counts @ ..] = words;
    let recorded = counts.iter().sum();
    let mut buckets = vec![0; SIZE_LEAST];
    buckets.extend_from_slice(counts);
    let counts = Counts {
        entered: recorded,
        left: recorded,
        total: u128::from(*total),
        ..Counts::default()
    };
    Histogram::from_parts(Resolution::ONE, counts, buckets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three requests of 4096 bytes: bucket ⌊log₂ 4096⌋ = 12.
    #[test]
    fn a_size_lies_in_the_bucket_of_its_logarithm() {
        let mut words: SizeWords = [0; _];
        (words[0], words[1 + 12 - SIZE_LEAST]) = (3 * 4096, 3);
        let values = histogram(&words).unwrap();
        assert_eq!((values.count(12), values.recorded()), (3, 3));
        assert!(values.check().is_ok());
    }

    #[test]
    fn an_octave_has_as_many_buckets_as_the_resolution() {
        let resolution = Resolution::new(3).unwrap();
        assert_eq!(buckets(10, resolution), 30..=32);
        let bucket = |latency_ns| resolution.bucket(latency_ns);
        assert_eq!((bucket(1 << 10), bucket((2 << 10) - 1)), (30, 32));
    }
}
