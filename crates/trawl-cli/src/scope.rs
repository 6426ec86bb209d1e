//! The session of a question: the open index, the way from paths to places in it, and a record of
//! how complete the answer is.
//!
//! Every place that a question touches is recorded. At the end, the session knows the snapshots and
//! the issues in scope, reports them if `--status` asks for it, and derives the exit code from
//! them. Parts that the index hides from this user although they may reach them by name are read
//! from the live file system ([`crate::live`]). Only this module does that for questions about the
//! index.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

use trawl_model::rows::Row;
use trawl_model::{ColumnSet, Issue, Op, Subtrees, Timestamp, path};
use trawl_query::{DeniedRequest, Index, Located, Start};
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::at;
use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted, shown};
use crate::fresh::Freshness;
use crate::index::left_out::pattern_for;
use crate::index::progress::counted;
use crate::index::summary::described;
use crate::live::{self, Live, is_live};
use crate::output::say;
use crate::resolve::{Remembered, Resolved, is_recorded, resolve};
use crate::settings;

pub(crate) use crate::resolve::Follow;

/// How far below a place a question reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only the entry.
    Itself,
    /// The entries of a directory.
    Children,
    /// Everything below the place.
    All,
}

/// How directories that the user may not list are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denials {
    /// One by one, with these words.
    Said(&'static str),
    /// Only counted: the command reports them itself.
    Counted,
}

/// Part of a tree that a question looked at.
pub(crate) struct Part<'a> {
    /// How far below the top it reaches.
    pub(crate) depth: Depth,
    /// Subtrees that were left out.
    pub(crate) skip: Subtrees,
    /// Returns true for directories that were left out because of their names.
    pub(crate) hides: &'a dyn Fn(&[u8]) -> bool,
}

impl Part<'_> {
    /// Returns the part that has everything down to this depth.
    pub(crate) fn whole(depth: Depth) -> Part<'static> {
        Part {
            depth,
            skip: Subtrees::new(),
            hides: &|_| false,
        }
    }
}

/// Number of paths that are looked up together.
pub(crate) const PATHS_AT_ONCE: usize = 1024;

/// One question and the index that answers it.
pub(crate) struct Session {
    index: Arc<Index>,
    /// Lookups in the index that were made ahead of time.
    known: Remembered<Arc<Index>>,
    manner: Manner,
    /// How the command ends if a path that it was given does not exist.
    if_missing: Exit,
    cwd: OnceCell<Vec<u8>>,
    exit: Exit,
    /// For each source, a line that says as of when its part of the answer is true.
    as_of: BTreeMap<Vec<u8>, String>,
    issues: Vec<Issue>,
    denials: Denials,
    /// Number of directories that the user may not list.
    denied: u64,
    recorded: bool,
    /// How far below its paths the question reaches.
    reach: Depth,
    /// Parts that were read from the live file system.
    lives: Vec<Live>,
    /// Answers that daemons gave before the index was opened.
    fresh: Freshness,
}

impl Session {
    /// Opens the index. `if_missing` says how the command ends if a path that it was given does not
    /// exist: as the GNU tool of the same name does.
    pub(crate) fn open(
        index: Option<PathBuf>,
        manner: Manner,
        if_missing: Exit,
    ) -> Result<Session, Failure> {
        manner.prepare();
        let dirs = settings::indexes_to_ask(index)?;
        let as_of = manner.at.unwrap_or_default();
        let mut fresh = Freshness::ask(&dirs, manner);
        let who = settings::asker()?;
        let index = trawl_ask::search::open(&dirs, fresh.daemons(), who, as_of)?;
        let index = Arc::new(index);
        fresh.is_about(&index);
        Ok(Session {
            known: Remembered::new(Arc::clone(&index), ColumnSet::all()),
            index,
            manner,
            if_missing,
            cwd: OnceCell::new(),
            exit: Exit::Complete,
            as_of: BTreeMap::new(),
            issues: Vec::new(),
            denials: Denials::Said("cannot read directory"),
            denied: 0,
            recorded: false,
            reach: Depth::All,
            lives: Vec::new(),
            fresh,
        })
    }

    /// Sets how directories that the user may not list are reported.
    pub(crate) fn tell_denials(&mut self, denials: Denials) {
        self.denials = denials;
    }

    /// Returns the number of directories, among those recorded, that the user may not list.
    pub(crate) fn denied(&self) -> u64 {
        self.denied
    }

    /// Limits how far below its paths the question reaches.
    pub(crate) fn reach_to(&mut self, reach: Depth) {
        self.reach = reach;
    }

    /// Returns the index.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the index, for use independently of the session.
    pub(crate) fn share_index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
    }

    /// Returns the lookups: from those made ahead of time, else from the index.
    pub(crate) fn known(&self) -> &Remembered<Arc<Index>> {
        &self.known
    }

    /// Prepares lookups of these paths: the parts of the index that are needed to find them are
    /// read together. Not meant for more than a few thousand paths at once.
    pub(crate) fn expect(&self, paths: &[OsString], follow: Follow) -> Result<(), Failure> {
        if paths.len() < 2 {
            return Ok(());
        }
        let mut expected = Vec::with_capacity(paths.len());
        for path in paths.iter().map(|path| path.as_bytes()) {
            if !path.is_empty() {
                expected.push((self.cwd_of(path)?, path));
            }
        }
        let expected: Vec<(&[u8], &[u8])> = expected
            .iter()
            .map(|(cwd, path)| (&cwd[..], *path))
            .collect();
        Ok(self.known.prepare(&expected, follow)?)
    }

    /// Finds the entry that the user means by `given`. If there is none, reports why and what to
    /// do, and returns `None`: the question goes on with the next path.
    pub(crate) fn locate(
        &mut self,
        given: &OsStr,
        follow: Follow,
    ) -> Result<Option<Start>, Failure> {
        let given = given.as_bytes();
        let (located, path) = match self.resolve(given, follow)? {
            Some(Resolved::To(located, path)) => (located, path),
            Some(Resolved::Loop) => {
                return Ok(self.missing(given, "too many levels of symbolic links"));
            }
            Some(Resolved::Unread(error)) => return Ok(self.missing(given, &cause(&error))),
            None => return Ok(self.missing(given, "no such file or directory")),
        };
        match located {
            Located::Found(start) if start.is_dir || !given.ends_with(b"/") => Ok(Some(*start)),
            Located::Found(_) | Located::NotDirectory { .. } => {
                Ok(self.missing(given, "not a directory"))
            }
            Located::Denied { .. } => Ok(self.missing(given, "permission denied")),
            Located::NotIndexed { nearest } => {
                match self.why_not_then(&path)? {
                    Some(why) => say(why),
                    None => say(not_indexed(&path, nearest.as_deref())),
                }
                self.worsen(self.if_missing);
                Ok(None)
            }
            _ => {
                let why = self.why_missing(&path)?;
                Ok(self.missing(given, &why))
            }
        }
    }

    /// Resolves `given`; returns `None` for the empty string. Never returns [`Located::Hidden`]:
    /// the live file system is asked instead.
    pub(crate) fn resolve(
        &mut self,
        given: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, Failure> {
        let cwd = self.cwd_of(given)?;
        Ok(match self.resolve_in_index(given, follow)? {
            Some(Resolved::To(Located::Hidden { dir, view }, path)) => {
                let why = format!(
                    "the index shows it only to users who may list {}",
                    quoted(path::display(&dir))
                );
                Some(match is_recorded(&view) {
                    true => Resolved::To(Located::Denied { dir }, path),
                    false => self.look_live(given, path, dir, &why)?,
                })
            }
            Some(Resolved::To(outside @ Located::NotIndexed { .. }, path)) => {
                let is_link =
                    follow == Follow::Last && !self.is_past() && self.is_live_link(&cwd, given)?;
                Some(match is_link {
                    true => {
                        let dir = path::split(&path).map_or(Vec::new(), |(dir, _)| dir.to_vec());
                        self.look_live(given, path, dir, "a link leads out of the index")?
                    }
                    false => Resolved::To(outside, path),
                })
            }
            other => other,
        })
    }

    /// Resolves `given` like [`Session::resolve`], for callers that themselves ask the live file
    /// system about [`Located::Hidden`] and [`Located::NotIndexed`].
    pub(crate) fn resolve_in_index(
        &self,
        given: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, Failure> {
        if given.is_empty() {
            return Ok(None);
        }
        let cwd = self.cwd_of(given)?;
        let resolved = resolve(&self.known, &cwd, given, follow)?;
        if let Resolved::To(_, path) = &resolved {
            self.fresh.touch(path);
        }
        Ok(Some(resolved))
    }

    /// Returns true if the question is about the past: then nothing is read from the live file
    /// system.
    pub(crate) fn is_past(&self) -> bool {
        self.index.is_as_of().is_past()
    }

    /// Returns a message about a path that lies in a source without a snapshot for the time in
    /// question; `None` if the question is about the present or the path lies in no source.
    pub(crate) fn why_not_then(&self, path: &[u8]) -> Result<Option<String>, Failure> {
        let as_of = self.index.is_as_of();
        let known = match as_of.is_past() {
            true => self.index.snapshots_of(path)?,
            false => None,
        };
        let text = |(root, snapshots): (Vec<u8>, Vec<_>)| {
            let root = match root == path {
                true => String::new(),
                false => format!(" ({} is indexed)", quoted(path::display(&root))),
            };
            let why = at::why_none(as_of, &snapshots);
            format!(
                "cannot answer about {}{root}: {why}",
                quoted(path::display(path))
            )
        };
        Ok(known.map(text))
    }

    /// Returns the directory that `given` is relative to.
    fn cwd_of(&self, given: &[u8]) -> Result<Vec<u8>, Failure> {
        match given.first() {
            None | Some(b'/') => Ok(Vec::new()),
            Some(_) => Ok(self.cwd()?.to_vec()),
        }
    }

    /// Returns true if `given` itself is in the index, but not in a recording.
    fn is_live_link(&self, cwd: &[u8], given: &[u8]) -> Result<bool, Failure> {
        let itself = resolve(&*self.index, cwd, given, Follow::Never)?;
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
        why: &str,
    ) -> Result<Resolved, Failure> {
        let is_directory = match live::is_directory(&path) {
            Ok(is_directory) => is_directory,
            Err(error) => return Ok(unreachable(error, path, dir)),
        };
        let extent = match self.reach {
            Depth::Children | Depth::All if is_directory => live::Extent::Subtree,
            _ => live::Extent::Itself,
        };
        let read = Live::read(&path, extent, self.index.who())?;
        say(format_args!(
            "{}: read from the file system now, since {why}",
            quoted(given)
        ));
        let located = read.view.locate(&path)?;
        // A directory that was not listed may be asked about in more depth later.
        if read.extent == live::Extent::Subtree || !is_directory {
            self.index.add_view(&path, Arc::clone(&read.view));
            self.known.forget();
        }
        self.lives.push(read);
        Ok(Resolved::To(located, path))
    }

    fn missing(&mut self, given: &[u8], why: &str) -> Option<Start> {
        say(format_args!("cannot access {}: {why}", quoted(given)));
        self.worsen(self.if_missing);
        None
    }

    /// Explains whether a missing path does not exist or was not read.
    fn why_missing(&self, path: &[u8]) -> Result<String, Failure> {
        if let Some(start) = self.nearest_above(path)? {
            let issues = self.index.recorded_issues(&start, Some(1))?;
            let about = |issue: &&Issue| {
                issue.op.hides_entries() && trawl_model::path::is_within(path, &issue.path)
            };
            if let Some(issue) = issues.iter().find(about) {
                return Ok(format!("it was not read ({})", described(issue)));
            }
        }
        let why = self.why_left_out(path)?;
        Ok(why.unwrap_or_else(|| "no such file or directory in the index".into()))
    }

    /// Explains by which pattern a path was left out of the index; `None` if no pattern matches it.
    pub(crate) fn why_left_out(&self, path: &[u8]) -> Result<Option<String>, Failure> {
        let Some(start) = self.nearest_above(path)? else {
            return Ok(None);
        };
        let pattern = pattern_for(start.view.info(), &start.path, path);
        Ok(pattern.map(|pattern| {
            let pattern = quoted(&pattern);
            format!("it was left out of the index (--exclude {pattern})")
        }))
    }

    /// Returns the nearest directory above a path that the index has.
    fn nearest_above(&self, path: &[u8]) -> Result<Option<Start>, Failure> {
        let mut above = path;
        while let Some((dir, _)) = trawl_model::path::split(above) {
            if let Located::Found(start) = self.index.locate(dir)? {
                return Ok(Some(*start));
            }
            above = dir;
        }
        Ok(None)
    }

    fn cwd(&self) -> Result<&[u8], Failure> {
        if let Some(known) = self.cwd.get() {
            return Ok(known);
        }
        let cwd = std::env::current_dir().map_err(Failure::NoWorkingDirectory)?;
        Ok(self.cwd.get_or_init(|| cwd.into_os_string().into_vec()))
    }

    /// Records that the answer reaches this far below `start`.
    pub(crate) fn note(&mut self, start: &Start, depth: Depth) -> Result<(), Failure> {
        self.note_part(start, path::display(&start.path), &Part::whole(depth))
    }

    /// Records that the answer is about this part of the tree below `start`, which the user calls
    /// `given`.
    pub(crate) fn note_part(
        &mut self,
        start: &Start,
        given: &[u8],
        part: &Part<'_>,
    ) -> Result<(), Failure> {
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
    pub(crate) fn note_live(&mut self, place: &[u8], time: Timestamp) {
        let line = || as_of_live(place, time);
        self.as_of.entry(place.to_vec()).or_insert_with(line);
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
                return as_of_live(key, info.started);
            }
            let mut time = String::new();
            full_iso(&mut time, fresh.as_of(info), &Zone::local());
            let by = shown_index(&self.index, key);
            format!("{} as of {time}, snapshot {}{by}", shown(key), info.id)
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
    ) -> Result<HashSet<Vec<u8>>, Failure> {
        let request = DeniedRequest {
            max_depth: levels,
            skip: part.skip.clone(),
            cancel: live::cancel(),
        };
        let unlisted = issues.iter().filter(|issue| issue.op == Op::OpenDir);
        let unlisted: HashSet<&[u8]> = unlisted.map(|issue| &issue.path[..]).collect();
        let mut told = HashSet::new();
        let (denials, if_start, mut denied) = (self.denials, self.if_missing, 0);
        let mut exit = Exit::Complete;
        self.index.denied(start, &request, |path| {
            if (part.hides)(path) {
                return ControlFlow::Continue(());
            }
            denied += 1;
            if unlisted.contains(path) {
                told.insert(path.to_vec());
            }
            if let Denials::Said(words) = denials {
                let name = printed_path(given, &start.path, path);
                say(format_args!("{words} {}: permission denied", quoted(&name)));
                let is_start = path == start.path;
                exit = exit.and(if is_start { if_start } else { Exit::Issues });
            }
            ControlFlow::Continue(())
        })?;
        self.denied += denied;
        self.worsen(exit);
        Ok(told)
    }

    /// Returns true unless a part of the answer comes from the past, or from a recording of a tree
    /// that the live file system does not have.
    pub(crate) fn is_live(&self) -> bool {
        !self.recorded && !self.is_past()
    }

    /// Reports the sources that have no snapshot for the time in question. Returns true if there
    /// are sources and none of them has one: then nothing can be answered.
    pub(crate) fn say_who_has_none(&self) -> bool {
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
            let root = shown(source.root());
            say(format_args!("{root}: {}", at::why_none(as_of, &snapshots)));
        }
        !has_any && !self.index.sources().is_empty()
    }

    /// Records that something could not be answered as it was asked.
    pub(crate) fn worsen(&mut self, exit: Exit) {
        self.exit = self.exit.and(exit);
    }

    /// Reports which of the sources in question may be out of date.
    pub(crate) fn say_if_behind(&mut self, say: impl FnMut(&str)) -> Exit {
        let exit = self.fresh.tell(say);
        self.worsen(exit);
        exit
    }

    /// Reports issues and, with `--status`, how fresh the answer is. Returns how the command ends.
    pub(crate) fn finish(mut self) -> Result<Exit, Failure> {
        self.say_if_behind(|line| say(line));
        self.issues.sort();
        self.issues.dedup();
        let unread = self
            .issues
            .iter()
            .filter(|issue| issue.op.hides_entries())
            .count();
        if self.manner.status {
            for line in self.as_of.values() {
                say(line);
            }
            self.fresh.remarks().for_each(say);
            if self.is_past() {
                self.say_who_has_none();
            }
            let count = u64::try_from(self.issues.len()).unwrap_or(u64::MAX);
            let count = count.saturating_add(self.denied);
            say(format_args!("{} in scope", counted(count, "issue")));
            for issue in &self.issues {
                say(described(issue));
            }
        } else if unread > 0 {
            let unread = counted(u64::try_from(unread).unwrap_or(u64::MAX), "part");
            say(format_args!(
                "{unread} of the answer could not be read: --status lists them"
            ));
        }
        Ok(if unread > 0 {
            self.exit.and(Exit::Issues)
        } else {
            self.exit
        })
    }
}

/// Returns the index that answers for the source with this root, as text for a message; empty if
/// only one index is asked.
pub fn shown_index(index: &Index, root: &[u8]) -> String {
    match (index.paths().count(), index.path_of(root)) {
        (2.., Some(path)) => format!(", index {}", shown(path.as_os_str().as_bytes())),
        _ => String::new(),
    }
}

/// Returns a line that says that a place was read live.
pub(crate) fn as_of_live(place: &[u8], time: Timestamp) -> String {
    let mut shown_time = String::new();
    full_iso(&mut shown_time, time, &Zone::local());
    format!(
        "{} as of {shown_time}, read from the file system",
        shown(place)
    )
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

/// Returns a message about a path outside every source. `nearest` is the root that shares most of
/// the path, or `None` if the asker sees no source. A root that does not share even the first name
/// is not near, and is not named.
pub(crate) fn not_indexed(path: &[u8], nearest: Option<&[u8]>) -> String {
    let path = trawl_model::path::display(path);
    let mut text = format!("{} is not indexed", quoted(path));
    match nearest {
        Some(nearest) if shared_names(path, nearest) > 0 => {
            let nearest = trawl_model::path::display(nearest);
            text.push_str(&format!(
                "; the nearest indexed path is {}",
                quoted(nearest)
            ));
        }
        Some(_) => text.push_str("; trawl sources lists the indexed trees"),
        None => text.push_str("; the index is empty, or has nothing that you may see"),
    }
    text.push_str(&format!(
        ": to index it, run trawl index {}",
        shell_word(path)
    ));
    text
}

/// Returns the message of [`not_indexed`] for a path that lies in no source of this index.
pub(crate) fn outside(session: &Session, path: &[u8]) -> Result<String, Failure> {
    let nearest = match session.index().locate(path)? {
        Located::NotIndexed { nearest } => nearest,
        _ => None,
    };
    Ok(not_indexed(path, nearest.as_deref()))
}

/// Returns the number of leading names that two absolute paths share.
pub(crate) fn shared_names(one: &[u8], other: &[u8]) -> usize {
    let slash = |byte: &u8| *byte == b'/';
    let names = one.split(slash).zip(other.split(slash));
    let same = names.take_while(|(one, other)| one == other);
    same.filter(|(name, _)| !name.is_empty()).count()
}

/// Returns a path quoted as one word of a shell.
fn shell_word(path: &[u8]) -> String {
    let quoting = trawl_text::quote::Quoting::ShellEscape;
    let locale = trawl_text::locale::Locale::from_env();
    String::from_utf8_lossy(&quoting.quote(path, locale)).into_owned()
}

/// Returns the row of the start itself.
pub(crate) fn row_of(start: &Start) -> Row<'_> {
    let dir = trawl_model::path::split(&start.path).map_or(&b""[..], |(dir, _)| dir);
    Row {
        batch: &start.row,
        at: 0,
        dir,
    }
}

/// Returns the path of an entry at or below an argument, spelled from the argument.
pub(crate) fn printed_path(argument: &[u8], top: &[u8], path: &[u8]) -> Vec<u8> {
    let below = path.strip_prefix(top).unwrap_or(path);
    match below.strip_prefix(b"/") {
        Some(below) => join_printed(argument, below),
        None => argument.to_vec(),
    }
}

/// Joins `dir` and `name` without doubling a slash.
pub(crate) fn join_printed(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
    [dir, slash, name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_as_the_user_began() {
        for (argument, top, path, name) in [
            (&b"."[..], &b"/w"[..], &b"/w"[..], &b"."[..]),
            (b".", b"/w", b"/w/a/b", b"./a/b"),
            (b"x/", b"/w/x", b"/w/x/y", b"x/y"),
            (b"/", b"", b"/usr", b"/usr"),
        ] {
            assert_eq!(printed_path(argument, top, path), name);
        }
    }

    #[test]
    fn what_is_not_indexed_says_what_to_do() {
        assert_eq!(
            not_indexed(b"/home/a b", Some(b"/home/c")),
            format!(
                "{} is not indexed; the nearest indexed path is {}: to index it, run \
                 trawl index '/home/a b'",
                quoted(b"/home/a b"),
                quoted(b"/home/c")
            )
        );
        for (path, root) in [
            (&b"/a"[..], &b"/home"[..]),
            (b"/homes/a", b"/home"),
            (b"", b"/a"),
        ] {
            let text = not_indexed(path, Some(root));
            assert!(
                !text.contains("nearest") && !text.contains("empty"),
                "{text}"
            );
        }
        assert!(not_indexed(b"", None).contains("the index is empty"));
    }
}
