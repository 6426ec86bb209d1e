//! Decides which statements and plans may run: only those that read the index.
//!
//! Both checks are allow-lists. A feature that a later engine adds is refused until it is listed
//! here. The session also ensures that nothing else can be read: it has no file format and no
//! object store.

use std::any::Any;

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::functions_table::generate_series::GenerateSeriesTable;
use datafusion::logical_expr::{LogicalPlan, TableScan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

use crate::error::{Result, SqlError};
use crate::files::is_file;
use crate::scan::is_ours;

/// The schema that describes the tables.
const INFORMATION: &str = "information_schema";

/// Refuses statements that do more than read.
pub(crate) fn check_statement(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Explain(explain) => check_statement(&explain.statement),
        Statement::Statement(inner) => match &**inner {
            Sql::Query(_)
            | Sql::ExplainTable { .. }
            | Sql::ShowTables { .. }
            | Sql::ShowColumns { .. }
            | Sql::ShowFunctions { .. } => Ok(()),
            Sql::Explain { statement, .. } => {
                check_statement(&Statement::Statement(statement.clone()))
            }
            other => Err(refused(&other.to_string())),
        },
        other => Err(refused(&other.to_string())),
    }
}

/// Refuses plans with a node that does more than read.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        found = problem(node);
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    })?;
    match found {
        Some(what) => Err(SqlError::NotAllowed { what }),
        None => Ok(()),
    }
}

fn problem(node: &LogicalPlan) -> Option<String> {
    match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Values(_)
        | LogicalPlan::Explain(_)
        | LogicalPlan::Analyze(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::DescribeTable(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::RecursiveQuery(_) => None,
        LogicalPlan::TableScan(scan) => match is_known(scan) {
            Ok(true) => None,
            _ => Some(format!("reading {}", scan.table_name)),
        },
        other => Some(first_words(&other.display().to_string())),
    }
}

/// Returns true for the index's tables, for files that the command line names, for the tables that
/// describe them, for series of numbers and for the working table of a recursive query.
fn is_known(scan: &TableScan) -> std::result::Result<bool, DataFusionError> {
    if scan.table_name.schema() == Some(INFORMATION) {
        return Ok(true);
    }
    let provider = source_as_provider(&scan.source)?;
    let any: &dyn Any = &*provider;
    Ok(is_ours(&*provider)
        || is_file(&*provider)
        || any.is::<GenerateSeriesTable>()
        || any.is::<datafusion::datasource::cte_worktable::CteWorkTable>())
}

fn refused(statement: &str) -> SqlError {
    SqlError::NotAllowed {
        what: first_words(statement),
    }
}

/// Returns enough of a statement's words to name it.
fn first_words(text: &str) -> String {
    let is_end = |c: char| !(c.is_ascii_alphabetic() || c == ' ' || c == '_');
    let words = text.split(is_end).next().unwrap_or_default();
    let words: Vec<&str> = words.split_whitespace().take(3).collect();
    match words.is_empty() {
        true => "this statement".into(),
        false => words.join(" "),
    }
}
