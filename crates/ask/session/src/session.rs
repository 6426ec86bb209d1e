//! The session of a question: the open index, the way from paths to places in it, and a record of
//! how complete the answer is.
//!
//! Every place that a question touches is recorded. At the end, the session knows the snapshots and
//! the issues in scope, reports them if [`Report::Status`] asks for it, and says how complete the
//! answer is. Parts that the index hides from this user although they may reach them by name are
//! read from the live file system ([`crate::live_part`]). Only this module does that for questions
//! about the index.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_find::resolve::{Remembered, Resolved, is_recorded, resolve};
use trawl_model::{ColumnSet, Issue, Op, Subtrees, Timestamp, mapped, path};
use trawl_query::{DeniedRequest, Index, Located, Start};
use trawl_text::words::shown;

use crate::completeness::Completeness;
use crate::error::SessionError;
use crate::freshness::Freshness;
use crate::left_out::pattern_for;
use crate::live_part::{self, Extent, LivePart, is_live};
use crate::notice::{AsOfWhen, LiveReason, Missing, NoneThen, NotIndexed, Notice};
use crate::options::{Options, Report};
use crate::settings;
use crate::spelling::printed_path;

pub use trawl_find::resolve::Follow;

/// How far below a place a question reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only the entry.
    Itself,
    /// The entries of a directory.
    Children,
    /// Everything below the place.
    All,
}

/// How directories that the user may not list are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denials {
    /// One by one, with these words.
    Said(&'static str),
    /// Only counted: the command reports them itself.
    Counted,
}

/// Part of a tree that a question looked at.
pub struct Part<'a> {
    /// How far below the top it reaches.
    pub depth: Depth,
    /// Subtrees that were left out.
    pub skip: Subtrees,
    /// Returns true for directories that were left out because of their names.
    pub hides: &'a dyn Fn(&[u8]) -> bool,
}

impl Part<'_> {
    /// Returns the part that has everything down to this depth.
    pub fn whole(depth: Depth) -> Part<'static> {
        Part {
            depth,
            skip: Subtrees::new(),
            hides: &|_| false,
        }
    }
}

/// Number of paths that are looked up together.
pub const PATHS_AT_ONCE: usize = 1024;

/// Time and origin of a part of the answer.
type ReadAt = (Timestamp, AsOfWhen);

/// One question and the index that answers it.
pub struct Session<'a> {
    index: Arc<Index>,
    /// Lookups in the index that were made ahead of time.
    known: Remembered<Arc<Index>>,
    options: Options<'a>,
    cwd: OnceCell<Vec<u8>>,
    completeness: Completeness,
    /// For each source, the time as of which its part of the answer is true.
    as_of: BTreeMap<Vec<u8>, ReadAt>,
    issues: Vec<Issue>,
    denials: Denials,
    /// Number of directories that the user may not list.
    denied: u64,
    recorded: bool,
    /// How far below its paths the question reaches.
    reach: Depth,
    /// Parts that were read from the live file system.
    lives: Vec<LivePart>,
    /// Answers that daemons gave before the index was opened.
    fresh: Freshness,
}

impl<'a> Session<'a> {
    /// Opens these indexes, which are asked together, after their daemons were asked to bring them
    /// up to date.
    ///
    /// # Errors
    /// If the asker's groups cannot be read, or an index cannot be opened.
    pub fn open(indexes: &[PathBuf], options: Options<'a>) -> Result<Session<'a>, SessionError> {
        let as_of = options.when.at.unwrap_or_default();
        let fresh = Freshness::ask(indexes, options.when);
        let who = settings::asker()?;
        let index = trawl_open::search::open(indexes, fresh.daemons(), who, as_of)?;
        Ok(Session::of(Arc::new(index), fresh, options))
    }

    /// Returns a session over an index that is open. No daemon is asked.
    pub fn over(index: Arc<Index>, options: Options<'a>) -> Session<'a> {
        Session::of(index, Freshness::ask(&[], options.when), options)
    }

    fn of(index: Arc<Index>, mut fresh: Freshness, options: Options<'a>) -> Session<'a> {
        fresh.is_about(&index);
        Session {
            known: Remembered::new(Arc::clone(&index), ColumnSet::all()),
            index,
            options,
            cwd: OnceCell::new(),
            completeness: Completeness::default(),
            as_of: BTreeMap::new(),
            issues: Vec::new(),
            denials: Denials::Said("cannot read directory"),
            denied: 0,
            recorded: false,
            reach: Depth::All,
            lives: Vec::new(),
            fresh,
        }
    }

    /// Returns the listener, for answers that have notices of their own.
    pub fn listener(&self) -> &'a dyn Fn(Notice) {
        self.options.listener
    }

    /// Records that this number of entries below the paths could not be looked up. They were
    /// already reported.
    pub fn note_unreachable(&mut self, count: u64) {
        self.completeness.unreachable += count;
    }

    fn say(&self, notice: Notice) {
        (self.options.listener)(notice);
    }

    /// Returns the flag that ends the question early, for requests to the index.
    pub fn cancel(&self) -> Option<&'a AtomicBool> {
        self.options.interrupts.cancel
    }

    /// Sets how directories that the user may not list are reported.
    pub fn tell_denials(&mut self, denials: Denials) {
        self.denials = denials;
    }

    /// Returns the number of directories, among those recorded, that the user may not list.
    pub fn denied(&self) -> u64 {
        self.denied
    }

    /// Limits how far below its paths the question reaches.
    pub fn reach_to(&mut self, reach: Depth) {
        self.reach = reach;
    }

    /// Returns the index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the index, for use independently of the session.
    pub fn share_index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
    }

    /// Returns the lookups: from those made ahead of time, else from the index.
    pub fn known(&self) -> &Remembered<Arc<Index>> {
        &self.known
    }

    /// Prepares lookups of these paths: the parts of the index that are needed to find them are
    /// read together. Not meant for more than a few thousand paths at once.
    pub fn expect(&self, paths: &[OsString], follow: Follow) -> Result<(), SessionError> {
        if paths.len() < 2 {
            return Ok(());
        }
        let mut expected = Vec::with_capacity(paths.len());
        for path in paths.iter().map(|path| path.as_bytes()) {
            if let Some(path) = mapped::ours(path).filter(|path| !path.is_empty()) {
                expected.push((self.cwd_of(&path)?, path));
            }
        }
        let expected: Vec<(&[u8], &[u8])> = expected
            .iter()
            .map(|(cwd, path)| (&cwd[..], &path[..]))
            .collect();
        Ok(self.known.prepare(&expected, follow)?)
    }

    /// Finds the entry that the user means by `given`. If there is none, reports why and what to
    /// do, and returns `None`: the question goes on with the next path.
    pub fn locate(&mut self, given: &OsStr, follow: Follow) -> Result<Option<Start>, SessionError> {
        let given = given.as_bytes();
        let resolved = self.resolve(given, follow)?;
        self.found(given, resolved)
    }

    /// Finds the entry at a path of the index, like [`Session::locate`].
    pub fn locate_path(
        &mut self,
        path: &[u8],
        follow: Follow,
    ) -> Result<Option<Start>, SessionError> {
        let given = mapped::theirs(path).into_owned();
        let resolved = self.resolve_path(path, follow)?;
        self.found(&given, resolved)
    }

    fn found(
        &mut self,
        given: &[u8],
        resolved: Option<Resolved>,
    ) -> Result<Option<Start>, SessionError> {
        let (located, path) = match resolved {
            Some(Resolved::To(located, path)) => (located, path),
            Some(Resolved::Loop) => return Ok(self.missing(given, Missing::Loop)),
            Some(Resolved::Unread(error)) => {
                return Ok(self.missing(given, Missing::Unread(error)));
            }
            None => return Ok(self.missing(given, Missing::NotFound)),
        };
        match located {
            Located::Found(start) if start.is_dir || !given.ends_with(b"/") => Ok(Some(*start)),
            Located::Found(_) | Located::NotDirectory { .. } => {
                Ok(self.missing(given, Missing::NotDirectory))
            }
            Located::Denied { .. } => Ok(self.missing(given, Missing::Denied)),
            Located::NotIndexed { nearest } => {
                let notice = self.why_not_indexed(&path, nearest)?;
                self.say(notice);
                self.completeness.missing += 1;
                Ok(None)
            }
            _ => {
                let why = self.why_missing(&path)?;
                Ok(self.missing(given, why))
            }
        }
    }

    /// Resolves `given`, as the asker writes it; returns `None` for the empty string, and for a path
    /// of an asker whose paths are mapped that leads to no tree of this machine. Never returns
    /// [`Located::Hidden`]: the live file system is asked instead.
    pub fn resolve(
        &mut self,
        given: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, SessionError> {
        match mapped::ours(given) {
            Some(path) => self.resolve_as(given, &path, follow),
            None => Ok(None),
        }
    }

    /// Resolves a path of the index, like [`Session::resolve`].
    pub fn resolve_path(
        &mut self,
        path: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, SessionError> {
        self.resolve_as(&mapped::theirs(path), path::display(path), follow)
    }

    /// Resolves a path of this machine that the asker calls `given`.
    fn resolve_as(
        &mut self,
        given: &[u8],
        asked: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, SessionError> {
        let cwd = self.cwd_of(asked)?;
        Ok(match self.resolve_ours(asked, follow)? {
            Some(Resolved::To(Located::Hidden { dir, view }, path)) => {
                let why = LiveReason::Hidden(dir.clone());
                Some(match is_recorded(&view) {
                    true => Resolved::To(Located::Denied { dir }, path),
                    false => self.look_live(given, path, dir, why)?,
                })
            }
            Some(Resolved::To(outside @ Located::NotIndexed { .. }, path)) => {
                let is_link =
                    follow == Follow::Last && !self.is_past() && self.is_live_link(&cwd, asked)?;
                Some(match is_link {
                    true => {
                        let dir = path::split(&path).map_or(Vec::new(), |(dir, _)| dir.to_vec());
                        self.look_live(given, path, dir, LiveReason::LeadsOut)?
                    }
                    false => Resolved::To(outside, path),
                })
            }
            other => other,
        })
    }

    /// Resolves `given` like [`Session::resolve`], for callers that themselves ask the live file
    /// system about [`Located::Hidden`] and [`Located::NotIndexed`].
    pub fn resolve_in_index(
        &self,
        given: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, SessionError> {
        match mapped::ours(given) {
            Some(path) => self.resolve_ours(&path, follow),
            None => Ok(None),
        }
    }

    fn resolve_ours(&self, asked: &[u8], follow: Follow) -> Result<Option<Resolved>, SessionError> {
        if asked.is_empty() {
            return Ok(None);
        }
        let cwd = self.cwd_of(asked)?;
        let resolved = resolve(&self.known, &cwd, asked, follow)?;
        if let Resolved::To(_, path) = &resolved {
            self.fresh.touch(path);
        }
        Ok(Some(resolved))
    }

    /// Returns true if the question is about the past: then nothing is read from the live file
    /// system.
    pub fn is_past(&self) -> bool {
        self.index.is_as_of().is_past()
    }

    /// Returns why `path`, which [`Located::NotIndexed`] is about, has no answer: it lies in a
    /// source without a snapshot for the time in question, or in no source.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn why_not_indexed(
        &self,
        path: &[u8],
        nearest: Option<Vec<u8>>,
    ) -> Result<Notice, SessionError> {
        let as_of = self.index.is_as_of();
        let known = match as_of.is_past() {
            true => self.index.snapshots_of(path)?,
            false => None,
        };
        let path = path.to_vec();
        Ok(match known {
            Some((root, snapshots)) => Notice::NotThen {
                path,
                root,
                why: NoneThen { as_of, snapshots },
            },
            None => Notice::NotIndexed(NotIndexed { path, nearest }),
        })
    }

    /// Describes a path that lies in no source of this index.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn outside(&self, path: &[u8]) -> Result<NotIndexed, SessionError> {
        let nearest = match self.index.locate(path)? {
            Located::NotIndexed { nearest } => nearest,
            _ => None,
        };
        Ok(NotIndexed {
            path: path.to_vec(),
            nearest,
        })
    }

    /// Returns the directory that `given` is relative to.
    fn cwd_of(&self, given: &[u8]) -> Result<Vec<u8>, SessionError> {
        match given.first() {
            None | Some(b'/') => Ok(Vec::new()),
            Some(_) => Ok(self.cwd()?.to_vec()),
        }
    }

    /// Returns true if `given` itself is in the index, but not in a recording.
    fn is_live_link(&self, cwd: &[u8], given: &[u8]) -> Result<bool, SessionError> {
        let itself = resolve(&self.known, cwd, given, Follow::Never)?;
        Ok(match itself {
            Resolved::To(Located::Found(start), _) => !is_recorded(&start.view),
            _ => false,
        })
    }

    /// Looks for `path` in `dir` on the live file system, as the user, and reports why.
    fn look_live(
        &mut self,
        given: &[u8],
        path: Vec<u8>,
        dir: Vec<u8>,
        why: LiveReason,
    ) -> Result<Resolved, SessionError> {
        let is_directory = match live_part::is_directory(&path) {
            Ok(is_directory) => is_directory,
            Err(error) => return Ok(unreachable(error, path, dir)),
        };
        let extent = match self.reach {
            Depth::Children | Depth::All if is_directory => Extent::Subtree,
            _ => Extent::Itself,
        };
        let interrupts = self.options.interrupts;
        let read = LivePart::read(&path, extent, self.index.who(), interrupts)?;
        self.say(Notice::ReadLive {
            given: given.to_vec(),
            why,
        });
        let located = read.view.locate(&path)?;
        // A directory that was not listed may be asked about in more depth later.
        if read.extent == Extent::Subtree || !is_directory {
            self.index.add_view(&path, Arc::clone(&read.view));
            self.known.forget(&path);
        }
        self.lives.push(read);
        Ok(Resolved::To(located, path))
    }

    fn missing(&mut self, given: &[u8], why: Missing) -> Option<Start> {
        self.say(Notice::Missing {
            given: given.to_vec(),
            why,
        });
        self.completeness.missing += 1;
        None
    }

    /// Explains whether a missing path does not exist or was not read.
    fn why_missing(&self, path: &[u8]) -> Result<Missing, SessionError> {
        if let Some(start) = self.nearest_above(path)? {
            let issues = self.index.recorded_issues(&start, Some(1))?;
            let about = |issue: &&Issue| {
                issue.op.hides_entries() && trawl_model::path::is_within(path, &issue.path)
            };
            if let Some(issue) = issues.iter().find(about) {
                return Ok(Missing::NotRead(issue.clone()));
            }
        }
        let why = self.why_left_out(path)?;
        Ok(why.unwrap_or(Missing::NotInIndex))
    }

    /// Explains by which pattern a path was left out of the index; `None` if no pattern matches it.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn why_left_out(&self, path: &[u8]) -> Result<Option<Missing>, SessionError> {
        let Some(start) = self.nearest_above(path)? else {
            return Ok(None);
        };
        let pattern = pattern_for(start.view.info(), &start.path, path);
        Ok(pattern.map(Missing::LeftOut))
    }

    /// Returns the nearest directory above a path that the index has.
    fn nearest_above(&self, path: &[u8]) -> Result<Option<Start>, SessionError> {
        for dir in path::ancestors(path) {
            if let Located::Found(start) = self.index.locate(dir)? {
                return Ok(Some(*start));
            }
        }
        Ok(None)
    }

    fn cwd(&self) -> Result<&[u8], SessionError> {
        if let Some(known) = self.cwd.get() {
            return Ok(known);
        }
        let cwd = std::env::current_dir().map_err(SessionError::NoWorkingDirectory)?;
        Ok(self.cwd.get_or_init(|| cwd.into_os_string().into_vec()))
    }

    /// Records that the answer reaches this far below `start`.
    pub fn note(&mut self, start: &Start, depth: Depth) -> Result<(), SessionError> {
        self.note_part(start, &mapped::theirs(&start.path), &Part::whole(depth))
    }

    /// Records that the answer is about this part of the tree below `start`, which the user calls
    /// `given`.
    pub fn note_part(
        &mut self,
        start: &Start,
        given: &[u8],
        part: &Part<'_>,
    ) -> Result<(), SessionError> {
        self.note_time(start);
        let levels = match part.depth {
            Depth::Itself => return Ok(()),
            Depth::Children => Some(1),
            Depth::All => None,
        };
        let mut found = self.index.recorded_issues(start, levels)?;
        let told = self.note_denied(start, given, part, levels, &found)?;
        found.retain(|issue| !told.contains(&issue.path));
        self.issues.extend(found);
        Ok(())
    }

    /// Records that a place was read live at this time.
    pub fn note_live(&mut self, place: &[u8], time: Timestamp) {
        let read = || (time, AsOfWhen::Live);
        self.as_of.entry(place.to_vec()).or_insert_with(read);
    }

    fn note_time(&mut self, start: &Start) {
        let info = self.index.as_of(start);
        self.recorded |= is_recorded(&start.view);
        let is_live = is_live(info);
        let key = if is_live { &start.path } else { &info.root };
        if !is_live {
            self.fresh.note_age(info);
        }
        let fresh = &self.fresh;
        self.as_of.entry(key.clone()).or_insert_with(|| {
            if is_live {
                return (info.started, AsOfWhen::Live);
            }
            let (id, index) = (info.id, index_of(&self.index, key));
            (fresh.as_of(info), AsOfWhen::Snapshot { id, index })
        });
    }

    /// Reports the directories that the user may not list. Returns those that are also among the
    /// recorded `issues`.
    fn note_denied(
        &mut self,
        start: &Start,
        given: &[u8],
        part: &Part<'_>,
        levels: Option<usize>,
        issues: &[Issue],
    ) -> Result<HashSet<Vec<u8>>, SessionError> {
        let request = DeniedRequest {
            max_depth: levels,
            skip: part.skip.clone(),
            cancel: self.cancel(),
        };
        let unlisted = issues.iter().filter(|issue| issue.op == Op::OpenDir);
        let unlisted: HashSet<&[u8]> = unlisted.map(|issue| &issue.path[..]).collect();
        let mut told = HashSet::new();
        let (denials, mut denied) = (self.denials, 0);
        let (mut missing, mut unlisted_below) = (0, 0);
        self.index.denied(start, &request, |path| {
            if (part.hides)(path) {
                return ControlFlow::Continue(());
            }
            denied += 1;
            if unlisted.contains(path) {
                told.insert(path.to_vec());
            }
            if let Denials::Said(action) = denials {
                let path_given = printed_path(given, &start.path, path);
                self.say(Notice::Denied {
                    action,
                    path: path_given,
                });
                match path == start.path {
                    true => missing += 1,
                    false => unlisted_below += 1,
                }
            }
            ControlFlow::Continue(())
        })?;
        self.denied += denied;
        self.completeness.missing += missing;
        self.completeness.unreachable += unlisted_below;
        Ok(told)
    }

    /// Returns true unless a part of the answer comes from the past, or from a recording of a tree
    /// that the live file system does not have.
    pub fn is_live(&self) -> bool {
        !self.recorded && !self.is_past()
    }

    /// Reports the sources that have no snapshot for the time in question. Returns true if there
    /// are sources and none of them has one: then nothing can be answered.
    pub fn say_who_has_none(&self) -> bool {
        let as_of = self.index.is_as_of();
        let mut has_any = false;
        for source in self.index.sources() {
            let Ok(snapshots) = source.snapshots() else {
                has_any = true;
                continue;
            };
            if as_of.choose(&snapshots).is_some() {
                has_any = true;
                continue;
            }
            self.say(Notice::NoSnapshot {
                root: source.root().to_vec(),
                why: NoneThen { as_of, snapshots },
            });
        }
        !has_any && !self.index.sources().is_empty()
    }

    /// Reports to `listener` which of the sources in question may be out of date. Returns true if
    /// there are any that were not reported before.
    pub fn say_if_behind(&mut self, listener: &dyn Fn(Notice)) -> bool {
        let behind = self.fresh.tell(listener);
        self.completeness.behind += behind;
        behind > 0
    }

    /// Reports issues and, for [`Report::Status`], how fresh the answer is. Returns what the answer
    /// lacks.
    pub fn finish(mut self) -> Completeness {
        self.say_if_behind(self.options.listener);
        self.issues.sort();
        self.issues.dedup();
        let unread = self.issues.iter();
        let unread = unread.filter(|issue| issue.op.hides_entries()).count();
        self.completeness.unread = u64::try_from(unread).unwrap_or(u64::MAX);
        match self.options.report {
            Report::Status => self.say_status(),
            Report::Gaps if unread > 0 => self.say(Notice::Unread(self.completeness.unread)),
            Report::Gaps => {}
        }
        self.completeness
    }

    fn say_status(&mut self) {
        for (place, (time, when)) in std::mem::take(&mut self.as_of) {
            self.say(Notice::AsOf { place, time, when });
        }
        for remark in self.fresh.remarks() {
            self.say(remark);
        }
        if self.is_past() {
            self.say_who_has_none();
        }
        let count = u64::try_from(self.issues.len()).unwrap_or(u64::MAX);
        self.say(Notice::IssueCount(count.saturating_add(self.denied)));
        for issue in std::mem::take(&mut self.issues) {
            self.say(Notice::Issue(issue));
        }
    }
}

/// Returns the index that answers for the source with this root; `None` if only one index is asked.
fn index_of(index: &Index, root: &[u8]) -> Option<PathBuf> {
    match (index.paths().count(), index.path_of(root)) {
        (2.., Some(path)) => Some(path.to_path_buf()),
        _ => None,
    }
}

/// Returns the index that answers for the source with this root, as text for a message; empty if
/// only one index is asked.
pub fn shown_index(index: &Index, root: &[u8]) -> String {
    let path = index_of(index, root);
    path.map_or_else(String::new, |path| {
        format!(
            ", index {}",
            shown(&mapped::theirs(path.as_os_str().as_bytes()))
        )
    })
}

/// Interprets the error of a live lookup of `path`.
fn unreachable(error: std::io::Error, path: Vec<u8>, dir: Vec<u8>) -> Resolved {
    let located = match error.kind() {
        ErrorKind::PermissionDenied => Located::Denied { dir },
        ErrorKind::NotADirectory => Located::NotDirectory { path: path.clone() },
        _ => return Resolved::Unread(error),
    };
    Resolved::To(located, path)
}
