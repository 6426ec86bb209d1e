//! Bounds the engine's functions whose results may be far larger than their arguments: they are
//! called only if the result fits into the statement's memory.
//!
//! The engine counts the memory of rows that it sorts, groups and joins, but not that of single
//! values; a function such as `repeat` allocates its result at once. Here an upper bound of the
//! result is computed from the arguments alone.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, FieldRef, Int64Type};
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

/// Bounds a series of numbers; for times it returns no bound (0).
fn series(row: &Row<'_>) -> u128 {
    let (from, to) = match row.arguments.len() {
        1 => (Some(0), row.number(0)),
        _ => (row.number(0), row.number(1)),
    };
    let (Some(from), Some(to)) = (from, to) else {
        return 0;
    };
    let step = row.number(2).map_or(1, i64::unsigned_abs).max(1);
    u128::from(from.abs_diff(to) / step + 1).saturating_mul(VALUE_BYTES)
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

    /// Returns the length of a text in bytes; 0 for other types and nulls.
    fn bytes(&self, argument: usize) -> u128 {
        let Some((array, at)) = self
            .value(argument)
            .filter(|(array, at)| array.is_valid(*at))
        else {
            return 0;
        };
        let length = match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(at).len(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(at).len(),
            DataType::Utf8View => array.as_string_view().value(at).len(),
            _ => 0,
        };
        length as u128
    }

    fn number(&self, argument: usize) -> Option<i64> {
        let (array, at) = self.value(argument)?;
        let numbers = arrow::compute::cast(&array, &DataType::Int64).ok()?;
        let numbers = numbers.as_primitive_opt::<Int64Type>()?;
        numbers.is_valid(at).then(|| numbers.value(at))
    }

    /// Returns a repeat count; 0 if it is negative.
    fn count(&self, argument: usize) -> u128 {
        let number = self.number(argument).unwrap_or_default();
        u128::from(u64::try_from(number).unwrap_or_default())
    }
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
            true => Err(DataFusionError::ResourcesExhausted(format!(
                "{} would make {bytes} bytes at once; {} are allowed",
                self.inner.name(),
                self.most_bytes
            ))),
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
