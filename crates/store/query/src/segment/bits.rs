//! Decodes bit-packed numbers and Parquet's hybrid of runs and bit-packed
//! groups.
//!
//! Source: the Parquet format's `Encodings.md`. All lengths are checked against
//! the available bytes; `None` means that the bytes end early or are invalid.

use trawl_thrift::{varint, zigzag};

/// Numbers unpacked together.
pub(crate) const BATCH: usize = 32;
/// Maximum bytes of a packed batch, including the bytes read beyond it.
const MOST_PACKED_BYTES: usize = BATCH / 8 * 64 + 8;

/// Unpacks `BATCH` numbers of `W` bits each, least significant bit first. Reads
/// eight bytes beyond the numbers.
#[inline(always)]
fn unpack_batch<const W: usize>(bytes: &[u8], out: &mut [u64; BATCH]) -> Option<()> {
    let mask = if W == 0 { 0 } else { u64::MAX >> (64 - W) };
    for (group, out) in out.chunks_exact_mut(8).enumerate() {
        // All positions are constants: this compiles to eight loads and shifts.
        let bytes = bytes.get(group * W..group * W + W + 8)?;
        for (at, out) in out.iter_mut().enumerate() {
            let (start, shift) = (at * W / 8, at * W % 8);
            let low = u64::from_le_bytes(*bytes.get(start..)?.first_chunk::<8>()?) >> shift;
            let high = match shift + W > 64 {
                true => u64::from(*bytes.get(start + 8)?) << (64 - shift),
                false => 0,
            };
            *out = (low | high) & mask;
        }
    }
    Some(())
}

macro_rules! unpack_widths {
    ($($width:literal)*) => {
        /// Unpacks `BATCH` numbers of `width` bits; `bytes` must continue after
        /// them.
        fn unpack_lent(bytes: &[u8], width: u32, out: &mut [u64; BATCH]) -> Option<()> {
            match width {
                $($width => unpack_batch::<$width>(bytes, out),)*
                _ => None,
            }
        }
    };
}

unpack_widths! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
}

/// Unpacks a batch from the available bytes; missing bytes count as 0.
fn unpack(bytes: &[u8], width: u32, out: &mut [u64; BATCH]) -> Option<()> {
    if width > 64 {
        return None;
    }
    if bytes.len() >= BATCH / 8 * width as usize + 8 {
        return unpack_lent(bytes, width, out);
    }
    let mut padded = [0u8; MOST_PACKED_BYTES];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    unpack_lent(&padded, width, out)
}

/// Part of a hybrid sequence.
pub(crate) enum Run<'a> {
    /// One number repeated.
    Same(u32, usize),
    /// Individual numbers.
    Each(&'a [u64]),
}

/// Decodes the first `count` numbers of Parquet's `RLE` encoding, as runs.
#[inline]
pub(crate) fn hybrid(
    mut bytes: &[u8],
    width: u32,
    mut count: usize,
    mut put: impl FnMut(Run<'_>) -> Option<()>,
) -> Option<()> {
    if width > 32 {
        return None;
    }
    let mut batch = [0u64; BATCH];
    while count > 0 {
        let (head, len) = varint(bytes)?;
        bytes = bytes.get(len..)?;
        let run = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let value_len = width.div_ceil(8) as usize;
            let mut value = [0u8; 4];
            value[..value_len].copy_from_slice(bytes.get(..value_len)?);
            bytes = bytes.get(value_len..)?;
            let run = run.min(count);
            put(Run::Same(u32::from_le_bytes(value), run))?;
            count -= run;
            if run == 0 {
                return None;
            }
        } else {
            let packed_len = run.checked_mul(width as usize)?;
            bytes.get(..packed_len)?;
            let mut left = run.checked_mul(8)?.min(count);
            if left == 0 {
                return None;
            }
            count -= left;
            let mut start = 0;
            while left > 0 {
                unpack(bytes.get(start..)?, width, &mut batch)?;
                let some = batch.get(..left.min(BATCH))?;
                put(Run::Each(some))?;
                left -= some.len();
                start = (start + BATCH / 8 * width as usize).min(packed_len);
            }
            bytes = bytes.get(packed_len..)?;
        }
    }
    Some(())
}

/// Decodes `DELTA_BINARY_PACKED`: passes the first `wanted` numbers to `put` in
/// batches. Returns the length of the sequence, which is at most `most`, and
/// the position of its end (valid only if all numbers were wanted).
#[inline]
pub(crate) fn delta(
    bytes: &[u8],
    most: usize,
    wanted: usize,
    mut put: impl FnMut(&[u64]),
) -> Option<(usize, usize)> {
    let mut at = 0usize;
    let next = |at: &mut usize| -> Option<u64> {
        let (value, len) = varint(bytes.get(*at..)?)?;
        *at += len;
        Some(value)
    };
    let block = usize::try_from(next(&mut at)?).ok()?;
    let minis = usize::try_from(next(&mut at)?).ok()?;
    let total = usize::try_from(next(&mut at)?).ok()?;
    let mut last = zigzag(next(&mut at)?) as u64;
    if total > most || minis == 0 || minis > 256 || block > 1 << 16 || !block.is_multiple_of(minis)
    {
        return None;
    }
    let per_mini = block / minis;
    if per_mini == 0 || !per_mini.is_multiple_of(BATCH) {
        return None;
    }
    let wanted = wanted.min(total);
    if wanted > 0 {
        put(&[last]);
    }
    let mut batch = [0u64; BATCH];
    let mut done = 1;
    while done < wanted {
        let min_delta = zigzag(next(&mut at)?) as u64;
        let widths = bytes.get(at..at + minis)?;
        at += minis;
        for width in widths {
            if done >= wanted {
                break;
            }
            let width = u32::from(*width);
            let packed_len = per_mini / 8 * width as usize;
            // The slice includes the bytes after this block, which allows
            // faster loads.
            let packed = bytes.get(at..).filter(|rest| rest.len() >= packed_len)?;
            let mut start = 0;
            let end = (done + per_mini).min(wanted);
            while done < end {
                unpack(packed.get(start..)?, width, &mut batch)?;
                for value in &mut batch {
                    last = last.wrapping_add(min_delta).wrapping_add(*value);
                    *value = last;
                }
                let some = batch.get(..BATCH.min(end - done))?;
                // The batch may extend beyond the sequence, but nothing follows
                // it.
                put(some);
                done += some.len();
                start += BATCH / 8 * width as usize;
            }
            at += packed_len;
        }
    }
    Some((total, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pack(values: &[u64], width: u32) -> Vec<u8> {
        let mut out = vec![0u8; (values.len() * width as usize).div_ceil(8)];
        for (at, value) in values.iter().enumerate() {
            for bit in 0..width as usize {
                let place = at * width as usize + bit;
                out[place / 8] |= ((value >> bit & 1) as u8) << (place % 8);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn unpacking_undoes_packing(width in 0u32..=64, values in proptest::collection::vec(any::<u64>(), 0..100), extra in 0usize..20) {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let values: Vec<u64> = values.iter().map(|v| v & mask).collect();
            let mut packed = pack(&values, width);
            packed.resize(packed.len() + extra, 0xff);
            let mut batch = [1u64; BATCH];
            for (nth, values) in values.chunks(BATCH).enumerate() {
                unpack(&packed[nth * BATCH / 8 * width as usize..], width, &mut batch).unwrap();
                prop_assert_eq!(&batch[..values.len()], values);
            }
        }

        #[test]
        fn hostile_bytes_give_no_more_than_was_asked_for(bytes: Vec<u8>, width in 0u32..40, count in 0usize..1000) {
            let mut got = 0;
            let _ = hybrid(&bytes, width, count, |run| {
                got += match run {
                    Run::Same(_, times) => times,
                    Run::Each(some) => some.len(),
                };
                Some(())
            });
            prop_assert!(got <= count);
            let mut got = 0;
            let _ = delta(&bytes, 1000, count, |some| got += some.len());
            prop_assert!(got <= count.min(1000));
        }
    }
}
