//! Asks the daemons that watch an index, before it is opened, to bring it up to date.
//!
//! Where no daemon watches anything, this costs one look for a file.

use std::path::Path;
use std::time::Duration;

use trawl_index::{IndexDir, Source};
use trawl_model::path::is_within;
use trawl_serve::client;
use trawl_serve::protocol::{Answer, Outcome, Seen};

/// How long a question waits for a daemon unless it is said.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Daemons that are asked at the same time.
const AT_ONCE: usize = 16;

/// A source and what its daemon said.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The source's root.
    pub root: Vec<u8>,
    /// `None` if nobody watches it; why it could not be asked.
    pub answer: Option<Result<Answer, String>>,
}

impl Asked {
    /// What the daemon said.
    pub fn answered(&self) -> Option<&Answer> {
        self.answer.as_ref()?.as_ref().ok()
    }

    /// Whether the index has everything that was changed before the daemon was asked.
    pub fn is_as_of_now(&self) -> bool {
        self.answered().is_some_and(|answer| {
            answer.outcome == Outcome::Fresh && matches!(answer.seen, Seen::Now)
        })
    }
}

/// Whether daemons may watch an index: one look for a file.
pub fn is_watched(index: &Path) -> bool {
    IndexDir::is_watched(index)
}

/// Asks all daemons of an index at once for everything that was changed before this call, or at
/// most `max_age` ago. What is wrong with the index, whoever opens it is told.
pub fn ask(index: &Path, deadline: Duration, max_age: Duration) -> Vec<Asked> {
    let sources = IndexDir::open(index).and_then(|index| index.sources());
    ask_all(&sources.unwrap_or_default(), deadline, max_age)
}

/// The same of the daemons of sources that a path lies in, for everything that was changed before
/// this call.
pub fn ask_around(index: &Path, path: &[u8], deadline: Duration) -> Vec<Asked> {
    let sources = IndexDir::open(index).and_then(|index| {
        let mut sources = index.sources()?;
        sources.retain(|source| is_within(path, source.root()));
        Ok(sources)
    });
    ask_all(&sources.unwrap_or_default(), deadline, Duration::ZERO)
}

fn ask_all(sources: &[Source], deadline: Duration, max_age: Duration) -> Vec<Asked> {
    let ask = |source: &Source| Asked {
        root: source.root().to_vec(),
        answer: client::ask_barrier(source, deadline, max_age)
            .map_err(|error| error.to_string())
            .transpose(),
    };
    if let [source] = sources {
        return vec![ask(source)];
    }
    // Many are asked in turns: each costs a thread for as long as it takes.
    let ask_some = |some: &[Source]| -> Vec<Asked> {
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
