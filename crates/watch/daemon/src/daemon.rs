//! The daemon: one engine and one socket for each source, until a signal asks it to stop.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trawl_barrier::manager::Manager;
use trawl_barrier::{
    Engine, Listening, Metrics, Opener, Parts, ServeError, Server, Settings, Start,
};
use trawl_changes::{Crossing, Wish};
use trawl_delta::Note;
use trawl_format::{IndexDir, Listener, SnapshotId, Source, Watching};
use trawl_indexer::{Control, Documents, ScanOptions};
use trawl_model::path;
use trawl_scan::Xattrs;
use trawl_sys::inherited;
use trawl_sys::wait::{self, Waker};
use trawl_text::words::shown;

use crate::checkpoint::Policy;
use crate::error::{DaemonError, Result};
use crate::moments::{self, Moments};
use crate::notice::{Log, Notice};
use crate::parts::ByParts;
use crate::plain::Plain;
use crate::watching::{Chosen, How};

/// How sources are watched.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kind of change source that the user wants.
    pub wish: Wish,
    /// Interval of a source that only polls.
    pub interval: Duration,
    /// Time after which changes are applied if nobody asks.
    pub apply_after: Duration,
    /// Approximate number of changed entries above which changes are applied sooner.
    pub max_dirty: usize,
    /// Time after which changes beside a snapshot become a snapshot.
    pub checkpoint: Duration,
    /// Patterns of paths to leave out; empty means those of each source's last scan.
    pub exclude: Vec<Vec<u8>>,
    /// Whether extended attributes are read; [`Xattrs::Read`] means as in the last scan.
    pub xattrs: Xattrs,
}

/// What the process that runs the daemon provides.
#[derive(Clone)]
pub struct Host {
    /// The flag that ends scans, and the clock.
    pub control: Control<'static>,
    /// Receives reports.
    pub log: Log,
    /// Returns the profile of this process's operations.
    pub metrics: Metrics,
    /// Reads the documents of changed files, for packs of keywords.
    pub documents: Arc<dyn Documents>,
}

impl Host {
    /// Reports something about the index.
    pub(crate) fn report(&self, notice: trawl_indexer::Notice) {
        (self.log)(&Notice::Indexer(notice));
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Host").finish_non_exhaustive()
    }
}

/// The daemon of an index.
pub struct Daemon {
    index: IndexDir,
    dir: PathBuf,
    options: Options,
    host: Host,
    manager: Arc<Manager>,
    /// Descriptors from the service manager: queues that it kept, and sockets at which it listens.
    passed: Vec<(String, OwnedFd)>,
    watched: Vec<Watched>,
}

impl fmt::Debug for Daemon {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = out.debug_struct("Daemon");
        out.field("dir", &self.dir).finish_non_exhaustive()
    }
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

impl Daemon {
    /// Opens the index in `dir`, or creates it, and takes the descriptors that the service manager
    /// passed to this process.
    ///
    /// # Errors
    /// If the index cannot be opened or created.
    pub fn new(dir: PathBuf, options: Options, host: Host) -> Result<Daemon> {
        Ok(Daemon {
            index: trawl_writer::create_index(&dir, None)?,
            dir,
            options,
            host,
            manager: Arc::new(Manager::of_environment()),
            passed: inherited::take(),
            watched: Vec::new(),
        })
    }

    /// Returns true if no tree is watched.
    pub fn is_idle(&self) -> bool {
        self.watched.is_empty()
    }

    /// Starts to watch a tree; one that is not indexed yet is indexed first.
    ///
    /// # Errors
    /// If the tree is no directory or cannot be watched or scanned, or the index cannot be read or
    /// written. Other trees are still watched.
    pub fn watch(&mut self, given: &Path) -> Result<()> {
        let tree = given.canonicalize().map_err(|source| DaemonError::File {
            action: "watch",
            path: given.to_owned(),
            source,
        })?;
        if !tree.is_dir() {
            return Err(DaemonError::NotADirectory {
                path: given.as_os_str().as_bytes().to_vec(),
            });
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
        let (options, crossing) = self.scan_options(known.as_ref())?;
        let how = self.how(&tree, crossing, self.own_places(&root));
        let queue = match &place {
            Some(_) => self.take_passed(&queue_name(&root)),
            None => None,
        };
        // Opened first, so that no change between it and the scan is missed.
        let chosen = how.open(queue).map_err(ServeError::from)?;
        let mut plain = Plain::new(self.dir.clone(), tree, options, self.host.clone());
        // Changes published beside the snapshot are lost with the daemon that published them.
        let has_changes = match &known {
            Some((source, _)) => source.has_changes()?,
            None => false,
        };
        let mut scanned = None;
        let (place, start, snapshot) = match (place, known) {
            (Some(place), Some((_, id))) => (place, Start::Unknown, Some(id)),
            _ => {
                (self.host.log)(&Notice::Indexing { root: root.clone() });
                let moment = moments::before(&root);
                let published = plain.scan()?;
                scanned = Some(moment);
                let (source, _) = self.known(&root)?.ok_or(DaemonError::Interrupted)?;
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
                let noted = trawl_barrier::noted(&place);
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
    ) -> Result<()> {
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
        let mut settings = self.settings();
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
        let policy = Policy::new(self.options.checkpoint);
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
        let metrics = Arc::clone(&self.host.metrics);
        let server = Server::start(listening, engine.caller(), owner, metrics)?;
        self.watched.push(Watched { server, engine });
        Ok(())
    }

    /// Returns the source, if it has a snapshot.
    fn known(&self, root: &[u8]) -> Result<Option<(Source, SnapshotId)>> {
        let Some(source) = self.index.source(root)? else {
            return Ok(None);
        };
        let current = source.current_id()?;
        Ok(current.map(|id| (source, id)))
    }

    /// Returns the settings of an engine.
    fn settings(&self) -> Settings {
        let log = Arc::clone(&self.host.log);
        let mut settings = Settings::new(self.host.control.clock, move |level, text| {
            let text = text.to_owned();
            log(&Notice::Engine { level, text });
        });
        settings.apply_after = self.options.apply_after;
        settings.max_dirty = self.options.max_dirty;
        settings
    }

    fn how(&self, tree: &Path, crossing: Crossing, without: Vec<Vec<u8>>) -> How {
        How {
            root: tree.to_owned(),
            wish: self.options.wish,
            interval: self.options.interval,
            crossing,
            without,
            clock: self.host.control.clock,
            log: Arc::clone(&self.host.log),
        }
    }

    /// Returns the options of the source's last scan, and whether that scan entered mounted file
    /// systems.
    fn scan_options(
        &self,
        known: Option<&(Source, SnapshotId)>,
    ) -> Result<(ScanOptions, Crossing)> {
        let last = match known {
            Some((source, _)) => source.snapshots()?.pop(),
            None => None,
        };
        let last = last.map(|info| info.options).unwrap_or_default();
        if last.contains_key("from-trace") {
            return Err(DaemonError::Recorded);
        }
        let mut crossing = Crossing::Stays;
        if last.contains_key("cross-file-systems") {
            (self.host.log)(&Notice::Crosses);
            crossing = Crossing::Crosses;
        }
        let (exclude, xattrs) = (&self.options.exclude, self.options.xattrs);
        Ok((ScanOptions::again(&last, exclude, xattrs), crossing))
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

    /// Serves until the waker is woken, then stops all servers and engines, which apply all changes.
    pub fn serve(mut self, stop: &Waker) {
        let roots: Vec<String> = self
            .watched
            .iter()
            .map(|one| shown(one.engine.caller().root()))
            .collect();
        let roots = roots.join(", ");
        (self.host.log)(&Notice::Watching {
            roots: roots.clone(),
        });
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
