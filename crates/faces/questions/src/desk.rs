//! Answers the questions of the table, for one client.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use trawl_text::words::cause;

use crate::answer::{Answer, Bounds, End};
use crate::child::{Program, Running};
use crate::limits::Limits;
use crate::open::Open;
use crate::range::Range;
use crate::reply::Reply;
use crate::table::{More, Read, Ready};
use crate::words::{Question, Refused};

/// How long a question waits for room, unless calls may take longer.
const TURN_MAX: Duration = Duration::from_secs(60);

/// What answers the questions of one client.
#[derive(Clone, Debug)]
pub struct Desk {
    program: Arc<Program>,
    limits: Limits,
    open: Open,
    calls: Arc<Semaphore>,
}

/// What a question is answered with.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Answered {
    /// A page of rows.
    Page(Reply),
    /// A part of a file.
    Part(Range),
}

/// The reason why a question is not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// The arguments are wrong. Nothing was run.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A cursor that continues nothing.
    #[error(
        "the cursor is unknown: it was used before, or the answer was closed because it was not \
         continued in time or too many were open; ask the question again"
    )]
    Cursor,
    /// The command failed before its first row.
    #[error("{}", lines(.0))]
    Failed(Box<Reply>),
    /// A part of a file could not be read.
    #[error(transparent)]
    Range(#[from] crate::range::RangeError),
    /// The program could not be run.
    #[error("cannot run {program}: {why}; install trawl beside this program")]
    Program {
        /// The program.
        program: String,
        /// The reason.
        why: String,
    },
    /// Other command lines run for too long.
    #[error(
        "too many questions are being answered, or answers downloaded; ask again when one has ended"
    )]
    Busy,
    /// The answer was lost, or something else went wrong here.
    #[error("{why}")]
    Lost {
        /// The reason.
        why: String,
    },
}

fn lines(reply: &Reply) -> String {
    let lines = reply.issues.iter().map(String::as_str);
    let lines: Vec<&str> = lines.chain(reply.reason.as_deref()).collect();
    lines.join("\n")
}

fn lost(what: &str, why: impl std::fmt::Display) -> Unanswered {
    Unanswered::Lost {
        why: format!("{what}: {why}"),
    }
}

impl Desk {
    /// Makes a desk.
    pub fn new(program: Program, limits: Limits) -> Desk {
        Desk {
            program: Arc::new(program),
            open: Open::default(),
            calls: Arc::new(Semaphore::new(limits.calls)),
            limits,
        }
    }

    /// Returns a desk whose pages have the sizes of these limits. It shares its room for command lines, and
    /// its open answers, with this one.
    pub fn with_pages(&self, pages: &Limits) -> Desk {
        Desk {
            limits: Limits {
                rows_default: pages.rows_default,
                rows_max: pages.rows_max,
                bytes: pages.bytes,
                ..self.limits
            },
            ..self.clone()
        }
    }

    /// Answers a question. `found` counts the rows while they are being found. An answer that is no
    /// longer waited for ends its command.
    ///
    /// # Errors
    /// Says why it is not answered.
    pub async fn answer(&self, ready: &Ready, found: &AtomicU64) -> Result<Answered, Unanswered> {
        let _turn = self.turn().await?;
        match ready {
            Ready::Ask(question) => self.ask(question, found).await,
            Ready::More(more) => self.more(more, found).await,
            Ready::Read(read) => self.read(read).await,
        }
    }

    /// Waits until there is room for one more command line, which it takes until it is dropped.
    ///
    /// # Errors
    /// [`Unanswered::Busy`] if others take the room for too long.
    pub async fn turn(&self) -> Result<OwnedSemaphorePermit, Unanswered> {
        // As long as other calls may take.
        let most = TURN_MAX.max(self.limits.call);
        let room = timeout(most, Arc::clone(&self.calls).acquire_owned()).await;
        room.ok().and_then(Result::ok).ok_or(Unanswered::Busy)
    }

    /// Starts the command line of a question.
    ///
    /// # Errors
    /// Says why it cannot be run.
    pub fn start(&self, question: &Question) -> Result<Running, Unanswered> {
        let started = self.program.start(question, self.limits.bytes);
        started.map_err(|error| Unanswered::Program {
            program: self.program.path.display().to_string(),
            why: cause(&error).to_string(),
        })
    }

    /// Drops the rest of an answer. Returns whether there was one.
    pub fn close(&self, cursor: &str) -> bool {
        self.open.take(cursor).is_some()
    }

    async fn ask(&self, question: &Question, found: &AtomicU64) -> Result<Answered, Unanswered> {
        let answer = Answer::new(self.start(question)?, question.form);
        self.page(answer, question.limit, found).await
    }

    async fn more(&self, more: &More, found: &AtomicU64) -> Result<Answered, Unanswered> {
        let answer = self.open.take(&more.cursor).ok_or(Unanswered::Cursor)?;
        self.page(answer, more.limit, found).await
    }

    /// Gives the next page of an answer, and keeps the answer if more may follow.
    async fn page(
        &self,
        mut answer: Answer,
        limit: Option<u32>,
        found: &AtomicU64,
    ) -> Result<Answered, Unanswered> {
        let bounds = Bounds::of(limit, &self.limits);
        let page = answer.page(bounds, found).await;
        let page = page.map_err(|error| lost("the answer is lost", cause(&error)))?;
        let cursor = match page.end {
            End::Finished(_) => None,
            _ => {
                let kept = self.open.keep(answer, &self.limits);
                let cannot = "the answer cannot be continued";
                Some(kept.map_err(|error| lost(cannot, cause(&error)))?)
            }
        };
        let is_failure = page.is_failure;
        let reply = Reply::of(page, cursor, bounds);
        match is_failure {
            true => Err(Unanswered::Failed(Box::new(reply))),
            false => Ok(Answered::Page(reply)),
        }
    }

    async fn read(&self, read: &Read) -> Result<Answered, Unanswered> {
        let (path, offset, length) = (read.path()?, read.offset, read.length());
        // A file system that does not answer must not stop other calls.
        let work = tokio::task::spawn_blocking(move || crate::range::read(path, offset, length));
        match timeout(self.limits.call, work).await {
            Ok(Ok(range)) => Ok(Answered::Part(range?)),
            Ok(Err(error)) => Err(lost("the file cannot be read", error)),
            Err(_) => Err(lost(
                "the file cannot be read",
                "the file system does not answer in time",
            )),
        }
    }
}
