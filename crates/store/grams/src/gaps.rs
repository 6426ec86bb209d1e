//! Lists of documents as gaps in Golomb-Rice code, as in name sidecars (`docs/format.md`, "Gaps").

/// Returns the number of plain bits for `count` gaps among `all` documents.
fn plain_bits(count: u32, all: u32) -> u32 {
    let mean = 45 * u64::from(all - count) / (64 * u64::from(count.max(1)));
    (mean + 1).ilog2()
}

/// Appends the gaps of ascending numbers below `all`.
pub(crate) fn write(
    numbers: impl Iterator<Item = u32>,
    (count, all): (u32, u32),
    out: &mut Vec<u8>,
) {
    let plain = plain_bits(count, all);
    let (mut waiting, mut bits, mut next) = (0u64, 0u32, 0u32);
    let mut put = |value: u64, width: u32| {
        waiting |= value << bits;
        bits += width;
        while bits >= 8 {
            out.push(waiting as u8);
            waiting >>= 8;
            bits -= 8;
        }
    };
    for number in numbers {
        let gap = number - next;
        next = number + 1;
        let mut ones = gap >> plain;
        while ones >= 32 {
            put(u64::from(u32::MAX), 32);
            ones -= 32;
        }
        put((1u64 << ones) - 1, ones + 1);
        put(u64::from(gap) & ((1 << plain) - 1), plain);
    }
    if bits > 0 {
        out.push(waiting as u8);
    }
}

/// Calls `visit` with the numbers of a list. Returns `None` if the bytes are not such a list.
pub(crate) fn read(
    bytes: &[u8],
    (count, all): (u32, u32),
    mut visit: impl FnMut(u32),
) -> Option<()> {
    let plain = plain_bits(count, all);
    let (mut waiting, mut bits, mut at, mut next) = (0u64, 0u32, 0usize, 0u32);
    for _ in 0..count {
        let mut quotient = 0u32;
        loop {
            while bits <= 56 && at < bytes.len() {
                waiting |= u64::from(bytes[at]) << bits;
                (at, bits) = (at + 1, bits + 8);
            }
            let ones = waiting.trailing_ones().min(bits);
            quotient += ones;
            waiting = waiting.checked_shr(ones).unwrap_or(0);
            bits -= ones;
            if bits > 0 {
                (waiting, bits) = (waiting >> 1, bits - 1);
                break;
            }
            if at >= bytes.len() || quotient > all {
                return None;
            }
        }
        while bits < plain && at < bytes.len() {
            waiting |= u64::from(bytes[at]) << bits;
            (at, bits) = (at + 1, bits + 8);
        }
        if bits < plain {
            return None;
        }
        let low = (waiting & ((1 << plain) - 1)) as u32;
        (waiting, bits) = (waiting >> plain, bits - plain);
        let gap = (u64::from(quotient) << plain) + u64::from(low);
        let number = u64::from(next) + gap;
        if number >= u64::from(all) {
            return None;
        }
        visit(number as u32);
        next = number as u32 + 1;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn lists_survive(all in 1u32..20_000, picks in proptest::collection::vec(any::<u32>(), 1..300)) {
            let numbers: BTreeSet<u32> = picks.iter().map(|pick| pick % all).collect();
            let size = (numbers.len() as u32, all);
            let mut bytes = Vec::new();
            write(numbers.iter().copied(), size, &mut bytes);
            let mut back = Vec::new();
            prop_assert!(read(&bytes, size, |number| back.push(number)).is_some());
            prop_assert!(back.iter().eq(numbers.iter()));
        }

        #[test]
        fn any_bytes_give_numbers_in_range(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            all in 1u32..20_000,
            count in 1u32..200,
        ) {
            let count = count.min(all);
            let _ = read(&bytes, (count, all), |number| assert!(number < all));
        }
    }
}
