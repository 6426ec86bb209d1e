//! A question's session: the open index, from paths to places, and what is
//! known of how complete the answer is.
//!
//! Every place that a question touches is noted; at the end the session
//! knows the snapshots and the issues in scope, says them where `--status`
//! asks for it, and makes the exit code of them.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

use trawl_model::Issue;
use trawl_model::rows::Row;
use trawl_query::{Index, Located, Start};
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{Failure, quoted, shown};
use crate::index::progress::counted;
use crate::index::summary::described;
use crate::output::say;
use crate::resolve::{Resolved, resolve};
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

/// One question to one index.
pub(crate) struct Session {
    index: Arc<Index>,
    manner: Manner,
    /// How a command ends that was asked about a path that is not there.
    if_missing: Exit,
    cwd: OnceCell<Vec<u8>>,
    exit: Exit,
    /// As of when each source's part of the answer is true.
    as_of: BTreeMap<Vec<u8>, String>,
    issues: Vec<Issue>,
    recorded: bool,
}

impl Session {
    /// Opens the index. `if_missing` is how the command ends if a path that it
    /// was given is not there: as the GNU tool of its name does.
    pub(crate) fn open(
        index: Option<PathBuf>,
        manner: Manner,
        if_missing: Exit,
    ) -> Result<Session, Failure> {
        let dir = settings::index_dir(index)?;
        Ok(Session {
            index: Arc::new(Index::open(&dir)?),
            manner,
            if_missing,
            cwd: OnceCell::new(),
            exit: Exit::Complete,
            as_of: BTreeMap::new(),
            issues: Vec::new(),
            recorded: false,
        })
    }

    /// The index itself.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The index, for use beside the session.
    pub(crate) fn share_index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
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
            None => return Ok(self.missing(given, "no such file or directory")),
        };
        match located {
            Located::Found(start) if start.is_dir || !given.ends_with(b"/") => Ok(Some(*start)),
            Located::Found(_) | Located::NotDirectory { .. } => {
                Ok(self.missing(given, "not a directory"))
            }
            Located::NotIndexed { nearest } => {
                say(not_indexed(&path, nearest.as_deref()));
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
    pub(crate) fn resolve(
        &self,
        given: &[u8],
        follow: Follow,
    ) -> Result<Option<Resolved>, Failure> {
        let cwd: &[u8] = match given.first() {
            None => return Ok(None),
            Some(b'/') => b"",
            Some(_) => self.cwd()?,
        };
        Ok(Some(resolve(&*self.index, cwd, given, follow)?))
    }

    fn missing(&mut self, given: &[u8], why: &str) -> Option<Start> {
        say(format_args!("cannot access {}: {why}", quoted(given)));
        self.worsen(self.if_missing);
        None
    }

    /// Says whether something is not there or was not read.
    fn why_missing(&self, path: &[u8]) -> Result<String, Failure> {
        let mut above = path;
        while let Some((dir, _)) = trawl_model::path::split(above) {
            if let Located::Found(start) = self.index.locate(dir)? {
                let issues = self.index.issues(&start, Some(1))?;
                let about = |issue: &&Issue| {
                    issue.op.hides_entries() && trawl_model::path::is_within(path, &issue.path)
                };
                if let Some(issue) = issues.iter().find(about) {
                    return Ok(format!("it was not read ({})", described(issue)));
                }
                break;
            }
            above = dir;
        }
        Ok("no such file or directory in the index".into())
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
        let info = self.index.as_of(start);
        self.recorded |= info.options.contains_key("from-trace");
        self.as_of.entry(info.root.clone()).or_insert_with(|| {
            let mut time = String::new();
            full_iso(&mut time, info.started, &Zone::local());
            format!("{} as of {time}, snapshot {}", shown(&info.root), info.id)
        });
        let levels = match depth {
            Depth::Itself => return Ok(()),
            Depth::Children => Some(1),
            Depth::All => None,
        };
        let found = self.index.issues(start, levels)?;
        self.issues.extend(found);
        Ok(())
    }

    /// True unless a part of the answer is from a recording of a tree, of
    /// which the live system knows nothing.
    pub(crate) fn is_live(&self) -> bool {
        !self.recorded
    }

    /// Something could not be answered as it was asked.
    pub(crate) fn worsen(&mut self, exit: Exit) {
        self.exit = self.exit.and(exit);
    }

    /// Says what is to be said of the answer, and how the command ends.
    pub(crate) fn finish(mut self) -> Result<Exit, Failure> {
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
            let count = u64::try_from(self.issues.len()).unwrap_or(u64::MAX);
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

/// What to say of a path outside every source.
pub(crate) fn not_indexed(path: &[u8], nearest: Option<&[u8]>) -> String {
    let path = trawl_model::path::display(path);
    let mut text = format!("{} is not indexed", quoted(path));
    match nearest {
        Some(nearest) => {
            let nearest = trawl_model::path::display(nearest);
            text.push_str(&format!(
                "; the nearest indexed path is {}",
                quoted(nearest)
            ));
        }
        None => text.push_str("; the index is empty"),
    }
    text.push_str(&format!(
        ": to index it, run trawl index {}",
        shell_word(path)
    ));
    text
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
            not_indexed(b"/a b", Some(b"/home")),
            format!(
                "{} is not indexed; the nearest indexed path is {}: to index it, run \
                 trawl index '/a b'",
                quoted(b"/a b"),
                quoted(b"/home")
            )
        );
        assert!(not_indexed(b"", None).contains("the index is empty"));
    }
}
