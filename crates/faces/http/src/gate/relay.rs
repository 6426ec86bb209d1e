//! A question on its way to the desk of its user, and its answer back.
//!
//! Every question has a connection of its own. If the client leaves, the connection is closed, and the
//! desk ends what it has started for the question.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request;
use axum::http::response;
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;
use trawl_questions::table::{Named, named};

use super::amounts::Sent;
use super::arguments::recorded;
use super::call::called;
use super::desk::stream;
use super::door::Door;
use super::front::Peer;
use super::messages::{Asked, Ended, Proof, Told};
use super::places::Place;
use super::rows::Counter;
use super::turns::Turn;
use crate::api::{ROWS, SCOPES, WHOLE, whole};
use crate::download::{COMPLETE, Format, unmeasured};
use crate::limits::SHORT_BODY_BYTES;
use crate::metrics::{Outcome, Timed};
use crate::problem::Problem;
use crate::tools::FAILED;

/// Headers of a request that its desk is sent: those that say what the body is and what the client
/// accepts, and those of the Model Context Protocol.
const SENT: [HeaderName; 5] = [
    header::CONTENT_TYPE,
    header::ACCEPT,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

/// Headers of a desk's answer that the client is sent.
const KEPT: [HeaderName; 3] = [
    header::CONTENT_TYPE,
    header::CONTENT_DISPOSITION,
    header::TRAILER,
];

/// Names that are no questions and are answered by the desk, too.
const OTHERS: [&str; 2] = ["me", "openapi.json"];

/// Answers `/api/v1/NAME`.
///
/// # Errors
/// Says why it is not answered.
pub async fn relay(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (proof, address) = (door.proof(request.headers(), &peer)?, peer.address);
    let is_head = request.method() == Method::HEAD;
    let question = named(&name);
    if question.is_none() && !OTHERS.contains(&name.as_str()) {
        door.keeper.ask(address, Asked::Check { proof }).await?;
        let shown = name.escape_debug();
        let detail = format!("there is no question {shown}; /api/v1/openapi.json lists them");
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    let mut note = Note::new(&door, address);
    if let Some(question) = question {
        note.begin(question);
    }
    match ask(&door, proof, request, &mut note).await {
        Ok((response, ..)) if is_head => Ok(note.head(response)),
        answered => note.answered(answered).await,
    }
}

/// Answers `/mcp`. A call of a tool is the question that the tool stands for.
///
/// # Errors
/// Says why it is not answered.
pub async fn relay_message(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let proof = door.proof(request.headers(), &peer)?;
    let mut note = Note::new(&door, peer.address);
    let (head, body) = request.into_parts();
    let body = read(&door, &proof, (body, note.address)).await?;
    let call = match called(&body) {
        Ok(call) => call,
        Err(problem) => {
            let address = note.address;
            door.keeper.ask(address, Asked::Check { proof }).await?;
            return Err(problem);
        }
    };
    if let Some(call) = call {
        note.begin(call.question);
        note.is_call = true;
        note.ended.arguments = recorded("", call.arguments.as_bytes());
    }
    let answered = pass(&door, proof, (head, body), &mut note).await;
    note.answered(answered).await
}

/// Closes the connection to a desk when it is dropped.
struct Line(AbortHandle);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The answer of a desk, the connection over which it comes, and the question's turn.
type Begun = (hyper::Response<Incoming>, Line, Option<Turn>);

async fn ask(
    door: &Door,
    proof: Proof,
    request: Request,
    note: &mut Note,
) -> Result<Begun, Problem> {
    let (parts, body) = request.into_parts();
    let body = read(door, &proof, (body, note.address)).await?;
    pass(door, proof, (parts, body), note).await
}

/// Reads the body of a request. A long one is read once it is known who asks, so that the bodies of
/// strangers take little memory, however many there are.
async fn read(
    door: &Door,
    proof: &Proof,
    (body, address): (Body, Option<IpAddr>),
) -> Result<Bytes, Problem> {
    let most = body.size_hint().upper();
    if most.is_none_or(|most| most > SHORT_BODY_BYTES as u64) {
        let proof = proof.clone();
        door.keeper.ask(address, Asked::Check { proof }).await?;
    }
    whole(body).await
}

/// Passes a request on. All of it is here before its user's process learns of it.
async fn pass(
    door: &Door,
    proof: Proof,
    (parts, body): (request::Parts, Bytes),
    note: &mut Note,
) -> Result<Begun, Problem> {
    let opened = door.keeper.ask(note.address, Asked::Open { proof }).await?;
    let lost = |what: &str| {
        let detail = format!("{what}; ask again");
        Problem::new(StatusCode::BAD_GATEWAY, detail)
    };
    let (Told::Known(who), Some(connection)) = opened else {
        return Err(lost("your process cannot be reached"));
    };
    let scopes = who.scopes.clone();
    let uid = who.uid;
    note.ended.who = Some(who);
    if !note.is_call {
        note.ended.arguments = recorded(parts.uri.query().unwrap_or_default(), &body);
    }
    note.open = Some(door.open(uid)?);
    // Whoever drops an answer ends a process, and so waits for nobody.
    let turn = match parts.method {
        Method::DELETE => None,
        _ => {
            door.may_send(uid)?;
            Some(door.turn(uid).await?)
        }
    };
    let stream = stream(connection).map_err(|_| lost("your process cannot be reached"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| lost("your process cannot be reached"))?;
    let line = Line(
        tokio::spawn(async move {
            let _ = connection.await;
        })
        .abort_handle(),
    );
    let target = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut asked = hyper::Request::builder()
        .method(parts.method)
        .uri(target)
        .header(header::HOST, "localhost")
        .header(header::TE, "trailers")
        .header(SCOPES, scopes);
    for name in SENT {
        for value in parts.headers.get_all(&name) {
            asked = asked.header(&name, value);
        }
    }
    let asked = asked
        .body(Body::from(body))
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    match sender.send_request(asked).await {
        Ok(response) => Ok((response, line, turn)),
        Err(_) => Err(lost("your process has ended before it answered")),
    }
}

/// What is recorded of a question when it ends.
struct Note {
    door: Arc<Door>,
    address: Option<IpAddr>,
    /// Measures it; `None` if it is no question, and so not recorded.
    timed: Option<Timed>,
    begun: Instant,
    outcome: Outcome,
    ended: Ended,
    /// Counts the question at its user.
    open: Option<Place<u32>>,
    /// Whether it is the call of an assistant's tool.
    is_call: bool,
}

impl Note {
    /// Returns a note of a request that is no question yet.
    fn new(door: &Arc<Door>, address: Option<IpAddr>) -> Note {
        Note {
            door: Arc::clone(door),
            address,
            timed: None,
            begun: Instant::now(),
            outcome: Outcome::Cancelled,
            ended: Ended {
                who: None,
                question: String::new(),
                arguments: String::new(),
                status: 0,
                outcome: String::new(),
                rows: None,
                bytes: 0,
                seconds: 0.0,
            },
            open: None,
            is_call: false,
        }
    }

    /// Says which question it is.
    fn begin(&mut self, question: &Named) {
        self.timed = Some(self.door.metrics.begin(question));
        self.ended.question = question.name.to_owned();
    }

    /// Returns the response for the client, or notes the problem.
    async fn answered(mut self, answered: Result<Begun, Problem>) -> Result<Response, Problem> {
        match answered {
            Ok(begun) => self.follow(begun).await,
            Err(problem) => Err(self.failed(problem)),
        }
    }

    fn failed(&mut self, problem: Problem) -> Problem {
        self.ended.status = problem.status.as_u16();
        self.outcome = Outcome::Failed;
        problem
    }

    /// Returns the response for the client. The note ends with its last byte, or when the client
    /// leaves.
    ///
    /// # Errors
    /// Fails if nothing of a whole answer may be sent.
    async fn follow(mut self, (response, line, turn): Begun) -> Result<Response, Problem> {
        let (head, body) = response.into_parts();
        let counter = counter(&head);
        // A page is complete; the desk goes on with a whole answer, however slowly it is read.
        let turn = turn.filter(|_| counter.is_some()).and_then(Turn::into_own);
        let (mut response, at_end) = self.begun(&head);
        if let (Some(who), Some(rows)) = (&self.ended.who, self.ended.rows) {
            self.door.send(who.uid, Sent { bytes: 0, rows });
        }
        if body.is_end_stream() {
            self.outcome = at_end;
            return Ok(response);
        }
        let mut relayed = Relayed {
            body,
            at_end,
            counter,
            first: None,
            note: self,
            _line: line,
            _turn: turn,
        };
        // The desk begins a whole answer with its first bytes, so this does not wait.
        if relayed.counter.is_some()
            && let Some(first) = poll_fn(|cx| relayed.poll_next(cx)).await
        {
            relayed.first = Some(first.map_err(|problem| relayed.note.failed(problem))?);
        }
        *response.body_mut() = Body::new(relayed);
        Ok(response)
    }

    /// Returns the response to `HEAD`, whose length is what the desk says, if it does.
    fn head(mut self, response: hyper::Response<Incoming>) -> Response {
        let (head, _) = response.into_parts();
        let (mut response, at_end) = self.begun(&head);
        self.outcome = at_end;
        *response.body_mut() = unmeasured();
        if let Some(length) = head.headers.get(header::CONTENT_LENGTH) {
            let out = response.headers_mut();
            out.insert(header::CONTENT_LENGTH, length.clone());
        }
        response
    }

    /// Returns a response without a body, and how the question has ended if the body comes to its end.
    fn begun(&mut self, head: &response::Parts) -> (Response, Outcome) {
        let told = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        self.ended.status = head.status.as_u16();
        self.ended.rows = told(ROWS).and_then(|rows| rows.parse().ok());
        let at_end = match (head.status.is_success(), told(WHOLE)) {
            (false, _) | (true, Some(FAILED)) => Outcome::Failed,
            // A message that calls a tool wrongly is answered, but the tool was not asked.
            (true, None) if self.is_call => Outcome::Failed,
            (true, Some("false")) => Outcome::Partial,
            (true, _) => Outcome::Complete,
        };
        let mut response = Response::new(Body::empty());
        *response.status_mut() = head.status;
        for name in KEPT {
            if let Some(value) = head.headers.get(&name) {
                response.headers_mut().insert(name, value.clone());
            }
        }
        (response, at_end)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if let Some(timed) = self.timed.take() {
            timed.end(self.outcome);
            self.ended.outcome = self.outcome.name().to_owned();
            self.ended.seconds = self.begun.elapsed().as_secs_f64();
            let ended = Box::new(self.ended.clone());
            self.door.keeper.tell(self.address, Asked::Record(ended));
        }
    }
}

/// Returns what counts the rows of a whole answer; `None` for a page.
fn counter(head: &response::Parts) -> Option<Counter> {
    if !head.headers.contains_key(header::TRAILER) {
        return None;
    }
    let media_type = head.headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    Some(Counter::new(media_type.and_then(Format::of_media_type)))
}

/// The body of an answer on its way.
struct Relayed {
    body: Incoming,
    /// How the question has ended if the body comes to its end.
    at_end: Outcome,
    /// Counts the rows of a whole answer, which is broken off when its user was sent too much; a page is
    /// not, and its rows are known before.
    counter: Option<Counter>,
    /// A part that was looked at and is not sent yet.
    first: Option<Frame<Bytes>>,
    note: Note,
    _line: Line,
    /// The turn among those of its user, until a whole answer ends.
    _turn: Option<OwnedSemaphorePermit>,
}

impl Relayed {
    /// Counts bytes that the client is sent, and the rows in them.
    fn count(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let (note, length) = (&mut self.note, bytes.len() as u64);
        let uid = note.ended.who.as_ref().map(|who| who.uid);
        match &mut self.counter {
            None => {
                if let Some(uid) = uid {
                    let (bytes, rows) = (length, 0);
                    note.door.send(uid, Sent { bytes, rows });
                }
            }
            Some(counter) => {
                let (bytes, rows) = (length, counter.add(bytes));
                if let Some(uid) = uid {
                    note.door.send_piece(uid, Sent { bytes, rows })?;
                }
                note.ended.rows = counter.rows();
            }
        }
        note.ended.bytes += length;
        Ok(())
    }

    /// Looks at a part of the answer before the client is sent it.
    fn look(&mut self, frame: &Frame<Bytes>) -> Result<(), Problem> {
        if let Some(bytes) = frame.data_ref() {
            self.count(bytes)?;
        }
        if let Some(trailers) = frame.trailers_ref() {
            let counter = self.counter.as_ref();
            if counter.is_some_and(|counter| counter.rows().is_none()) {
                self.note.door.send_uncounted()?;
            }
            if trailers.get(COMPLETE).is_some_and(|value| value == "false") {
                self.at_end = Outcome::Partial;
            }
            // Nothing follows, and over HTTP/2 nobody looks.
            self.note.outcome = self.at_end;
        }
        Ok(())
    }

    /// Returns the next part that the client may be sent.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Problem>>> {
        let next = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) => self.look(&frame).map(|()| Some(frame)),
            Some(Err(error)) => Err(Problem::new(StatusCode::BAD_GATEWAY, error.to_string())),
            None => Ok(None),
        };
        match &next {
            Ok(None) => self.note.outcome = self.at_end,
            Ok(_) if self.body.is_end_stream() => self.note.outcome = self.at_end,
            Ok(_) => {}
            Err(_) => self.note.outcome = Outcome::Failed,
        }
        Poll::Ready(next.transpose())
    }
}

impl http_body::Body for Relayed {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.poll_next(cx).map_err(|problem| problem.detail.into()),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.first {
            // It is no longer part of the rest.
            Some(_) => SizeHint::default(),
            None => self.body.size_hint(),
        }
    }
}
