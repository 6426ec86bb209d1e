//! As of now: asks the daemons that watch an index, before it is opened, to bring it up to date,
//! and tells of what could not be had in time.
//!
//! Where no daemon watches anything, this costs one look for a file. Nothing is asked about the
//! past.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use trawl_index::retention::parse_age;
use trawl_index::{IndexDir, Source};
use trawl_model::{Timestamp, path};
use trawl_query::SnapshotInfo;
use trawl_serve::client;
use trawl_serve::protocol::{Answer, Outcome, Seen};

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{quoted, shown};
use crate::index::scan::now;

/// How long a question waits for a daemon unless it is said.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// Reads an age or a time to wait: `30s`, `5m`, `250ms`, a number of seconds.
///
/// # Errors
/// What it may be.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let millis = text.strip_suffix("ms").and_then(|text| text.parse().ok());
    let time = millis.map(Duration::from_millis);
    let time = time.or_else(|| parse_age(text).map(Duration::from_secs));
    time.ok_or_else(|| "a time is a number and one of ms, s, m, h, d, w, y".to_owned())
}

/// The same of a word of find.
pub(crate) fn parse_word(word: &OsStr) -> Result<Duration, String> {
    let text = word.to_string_lossy();
    parse_time(&text).map_err(|why| format!("cannot read the time {text}: {why}"))
}

/// What is known of how fresh an index is.
pub(crate) struct Freshness {
    sources: Vec<Asked>,
    /// Paths that the question is about; all, if there are none.
    touched: RefCell<BTreeSet<Vec<u8>>>,
    /// Snapshots that are older than wanted and that nobody watches, with their age.
    old: RefCell<BTreeSet<Vec<u8>>>,
    max_age: Option<Duration>,
    /// Whether a fresh answer was asked for in so many words.
    is_demanded: bool,
}

/// A source and what its daemon said.
struct Asked {
    root: Vec<u8>,
    /// `None` if nobody watches it.
    answer: Option<Result<Answer, String>>,
}

impl Freshness {
    /// Asks all daemons of an index at once.
    pub(crate) fn ask(index: &Path, manner: Manner) -> Freshness {
        let args = manner.fresh;
        let is_asked = manner.at.is_none() && !args.no_wait;
        let mut fresh = Freshness {
            sources: Vec::new(),
            touched: RefCell::default(),
            old: RefCell::default(),
            max_age: args.max_age.filter(|_| is_asked),
            is_demanded: is_asked && args.fresh.is_some(),
        };
        if is_asked && (fresh.is_demanded || IndexDir::is_watched(index)) {
            // What is wrong with the index, whoever opens it is told.
            let sources = IndexDir::open(index).and_then(|index| index.sources());
            let deadline = args.fresh.unwrap_or(DEADLINE);
            let max_age = args.max_age.unwrap_or_default();
            fresh.sources = ask_all(&sources.unwrap_or_default(), deadline, max_age);
        }
        fresh
    }

    /// The question is about this path.
    pub(crate) fn touch(&self, path: &[u8]) {
        if !self.sources.is_empty() {
            self.touched.borrow_mut().insert(path.to_vec());
        }
    }

    fn is_touched(&self, root: &[u8]) -> bool {
        let touched = self.touched.borrow();
        let is_about =
            |asked: &Vec<u8>| path::is_within(asked, root) || path::is_within(root, asked);
        touched.is_empty() || touched.iter().any(is_about)
    }

    fn answer_for(&self, root: &[u8]) -> Option<&Answer> {
        let asked = self.sources.iter().find(|asked| asked.root == root)?;
        asked.answer.as_ref()?.as_ref().ok()
    }

    /// The roots of sources of which the index has everything that was changed before the question.
    pub(crate) fn roots_as_of_now(&self) -> impl Iterator<Item = &[u8]> {
        let is_now = |asked: &&Asked| {
            let answer = asked
                .answer
                .as_ref()
                .and_then(|answer| answer.as_ref().ok());
            answer.is_some_and(|answer| {
                answer.outcome == Outcome::Fresh && matches!(answer.seen, Seen::Now)
            })
        };
        self.sources
            .iter()
            .filter(is_now)
            .map(|asked| &asked.root[..])
    }

    /// Notes a snapshot that is read, for what `--max-age` says where nobody watches.
    pub(crate) fn note_age(&self, info: &SnapshotInfo) {
        let Some(max_age) = self.max_age else { return };
        let age = now().as_nanos() - self.as_of(info).as_nanos();
        let is_old = age > i128::try_from(max_age.as_nanos()).unwrap_or(i128::MAX);
        if is_old && self.answer_for(&info.root).is_none() {
            self.old.borrow_mut().insert(info.root.clone());
        }
    }

    /// As of when a snapshot is true: it began then, or its daemon knows better.
    pub(crate) fn as_of(&self, info: &SnapshotInfo) -> Timestamp {
        let answer = self.answer_for(&info.root);
        let known = answer.filter(|answer| answer.snapshot <= Some(info.id));
        let known = known.and_then(|answer| answer.as_of);
        known.map_or(info.started, |time| time.max(info.started))
    }

    /// Says of each source in question why it may be out of date, once.
    pub(crate) fn tell(&mut self, mut say: impl FnMut(&str)) -> Exit {
        let mut exit = Exit::Complete;
        for asked in &self.sources {
            if let Some(why) = self
                .why_behind(asked)
                .filter(|_| self.is_touched(&asked.root))
            {
                say(&format!(
                    "{} may be out of date: {why}",
                    quoted(path::display(&asked.root))
                ));
                exit = Exit::Issues;
            }
        }
        for root in self.old.take() {
            let advice = "index it again, or watch it";
            say(&format!(
                "{} is older than --max-age allows: {advice}",
                quoted(path::display(&root))
            ));
            exit = Exit::Issues;
        }
        self.is_demanded = false;
        self.sources.retain(
            |asked| matches!(&asked.answer, Some(Ok(answer)) if answer.outcome == Outcome::Fresh),
        );
        exit
    }

    fn why_behind(&self, asked: &Asked) -> Option<String> {
        let answer = match &asked.answer {
            None if self.is_demanded => {
                return Some("no daemon watches it; run trawl watch".to_owned());
            }
            None => return None,
            Some(Err(why)) => return Some(why.clone()),
            Some(Ok(answer)) => answer,
        };
        match (answer.outcome, answer.seen) {
            (Outcome::Fresh, Seen::Every(interval)) if self.is_demanded => Some(format!(
                "it is looked at every {} s",
                interval.as_secs_f32()
            )),
            (Outcome::Fresh, _) => None,
            (Outcome::Late, _) => Some(format!(
                "{}; --fresh=TIME waits longer",
                reasons(asked, answer)
            )),
            (Outcome::Stale | Outcome::Refused, _) => Some(reasons(asked, answer)),
        }
    }

    /// What else is to be known of answers, for `--status`.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let touched = self
            .sources
            .iter()
            .filter(|asked| self.is_touched(&asked.root));
        touched.flat_map(|asked| {
            let root = shown(&asked.root);
            let answer = asked
                .answer
                .as_ref()
                .and_then(|answer| answer.as_ref().ok());
            let every = answer.and_then(|answer| match answer.seen {
                Seen::Every(interval) => Some(format!(
                    "{root}: looked at every {} s; what changes in a file alone is not noticed",
                    interval.as_secs_f32()
                )),
                Seen::Now => None,
            });
            let remarks = answer.map_or(&[][..], |answer| &answer.remarks[..]);
            let remarks = remarks
                .iter()
                .map(move |remark| format!("{root}: {remark}"));
            every.into_iter().chain(remarks.collect::<Vec<_>>())
        })
    }
}

/// The reasons of an answer, with the paths of parts.
fn reasons(asked: &Asked, answer: &Answer) -> String {
    let parts = answer
        .stale
        .iter()
        .map(|stale| match stale.path == asked.root {
            true => stale.why.clone(),
            false => format!("{}: {}", shown(&stale.path), stale.why),
        });
    parts.collect::<Vec<_>>().join("; ")
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

/// Daemons that are asked at the same time.
const AT_ONCE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::FreshArgs;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(parse_time("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_time("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_time("").is_err() && parse_time("-1s").is_err());
    }

    #[test]
    fn the_past_is_not_asked_for() {
        let wanted = |no_wait, at| {
            let fresh = FreshArgs {
                no_wait,
                max_age: Some(Duration::ZERO),
                fresh: None,
            };
            let manner = Manner {
                fresh,
                at,
                ..Manner::default()
            };
            Freshness::ask(Path::new("/nowhere"), manner).max_age
        };
        assert!(wanted(false, None).is_some());
        assert!(wanted(true, None).is_none());
        assert!(wanted(false, Some(trawl_query::AsOf::Back(1))).is_none());
    }
}
