//! A page of an answer, as JSON.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use trawl_model::Timestamp;
use trawl_text::json::rfc3339;

use crate::answer::{Bounds, Page};
use crate::child::AsOf;
use crate::rows::Row;

/// A page of an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reply {
    /// The rows. docs/fields.md describes their fields.
    pub rows: Vec<Row>,
    /// Whether nothing follows and nothing is missing.
    pub complete: bool,
    /// Why the answer is not complete, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Continues the answer with the question more, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What could not be read, and other messages.
    pub issues: Vec<String>,
    /// Number of further messages, which are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub issues_left_out: u64,
    /// When the question was asked.
    pub asked_at: String,
    /// As of when the parts of the answer are true; known at its end.
    pub as_of: Vec<AsOf>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Reply {
    /// Makes the reply of a page with these limits.
    pub fn of(page: Page, cursor: Option<String>, bounds: Bounds) -> Reply {
        let reason = match page.is_complete {
            true => None,
            false => page
                .end
                .reason(bounds)
                .or_else(|| Some("rows are missing: see issues".into())),
        };
        Reply {
            rows: page.rows,
            complete: page.is_complete,
            reason,
            cursor,
            issues: page.issues,
            issues_left_out: page.issues_left_out,
            asked_at: moment(page.asked),
            as_of: page.as_of,
        }
    }
}

/// Returns a time as RFC 3339 writes it, in UTC.
pub fn moment(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    rfc3339(Timestamp {
        secs: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: since.subsec_nanos(),
    })
}

/// Returns the JSON schema of replies.
pub fn schema() -> Value {
    schema_of::<Reply>()
}

/// Returns the JSON schema of a type, as it is written.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_one_of_an_object() {
        let schema = schema();
        assert_eq!(schema["type"], "object");
        assert!(schema["properties"]["cursor"].is_object(), "{schema}");
    }
}
