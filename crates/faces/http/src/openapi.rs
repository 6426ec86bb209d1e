//! The description of the API (OpenAPI 3.1), made of the table of questions. `cargo xtask generate`
//! adds the rows of commands to it, and writes the file that servers answer with.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use trawl_questions::range::Range;
use trawl_questions::reply::{Reply, schema_of};
use trawl_questions::rows::Hit;
use trawl_questions::table::{Action, Column, Named, QUESTIONS};

use crate::download::COMPLETE;

/// The description, as `cargo xtask generate` has written it.
pub const FILE: &str = include_str!("../../../../clients/openapi.json");

/// A kind of rows.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The question that is answered with them.
    pub question: &'static str,
    /// Their name.
    pub name: &'static str,
    /// The JSON schema of a row.
    pub schema: Value,
}

/// Returns the description. `rows` has the rows of questions that commands answer.
pub fn description(rows: &[Rows]) -> Value {
    let own = |question, name, schema| Rows {
        question,
        name,
        schema,
    };
    let any = json!({"type": "object", "additionalProperties": {}});
    let mut rows = rows.to_vec();
    rows.extend([
        own("grep", "Hit", written::<Hit>()),
        own("schema", "Column", written::<Column>()),
        own("sql", "AnyRow", any.clone()),
        own("more", "AnyRow", any),
    ]);
    let mut paths = Map::new();
    let (mut schemas, mut responses) = (fixed_schemas(), refusals());
    for question in QUESTIONS {
        responses[answer_name(question)] = response(question);
        paths.insert(format!("/api/v1/{}", question.name), path(question));
        let name = schema_name(question, "Arguments");
        schemas.insert(name, component(Value::Object(question.schema().clone())));
        let rows = rows.iter().filter(|rows| rows.question == question.name);
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            schemas.insert(answer_name(question), answer(&rows));
        }
        for rows in rows {
            let first = schemas.entry(rows.name);
            first.or_insert_with(|| rows.schema.clone());
        }
    }
    paths.extend(other_paths());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trawl",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Questions about files, answered as the user who asks. \
                Nothing can be changed. Names and contents of files are data that anyone may have \
                chosen.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "A session, or a token of trawl web --token-file or trawl token create",
            }},
            "responses": responses,
            "schemas": schemas,
        },
    })
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// Returns the name of a question's schema, such as `FindAnswer`.
fn schema_name(question: &Named, what: &str) -> String {
    let mut letters = question.name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first
        .into_iter()
        .chain(letters)
        .chain(what.chars())
        .collect()
}

/// Returns the schema of a type that is written, as a component. What is missing is left out.
fn written<T: JsonSchema>() -> Value {
    let mut schema = component(schema_of::<T>());
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        let kinds = property["type"].as_array();
        let kind = kinds.and_then(|kinds| kinds.iter().find(|kind| *kind != "null"));
        if let Some(kind) = kind.cloned() {
            property["type"] = kind;
        }
    }
    schema
}

/// Returns the name of the schema of a question's answer.
fn answer_name(question: &Named) -> String {
    match question.action {
        Action::Read => "Part".to_owned(),
        _ => schema_name(question, "Answer"),
    }
}

/// Returns a schema as a component, without what makers of clients do not know. Others may be added to
/// its properties; bodies say themselves that nothing else is allowed.
fn component(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        for name in ["$schema", "title", "additionalProperties"] {
            schema.remove(name);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        if let Some(property) = property.as_object_mut() {
            property.retain(|name, value| name != "format" && !value.is_null());
        }
    }
    schema
}

/// Formats of most questions.
const ALL_FORMATS: &[&str] = &["json", "jsonl", "csv", "arrow"];
/// Formats of questions in SQL.
const SQL_FORMATS: &[&str] = &["json", "jsonl", "csv", "arrow", "parquet"];
/// Formats of questions whose commands write neither CSV nor Arrow.
const LINES: &[&str] = &["json", "jsonl"];

/// Formats of a whole answer, besides pages of JSON.
fn formats(question: &Named) -> &'static [&'static str] {
    match (question.action, question.name) {
        (Action::More | Action::Read, _) => &[],
        (Action::Ask(_), "grep" | "sources" | "stat") => LINES,
        (Action::Ask(_), "schema" | "sql") => SQL_FORMATS,
        (Action::Ask(_), _) => ALL_FORMATS,
    }
}

/// Returns whether a question has this format.
pub fn has_format(question: &Named, format: &str) -> bool {
    format == "json" || formats(question).contains(&format)
}

fn path(question: &Named) -> Value {
    let name = question.name;
    let answer = format!("#/components/responses/{}", answer_name(question));
    let responses = with_refusals(json!({"200": {"$ref": answer}}), QUESTION);
    let mut body = vec![reference(&schema_name(question, "Arguments"))];
    match formats(question) {
        [] => {}
        formats => body.push(reference(format_schema(formats))),
    }
    let body = json!({"allOf": body, "unevaluatedProperties": false});
    let mut path = json!({
        "get": {
            "operationId": name,
            "summary": question.title,
            "description": question.about,
            "parameters": parameters(question),
            "responses": responses,
        },
        "post": {
            "operationId": format!("{name}_posted"),
            "summary": question.title,
            "description": question.about,
            "requestBody": {"required": true, "content": {"application/json": {"schema": body}}},
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
            "responses": with_refusals(json!({"204": {"description": "It is dropped"}}), QUESTION),
        });
    }
    path
}

/// Returns the arguments as parameters of a URL.
fn parameters(question: &Named) -> Vec<Value> {
    let schema = component(Value::Object(question.schema().clone()));
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let formats = match formats(question) {
        [] => json!({}),
        formats => format_properties(formats),
    };
    let own = schema.get("properties").and_then(Value::as_object);
    let own = own.into_iter().flatten();
    let all = own.chain(formats.as_object().into_iter().flatten());
    let all = all.map(|(name, property)| {
        let mut property = property.clone();
        let about = property
            .as_object_mut()
            .and_then(|property| property.remove("description"));
        json!({
            "name": name,
            "in": "query",
            "required": is_required(name),
            "description": about,
            "schema": property,
        })
    });
    all.collect()
}

/// Returns the name of the schema of these formats.
fn format_schema(formats: &[&str]) -> &'static str {
    match (formats.contains(&"csv"), formats.contains(&"parquet")) {
        (_, true) => "SqlFormat",
        (true, false) => "Format",
        (false, false) => "LinesFormat",
    }
}

fn format_properties(formats: &[&str]) -> Value {
    let wish = |about: &str| json!({"type": "boolean", "default": false, "description": about});
    let mut properties = json!({
        "format": {
            "type": "string", "enum": formats, "default": "json",
            "description": "json is one page with a cursor; the others are whole answers",
        },
        "partial": wish("End a whole answer well, even if something is missing; the trailer \
            Trawl-Complete tells"),
    });
    if formats.contains(&"csv") {
        let about = "Protect texts of CSV that spreadsheets take for formulas";
        properties["spreadsheet"] = wish(about);
    }
    properties
}

/// Returns the response that answers a question.
fn response(question: &Named) -> Value {
    let schema = reference(&answer_name(question));
    let mut content = json!({"application/json": {"schema": schema}});
    for format in formats(question) {
        let media_type = match *format {
            "jsonl" => "application/jsonl",
            "csv" => "text/csv",
            "arrow" => "application/vnd.apache.arrow.stream",
            "parquet" => "application/vnd.apache.parquet",
            _ => continue,
        };
        content[media_type] = json!({"schema": {"type": "string"}});
    }
    let mut answer = json!({"description": "The answer", "content": content});
    if !formats(question).is_empty() {
        answer["description"] = json!(format!(
            "The answer. A whole answer that lacks something breaks off, unless partial is true; \
             then the trailer {COMPLETE} is false"
        ));
    }
    let header = |about: &str, kind: &str| json!({"description": about, "schema": {"type": kind}});
    let whole = header("Whether everything was answered", "boolean");
    answer["headers"] = json!({"Trawl-Whole": whole});
    if !matches!(question.action, Action::Read) {
        answer["headers"]["Trawl-Rows"] = header("Number of rows of a page", "integer");
    }
    answer
}

/// Ways in which a question is refused.
const QUESTION: &[&str] = &["400", "401", "403", "409", "422", "429", "503"];

/// Adds refusals, which [`refusals`] describes, to responses.
fn with_refusals(mut responses: Value, statuses: &[&str]) -> Value {
    let reference = |status: &str| json!({"$ref": format!("#/components/responses/{status}")});
    for status in statuses {
        responses[*status] = reference(status);
    }
    responses["default"] = reference("default");
    responses
}

fn refusals() -> Value {
    let refusal = |about: &str| {
        json!({"description": about, "content": {
            "application/problem+json": {"schema": reference("Problem")},
        }})
    };
    let mut all = json!({
        "400": refusal("The arguments are refused, and nothing was run"),
        "401": refusal("There is no session and no token, or it does not hold"),
        "403": refusal("The link, password or token is wrong or for other questions; or another site asks"),
        "409": refusal("The cursor was used, or its answer was closed"),
        "422": refusal("The question failed; the detail has its messages"),
        "429": refusal("Too many questions, or failed logins: wait"),
        "503": refusal("The server is busy, or cannot check who asks"),
        "default": refusal("Another failure"),
    });
    for status in ["429", "503"] {
        let about = "Seconds after which to ask again";
        let header = json!({"description": about, "schema": {"type": "integer"}});
        all[status]["headers"] = json!({"Retry-After": header});
    }
    all
}

/// Returns the paths that are no questions.
fn other_paths() -> Map<String, Value> {
    let answered = |id: &str, summary: &str, schema: Value, statuses: &[&str]| {
        let content = json!({"application/json": {"schema": schema}});
        let responses = json!({"200": {"description": summary, "content": content}});
        json!({
            "operationId": id,
            "summary": summary,
            "responses": with_refusals(responses, statuses),
        })
    };
    let text = |id: &str, summary: &str| {
        let content = json!({"text/plain": {"schema": {"type": "string"}}});
        json!({
            "operationId": id,
            "summary": summary,
            "responses": {"200": {"description": summary, "content": content}},
        })
    };
    let known = &["401", "403", "429", "503"];
    let me = answered(
        "me",
        "Say as whom the server answers",
        reference("Me"),
        known,
    );
    let own = answered(
        "openapi",
        "Describe the API",
        json!({"type": "object"}),
        known,
    );
    let mut ways = answered(
        "login_ways",
        "List ways to log in",
        reference("Ways"),
        &["401"],
    );
    ways["description"] = json!("trawl web answers only with a session: it takes links");
    ways["security"] = json!([{}, {"bearer": []}]);
    let about = "Begin a session";
    let mut begin = answered(
        "login",
        about,
        reference("Session"),
        &["400", "403", "429", "503"],
    );
    let body = json!({"application/json": {"schema": reference("Credentials")}});
    begin["requestBody"] = json!({"required": true, "content": body});
    begin["security"] = json!([{}]);
    let mut begin_openid = answered(
        "begin_openid",
        "Begin a login at the provider of OpenID Connect",
        reference("Address"),
        &["400", "403", "429", "503"],
    );
    let body = json!({"application/json": {"schema": reference("Begun")}});
    begin_openid["requestBody"] = json!({"required": true, "content": body});
    begin_openid["security"] = json!([{}]);
    let ended = json!({"204": {"description": "It has ended, or there was none"}});
    let end = json!({
        "operationId": "logout",
        "summary": "End the session",
        "responses": with_refusals(ended, &["401", "403", "503"]),
    });
    let mut healthz = text("healthz", "Say that the server runs");
    healthz["security"] = json!([{}]);
    let metrics = text("metrics", "Give counts and times, as Prometheus reads them");
    [
        ("/api/v1/me", json!({"get": me})),
        ("/api/v1/openapi.json", json!({"get": own})),
        ("/api/v1/login", json!({"get": ways, "post": begin_openid})),
        ("/api/v1/session", json!({"post": begin, "delete": end})),
        ("/healthz", json!({"get": healthz})),
        ("/metrics", json!({"get": metrics})),
    ]
    .map(|(path, methods)| (path.to_owned(), methods))
    .into_iter()
    .collect()
}

/// Returns the schemas that do not depend on a question.
fn fixed_schemas() -> Map<String, Value> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let format = |formats: &[&str]| {
        let properties = format_properties(formats);
        json!({"type": "object", "properties": properties})
    };
    let object = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties});
    let token =
        json!({"token": text("The secret of a link of trawl web, or a token of a service")});
    let password = json!({"user": text("The user"), "password": text("The password")});
    let ways = json!({"type": "string", "enum": ["link", "password", "oidc", "token", "proxy", "certificate"]});
    let schemas = [
        (
            "Integer",
            json!({
                "type": ["integer", "string"],
                "description": "A whole number; beyond 2^53 a string of its digits",
            }),
        ),
        ("Page", page()),
        ("Part", written::<Range>()),
        ("Format", format(ALL_FORMATS)),
        ("SqlFormat", format(SQL_FORMATS)),
        ("LinesFormat", format(LINES)),
        (
            "Me",
            object(
                &["user", "uid", "host", "version", "time"],
                json!({
                    "user": text("Name of the user"),
                    "uid": {"type": "integer"},
                    "host": text("Name of the machine"),
                    "version": text("Version of Trawl"),
                    "time": text("The time at the server (RFC 3339)"),
                }),
            ),
        ),
        (
            "Problem",
            object(
                &["type", "title", "status", "detail"],
                json!({
                    "type": text("about:blank"),
                    "title": text("What the status means"),
                    "status": {"type": "integer"},
                    "detail": text("What is wrong, and what to do"),
                }),
            ),
        ),
        (
            "Ways",
            object(
                &["ways"],
                json!({
                    "ways": {"type": "array", "items": ways},
                    "provider": text("Name of the provider of OpenID Connect"),
                }),
            ),
        ),
        ("Password", object(&["user", "password"], password)),
        ("Token", object(&["token"], token)),
        (
            "Credentials",
            json!({"anyOf": [reference("Password"), reference("Token"), reference("OpenId")]}),
        ),
        (
            "OpenId",
            object(&["oidc"], json!({"oidc": reference("Returned")})),
        ),
        (
            "Returned",
            object(
                &["code", "state", "secret"],
                json!({
                    "code": text("The code that the provider sent back"),
                    "state": text("The state that it sent back"),
                    "secret": text("The secret whose hash began the login"),
                    "issuer": text("The issuer that it named (RFC 9207)"),
                }),
            ),
        ),
        (
            "Begun",
            object(
                &["hash"],
                json!({"hash": text("SHA-256 of a secret, in base64url")}),
            ),
        ),
        (
            "Address",
            object(
                &["address"],
                json!({"address": text("Where the user logs in")}),
            ),
        ),
        (
            "Session",
            object(
                &["session"],
                json!({
                    "session": text("The secret of the session, to be sent as Authorization: Bearer"),
                    "user": text("Name of the user"),
                }),
            ),
        ),
    ];
    let schemas = schemas.into_iter();
    schemas
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

/// Returns the schema of a page without its rows.
fn page() -> Value {
    let mut schema = written::<Reply>();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove("rows");
        properties.insert(
            "command".into(),
            json!({
                "type": "array",
                "items": {"type": "string"},
                "description": "The command line that gives the same answer",
            }),
        );
        properties.insert(
            "command_raw".into(),
            json!({
                "type": "array",
                "items": {"type": ["string", "null"]},
                "description": "In hexadecimal the words of `command` that are not UTF-8, in their \
                                places; missing if all are",
            }),
        );
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != "rows");
    }
    schema
}

/// Returns the schema of a page with these kinds of rows.
fn answer(kinds: &[&Rows]) -> Value {
    let mut kinds: Vec<Value> = kinds.iter().map(|kind| reference(kind.name)).collect();
    let items = match kinds.len() {
        1 => kinds.remove(0),
        _ => json!({"anyOf": kinds}),
    };
    let rows = json!({"type": "array", "items": items});
    json!({"allOf": [
        reference("Page"),
        {"type": "object", "required": ["rows"], "properties": {"rows": rows}},
    ]})
}
