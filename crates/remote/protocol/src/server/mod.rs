//! Serves one connection, as the user that this process runs as.
//!
//! One thread reads frames; each request has its own thread, which sends whole frames. Memory is
//! bounded by the maximum length of a client's frame, by the number of requests, and by the credit
//! of each request: beyond its credit nothing is searched or sent. A client that reads nothing for
//! too long first loses its request (which it can resume) and then its connection.

mod job;
mod outlet;

use std::collections::HashMap;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_call::Executor;
use trawl_model::operation::Operation;
use trawl_model::sync::lock;

use crate::error::RemoteError;
use crate::exports::Exports;
use crate::frames::{Came, FrameError, FrameReader};
use crate::listen::Greeting;
use crate::measured;
use crate::messages::{Alive, Arrived, Code, End, Hello, Message, Refusal, Serve, feature};
use crate::transport::Transport;
use crate::wire::{BadFrame, Frame, REQUEST_MAX_BYTES, VERSION};

pub(crate) use job::{BLOCK_BYTES, Job, PATH_MAX_BYTES};
use outlet::Outlet;
pub(crate) use outlet::{Leave, Task};

/// How often a waiting client is told that work continues.
const ALIVE: Duration = Duration::from_secs(10);

/// Longest wait between two checks whether a connection has become idle.
const LOOK: Duration = Duration::from_millis(50);

/// Limits for one client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of concurrent requests.
    pub requests: NonZeroU32,
    /// Maximum time for a frame to arrive, and for the first frame to come.
    pub half_frame: Duration,
    /// Maximum time for which a client may read nothing.
    pub stall: Duration,
    /// Maximum number of directories that are watched for the client; 0 disables watching.
    pub directories: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests: NonZeroU32::MIN.saturating_add(15),
            half_frame: Duration::from_secs(30),
            stall: Duration::from_secs(60),
            directories: 64 << 10,
        }
    }
}

/// The configuration of a server.
#[derive(Clone)]
pub struct Serving {
    /// The exported trees.
    pub exports: Exports,
    /// The executor that answers searches.
    pub executor: Arc<dyn Executor>,
    /// Limits for each client.
    pub limits: Limits,
    /// Delay before each request is begun, to simulate a distant client.
    pub delay: Duration,
    /// What answers command lines; `None` if they are not answered.
    pub commands: Option<Arc<Commands>>,
}

/// The program that answers command lines.
///
/// It gets its words, then the client's words, and its variables, with those of
/// [`VARIABLES`](crate::messages::command::VARIABLES) that the client sent. It runs as the user that
/// this process runs as, without standard input. It must refuse what a client may not do.
#[derive(Clone, Debug)]
pub struct Commands {
    /// The program.
    pub program: PathBuf,
    /// The words before the client's.
    pub words: Vec<OsString>,
    /// Environment variables, to which those of the client are added.
    pub variables: Vec<(OsString, OsString)>,
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serving")
            .field("exports", &self.exports)
            .field("limits", &self.limits)
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

/// Serves a client until it disconnects.
///
/// # Errors
/// Fails if the client violates the protocol, reads nothing for too long, or the connection breaks.
/// All its requests are cancelled then.
pub fn serve(transport: Transport, serving: &Serving) -> Result<(), RemoteError> {
    serve_until(transport, serving, Greeting::Due, None).map(drop)
}

/// Why serving a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServingEnd {
    /// The client is gone.
    Gone,
    /// The client has no requests; a client with these features can be served again later.
    Idle(u64),
}

/// Serves a client until it disconnects, or has no requests for `linger`.
pub(crate) fn serve_for_now(
    socket: OwnedFd,
    serving: &Serving,
    greeting: Greeting,
    linger: Duration,
) -> Result<ServingEnd, RemoteError> {
    let transport = Transport::over_socket(socket).map_err(client)?;
    serve_until(transport, serving, greeting, Some(linger))
}

fn serve_until(
    transport: Transport,
    serving: &Serving,
    greeting: Greeting,
    linger: Option<Duration>,
) -> Result<ServingEnd, RemoteError> {
    let half_frame = serving.limits.half_frame;
    let mut reader = FrameReader::new(transport.receive, REQUEST_MAX_BYTES, half_frame);
    let mut connection = Connection {
        outlet: Arc::new(Outlet::new(transport.transmit, serving.limits.stall)),
        serving: serving.clone(),
        tasks: Arc::default(),
        threads: Vec::new(),
        linger,
    };
    connection.outlet.set_features(greeting.features());
    let served = connection.serve(&mut reader, greeting);
    if let Err(error) = &served {
        connection
            .outlet
            .refuse(0, Code::Malformed, &error.to_string());
    }
    served
}

type Tasks = Mutex<HashMap<u32, Arc<Task>>>;

struct Connection {
    outlet: Arc<Outlet>,
    serving: Serving,
    tasks: Arc<Tasks>,
    threads: Vec<JoinHandle<()>>,
    /// A connection without requests for this long is given back.
    linger: Option<Duration>,
}

impl Drop for Connection {
    /// Cancels all requests: nobody reads their answers any more.
    fn drop(&mut self) {
        for task in self.tasks().values() {
            task.interrupt();
        }
        self.join();
    }
}

fn client(why: impl ToString) -> RemoteError {
    RemoteError::Client {
        why: why.to_string(),
    }
}

impl From<FrameError> for RemoteError {
    fn from(error: FrameError) -> RemoteError {
        client(error)
    }
}

impl From<BadFrame> for RemoteError {
    fn from(error: BadFrame) -> RemoteError {
        client(error)
    }
}

impl Connection {
    fn tasks(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Arc<Task>>> {
        lock(&self.tasks)
    }

    fn serve(
        &mut self,
        reader: &mut FrameReader,
        greeting: Greeting,
    ) -> Result<ServingEnd, RemoteError> {
        if greeting == Greeting::Due && !self.greet(reader)? {
            return Ok(ServingEnd::Gone);
        }
        let mut said = Instant::now();
        let mut wait = self.linger.unwrap_or(ALIVE);
        loop {
            let came = reader.next(wait)?;
            wait = match (self.linger, &came) {
                // The longer a request takes, the less often the connection is checked.
                (Some(_), Came::Nothing) => (wait * 2).min(LOOK),
                (linger, _) => linger.unwrap_or(ALIVE),
            };
            if self.outlet.is_broken() {
                return Err(client("it does not read its answers"));
            }
            let is_quiet = came == Came::Nothing && self.tasks().is_empty();
            if self.linger.is_some() && is_quiet && reader.is_between() {
                // When the threads have ended, their last frames have been sent.
                self.join();
                return Ok(ServingEnd::Idle(self.outlet.features()));
            }
            match came {
                Came::End => return Ok(ServingEnd::Gone),
                Came::Nothing if is_quiet || said.elapsed() < ALIVE => {}
                Came::Nothing => {
                    said = Instant::now();
                    self.outlet.say(0, &Alive);
                }
                Came::Frame(frame) => self.follow(frame)?,
            }
        }
    }

    /// Waits for all threads.
    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }

    /// Exchanges hellos. Returns false if the client disconnected, or was told that it speaks
    /// another version.
    fn greet(&self, reader: &mut FrameReader) -> Result<bool, RemoteError> {
        let until = Instant::now() + self.serving.limits.half_frame;
        let left = until.saturating_duration_since(Instant::now());
        let frame = match reader.next(left)? {
            Came::Frame(frame) => frame,
            Came::End => return Ok(false),
            Came::Nothing => return Err(client("it did not send a hello")),
        };
        let Message::Hello(hello) = Message::decode(frame)? else {
            return Err(client("it did not send a hello"));
        };
        self.outlet.set_features(hello.features);
        let ours = Hello {
            lowest: VERSION,
            highest: VERSION,
            requests: self.serving.limits.requests.get(),
            features: feature::ALL,
        };
        self.outlet.say(0, &ours);
        let is_common = (hello.lowest..=hello.highest).contains(&VERSION);
        if !is_common {
            let text = format!("this server speaks version {VERSION}");
            self.outlet.refuse(0, Code::Version, &text);
        }
        Ok(is_common)
    }

    fn follow(&mut self, frame: Frame) -> Result<(), RemoteError> {
        let id = frame.id;
        let message = match Message::decode(frame) {
            Ok(message) => message,
            // Later versions may have more kinds of requests.
            Err(error @ BadFrame::Kind(_)) => {
                self.outlet
                    .refuse(id, Code::Unsupported, &error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let name = message.name();
        let running = self.tasks().get(&id).cloned();
        match (message.arrived(), running) {
            (Arrived::Request(request), Some(running)) => request.join(&running)?,
            (Arrived::Request(request), None) => self.begin(id, name, request)?,
            (Arrived::About(message), Some(running)) => message.steer(&running),
            (Arrived::About(_), None) => {}
            (Arrived::Unexpected, _) => return Err(BadFrame::Unexpected(name).into()),
        }
        Ok(())
    }

    fn begin(
        &mut self,
        id: u32,
        name: &'static str,
        request: Box<dyn Serve>,
    ) -> Result<(), RemoteError> {
        if id == 0 {
            return Err(BadFrame::Field("number of the request").into());
        }
        if self.tasks().len() >= self.serving.limits.requests.get() as usize {
            let text = "there are too many requests at once";
            self.outlet.refuse(id, Code::Busy, text);
            return Ok(());
        }
        self.threads.retain(|thread| !thread.is_finished());
        let task = Arc::new(Task::new(&*request));
        self.tasks().insert(id, Arc::clone(&task));
        let (outlet, tasks) = (Arc::clone(&self.outlet), Arc::clone(&self.tasks));
        let serving = self.serving.clone();
        let work = move || {
            let measured = measured::serving(name);
            let last = answer(&serving, &outlet, &task, (id, measured, request));
            let mut tasks = lock(&tasks);
            tasks.remove(&id);
            drop(tasks);
            match last {
                Ok(end) => outlet.say(id, &end),
                Err(refusal) => outlet.say(id, &refusal),
            }
        };
        let name = format!("request-{id}");
        match std::thread::Builder::new().name(name).spawn(work) {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                self.tasks().remove(&id);
                let text = format!("cannot begin: {error}");
                self.outlet.refuse(id, Code::Busy, &text);
            }
        }
        Ok(())
    }
}

/// Answers a request, and returns the final message.
fn answer(
    serving: &Serving,
    outlet: &Outlet,
    task: &Task,
    (id, measured, request): (u32, Option<Operation>, Box<dyn Serve>),
) -> Result<End, Refusal> {
    if !serving.delay.is_zero() {
        std::thread::sleep(serving.delay);
    }
    let _span = measured.map(Operation::span);
    request.serve(&Job {
        serving,
        outlet,
        task,
        id,
    })
}
