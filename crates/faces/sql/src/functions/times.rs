//! Functions on times.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::TimestampNanosecondType;
use datafusion::error::Result;

use super::{FunctionInfo, Moment, Type, wrong_arguments};

/// The rows of this group.
pub(super) static FUNCTIONS: &[FunctionInfo] = &[FunctionInfo {
    name: "age",
    usage: "age(mtime)",
    doc: "Days from a time to the start of the statement, with a fraction",
    arguments: &[&[Type::Time]],
    result: Type::Real,
    call: age,
}];

/// One day.
const DAY_NS: f64 = 86_400e9;

/// `age(time)`.
fn age(arrays: &[ArrayRef], moment: &Moment) -> Result<ArrayRef> {
    let times = arrays
        .first()
        .and_then(|array| array.as_primitive_opt::<TimestampNanosecondType>());
    let Some(times) = times else {
        return wrong_arguments();
    };
    let now = moment.now.as_nanos();
    let days = |time: i64| (now - i128::from(time)) as f64 / DAY_NS;
    let ages = times.iter().map(|time| time.map(days));
    Ok(Arc::new(Float64Array::from_iter(ages)))
}
