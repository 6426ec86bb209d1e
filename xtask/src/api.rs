//! Generates `clients/openapi.json`, the description of the HTTP API, from the table of questions and the
//! schemas of the commands that answer them.

use serde_json::{Map, Value, json};
use trawl_cli::reports;
use trawl_http::openapi::{Rows, description};
use trawl_report::{Field, Form, schema::Kind};

use crate::generate::{Bytes, GenerateError};

/// Questions that commands of the same name answer, with a name for each kind of rows that the question
/// can have, in the order of the command's schemas.
const ROWS: &[(&str, &[&str])] = &[
    ("find", &["Entry"]),
    ("locate", &["Match"]),
    ("stat", &["Details"]),
    ("ls", &["Entry"]),
    ("du", &["Usage"]),
    ("top", &["Entry", "Directory", "Share"]),
    ("stats", &["Share"]),
    ("growth", &["Growth"]),
    ("quota", &["Quota"]),
    ("diff", &["Difference", "Changes"]),
    ("history", &["State"]),
    ("duplicates", &["Duplicates"]),
    ("sources", &["Source", "Snapshot"]),
];

/// Returns the whole file.
pub(crate) fn reference() -> Result<Bytes, GenerateError> {
    let reports = reports::all();
    let mut rows = Vec::new();
    for (question, names) in ROWS {
        let schemas = reports.iter().filter(|report| report.command == *question);
        let schemas = schemas.filter(|report| report.schema.forms.contains(&Form::Json));
        rows.extend(names.iter().zip(schemas).map(|(name, report)| Rows {
            question,
            name,
            schema: object(Some(report.schema.row), report.schema.fields),
        }));
    }
    Ok(format!("{:#}\n", description(&rows)).into_bytes())
}

/// Returns the JSON schema of an object with these fields.
fn object(about: Option<&str>, fields: &[Field]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields.iter().filter(|field| field.forms.json) {
        properties.insert(field.name.into(), described(field));
        if matches!(field.kind, Kind::Bytes) {
            let about = format!("{} in hexadecimal, if it is not text", field.name);
            let raw = json!({"type": "string", "description": about});
            properties.insert(format!("{}_raw", field.name), raw);
        }
        if field.is_always {
            required.push(field.name);
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if let Some(about) = about {
        schema["description"] = about.into();
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// Returns the JSON schema of a field.
fn described(field: &Field) -> Value {
    let plain = |name: &str| json!({"type": name});
    let list = |items: Value| json!({"type": "array", "items": items});
    let integer = || json!({"$ref": "#/components/schemas/Integer"});
    let mut schema = match field.kind {
        Kind::Text | Kind::Bytes | Kind::Time => plain("string"),
        Kind::Integer => integer(),
        Kind::Flag => plain("boolean"),
        Kind::Texts => list(plain("string")),
        Kind::Integers => list(integer()),
        Kind::Object(fields) => object(None, fields),
        Kind::Objects(fields) => list(object(None, fields)),
        Kind::Options => json!({"type": "object", "additionalProperties": plain("string")}),
    };
    if !field.is_always {
        schema = match schema["type"].take() {
            Value::Null => json!({"anyOf": [integer(), plain("null")]}),
            kind => {
                schema["type"] = json!([kind, "null"]);
                schema
            }
        };
    }
    schema["description"] = match field.unit {
        "" => field.meaning.into(),
        unit => format!("{} ({unit})", field.meaning).into(),
    };
    schema
}
