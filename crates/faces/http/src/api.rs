//! Questions and their answers: `/api/v1/NAME`, with arguments in the query of the URL or as a JSON
//! object in the body.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use trawl_identity::credentials::{Scope, Scopes};
use trawl_model::escape::escape;
use trawl_questions::desk::Answered;
use trawl_questions::table::{Action, Named, Object, Ready, named};
use trawl_questions::words::Question;

use crate::download::{self, Format, Wishes, download};
use crate::limits::{BODY, BODY_BYTES, SHORT_BODY_BYTES};
use crate::metrics::Outcome;
use crate::openapi::has_format;
use crate::parameters::arguments;
use crate::problem::Problem;
use crate::service::App;

/// Header of a page: its number of rows.
pub const ROWS: &str = "trawl-rows";
/// Header of a page: `true` or `false`, whether everything was answered.
pub const WHOLE: &str = "trawl-whole";

/// Header of a request that the service for many users sends on: what may be asked.
pub const SCOPES: &str = "trawl-scopes";

/// An answer, with the command line that gives the same.
#[derive(Debug, Serialize)]
struct Reply {
    #[serde(flatten)]
    answered: Answered,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    /// In hexadecimal the words that are not UTF-8, in their places; `None` if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    command_raw: Option<Vec<Option<String>>>,
}

/// Answers a question whose arguments are in the URL.
///
/// # Errors
/// Says why it is not answered.
pub async fn get(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let question = known(&name)?;
    let (arguments, format) = arguments(question, uri.query().unwrap_or_default())?;
    allowed(&headers, question, &arguments)?;
    answer(app, question, arguments, format, method == Method::HEAD).await
}

/// Answers a question whose arguments are in the body.
///
/// # Errors
/// Says why it is not answered.
pub async fn post(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let question = known(&name)?;
    let headers = request.headers().clone();
    let mut arguments: Object = body(request).await?;
    allowed(&headers, question, &arguments)?;
    let format = match arguments.remove("format") {
        None => None,
        Some(Value::String(format)) => Some(format),
        Some(_) => return Err(bad("format: it must be a text")),
    };
    answer(app, question, arguments, format, false).await
}

/// Drops the rest of an answer.
///
/// # Errors
/// Fails if the cursor is unknown.
pub async fn delete(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<StatusCode, Problem> {
    let question = known(&name)?;
    if !matches!(question.action, Action::More) {
        let detail = "only /api/v1/more can be deleted";
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail));
    }
    let (arguments, _) = arguments(question, uri.query().unwrap_or_default())?;
    let cursor = arguments.get("cursor").and_then(Value::as_str);
    match cursor.is_some_and(|cursor| app.desk.close(cursor)) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::from(trawl_questions::desk::Unanswered::Cursor)),
    }
}

/// The secret of a one-time link.
#[derive(Debug, Deserialize)]
struct Link {
    token: String,
}

/// Exchanges the secret of a one-time link for a session.
///
/// # Errors
/// Fails if the link does not hold.
pub async fn begin_session(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let link: Link = body(request).await?;
    let session = app.sessions.begin(&link.token).map_err(|error| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("no random numbers: {error}"),
        )
    })?;
    match session {
        Some(session) => Ok(json(&serde_json::json!({"session": session}))),
        None => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "this link was used before, or is too old: press Enter where trawl web runs, or run it \
             again, and open the link that it prints",
        )),
    }
}

/// Ends the session of the request.
pub async fn end_session(State(app): State<Arc<App>>, headers: HeaderMap) -> StatusCode {
    if let Some(session) = crate::service::bearer(&headers) {
        app.sessions.end(session);
    }
    StatusCode::NO_CONTENT
}

fn known(name: &str) -> Result<&'static Named, Problem> {
    named(name).ok_or_else(|| {
        let shown = name.escape_debug();
        let detail = format!("there is no question {shown}; /api/v1/openapi.json lists them");
        Problem::new(StatusCode::NOT_FOUND, detail)
    })
}

/// Checks that the session or token of a request is for this question.
///
/// # Errors
/// Says what it is for.
pub fn allowed(headers: &HeaderMap, question: &Named, arguments: &Object) -> Result<(), Problem> {
    let Some(scopes) = headers.get(SCOPES) else {
        return Ok(());
    };
    let scopes = scopes.to_str().ok().and_then(|text| text.parse().ok());
    let scopes: Scopes = scopes.ok_or_else(|| bad(format!("{SCOPES}: it is invalid")))?;
    match scope_of(question, arguments) {
        Some(needed) if !scopes.contains(needed) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            format!(
                "this token is for {scopes}, and the question needs {}",
                needed.name()
            ),
        )),
        _ => Ok(()),
    }
}

/// Arguments that can test what files contain: further words of find, words of contents, and whether
/// duplicates are compared.
const TESTS_CONTENTS: [&str; 3] = ["expression", "keyword", "verify"];

/// Returns what a token must be for; `None` if any will do.
fn scope_of(question: &Named, arguments: &Object) -> Option<Scope> {
    match question.name {
        // A cursor is as secret as the token that it was given to.
        "more" => None,
        "grep" | "read" => Some(Scope::Contents),
        "sql" | "schema" => Some(Scope::Sql),
        _ if TESTS_CONTENTS
            .iter()
            .any(|name| arguments.contains_key(*name)) =>
        {
            Some(Scope::Contents)
        }
        _ => Some(Scope::Names),
    }
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}

/// Reads the body of a request.
///
/// # Errors
/// Fails if it is too long, or does not come in time.
pub async fn whole(body: Body) -> Result<Bytes, Problem> {
    whole_within(body, BODY_BYTES).await
}

async fn whole_within(body: Body, most_bytes: usize) -> Result<Bytes, Problem> {
    match timeout(BODY, to_bytes(body, most_bytes)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            let detail = format!("the body must have at most {most_bytes} bytes");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
        }
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body does not come",
        )),
    }
}

/// Reads the body of a request, which must be a JSON object.
///
/// # Errors
/// Fails if it is something else, too long, or does not come in time.
pub async fn body<T: DeserializeOwned>(request: Request<Body>) -> Result<T, Problem> {
    body_within(request, BODY_BYTES).await
}

/// As [`body`], for bodies that strangers send.
///
/// # Errors
/// As [`body`].
pub async fn short_body<T: DeserializeOwned>(request: Request<Body>) -> Result<T, Problem> {
    body_within(request, SHORT_BODY_BYTES).await
}

async fn body_within<T: DeserializeOwned>(
    request: Request<Body>,
    most_bytes: usize,
) -> Result<T, Problem> {
    let media_type = request.headers().get(header::CONTENT_TYPE);
    let media_type = media_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if media_type.split(';').next().map(str::trim) != Some("application/json") {
        let detail = "the body must be JSON, with Content-Type: application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let bytes = whole_within(request.into_body(), most_bytes).await?;
    serde_json::from_slice(&bytes).map_err(|error| bad(format!("the body is invalid: {error}")))
}

async fn answer(
    app: Arc<App>,
    question: &'static Named,
    mut arguments: Object,
    format: Option<String>,
    is_head: bool,
) -> Result<Response, Problem> {
    let format = format.as_deref().unwrap_or("json");
    if !has_format(question, format) {
        let detail = format!("format: {} has no such format", question.name);
        return Err(bad(detail));
    }
    let download_as = Format::named(format);
    let wishes = match download_as {
        Some(_) => Wishes::take(&mut arguments)?,
        None => Wishes::default(),
    };
    let ready = question.ready(arguments)?;
    match (download_as, is_head, ready) {
        (None, true, _) => Ok(json_with(download::unmeasured())),
        (Some(format), false, Ready::Ask(line)) => {
            download(app, question, line, format, wishes).await
        }
        (Some(format), _, _) => Ok(download::head(question.name, format)),
        (None, false, ready) => page(&app, question, &ready).await,
    }
}

/// Answers a question with one page, or with a part of a file.
async fn page(app: &App, question: &Named, ready: &Ready) -> Result<Response, Problem> {
    let timed = app.metrics.begin(question);
    let found = AtomicU64::new(0);
    match app.desk.answer(ready, &found).await {
        Ok(answered) => {
            let (outcome, rows) = (outcome_of(&answered), rows_of(&answered));
            timed.end(outcome);
            let (command, command_raw) = match ready {
                Ready::Ask(line) => (Some(command(line)), command_raw(line)),
                _ => (None, None),
            };
            let mut response = json(&Reply {
                answered,
                command,
                command_raw,
            });
            let out = response.headers_mut();
            if let Some(rows) = rows {
                out.insert(ROWS, HeaderValue::from(rows));
            }
            let is_whole = outcome == Outcome::Complete;
            let is_whole = if is_whole { "true" } else { "false" };
            out.insert(WHOLE, HeaderValue::from_static(is_whole));
            Ok(response)
        }
        Err(why) => {
            timed.end(Outcome::Failed);
            Err(why.into())
        }
    }
}

/// Returns how a question has ended that is answered like this.
pub fn outcome_of(answered: &Answered) -> Outcome {
    match answered {
        Answered::Page(page) if !page.complete => Outcome::Partial,
        _ => Outcome::Complete,
    }
}

/// Returns the number of rows, if there can be any.
pub fn rows_of(answered: &Answered) -> Option<usize> {
    match answered {
        Answered::Page(page) => Some(page.rows.len()),
        Answered::Part(_) => None,
    }
}

/// Returns the words of a command line, as text.
fn command(line: &Question) -> Vec<String> {
    let words = line.words.iter();
    let words = words.map(|word| escape(word.as_encoded_bytes()).into_owned());
    std::iter::once("trawl".to_owned()).chain(words).collect()
}

/// Returns the words of a command line that are not UTF-8, in hexadecimal; `None` if all are.
fn command_raw(line: &Question) -> Option<Vec<Option<String>>> {
    let words: Vec<_> = std::iter::once(None).chain(line.raw_words()).collect();
    words.iter().any(Option::is_some).then_some(words)
}

/// Returns a response of JSON.
pub fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => json_with(Body::from(bytes)),
        Err(error) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
    }
}

fn json_with(body: Body) -> Response {
    let mut response = Response::new(body);
    let media_type = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_questions::table::QUESTIONS;

    /// Arguments that say what is asked about, or how it is told, and test names and attributes.
    const TESTS_NO_CONTENTS: [&str; 36] = [
        "all",
        "any_case",
        "apparent_size",
        "at",
        "below",
        "by",
        "by_entries",
        "depth",
        "files",
        "follow",
        "from",
        "fuzzy",
        "ignore_case",
        "limit",
        "max_depth",
        "max_size",
        "min_size",
        "modified_after",
        "modified_before",
        "name",
        "names_only",
        "only",
        "owner",
        "path",
        "path_raw",
        "paths",
        "paths_raw",
        "pattern",
        "patterns",
        "place",
        "same_name",
        "snapshots",
        "subject",
        "summary",
        "to",
        "types",
    ];

    /// A new argument must be in one of the lists, so that somebody thinks about it.
    #[test]
    fn each_argument_is_known_to_test_contents_or_not() {
        for question in QUESTIONS {
            if matches!(scope_of(question, &Object::new()), Some(Scope::Names)) {
                let arguments = question
                    .schema()
                    .get("properties")
                    .and_then(Value::as_object);
                for name in arguments.into_iter().flat_map(|all| all.keys()) {
                    let name = name.as_str();
                    let is_known =
                        TESTS_CONTENTS.contains(&name) != TESTS_NO_CONTENTS.contains(&name);
                    assert!(is_known, "{}: {name}", question.name);
                }
            }
        }
    }
}
