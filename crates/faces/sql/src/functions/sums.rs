//! Makes sums of whole numbers exact: `sum` adds in 128 bits, and a sum that does not fit into the
//! 64 bits of its type is an error. The engine's own sum wraps around.
//!
//! The engine's accumulators for decimals do the work. Sums of other types are the engine's.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Decimal128Array};
use arrow::datatypes::{DataType, Decimal128Type, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, Expr, GroupsAccumulator,
    Operator, ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};

use super::wrong_arguments;

/// The digits of [`WIDE`].
const WIDE_DIGITS: u8 = 38;
/// The type in which whole numbers are added.
const WIDE: DataType = DataType::Decimal128(WIDE_DIGITS, 0);

/// Replaces the engine's sum.
pub(super) fn exact(functions: &mut [Arc<AggregateUDF>]) {
    for function in functions {
        if function.name() == "sum" {
            *function = Arc::new(AggregateUDF::new_from_impl(Sum {
                inner: Arc::clone(function),
            }));
        }
    }
}

/// The engine's sum, with exact sums of whole numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Sum {
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

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_type().clone();
        match is_whole(&kind) {
            true => Ok(Box::new(Checked {
                wide: self.inner.accumulator(widely(args))?,
                kind,
            })),
            false => self.inner.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let return_field = match is_whole(args.return_type()) {
            true => wide_field(&args.return_field),
            false => Arc::clone(&args.return_field),
        };
        self.inner.state_fields(StateFieldsArgs {
            return_field,
            ..args
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let kind = args.return_type().clone();
        match is_whole(&kind) {
            true => Ok(Box::new(CheckedGroups {
                wide: self.inner.create_groups_accumulator(widely(args))?,
                kind,
            })),
            false => self.inner.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        let kind = args.return_type().clone();
        if !is_whole(&kind) {
            return self.inner.create_sliding_accumulator(args);
        }
        let wide: Box<dyn Accumulator> = match args.is_distinct {
            // The engine has none for decimals.
            true => Box::new(DistinctInWindow::default()),
            false => self.inner.create_sliding_accumulator(widely(args))?,
        };
        Ok(Box::new(Checked { wide, kind }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.reverse_udf()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(kind)
    }

    fn simplify_expr_op_literal(
        &self,
        call: &AggregateFunction,
        argument: &Expr,
        operator: Operator,
        literal: &Expr,
        argument_is_left: bool,
    ) -> Result<Option<Expr>> {
        match literal {
            // `sum(x) + count(x) * literal` would wrap around.
            Expr::Literal(value, _) if is_whole(&value.data_type()) => Ok(None),
            _ => self.inner.simplify_expr_op_literal(
                call,
                argument,
                operator,
                literal,
                argument_is_left,
            ),
        }
    }

    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        match is_whole(args.return_type) {
            // The engine's sums of statistics may have wrapped around.
            true => None,
            false => self.inner.value_from_stats(args),
        }
    }
}

fn is_whole(kind: &DataType) -> bool {
    matches!(kind, DataType::Int64 | DataType::UInt64)
}

fn wide_field(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(WIDE))
}

/// Returns the arguments for an accumulator that adds in 128 bits.
fn widely(args: AccumulatorArgs<'_>) -> AccumulatorArgs<'_> {
    AccumulatorArgs {
        return_field: wide_field(&args.return_field),
        ..args
    }
}

/// Returns whole numbers in the type in which they are added.
fn widened(values: &[ArrayRef]) -> Result<ArrayRef> {
    let Some(values) = values.first() else {
        return wrong_arguments();
    };
    let signed = values.as_primitive_opt::<Int64Type>();
    let unsigned = values.as_primitive_opt::<UInt64Type>();
    let wide: Decimal128Array = match (signed, unsigned) {
        (Some(numbers), _) => numbers.unary(i128::from),
        (_, Some(numbers)) => numbers.unary(i128::from),
        _ => return wrong_arguments(),
    };
    Ok(Arc::new(wide.with_data_type(WIDE)))
}

fn decimals(values: &ArrayRef) -> Result<&Decimal128Array> {
    let decimals = values.as_primitive_opt::<Decimal128Type>();
    decimals.map_or_else(wrong_arguments, Ok)
}

/// Returns a sum in its type.
///
/// # Errors
/// If it does not fit.
fn fitting<T: TryFrom<i128>>(sum: i128) -> Result<T> {
    T::try_from(sum).map_err(|_| {
        DataFusionError::Execution(
            "the sum is too large for 64 bits: use sum(CAST(column AS DOUBLE)) or \
             sum(CAST(column AS DECIMAL(38, 0)))"
                .into(),
        )
    })
}

/// Checks that a sum fits into its type.
#[derive(Debug)]
struct Checked {
    wide: Box<dyn Accumulator>,
    kind: DataType,
}

impl Accumulator for Checked {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.wide.update_batch(&[widened(values)?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let ScalarValue::Decimal128(sum, ..) = self.wide.evaluate()? else {
            return wrong_arguments();
        };
        Ok(match self.kind {
            DataType::UInt64 => ScalarValue::UInt64(sum.map(fitting::<u64>).transpose()?),
            _ => ScalarValue::Int64(sum.map(fitting::<i64>).transpose()?),
        })
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.wide.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.wide.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.wide.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.wide.retract_batch(&[widened(values)?])
    }

    fn supports_retract_batch(&self) -> bool {
        self.wide.supports_retract_batch()
    }
}

/// Like [`Checked`], for many groups at once.
struct CheckedGroups {
    wide: Box<dyn GroupsAccumulator>,
    kind: DataType,
}

impl GroupsAccumulator for CheckedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        all_groups: usize,
    ) -> Result<()> {
        let wide = [widened(values)?];
        self.wide.update_batch(&wide, groups, filter, all_groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sums = self.wide.evaluate(emit)?;
        let sums = decimals(&sums)?;
        let fitted: ArrayRef = match self.kind {
            DataType::UInt64 => Arc::new(sums.try_unary::<_, UInt64Type, _>(fitting::<u64>)?),
            _ => Arc::new(sums.try_unary::<_, Int64Type, _>(fitting::<i64>)?),
        };
        Ok(fitted)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.wide.state(emit)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        all_groups: usize,
    ) -> Result<()> {
        self.wide.merge_batch(states, groups, all_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.wide.convert_to_state(&[widened(values)?], filter)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.wide.size()
    }
}

/// The sum of the distinct values in a window that moves.
#[derive(Debug, Default)]
struct DistinctInWindow {
    /// How often the window has each value.
    copies: HashMap<i128, usize>,
    sum: i128,
}

impl DistinctInWindow {
    fn enter(&mut self, value: i128) {
        let copies = self.copies.entry(value).or_default();
        if *copies == 0 {
            self.sum += value;
        }
        *copies += 1;
    }

    fn leave(&mut self, value: i128) {
        let Some(copies) = self.copies.get_mut(&value) else {
            return;
        };
        *copies -= 1;
        if *copies == 0 {
            self.copies.remove(&value);
            self.sum -= value;
        }
    }

    fn visit(values: &[ArrayRef], visit: impl FnMut(i128)) -> Result<()> {
        let Some(values) = values.first() else {
            return wrong_arguments();
        };
        decimals(values)?.iter().flatten().for_each(visit);
        Ok(())
    }
}

impl Accumulator for DistinctInWindow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        DistinctInWindow::visit(values, |value| self.enter(value))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = (!self.copies.is_empty()).then_some(self.sum);
        Ok(ScalarValue::Decimal128(sum, WIDE_DIGITS, 0))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.copies.capacity() * size_of::<(i128, usize)>()
    }

    /// Returns the distinct values, as the engine's sum of distinct values does.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let value = |value: &i128| ScalarValue::Decimal128(Some(*value), WIDE_DIGITS, 0);
        let values: Vec<ScalarValue> = self.copies.keys().map(value).collect();
        let list = ScalarValue::new_list_nullable(&values, &WIDE);
        Ok(vec![ScalarValue::List(list)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states
            .first()
            .and_then(|states| states.as_list_opt::<i32>())
        else {
            return wrong_arguments();
        };
        for values in lists.iter().flatten() {
            self.update_batch(&[values])?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        DistinctInWindow::visit(values, |value| self.leave(value))
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }
}
