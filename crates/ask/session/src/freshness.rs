//! Freshness of answers: asks the daemons that watch an index, before it is opened, to bring it up
//! to date, and reports sources that may be out of date.
//!
//! Where no daemon watches, this costs one look for a file. Questions about the past ask no daemon.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trawl_barrier::protocol::{Answer, Noticed, Outcome};
use trawl_format::IndexDir;
use trawl_format::retention::parse_age;
use trawl_model::mapped::theirs;
use trawl_model::{Timestamp, path};
use trawl_open::barrier::{DaemonAnswer, Daemons};
use trawl_query::{Index, SnapshotInfo};
use trawl_text::words::shown;

use crate::notice::{Behind, Notice};
use crate::now;
use crate::options::{Wait, When};

pub use trawl_open::barrier::DEADLINE;

/// Parses an age or a waiting time: `30s`, `5m`, `250ms`, or a number of seconds.
///
/// # Errors
/// Lists the valid units.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let millis = text.strip_suffix("ms").and_then(|text| text.parse().ok());
    let time = millis.map(Duration::from_millis);
    let time = time.or_else(|| parse_age(text).map(Duration::from_secs));
    time.ok_or_else(|| "use a number and one of ms, s, m, h, d, w, y, such as 30s".to_owned())
}

/// Freshness of an index, as far as it is known.
#[derive(Debug)]
pub struct Freshness {
    /// The daemons that were asked; `None` if the index is read as it is.
    daemons: Option<Arc<Daemons>>,
    /// The index, once it is open.
    index: Option<Arc<Index>>,
    /// Roots of sources that were already reported as possibly out of date.
    told: BTreeSet<Vec<u8>>,
    /// Paths that the question is about; empty means all paths.
    touched: RefCell<BTreeSet<Vec<u8>>>,
    /// Roots of sources that no daemon watches and whose snapshots are older than `max_age`.
    old: RefCell<BTreeSet<Vec<u8>>>,
    max_age: Option<Duration>,
    /// Whether a fresh answer was asked for explicitly.
    is_demanded: bool,
}

impl Freshness {
    /// Asks the daemons of all these indexes at once.
    pub fn ask(indexes: &[PathBuf], when: When) -> Freshness {
        let is_asked = when.at.is_none() && when.wait != Wait::Never;
        let mut fresh = Freshness {
            daemons: None,
            index: None,
            told: BTreeSet::new(),
            touched: RefCell::default(),
            old: RefCell::default(),
            max_age: when.max_age.filter(|_| is_asked),
            is_demanded: is_asked && matches!(when.wait, Wait::UpTo(_)),
        };
        let is_watched = || indexes.iter().any(|index| IndexDir::is_watched(index));
        if is_asked && (fresh.is_demanded || is_watched()) {
            let deadline = match when.wait {
                Wait::UpTo(deadline) => deadline,
                Wait::IfWatched | Wait::Never => DEADLINE,
            };
            let max_age = when.max_age.unwrap_or_default();
            fresh.daemons = Some(Daemons::ask(indexes, deadline, max_age));
        }
        fresh
    }

    /// Returns the daemons. They hold the answers so far, and are asked about further sources to
    /// which only a path leads.
    pub fn daemons(&self) -> Option<Arc<Daemons>> {
        self.daemons.clone()
    }

    /// Restricts the answers to sources of this index. Answers for a source with the same root in
    /// another index mean nothing here.
    pub fn is_about(&mut self, index: &Arc<Index>) {
        self.index = Some(Arc::clone(index));
    }

    fn asked(&self) -> Vec<DaemonAnswer> {
        let daemons = self.daemons.as_ref();
        let mut asked = daemons.map_or(Vec::new(), |daemons| daemons.asked());
        let answers = |asked: &DaemonAnswer| {
            let by = self
                .index
                .as_ref()
                .and_then(|index| index.path_of(&asked.root));
            by.is_none_or(|by| by == asked.index)
        };
        asked.retain(answers);
        asked
    }

    /// Records that the question is about this path.
    pub fn touch(&self, path: &[u8]) {
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

    /// Records the age of a snapshot that is read, to report sources that are older than
    /// `--max-age` and that no daemon watches.
    pub fn note_age(&self, info: &SnapshotInfo) {
        let Some(max_age) = self.max_age else { return };
        let age = now().as_nanos() - self.as_of(info).as_nanos();
        let is_old = age > i128::try_from(max_age.as_nanos()).unwrap_or(i128::MAX);
        if is_old && self.answer_for(&info.root).is_none() {
            self.old.borrow_mut().insert(info.root.clone());
        }
    }

    /// Returns the time as of which a snapshot is true: the time when it began, or a later one that
    /// its daemon reports.
    pub fn as_of(&self, info: &SnapshotInfo) -> Timestamp {
        let answer = self.answer_for(&info.root);
        let known = answer.filter(|answer| answer.snapshot <= Some(info.id));
        let known = known.and_then(|answer| answer.as_of);
        known.map_or(info.started, |time| time.max(info.started))
    }

    /// Reports once, for each source in question, why it may be out of date. Returns the number of
    /// sources that were reported.
    pub fn tell(&mut self, listener: &dyn Fn(Notice)) -> u64 {
        let mut behind = 0;
        for asked in self.asked() {
            let is_asked = self.is_touched(&asked.root) && !self.told.contains(&asked.root);
            if let Some(why) = self.why_behind(&asked).filter(|_| is_asked) {
                listener(Notice::MayBeBehind {
                    root: asked.root.clone(),
                    why,
                });
                behind += 1;
                self.told.insert(asked.root);
            }
        }
        for root in self.old.take() {
            listener(Notice::TooOld { root });
            behind += 1;
        }
        behind
    }

    fn why_behind(&self, asked: &DaemonAnswer) -> Option<Behind> {
        let answer = match &asked.answer {
            None if asked.left_at.is_some() => return asked.left_at.map(Behind::Left),
            None if self.is_demanded => return Some(Behind::Unwatched),
            None => return None,
            Some(Err(why)) => return Some(Behind::Unreachable(why.clone())),
            Some(Ok(answer)) => answer,
        };
        match (answer.outcome, answer.seen) {
            (Outcome::Fresh, Noticed::Every(interval)) if self.is_demanded => {
                Some(Behind::Polled(interval))
            }
            (Outcome::Fresh, _) => None,
            (Outcome::Late, _) => Some(Behind::Late(reasons(asked, answer))),
            (Outcome::Stale | Outcome::Refused, _) => Some(Behind::Stale(reasons(asked, answer))),
        }
    }

    /// Returns further remarks about the answers, for [`Report::Status`](crate::Report::Status).
    pub fn remarks(&self) -> Vec<Notice> {
        let is_meant =
            |asked: &DaemonAnswer| self.is_touched(&asked.root) && !self.told.contains(&asked.root);
        let touched = self.asked().into_iter().filter(is_meant);
        let remarks = touched.flat_map(|asked| {
            let root = &asked.root;
            let answer = asked.answered();
            let every = answer.and_then(|answer| match answer.seen {
                Noticed::Every(every) => Some(Notice::Polled {
                    root: root.clone(),
                    every,
                }),
                Noticed::Now => None,
            });
            let remarks = answer.map_or(&[][..], |answer| &answer.remarks[..]);
            let remarks = remarks.iter().map(|remark| Notice::Remark {
                root: root.clone(),
                text: remark.clone(),
            });
            every.into_iter().chain(remarks).collect::<Vec<_>>()
        });
        remarks.collect()
    }
}

/// Joins the reasons in an answer, each with its path if it is about a part of the source.
fn reasons(asked: &DaemonAnswer, answer: &Answer) -> String {
    let parts = answer
        .stale
        .iter()
        .map(|stale| match stale.path == asked.root {
            true => stale.why.clone(),
            false => format!("{}: {}", shown(&theirs(&stale.path)), stale.why),
        });
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(parse_time("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_time("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_time("").is_err() && parse_time("-1s").is_err());
    }

    #[test]
    fn the_past_is_not_asked_for() {
        let wanted = |wait, at| {
            let when = When {
                at,
                wait,
                max_age: Some(Duration::ZERO),
            };
            Freshness::ask(&[PathBuf::from("/nowhere")], when).max_age
        };
        assert!(wanted(Wait::IfWatched, None).is_some());
        assert!(wanted(Wait::Never, None).is_none());
        assert!(wanted(Wait::IfWatched, Some(trawl_query::AsOf::Back(1))).is_none());
    }
}
