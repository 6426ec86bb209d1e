//! Bounds the engine's functions whose results may be far larger than their arguments: they are
//! called only if the result fits into the statement's memory.
//!
//! The engine counts the memory of rows that it sorts, groups and joins, but not that of single
//! values; a function such as `repeat` allocates its result at once. Here an upper bound of the
//! result is computed from the arguments alone.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type, IntervalMonthDayNanoType, TimeUnit};
use datafusion::common::DataFusionError;
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

/// Maximum bytes of a list's value, besides its text.
const VALUE_BYTES: u128 = 32;
/// Maximum bytes of a character.
const CHARACTER_BYTES: u128 = 4;
/// The lengths of the shortest and the longest month.
const MONTH_DAYS: [i128; 2] = [28, 31];
/// Nanoseconds of a day.
const DAY_NS: i128 = 86_400_000_000_000;
/// The bound of a result that may be endless.
const ENDLESS: u128 = u128::MAX;

/// Returns an upper bound of a row's result in bytes, from its arguments.
type Bound = fn(&Row<'_>) -> u128;

/// The bounded functions, by name.
const BOUNDS: &[(&str, Bound)] = &[
    ("repeat", |row| row.count(1).saturating_mul(row.bytes(0))),
    ("lpad", padded),
    ("rpad", padded),
    ("replace", |row| {
        let places = row.bytes(0) / row.bytes(1).max(1) + 1;
        row.bytes(0)
            .saturating_add(places.saturating_mul(row.bytes(2)))
    }),
    ("array_repeat", |row| {
        row.count(1)
            .saturating_mul(row.bytes(0).saturating_add(VALUE_BYTES))
    }),
    ("array_resize", |row| {
        row.count(1)
            .saturating_mul(row.bytes(2).saturating_add(VALUE_BYTES))
    }),
    ("range", series),
    ("generate_series", series),
];

fn padded(row: &Row<'_>) -> u128 {
    let one = row.bytes(2).clamp(1, CHARACTER_BYTES);
    row.count(1)
        .saturating_mul(one)
        .saturating_add(row.bytes(0))
}

/// Bounds a series of numbers or times; returns 0 where the function returns null or an error.
fn series(row: &Row<'_>) -> u128 {
    let (from, to) = match row.arguments.len() {
        1 => (Some(0), row.point(0)),
        _ => (row.point(0), row.point(1)),
    };
    let step = match row.arguments.len() {
        0..=2 => Some((1, 1)),
        _ => row.step(2),
    };
    let (Some(from), Some(to), Some((least, most))) = (from, to, step) else {
        return 0;
    };
    // A month less 30 days may be nothing, so that the series stays where it is.
    if least <= 0 && most >= 0 {
        return ENDLESS;
    }
    let step = least.unsigned_abs().min(most.unsigned_abs());
    (from.abs_diff(to) / step + 1).saturating_mul(VALUE_BYTES)
}

/// The arguments of one row.
struct Row<'a> {
    arguments: &'a [ColumnarValue],
    at: usize,
}

impl Row<'_> {
    /// Returns an argument as an array, and the index of this row's value in it.
    fn value(&self, argument: usize) -> Option<(Arc<dyn Array>, usize)> {
        match self.arguments.get(argument)? {
            ColumnarValue::Array(array) => Some((Arc::clone(array), self.at)),
            ColumnarValue::Scalar(scalar) => Some((scalar.to_array().ok()?, 0)),
        }
    }

    /// Returns the bytes of a text, or of everything in a list; 0 for nulls and for values of a
    /// fixed size, which take no more than [`VALUE_BYTES`].
    fn bytes(&self, argument: usize) -> u128 {
        let Some((array, at)) = self
            .value(argument)
            .filter(|(array, at)| array.is_valid(*at))
        else {
            return 0;
        };
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(at).len() as u128,
            DataType::LargeUtf8 => array.as_string::<i64>().value(at).len() as u128,
            DataType::Utf8View => array.as_string_view().value(at).len() as u128,
            kind if kind.is_primitive() => 0,
            _ => inner_bytes(&array.slice(at, 1)),
        }
    }

    /// Returns an argument as a whole number; `None` for nulls and other types.
    fn number(&self, argument: usize) -> Option<i64> {
        let (array, at) = self.value(argument)?;
        whole(&array.slice(at, 1))
    }

    /// Returns the start or the end of a series: a number, or a time in nanoseconds.
    fn point(&self, argument: usize) -> Option<i128> {
        let (array, at) = self.value(argument)?;
        let one = array.slice(at, 1);
        let (kind, unit) = match one.data_type() {
            DataType::Timestamp(_, zone) => {
                (DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()), 1)
            }
            DataType::Date32 | DataType::Date64 => (DataType::Date32, DAY_NS),
            _ => (DataType::Int64, 1),
        };
        let number = whole(&cast(&one, &kind).ok()?)?;
        Some(i128::from(number) * unit)
    }

    /// Returns the least and the greatest length of a series' step, as a month may have 28 to 31
    /// days. `None` for null and nothing, for which the function returns null or an error.
    fn step(&self, argument: usize) -> Option<(i128, i128)> {
        let (array, at) = self.value(argument)?;
        let Some(intervals) = array.as_primitive_opt::<IntervalMonthDayNanoType>() else {
            let number = self.number(argument).filter(|number| *number != 0)?;
            return Some((number.into(), number.into()));
        };
        let one = intervals.is_valid(at).then(|| intervals.value(at))?;
        let is_of_dates = self
            .arguments
            .first()
            .is_some_and(|first| matches!(first.data_type(), DataType::Date32 | DataType::Date64));
        let nanos = i128::from(one.nanoseconds);
        // Dates only move by whole days.
        let nanos = match is_of_dates {
            true => nanos / DAY_NS * DAY_NS,
            false => nanos,
        };
        let is_refused = one.months == 0 && one.days == 0 && (is_of_dates || nanos == 0);
        let [short, long] = MONTH_DAYS
            .map(|days| (i128::from(one.months) * days + i128::from(one.days)) * DAY_NS + nanos);
        // The engine takes the direction of dates from the signs alone.
        let is_back = one.months < 0 || one.days < 0;
        match is_refused {
            true => None,
            false if is_of_dates && is_back != (short.max(long) < 0) => Some((0, 0)),
            false => Some((short.min(long), short.max(long))),
        }
    }

    /// Returns a repeat count; 0 if it is negative.
    fn count(&self, argument: usize) -> u128 {
        let number = self.number(argument).unwrap_or_default();
        u128::from(u64::try_from(number).unwrap_or_default())
    }
}

/// Returns the first value as a whole number; `None` for null and other types.
fn whole(array: &ArrayRef) -> Option<i64> {
    let numbers = cast(array, &DataType::Int64).ok()?;
    let numbers = numbers.as_primitive_opt::<Int64Type>()?;
    (!numbers.is_empty() && numbers.is_valid(0)).then(|| numbers.value(0))
}

/// Returns an upper bound of the bytes that copies of an array's values take, besides
/// [`VALUE_BYTES`] for each: the lengths of texts, and the values of lists.
///
/// The engine's own measure of a part of a list counts the values of the whole list.
fn inner_bytes(array: &ArrayRef) -> u128 {
    match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets()),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => array.as_string_view().lengths().map(u128::from).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(u128::from).sum(),
        DataType::FixedSizeBinary(_) => {
            let bytes = array.as_fixed_size_binary().value_size();
            (array.len() as u128).saturating_mul(bytes as u128)
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            values_bytes(&values_between(list.values(), list.value_offsets()))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            values_bytes(&values_between(list.values(), list.value_offsets()))
        }
        DataType::FixedSizeList(..) => values_bytes(array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let map = array.as_map();
            let columns = map.entries().columns().iter();
            columns
                .map(|column| values_bytes(&values_between(column, map.value_offsets())))
                .fold(0, u128::saturating_add)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(values_bytes).fold(0, u128::saturating_add)
        }
        DataType::Dictionary(_, values) => {
            cast(array, values).map_or(0, |plain| inner_bytes(&plain))
        }
        _ => 0,
    }
}

/// Returns an upper bound of the bytes that copies of an array's values take.
fn values_bytes(array: &ArrayRef) -> u128 {
    let fixed = (array.len() as u128).saturating_mul(VALUE_BYTES);
    fixed.saturating_add(inner_bytes(array))
}

/// Returns the distance from the first to the last offset.
fn between<O: OffsetSizeTrait>(offsets: &[O]) -> u128 {
    let (first, last) = ends(offsets);
    (last - first) as u128
}

/// Returns the values from the first to the last offset.
fn values_between<O: OffsetSizeTrait>(values: &ArrayRef, offsets: &[O]) -> ArrayRef {
    let (first, last) = ends(offsets);
    values.slice(first, last - first)
}

fn ends<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let at = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    (at(offsets.first()), at(offsets.last()))
}

/// Adds a bound to each of the functions that needs one.
pub(super) fn bounded(functions: &mut [Arc<ScalarUDF>], most_bytes: u64) {
    for function in functions {
        let bound = BOUNDS.iter().find(|(name, _)| *name == function.name());
        if let Some((_, bound)) = bound {
            *function = Arc::new(ScalarUDF::new_from_impl(Bounded {
                inner: Arc::clone(function),
                bound: *bound,
                most_bytes,
            }));
        }
    }
}

/// A function with a bound on its results.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    bound: Bound,
    most_bytes: u64,
}

// Each name has one function.
impl PartialEq for Bounded {
    fn eq(&self, other: &Bounded) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl std::hash::Hash for Bounded {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.name().hash(state);
    }
}

impl Bounded {
    fn check(&self, args: &ScalarFunctionArgs) -> Result<()> {
        let is_one = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let rows = match args.args.iter().all(is_one) {
            true => 1,
            false => args.number_rows,
        };
        let arguments = &args.args;
        let bytes = (0..rows).fold(0u128, |sum, at| {
            sum.saturating_add((self.bound)(&Row { arguments, at }))
        });
        match bytes > u128::from(self.most_bytes) {
            true => {
                let bytes = match bytes {
                    ENDLESS => "any number of".to_owned(),
                    _ => bytes.to_string(),
                };
                Err(DataFusionError::ResourcesExhausted(format!(
                    "{} would make {bytes} bytes at once; {} are allowed",
                    self.inner.name(),
                    self.most_bytes
                )))
            }
            false => Ok(()),
        }
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(arguments)
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arguments)
    }

    fn simplify(
        &self,
        arguments: Vec<Expr>,
        context: &SimplifyContext,
    ) -> Result<ExprSimplifyResult> {
        self.inner.simplify(arguments, context)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.check(&arguments)?;
        self.inner.invoke_with_args(arguments)
    }
}
