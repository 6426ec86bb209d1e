//! Answers a question in a process of the asking user, which the mount starts for it.
//!
//! The index answers if its daemon says that everything before now is in it (the barrier); otherwise
//! the file system does. So a listing is never older than the opening of its directory.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_answers::AnswerError;
use trawl_answers::find::{ProgramSearch, Remarks};
use trawl_find::driver::{DriverError, RunOptions, Search, Streams};
use trawl_find::expr::Node;
use trawl_find::grouping::Grouping;
use trawl_find::{Contents, Documents, Environment, Program};
use trawl_format::IndexError;
use trawl_query::QueryError;
use trawl_session::freshness::DEADLINE;
use trawl_session::{
    Denials, Follow, Options, Session, SessionError, Wait, When, is_superseded, silent,
};
use trawl_sys::identity::effective_uid;
use trawl_sys::mount_table::{self, Mount};
use trawl_text::words::{cause, shown};

use crate::by_group;
use crate::error::ViewError;
use crate::question::{Narrowed, environment, lies_within, parse_in};
use crate::serving::{SOURCE, SUBTYPE};
use crate::wire::{Asked, End, write_end, write_group, write_issue};

/// Most bytes of messages that are passed on.
const MESSAGES_BYTES_MAX: usize = 64 << 10;
/// How often a question is asked again whose index files were replaced meanwhile.
const TRIES: usize = 16;
/// How a message ends about something that the user may not look at.
const DENIED: &[u8] = b": Permission denied";
/// The groups may lack what was made since, and have what is gone.
const OLD_GROUPS: &[u8] =
    b"groups are as of the last indexing: no daemon keeps the index up to date (trawl watch)";
/// How find's messages begin.
const PREFIX: &[u8] = b"find: ";

/// What questions are about besides names and attributes.
pub struct Sources<'s> {
    /// Reads files that no index of contents knows.
    pub documents: Arc<dyn Documents>,
    /// Returns the groups of the files of these indexes.
    pub grouping: &'s dyn Fn(&[PathBuf]) -> Arc<dyn Grouping>,
}

/// Reads a question and answers it.
///
/// # Errors
/// If the question cannot be read or the answer not written. What cannot be looked at is part of the
/// answer.
pub fn answer(
    input: &mut impl Read,
    output: &mut impl Write,
    sources: &Sources<'_>,
) -> Result<(), ViewError> {
    let failed = |error| ViewError::file("answer on", "standard output", error);
    let asked = Asked::read(input).map_err(failed)?;
    let mut asked =
        asked.ok_or_else(|| ViewError::Question("only a mount of views asks here".into()))?;
    // The process that asks may be wrong, but this one acts for its user.
    asked.question.check()?;
    let mut messages = Messages::default();
    let mut counted = Counted {
        output,
        has_any: false,
    };
    let mut done = search(&mut asked, sources, &mut counted, &mut messages);
    for _ in 0..TRIES {
        match &done {
            Err(error) if is_replaced(error) && !counted.has_any => {}
            _ => break,
        }
        messages = Messages::default();
        done = search(&mut asked, sources, &mut counted, &mut messages);
    }
    if let Err(error) = done {
        messages.fail(error.to_string().as_bytes());
    }
    messages.finish(output).map_err(failed)
}

fn search(
    asked: &mut Asked,
    sources: &Sources<'_>,
    output: &mut impl Write,
    messages: &mut Messages,
) -> Result<(), AnswerError> {
    let session = session(asked)?;
    let starts = asked.question.starts.clone();
    if starts.is_empty() {
        messages.fail(b"name a start point with in:, or mount the views with --in DIR");
    }
    // With -ignore_readdir_race, find would say nothing.
    for start in &starts {
        if let Err(error) = fs::symlink_metadata(OsStr::from_bytes(start))
            && error.kind() != io::ErrorKind::PermissionDenied
        {
            messages.fail(format!("{}: {}", shown(start), cause(&error)).as_bytes());
        }
    }
    if messages.has_failed {
        return Ok(());
    }
    let grouping = (sources.grouping)(&asked.indexes);
    let is_fresh = session.is_some();
    if asked.narrowed == Narrowed::Groups {
        let groups = grouping.groups_below(&starts);
        for name in by_group::names(&groups.map_err(AnswerError::Expression)?) {
            write_group(&name, output).map_err(DriverError::Write)?;
        }
        messages.say_if_old(is_fresh);
        return Ok(());
    }
    let words = asked
        .question
        .program(&asked.narrowed, &hidden(&starts, &asked.point));
    let refused = |error: ViewError| AnswerError::Expression(error.to_string());
    let environment = Environment {
        grouping,
        ..environment()
    };
    let program = parse_in(&words, &environment).map_err(refused)?;
    let environment = Environment {
        contents: contents(asked, &sources.documents, &program),
        ..environment
    };
    let streams = Streams {
        out: output,
        err: messages,
    };
    let search = Search::new(&program, &environment, RunOptions::default(), streams)?;
    let mut search = ProgramSearch::new(&program, search, session, Remarks::default());
    search.visit_all(Box::new(starts.into_iter().map(Ok)))?;
    let searched = search.finish()?;
    if searched.code == 0 {
        // Remarks, at most.
        *messages = Messages::default();
    }
    if asks_for_groups(&program) {
        messages.say_if_old(is_fresh);
    }
    let mut session = searched.session;
    let behind = session
        .as_mut()
        .map(|session| session.say_if_behind(&silent));
    if behind == Some(true) {
        messages.fail(b"the index may be out of date");
    }
    messages.has_failed |= searched.code != 0 && messages.kept.is_empty();
    Ok(())
}

/// Returns the paths at which a search from the start points would come to a mount of views: `own`, or
/// another one.
fn hidden(starts: &[Vec<u8>], own: &[u8]) -> Vec<Vec<u8>> {
    let mut points = vec![own.to_vec()];
    // Without the table, a search that comes to another mount of views ends with an error.
    let mounts = mount_table::read().unwrap_or_default().into_iter();
    points.extend(mounts.filter(is_of_views).map(|mount| mount.point));
    let path = |bytes| Path::new(OsStr::from_bytes(bytes));
    let mut hidden = Vec::new();
    for start in starts {
        // A link is entered only if a slash follows it.
        if !start.ends_with(b"/") && path(start).is_symlink() {
            continue;
        }
        // The search spells what is below a link as below the link.
        let real = fs::canonicalize(path(start)).unwrap_or_else(|_| path(start).into());
        for point in &points {
            match path(point).strip_prefix(&real) {
                Ok(rest) if rest.as_os_str().is_empty() => hidden.push(start.clone()),
                Ok(rest) => hidden.push(path(start).join(rest).into_os_string().into_vec()),
                Err(_) => {}
            }
        }
    }
    hidden.sort_unstable();
    hidden.dedup();
    hidden
}

/// Returns true for a mount of views that this user may enter: that of another user could only pretend
/// to be one.
fn is_of_views(mount: &Mount) -> bool {
    let is_of = |user: u32| mount.has_option(format!("user_id={user}").as_bytes());
    let is_named = match mount.kind.strip_prefix(b"fuse.") {
        Some(subtype) => subtype == SUBTYPE.as_bytes(),
        // The superuser mounts without fusermount3(1), and then the kernel does not know the subtype.
        None => mount.kind == b"fuse" && mount.source == SOURCE.as_bytes(),
    };
    is_named && (is_of(0) || is_of(effective_uid()))
}

/// Returns true if the question names a group.
fn asks_for_groups(program: &Program) -> bool {
    let mut asks = false;
    let mut look = |node: &Node| asks |= node.predicate.name == "-in-group";
    program.expr.leaves(&mut look);
    asks
}

/// Returns what the indexes know of the files' contents, which are otherwise read.
fn contents(asked: &Asked, documents: &Arc<dyn Documents>, program: &Program) -> Arc<Contents> {
    let indexes = asked.indexes.clone();
    let contents = Contents::of_indexes(
        Arc::clone(documents),
        Box::new(move || indexes.clone()),
        Box::new(|_| ()),
    );
    let real = |start: &Vec<u8>| {
        let path = fs::canonicalize(OsStr::from_bytes(start)).ok()?;
        Some(path.into_os_string().into_vec())
    };
    if !program.questions.is_empty()
        && let Some(starts) = asked.question.starts.iter().map(real).collect()
    {
        contents.limit_to(starts);
    }
    Arc::new(contents)
}

/// Returns the index if everything before now is in it. Chooses the start points if there are none:
/// the sources of the index.
fn session(asked: &mut Asked) -> Result<Option<Session<'static>>, AnswerError> {
    let options = Options {
        when: When {
            wait: Wait::UpTo(DEADLINE),
            ..When::default()
        },
        ..Options::default()
    };
    // Without an index, or with one that cannot be opened, the file system answers.
    let Ok(mut session) = Session::open(&asked.indexes, options) else {
        return Ok(None);
    };
    let starts = &mut asked.question.starts;
    if starts.is_empty() {
        let sources = session.index().sources().iter();
        starts.extend(sources.map(|source| match source.root() {
            b"" => b"/".to_vec(),
            root => root.to_vec(),
        }));
        let all = starts.clone();
        starts.retain(|one| {
            !all.iter()
                .any(|other| other != one && lies_within(one, other))
        });
        starts.dedup();
    }
    session.tell_denials(Denials::Counted);
    for start in starts {
        session.resolve_in_index(start, Follow::Never)?;
    }
    let is_behind = session.say_if_behind(&silent);
    Ok((!is_behind).then_some(session))
}

/// Returns true if index files were replaced while they were read.
fn is_replaced(error: &AnswerError) -> bool {
    let error: &IndexError = match error {
        AnswerError::Session(SessionError::Index(error)) => error,
        AnswerError::Session(SessionError::Query(QueryError::Index(error))) => error,
        AnswerError::Search(DriverError::Query(QueryError::Index(error))) => error,
        _ => return false,
    };
    is_superseded(error)
}

/// Writes through, and knows whether anything was written.
struct Counted<'w, W> {
    output: &'w mut W,
    has_any: bool,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_any |= !bytes.is_empty();
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// What find says on standard error.
#[derive(Debug, Default)]
struct Messages {
    /// The lines, as far as they are passed on.
    kept: Vec<Vec<u8>>,
    kept_bytes: usize,
    left_out: u64,
    /// The beginning of the next line.
    line: Vec<u8>,
    /// Whether something other than a missing permission was in the way.
    has_failed: bool,
}

impl Messages {
    fn fail(&mut self, line: &[u8]) {
        self.has_failed = true;
        self.keep(line);
    }

    fn keep(&mut self, line: &[u8]) {
        match self.kept_bytes + line.len() > MESSAGES_BYTES_MAX {
            true => self.left_out += 1,
            false => {
                self.kept_bytes += line.len();
                self.kept.push(line.to_vec());
            }
        }
    }

    /// Says that groups are those of an earlier time, unless the index is up to date.
    fn say_if_old(&mut self, is_fresh: bool) {
        if !is_fresh {
            self.keep(OLD_GROUPS);
        }
    }

    /// Writes the end of an answer.
    fn finish(&self, output: &mut impl Write) -> io::Result<()> {
        for line in &self.kept {
            write_issue(line, output)?;
        }
        if self.left_out > 0 {
            let line = format!("{} more messages", self.left_out);
            write_issue(line.as_bytes(), output)?;
        }
        let end = match (self.has_failed, self.kept.is_empty()) {
            (true, _) => End::Failed,
            (false, true) => End::Complete,
            (false, false) => End::Denied,
        };
        write_end(end, output)
    }
}

impl Write for Messages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_prefix(PREFIX).unwrap_or(&line);
            self.has_failed |= !line.ends_with(DENIED);
            self.keep(line);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_find::grouping::NoGroups;

    use crate::question::{Narrowed, Question};

    fn answered(asked: &Asked) -> Vec<String> {
        let (mut question, mut answer) = (Vec::new(), Vec::new());
        asked.write(&mut question).unwrap();
        let sources = Sources {
            documents: Arc::clone(Contents::default().documents()),
            grouping: &|_| Arc::new(NoGroups),
        };
        super::answer(&mut &question[..], &mut answer, &sources).unwrap();
        let records = answer.split(|byte| *byte == 0);
        let mut records: Vec<String> = records
            .map(|record| String::from_utf8_lossy(record).into_owned())
            .collect();
        assert_eq!(records.pop().unwrap(), "");
        records
    }

    #[test]
    fn members_come_first_and_the_end_says_how_it_went() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        fs::create_dir(folder.path().join("point")).unwrap();
        for name in ["a.c", "b.h", "point/c.c"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut asked = Asked {
            indexes: vec!["/nonexistent".into()],
            point: format!("{top}/point").into_bytes(),
            question: Question {
                starts: vec![top.into()],
                expression: ["-name", "*.c"].map(Into::into).into(),
            },
            narrowed: Narrowed::All,
        };
        assert_eq!(answered(&asked), [format!("{top}/a.c"), "=complete".into()]);
        asked.point = b"/elsewhere".to_vec();
        asked.narrowed = Narrowed::Name(b"c.c".to_vec());
        assert_eq!(answered(&asked)[0], format!("{top}/point/c.c"));
        asked.narrowed = Narrowed::Path(format!("{top}/b.h").into_bytes());
        assert_eq!(answered(&asked), ["=complete"]);
        asked.question.starts = vec![format!("{top}/none").into_bytes()];
        let missing = answered(&asked);
        assert!(
            missing[0].starts_with('!') && missing[1] == "=failed",
            "{missing:?}"
        );
        asked.question.starts.clear();
        assert_eq!(answered(&asked)[1], "=failed");
    }

    #[test]
    fn only_missing_permissions_leave_an_answer_whole() {
        let end = |text: &str| {
            let mut messages = Messages::default();
            messages.write_all(text.as_bytes()).unwrap();
            let mut written = Vec::new();
            messages.finish(&mut written).unwrap();
            let records = written.split(|byte| *byte == 0);
            let last = records.rev().nth(1).unwrap();
            String::from_utf8_lossy(last).into_owned()
        };
        assert_eq!(end(""), "=complete");
        assert_eq!(end("find: '/a': Permission denied\n"), "=denied");
        assert_eq!(
            end("find: '/a: Permission denied': Input/output error\n"),
            "=failed"
        );
        assert_eq!(
            end("find: '/a': Permission denied\nfind: '/b': Stale file handle\n"),
            "=failed"
        );
    }
}
