//! Finds one name.

use std::sync::PoisonError;
use std::time::Instant;

use rustix::io::Errno;
use trawl_sys::become_user::User;

use crate::by_group;
use crate::definition::View;
use crate::file_system::Shared;
use crate::listing::Namer;
use crate::naming::{self, INCOMPLETE, Meaning};
use crate::nodes::{Content, Node, ROOT};
use crate::question::{Narrowed, Question};
use crate::recent::{Key, NAMES_MAX};
use crate::short;
use crate::wire::{End, Record};
use crate::worker::Trouble;

/// Finds a view by its name or as a question in its short form. Says why a question is none.
pub(crate) fn view(shared: &Shared, name: &[u8]) -> Result<Option<Question>, String> {
    if let Some(text) = name.strip_prefix(b"?") {
        let mut question = short::parse(text).map_err(|error| error.to_string())?;
        if question.starts.is_empty() {
            question.starts.clone_from(&shared.mounting.starts);
        }
        return Ok(Some(question));
    }
    let views = shared.mounting.store.read().views.into_iter();
    let mut views = views.map(|defined| defined.view);
    let found = views.find(|view: &View| view.name.as_bytes() == name);
    Ok(found.map(|view| view.question))
}

/// Returns true if a view still has this question: the kernel keeps a view's name for a moment.
pub(crate) fn is_current(shared: &Shared, directory: &Node, question: &Question) -> bool {
    // Groups, and questions in their short form, are what their names say.
    directory.parent != ROOT
        || directory.name.starts_with(b"?")
        || view(shared, &directory.name).is_ok_and(|now| now.as_ref() == Some(question))
}

/// Returns the directory of the group with this name.
pub(crate) fn group(shared: &Shared, name: &[u8]) -> Option<Content> {
    by_group::question(name, &shared.mounting.starts).map(Content::View)
}

/// What a name is, by an answer that had it at a time.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) content: Content,
    pub(crate) answered: Instant,
}

/// A look for a name in a view.
pub(crate) struct Look<'s> {
    pub(crate) shared: &'s Shared,
    pub(crate) view: &'s Node,
    pub(crate) user: &'s User,
    /// The thread that waits.
    pub(crate) thread: u32,
    pub(crate) name: &'s [u8],
}

impl Look<'_> {
    fn key(&self) -> Key {
        (self.view.number, self.user.clone())
    }

    /// Returns what the name is, if that is known without a question.
    pub(crate) fn known(&self) -> Option<Found> {
        let (recents, now) = (&self.shared.recents, Instant::now());
        let (content, answered) = match self.name {
            INCOMPLETE => (Content::Note(recents.noted(&self.key())?), now),
            name => {
                let (path, answered) = recents.get(&self.key(), now, name)?;
                let content = match self.view.content {
                    Content::Groups => group(self.shared, name)?,
                    _ => Content::Link(path),
                };
                (content, answered)
            }
        };
        Some(Found { content, answered })
    }

    /// Asks what the name is.
    pub(crate) fn find(&self) -> Result<Option<Found>, Errno> {
        let question = match &self.view.content {
            Content::View(question) => question,
            Content::Groups => {
                if group(self.shared, self.name).is_some() {
                    self.ask_all(&Question::default(), Narrowed::Groups)?;
                }
                return Ok(self.known());
            }
            _ => return Ok(None),
        };
        let Some(meaning) = naming::meaning(self.name) else {
            return Ok(None);
        };
        let narrowed = match (meaning, &question.starts[..]) {
            (Meaning::Hashed, _) => {
                self.ask_all(question, Narrowed::All)?;
                return Ok(self.known());
            }
            (Meaning::Last(name), _) => Narrowed::Name(name),
            (Meaning::Path(path), _) if path.starts_with(b"/") => Narrowed::Path(path),
            (Meaning::Path(path), [start]) => Narrowed::Path(below(start, &path)),
            _ => return Ok(None),
        };
        if self.shared.recents.wants_all(&self.key(), Instant::now()) {
            self.ask_all(question, Narrowed::All)?;
            if let Some(known) = self.known() {
                return Ok(Some(known));
            }
        }
        self.ask_one(narrowed)
    }

    fn ask_one(&self, narrowed: Narrowed) -> Result<Option<Found>, Errno> {
        let begun = Instant::now();
        let mut worker = self.shared.ask(self.user, self.view, narrowed.clone())?;
        let path = loop {
            match worker.next(self.thread) {
                Ok(Record::Member(path)) if is_meant(&path, &narrowed) => break path,
                Ok(Record::Issue(_)) => {}
                // What this user may not look at is not there for them.
                Ok(Record::End(End::Complete | End::Denied)) => return Ok(None),
                Ok(Record::Member(_) | Record::Group(_) | Record::End(End::Failed))
                | Err(Trouble::Cut) => {
                    return Err(Errno::IO);
                }
                Err(Trouble::Interrupted) => return Err(Errno::INTR),
            }
        };
        let (key, now, recents) = (self.key(), Instant::now(), &self.shared.recents);
        let mut names = recents.gather();
        names.push(self.name, &path);
        recents.add(&key, now, names);
        recents.single(&key, now, begun.elapsed());
        Ok(Some(Found {
            content: Content::Link(path),
            answered: now,
        }))
    }

    /// Asks for all names, unless another thread has just done so. More names than are kept are left
    /// to questions for one name.
    fn ask_all(&self, question: &Question, what: Narrowed) -> Result<(), Errno> {
        let asking = self.shared.recents.asking(&self.key());
        let _only = asking.lock().unwrap_or_else(PoisonError::into_inner);
        if self.known().is_some() {
            return Ok(());
        }
        let mut worker = self.shared.ask(self.user, self.view, what)?;
        let recents = &self.shared.recents;
        let (mut namer, mut found) = (Namer::new(question), recents.gather());
        while found.len() < NAMES_MAX {
            match worker.next(self.thread) {
                Ok(Record::Member(path)) => found.push(&namer.name(&path), &path),
                Ok(Record::Group(name)) => found.push(&name, b""),
                Ok(Record::Issue(_)) => {}
                Ok(Record::End(End::Failed)) | Err(Trouble::Cut) => return Err(Errno::IO),
                Ok(Record::End(_)) => break,
                Err(Trouble::Interrupted) => return Err(Errno::INTR),
            }
        }
        recents.add(&self.key(), Instant::now(), found);
        Ok(())
    }
}

fn below(start: &[u8], path: &[u8]) -> Vec<u8> {
    let start = start.strip_suffix(b"/").unwrap_or(start);
    [start, b"/", path].concat()
}

/// Returns true if the member is the one that was asked for.
fn is_meant(path: &[u8], narrowed: &Narrowed) -> bool {
    match narrowed {
        Narrowed::All | Narrowed::Groups => false,
        Narrowed::Path(asked) => path == asked,
        Narrowed::Name(name) => {
            naming::short(path).and_then(|short| naming::meaning(&short))
                == Some(Meaning::Last(name.clone()))
        }
    }
}
