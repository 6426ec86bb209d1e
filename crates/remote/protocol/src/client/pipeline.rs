//! Many `fetch` requests at once on one connection.
//!
//! A thread connects, receives, and gives each answer to whoever asked; requests are sent by the
//! threads that make them. The server says how many requests it accepts at once; further ones wait
//! here.
//!
//! Invariants: each request is answered exactly once, whatever the server does, and never from
//! within [`Pipeline::fetch`] while the server works; a request is sent at most twice, on two
//! connections; the memory for an answer is bounded by its request. A server that cannot be
//! reached, or is silent for too long, is left alone for a while: meanwhile requests fail at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use trawl_model::operation::{Begun, Operation};
use trawl_model::sync::{lock, wait};

use super::connection::{Event, Sender, framed, greeting};
use super::{Connection, Fetched, Inner, Remote};
use crate::error::RemoteError;
use crate::messages::{Ask, ByteRange, Code, Data, End, Ending, FetchRequest, Message};
use crate::server::PATH_MAX_BYTES;
use crate::wire::BadFrame;

/// What is called with the answer to a request, on the thread that receives: it must not block.
/// Several requests may share an error.
pub type Done = Box<dyn FnOnce(Result<Fetched, Arc<RemoteError>>) + Send>;

/// Interval of checks whether the pipeline was closed.
const LOOK: Duration = Duration::from_millis(100);
/// Number of requests that are sent before the server has said how many it accepts.
const FIRST: usize = 4;
/// Maximum number of requests in flight. All of them fit into a socket's buffer, so that sending
/// never waits for the server.
const MOST: usize = 32;
/// Number of times that a request is sent.
const TRIES: u8 = 2;
/// How long a server that cannot be reached is left alone at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// A connection that carries many requests at once. Clones are the same pipeline; it is closed when
/// the last one is dropped.
#[derive(Clone)]
pub struct Pipeline(Arc<Handle>);

struct Handle(Arc<Shared>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Shared {
    server: Arc<Inner>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Requests that were not sent yet.
    waiting: VecDeque<Job>,
    /// Requests that were sent, by number.
    running: HashMap<u32, Job>,
    /// The sending half, while there is a connection.
    sender: Option<Sender>,
    /// Maximum number of requests in flight.
    allowed: usize,
    /// Number of the last request.
    id: u32,
    is_closed: bool,
    has_thread: bool,
    /// Until when requests fail at once, and why.
    down: Option<(Instant, Arc<RemoteError>)>,
    /// Length of the last pause.
    pause: Duration,
}

/// A request and what has arrived of its answer.
struct Job {
    request: FetchRequest,
    bytes: Vec<u8>,
    tries: u8,
    done: Done,
    begun: Begun,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pipeline")
            .field(&self.0.0.server.address)
            .finish()
    }
}

impl Pipeline {
    /// Creates a pipeline to this server, with a connection of its own. It does not connect yet.
    pub fn new(remote: &Remote) -> Pipeline {
        Pipeline(Arc::new(Handle(Arc::new(Shared {
            server: Arc::clone(&remote.0),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))))
    }

    /// Reads bytes of a regular file, at most 1 MiB, as [`Remote::fetch`] does. Returns at once;
    /// `done` gets the answer.
    pub fn fetch(&self, path: &[u8], offset: u64, length: u32, done: Done) {
        let shared = &self.0.0;
        let (path, path_bytes) = (path.to_vec(), path.len());
        let job = Job {
            request: FetchRequest(ByteRange {
                offset,
                length,
                path,
            }),
            bytes: Vec::new(),
            tries: 0,
            done,
            begun: Operation::AskFetch.begin(),
        };
        let refused = {
            let mut state = lock(&shared.state);
            // A longer path would be refused; requests must fit into the socket's buffer.
            let too_long = (path_bytes > PATH_MAX_BYTES).then(|| {
                Arc::new(RemoteError::TooLong {
                    bytes: path_bytes,
                    most: PATH_MAX_BYTES,
                })
            });
            match too_long.or_else(|| shared.refusal(&mut state)) {
                Some(error) => Some((job, error)),
                None => {
                    state.waiting.push_back(job);
                    shared.send_waiting(&mut state);
                    shared.changed.notify_all();
                    None
                }
            }
        };
        if let Some((job, error)) = refused {
            (job.done)(Err(error));
        }
    }

    /// Ends all requests with [`RemoteError::Cancelled`], now and later, and disconnects soon.
    pub fn close(&self) {
        self.0.0.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns why a request cannot be taken. Starts the thread if there is none.
    fn refusal(self: &Arc<Shared>, state: &mut State) -> Option<Arc<RemoteError>> {
        if state.is_closed {
            return Some(Arc::new(self.cancelled()));
        }
        if let Some((until, why)) = &state.down {
            if Instant::now() < *until {
                return Some(Arc::clone(why));
            }
            state.down = None;
        }
        if state.has_thread {
            return None;
        }
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name("fetch".to_owned());
        match thread.spawn(move || shared.work()) {
            Ok(_) => {
                state.has_thread = true;
                None
            }
            Err(source) => Some(Arc::new(RemoteError::Connect {
                server: self.server.address.to_string(),
                source,
            })),
        }
    }

    fn cancelled(&self) -> RemoteError {
        RemoteError::Cancelled {
            server: self.server.address.to_string(),
        }
    }

    fn close(&self) {
        let jobs = {
            let mut state = self.lock();
            state.is_closed = true;
            state.sender = None;
            self.changed.notify_all();
            state.take_all()
        };
        fail(jobs, Arc::new(self.cancelled()));
    }

    /// Sends requests while there is a connection and the server accepts them.
    fn send_waiting(&self, state: &mut State) {
        let Some(sender) = state.sender.clone() else {
            return;
        };
        let mut bytes = Vec::new();
        while state.running.len() < state.allowed
            && let Some(mut job) = state.waiting.pop_front()
        {
            state.id = state.id.checked_add(1).unwrap_or(1);
            // A frame holds any path that `fetch` takes.
            if let Ok(frame) = framed(&job.request, state.id) {
                bytes.extend_from_slice(&frame);
            }
            job.tries += 1;
            job.bytes.clear();
            state.running.insert(state.id, job);
        }
        if !bytes.is_empty() {
            // If it cannot be sent, receiving fails, too.
            let _ = sender.send(&bytes);
        }
    }

    /// Connects and receives, until the pipeline is closed.
    fn work(&self) {
        let mut connection: Option<Connection> = None;
        while self.is_wanted() {
            let begun = Instant::now();
            let mut open = match connection.take() {
                Some(open) => open,
                None => match self.connect() {
                    Ok(open) => open,
                    Err(error) => {
                        self.leave_alone(error, begun.elapsed());
                        continue;
                    }
                },
            };
            match self.receive(&mut open) {
                Ok(()) => connection = Some(open),
                // It refuses the connection itself: the next one would be refused, too.
                Err(error @ RemoteError::Refused { .. }) => self.leave_alone(error, Duration::ZERO),
                Err(error) => self.lost(error),
            }
        }
    }

    /// Waits until there are requests; returns false once the pipeline is closed.
    fn is_wanted(&self) -> bool {
        let mut state = self.lock();
        while !state.is_closed && state.waiting.is_empty() && state.running.is_empty() {
            state = wait(&self.changed, state);
        }
        !state.is_closed
    }

    fn connect(&self) -> Result<Connection, RemoteError> {
        let connection = Connection::open(&self.server.address, self.server.patience.silence)?;
        let sender = connection.sender();
        // If it cannot be sent, receiving fails, too.
        let _ = sender.send(&greeting());
        let mut state = self.lock();
        if !state.is_closed {
            state.sender = Some(sender);
            state.allowed = FIRST;
            self.send_waiting(&mut state);
        }
        Ok(connection)
    }

    /// Receives until no request is left, or the pipeline is closed.
    fn receive(&self, connection: &mut Connection) -> Result<(), RemoteError> {
        let mut since = Instant::now();
        let silence = self.server.patience.silence;
        loop {
            let event = connection.event(LOOK.min(silence))?;
            if matches!(event, Event::Nothing) {
                let state = self.lock();
                if state.is_closed || (state.running.is_empty() && state.waiting.is_empty()) {
                    return Ok(());
                }
                if since.elapsed() >= silence {
                    return Err(connection.silent(silence));
                }
                continue;
            }
            since = Instant::now();
            match event {
                Event::Nothing => {}
                Event::Sign => self.greeted(connection),
                Event::Refused(id, error) => self.refused(id, error),
                Event::Answer(id, message) => self.answered(id, message).map_err(|bad| {
                    let error = connection.nonsense(bad);
                    self.end(id, Err(Arc::new(connection.nonsense(bad))));
                    error
                })?,
            }
            let state = self.lock();
            if state.is_closed || (state.running.is_empty() && state.waiting.is_empty()) {
                return Ok(());
            }
        }
    }

    /// Notes how many requests the server accepts.
    fn greeted(&self, connection: &Connection) {
        if let Some(requests) = connection.requests() {
            let mut state = self.lock();
            state.allowed = (requests as usize).clamp(1, MOST);
            self.send_waiting(&mut state);
        }
    }

    /// Ends a request, and sends those that may be sent now.
    fn end(&self, id: u32, answer: Result<Fetched, Arc<RemoteError>>) {
        let job = {
            let mut state = self.lock();
            let job = state.running.remove(&id);
            self.send_waiting(&mut state);
            job
        };
        if let Some(job) = job {
            job.begun.end();
            (job.done)(answer);
        }
    }

    fn refused(&self, id: u32, error: RemoteError) {
        let error = match error {
            RemoteError::Refused {
                code: Code::Busy, ..
            } => {
                let mut state = self.lock();
                // With other requests running, one of them leaves its turn to this one.
                if state.running.len() > 1
                    && let Some(mut job) = state.running.remove(&id)
                {
                    state.allowed = state.running.len();
                    job.tries -= 1;
                    state.waiting.push_front(job);
                    return;
                }
                error
            }
            RemoteError::Refused {
                code: Code::Unsupported,
                server,
                ..
            } => RemoteError::Lacks {
                server,
                what: "versions of contents",
            },
            error => error,
        };
        self.end(id, Err(Arc::new(error)));
    }

    /// Takes a part of an answer.
    fn answered(&self, id: u32, message: Message) -> Result<(), BadFrame> {
        let mut state = self.lock();
        let Some(job) = state.running.get_mut(&id) else {
            // After the pipeline was closed nobody waits for answers.
            return match state.is_closed {
                true => Ok(()),
                false => Err(BadFrame::Field("number of the request")),
            };
        };
        match message {
            Message::Data(Data(data)) => {
                let most = job.request.most_bytes(&self.server.patience);
                if job.bytes.len() + data.len() > most {
                    return Err(BadFrame::Field("length of the answer"));
                }
                match job.bytes.is_empty() {
                    true => job.bytes = data,
                    false => job.bytes.extend_from_slice(&data),
                }
                Ok(())
            }
            Message::End(End {
                records,
                ending: Ending::Whole,
            }) if records == job.bytes.len() as u64 => {
                let fetched = job.request.answer(std::mem::take(&mut job.bytes))?;
                state.pause = Duration::ZERO;
                drop(state);
                self.end(id, Ok(fetched));
                Ok(())
            }
            _ => Err(BadFrame::Field("end")),
        }
    }

    /// Deals with the requests of a connection that is gone.
    fn lost(&self, error: RemoteError) {
        if matches!(error, RemoteError::Silent { .. }) {
            return self.leave_alone(error, self.server.patience.silence);
        }
        let is_break = error.is_break();
        let failed = {
            let mut state = self.lock();
            state.sender = None;
            let mut jobs: Vec<(u32, Job)> = state.running.drain().collect();
            jobs.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
            let mut failed = Vec::new();
            for (_, job) in jobs {
                match is_break && job.tries < TRIES {
                    true => state.waiting.push_front(job),
                    false => failed.push(job),
                }
            }
            failed
        };
        fail(failed, Arc::new(error));
    }

    /// Fails all requests, and for a while those that come: at least for as long as it took to see
    /// that the server does not answer.
    fn leave_alone(&self, error: RemoteError, took: Duration) {
        let error = Arc::new(error);
        let jobs = {
            let mut state = self.lock();
            state.sender = None;
            let (first, most) = PAUSES;
            state.pause = (state.pause * 2).clamp(first, most).max(took);
            state.down = Some((Instant::now() + state.pause, Arc::clone(&error)));
            state.take_all()
        };
        fail(jobs, error);
    }
}

impl State {
    fn take_all(&mut self) -> Vec<Job> {
        let running = self.running.drain().map(|(_, job)| job);
        running.chain(self.waiting.drain(..)).collect()
    }
}

fn fail(jobs: Vec<Job>, error: Arc<RemoteError>) {
    for job in jobs {
        (job.done)(Err(Arc::clone(&error)));
    }
}
