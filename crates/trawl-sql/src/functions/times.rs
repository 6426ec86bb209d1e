//! Functions on times.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::TimestampNanosecondType;
use datafusion::error::Result;

use super::{Moment, wrong_arguments};

/// One day.
const DAY_NS: f64 = 86_400e9;

/// `age(time)`.
pub(super) fn age(arrays: &[ArrayRef], moment: &Moment) -> Result<ArrayRef> {
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
