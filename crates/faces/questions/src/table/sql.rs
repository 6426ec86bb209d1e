//! Questions in SQL: `sql`, `schema`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Arguments;
use crate::rows::Form;
use crate::words::{Line, Question, Refused, paths};

/// The reference of SQL: its tables and functions.
pub const REFERENCE: &str = include_str!("../../../../../docs/sql.md");

/// Statement that lists tables and columns.
const COLUMNS: &str = "SELECT table_name AS \"table\", column_name AS \"column\", \
     data_type AS \"type\", is_nullable AS nullable FROM information_schema.columns \
     WHERE table_schema <> 'information_schema' ORDER BY table_name, ordinal_position";

/// A column of a table.
#[derive(JsonSchema)]
#[allow(dead_code)]
pub struct Column {
    /// Name of the table.
    table: String,
    /// Name of the column.
    column: String,
    /// Its type, as Arrow names it.
    r#type: String,
    /// `YES` or `NO`.
    nullable: String,
}

/// Columns that are listed if the client does not say how many: all of them.
const COLUMNS_MAX: u32 = 1_000;

/// Arguments of `sql`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Query {
    /// The statement. Only statements that read are allowed.
    query: String,
    /// Absolute path of a directory: the tables have only the rows about it.
    #[serde(default)]
    below: Option<String>,
    /// Answer from the newest snapshots begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
    /// Most rows of one answer (default: 100); a cursor continues it.
    #[serde(default)]
    limit: Option<u32>,
}

impl Arguments for Query {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["sql", "--json", "--status"]);
        if let Some(below) = &self.below {
            // It is absolute, and so the value of the option before it.
            let below = paths(std::slice::from_ref(below), &[])?;
            line.option("--below", true).words(below);
        }
        line.value("--at", self.at.as_deref())
            .end_of_options()
            .words([self.query.clone().into()])
            .rows(self.limit);
        line.finish(Form::Objects)
    }
}

/// Arguments of `schema`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Schema {
    /// Most rows of one answer (default: all); a cursor continues it.
    #[serde(default)]
    limit: Option<u32>,
}

impl Arguments for Schema {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["sql", "--json"]);
        line.end_of_options()
            .words([COLUMNS.into()])
            .rows(Some(self.limit.unwrap_or(COLUMNS_MAX)));
        line.finish(Form::Objects)
    }
}
