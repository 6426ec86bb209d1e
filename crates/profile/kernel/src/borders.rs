//! The tables with which programs in the kernel find the bucket of a latency, for a resolution.
//!
//! BPF has no logarithm and no floating point. A latency is shifted until its highest bit is set;
//! the next six bits select a 64th of the octave. At most one bucket begins within each 64th,
//! because buckets are at least 2^(1/8) − 1 > 1/64 apart, so one comparison finishes the search.

use trawl_histogram::Resolution;

/// 64ths of an octave.
pub(crate) const CELLS: usize = 64;
/// More than the buckets of an octave, so that programs need no further bounds check.
pub(crate) const STARTS: usize = 16;

/// Tables that the BPF programs look up.
pub(crate) struct Borders {
    /// For each 64th of an octave: the bucket in which it begins.
    pub(crate) cell_bucket: [u8; CELLS],
    /// Where each bucket of an octave begins, if the octave begins at 2^63; `u64::MAX` behind them.
    pub(crate) bucket_start: [u64; STARTS],
}

impl Borders {
    pub(crate) fn new(resolution: Resolution) -> Borders {
        let in_octave = resolution.get();
        let mut bucket_start = [u64::MAX; STARTS];
        for (start, bucket) in bucket_start.iter_mut().zip(0..u16::from(in_octave)) {
            *start = resolution.least(63 * u16::from(in_octave) + bucket);
        }
        let mut cell_bucket = [0; CELLS];
        for (bucket, cell) in cell_bucket.iter_mut().zip(0_u64..) {
            let begin = (1 << 63) | (cell << 57);
            *bucket = (1..in_octave)
                .filter(|at| {
                    bucket_start
                        .get(usize::from(*at))
                        .is_some_and(|start| *start <= begin)
                })
                .count() as u8;
        }
        Borders {
            cell_bucket,
            bucket_start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes a bucket as the BPF programs do: `bucket_of` in `bpf/system_calls.c`.
    fn looked_up(borders: &Borders, resolution: Resolution, latency_ns: u64) -> u16 {
        let log = 63 - latency_ns.leading_zeros();
        let scaled = latency_ns << (63 - log);
        let mut within = borders.cell_bucket[(scaled >> 57) as usize & 63];
        within += u8::from(scaled >= borders.bucket_start[usize::from(within) + 1]);
        log as u16 * u16::from(resolution.get()) + u16::from(within)
    }

    /// 2^b ≤ latency^r < 2^(b+1), with numbers of any length: the definition.
    fn defined(resolution: Resolution, latency_ns: u64) -> u16 {
        let mut power = vec![1_u32];
        for _ in 0..resolution.get() {
            for part in [latency_ns] {
                let (low, high) = (part as u32, (part >> 32) as u32);
                let mut product = vec![0_u32; power.len() + 2];
                for (shift, factor) in [(0, low), (1, high)] {
                    let mut carry = 0_u64;
                    for (at, digit) in power.iter().enumerate() {
                        let sum = u64::from(product[at + shift])
                            + u64::from(*digit) * u64::from(factor)
                            + carry;
                        product[at + shift] = sum as u32;
                        carry = sum >> 32;
                    }
                    let mut at = power.len() + shift;
                    while carry > 0 {
                        let sum = u64::from(product[at]) + carry;
                        product[at] = sum as u32;
                        carry = sum >> 32;
                        at += 1;
                    }
                }
                power = product;
            }
        }
        let top = power.iter().rposition(|digit| *digit != 0).unwrap();
        (top * 32) as u16 + (31 - power[top].leading_zeros()) as u16
    }

    #[test]
    fn borders_are_exact_at_each_resolution() {
        for resolution in Resolution::all() {
            let borders = Borders::new(resolution);
            for bucket in 0..resolution.buckets() as u16 {
                let least = resolution.least(bucket).max(1);
                for latency_ns in [least.saturating_sub(1), least, least.saturating_add(1)] {
                    if latency_ns > 0 && latency_ns < u64::MAX {
                        let expected = defined(resolution, latency_ns);
                        let found = looked_up(&borders, resolution, latency_ns);
                        assert_eq!(found, expected, "{latency_ns} at resolution {resolution}");
                    }
                }
            }
        }
    }
}
