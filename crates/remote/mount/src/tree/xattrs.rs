//! Extended attributes. A program that asks for those of one name soon asks for others', so they
//! are requested in batches, for everything below a directory in the order of a bulk answer.
//!
//! A question begins at a name and covers a range of names; its answer covers all names in the
//! range, including those that it does not mention. The first question has a short range; if many
//! of its names were looked at, the next one has a longer range. Names in directories that cannot
//! be listed are requested one by one.
//!
//! Invariants: a name is told to have no attributes only if a complete answer covers it; nothing
//! older than the agreed age is told; memory is bounded.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering as Atomic};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use trawl_model::relative_path::{is_within, join, split};
use trawl_model::sync::wait_for;
use trawl_remote::RemoteError;
use trawl_remote::client::{AttributesBelow, ExtendedAttributes};
use trawl_sys::Errno;

use super::bulk::in_order;
use super::listing::Listing;
use super::store::is_fresh;
use super::watched::Term;
use super::{Asking, Inner, OVERTAKE, State, TRIES};

/// Number of entries of the first question, the factor for later ones, and the maximum.
const ENTRIES_FIRST: u32 = 2048;
const ENTRIES_TIMES: u32 = 8;
const ENTRIES_MAX: u32 = 32 << 10;
/// An answer that takes longer than this fraction of the maximum age is too slow; the next question
/// then has fewer entries by the same factor, but at least the minimum.
const SLOW_PART: u32 = 4;
const ENTRIES_MIN: u32 = 256;
/// A question grows only if at least this fraction of the previous entries was looked at.
const LOOKED_AT_PART: u32 = 4;
/// Maximum number of answers kept, and their maximum memory in bytes.
const COUNT_MAX: usize = 64;
const BYTES_MAX: usize = 32 << 20;
/// Maximum number and bytes of names with answers of their own; beyond either, all are forgotten.
const SINGLES_MAX: usize = 32 << 10;
const SINGLES_BYTES_MAX: usize = 8 << 20;
/// Maximum length of a path in the server's kernel.
const PATH_MAX_BYTES: usize = 4095;

/// The attributes of one name.
pub(super) type Attributes = Result<Arc<ExtendedAttributes>, Errno>;

/// Compares positions in the order of a bulk answer: directory by directory, by name in each.
fn order(one: &[u8], other: &[u8]) -> Ordering {
    let ((dir, name), (other_dir, other_name)) = (split(one), split(other));
    let dirs = in_order(dir).cmp(in_order(other_dir));
    dirs.then_with(|| name.cmp(other_name))
}

/// Returns the closest directory that contains both, or is one of them.
fn common<'a>(mut dir: &'a [u8], other: &[u8]) -> &'a [u8] {
    while !is_within(other, dir) {
        dir = split(dir).0;
    }
    dir
}

/// A question. Paths are relative to the top of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    top: Vec<u8>,
    /// The first name, in `top` or below.
    from: Vec<u8>,
    /// Number of names after the first.
    entries: u32,
}

impl Question {
    fn alone(path: &[u8]) -> Question {
        Question {
            top: split(path).0.to_vec(),
            from: path.to_vec(),
            entries: 0,
        }
    }

    /// Returns the first name in the form that the server expects.
    fn below(&self) -> &[u8] {
        let below = self.from.strip_prefix(&self.top[..]).unwrap_or_default();
        below.strip_prefix(b"/").unwrap_or(below)
    }

    /// Returns whether its answer may contain this name's attributes.
    fn comes_to(&self, path: &[u8]) -> bool {
        match self.entries {
            0 => self.from == path,
            _ => is_within(split(path).0, &self.top) && order(path, &self.from).is_ge(),
        }
    }
}

/// A question that is in flight.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    question: Question,
    /// The result, once there is one: success, or why there is no answer.
    ended: OnceLock<Result<(), Errno>>,
}

/// An answer.
#[derive(Debug)]
struct Cover {
    question: Question,
    at: Instant,
    /// The last name that it covers, if there are more.
    upto: Option<Vec<u8>>,
    found: HashMap<Vec<u8>, Attributes>,
    left_out: HashSet<Vec<u8>>,
    /// The result for names that it does not mention.
    others: Attributes,
    bytes: usize,
    /// How long it took to arrive.
    took: Duration,
    /// Number of lookups in it.
    looks: AtomicU32,
}

impl Cover {
    fn new(question: Question, answer: AttributesBelow, at: Instant) -> Cover {
        let mut bytes = 0;
        let mut path = |below: &[u8]| {
            let path = match below {
                b"" => question.top.clone(),
                below => join(&question.top, below),
            };
            bytes += path.len() + 128;
            path
        };
        let left_out = answer.left_out.iter().map(|dir| path(dir)).collect();
        let upto = answer.behind.map(|last| path(&last));
        let paths: Vec<_> = answer
            .objects
            .iter()
            .map(|(below, _)| path(below))
            .collect();
        let objects = answer.objects.into_iter().map(|(_, found)| {
            let all = found.iter().flatten();
            let values =
                all.map(|(name, value)| name.len() + value.as_ref().map_or(0, Vec::len) + 64);
            bytes += values.sum::<usize>();
            found.map(Arc::new)
        });
        Cover {
            found: paths.into_iter().zip(objects).collect(),
            question,
            at,
            upto,
            left_out,
            others: answer.others.map(|()| Arc::default()),
            bytes,
            took: at.elapsed(),
            looks: AtomicU32::new(0),
        }
    }

    fn get(&self, path: &[u8]) -> Option<Attributes> {
        if !is_within(path, &self.question.top) {
            return None;
        }
        if let Some(found) = self.found.get(path) {
            return Some(found.clone());
        }
        let is_before_end = |last: &Vec<u8>| order(path, last).is_le();
        let is_covered = self.question.entries > 0
            && !path.is_empty()
            && self.question.comes_to(path)
            && self.upto.as_ref().is_none_or(is_before_end)
            && !self.is_left_out(split(path).0);
        is_covered.then(|| self.others.clone())
    }

    /// Returns whether it took so long that the next question is to be shorter.
    fn is_slow(&self, max_age: Duration) -> bool {
        self.took > max_age / SLOW_PART
    }

    /// Returns the number of entries for the next question around it.
    fn next_entries(&self, max_age: Duration) -> u32 {
        let entries = self.question.entries;
        let looks = self.looks.load(Atomic::Relaxed);
        if self.is_slow(max_age) {
            (entries / ENTRIES_TIMES).max(ENTRIES_MIN)
        } else if looks >= entries / LOOKED_AT_PART {
            entries.saturating_mul(ENTRIES_TIMES).min(ENTRIES_MAX)
        } else {
            entries.min(ENTRIES_FIRST)
        }
    }

    /// Returns whether this directory or one of its ancestors was left out.
    fn is_left_out(&self, mut dir: &[u8]) -> bool {
        while !self.left_out.is_empty() {
            if self.left_out.contains(dir) {
                return true;
            }
            if dir.is_empty() {
                break;
            }
            dir = split(dir).0;
        }
        false
    }
}

/// Answers, and questions in flight.
#[derive(Debug, Default)]
pub(super) struct Xattrs {
    /// Answers, the newest last. Expired ones still help to choose the next question.
    covers: VecDeque<Cover>,
    bytes: usize,
    singles: HashMap<Vec<u8>, (Instant, Attributes)>,
    singles_bytes: usize,
    asked: Vec<Arc<PendingQuestion>>,
}

impl Xattrs {
    fn get(&self, path: &[u8], max_age: Duration) -> Option<Attributes> {
        self.get_if(path, |at| is_fresh(at, max_age))
    }

    /// Returns the known attributes of a name, if an answer requested at that time may be told.
    fn get_if(&self, path: &[u8], is_told: impl Fn(Instant) -> bool) -> Option<Attributes> {
        self.told(path, is_told).map(|(_, found)| found)
    }

    /// The same, with the time of the request.
    pub(super) fn told(
        &self,
        path: &[u8],
        is_told: impl Fn(Instant) -> bool,
    ) -> Option<(Instant, Attributes)> {
        let told = self.covers.iter().rev().filter(|it| is_told(it.at));
        if let Some((cover, found)) = told.filter_map(|it| Some((it, it.get(path)?))).next() {
            cover.looks.fetch_add(1, Atomic::Relaxed);
            return Some((cover.at, found));
        }
        let (at, found) = self.singles.get(path)?;
        is_told(*at).then(|| (*at, found.clone()))
    }

    /// Returns a question in flight whose answer may contain this name.
    fn coming(&self, path: &[u8]) -> Option<Arc<PendingQuestion>> {
        let mut asked = self.asked.iter();
        asked.find(|it| it.question.comes_to(path)).cloned()
    }

    /// Returns a question that covers this name and others around it. `listing` is that of the
    /// name's directory, if it is known.
    fn question(&self, path: &[u8], listing: Option<&Listing>, max_age: Duration) -> Question {
        let (dir, name) = split(path);
        let (top, entries) = self.top(dir, max_age);
        let mut from = path.to_vec();
        if let Some(listing) = listing {
            let names = &listing.entries;
            let at = names.partition_point(|entry| *entry.name < *name);
            let known = |at: usize| self.get(&join(dir, &names[at].name), max_age).is_some();
            // A program that does not go forward may go backward.
            if at > 0 && !known(at - 1) {
                let begin = at.saturating_sub(entries as usize / 2);
                from = join(dir, &names[begin].name);
            }
        }
        Question { top, from, entries }
    }

    /// Returns a question for a program that goes on to `wanted` names after this one.
    fn question_ahead(&self, path: &[u8], wanted: u32, max_age: Duration) -> Question {
        let (top, entries) = self.top(split(path).0, max_age);
        let is_slow = self.covers.back().is_some_and(|it| it.is_slow(max_age));
        let entries = match is_slow {
            true => entries,
            false => entries.max(wanted.min(ENTRIES_MAX)),
        };
        let from = path.to_vec();
        Question { top, from, entries }
    }

    /// Returns the directory below which to ask for names in `dir`, and the number of entries.
    fn top(&self, dir: &[u8], max_age: Duration) -> (Vec<u8>, u32) {
        let newest = || {
            self.covers
                .iter()
                .rev()
                .filter(|it| it.question.entries > 0)
        };
        let around = || newest().filter(|it| is_within(dir, &it.question.top));
        // Questions from these directories do not reach `dir`.
        let leaving_out: Vec<_> = around().filter(|it| it.is_left_out(dir)).collect();
        let is_left_out = |top: &[u8]| leaving_out.iter().any(|it| it.question.top == top);
        let before = around().find(|it| !is_left_out(&it.question.top));
        match (before, newest().next()) {
            (Some(before), _) => (before.question.top.clone(), before.next_entries(max_age)),
            // A program that goes from one directory to another is likely to visit their siblings.
            (None, Some(last)) if leaving_out.is_empty() => {
                (common(dir, &last.question.top).to_vec(), ENTRIES_FIRST)
            }
            _ => (dir.to_vec(), ENTRIES_FIRST),
        }
    }

    fn begin(&mut self, question: &Question) -> Arc<PendingQuestion> {
        let asked = Arc::new(PendingQuestion {
            question: question.clone(),
            ended: OnceLock::new(),
        });
        self.asked.push(Arc::clone(&asked));
        asked
    }

    /// Ends a question with its answer or error. An answer to a question from before
    /// [`super::Tree::forget`] is dropped.
    fn end(
        &mut self,
        asked: &Arc<PendingQuestion>,
        cover: Result<Cover, Errno>,
        max_age: Duration,
    ) {
        let before = self.asked.len();
        self.asked.retain(|other| !Arc::ptr_eq(other, asked));
        // No other thread sets the result.
        let _ = asked
            .ended
            .set(cover.as_ref().map(drop).map_err(|errno| *errno));
        match cover {
            Ok(cover) if self.asked.len() < before => self.insert(cover, max_age),
            _ => {}
        }
    }

    fn insert(&mut self, mut cover: Cover, max_age: Duration) {
        if cover.upto.as_ref() == Some(&cover.question.from) {
            self.insert_single(&mut cover);
            let top = &cover.question.top;
            let is_told = |it: &Cover| it.question.top == *top && it.left_out == cover.left_out;
            if cover.question.entries == 0 || self.covers.iter().any(is_told) {
                return;
            }
        }
        let is_needed =
            |it: &Cover| it.question.top != cover.question.top || is_fresh(it.at, max_age);
        self.covers.retain(is_needed);
        self.covers.push_back(cover);
        self.bytes = self.covers.iter().map(|it| it.bytes).sum();
        while self.covers.len() > COUNT_MAX || (self.bytes > BYTES_MAX && self.covers.len() > 1) {
            let oldest = self.covers.pop_front();
            self.bytes -= oldest.map_or(0, |it| it.bytes);
        }
    }
}

impl Xattrs {
    /// Stores the attributes of the first name of an answer that covers this name only.
    fn insert_single(&mut self, cover: &mut Cover) {
        if self.singles.len() >= SINGLES_MAX || self.singles_bytes > SINGLES_BYTES_MAX {
            self.singles.clear();
            self.singles_bytes = 0;
        }
        if let Some((path, found)) = cover.found.remove_entry(&cover.question.from) {
            self.singles_bytes += std::mem::take(&mut cover.bytes);
            self.singles.insert(path, (cover.at, found));
        }
    }
}

impl State {
    /// Returns how long the attributes of a name may be told that were requested at `asked`. They
    /// change together with the name's lstat(2) attributes.
    fn term_of_xattrs(&self, path: &[u8], asked: Instant) -> Term {
        if path.is_empty() {
            return self.watched.own(path, asked);
        }
        let (dir, name) = split(path);
        let listing = self.store.newest(dir);
        match listing.and_then(|listing| listing.get(name)?.found.as_ref().ok()) {
            Some(found) => self.watched.entry(dir, asked, name, found),
            None => Term::Short,
        }
    }
}

impl Inner {
    /// See [`super::Tree::xattrs`].
    pub(super) fn xattrs(&self, path: &[u8]) -> Attributes {
        self.xattrs_and(path, None, Duration::ZERO)
    }

    /// Like [`Inner::xattrs`], but prefetches the attributes of `ahead` names and accepts only
    /// values that stay valid for `least`.
    pub(super) fn xattrs_and(
        &self,
        path: &[u8],
        ahead: Option<u32>,
        least: Duration,
    ) -> Attributes {
        if self.server_path(path).len() > PATH_MAX_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        let begun = Instant::now();
        let (mut tries, mut last) = (0, None::<Arc<PendingQuestion>>);
        let mut state = self.state();
        loop {
            // An answer that arrived after the request began is as of now, even if the allowed age
            // is 0.
            let max_age = self.max_age.max(begun.elapsed());
            let is_told = |at: Instant| {
                let age = self.age(state.term_of_xattrs(path, at));
                let age = age.saturating_sub(least);
                is_fresh(at, age.max(begun.elapsed()))
            };
            if let Some(found) = state.xattrs.get_if(path, is_told) {
                return found;
            }
            // Waits once for a question in flight that may cover the name; it may turn out not to
            // reach that far.
            last = last.or_else(|| state.xattrs.coming(path));
            match last.as_ref().map(|asked| asked.ended.get()) {
                Some(None) => {
                    state = wait_for(&self.changed, state, OVERTAKE);
                    continue;
                }
                Some(Some(Err(errno))) => return Err(*errno),
                _ => {}
            }
            if tries == TRIES {
                drop(state);
                let text = format!("{} does not answer about {}", self.name, self.shown(path));
                return Err(self.failed(&text));
            }
            let is_alone = tries > 0 || self.asking == Asking::Each || self.max_age.is_zero();
            let question = match ahead {
                _ if is_alone => Question::alone(path),
                Some(wanted) => state.xattrs.question_ahead(path, wanted, max_age),
                None => {
                    let listing = state.store.again(split(path).0, |_| true);
                    state.xattrs.question(path, listing.as_deref(), max_age)
                }
            };
            tries += 1;
            state = self.take_in(state, question)?;
        }
    }

    /// Asks the question, and stores the answer.
    fn take_in<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        question: Question,
    ) -> Result<MutexGuard<'a, State>, Errno> {
        let asked = state.xattrs.begin(&question);
        drop(state);
        let answer = self.ask_xattrs(question);
        let mut state = self.state();
        let failed = answer.as_ref().err().copied();
        state.xattrs.end(&asked, answer, self.max_age);
        self.changed.notify_all();
        failed.map_or(Ok(state), Err)
    }

    fn ask_xattrs(&self, question: Question) -> Result<Cover, Errno> {
        let at = Instant::now();
        let top = self.server_path(&question.top);
        let answer = self
            .remote
            .attributes(&top, question.below(), question.entries);
        match answer {
            Err(RemoteError::Lacks { .. }) => Err(Errno::NOSYS),
            answer => Ok(Cover::new(question, self.asked(answer)?, at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Entry;

    const LONG: Duration = Duration::from_secs(3600);

    fn question(top: &str, from: &str, entries: u32) -> Question {
        Question {
            top: top.into(),
            from: from.into(),
            entries,
        }
    }

    /// Returns an answer in which these names have an attribute.
    fn cover(of: Question, having: &[&str], left_out: &[&str], behind: Option<&str>) -> Cover {
        let one = vec![(b"user.a".to_vec(), Ok(b"x".to_vec()))];
        let bytes = |text: &&str| text.as_bytes().to_vec();
        let answer = AttributesBelow {
            objects: having
                .iter()
                .map(|path| (bytes(path), Ok(one.clone())))
                .collect(),
            left_out: left_out.iter().map(bytes).collect(),
            behind: behind.as_ref().map(bytes),
            others: Ok(()),
        };
        Cover::new(of, answer, Instant::now())
    }

    fn listing(names: &[String]) -> Arc<Listing> {
        let entry = |name: &String| Entry {
            name: name.as_bytes().into(),
            found: Err(Errno::ACCES),
        };
        Listing::new([Instant::now(); 2], Ok(names.iter().map(entry).collect()))
    }

    #[test]
    fn what_an_answer_goes_over_is_covered() {
        let of = question("t", "t/d", 9);
        assert_eq!(of.below(), b"d");
        assert_eq!(question("", "", 9).below(), b"");
        assert_eq!(question("", "d/e", 9).below(), b"d/e");
        // In the order of a bulk answer: t, then t/d, then t/d/e.
        let cover = cover(of, &["d", "d/x", "shut"], &["shut", "d/a"], Some("d/e/m"));
        let has = |path: &str| cover.get(path.as_bytes()).map(|found| found.unwrap().len());
        for (path, wanted) in [
            ("t/d", Some(1)),
            ("t/d/x", Some(1)),
            ("t/shut", Some(1)),
            ("t/e", Some(0)),
            ("t/z", Some(0)),
            ("t/d/a", Some(0)),
            ("t/d/zz", Some(0)),
            ("t/d/e/a", Some(0)),
            ("t/d/e/m", Some(0)),
            // Before the first name, and after the last.
            ("t/c", None),
            ("t/d/e/n", None),
            ("t/e/a", None),
            // In other directories.
            ("t", None),
            ("", None),
            ("tt", None),
            ("u/d", None),
            // Left out.
            ("t/d/a/b", None),
            ("t/d/a/b/c", None),
        ] {
            assert_eq!(has(path), wanted, "{path}");
        }
    }

    #[test]
    fn one_alone_says_nothing_of_others() {
        let alone = Question::alone(b"a/b");
        assert_eq!((&alone.top[..], alone.below()), (&b"a"[..], &b"b"[..]));
        let cover = cover(alone, &["b"], &[], Some("b"));
        assert!(cover.get(b"a/b").is_some());
        for other in ["a/a", "a/c", "a/b/c", "a"] {
            assert!(cover.get(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn questions_become_longer_where_answers_are_looked_at() {
        let names: Vec<String> = (0..20_000).map(|number| format!("{number:05}")).collect();
        let listing = listing(&names);
        let mut xattrs = Xattrs::default();
        let ask =
            |xattrs: &Xattrs, path: &str| xattrs.question(path.as_bytes(), Some(&listing), LONG);
        assert_eq!(
            ask(&xattrs, "d/00000"),
            question("d", "d/00000", ENTRIES_FIRST)
        );
        // Some names before it, some after.
        let begun = ask(&xattrs, "d/10000");
        assert_eq!(begun, question("d", "d/08976", ENTRIES_FIRST));
        xattrs.insert(cover(begun, &["08976"], &[], Some("11024")), LONG);
        assert!(xattrs.get(b"d/11024", LONG).is_some());
        assert!(xattrs.get(b"d/11024", Duration::ZERO).is_none());
        assert!(xattrs.get(b"d/11025", LONG).is_none());
        // Nobody has looked at that answer.
        assert_eq!(
            ask(&xattrs, "d/11025"),
            question("d", "d/11025", ENTRIES_FIRST)
        );
        for number in 10_000..11_000 {
            assert!(xattrs.get(format!("d/{number}").as_bytes(), LONG).is_some());
        }
        let more = ENTRIES_FIRST * ENTRIES_TIMES;
        assert_eq!(ask(&xattrs, "d/11025"), question("d", "d/11025", more));
        // Fewer entries if answers take long.
        xattrs.covers[0].took = LONG / 3;
        let fewer = ENTRIES_MIN;
        assert_eq!(ask(&xattrs, "d/11025").entries, fewer);
        xattrs.covers[0].took = Duration::ZERO;
        // Backward as well, and in subdirectories.
        assert_eq!(ask(&xattrs, "d/08975"), question("d", "d/00783", more));
        let below = xattrs.question(b"d/00500/x", None, LONG);
        assert_eq!(below, question("d", "d/00500/x", more));
        let beside = xattrs.question(b"e/x", None, LONG);
        assert_eq!(beside, question("", "e/x", ENTRIES_FIRST));
    }

    #[test]
    fn who_goes_on_asks_for_as_much_as_is_gone_over() {
        let mut xattrs = Xattrs::default();
        let ask = |xattrs: &Xattrs, path: &str, wanted| {
            xattrs.question_ahead(path.as_bytes(), wanted, LONG)
        };
        assert_eq!(ask(&xattrs, "d/5", 9), question("d", "d/5", ENTRIES_FIRST));
        assert_eq!(ask(&xattrs, "d/5", 8000), question("d", "d/5", 8000));
        let most = ask(&xattrs, "d/5", u32::MAX);
        assert_eq!(most, question("d", "d/5", ENTRIES_MAX));
        // Fewer if answers take long.
        xattrs.insert(cover(most, &["5"], &[], Some("6")), LONG);
        xattrs.covers[0].took = LONG / 3;
        let fewer = question("d", "d/7", ENTRIES_MAX / ENTRIES_TIMES);
        assert_eq!(ask(&xattrs, "d/7", u32::MAX), fewer);
    }

    #[test]
    fn what_is_asked_next_lies_around_both() {
        let mut xattrs = Xattrs::default();
        let ask = |xattrs: &Xattrs, path: &str| xattrs.question(path.as_bytes(), None, LONG);
        assert_eq!(ask(&xattrs, "a/b/c").top, b"a/b");
        xattrs.insert(
            cover(ask(&xattrs, "a/b/c"), &["c"], &["shut"], Some("d")),
            LONG,
        );
        assert_eq!(ask(&xattrs, "a/c/d").top, b"a");
        assert_eq!(ask(&xattrs, "a/x").top, b"a");
        assert_eq!(ask(&xattrs, "a/bb/x").top, b"a");
        assert_eq!(ask(&xattrs, "b").top, b"");
        // A directory that an answer left out is requested separately.
        assert_eq!(ask(&xattrs, "a/b/z").top, b"a/b");
        assert_eq!(ask(&xattrs, "a/b/shut").top, b"a/b");
        assert_eq!(ask(&xattrs, "a/b/shut/x").top, b"a/b/shut");
        assert_eq!(ask(&xattrs, "a/b/shut/x/y").top, b"a/b/shut/x");
        xattrs.insert(cover(question("a/b", "a/b/z", 9), &["z"], &[], None), LONG);
        assert_eq!(ask(&xattrs, "a/b/shut/x").top, b"a/b/shut");
    }

    #[test]
    fn names_alone_drive_nothing_else_out() {
        let mut xattrs = Xattrs::default();
        xattrs.insert(cover(question("t", "t/a", 9), &["a"], &[], None), LONG);
        for number in 0..1000 {
            // In a directory that cannot be listed, and requested one by one.
            let (name, entries) = (format!("{number}"), if number % 2 == 0 { 9 } else { 0 });
            let of = question("shut", &format!("shut/{name}"), entries);
            let left_out: &[&str] = if entries > 0 { &[""] } else { &[] };
            xattrs.insert(cover(of, &[&name], left_out, Some(&name)), LONG);
            let path = format!("shut/{name}").into_bytes();
            let found = xattrs.get(&path, LONG);
            assert_eq!(found.map(|found| found.unwrap().len()), Some(1));
            assert!(xattrs.get(&path, Duration::ZERO).is_none());
        }
        assert!(xattrs.get(b"shut/0", LONG).is_some() && xattrs.get(b"shut/x", LONG).is_none());
        assert_eq!((xattrs.covers.len(), xattrs.singles.len()), (2, 1000));
        let before = xattrs.singles_bytes;
        assert!(before > 100_000);
        for number in 0..SINGLES_MAX {
            let of = question("u", &format!("u/{number}"), 0);
            let name = format!("{number}");
            let mut cover = cover(of, &[&name], &[], Some(&name));
            cover.bytes = BYTES_MAX / 100;
            xattrs.insert(cover, LONG);
            assert!(xattrs.singles_bytes <= SINGLES_BYTES_MAX + BYTES_MAX / 100);
        }
        assert!(xattrs.get(b"t/b", LONG).is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let mut xattrs = Xattrs::default();
        for number in 0..200 {
            let of = question(&format!("{number}"), &format!("{number}/a"), 9);
            let mut cover = cover(of, &["a"], &[], None);
            assert!(cover.bytes > 128);
            cover.bytes = number * 10_000;
            xattrs.insert(cover, LONG);
            assert!(xattrs.covers.len() <= COUNT_MAX && xattrs.bytes <= BYTES_MAX);
        }
        assert!(xattrs.get(b"199/a", LONG).is_some());
        assert!(xattrs.get(b"100/a", LONG).is_none());
        // A single answer may exceed the limit.
        let mut long = cover(question("x", "x/a", 9), &["a"], &[], None);
        long.bytes = 2 * BYTES_MAX;
        xattrs.insert(long, LONG);
        assert_eq!(xattrs.covers.len(), 1);
    }

    #[test]
    fn what_was_asked_before_all_was_forgotten_is_not_kept() {
        let mut xattrs = Xattrs::default();
        let of = question("d", "d/a", 9);
        let asked = xattrs.begin(&of);
        assert!(xattrs.coming(b"d/b").is_some() && xattrs.coming(b"e").is_none());
        xattrs = Xattrs::default();
        xattrs.end(&asked, Ok(cover(of.clone(), &["a"], &[], None)), LONG);
        assert!(xattrs.get(b"d/a", LONG).is_none());
        let asked = xattrs.begin(&of);
        xattrs.end(&asked, Ok(cover(of.clone(), &["a"], &[], None)), LONG);
        assert!(xattrs.get(b"d/a", LONG).is_some() && xattrs.coming(b"d/b").is_none());
        let asked = xattrs.begin(&of);
        xattrs.end(&asked, Err(Errno::NOSYS), LONG);
        assert_eq!(asked.ended.get(), Some(&Err(Errno::NOSYS)));
    }
}
