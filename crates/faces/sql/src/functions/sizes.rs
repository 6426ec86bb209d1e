//! Functions on sizes.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
use arrow::datatypes::Float64Type;
use datafusion::error::Result;
use trawl_text::units::{Scale, format};

use super::{FunctionInfo, Moment, Type, numbers};

/// The rows of this group.
pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        name: "human_size",
        usage: "human_size(bytes)",
        doc: "A number of bytes as du -h writes it: `1.5G`",
        arguments: &[&[Type::Number], &[Type::Real]],
        result: Type::Text,
        call: human_size,
    },
    FunctionInfo {
        name: "size_bucket",
        usage: "size_bucket(size)",
        doc: "The greatest power of two not above the size; 0 for 0",
        arguments: &[&[Type::Number]],
        result: Type::Number,
        call: size_bucket,
    },
];

/// `human_size(bytes)`.
fn human_size(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let real = arrays
        .first()
        .and_then(|array| array.as_primitive_opt::<Float64Type>());
    let texts: StringViewArray = match real {
        Some(real) => real.iter().map(|n| n.map(|n| shown(n as i128))).collect(),
        None => {
            let whole = numbers(arrays)?.iter();
            whole.map(|n| n.map(|n| shown(n.into()))).collect()
        }
    };
    Ok(Arc::new(texts))
}

/// Formats a size; differences may be negative.
fn shown(bytes: i128) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", format(bytes.unsigned_abs(), Scale::Binary))
}

/// `size_bucket(size)`.
fn size_bucket(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let bucket = |size: i64| match u64::try_from(size) {
        Ok(0) | Err(_) => 0,
        Ok(size) => 1i64 << size.ilog2(),
    };
    let sizes = numbers(arrays)?.iter();
    Ok(Arc::new(Int64Array::from_iter(
        sizes.map(|size| size.map(bucket)),
    )))
}
