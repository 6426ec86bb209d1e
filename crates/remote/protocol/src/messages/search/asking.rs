//! The answer to a search, resumed on a new connection where one breaks.

use std::sync::Arc;

use trawl_call::options::Flags;
use trawl_call::packed::decode;
use trawl_call::{Block, CallError, Cookie, Request, ServedBy, Stream};
use trawl_model::operation::{Begun, Operation};
use trawl_model::relative_path::join;

use super::{Question, QuestionRoot};
use crate::client::{Connection, Inner};
use crate::error::RemoteError;
use crate::messages::contents::Sink;
use crate::messages::fetch::version::Version;
use crate::messages::{
    Answerer, Block as Records, Code, Content, Contents, ContentsWish, Credit, End, Ending,
    Interrupt, Message, SearchContents, feature,
};
use crate::wire::BadFrame;

/// The answer to a search.
pub(crate) struct RemoteStream {
    remote: Arc<Inner>,
    request: Request,
    /// The connection; `None` at the end.
    connection: Option<Connection>,
    /// Number of the request on this connection.
    id: u32,
    /// Position after the last record received.
    place: Cookie,
    /// Number of records received on this connection.
    records: u64,
    /// Whether the connection had carried no request before this one.
    is_new: bool,
    /// Number of bytes received since credit was last granted.
    taken: u32,
    /// The source of the records, as reported by the server.
    served_by: ServedBy,
    /// Which contents are taken, and where they go; `None` once none are.
    contents: Option<(ContentsWish, Sink)>,
    /// The operation, until the answer is complete.
    begun: Option<Begun>,
}

impl From<RemoteError> for CallError {
    fn from(error: RemoteError) -> CallError {
        CallError::Remote(Box::new(error))
    }
}

impl RemoteStream {
    pub(in crate::messages) fn begin(
        remote: Arc<Inner>,
        request: Request,
        contents: Option<(ContentsWish, Sink)>,
    ) -> Result<RemoteStream, RemoteError> {
        let place = match request.resume() {
            Some(cookie) => cookie.clone(),
            None => Cookie::begin(&request),
        };
        let operation = match contents {
            Some(_) => Operation::AskSearchContents,
            None => Operation::AskSearch,
        };
        let mut stream = RemoteStream {
            begun: Some(operation.begin()),
            remote,
            request,
            connection: None,
            id: 0,
            place,
            records: 0,
            is_new: true,
            taken: 0,
            served_by: ServedBy::Remote,
            contents,
        };
        let connection = stream.remote.connection()?;
        stream.ask(connection)?;
        Ok(stream)
    }

    /// Requests the part of the answer after the last record received.
    fn ask(&mut self, mut connection: Connection) -> Result<(), RemoteError> {
        self.is_new = connection.is_new();
        self.records = 0;
        self.taken = 0;
        self.served_by = ServedBy::Remote;
        let question = self.question();
        let is_known = connection.features().is_none() || connection.can(feature::CONTENTS);
        self.id = match &self.contents {
            Some((wish, _)) if is_known => connection.request(&SearchContents {
                wish: *wish,
                question,
            })?,
            _ => connection.request(&question)?,
        };
        self.connection = Some(connection);
        Ok(())
    }

    fn question(&self) -> Question {
        let options = self.request.options();
        let mut question = Question {
            flags: 0,
            max_depth: u32::try_from(options.max_depth).unwrap_or(u32::MAX),
            credit: self.remote.patience.credit,
            cookie: self.place.to_bytes(),
            patterns: Vec::new(),
            roots: Vec::new(),
        };
        for root in self.request.roots() {
            question.flags = Flags::of(root.pattern().language(), options).0;
            let text = root.pattern().to_text();
            let known = question.patterns.iter().rposition(|known| *known == text);
            let pattern = known.unwrap_or_else(|| {
                question.patterns.push(text);
                question.patterns.len() - 1
            });
            question.roots.push(QuestionRoot {
                pattern: u32::try_from(pattern).unwrap_or(u32::MAX),
                number: root.number(),
                path: root.path().to_vec(),
                shown: root.shown().to_vec(),
                prefix: root.prefix().to_vec(),
                skip: root.skip().to_vec(),
            });
        }
        question
    }

    /// Returns the next message of the answer.
    fn next_message(&mut self) -> Result<Option<Message>, CallError> {
        let silence = self.remote.patience.silence;
        let Some(connection) = &mut self.connection else {
            return Ok(None);
        };
        let cancel = self.request.cancel();
        let mut is_cancelled = false;
        let mut look = || {
            is_cancelled = cancel.is_cancelled();
            match is_cancelled {
                // This error only leaves the wait.
                true => Err(RemoteError::Client { why: String::new() }),
                false => Ok(()),
            }
        };
        match connection.answer(self.id, silence, &mut look) {
            Ok(message) => Ok(Some(message)),
            Err(_) if is_cancelled => {
                self.interrupt();
                Err(CallError::Cancelled)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Cancels the work on the server.
    fn interrupt(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            let _ = connection.say(self.id, &Interrupt);
        }
    }

    /// Checks and counts received records.
    fn take(&mut self, packed: &[u8]) -> Result<(), BadFrame> {
        let (mut rest, mut last) = (packed, None);
        while !rest.is_empty() {
            let (record, length) = decode(rest).map_err(|_| BadFrame::Field("record"))?;
            let root = self.request.root(record.root);
            let root = root.ok_or(BadFrame::Field("record's root"))?;
            // Programs are given the paths, and act on them here.
            if !self.request.can_have(root, record.path) {
                return Err(BadFrame::Field("record's path"));
            }
            self.records += 1;
            last = Some(record);
            rest = &rest[length..];
        }
        let last = last.ok_or(BadFrame::Field("block"))?;
        let before = self.place.clone();
        self.place.advance(&self.request, &last);
        // Otherwise a server that begins again and again would be asked forever.
        match self.place.is_behind(&before) {
            true => Ok(()),
            false => Err(BadFrame::Field("order of records")),
        }
    }

    /// Checks contents, and gives them to whoever wants them.
    fn take_contents(&mut self, items: Vec<Content>) -> Result<usize, BadFrame> {
        let bad = BadFrame::Field("content");
        let (wish, sink) = self.contents.as_mut().ok_or(bad)?;
        let mut taken = 0;
        for item in items {
            let root = self.request.root(item.root).ok_or(bad)?;
            if !self.request.can_have(root, &item.path) {
                return Err(bad);
            }
            let size = item.content.len();
            taken += size + item.path.len();
            let (version, start) = Version::decode(&item.content)?;
            let bytes = item.content[start..].to_vec();
            if bytes.len() as u64 != version.attributes.size
                || bytes.len() > wish.file_bytes as usize
                || bytes.len() as u64 > wish.all_bytes
            {
                return Err(bad);
            }
            wish.all_bytes = wish.all_bytes.saturating_sub(size as u64);
            let below = join(root.prefix(), self.request.unspell(root, &item.path));
            let slash: &[u8] = match below.is_empty() || root.shown().ends_with(b"/") {
                true => b"",
                false => b"/",
            };
            sink([root.shown(), slash, &below].concat(), version, bytes);
        }
        Ok(taken)
    }

    /// Searches without contents, at a server that knows no contents. Returns the error if that is
    /// not the reason.
    fn do_without(&mut self, error: CallError) -> Result<(), CallError> {
        let is_reason = |error: &RemoteError| {
            matches!(
                error,
                RemoteError::Refused {
                    code: Code::Unsupported,
                    ..
                }
            )
        };
        let is_unknown = match &error {
            CallError::Remote(error) => error.downcast_ref().is_some_and(is_reason),
            _ => false,
        };
        match (is_unknown, self.contents.is_some(), self.connection.take()) {
            (true, true, Some(connection)) => {
                self.contents = None;
                Ok(self.ask(connection)?)
            }
            (_, _, connection) => {
                self.connection = connection;
                Err(error)
            }
        }
    }

    /// Grants more credit once half of the bytes in flight have been received.
    fn allow_more(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.taken = self.taken.saturating_add(bytes);
        if self.taken >= self.remote.patience.credit / 2
            && let Some(connection) = &mut self.connection
        {
            let more = std::mem::take(&mut self.taken);
            // If this cannot be sent, receiving the next message fails, too.
            let _ = connection.say(self.id, &Credit(more));
        }
    }

    /// Resumes after a break, unless the last attempt brought no record.
    fn go_on(&mut self, error: CallError) -> Result<(), CallError> {
        let is_break = match &error {
            CallError::Remote(error) => error
                .downcast_ref::<RemoteError>()
                .is_some_and(RemoteError::is_break),
            _ => false,
        };
        self.connection = None;
        if !is_break || (self.records == 0 && self.is_new) {
            return Err(error);
        }
        let connection = Connection::open(&self.remote.address, self.remote.patience.silence)?;
        Ok(self.ask(connection)?)
    }

    fn nonsense(&self, source: BadFrame) -> CallError {
        let server = self.remote.address.to_string();
        RemoteError::Nonsense { server, source }.into()
    }
}

impl Stream for RemoteStream {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        loop {
            if self.request.cancel().is_cancelled() {
                self.interrupt();
                return Err(CallError::Cancelled);
            }
            let message = match self.next_message() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(None),
                Err(error) => {
                    if let Err(error) = self.do_without(error) {
                        self.go_on(error)?;
                    }
                    continue;
                }
            };
            match message {
                Message::ServedBy(Answerer::Live) => self.served_by = ServedBy::RemoteLive,
                Message::ServedBy(Answerer::Index) => self.served_by = ServedBy::RemoteIndex,
                Message::Contents(Contents(items)) => match self.take_contents(items) {
                    Ok(bytes) => self.allow_more(bytes),
                    Err(bad) => {
                        self.connection = None;
                        return Err(self.nonsense(bad));
                    }
                },
                Message::Block(Records(packed)) => {
                    if let Err(bad) = self.take(&packed) {
                        self.connection = None;
                        return Err(self.nonsense(bad));
                    }
                    self.allow_more(packed.len());
                    let served_by = self.served_by;
                    return Ok(Some(Block { served_by, packed }));
                }
                Message::End(End { records, ending }) if records == self.records => {
                    let connection = self.connection.take();
                    match (ending, connection) {
                        (Ending::Whole, Some(connection)) => {
                            self.remote.keep(connection);
                            if let Some(begun) = self.begun.take() {
                                begun.end();
                            }
                        }
                        // The server paused because this end did not read for too long.
                        (Ending::Paused(_), Some(connection)) if self.records > 0 => {
                            self.ask(connection)?;
                            continue;
                        }
                        _ => return Err(self.nonsense(BadFrame::Field("end"))),
                    }
                }
                _ => {
                    self.connection = None;
                    return Err(self.nonsense(BadFrame::Field("end")));
                }
            }
        }
    }
}

impl Drop for RemoteStream {
    fn drop(&mut self) {
        self.interrupt();
    }
}
