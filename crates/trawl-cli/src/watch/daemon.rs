//! The daemon: one engine and one socket for each source, until a signal asks it to stop.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_apply::Note;
use trawl_format::{IndexDir, Listener, SnapshotId, Source, Watching};
use trawl_live::Crossing;
use trawl_model::path;
use trawl_serve::manager::Manager;
use trawl_serve::{Engine, Level, Listening, Opener, Parts, ServeError, Server, Start};
use trawl_sys::signal::{self, StopSignals};
use trawl_sys::wait::{self, Waker};
use trawl_sys::{SysError, inherited};

use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::IndexArgs;
use crate::settings;
use crate::watch::WatchArgs;
use crate::watch::checkpoint::Policy;
use crate::watch::journal::Journal;
use crate::watch::moments::{self, Moments};
use crate::watch::open::{Chosen, How};
use crate::watch::parts::ByParts;
use crate::watch::plain::{Plain, words_again};

/// Watches the trees until a signal asks it to stop.
pub(crate) fn run(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    let dir = settings::index_dir(index.clone())?;
    if index.is_none() {
        settings::make_parents(&dir)?;
    }
    let stop = stop_on_signals()
        .map_err(|error| Failure::Usage(format!("cannot watch for signals: {error}")))?;
    let mut daemon = Daemon {
        index: trawl_writer::create_index(&dir, None)?,
        dir,
        args,
        journal: Journal::new(args.quiet),
        manager: Arc::new(Manager::of_environment()),
        passed: inherited::take(),
        watched: Vec::new(),
    };
    let mut exit = Exit::Complete;
    for path in &args.paths {
        if signal::interrupted().load(Ordering::Relaxed) {
            break;
        }
        if let Err(failure) = daemon.begin(path) {
            daemon.journal.say(Level::Warning, &failure.to_string());
            exit = exit.and(Exit::Issues);
        }
    }
    if daemon.watched.is_empty() {
        return Ok(exit.and(Exit::Fatal));
    }
    daemon.serve(&stop);
    Ok(exit)
}

/// Starts a thread that, on a signal, sets the flag that stops all scans and wakes the main thread.
/// A second signal ends the process as usual.
fn stop_on_signals() -> Result<Arc<Waker>, SysError> {
    let signals = StopSignals::take()?;
    let waker = Arc::new(Waker::new()?);
    let ours = Arc::clone(&waker);
    let wait = move || {
        while !wait::readable([signals.as_fd()], None).is_ok_and(|[came]| came) {}
        signals.stop();
        ours.wake();
        loop {
            std::thread::park();
        }
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(wait).map_err(|error| {
        let errno = trawl_sys::Errno(error.raw_os_error().unwrap_or(0));
        SysError::new(trawl_sys::Op::Clone, errno)
    })?;
    Ok(waker)
}

struct Daemon<'a> {
    index: IndexDir,
    dir: PathBuf,
    args: &'a WatchArgs,
    journal: Journal,
    manager: Arc<Manager>,
    /// Descriptors from the service manager: queues that it kept, and sockets at which it listens.
    passed: Vec<(String, OwnedFd)>,
    watched: Vec<Watched>,
}

/// A watched source with its server and engine. The server stops first, which releases the waiting
/// clients.
struct Watched {
    server: Server,
    engine: Engine,
}

/// The moment up to which the current snapshot has all changes.
enum KnownUntil {
    /// The snapshot was made by a scan that began at this moment.
    Scan(Option<Note>),
    /// The previous daemon noted this about the snapshot.
    Noted(Option<(SnapshotId, String)>),
}

impl KnownUntil {
    fn moments(
        self,
        root: &[u8],
        snapshot: Option<SnapshotId>,
        sees_all: Arc<AtomicBool>,
    ) -> Moments {
        match self {
            KnownUntil::Noted(noted) => Moments::new(root, noted, sees_all),
            KnownUntil::Scan(moment) => {
                let mut moments = Moments::new(root, None, sees_all);
                moments.scanned(moment, snapshot);
                moments
            }
        }
    }
}

impl Daemon<'_> {
    /// Starts to watch a tree.
    fn begin(&mut self, given: &Path) -> Result<(), Failure> {
        let tree = given.canonicalize().map_err(|source| Failure::File {
            action: "watch",
            path: given.to_owned(),
            source,
        })?;
        if !tree.is_dir() {
            let text = "is not a directory: name the directory that contains it";
            let given = shown(given.as_os_str().as_bytes());
            return Err(Failure::Usage(format!("{given} {text}")));
        }
        let root = tree.as_os_str().as_bytes();
        let root = if root == b"/" {
            Vec::new()
        } else {
            root.to_vec()
        };
        let known = self.known(&root)?;
        let place = known
            .as_ref()
            .map(|(source, _)| Watching::begin(&self.index, source))
            .transpose()?;
        let (args, crossing) = self.index_args(known.as_ref())?;
        let how = self.how(&tree, crossing, self.own_places(&root));
        let queue = match &place {
            Some(_) => self.take_passed(&queue_name(&root)),
            None => None,
        };
        // Opened first, so that no change between it and the scan is missed.
        let chosen = how.open(queue).map_err(ServeError::from)?;
        let mut plain = Plain::new(self.dir.clone(), tree, args);
        // Changes published beside the snapshot are lost with the daemon that published them.
        let has_changes = match &known {
            Some((source, _)) => source.has_changes()?,
            None => false,
        };
        let mut scanned = None;
        let (place, start, snapshot) = match (place, known) {
            (Some(place), Some((_, id))) => (place, Start::Unknown, Some(id)),
            _ => {
                self.journal
                    .say(Level::Note, &format!("{}: indexing it", shown(&root)));
                let moment = moments::before(&root);
                let published = plain.scan()?;
                scanned = Some(moment);
                let (source, _) = self.known(&root)?.ok_or(Failure::Interrupted)?;
                (
                    Watching::begin(&self.index, &source)?,
                    Start::Scanned,
                    published.snapshot,
                )
            }
        };
        let known_until = match scanned {
            Some(moment) => KnownUntil::Scan(moment),
            None => {
                let noted = trawl_serve::noted(&place);
                KnownUntil::Noted(noted.filter(|(id, _)| Some(*id) == snapshot))
            }
        };
        let start = if chosen.is_taken_over && !has_changes {
            Start::TakenOver
        } else {
            start
        };
        self.serve_source(
            (root, how),
            (place, chosen),
            plain,
            (start, snapshot, known_until),
        )
    }

    fn serve_source(
        &mut self,
        (root, how): (Vec<u8>, How),
        (place, chosen): (Watching, Chosen),
        plain: Plain,
        (start, snapshot, known_until): (Start, Option<SnapshotId>, KnownUntil),
    ) -> Result<(), Failure> {
        let owner = place.owner()?;
        let passed = self
            .passed
            .iter()
            .find_map(|(_, fd)| Listening::passed(&place, fd));
        let (listening, listener) = match passed {
            Some(listening) => (listening, Listener::Manager),
            None => (Listening::bind(&place)?, Listener::Watcher),
        };
        place.note_listener(listener)?;
        let mut settings = self.journal.settings();
        settings.apply_after = self.args.apply_after;
        settings.max_dirty = self.args.max_dirty;
        settings.without = self.own_places(&root);
        let name = queue_name(&root);
        let (manager, again) = (Arc::clone(&self.manager), name.clone());
        // Only a mark on the whole file system has a queue that can be kept.
        let sees_all = Arc::new(AtomicBool::new(chosen.opened.queue.is_some()));
        let moments = known_until.moments(&root, snapshot, Arc::clone(&sees_all));
        let reopen: Opener = Box::new(move || {
            // Nobody would read the old queue any more.
            manager.forget(&again);
            let opened = how.open(None)?.opened;
            sees_all.store(opened.queue.is_some(), Ordering::Relaxed);
            if let Some(queue) = &opened.queue {
                manager.keep(&again, queue.as_fd());
            }
            Ok(opened)
        });
        let policy = Policy::new(self.args.checkpoint);
        let applier = ByParts::new(plain, root.clone(), policy, moments);
        let parts = Parts {
            root,
            place,
            opened: chosen.opened,
            reopen,
            applier: Box::new(applier),
            start,
            snapshot,
        };
        let engine = Engine::start(parts, settings)?;
        if let Some(queue) = engine.queue().filter(|_| !chosen.is_taken_over) {
            self.manager.forget(&name);
            self.manager.keep(&name, queue.as_fd());
        }
        let server = Server::start(listening, engine.caller(), owner)?;
        self.watched.push(Watched { server, engine });
        Ok(())
    }

    /// Returns the source, if it has a snapshot.
    fn known(&self, root: &[u8]) -> Result<Option<(Source, SnapshotId)>, Failure> {
        let Some(source) = self.index.source(root)? else {
            return Ok(None);
        };
        let current = source.current_id()?;
        Ok(current.map(|id| (source, id)))
    }

    fn how(&self, tree: &Path, crossing: Crossing, without: Vec<Vec<u8>>) -> How {
        How {
            root: tree.to_owned(),
            is_polled: self.args.poll,
            interval: self.args.interval,
            crossing,
            without,
            journal: self.journal,
        }
    }

    /// Returns the options of the source's last scan, and whether that scan entered mounted file
    /// systems.
    fn index_args(
        &self,
        known: Option<&(Source, SnapshotId)>,
    ) -> Result<(IndexArgs, Crossing), Failure> {
        let last = match known {
            Some((source, _)) => source.snapshots()?.pop(),
            None => None,
        };
        let options = last.map(|info| info.options).unwrap_or_default();
        if options.contains_key("from-trace") {
            let text = "it was indexed from a trace: remove it first, or use another index";
            return Err(Failure::Usage(text.into()));
        }
        let mut crossing = Crossing::Stays;
        if options.contains_key("cross-file-systems") {
            let text = "it includes file systems that are mounted below: each change needs a scan";
            self.journal.say(Level::Warning, text);
            crossing = Crossing::Crosses;
        }
        let words = words_again(&options, &self.args.exclude, self.args.no_xattr);
        Ok((IndexArgs::of_words(words)?, crossing))
    }

    /// Returns the path of the index if it lies below the root: its own changes are not reported.
    fn own_places(&self, root: &[u8]) -> Vec<Vec<u8>> {
        let own = self.dir.canonicalize().ok();
        let own = own.map(|own| OsString::from(own).as_bytes().to_vec());
        own.into_iter()
            .filter(|own| path::is_within(own, root))
            .collect()
    }

    fn take_passed(&mut self, name: &str) -> Option<OwnedFd> {
        let at = self.passed.iter().position(|(known, _)| known == name)?;
        Some(self.passed.remove(at).1)
    }

    /// Waits for the signal, then stops all servers and engines.
    fn serve(mut self, stop: &Waker) {
        let roots: Vec<String> = self
            .watched
            .iter()
            .map(|one| shown(one.engine.caller().root()))
            .collect();
        let roots = roots.join(", ");
        self.journal.say(Level::Note, &format!("watching {roots}"));
        self.manager
            .say(&format!("READY=1\nSTATUS=watching {roots}"));
        // Descriptors that were passed and not taken are not needed.
        self.passed.clear();
        loop {
            let came = wait::readable([stop.as_fd()], self.manager.watchdog_pause());
            if came.is_ok_and(|[came]| came) {
                break;
            }
            if self.watched.iter().all(|one| one.engine.is_alive()) {
                self.manager.say("WATCHDOG=1");
            }
        }
        self.manager.say("STOPPING=1\nSTATUS=applying changes");
        for Watched { server, engine } in self.watched {
            drop(server);
            engine.stop();
        }
    }
}

/// Returns the name under which the service manager keeps a source's queue.
fn queue_name(root: &[u8]) -> String {
    format!("trawl-{}", trawl_format::SourceId::of_root(root))
}
