//! Programs of find: each start point is searched in the index, or in the live file system where
//! the index cannot answer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_find::Program;
use trawl_find::driver::Search;
use trawl_find::left_out::told_apart;
use trawl_find::reference::error_text;
use trawl_find::resolve::{Follow, Resolved, is_recorded};
use trawl_find::start_list::StartPoints;
use trawl_find::traversal::Follow as Links;
use trawl_model::{Timestamp, mapped};
use trawl_query::{Index, Located};
use trawl_session::{Depth, LiveReason, Session, SessionError, now};

use crate::error::AnswerError;

/// What a search says and records about where its answer comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// True if reads from the live file system are remarked upon: the user asked the index.
    pub on_live: bool,
    /// True if the places that the answer is about are recorded, for a report at the end.
    pub of_places: bool,
}

/// A search over start points, and the sources that answer it.
pub struct ProgramSearch<'a, 's> {
    search: Search<'a>,
    /// The index; `None` if the live file system answers everything.
    session: Option<Session<'s>>,
    remarks: Remarks,
    follow: Links,
    needs_turns: bool,
    needs_empty_directories: bool,
    /// Places that were read live, each with the time.
    live: BTreeMap<Vec<u8>, Timestamp>,
}

/// The end of a search.
pub struct Searched<'s> {
    /// The exit code of find: 0, or 1 if something could not be read.
    pub code: u8,
    /// The session.
    pub session: Option<Session<'s>>,
    /// Places that were read live, each with the time, if places are recorded.
    pub live: BTreeMap<Vec<u8>, Timestamp>,
}

impl<'a, 's> ProgramSearch<'a, 's> {
    /// Returns a search for this program, in the index of the session or, without one, in the live
    /// file system.
    pub fn new(
        program: &Program,
        search: Search<'a>,
        session: Option<Session<'s>>,
        remarks: Remarks,
    ) -> ProgramSearch<'a, 's> {
        ProgramSearch {
            search,
            session,
            remarks,
            follow: program.traversal.follow,
            needs_turns: program.expr.needs_turns(),
            needs_empty_directories: program.expr.needs_empty_directories(),
            live: BTreeMap::new(),
        }
    }

    /// Searches the start points one after the other.
    ///
    /// # Errors
    /// If the index cannot be read or output cannot be written.
    pub fn visit_all(&mut self, points: StartPoints<'_>) -> Result<(), AnswerError> {
        let shared = self.session.as_ref().map(|session| session.share_index());
        for spelled in points {
            match (spelled, &shared) {
                (Err(why), _) => self.tell(&why)?,
                (Ok(spelled), Some(index)) => self.visit(index, &spelled)?,
                (Ok(spelled), None) => self.visit_live(&spelled, None, "there is no index")?,
            }
            if self.search.has_ended() {
                break;
            }
        }
        Ok(())
    }

    /// Prints a message, and makes the exit code 1.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub fn tell(&self, why: &str) -> Result<(), AnswerError> {
        Ok(self.search.tell(why)?)
    }

    /// Ends the search: runs the commands that were put off to the end.
    ///
    /// # Errors
    /// If output cannot be written.
    pub fn finish(self) -> Result<Searched<'s>, AnswerError> {
        Ok(Searched {
            code: self.search.finish()?,
            session: self.session,
            live: self.live,
        })
    }

    /// Searches a start point in the index, or live if it is not indexed.
    fn visit(&mut self, index: &Index, spelled: &[u8]) -> Result<(), AnswerError> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let is_past = session.is_past();
        if let Some(why) = self.why_never_indexed().filter(|_| !is_past) {
            return self.visit_live(spelled, None, why);
        }
        let resolved = match self.resolve(session, index, spelled) {
            Err(SessionError::NoWorkingDirectory(_)) if !is_past => {
                let why = "the working directory was removed";
                return self.visit_live(spelled, None, why);
            }
            other => other?,
        };
        match resolved {
            Some(Resolved::To(Located::NotIndexed { nearest }, path)) if is_past => {
                let why = session.why_not_indexed(&path, nearest)?.to_string();
                self.tell(&why)
            }
            Some(Resolved::To(Located::NotIndexed { .. }, path)) => {
                let why = session.why_left_out(&path)?;
                let why = why.map_or("it is not indexed".to_owned(), |why| why.to_string());
                self.visit_live(spelled, Some(&path), &why)
            }
            Some(Resolved::To(Located::Hidden { dir, view }, path)) if !is_recorded(&view) => {
                let why = LiveReason::Hidden(dir).to_string();
                self.visit_live(spelled, Some(&path), &why)
            }
            Some(Resolved::To(Located::Missing { root }, path)) => {
                Ok(self.search.visit_missing(index, spelled, &root, &path)?)
            }
            Some(Resolved::Unread(error)) => {
                Ok(self.search.complain(spelled, &error_text(&error))?)
            }
            Some(Resolved::Loop) => {
                let why = "Too many levels of symbolic links";
                Ok(self.search.complain(spelled, why)?)
            }
            Some(Resolved::To(located, _)) => self.visit_indexed(index, spelled, Some(located)),
            None => self.visit_indexed(index, spelled, None),
        }
    }

    /// Returns why no start point can be searched in the current index, whatever it has.
    fn why_never_indexed(&self) -> Option<&'static str> {
        if self.follow == Links::Always && self.needs_turns {
            return Some("commands run on the targets of links");
        }
        let empties = self.needs_empty_directories && self.needs_turns;
        empties.then_some("commands may empty directories")
    }

    fn resolve(
        &self,
        session: &Session<'_>,
        index: &Index,
        spelled: &[u8],
    ) -> Result<Option<Resolved>, SessionError> {
        let resolve = |follow| -> Result<Option<Resolved>, SessionError> {
            let resolved = session.resolve_in_index(spelled, follow)?;
            let told_apart = |resolved| told_apart(index, resolved);
            Ok(resolved.map(told_apart).transpose()?)
        };
        match self.follow {
            Links::Never => resolve(Follow::Never),
            Links::Arguments | Links::Always => match resolve(Follow::Last) {
                // A dangling link stands for itself.
                Ok(Some(Resolved::To(Located::Missing { .. }, _))) => resolve(Follow::Never),
                other => other,
            },
        }
    }

    fn visit_indexed(
        &mut self,
        index: &Index,
        spelled: &[u8],
        located: Option<Located>,
    ) -> Result<(), AnswerError> {
        if self.remarks.of_places
            && let Some(Located::Found(start)) = &located
            && let Some(session) = &mut self.session
        {
            session.note(start, Depth::All)?;
        }
        Ok(self.search.visit(index, spelled, located)?)
    }

    /// Walks a start point in the live file system. Says why if the user asked the index and the
    /// path exists. `stored` is the path in the index, where it is known.
    fn visit_live(
        &mut self,
        spelled: &[u8],
        stored: Option<&[u8]>,
        why: &str,
    ) -> Result<(), AnswerError> {
        let ours = mapped::ours(spelled);
        let is_there = ours.as_ref().is_some_and(|path| {
            let path = Path::new(OsStr::from_bytes(path));
            path.symlink_metadata().is_ok()
        });
        if is_there && self.remarks.on_live && !self.search.has_ended() {
            let shown = trawl_text::words::quoted(spelled);
            self.search.remark(&format!(
                "{shown}: read from the file system now, since {why}"
            ))?;
        }
        if is_there && self.remarks.of_places {
            let place = stored.or(ours.as_deref()).unwrap_or(spelled).to_vec();
            self.live.entry(place).or_insert_with(now);
        }
        Ok(self.search.visit_live(spelled)?)
    }
}
