//! Bit-packed numbers and the hybrid of runs and bit-packed groups.
//!
//! Source: the Parquet format's `Encodings.md`. Everything is checked
//! against the bytes that are there; `None` means that they do not suffice
//! or make no sense.

use super::thrift::{varint, zigzag};

/// Numbers of `width` bits each, least significant bit first, given to
/// `put` in order.
#[inline]
pub(crate) fn unpack(
    bytes: &[u8],
    width: u32,
    count: usize,
    mut put: impl FnMut(u64),
) -> Option<()> {
    if width > 64 || (count as u64).checked_mul(u64::from(width))?.div_ceil(8) > bytes.len() as u64
    {
        return None;
    }
    if width == 0 {
        (0..count).for_each(|_| put(0));
        return Some(());
    }
    let mask = u64::MAX >> (64 - width);
    // As long as a whole window of eight bytes lies in `bytes`; it holds any
    // number of up to 57 bits.
    let whole = match bytes.len().checked_sub(8) {
        Some(last) if width <= 57 => (last * 8 / width as usize + 1).min(count),
        _ => 0,
    };
    let mut bit = 0usize;
    for _ in 0..whole {
        let window = bytes.get(bit >> 3..)?.first_chunk::<8>()?;
        put((u64::from_le_bytes(*window) >> (bit & 7)) & mask);
        bit += width as usize;
    }
    for _ in whole..count {
        let rest = bytes.get(bit >> 3..)?;
        let mut window = [0u8; 16];
        let len = rest.len().min(16);
        window[..len].copy_from_slice(&rest[..len]);
        put((u128::from_le_bytes(window) >> (bit & 7)) as u64 & mask);
        bit += width as usize;
    }
    Some(())
}

/// `RLE` of Parquet: the first `count` numbers, as runs of (value, length).
#[inline]
pub(crate) fn hybrid(
    mut bytes: &[u8],
    width: u32,
    mut count: usize,
    mut put: impl FnMut(u32, usize) -> Option<()>,
) -> Option<()> {
    if width > 32 {
        return None;
    }
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
            put(u32::from_le_bytes(value), run)?;
            count -= run;
            if run == 0 {
                return None;
            }
        } else {
            let packed_len = run.checked_mul(width as usize)?;
            let packed = bytes.get(..packed_len)?;
            bytes = bytes.get(packed_len..)?;
            let take = run.checked_mul(8)?.min(count);
            if take == 0 {
                return None;
            }
            let mut fits = true;
            unpack(packed, width, take, |value| {
                fits &= put(value as u32, 1).is_some()
            })?;
            if !fits {
                return None;
            }
            count -= take;
        }
    }
    Some(())
}

/// `DELTA_BINARY_PACKED`: gives the first `wanted` of the sequence to `put`
/// and returns its length, which is at most `most`, and where it ends
/// (meaningful only if all were wanted).
#[inline]
pub(crate) fn delta(
    bytes: &[u8],
    most: usize,
    wanted: usize,
    mut put: impl FnMut(u64),
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
    if per_mini == 0 || !per_mini.is_multiple_of(32) {
        return None;
    }
    let wanted = wanted.min(total);
    if wanted > 0 {
        put(last);
    }
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
            let count = per_mini.min(wanted - done);
            // The bytes after this block are lent too, for quick loads.
            let packed = bytes.get(at..).filter(|rest| rest.len() >= packed_len)?;
            unpack(packed, width, count, |delta| {
                last = last.wrapping_add(min_delta).wrapping_add(delta);
                put(last);
            })?;
            at += packed_len;
            done += count;
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
            let mut got = Vec::new();
            unpack(&packed, width, values.len(), |v| got.push(v)).unwrap();
            prop_assert_eq!(got, values);
        }

        #[test]
        fn hostile_bytes_give_no_more_than_was_asked_for(bytes: Vec<u8>, width in 0u32..40, count in 0usize..1000) {
            let mut got = 0;
            let _ = hybrid(&bytes, width, count, |_, run| { got += run; Some(()) });
            prop_assert!(got <= count);
            let mut got = 0;
            let _ = delta(&bytes, 1000, count, |_| got += 1);
            prop_assert!(got <= count.min(1000));
        }
    }
}
