//! SQL functions: the registry, and the engine's interface to call them.
//!
//! A function is a row of `FUNCTIONS` in the module of its group, and a few lines below it; names,
//! help, completion and documentation come from the row.

mod bounded;
mod contents;
mod owners;
mod paths;
mod sizes;
mod sums;
mod times;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use trawl_model::Timestamp;

/// The type of an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// A number with a fraction.
    Real,
    /// A point in time.
    Time,
    /// True or false.
    Truth,
}

impl Type {
    fn arrow(self) -> DataType {
        match self {
            Type::Text => DataType::Utf8View,
            Type::Number => DataType::Int64,
            Type::Real => DataType::Float64,
            Type::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Type::Truth => DataType::Boolean,
        }
    }
}

/// A function with its documentation.
pub(crate) struct FunctionInfo {
    /// Its name.
    pub(crate) name: &'static str,
    /// An example call.
    pub(crate) usage: &'static str,
    /// Its result.
    pub(crate) doc: &'static str,
    /// Accepted lists of argument types, the usual one first.
    arguments: &'static [&'static [Type]],
    result: Type,
    call: fn(&[ArrayRef], &Moment) -> Result<ArrayRef>,
}

/// Context of a call besides its arguments.
#[derive(Debug)]
pub(crate) struct Moment {
    /// Time at which the statement began.
    pub(crate) now: Timestamp,
}

/// The functions of each group, in the order in which they are listed.
static GROUPS: &[&[FunctionInfo]] = &[
    paths::FUNCTIONS,
    owners::FUNCTIONS,
    sizes::FUNCTIONS,
    times::FUNCTIONS,
    contents::FUNCTIONS,
];

/// Returns every function.
pub(crate) fn every() -> impl Iterator<Item = &'static FunctionInfo> {
    GROUPS.iter().copied().flatten()
}

/// Returns the functions for the engine.
pub(crate) fn all(now: Timestamp) -> Vec<Arc<ScalarUDF>> {
    let moment = Arc::new(Moment { now });
    let functions = every().map(|info| Function::new(info, &moment));
    functions
        .map(|one| Arc::new(ScalarUDF::new_from_impl(one)))
        .collect()
}

/// Limits the bytes that a call of the engine's own functions may allocate.
pub(crate) fn bound(functions: &mut [Arc<ScalarUDF>], most_bytes: u64) {
    bounded::bounded(functions, most_bytes);
}

/// Makes the engine's sums of whole numbers errors where they would wrap around.
pub(crate) fn exact_sums(functions: &mut [Arc<AggregateUDF>]) {
    sums::exact(functions);
}

/// A function as the engine calls it.
#[derive(Debug)]
struct Function {
    name: &'static str,
    result: Type,
    call: fn(&[ArrayRef], &Moment) -> Result<ArrayRef>,
    signature: Signature,
    moment: Arc<Moment>,
}

impl Function {
    fn new(info: &FunctionInfo, moment: &Arc<Moment>) -> Function {
        let types = |list: &&[Type]| list.iter().map(|one| one.arrow()).collect();
        let lists = info.arguments.iter().map(types);
        let exact = lists.map(TypeSignature::Exact).collect();
        Function {
            name: info.name,
            result: info.result,
            call: info.call,
            signature: Signature::one_of(exact, Volatility::Stable),
            moment: Arc::clone(moment),
        }
    }
}

// Each name has one function.
impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.arrow())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_single = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_constant = args.args.iter().all(is_single);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let result = (self.call)(&arrays, &self.moment)?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }
}

/// Calls `make` for each row whose two texts are not null.
fn texts<'a, T>(
    arrays: &'a [ArrayRef],
    mut make: impl FnMut(&'a str, &'a str) -> T,
) -> Result<Vec<Option<T>>> {
    let [first, second] = arrays else {
        return wrong_arguments();
    };
    let pairs = text(first)?.iter().zip(text(second)?.iter());
    Ok(pairs
        .map(|(first, second)| Some(make(first?, second?)))
        .collect())
}

fn text(array: &ArrayRef) -> Result<&arrow::array::StringViewArray> {
    use arrow::array::AsArray;
    array.as_string_view_opt().map_or_else(wrong_arguments, Ok)
}

fn numbers(arrays: &[ArrayRef]) -> Result<&arrow::array::Int64Array> {
    use arrow::array::AsArray;
    let first = arrays.first().and_then(|array| array.as_primitive_opt());
    first.map_or_else(wrong_arguments, Ok)
}

fn only_text(arrays: &[ArrayRef]) -> Result<&arrow::array::StringViewArray> {
    arrays.first().map_or_else(wrong_arguments, text)
}

fn wrong_arguments<T>() -> Result<T> {
    datafusion::common::exec_err!("argument types differ from those that the engine promised")
}

/// Renders the functions as a table for the shell and the documentation.
pub fn help() -> String {
    let mut out = String::from("| function | result |\n|---|---|\n");
    for info in every() {
        out.push_str(&format!("| `{}` | {} |\n", info.usage, info.doc));
    }
    out
}
