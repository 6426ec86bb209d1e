//! Asks the daemons that watch an index to bring it up to date before the index is opened. The
//! daemons of sources that are only known by a path are asked before those sources are opened. An
//! opened index must contain whatever its daemon has promised.
//!
//! Where no daemon watches the index, this costs a single lookup of a file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use trawl_barrier::client;
use trawl_barrier::protocol::{Answer, Contents, Noticed, Outcome};
use trawl_format::{IndexDir, Source};
use trawl_model::Timestamp;
use trawl_model::sync::lock;
use trawl_query::{Promise, Promises};

/// Default time that a question waits for a daemon.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Maximum number of daemons that are asked at the same time.
const AT_ONCE: usize = 16;

/// A source and its daemon's answer.
#[derive(Clone, Debug)]
pub struct DaemonAnswer {
    /// Directory of the index.
    pub index: PathBuf,
    /// Root of the source.
    pub root: Vec<u8>,
    /// The daemon's answer, or the reason why it could not be asked; `None` if no daemon watches
    /// the source.
    pub answer: Option<Result<Answer, String>>,
    /// Time up to which the index has all changes, if the daemon that watched the source was
    /// killed.
    pub left_at: Option<Timestamp>,
}

impl DaemonAnswer {
    fn is_of(&self, index: &Path, root: &[u8]) -> bool {
        self.index == index && self.root == root
    }

    /// Returns the daemon's answer.
    pub fn answered(&self) -> Option<&Answer> {
        self.answer.as_ref()?.as_ref().ok()
    }

    /// Returns whether the index has every change that was made before the daemon was asked.
    pub fn is_as_of_now(&self) -> bool {
        self.answered().is_some_and(|answer| {
            answer.outcome == Outcome::Fresh && matches!(answer.seen, Noticed::Now)
        })
    }

    /// Returns whether the rows' times show every change of a file's content that was made before
    /// the daemon was asked.
    pub fn knows_contents(&self) -> bool {
        let is_known = |answer: &Answer| answer.contents == Contents::Known;
        self.is_as_of_now() && self.answered().is_some_and(is_known)
    }
}

/// Returns whether daemons may watch an index. Costs a single lookup of a file.
pub fn is_watched(index: &Path) -> bool {
    IndexDir::is_watched(index)
}

/// The daemons of some indexes and their answers. Each daemon is asked once: for sources that can
/// be listed, on creation; for other sources, when a path leads to them.
#[derive(Debug)]
pub struct Daemons {
    indexes: Vec<PathBuf>,
    deadline: Duration,
    max_age: Duration,
    asked: Mutex<Vec<DaemonAnswer>>,
}

impl Daemons {
    /// Asks all daemons of some indexes in parallel to publish every change that was made before
    /// this call, or up to `max_age` before it. Errors of an index are ignored here; opening the
    /// index reports them.
    pub fn ask(indexes: &[PathBuf], deadline: Duration, max_age: Duration) -> Arc<Daemons> {
        let sources = |path: &PathBuf| IndexDir::open(path).and_then(|index| index.sources());
        let sources = indexes
            .iter()
            .flat_map(|path| sources(path).unwrap_or_default());
        let sources: Vec<Source> = sources.collect();
        Daemons::ask_some(indexes, &sources, (deadline, max_age))
    }

    /// Like [`Daemons::ask`], but asks only the daemons of sources that one of these paths lies in.
    pub fn ask_around(indexes: &[PathBuf], paths: &[Vec<u8>], deadline: Duration) -> Arc<Daemons> {
        let mut sources: Vec<Source> = Vec::new();
        for index in indexes.iter().filter_map(|path| IndexDir::open(path).ok()) {
            let around = paths
                .iter()
                .filter_map(|path| index.sources_around(path).ok());
            for source in around.flatten() {
                if !sources.iter().any(|known| known.path() == source.path()) {
                    sources.push(source);
                }
            }
        }
        Daemons::ask_some(indexes, &sources, (deadline, Duration::ZERO))
    }

    fn ask_some(
        indexes: &[PathBuf],
        sources: &[Source],
        (deadline, max_age): (Duration, Duration),
    ) -> Arc<Daemons> {
        let asked = ask_all(indexes, sources, deadline, max_age);
        Arc::new(Daemons {
            indexes: indexes.to_vec(),
            deadline,
            max_age,
            asked: Mutex::new(asked),
        })
    }

    /// Returns all answers so far.
    pub fn asked(&self) -> Vec<DaemonAnswer> {
        self.lock().clone()
    }

    /// Returns whether this index has every change to the source with this root that was made
    /// before its daemon was asked.
    pub fn is_as_of_now(&self, index: &Path, root: &[u8]) -> bool {
        let asked = self.lock();
        let mut asked = asked.iter().filter(|asked| asked.is_of(index, root));
        asked.next().is_some_and(DaemonAnswer::is_as_of_now)
    }

    /// Returns whether the rows of the source with this root in this index show every change of a
    /// file's content that was made before its daemon was asked.
    pub fn knows_contents(&self, index: &Path, root: &[u8]) -> bool {
        let asked = self.lock();
        let mut asked = asked.iter().filter(|asked| asked.is_of(index, root));
        asked.next().is_some_and(DaemonAnswer::knows_contents)
    }

    /// Returns the time as of which a daemon vouched for a source, given its index's directory and
    /// its root.
    pub fn known(&self, index: &Path, root: &[u8]) -> Option<Timestamp> {
        let asked = self.lock();
        let mut asked = asked.iter().filter(|asked| asked.is_of(index, root));
        asked.next()?.answered()?.as_of
    }

    fn lock(&self) -> MutexGuard<'_, Vec<DaemonAnswer>> {
        lock(&self.asked)
    }
}

impl Promises for Daemons {
    fn ask(&self, source: &Source) -> bool {
        let index = index_of(&self.indexes, source);
        let is_of = |one: &DaemonAnswer| one.is_of(&index, source.root());
        let is_known = self.lock().iter().any(is_of);
        if !is_known {
            self.ask_again(source);
        }
        !is_known
    }

    fn ask_again(&self, source: &Source) {
        let index = index_of(&self.indexes, source);
        let said = ask_one(index.clone(), source, self.deadline, self.max_age);
        let mut asked = self.lock();
        asked.retain(|one| !one.is_of(&index, source.root()));
        asked.push(said);
    }

    fn promised(&self, source: &Source) -> Option<Promise> {
        let index = index_of(&self.indexes, source);
        let asked = self.lock();
        let mut of_it = asked.iter().filter(|one| one.is_of(&index, source.root()));
        let answer = of_it.next()?.answered()?;
        // Any other outcome promises nothing: the answer may be out of date.
        let answer = Some(answer).filter(|answer| answer.outcome == Outcome::Fresh)?;
        Some(Promise {
            snapshot: answer.snapshot?,
            generation: answer.generation,
        })
    }
}

/// Asks the daemons of the sources that a path lies in to publish every change that was made before
/// this call.
pub fn ask_around(index: &Path, path: &[u8], deadline: Duration) -> Vec<DaemonAnswer> {
    let sources = IndexDir::open(index).and_then(|index| index.sources_around(path));
    let indexes = [index.to_path_buf()];
    ask_all(
        &indexes,
        &sources.unwrap_or_default(),
        deadline,
        Duration::ZERO,
    )
}

/// Returns the index that a source lies in.
fn index_of(indexes: &[PathBuf], source: &Source) -> PathBuf {
    let around = indexes
        .iter()
        .filter(|index| source.path().starts_with(index));
    let nearest = around.max_by_key(|index| index.as_os_str().len());
    nearest.cloned().unwrap_or_default()
}

fn ask_one(index: PathBuf, source: &Source, deadline: Duration, max_age: Duration) -> DaemonAnswer {
    let answer = client::ask_barrier(source, deadline, max_age);
    let answer = answer.map_err(|error| error.to_string()).transpose();
    DaemonAnswer {
        index,
        root: source.root().to_vec(),
        left_at: answer.is_none().then(|| left_at(source)).flatten(),
        answer,
    }
}

/// Returns the time up to which a daemon that was killed watched the source. `None` after a later
/// scan, which that daemon does not vouch for.
fn left_at(source: &Source) -> Option<Timestamp> {
    if !client::is_left(source) {
        return None;
    }
    let known = source.now().ok().flatten()?;
    Some(known.live().map_or(known.info.started, |live| live.as_of))
}

fn ask_all(
    indexes: &[PathBuf],
    sources: &[Source],
    deadline: Duration,
    max_age: Duration,
) -> Vec<DaemonAnswer> {
    let ask = |source: &Source| {
        let index = index_of(indexes, source);
        ask_one(index, source, deadline, max_age)
    };
    if let [source] = sources {
        return vec![ask(source)];
    }
    // Many daemons are asked in groups, since each one occupies a thread.
    let ask_some = |some: &[Source]| -> Vec<DaemonAnswer> {
        std::thread::scope(|scope| {
            let threads = some.iter().map(|source| scope.spawn(|| ask(source)));
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .collect()
        })
    };
    sources.chunks(AT_ONCE).flat_map(ask_some).collect()
}
