//! A question's session: the open index, from paths to places, and what is
//! known of how complete the answer is.
//!
//! Every place that a question touches is noted; at the end the session
//! knows the snapshots and the issues in scope, says them where `--status`
//! asks for it, and makes the exit code of them. What the index keeps from
//! this user, though they may reach it by name, is read from the live system
//! ([`crate::live`]), here and nowhere else.

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

/// How far below a place a question reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The entry alone.
    Itself,
    /// What a directory holds.
    Children,
    /// Everything below it.
    All,
}

/// How directories are told of that the user may not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denials {
    /// One by one, in these words.
    Said(&'static str),
    /// Only how many there are: the command tells of them itself.
    Counted,
}

/// The part of a tree that a question looked at.
pub(crate) struct Part<'a> {
    /// How far.
    pub(crate) depth: Depth,
    /// Subtrees that were left out.
    pub(crate) skip: Subtrees,
    /// True for directories that were left out for their names.
    pub(crate) hides: &'a dyn Fn(&[u8]) -> bool,
}

impl Part<'_> {
    /// Everything down to this depth.
    pub(crate) fn whole(depth: Depth) -> Part<'static> {
        Part {
            depth,
            skip: Subtrees::new(),
            hides: &|_| false,
        }
    }
}

/// Paths that are looked up together.
pub(crate) const PATHS_AT_ONCE: usize = 1024;

/// One question to one index.
pub(crate) struct Session {
    index: Arc<Index>,
    /// What was looked up of it ahead.
    known: Remembered<Arc<Index>>,
    manner: Manner,
    /// How a command ends that was asked about a path that is not there.
    if_missing: Exit,
    cwd: OnceCell<Vec<u8>>,
    exit: Exit,
    /// As of when each source's part of the answer is true.
    as_of: BTreeMap<Vec<u8>, String>,
    issues: Vec<Issue>,
    denials: Denials,
    /// Directories that the user may not list.
    denied: u64,
    recorded: bool,
    /// How far below its paths the question goes.
    reach: Depth,
    /// What was read of the live system.
    lives: Vec<Live>,
    /// What daemons said before the index was opened.
    fresh: Freshness,
}

impl Session {
    /// Opens the index. `if_missing` is how the command ends if a path that it
    /// was given is not there: as the GNU tool of its name does.
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

    /// Tells of directories that may not be listed in this way.
    pub(crate) fn tell_denials(&mut self, denials: Denials) {
        self.denials = denials;
    }

    /// How many directories were noted that the user may not list.
    pub(crate) fn denied(&self) -> u64 {
        self.denied
    }

    /// The question goes no further below its paths than this.
    pub(crate) fn reach_to(&mut self, reach: Depth) {
        self.reach = reach;
    }

    /// The index itself.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The index, for use beside the session.
    pub(crate) fn share_index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
    }

    /// Where paths lead, as far as that was looked up ahead, else as the
    /// index says.
    pub(crate) fn known(&self) -> &Remembered<Arc<Index>> {
        &self.known
    }

    /// These paths will be asked for: what is needed of the index to find
    /// them is read together. Not for more than some thousands at once.
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

    /// Finds what the user means by `given`. If there is no such thing, says
    /// why and what to do, and returns `None`: the question goes on with the
    /// next path.
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

    /// Where `given` leads; `None` for what leads nowhere, the empty string.
    /// Never to [`Located::Hidden`]: the live system is asked instead.
    pub(crate) fn resolve(
        &mut self,
        given: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, Failure> {
        let cwd = self.cwd_of(given)?;
        Ok(match self.resolve_in_index(given, follow)? {
            Some(Resolved::To(Located::Hidden { dir, view }, path)) => {
                let why = format!(
                    "the index keeps it only for those who may list {}",
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

    /// As [`Session::resolve`], but for who asks the live system themselves
    /// about [`Located::Hidden`] and [`Located::NotIndexed`].
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

    /// True if the question is about the past: then nothing is read of the live
    /// system.
    pub(crate) fn is_past(&self) -> bool {
        self.index.is_as_of().is_past()
    }

    /// What to say of a path of which there is no snapshot of the time in
    /// question, though it is in a source.
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

    /// The directory that a path is seen from.
    fn cwd_of(&self, given: &[u8]) -> Result<Vec<u8>, Failure> {
        match given.first() {
            None | Some(b'/') => Ok(Vec::new()),
            Some(_) => Ok(self.cwd()?.to_vec()),
        }
    }

    /// True if `given` itself is in the index, and not in a recording.
    fn is_live_link(&self, cwd: &[u8], given: &[u8]) -> Result<bool, Failure> {
        let itself = resolve(&*self.index, cwd, given, Follow::Never)?;
        Ok(match itself {
            Resolved::To(Located::Found(start), _) => !is_recorded(&start.view),
            _ => false,
        })
    }

    /// Looks for `path` in `dir` on the live system, as the user, and says
    /// why.
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
        // Of a directory that was not listed more may be asked later.
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

    /// Says whether something is not there or was not read.
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

    /// Says by which pattern a path that the index lacks was left out, if by any.
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

    /// The nearest directory above a path that the index has.
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

    /// Notes that the answer reaches so far below `start`.
    pub(crate) fn note(&mut self, start: &Start, depth: Depth) -> Result<(), Failure> {
        self.note_part(start, path::display(&start.path), &Part::whole(depth))
    }

    /// Notes that the answer is about this part of what is below `start`,
    /// which the user calls `given`.
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

    /// Notes that what lies at a place was read live at this time.
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

    /// Tells of the directories that the user may not list. Returns those of
    /// them that are among the recorded `issues`, too.
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

    /// True unless a part of the answer is from a recording of a tree, or of
    /// the past, of which the live system knows nothing.
    pub(crate) fn is_live(&self) -> bool {
        !self.recorded && !self.is_past()
    }

    /// Names the sources that have no snapshot of the time in question. True if there are sources
    /// and all of them are so: then nothing can be answered.
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

    /// Something could not be answered as it was asked.
    pub(crate) fn worsen(&mut self, exit: Exit) {
        self.exit = self.exit.and(exit);
    }

    /// Says which of the sources in question may be out of date.
    pub(crate) fn say_if_behind(&mut self, say: impl FnMut(&str)) -> Exit {
        let exit = self.fresh.tell(say);
        self.worsen(exit);
        exit
    }

    /// Says what is to be said of the answer, and how the command ends.
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
                "{unread} of this could not be read: --status lists them"
            ));
        }
        Ok(if unread > 0 {
            self.exit.and(Exit::Issues)
        } else {
            self.exit
        })
    }
}

/// Which index has the source with this root that answers, where several are asked.
pub fn shown_index(index: &Index, root: &[u8]) -> String {
    match (index.paths().count(), index.path_of(root)) {
        (2.., Some(path)) => format!(", index {}", shown(path.as_os_str().as_bytes())),
        _ => String::new(),
    }
}

/// Says that what lies at a place was read live.
pub(crate) fn as_of_live(place: &[u8], time: Timestamp) -> String {
    let mut shown_time = String::new();
    full_iso(&mut shown_time, time, &Zone::local());
    format!(
        "{} as of {shown_time}, read from the file system",
        shown(place)
    )
}

/// What it means that the live system gives no attributes of `path`.
fn unreachable(error: std::io::Error, path: Vec<u8>, dir: Vec<u8>) -> Resolved {
    let located = match error.kind() {
        ErrorKind::PermissionDenied => Located::Denied { dir },
        ErrorKind::NotADirectory => Located::NotDirectory { path: path.clone() },
        _ => return Resolved::Unread(error),
    };
    Resolved::To(located, path)
}

/// What to say of a path outside every source; `nearest` is the source's root that shares most
/// of the path, `None` where the asker sees no source at all. One that shares not even the first
/// name is not near, and is not named.
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
        Some(_) => text.push_str("; trawl sources lists what is"),
        None => text.push_str("; the index is empty, or holds nothing that you may see"),
    }
    text.push_str(&format!(
        ": to index it, run trawl index {}",
        shell_word(path)
    ));
    text
}

/// [`not_indexed`], of a path that is in no source of this index.
pub(crate) fn outside(session: &Session, path: &[u8]) -> Result<String, Failure> {
    let nearest = match session.index().locate(path)? {
        Located::NotIndexed { nearest } => nearest,
        _ => None,
    };
    Ok(not_indexed(path, nearest.as_deref()))
}

/// How many names two absolute paths begin with together.
pub(crate) fn shared_names(one: &[u8], other: &[u8]) -> usize {
    let slash = |byte: &u8| *byte == b'/';
    let names = one.split(slash).zip(other.split(slash));
    let same = names.take_while(|(one, other)| one == other);
    same.filter(|(name, _)| !name.is_empty()).count()
}

/// A path as one word of a shell.
fn shell_word(path: &[u8]) -> String {
    let quoting = trawl_text::quote::Quoting::ShellEscape;
    let locale = trawl_text::locale::Locale::from_env();
    String::from_utf8_lossy(&quoting.quote(path, locale)).into_owned()
}

/// The start's own row.
pub(crate) fn row_of(start: &Start) -> Row<'_> {
    let dir = trawl_model::path::split(&start.path).map_or(&b""[..], |(dir, _)| dir);
    Row {
        batch: &start.row,
        at: 0,
        dir,
    }
}

/// The path of something at or below an argument, spelled from the argument.
pub(crate) fn printed_path(argument: &[u8], top: &[u8], path: &[u8]) -> Vec<u8> {
    let below = path.strip_prefix(top).unwrap_or(path);
    match below.strip_prefix(b"/") {
        Some(below) => join_printed(argument, below),
        None => argument.to_vec(),
    }
}

/// `dir/name` without a doubled slash.
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
