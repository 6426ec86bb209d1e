//! The socket, the page, and the answers to clients.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags};
use trawl_sys::Errno;
use trawl_sys::message;
use trawl_sys::shared_words::SharedWords;
use trawl_sys::wait::{Waker, readable};
use trawl_table::page;
use trawl_table::wire::{
    Answer, Extent, QUESTION_BYTES_MAX, QUESTION_HEAD_BYTES, Question, STARTED,
};

use crate::cache::{Cache, Sealed};
use crate::config::{Config, Haste};
use crate::error::BulkError;
use crate::peer::Own;
use crate::source::{Begun, Demand};

/// A client that is silent for this long is disconnected.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of clients served at once; others are disconnected and use the file system.
const CLIENTS_MAX: usize = 64;
/// Maximum number of tables that are made in advance at once.
const AHEAD_MAX: usize = 4;
/// Factor by which each further table of a walk grows.
const GROWTH: u32 = 4;

/// The bulk service.
#[derive(Debug)]
pub struct Service;

impl Service {
    /// Starts to serve, on threads of this process, until the result is dropped.
    ///
    /// # Errors
    /// If a root is not a directory, or if the socket or the page cannot be made.
    pub fn start(config: Config) -> Result<Running, BulkError> {
        let roots = roots(&config.roots)?;
        let place = SocketDir::make()?;
        let page = place.page()?;
        let listener = place.listener()?;
        let waker = Arc::new(Waker::new()?);
        let state = Arc::new(State {
            own: Own::new(config.viewers)?,
            roots,
            config,
            page,
            cache: Cache::default(),
            clients: AtomicUsize::new(0),
            answers: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            ahead: AtomicUsize::new(0),
        });
        let (serving, stop) = (Arc::clone(&state), Arc::clone(&waker));
        let accept = move || accept(&serving, &listener, &stop);
        let name = "bulk service".to_owned();
        let thread = std::thread::Builder::new().name(name).spawn(accept);
        Ok(Running {
            state,
            place,
            waker,
            thread: Some(thread.map_err(BulkError::Thread)?),
        })
    }
}

/// A running service; it ends when dropped.
#[derive(Debug)]
pub struct Running {
    state: Arc<State>,
    place: SocketDir,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Returns the variables with which programs must be run, in addition to [`Running::preload`].
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let config = &self.state.config;
        let mut roots = OsString::new();
        for (at, root) in self.state.roots.iter().enumerate() {
            if at > 0 {
                roots.push(":");
            }
            roots.push(root);
        }
        let haste = match config.haste {
            Haste::Patient => "patient",
            Haste::Ready => "ready",
            Haste::Eager => "eager",
        };
        let variables = [
            ("TRAWL_BULK_SOCKET", self.place.socket().into_os_string()),
            ("TRAWL_BULK_PAGE", self.place.page_path().into_os_string()),
            ("TRAWL_BULK_ROOTS", roots),
            (
                "TRAWL_BULK_AGE_MS",
                config.age.as_millis().to_string().into(),
            ),
            ("TRAWL_BULK_ENTRIES", config.entries_max.to_string().into()),
            ("TRAWL_BULK_HASTE", haste.into()),
        ];
        let starts = config.starts.iter();
        let files = starts.map(|starts| ("TRAWL_BULK_FILES", starts.files_min.to_string().into()));
        let variables = variables.into_iter().chain(files);
        let owned = variables.map(|(name, value): (&str, OsString)| (name.into(), value));
        owned.collect()
    }

    /// Returns `LD_PRELOAD` with this library in front of the present value.
    pub fn preload(library: &Path) -> (OsString, OsString) {
        let mut value = library.as_os_str().to_owned();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            value.push(":");
            value.push(others);
        }
        ("LD_PRELOAD".into(), value)
    }

    /// Returns `LD_AUDIT` with this library behind the present value, whose libraries may ask for
    /// other files.
    pub fn audit(library: &Path) -> (OsString, OsString) {
        let others = std::env::var_os("LD_AUDIT").filter(|others| !others.is_empty());
        let mut value = others.map_or_else(OsString::new, |mut others| {
            others.push(":");
            others
        });
        value.push(library);
        ("LD_AUDIT".into(), value)
    }

    /// Returns the number of questions that were answered with a table, and the number of entries
    /// looked at for them.
    pub fn statistics(&self) -> (u64, u64) {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        (read(&self.state.answers), read(&self.state.entries))
    }

    /// Sets the mount and user namespaces that see what the source sees, for
    /// [`Viewers::Elsewhere`](crate::Viewers::Elsewhere).
    pub fn seen_in(&self, mounts: u64, users: u64) {
        self.state.own.seen_in(mounts, users);
    }

    /// Reports a change by a process that does not report its changes.
    pub fn changed(&self) {
        self.state
            .word(page::GENERATION_WORD)
            .fetch_add(1, Ordering::SeqCst);
    }

    /// Marks an open file: its size may change without a call that names it.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn written(&self, file: impl AsFd) -> Result<(), BulkError> {
        let of = trawl_sys::stat::stat_fd(file)?;
        let (word, bit) = page::mark(of.dev.as_u64(), of.ino);
        self.state.word(word).fetch_or(bit, Ordering::SeqCst);
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the covered directories without links and dots.
fn roots(given: &[PathBuf]) -> Result<Vec<PathBuf>, BulkError> {
    let real = |path: &PathBuf| {
        let bad = |why| BulkError::Root {
            path: path.clone(),
            why,
        };
        let real = fs::canonicalize(path).map_err(|source| BulkError::File {
            action: "reach",
            path: path.clone(),
            source,
        })?;
        match real.as_os_str().as_bytes() {
            _ if !real.is_dir() => Err(bad("it is not a directory")),
            bytes if bytes.contains(&b':') => Err(bad("its path contains a colon")),
            _ => Ok(real),
        }
    };
    given.iter().map(real).collect()
}

/// A directory of this user alone, which holds the socket and the page.
#[derive(Debug)]
struct SocketDir(PathBuf);

impl Drop for SocketDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl SocketDir {
    /// Makes the directory, in memory if possible, otherwise where temporary files are.
    fn make() -> Result<SocketDir, BulkError> {
        let own = rustix::process::geteuid().as_raw();
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|dir| {
            fs::metadata(dir).is_ok_and(|of| of.is_dir() && of.uid() == own && dir.is_absolute())
        });
        let places = runtime
            .into_iter()
            .chain(["/dev/shm".into(), std::env::temp_dir()]);
        let mut failed = None;
        for place in places {
            for _ in 0..8 {
                match SocketDir::make_in(&place) {
                    Ok(place) => return Ok(place),
                    Err(error) => failed = Some(error),
                }
            }
        }
        Err(failed.unwrap_or(BulkError::Root {
            path: "/dev/shm".into(),
            why: "no directory is available for the socket",
        }))
    }

    fn make_in(parent: &Path) -> Result<SocketDir, BulkError> {
        let mut random = [0; 8];
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        let name = format!("trawl-bulk-{:016x}", u64::from_ne_bytes(random));
        let path = parent.join(name);
        let failed = |source| BulkError::File {
            action: "make",
            path: path.clone(),
            source,
        };
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(failed)?;
        Ok(SocketDir(path))
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    fn page_path(&self) -> PathBuf {
        self.0.join("page")
    }

    fn page(&self) -> Result<SharedWords, BulkError> {
        let path = self.page_path();
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(|source| BulkError::File {
            action: "make",
            path,
            source,
        })?;
        let page = SharedWords::of(&file, page::WORDS)?;
        page.words()[page::MAGIC_WORD].store(page::MAGIC, Ordering::SeqCst);
        Ok(page)
    }

    fn listener(&self) -> Result<UnixListener, BulkError> {
        let path = self.socket();
        let failed = |source| BulkError::File {
            action: "make the socket",
            path: path.clone(),
            source,
        };
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&path, mode).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(listener)
    }
}

#[derive(Debug)]
struct State {
    own: Own,
    roots: Vec<PathBuf>,
    config: Config,
    page: SharedWords,
    cache: Cache,
    clients: AtomicUsize,
    answers: AtomicU64,
    entries: AtomicU64,
    /// Number of tables being made in advance.
    ahead: AtomicUsize,
}

/// Accepts clients until it is woken.
fn accept(state: &Arc<State>, listener: &UnixListener, stop: &Waker) {
    loop {
        let Ok([has_client, is_over]) = readable([listener.as_fd(), stop.as_fd()], None) else {
            return;
        };
        if is_over {
            return;
        }
        if !has_client {
            continue;
        }
        match listener.accept() {
            Ok((client, _)) => serve(state, client),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            // Too many descriptors, for instance: does not retry at once.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Answers a client on a thread of its own.
fn serve(state: &Arc<State>, client: UnixStream) {
    if state.clients.fetch_add(1, Ordering::SeqCst) >= CLIENTS_MAX {
        state.clients.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let serving = Arc::clone(state);
    let talk = move || {
        let _ = serving.talk(client);
        serving.clients.fetch_sub(1, Ordering::SeqCst);
    };
    if std::thread::Builder::new().spawn(talk).is_err() {
        state.clients.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    fn word(&self, number: usize) -> &AtomicU64 {
        &self.page.words()[number]
    }

    /// Answers one question after the other.
    fn talk(self: &Arc<Self>, mut client: UnixStream) -> std::io::Result<()> {
        client.set_nonblocking(false)?;
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        if !self.own.is_like(&client) {
            let no = Answer::None(Errno::PERM.0.unsigned_abs());
            return client.write_all(&no.encode());
        }
        let mut bytes = [0; QUESTION_BYTES_MAX];
        while let Some(asked) = read_question(&mut client, &mut bytes)? {
            let Asked::Table(question) = asked else {
                self.has_started(&client);
                continue;
            };
            match self.answer(&question) {
                Ok(table) => {
                    let answer = Answer::Table(table.bytes).encode();
                    let memory = Some(table.memory.as_fd());
                    if message::send(&client, &answer, memory, message::Waiting::Allowed).is_err() {
                        return Ok(());
                    }
                }
                Err(errno) => {
                    let errno = errno.0.unsigned_abs();
                    client.write_all(&Answer::None(errno).encode())?;
                }
            }
        }
        Ok(())
    }

    /// Tells of a program's start.
    fn has_started(&self, client: &UnixStream) {
        let peer = rustix::net::sockopt::socket_peercred(client);
        if let (Some(starts), Ok(peer)) = (&self.config.starts, peer) {
            (starts.tell)(peer.pid.as_raw_nonzero().get());
        }
    }

    fn answer(self: &Arc<Self>, question: &Question<'_>) -> Result<Arc<Sealed>, Errno> {
        let is_covered = |path: &[u8]| {
            let is_root = |root: &PathBuf| is_below(path, root.as_os_str().as_bytes());
            self.roots.iter().any(is_root)
        };
        let is_answered = match question.extent {
            Extent::Each => question.path.split(|byte| *byte == b':').all(is_covered),
            _ => is_covered(question.path),
        };
        if !is_answered {
            return Err(Errno::ACCES);
        }
        let demand = Demand {
            path: question.path.to_vec(),
            from: question.from.to_vec(),
            level: question.level,
            extent: question.extent,
            entries_max: question.entries_max.min(self.config.entries_max),
        };
        self.answers.fetch_add(1, Ordering::Relaxed);
        let (generation, since_ns) = (self.generation(), self.since_ns());
        // A table with little remaining time is useless.
        let table = match self.cache.get(&demand, generation, since_ns) {
            Some(table) => table,
            None => self.make(&demand)?,
        };
        if let Some(left_off) = table.left_off.as_ref().filter(|_| !demand.from.is_empty()) {
            self.go_on(Demand {
                from: left_off.clone(),
                entries_max: demand.entries_max.saturating_mul(GROWTH),
                ..demand
            });
        }
        Ok(table)
    }

    /// Makes the table that a walk will ask for next, while the program reads the present one.
    fn go_on(self: &Arc<Self>, mut demand: Demand) {
        demand.entries_max = demand.entries_max.min(self.config.entries_max);
        if self.ahead.fetch_add(1, Ordering::SeqCst) >= AHEAD_MAX || !self.cache.promise(&demand) {
            self.ahead.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let (making, promised) = (Arc::clone(self), demand.clone());
        let make = move || {
            if making.make(&demand).is_err() {
                making.cache.give_up(&demand);
            }
            making.ahead.fetch_sub(1, Ordering::SeqCst);
        };
        if std::thread::Builder::new().spawn(make).is_err() {
            self.cache.give_up(&promised);
            self.ahead.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn generation(&self) -> u64 {
        self.word(page::GENERATION_WORD).load(Ordering::SeqCst)
    }

    /// Returns the earliest begin of a table that may still be given out.
    fn since_ns(&self) -> i64 {
        let age = self.config.age.saturating_sub(self.config.age_left);
        let age_ns = i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
        now_ns().saturating_sub(age_ns)
    }

    /// Makes a table and stores it for others.
    fn make(&self, demand: &Demand) -> Result<Arc<Sealed>, Errno> {
        let (generation, now) = (self.generation(), now_ns());
        let since_ns = self.since_ns();
        let begun = Begun {
            generation,
            since_ns,
        };
        let mut builder = self.config.source.table(demand, begun)?;
        builder.begun(generation, now);
        let begun_ns = builder.begun_ns();
        let entries = builder.len() as u64;
        self.entries.fetch_add(entries, Ordering::Relaxed);
        let left_off = builder.left_off();
        let bytes = builder.finish().ok_or(Errno::OVERFLOW)?;
        let table = Arc::new(Sealed {
            memory: sealed(&bytes)?,
            bytes: bytes.len() as u64,
            generation,
            begun_ns,
            left_off,
        });
        let since_ns = self.since_ns();
        self.cache.put(demand.clone(), Arc::clone(&table), since_ns);
        Ok(table)
    }
}

/// What a client sends.
enum Asked<'a> {
    Table(Question<'a>),
    /// Nothing: it has started.
    Started,
}

fn read_question<'a>(
    client: &mut UnixStream,
    bytes: &'a mut [u8; QUESTION_BYTES_MAX],
) -> std::io::Result<Option<Asked<'a>>> {
    let mut head = [0; QUESTION_HEAD_BYTES];
    client.read_exact(&mut head)?;
    if head == STARTED {
        return Ok(Some(Asked::Started));
    }
    let Some(length) = Question::length(&head) else {
        return Ok(None);
    };
    bytes[..QUESTION_HEAD_BYTES].copy_from_slice(&head);
    client.read_exact(&mut bytes[QUESTION_HEAD_BYTES..length])?;
    Ok(Question::decode(&bytes[..length]).map(Asked::Table))
}

/// Returns whether a path is a root or lies below it, without dots or double slashes.
fn is_below(path: &[u8], root: &[u8]) -> bool {
    let rest = match root {
        b"/" => Some(path),
        root => path.strip_prefix(root),
    };
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    let is_plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
    let mut names = path.split(|byte| *byte == b'/').skip(1);
    rest.is_some() && path.starts_with(b"/") && (path == b"/" || names.all(is_plain))
}

fn now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// Returns sealed memory with these bytes, which nobody can change any more.
fn sealed(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create(c"trawl-table", flags).map_err(Errno::from)?;
    let mut file = File::from(memory);
    let failed = |error: std::io::Error| Errno(error.raw_os_error().unwrap_or(Errno::NOMEM.0));
    file.write_all(bytes).map_err(failed)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).map_err(Errno::from)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_below_a_root_are_covered() {
        for (path, root, covered) in [
            ("/a/b", "/a", true),
            ("/a", "/a", true),
            ("/ab", "/a", false),
            ("/", "/", true),
            ("/x", "/", true),
            ("/a/../b", "/a", false),
            ("/a//b", "/a", false),
            ("/a/", "/a", false),
            ("a", "/", false),
        ] {
            assert_eq!(
                is_below(path.as_bytes(), root.as_bytes()),
                covered,
                "{path} {root}"
            );
        }
    }
}
