//! Tools for assistants: `POST /mcp`, the Streamable HTTP transport of the Model Context Protocol.
//!
//! The protocol and the tools are those of [`trawl_mcp`]. Every request is answered by itself, with one
//! JSON document: there are no sessions of the protocol and no streams, so nothing of a request outlives
//! what authorised it. Invariant: what a token is for is checked with the tool and the arguments that are
//! answered, as they were read from the message.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::response::Response;
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use trawl_mcp::server::{Answers, Server};
use trawl_questions::desk::{Answered, Desk};
use trawl_questions::limits::ASSISTANT;
use trawl_questions::table::{Named, Object};

use crate::api::{ROWS, WHOLE, allowed, outcome_of, rows_of, whole};
use crate::limits::BODY_BYTES;
use crate::metrics::{Metrics, Outcome};
use crate::problem::Problem;
use crate::service::App;

/// The path at which assistants ask.
pub const PATH: &str = "/mcp";

/// The value of [`WHOLE`] for a call that was refused or failed: the status of HTTP does not tell.
pub const FAILED: &str = "failed";

/// Speaks the protocol.
pub type Service = StreamableHttpService<Server<Tools>, NeverSessionManager>;

/// Answers calls of tools.
#[derive(Clone, Debug)]
pub struct Tools {
    desk: Desk,
    metrics: Arc<Metrics>,
}

/// How a call has ended, for the headers of its response.
#[derive(Clone, Debug, Default)]
struct Note(Arc<OnceLock<(Outcome, Option<usize>)>>);

/// Returns the service, whose pages are as short as those of `trawl mcp`.
pub fn service(app: &App) -> Service {
    let tools = Tools {
        desk: app.desk.with_pages(&ASSISTANT),
        metrics: Arc::clone(&app.metrics),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES);
    let server = move || Ok(Server::new(tools.clone()));
    StreamableHttpService::new(server, Arc::default(), config)
}

/// Answers a message.
///
/// # Errors
/// Fails if the message is too long, or does not come in time.
pub async fn answer(service: Service, request: Request) -> Result<Response, Problem> {
    let (mut head, body) = request.into_parts();
    let body = Body::from(whole(body).await?);
    let note = Note::default();
    head.extensions.insert(note.clone());
    let answered = service.handle(Request::from_parts(head, body)).await;
    let mut response = answered.map(Body::new);
    if let Some((outcome, rows)) = note.0.get() {
        let headers = response.headers_mut();
        if let Some(rows) = rows {
            headers.insert(ROWS, HeaderValue::from(*rows));
        }
        let is_whole = match outcome {
            Outcome::Complete => "true",
            Outcome::Partial => "false",
            _ => FAILED,
        };
        headers.insert(WHOLE, HeaderValue::from_static(is_whole));
    }
    Ok(response)
}

impl Answers for Tools {
    // It would need a stream.
    const TELLS_PROGRESS: bool = false;

    async fn answer(
        &self,
        tool: &'static Named,
        arguments: Object,
        extensions: &Extensions,
        found: &AtomicU64,
    ) -> Result<Answered, String> {
        let Some(head) = extensions.get::<Parts>() else {
            return Err("nothing says what may be asked".into());
        };
        let answered = self.ask(tool, arguments, head, found).await;
        if let Some(note) = head.extensions.get::<Note>() {
            let ended = match &answered {
                Ok(answered) => (outcome_of(answered), rows_of(answered)),
                Err(_) => (Outcome::Failed, None),
            };
            // A message has one call.
            let _ = note.0.set(ended);
        }
        answered
    }
}

impl Tools {
    async fn ask(
        &self,
        tool: &'static Named,
        arguments: Object,
        head: &Parts,
        found: &AtomicU64,
    ) -> Result<Answered, String> {
        allowed(&head.headers, tool, &arguments).map_err(|problem| problem.detail)?;
        let timed = self.metrics.begin(tool);
        let extensions = Extensions::default();
        let answered = Answers::answer(&self.desk, tool, arguments, &extensions, found).await;
        timed.end(answered.as_ref().map_or(Outcome::Failed, outcome_of));
        answered
    }
}
