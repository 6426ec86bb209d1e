//! The description of the API (OpenAPI 3.1), made of the table of questions.

use serde_json::{Map, Value, json};
use trawl_questions::table::{Action, Named, QUESTIONS};

/// Returns the description.
pub fn description() -> Value {
    let mut paths = Map::new();
    for question in QUESTIONS {
        paths.insert(format!("/api/v1/{}", question.name), path(question));
    }
    paths.insert(
        "/api/v1/me".into(),
        json!({"get": {
            "operationId": "me",
            "summary": "Say as whom the server answers",
            "responses": {"200": {"description": "User, machine and version", "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Me"}},
            }}},
        }}),
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trawl",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Questions about files, answered as the user who asks. \
                Nothing can be changed. Names and contents of files are data that anyone may have \
                chosen.",
        },
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Answer": answer(),
                "Part": part(),
                "Me": me(),
                "Problem": problem(),
            },
        },
    })
}

/// Formats of a whole answer, besides pages of JSON.
fn formats(question: &Named) -> &'static [&'static str] {
    match (question.action, question.name) {
        (Action::More | Action::Read, _) => &[],
        (Action::Ask(_), "grep" | "sources" | "stat") => &["json", "jsonl"],
        (Action::Ask(_), _) => &["json", "jsonl", "csv", "arrow"],
    }
}

/// Returns whether a question has this format.
pub fn has_format(question: &Named, format: &str) -> bool {
    format == "json" || formats(question).contains(&format)
}

fn path(question: &Named) -> Value {
    let responses = responses(question);
    let schema = question.schema();
    let mut parameters: Vec<Value> = Vec::new();
    let required = |name: &str| {
        let list = schema.get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|one| one == name))
    };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let mut property = property.clone();
        let about = property
            .as_object_mut()
            .and_then(|property| property.remove("description"));
        parameters.push(json!({
            "name": name,
            "in": "query",
            "required": required(name),
            "description": about,
            "schema": property,
        }));
    }
    let formats = formats(question);
    if !formats.is_empty() {
        parameters.push(json!({
            "name": "format",
            "in": "query",
            "description": "json is one page with a cursor; the others are whole answers",
            "schema": {"type": "string", "enum": formats, "default": "json"},
        }));
        let wish = |name: &str, about: &str| {
            let schema = json!({"type": "boolean", "default": false});
            json!({"name": name, "in": "query", "description": about, "schema": schema})
        };
        parameters.push(wish(
            "partial",
            "End a whole answer well, even if something is missing; the trailer trawl-complete tells",
        ));
        if formats.contains(&"csv") {
            parameters.push(wish(
                "spreadsheet",
                "Protect texts of CSV that spreadsheets take for formulas",
            ));
        }
    }
    let mut path = json!({
        "get": {
            "operationId": question.name,
            "summary": question.title,
            "description": question.about,
            "parameters": parameters,
            "responses": responses,
        },
        "post": {
            "operationId": format!("{}_posted", question.name),
            "summary": question.title,
            "description": question.about,
            "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
            "responses": responses,
        },
    });
    if matches!(question.action, Action::More) {
        path["delete"] = json!({
            "operationId": "close",
            "summary": "Drop the rest of an answer",
            "parameters": [{
                "name": "cursor", "in": "query", "required": true, "schema": {"type": "string"},
            }],
            "responses": {"204": {"description": "It is dropped"}, "409": refusal("Unknown cursor")},
        });
    }
    path
}

fn responses(question: &Named) -> Value {
    let schema = match question.action {
        Action::Read => "#/components/schemas/Part",
        _ => "#/components/schemas/Answer",
    };
    let mut content = json!({"application/json": {"schema": {"$ref": schema}}});
    for format in formats(question) {
        let media_type = match *format {
            "jsonl" => "application/jsonl",
            "csv" => "text/csv",
            "arrow" => "application/vnd.apache.arrow.stream",
            _ => continue,
        };
        content[media_type] = json!({"schema": {"type": "string"}});
    }
    json!({
        "200": {"description": "The answer", "content": content},
        "400": refusal("The arguments are refused, and nothing was run"),
        "401": refusal("There is no session"),
        "409": refusal("The cursor is unknown"),
        "422": refusal("The question failed"),
    })
}

fn refusal(about: &str) -> Value {
    json!({"description": about, "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}},
    }})
}

fn answer() -> Value {
    let mut schema = trawl_questions::reply::schema();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
    }
    schema["properties"]["command"] = json!({
        "type": "array",
        "items": {"type": "string"},
        "description": "The command line that gives the same answer",
    });
    schema
}

fn part() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let number = |about: &str| json!({"type": "integer", "description": about});
    json!({"type": "object", "required": ["path", "content", "offset", "length", "size"], "properties": {
        "path": text("The file"),
        "path_raw": text("The same in hexadecimal, if it is not text"),
        "content": text("The bytes as text; those that are no text are escaped"),
        "content_raw": text("The bytes in hexadecimal, if they are not text"),
        "offset": number("First byte"),
        "length": number("Number of bytes"),
        "size": number("Size of the file"),
        "next_offset": number("Where the next part begins; absent at the end of the file"),
    }})
}

fn me() -> Value {
    json!({"type": "object", "required": ["user", "uid", "host", "version", "time"], "properties": {
        "user": {"type": "string"},
        "uid": {"type": "integer"},
        "host": {"type": "string"},
        "version": {"type": "string"},
        "time": {"type": "string", "format": "date-time"},
    }})
}

fn problem() -> Value {
    json!({"type": "object", "required": ["type", "title", "status", "detail"], "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do"},
    }})
}
