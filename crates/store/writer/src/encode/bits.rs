//! Implements bit packing, variable-length integers, and the hybrid of run-length encoding and bit
//! packing from Parquet's format specification ("Encodings").

/// Appends an unsigned LEB128 integer.
pub(super) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed integer as zigzag and LEB128.
pub(super) fn push_zigzag(out: &mut Vec<u8>, value: i64) {
    push_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Returns the number of bits that `value` needs.
pub(super) fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// Appends `values` at `width` bits each, least significant bit first. Their number must be a
/// multiple of 8, and each must fit.
#[inline]
pub(super) fn pack(out: &mut Vec<u8>, values: &[u64], width: u32) {
    if width == 0 {
        return;
    }
    let (mut word, mut filled) = (0u64, 0u32);
    out.reserve(values.len() * width as usize / 8 + 8);
    for value in values {
        word |= value << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            word = if filled == 0 {
                0
            } else {
                value >> (width - filled)
            };
        }
    }
    let rest = word.to_le_bytes();
    out.extend_from_slice(rest.get(..filled.div_ceil(8) as usize).unwrap_or(&rest));
}

/// Appends `values`, each below `1 << width`, in the hybrid encoding.
pub(super) fn push_hybrid(out: &mut Vec<u8>, values: &[u32], width: u32) {
    let (mut literal_start, mut at) = (0, 0);
    while at < values.len() {
        let run = run_length(values, at);
        // Literals come in groups of 8; the start of a run may have to fill up a group.
        let fill = (8 - (at - literal_start) % 8) % 8;
        if run >= fill + 8 {
            push_literals(out, &values[literal_start..at + fill], width);
            push_run(out, values[at], run - fill, width);
            literal_start = at + run;
        }
        at += run;
    }
    push_literals(out, &values[literal_start..], width);
}

/// Appends one run of the hybrid encoding.
pub(super) fn push_run(out: &mut Vec<u8>, value: u32, length: usize, width: u32) {
    push_varint(out, (length as u64) << 1);
    let bytes = value.to_le_bytes();
    out.extend_from_slice(&bytes[..width.div_ceil(8) as usize]);
}

fn run_length(values: &[u32], at: usize) -> usize {
    let first = values[at];
    values[at..].iter().take_while(|v| **v == first).count()
}

fn push_literals(out: &mut Vec<u8>, values: &[u32], width: u32) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    push_varint(out, (groups as u64) << 1 | 1);
    let mut block = [0u64; 64];
    for chunk in values.chunks(64) {
        block.fill(0);
        for (to, from) in block.iter_mut().zip(chunk) {
            *to = u64::from(*from);
        }
        pack(out, &block[..chunk.len().div_ceil(8) * 8], width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpack(bytes: &[u8], count: usize, width: u32) -> Vec<u64> {
        let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
        (0..count)
            .map(|i| {
                (0..width as usize)
                    .map(|b| bit(i * width as usize + b) << b)
                    .sum()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn packed_bits_come_back(width in 1u32..=64, groups in 1usize..5, seed: u64) {
            let mask = u64::MAX >> (64 - width);
            let mut state = seed | 1;
            let values: Vec<u64> = (0..groups * 8)
                .map(|_| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    state.rotate_left(17) & mask
                })
                .collect();
            let mut out = Vec::new();
            pack(&mut out, &values, width);
            prop_assert_eq!(out.len(), groups * width as usize);
            prop_assert_eq!(unpack(&out, values.len(), width), values);
        }
    }
}
