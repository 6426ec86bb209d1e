//! Finds the rows that calls such as `keyword('ssd')` are about.
//!
//! A call without a column is about the rows of `entries` that are in scope where it stands; with the
//! column `path` of one of several tables before the query, about that table's. It is replaced by a
//! call whose arguments are columns of these rows. Only columns that come from a scan of the index
//! itself will do: other rows could name any file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, ScalarValue, TableReference};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, ScalarUDF, Sort, TableScan};
use trawl_keywords::Asked;

use super::asking::Ask;
use super::{Asking, COLUMNS};
use crate::catalog::Catalog;
use crate::error::{Result, SqlError};
use crate::scan::{external, table_of};

/// Context of the calls of a statement.
struct Placing<'p> {
    catalog: &'p Arc<Catalog>,
    threads: NonZeroUsize,
    /// Questions about words, by query: `keyword('ssd')` and `score('ssd')` share one, so that each file
    /// is read once.
    words: RefCell<HashMap<String, Arc<Asked>>>,
}

/// Replaces every call about contents by one about rows of `entries`.
///
/// # Errors
/// If there are no such rows where a call stands, or the call is invalid.
pub(crate) fn place(
    plan: LogicalPlan,
    catalog: &Arc<Catalog>,
    threads: NonZeroUsize,
) -> Result<LogicalPlan> {
    let placing = Placing {
        catalog,
        threads,
        words: RefCell::default(),
    };
    let placed = plan.transform_up_with_subqueries(|node| placing.node(node))?;
    Ok(placed.data)
}

/// Prefix of the names of columns that only sort.
const ORDER: &str = "__order_";

type Placed<T> = std::result::Result<T, DataFusionError>;

impl Placing<'_> {
    fn node(&self, node: LogicalPlan) -> Placed<Transformed<LogicalPlan>> {
        let mut is_concerned = false;
        node.apply_expressions(|expr| {
            is_concerned |= expr.exists(|inner| Ok(call_of(inner).is_some()))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !is_concerned {
            return Ok(Transformed::no(node));
        }
        if let LogicalPlan::Sort(sort) = &node
            && let LogicalPlan::Projection(selected) = &*sort.input
        {
            return self.sorted(sort, selected).map(Transformed::yes);
        }
        let tables = tables_in_scope(&node)?;
        let names = NamePreserver::new(&node);
        let placed = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let placed = expr.transform_up(|inner| self.expression(inner, &tables))?;
            Ok(placed.update_data(|expr| name.restore(expr)))
        })?;
        placed.map_data(LogicalPlan::recompute_schema)
    }

    /// Places the calls of `SELECT path FROM entries ORDER BY score('ssd')`: they are about the rows
    /// from which the sorted ones are selected, so they are selected, too, and dropped afterwards.
    fn sorted(&self, sort: &Sort, selected: &Projection) -> Placed<LogicalPlan> {
        let mut all = selected.expr.clone();
        let mut order = sort.expr.clone();
        for key in &mut order {
            let expr = std::mem::take(&mut key.expr);
            let seen = expr.transform_up(|inner| {
                if call_of(&inner).is_none() {
                    return Ok(Transformed::no(inner));
                }
                let name = format!("{ORDER}{}", all.len());
                all.push(inner.alias(&name));
                Ok(Transformed::yes(Expr::Column(Column::new_unqualified(
                    name,
                ))))
            })?;
            key.expr = seen.data;
        }
        let wider = Projection::try_new(all, Arc::clone(&selected.input))?;
        let wider = self.node(LogicalPlan::Projection(wider))?.data;
        let sorted = LogicalPlan::Sort(Sort {
            expr: order,
            input: Arc::new(wider),
            fetch: sort.fetch,
        });
        let columns = selected.schema.columns().into_iter().map(Expr::Column);
        let narrower = Projection::try_new(columns.collect(), Arc::new(sorted))?;
        Ok(LogicalPlan::Projection(narrower))
    }

    /// Shares what calls with the same query ask.
    fn shared(&self, function: &str, text: &str, asking: Asking) -> Asking {
        let of = |asked| {
            Arc::clone(
                self.words
                    .borrow_mut()
                    .entry(text.to_owned())
                    .or_insert(asked),
            )
        };
        match asking {
            Asking::Test(asked) if function == "keyword" => Asking::Test(of(asked)),
            Asking::Score(asked) => Asking::Score(of(asked)),
            other => other,
        }
    }

    fn expression(&self, expr: Expr, tables: &[TableReference]) -> Placed<Transformed<Expr>> {
        let Some(call) = call_of(&expr) else {
            return Ok(Transformed::no(expr));
        };
        let function = call.func.name();
        let (given, text) = arguments(call).map_err(external)?;
        let table = chosen(function, given, tables).map_err(external)?;
        let refused = |why| usage(format!("{function}(): {why}"));
        let asking = match Asking::of(function, text) {
            Some(asking) => asking.map_err(|why| external(refused(why)))?,
            None => return Ok(Transformed::no(expr)),
        };
        let asking = self.shared(function, text, asking);
        let name = format!("{function}('{}')", text.replace('\'', "''"));
        let ask = Ask::new(name, asking, self.catalog, self.threads);
        let column = |name: &str| Expr::Column(Column::new(Some(table.clone()), name));
        let args = COLUMNS.into_iter().map(column).collect();
        let func = Arc::new(ScalarUDF::new_from_impl(ask));
        let placed = Expr::ScalarFunction(ScalarFunction { func, args });
        Ok(Transformed::yes(placed))
    }
}

/// Returns a call that is about contents and was not placed yet.
fn call_of(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::ScalarFunction(call) => Asking::of(call.func.name(), "").map(|_| call),
        _ => None,
    }
}

/// Returns the column, if there is one, and the text of a call.
fn arguments(call: &ScalarFunction) -> Result<(Option<&Column>, &str)> {
    let function = call.func.name();
    let (given, text) = match &call.args[..] {
        [text] => (None, text),
        [Expr::Column(column), text] => (Some(column), text),
        _ => {
            let example = example(function);
            return Err(usage(format!(
                "the first of two arguments of {function}() must be the column path of entries, \
                 as in {function}(path, {example})"
            )));
        }
    };
    match text {
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            _,
        ) => Ok((given, text)),
        _ => Err(usage(format!(
            "{function}() needs a constant text, as in {function}({})",
            example(function)
        ))),
    }
}

/// Returns the table that a call is about.
fn chosen<'t>(
    function: &str,
    given: Option<&Column>,
    tables: &'t [TableReference],
) -> Result<&'t TableReference> {
    let example = example(function);
    let nowhere = || {
        let call = format!("{function}({example})");
        usage(format!(
            "{function}() is about rows of entries, and there are none here: write it into the \
             SELECT that reads entries itself, as in SELECT path FROM entries WHERE {}",
            match function {
                "attribute" => format!("{call} IS NOT NULL"),
                "score" => format!("keyword({example}) ORDER BY {call} DESC"),
                _ => call,
            }
        ))
    };
    if let Some(column) = given {
        let is_its = |table: &&TableReference| column.relation.as_ref() == Some(*table);
        let found = tables.iter().find(is_its).filter(|_| column.name == "path");
        return found.ok_or_else(nowhere);
    }
    match tables {
        [] => Err(nowhere()),
        [only] => Ok(only),
        [first, ..] => {
            let all: Vec<&str> = tables.iter().map(TableReference::table).collect();
            Err(usage(format!(
                "{function}() may be about rows of {}: name one of them, as in \
                 {function}({}.path, {example})",
                all.join(" or "),
                first.table()
            )))
        }
    }
}

fn example(function: &str) -> &'static str {
    match function {
        "keyword" | "score" => "'ssd AND flash'",
        "phrase" => "'solid state'",
        "attr" => "'artist=Bach'",
        _ => "'artist'",
    }
}

fn usage(text: String) -> SqlError {
    SqlError::Usage(text)
}

/// Returns the names of the scans of `entries` whose columns the node's expressions can use.
fn tables_in_scope(node: &LogicalPlan) -> Placed<Vec<TableReference>> {
    let mut tables = Vec::new();
    for input in node.inputs() {
        let mut below = Vec::new();
        collect(input, &mut below)?;
        let has = |table: &TableReference, name: &str| {
            let column = Column::new(Some(table.clone()), name);
            input.schema().has_column(&column)
        };
        below.retain(|table| COLUMNS.iter().all(|name| has(table, name)));
        tables.extend(below);
    }
    Ok(tables)
}

/// Collects scans of `entries` below nodes that pass the columns of their inputs on as they are.
fn collect(plan: &LogicalPlan, tables: &mut Vec<TableReference>) -> Placed<()> {
    match plan {
        LogicalPlan::TableScan(scan) if has_entries(scan)? => tables.push(scan.table_name.clone()),
        LogicalPlan::SubqueryAlias(alias) => {
            if let LogicalPlan::TableScan(scan) = &*alias.input
                && has_entries(scan)?
            {
                tables.push(alias.alias.clone());
            }
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Window(_) => {
            for input in plan.inputs() {
                collect(input, tables)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn has_entries(scan: &TableScan) -> Placed<bool> {
    let provider = source_as_provider(&scan.source)?;
    Ok(table_of(&*provider).is_some_and(|table| table.has_entries()))
}
