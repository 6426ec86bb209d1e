//! Evaluates conditions on contents inside a scan.
//!
//! Contents cost more than anything else of a row, and one that cannot be read is an issue. So all
//! other conditions are evaluated first, and contents only on rows where they decide: of `AND`, where
//! nothing is false yet, of `OR`, where nothing is true yet.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;

use super::is_about_contents;

/// Rows whose contents are looked at together. A scan can end between them.
const ROWS_AT_ONCE: usize = 256;

/// The conditions of a scan, if one is about contents.
#[derive(Debug)]
pub(crate) struct Sift {
    condition: Condition,
    /// Columns that the scan returns, among those that it reads.
    output: Vec<usize>,
    /// Conditions about contents, for EXPLAIN.
    shown: Vec<String>,
    /// Rows after which nobody wants more.
    limit: Option<usize>,
}

/// The columns of a table that a scan returns, all of its conditions, and its limit.
pub(crate) struct Wanted<'w> {
    /// Indexes of the columns.
    pub(crate) columns: &'w [usize],
    /// All conditions.
    pub(crate) filters: &'w [Expr],
    /// Rows after which nobody wants more.
    pub(crate) limit: Option<usize>,
}

impl Sift {
    /// Returns the conditions, and the columns that the scan has to read for them.
    pub(crate) fn new(
        state: &dyn Session,
        table: &Schema,
        wanted: &Wanted<'_>,
    ) -> Result<(Sift, Vec<usize>)> {
        let mut read = wanted.columns.to_vec();
        for column in wanted.filters.iter().flat_map(Expr::column_refs) {
            let at = table.index_of(&column.name)?;
            if !read.contains(&at) {
                read.push(at);
            }
        }
        let schema = DFSchema::try_from(table.project(&read)?)?;
        let all = wanted.filters.iter().flat_map(split_conjunction);
        let make = |expr: &Expr| Condition::new(state, &schema, expr);
        let about = all.clone().filter(|expr| is_about_contents(expr));
        let sift = Sift {
            condition: Condition::All(parts(all, make)?),
            output: (0..wanted.columns.len()).collect(),
            shown: about.map(shown).collect::<Result<_>>()?,
            limit: wanted.limit,
        };
        Ok((sift, read))
    }

    /// Returns the schema of the rows that are left, from that of the rows read.
    pub(crate) fn schema(&self, read: &SchemaRef) -> Result<SchemaRef> {
        Ok(Arc::new(read.project(&self.output)?))
    }

    /// Returns the conditions about contents, for EXPLAIN.
    pub(crate) fn shown(&self) -> String {
        self.shown.join(", ")
    }

    /// Returns the limit.
    pub(crate) fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns a batch in parts that can be sifted one by one.
    pub(crate) fn parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
        let starts = (0..batch.num_rows()).step_by(ROWS_AT_ONCE);
        starts.map(|start| batch.slice(start, ROWS_AT_ONCE.min(batch.num_rows() - start)))
    }

    /// Returns the rows that fulfil the conditions.
    pub(crate) fn sift(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let truths = self.condition.evaluate(batch)?;
        let kept: BooleanArray = truths
            .iter()
            .map(|truth| Some(*truth == Some(true)))
            .collect();
        Ok(filter_record_batch(batch, &kept)?.project(&self.output)?)
    }
}

/// Shows a condition without the columns that calls read.
fn shown(expr: &Expr) -> Result<String> {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let bare = expr.clone().transform_up(|inner| match inner {
        Expr::ScalarFunction(call) if is_about_contents(&Expr::ScalarFunction(call.clone())) => {
            let name = datafusion::common::Column::new_unqualified(call.func.name());
            Ok(Transformed::yes(Expr::Column(name)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(bare.data.to_string())
}

/// A condition with three truth values.
#[derive(Debug)]
enum Condition {
    /// An expression of the engine.
    Plain(Arc<dyn PhysicalExpr>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

/// True, false, or null.
type Truth = Option<bool>;

/// Makes the parts of a condition, those about contents last.
fn parts<'e>(
    exprs: impl Iterator<Item = &'e Expr>,
    make: impl Fn(&Expr) -> Result<Condition>,
) -> Result<Vec<Condition>> {
    let mut exprs: Vec<&Expr> = exprs.collect();
    exprs.sort_by_key(|expr| is_about_contents(expr));
    exprs.into_iter().map(make).collect()
}

impl Condition {
    fn new(state: &dyn Session, schema: &DFSchema, expr: &Expr) -> Result<Condition> {
        let make = |expr: &Expr| Condition::new(state, schema, expr);
        Ok(match expr {
            _ if !is_about_contents(expr) => {
                Condition::Plain(state.create_physical_expr(expr.clone(), schema)?)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if matches!(op, Operator::And | Operator::Or) =>
            {
                let parts = parts([&**left, &**right].into_iter(), make)?;
                match op {
                    Operator::And => Condition::All(parts),
                    _ => Condition::Any(parts),
                }
            }
            Expr::Not(inner) => Condition::Not(Box::new(make(inner)?)),
            Expr::Alias(alias) => make(&alias.expr)?,
            other => Condition::Plain(state.create_physical_expr(other.clone(), schema)?),
        })
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<Vec<Truth>> {
        match self {
            Condition::Plain(expr) => {
                let values = expr.evaluate(batch)?.into_array(batch.num_rows())?;
                Ok(match values.as_any().downcast_ref::<BooleanArray>() {
                    Some(truths) => truths.iter().collect(),
                    // The literal NULL has a type of its own.
                    None => vec![None; batch.num_rows()],
                })
            }
            Condition::Not(inner) => {
                let truths = inner.evaluate(batch)?.into_iter();
                Ok(truths.map(|truth| truth.map(|truth| !truth)).collect())
            }
            Condition::All(parts) => joined(parts, batch, false),
            Condition::Any(parts) => joined(parts, batch, true),
        }
    }
}

/// Evaluates parts of which one with the truth `decisive` decides: `false` for AND, `true` for OR.
fn joined(parts: &[Condition], batch: &RecordBatch, decisive: bool) -> Result<Vec<Truth>> {
    let mut all = vec![Some(!decisive); batch.num_rows()];
    for part in parts {
        let is_open = |truth: &Truth| Some(*truth != Some(decisive));
        let open: BooleanArray = all.iter().map(is_open).collect();
        if open.true_count() == 0 {
            break;
        }
        let mut truths = part
            .evaluate(&filter_record_batch(batch, &open)?)?
            .into_iter();
        for known in all.iter_mut().filter(|known| **known != Some(decisive)) {
            *known = match (truths.next().flatten(), *known) {
                (Some(truth), _) if truth == decisive => Some(decisive),
                (Some(_), known) => known,
                (None, _) => None,
            };
        }
    }
    Ok(all)
}
