//! The routes, and what every request must have: a name of this machine as host, no other site as its
//! origin, and a session where anything is answered.

use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;
use trawl_model::escape::escape;
use trawl_questions::desk::Desk;

use crate::api;
use crate::metrics::Metrics;
use crate::openapi;
use crate::page;
use crate::problem::Problem;
use crate::sessions::Sessions;
use crate::tools;

/// What all requests share.
#[derive(Debug)]
pub struct App {
    /// Answers questions.
    pub desk: Desk,
    /// Who may ask.
    pub sessions: Sessions,
    /// Counts and times.
    pub metrics: Arc<Metrics>,
}

/// The type of the description.
const JSON: &str = "application/json";

/// Headers of every response. Scripts, styles and requests come from this server alone, and no other
/// page may show this one.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; \
         base-uri 'none'",
    ),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=()",
    ),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// Returns the service of one user: the questions, the page, and the check of every request.
pub fn router(app: Arc<App>) -> Router {
    questions(&app)
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
        .route(
            "/api/v1/login",
            get(async || api::json(&json!({"ways": ["link"]}))),
        )
        .route(
            "/api/v1/session",
            post(api::begin_session).delete(api::end_session),
        )
        .fallback(other)
        .layer(from_fn_with_state(Arc::clone(&app), checked))
        .with_state(app)
}

/// Returns the questions alone, for requests that were checked before.
pub fn answers(app: Arc<App>) -> Router {
    questions(&app).with_state(app)
}

fn questions(app: &App) -> Router<Arc<App>> {
    let assistants = tools::service(app);
    Router::new()
        .route(
            tools::PATH,
            post(move |request: Request| tools::answer(assistants.clone(), request)),
        )
        .route("/api/v1/me", get(me))
        .route(
            "/api/v1/openapi.json",
            get(async || ([(header::CONTENT_TYPE, JSON)], openapi::FILE)),
        )
        .route(
            "/api/v1/{name}",
            get(api::get).post(api::post).delete(api::delete),
        )
}

/// Answers paths that are no part of the API: with the page.
pub async fn other(request: Request) -> Response {
    let path = request.uri().path();
    // Clients look there for other ways to log in; a page would confuse them.
    let is_for_programs = is_below(path, "/.well-known") || is_below(path, tools::PATH);
    if is_for_programs || path.starts_with("/api") {
        let detail = "there is nothing here; /api/v1/openapi.json describes the API";
        return Problem::new(StatusCode::NOT_FOUND, detail).into_response();
    }
    match *request.method() {
        axum::http::Method::GET | axum::http::Method::HEAD => page::answer(path, request.headers()),
        _ => Problem::new(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed").into_response(),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    metrics_response(&app.metrics)
}

/// Returns counts and times as Prometheus reads them.
pub fn metrics_response(metrics: &Metrics) -> Response {
    let media_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, media_type)], metrics.text()).into_response()
}

/// Says as whom the server answers.
async fn me() -> Response {
    let uid = rustix::process::geteuid().as_raw();
    let user = trawl_sys::identity::user_name(uid).ok().flatten();
    let user = user.map_or_else(|| uid.to_string(), |name| escape(&name).into_owned());
    let host = rustix::system::uname();
    api::json(&json!({
        "user": user,
        "uid": uid,
        "host": host.nodename().to_string_lossy(),
        "version": env!("CARGO_PKG_VERSION"),
        "time": trawl_questions::reply::moment(SystemTime::now()),
    }))
}

/// Checks a request, has it answered, and adds the headers of every response.
async fn checked(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_question = is_guarded(request.uri().path());
    let mut response = match check(&app, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    add_headers(&mut response, is_question);
    response
}

/// Adds the headers of every response.
pub fn add_headers(response: &mut Response, is_question: bool) {
    let out = response.headers_mut();
    for (name, value) in HEADERS {
        out.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if is_question {
        out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // A part of an answer would be that of another run.
        out.insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
    }
}

/// Returns whether a path belongs to the API, or is as secret: its requests must come from this site, and
/// its answers are not cached.
pub fn is_guarded(path: &str) -> bool {
    path == "/metrics" || path.starts_with("/api") || is_below(path, tools::PATH)
}

/// Returns whether a path is this one, or below it.
fn is_below(path: &str, top: &str) -> bool {
    let rest = path.strip_prefix(top);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check(app: &App, request: &Request) -> Result<(), Problem> {
    let refuse = |status, detail: &str| Err(Problem::new(status, detail));
    let headers = request.headers();
    let host = host_of(request);
    // A name that somebody else's DNS server answers for may lead here.
    if !is_this_machine(host) {
        let detail = "this server answers for localhost, 127.0.0.1 and [::1] only";
        return refuse(StatusCode::MISDIRECTED_REQUEST, detail);
    }
    if !is_guarded(request.uri().path()) {
        return Ok(());
    }
    if !is_own_site(headers, host, &["http"]) {
        return refuse(StatusCode::FORBIDDEN, "another site may not ask");
    }
    let begins_session = request.uri().path() == "/api/v1/session";
    let holds = bearer(headers).is_some_and(|session| app.sessions.holds(session));
    match holds || (begins_session && request.method() == axum::http::Method::POST) {
        true => Ok(()),
        false => refuse(
            StatusCode::UNAUTHORIZED,
            "there is no session: open the link that trawl web printed, or send Authorization: \
             Bearer with the token of --token-file",
        ),
    }
}

/// Returns the host that a request names.
pub fn host_of(request: &Request) -> &str {
    let authority = request.uri().authority();
    let host = authority.map(|authority| authority.as_str());
    host.or_else(|| text(request.headers(), header::HOST))
        .unwrap_or_default()
}

/// Returns whether a request comes from no site, or from the one that this host serves.
pub fn is_own_site(headers: &HeaderMap, host: &str, schemes: &[&str]) -> bool {
    let site = text(headers, HeaderName::from_static("sec-fetch-site"));
    let origin = text(headers, header::ORIGIN);
    let is_ours = |origin: &str| {
        let split = origin.split_once("://");
        split.is_some_and(|(scheme, rest)| schemes.contains(&scheme) && rest == host)
    };
    site.is_none_or(|site| site == "same-origin" || site == "none") && origin.is_none_or(is_ours)
}

/// Returns the secret in the header `Authorization`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, secret) = text(headers, header::AUTHORIZATION)?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(secret.trim())
}

/// Returns the value of a header that is given once; `Some("")` if it is given twice or is no text.
pub fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    match values.next() {
        None => Some(first.to_str().unwrap_or_default()),
        Some(_) => Some(""),
    }
}

/// Returns whether a host, with or without a port, is a name of this machine that no DNS server gives.
fn is_this_machine(host: &str) -> bool {
    let is_port = |port: &str| port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit());
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| {
        let rest = host.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in [
            "localhost",
            "localhost:80",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:1",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "localhost:80.evil.example",
            "127.0.0.1.evil.example:80",
            "evil.example:127.0.0.1",
            "localhost@evil.example",
            "0.0.0.0",
            "[::1",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
