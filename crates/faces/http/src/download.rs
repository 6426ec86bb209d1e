//! Whole answers as streams: JSON lines, CSV, an Arrow IPC stream, or a Parquet file.
//!
//! The bytes are those that the command writes. A stream ends early, as a broken connection does, if
//! the answer turns out to be incomplete, so that no client takes a part for the whole; with
//! `partial=true` it ends well, and only the trailer `trawl-complete` tells.
//!
//! Invariants: a command that fails before its first byte is an error, not an empty answer; the
//! command ends when the client leaves, or does not read on for a while.

use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use trawl_questions::child::Running;
use trawl_questions::rows::Form;
use trawl_questions::table::{Named, Object};
use trawl_questions::words::{Question, Refused};

use crate::limits::STALL;
use crate::metrics::Outcome;
use crate::problem::Problem;
use crate::service::App;

/// A format of whole answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON objects, one a line.
    Lines,
    /// Comma-separated values.
    Csv,
    /// An Arrow IPC stream.
    Arrow,
    /// A Parquet file. Its end is written last, so a part of it cannot be read.
    Parquet,
}

/// What a client may want of a download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// It should end well, even if something is missing.
    pub partial: bool,
    /// Texts of CSV that spreadsheets take for formulas should be protected.
    pub spreadsheet: bool,
}

impl Wishes {
    /// Takes the wishes out of arguments.
    ///
    /// # Errors
    /// Says which one is neither true nor false.
    pub fn take(arguments: &mut Object) -> Result<Wishes, Refused> {
        let mut take = |name: &str| match arguments.remove(name) {
            None => Ok(false),
            Some(Value::Bool(is_wanted)) => Ok(is_wanted),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(_) => Err(Refused::Invalid {
                why: format!("{name}: it must be true or false"),
            }),
        };
        Ok(Wishes {
            partial: take("partial")?,
            spreadsheet: take("spreadsheet")?,
        })
    }
}

/// Trailer that says whether the answer is complete.
pub const COMPLETE: &str = "trawl-complete";

impl Format {
    /// Returns the format of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "jsonl" => Some(Format::Lines),
            "csv" => Some(Format::Csv),
            "arrow" => Some(Format::Arrow),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }

    /// Returns the format that has this media type; `None` if no format has it.
    pub fn of_media_type(media_type: &str) -> Option<Format> {
        let all = [Format::Lines, Format::Csv, Format::Arrow, Format::Parquet];
        all.into_iter()
            .find(|format| format.words().1 == media_type)
    }

    /// Returns the command's option, the media type, and the end of a file's name.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Format::Lines => ("--json", "application/jsonl", "jsonl"),
            Format::Csv => ("--csv", "text/csv; charset=utf-8; header=present", "csv"),
            Format::Arrow => ("--arrow", "application/vnd.apache.arrow.stream", "arrow"),
            Format::Parquet => (
                "--format=parquet",
                "application/vnd.apache.parquet",
                "parquet",
            ),
        }
    }

    /// Makes the command write this format.
    fn set(self, question: &mut Question, is_for_spreadsheets: bool) {
        let options = question.words.iter().take_while(|word| *word != "--");
        let at = options.enumerate().find(|(_, word)| *word == "--json");
        let Some((at, _)) = at else { return };
        let protects = is_for_spreadsheets && self == Format::Csv;
        let words = [Some(self.words().0), protects.then_some("--spreadsheet")];
        let words = words.into_iter().flatten().map(OsString::from);
        question.words.splice(at..=at, words);
    }
}

/// Returns the body of an answer that was not made, for its head. It is empty, and does not say so: a
/// length would have to be the answer's.
///
/// Source: RFC 9110, section 8.6
pub fn unmeasured() -> Body {
    Body::new(Pipe(mpsc::channel(1).1))
}

/// Returns the head of a download.
pub fn head(name: &str, format: Format) -> Response {
    let (_, media_type, end) = format.words();
    let mut response = Response::new(unmeasured());
    let out = response.headers_mut();
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    let disposition = format!("attachment; filename=\"trawl-{name}.{end}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        out.insert(header::CONTENT_DISPOSITION, disposition);
    }
    out.insert(header::TRAILER, HeaderValue::from_static(COMPLETE));
    response
}

/// Starts a download.
///
/// # Errors
/// Says why there is none: the command could not be run, or failed before its first byte.
pub async fn download(
    app: Arc<App>,
    named: &Named,
    mut question: Question,
    format: Format,
    wishes: Wishes,
) -> Result<Response, Problem> {
    format.set(&mut question, wishes.spreadsheet);
    let timed = app.metrics.begin(named);
    let (turn, source, first) = match begin(&app, &question).await {
        Ok(begun) => begun,
        Err(problem) => {
            timed.end(Outcome::Failed);
            return Err(problem);
        }
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _turn = turn;
        if let Some(outcome) = send(source, first, wishes.partial, &sender).await {
            timed.end(outcome);
        }
    });
    let mut response = head(named.name, format);
    *response.body_mut() = Body::new(Pipe(receiver));
    Ok(response)
}

/// The first that is known of an answer: bytes, or that there are none.
enum First {
    Bytes(Bytes),
    End(End),
}

/// Runs the command until its first byte.
async fn begin(
    app: &App,
    question: &Question,
) -> Result<(OwnedSemaphorePermit, Source, First), Problem> {
    let turn = app.desk.turn().await?;
    let mut source = Source {
        running: app.desk.start(question)?,
        form: question.form,
    };
    let lost = |error: std::io::Error| {
        let detail = format!("the answer is lost: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    };
    if let Some(bytes) = source.next().await.map_err(lost)? {
        return Ok((turn, source, First::Bytes(bytes)));
    }
    let end = source.end().await.map_err(lost)?;
    match end.is_fatal {
        true => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            end.issues.join("\n"),
        )),
        false => Ok((turn, source, First::End(end))),
    }
}

/// What a download consists of.
type Piece = Result<Frame<Bytes>, std::io::Error>;

/// Sends the answer; `None` if the client left.
async fn send(
    mut source: Source,
    first: First,
    is_partial_allowed: bool,
    to: &mpsc::Sender<Piece>,
) -> Option<Outcome> {
    let (mut next, ended) = match first {
        First::Bytes(bytes) => (Some(bytes), None),
        First::End(end) => (None, Some(end)),
    };
    while let Some(bytes) = next {
        timeout(STALL, to.send(Ok(Frame::data(bytes))))
            .await
            .ok()?
            .ok()?;
        let read = tokio::select! {
            read = source.next() => read,
            () = to.closed() => return None,
        };
        next = match read {
            Ok(next) => next,
            Err(error) => {
                let _ = to.send(Err(error)).await;
                return Some(Outcome::Failed);
            }
        };
    }
    let end = match ended {
        Some(end) => Ok(end),
        None => source.end().await,
    };
    let is_complete = end.as_ref().is_ok_and(|end| end.is_complete);
    let piece = match end {
        Ok(end) if end.is_complete || (is_partial_allowed && !end.is_fatal) => {
            let value = HeaderValue::from_static(if end.is_complete { "true" } else { "false" });
            Ok(Frame::trailers(HeaderMap::from_iter([(
                axum::http::HeaderName::from_static(COMPLETE),
                value,
            )])))
        }
        Ok(end) => Err(std::io::Error::other(end.issues.join("\n"))),
        Err(error) => Err(error),
    };
    let outcome = match &piece {
        Ok(_) if is_complete => Outcome::Complete,
        Ok(_) => Outcome::Partial,
        Err(_) => Outcome::Failed,
    };
    timeout(STALL, to.send(piece)).await.ok()?.ok()?;
    Some(outcome)
}

/// The output of a command.
struct Source {
    running: Running,
    form: Form,
}

/// How a command ended.
struct End {
    is_complete: bool,
    is_fatal: bool,
    issues: Vec<String>,
}

impl Source {
    /// Returns the next bytes; `None` at the end. The wait may be given up.
    async fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        if self.form.is_json() {
            return Ok(self.running.next_bytes().await?.map(Bytes::from));
        }
        let Some(record) = self.running.next().await? else {
            return Ok(None);
        };
        let row = self.form.row(&record);
        let row = row.ok_or_else(|| std::io::Error::other("the command wrote something else"))?;
        let mut line = serde_json::to_vec(&row).map_err(std::io::Error::other)?;
        line.push(b'\n');
        Ok(Some(line.into()))
    }

    async fn end(&mut self) -> std::io::Result<End> {
        let status: ExitStatus = self.running.end().await?;
        let said = self.running.said();
        let messages = said.left_out + said.issues.len() as u64;
        Ok(End {
            is_complete: self.form.is_complete(status, messages),
            is_fatal: Form::is_failure(status),
            issues: said.issues.into(),
        })
    }
}

/// A body that receives its pieces from a task.
struct Pipe(mpsc::Receiver<Piece>);

impl http_body::Body for Pipe {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(cx)
    }
}
