//! Values as bytes whose order is the order of the values.

use trawl_model::column::{COLUMNS, Column, ColumnType};

/// Length of the key of one value in bytes.
pub(crate) const VALUE_BYTES: usize = 8;
/// Turns over the sign of signed values, so that they compare as unsigned ones.
const SIGN: u64 = 1 << 63;

/// Smallest and largest value that a column can have.
pub(crate) fn limits(column: Column) -> (i128, i128) {
    match COLUMNS[column as usize].kind {
        ColumnType::I64 => (i64::MIN.into(), i64::MAX.into()),
        _ => (0, u64::MAX.into()),
    }
}

/// Appends the key of a column's value, which must be one that the column can have.
pub fn push_key(key: &mut Vec<u8>, column: Column, value: i128) {
    let (least, most) = limits(column);
    let value = value.clamp(least, most);
    let bits = match least < 0 {
        true => (value as i64 as u64) ^ SIGN,
        false => value as u64,
    };
    key.extend(bits.to_be_bytes());
}

/// Returns the value of a column that a key of one value stands for.
pub fn value_of(column: Column, key: [u8; VALUE_BYTES]) -> i128 {
    let bits = u64::from_be_bytes(key);
    match limits(column).0 < 0 {
        true => i128::from((bits ^ SIGN) as i64),
        false => i128::from(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(column: Column, value: i128) -> [u8; VALUE_BYTES] {
        let mut key = Vec::new();
        push_key(&mut key, column, value);
        key.try_into().unwrap()
    }

    proptest! {
        #[test]
        fn keys_have_the_order_of_times(a in any::<i64>(), b in any::<i64>()) {
            let of = |value: i64| key(Column::Mtime, value.into());
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
            prop_assert_eq!(value_of(Column::Mtime, of(a)), i128::from(a));
        }

        #[test]
        fn keys_have_the_order_of_sizes(a in any::<u64>(), b in any::<u64>()) {
            let of = |value: u64| key(Column::Size, value.into());
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
            prop_assert_eq!(value_of(Column::Size, of(a)), i128::from(a));
        }
    }
}
