//! The requests that the front answers itself, and what every request must have.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::InvalidHeaderName;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use super::amounts::{Allowances, Sent, UsedUp};
use super::front::{Keeper, Peer};
use super::messages::{Asked, Proof, Refusal, Setup, Told};
use super::openid::Shown;
use super::places::{Place, Places};
use super::relay::{relay, relay_message};
use super::turns::{Bounds, Turn, Turns};
use super::unread;
use crate::api;
use crate::limits::{QUESTIONS_OF_ONE_USER, TURN};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::service::{self, add_headers, bearer, host_of, is_guarded, is_own_site, text};
use crate::tools;

/// What all requests share.
#[derive(Debug)]
pub struct Door {
    /// The way to the keeper.
    pub keeper: Arc<Keeper>,
    /// Counts and times.
    pub metrics: Arc<Metrics>,
    /// Questions of each user that are being answered.
    asked: Places<u32>,
    /// Those that run.
    turns: Turns,
    /// What each user may be sent.
    allowances: Allowances,
    /// Ways to log in.
    ways: Vec<String>,
    /// The name of the provider of OpenID Connect.
    provider: Option<String>,
    /// The header in which a proxy names the user.
    proxy_header: HeaderName,
}

impl Door {
    /// Returns a door with the keeper behind it.
    ///
    /// # Errors
    /// Fails if the setup names no header.
    pub fn new(keeper: Arc<Keeper>, setup: Setup) -> Result<Door, InvalidHeaderName> {
        Ok(Door {
            keeper,
            metrics: Arc::new(Metrics::default()),
            asked: Places::new(QUESTIONS_OF_ONE_USER),
            turns: Turns::new(Bounds::here()),
            allowances: Allowances::new(setup.hourly_bytes, setup.hourly_rows),
            ways: setup.ways,
            provider: setup.provider,
            proxy_header: setup.proxy_header.parse()?,
        })
    }

    /// Counts a question of a user.
    ///
    /// # Errors
    /// Fails if too many are being answered, or wait.
    pub fn open(&self, uid: u32) -> Result<Place<u32>, Problem> {
        self.asked.take(uid).ok_or_else(|| {
            let why = "too many of your questions are being answered: wait for one of them";
            Refusal::until(429, why, 1).into()
        })
    }

    /// Checks that a user may be sent more.
    ///
    /// # Errors
    /// Fails if the user was sent too much within an hour.
    pub fn may_send(&self, uid: u32) -> Result<(), Problem> {
        Ok(self.allowances.check(uid, Instant::now())?)
    }

    /// Counts what a user is sent of a page, which is sent whole.
    pub fn send(&self, uid: u32, sent: Sent) {
        self.allowances.take(uid, sent, Instant::now());
    }

    /// Counts a piece of a whole answer.
    ///
    /// # Errors
    /// Fails if the user may not be sent the piece.
    pub fn send_piece(&self, uid: u32, sent: Sent) -> Result<(), Problem> {
        Ok(self.allowances.take_piece(uid, sent, Instant::now())?)
    }

    /// Checks that a whole answer whose rows are not known may be sent.
    ///
    /// # Errors
    /// Fails if rows are limited.
    pub fn send_uncounted(&self) -> Result<(), Problem> {
        match self.allowances.limits_rows() {
            false => Ok(()),
            true => {
                let why = "the rows of this answer cannot be counted, and they are limited";
                Err(Problem::new(StatusCode::BAD_GATEWAY, why))
            }
        }
    }

    /// Waits until a question of a user may run.
    ///
    /// # Errors
    /// Fails if others run for too long.
    pub async fn turn(&self, uid: u32) -> Result<Turn, Problem> {
        let turn = timeout(TURN, self.turns.take(uid)).await;
        turn.ok()
            .flatten()
            .ok_or_else(|| Refusal::until(503, "too many questions are being answered", 10).into())
    }

    /// Returns what a request shows. A session or token counts before a certificate or the name that
    /// a proxy gives.
    ///
    /// # Errors
    /// Fails if it shows nothing.
    pub fn proof(&self, headers: &HeaderMap, peer: &Peer) -> Result<Proof, Problem> {
        if let Some(secret) = bearer(headers) {
            return Ok(Proof::Secret(secret.to_owned()));
        }
        // Only a proxy is believed: from anybody else the header says nothing.
        let name = peer.is_proxy.then(|| self.proxy_header.clone());
        match name.and_then(|name| text(headers, name)) {
            Some("") => Err(Problem::new(
                StatusCode::BAD_REQUEST,
                format!("{}: it must name one user", self.proxy_header),
            )),
            Some(user) => Ok(Proof::Proxy(user.to_owned())),
            None if !peer.identities.is_empty() => Ok(Proof::Certificate(peer.identities.to_vec())),
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "there is no session: log in, or send Authorization: Bearer with a token that trawl \
                 token create printed",
            )),
        }
    }
}

/// Returns the service.
pub fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
        .route("/api/v1/login", get(ways).post(begin_openid))
        .route("/api/v1/session", post(begin).delete(end))
        .route("/api/v1/{name}", get(relay).post(relay).delete(relay))
        .route(tools::PATH, post(relay_message))
        .fallback(service::other)
        .layer(from_fn(checked))
        .with_state(door)
}

/// Checks a request, has it answered, and adds the headers of every response.
async fn checked(Extension(peer): Extension<Peer>, mut request: Request, next: Next) -> Response {
    let rest = unread::keep(&mut request);
    let is_question = is_guarded(request.uri().path());
    // A proxy may end TLS, or not.
    let schemes: &[&str] = match peer.is_proxy {
        true => &["https", "http"],
        false => &["https"],
    };
    // A certificate, and what a proxy adds, comes with every request, also with those that a page of
    // another site makes the browser send.
    let is_own = is_own_site(request.headers(), host_of(&request), schemes);
    let mut response = match is_own || !is_question {
        true => next.run(request).await,
        false => Problem::new(StatusCode::FORBIDDEN, "another site may not ask").into_response(),
    };
    unread::discard(rest).await;
    add_headers(&mut response, is_question);
    if !peer.is_proxy {
        let always = header::HeaderValue::from_static("max-age=31536000");
        let name = header::STRICT_TRANSPORT_SECURITY;
        response.headers_mut().insert(name, always);
    }
    response
}

/// Says which ways to log in there are.
async fn ways(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    match door.proof(&headers, &peer) {
        Ok(Proof::Proxy(_)) => api::json(&json!({"ways": ["proxy"]})),
        Ok(Proof::Certificate(_)) => api::json(&json!({"ways": ["certificate"]})),
        _ => match &door.provider {
            Some(provider) => api::json(&json!({"ways": door.ways, "provider": provider})),
            None => api::json(&json!({"ways": door.ways})),
        },
    }
}

/// What begins a login at the provider of OpenID Connect.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeginOpenId {
    /// The hash of a secret that the tab keeps.
    hash: String,
}

/// Returns the address at which the user logs in. The page goes there by itself: nothing here sends a
/// browser elsewhere.
async fn begin_openid(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let BeginOpenId { hash } = api::short_body(request).await?;
    let asked = Asked::BeginOpenId { hash };
    match door.keeper.ask(peer.address, asked).await? {
        (Told::Address(address), _) => Ok(api::json(&json!({"address": address}))),
        _ => Err(Refusal::new(500, "the answer is lost").into()),
    }
}

/// What begins a session.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    user: Option<String>,
    password: Option<String>,
    token: Option<String>,
    oidc: Option<Shown>,
}

async fn begin(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let begin: Begin = api::short_body(request).await?;
    let asked = match (begin.user, begin.password, begin.token, begin.oidc) {
        (Some(user), Some(password), None, None) => Asked::Login { user, password },
        (None, None, Some(token), None) => Asked::Exchange { token },
        (None, None, None, Some(shown)) => Asked::FinishOpenId(shown),
        _ => {
            let detail = "give either user and password, or token, or oidc";
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
    };
    match door.keeper.ask(peer.address, asked).await? {
        (Told::Session { secret, user }, _) => {
            Ok(api::json(&json!({"session": secret, "user": user})))
        }
        _ => Err(Refusal::new(500, "the answer is lost").into()),
    }
}

async fn end(State(door): State<Arc<Door>>, headers: HeaderMap) -> Result<StatusCode, Problem> {
    if let Some(secret) = bearer(&headers) {
        let secret = secret.to_owned();
        door.keeper.ask(None, Asked::End { secret }).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Gives counts and times to everybody who may ask: they contain no names.
async fn metrics(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let proof = door.proof(&headers, &peer)?;
    door.keeper
        .ask(peer.address, Asked::Check { proof })
        .await?;
    Ok(service::metrics_response(&door.metrics))
}

impl From<UsedUp> for Problem {
    fn from(UsedUp { what, wait }: UsedUp) -> Problem {
        let seconds = wait.as_secs().max(1);
        let why = format!("no user may be sent more {what} in an hour; ask again in {seconds} s");
        Refusal::until(429, why, seconds).into()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let status = StatusCode::from_u16(refusal.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Problem {
            wait: refusal.wait,
            ..Problem::new(status, refusal.detail)
        }
    }
}
