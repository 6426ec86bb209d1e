//! Variable-length numbers: seven bits a byte, lowest first.

/// Appends a number.
pub fn push(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number from the front; `None` if the bytes end early or the number
/// exceeds 32 bits.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    if *first < 0x80 {
        return Some(u32::from(*first));
    }
    take_long(u64::from(*first & 0x7f), bytes)
}

fn take_long(mut value: u64, bytes: &mut &[u8]) -> Option<u32> {
    for shift in [7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(*byte & 0x7f) << shift;
        if *byte < 0x80 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 16383, 16384, 1 << 21, 1 << 28, u32::MAX] {
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            for cut in 0..bytes.len() {
                assert_eq!(take(&mut &bytes[..cut]), None, "{value}");
            }
            let mut rest = &bytes[..];
            assert_eq!(take(&mut rest), Some(value));
            assert!(rest.is_empty());
        }
        assert_eq!(take(&mut &[0xff; 9][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0x10][..]), None);
    }
}
