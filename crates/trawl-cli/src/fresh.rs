//! As of now: asks the daemons that watch an index, before it is opened, to bring it up to date,
//! and tells of what could not be had in time.
//!
//! Where no daemon watches anything, this costs one look for a file. Nothing is asked about the
//! past.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trawl_ask::barrier::{Asked, Daemons};
use trawl_index::IndexDir;
use trawl_index::retention::parse_age;
use trawl_model::{Timestamp, path};
use trawl_query::{Index, SnapshotInfo};
use trawl_serve::protocol::{Answer, Outcome, Seen};
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{quoted, shown};
use crate::index::scan::now;

pub(crate) use trawl_ask::barrier::DEADLINE;

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
#[derive(Debug)]
pub(crate) struct Freshness {
    /// Nobody, if the index is to be read as it is.
    daemons: Option<Arc<Daemons>>,
    /// What was opened then, as soon as it is.
    index: Option<Arc<Index>>,
    /// Sources of which was said that they may be out of date.
    told: BTreeSet<Vec<u8>>,
    /// Paths that the question is about; all, if there are none.
    touched: RefCell<BTreeSet<Vec<u8>>>,
    /// Snapshots that are older than wanted and that nobody watches, with their age.
    old: RefCell<BTreeSet<Vec<u8>>>,
    max_age: Option<Duration>,
    /// Whether a fresh answer was asked for in so many words.
    is_demanded: bool,
}

impl Freshness {
    /// Asks all daemons of some indexes at once.
    pub(crate) fn ask(indexes: &[PathBuf], manner: Manner) -> Freshness {
        let args = manner.fresh;
        let is_asked = manner.at.is_none() && !args.no_wait;
        let mut fresh = Freshness {
            daemons: None,
            index: None,
            told: BTreeSet::new(),
            touched: RefCell::default(),
            old: RefCell::default(),
            max_age: args.max_age.filter(|_| is_asked),
            is_demanded: is_asked && args.fresh.is_some(),
        };
        let is_watched = || indexes.iter().any(|index| IndexDir::is_watched(index));
        if is_asked && (fresh.is_demanded || is_watched()) {
            let deadline = args.fresh.unwrap_or(DEADLINE);
            let max_age = args.max_age.unwrap_or_default();
            fresh.daemons = Some(Daemons::ask(indexes, deadline, max_age));
        }
        fresh
    }

    /// Who is asked about sources to which only a path leads, and what was said of the others.
    pub(crate) fn daemons(&self) -> Option<Arc<Daemons>> {
        self.daemons.clone()
    }

    /// From now on it is about what answers in this index: what is said of sources of the same
    /// root in another one means nothing.
    pub(crate) fn is_about(&mut self, index: &Arc<Index>) {
        self.index = Some(Arc::clone(index));
    }

    fn asked(&self) -> Vec<Asked> {
        let daemons = self.daemons.as_ref();
        let mut asked = daemons.map_or(Vec::new(), |daemons| daemons.asked());
        let answers = |asked: &Asked| {
            let by = self
                .index
                .as_ref()
                .and_then(|index| index.path_of(&asked.root));
            by.is_none_or(|by| by == asked.index)
        };
        asked.retain(answers);
        asked
    }

    /// The question is about this path.
    pub(crate) fn touch(&self, path: &[u8]) {
        if self.daemons.is_some() {
            self.touched.borrow_mut().insert(path.to_vec());
        }
    }

    fn is_touched(&self, root: &[u8]) -> bool {
        let touched = self.touched.borrow();
        let is_about =
            |asked: &Vec<u8>| path::is_within(asked, root) || path::is_within(root, asked);
        touched.is_empty() || touched.iter().any(is_about)
    }

    fn answer_for(&self, root: &[u8]) -> Option<Answer> {
        let asked = self.asked().into_iter();
        let mut asked = asked.filter(|asked| asked.root == root && !self.told.contains(root));
        asked.next()?.answered().cloned()
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
        for asked in self.asked() {
            let is_asked = self.is_touched(&asked.root) && !self.told.contains(&asked.root);
            if let Some(why) = self.why_behind(&asked).filter(|_| is_asked) {
                say(&format!(
                    "{} may be out of date: {why}",
                    quoted(path::display(&asked.root))
                ));
                exit = Exit::Issues;
                self.told.insert(asked.root);
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
        exit
    }

    fn why_behind(&self, asked: &Asked) -> Option<String> {
        let answer = match &asked.answer {
            None if asked.left_at.is_some() => return asked.left_at.map(why_left),
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
        let is_meant =
            |asked: &Asked| self.is_touched(&asked.root) && !self.told.contains(&asked.root);
        let touched = self.asked().into_iter().filter(is_meant);
        let remarks = touched.flat_map(|asked| {
            let root = shown(&asked.root);
            let answer = asked.answered();
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
            every.into_iter().chain(remarks).collect::<Vec<_>>()
        });
        remarks.collect::<Vec<_>>().into_iter()
    }
}

/// Why a source may be out of date that nobody watches any more.
fn why_left(time: Timestamp) -> String {
    let mut text = String::new();
    full_iso(&mut text, time, &Zone::local());
    format!("its daemon was killed, and what changed after {text} may be missing; run trawl watch")
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
            Freshness::ask(&[PathBuf::from("/nowhere")], manner).max_age
        };
        assert!(wanted(false, None).is_some());
        assert!(wanted(true, None).is_none());
        assert!(wanted(false, Some(trawl_query::AsOf::Back(1))).is_none());
    }
}
