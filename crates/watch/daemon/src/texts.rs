//! Keeps the packs of a source's n-grams and of its keywords, and its named indices, up to date,
//! after rounds, on a thread of low priority for each kind: slow hooks do not delay n-grams.
//!
//! No round, question or writer waits for them. They rest for a multiple of the time that an update
//! took, and never wake up while nothing changes, except to look again at files that had just been
//! changed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_format::{IndexDir, IndexError};
use trawl_indexer::indices::{self, Change, IndicesProgress};
use trawl_indexer::text::keywords::{self, FileIssue, KeywordsChoice, Making};
use trawl_indexer::text::{self, Effort, TextChoice};
use trawl_indexer::{Control, IndexerError, ScanOptions, Scanner};
use trawl_model::sync::{lock, wait, wait_for};
use trawl_sys::priority;

use crate::daemon::Host;
use crate::notice::Notice;

/// Pause after a publication before an update begins, and the longest time that further
/// publications put it off.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_LONGEST: Duration = Duration::from_secs(10);
/// An update is followed by a rest of this many times its duration.
const REST: u32 = 20;
/// Pauses before files are looked at again that had just been changed or were open for writing. A
/// file is read once it has been unchanged for some seconds.
const AGAIN: [Duration; 3] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(300),
];
/// Pause while another process writes the packs.
const BUSY: Duration = Duration::from_secs(10);

/// Number of files whose issues a report names.
const ISSUES_NAMED: usize = 5;

/// What a thread keeps up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packs {
    Grams,
    Keywords,
    Indices,
}

impl Packs {
    const ALL: [Packs; 3] = [Packs::Grams, Packs::Keywords, Packs::Indices];

    /// Returns what these packs are called in messages.
    fn name(self) -> &'static str {
        match self {
            Packs::Grams => "text index",
            Packs::Keywords => "index of keywords",
            Packs::Indices => "list of named indices",
        }
    }
}

/// The threads of one source.
pub(crate) struct Texts([Follower; 3]);

impl Texts {
    /// Starts the threads; updates are due at once.
    pub(crate) fn start(
        (index, root): (PathBuf, Vec<u8>),
        options: ScanOptions,
        host: Host,
    ) -> Texts {
        let of = |packs| {
            let place = (index.clone(), root.clone());
            Follower::start(packs, place, options.clone(), host.clone())
        };
        Texts(Packs::ALL.map(of))
    }

    /// Records that changes were published.
    pub(crate) fn published(&self) {
        self.0.iter().for_each(Follower::published);
    }

    /// Ends the threads.
    pub(crate) fn stop(&mut self) {
        // All end at the same time.
        self.0.iter().for_each(Follower::ask_to_stop);
        self.0.iter_mut().for_each(Follower::stop);
    }
}

/// The result of an update.
#[derive(Debug, Default)]
struct Updated {
    /// Number of files that were read.
    read: u64,
    /// Number of files that must be looked at again.
    unsettled: u64,
}

/// One thread.
struct Follower {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    due: Mutex<Due>,
    changed: Condvar,
    stops: AtomicBool,
}

/// When the next update is due.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    /// First and last publication since the last update began.
    published: Option<(Instant, Instant)>,
    /// When files are looked at again.
    again: Option<Instant>,
    /// Nothing begins before.
    rests_until: Option<Instant>,
}

impl Due {
    fn publish(&mut self, now: Instant) {
        let first = self.published.map_or(now, |(first, _)| first);
        self.published = Some((first, now));
    }

    /// Returns when the next update begins; `None` if nothing asks for one.
    fn at(&self) -> Option<Instant> {
        let quiet = |(first, last): (Instant, Instant)| (last + QUIET).min(first + QUIET_LONGEST);
        let wanted = [self.published.map(quiet), self.again];
        let next = wanted.into_iter().flatten().min()?;
        Some(self.rests_until.map_or(next, |rested| next.max(rested)))
    }
}

/// What the thread works on.
struct Work {
    packs: Packs,
    index: PathBuf,
    root: Vec<u8>,
    options: ScanOptions,
    host: Host,
    shared: Arc<Shared>,
}

impl Follower {
    /// Starts the thread; an update is due at once.
    fn start(
        packs: Packs,
        (index, root): (PathBuf, Vec<u8>),
        options: ScanOptions,
        host: Host,
    ) -> Follower {
        let shared = Arc::new(Shared {
            due: Mutex::default(),
            changed: Condvar::new(),
            stops: AtomicBool::new(false),
        });
        lock(&shared.due).publish(Instant::now());
        let work = Work {
            packs,
            index,
            root,
            options,
            host,
            shared: Arc::clone(&shared),
        };
        let name = match packs {
            Packs::Grams => "text",
            Packs::Keywords => "keywords",
            Packs::Indices => "indices",
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        // Without the thread, changed files are read by each search.
        let thread = thread.spawn(move || work.run()).ok();
        Follower { shared, thread }
    }

    fn published(&self) {
        lock(&self.shared.due).publish(Instant::now());
        self.shared.changed.notify_all();
    }

    fn ask_to_stop(&self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        // The lock lets the thread see the flag before it waits.
        drop(lock(&self.shared.due));
        self.shared.changed.notify_all();
    }

    /// Ends the thread.
    fn stop(&mut self) {
        self.ask_to_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// Waits until an update is due; returns false if the thread is to stop.
    fn wait(&self) -> bool {
        let mut due = lock(&self.due);
        while !self.stops() {
            let now = Instant::now();
            due = match due.at() {
                Some(at) if at <= now => {
                    (due.published, due.again) = (None, None);
                    return true;
                }
                Some(at) => wait_for(&self.changed, due, at - now),
                None => wait(&self.changed, due),
            };
        }
        false
    }

    /// Notes when to begin again.
    fn rest(&self, took: Duration, again: Option<Duration>) {
        let now = Instant::now();
        let mut due = lock(&self.due);
        due.rests_until = Some(now + took * REST);
        due.again = again.map(|pause| now + pause);
    }
}

impl Work {
    fn run(self) {
        priority::be_last();
        let mut tries = 0;
        while self.shared.wait() {
            let begun = Instant::now();
            let again = match self.update() {
                Ok(Some(done)) if done.unsettled > 0 => {
                    // Something was settled: others may be soon.
                    tries = if done.read > 0 { 0 } else { tries };
                    tries += 1;
                    AGAIN.get(tries - 1).copied()
                }
                Ok(_) => {
                    tries = 0;
                    None
                }
                Err(IndexerError::Interrupted) => None,
                Err(IndexerError::Index(IndexError::Busy { .. })) => Some(BUSY),
                Err(error) => {
                    self.report(&error);
                    None
                }
            };
            self.shared.rest(begun.elapsed(), again);
        }
    }

    fn update(&self) -> trawl_indexer::Result<Option<Updated>> {
        let control = Control {
            cancel: &self.shared.stops,
            clock: self.host.control.clock,
        };
        let index = IndexDir::open(&self.index)?;
        let scanner = Scanner::new(&index, &self.options, control)?;
        match self.packs {
            Packs::Grams => {
                let how = (&scanner, TextChoice::AsBefore, Effort::Background);
                let done = text::update(&index, &self.root, how, control)?;
                Ok(done.map(|done| Updated {
                    read: done.read.0,
                    unsettled: done.unsettled,
                }))
            }
            Packs::Keywords => {
                let making = Making {
                    choice: KeywordsChoice::AsBefore,
                    effort: Effort::Background,
                    documents: Arc::clone(&self.host.documents),
                };
                let done = keywords::update(&index, &self.root, (&scanner, &making), control)?;
                Ok(done.map(|done| {
                    self.report_issues(&done.issues);
                    Updated {
                        read: done.read.0 + done.moved,
                        unsettled: done.unsettled,
                    }
                }))
            }
            Packs::Indices => {
                let (how, none) = (
                    (&Change::Nothing, Effort::Background),
                    IndicesProgress::default(),
                );
                indices::update(&index, &self.root, how, &none, control)?;
                Ok(None)
            }
        }
    }

    /// Reports files of which something is not known; questions about them say so, too.
    fn report_issues(&self, issues: &[FileIssue]) {
        for issue in issues.iter().take(ISSUES_NAMED) {
            let path = trawl_text::words::shown(&issue.path);
            self.warn(format!(
                "{path}: its content is not known: {}",
                issue.reason
            ));
        }
        if let Some(more) = issues
            .len()
            .checked_sub(ISSUES_NAMED)
            .filter(|more| *more > 0)
        {
            let root = trawl_text::words::shown(&self.root);
            self.warn(format!(
                "{root}: the content of {more} more files is not known"
            ));
        }
    }

    fn report(&self, error: &IndexerError) {
        let root = trawl_text::words::shown(&self.root);
        let name = self.packs.name();
        self.warn(format!("{root}: its {name} is not up to date: {error}"));
    }

    fn warn(&self, text: String) {
        (self.host.log)(&Notice::Engine {
            level: trawl_barrier::Level::Warning,
            text,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publications_put_an_update_off_for_a_while() {
        let begun = Instant::now();
        let mut due = Due::default();
        assert_eq!(due.at(), None);
        due.publish(begun);
        assert_eq!(due.at(), Some(begun + QUIET));
        for seconds in 1..60 {
            due.publish(begun + Duration::from_secs(seconds));
        }
        assert_eq!(due.at(), Some(begun + QUIET_LONGEST));
        due.rests_until = Some(begun + Duration::from_secs(100));
        assert_eq!(due.at(), due.rests_until);
    }

    #[test]
    fn nothing_changed_wakes_nobody_but_for_unsettled_files() {
        let now = Instant::now();
        let due = Due {
            again: Some(now + AGAIN[0]),
            ..Due::default()
        };
        assert_eq!(due.at(), Some(now + AGAIN[0]));
        assert_eq!(Due::default().at(), None);
    }
}
