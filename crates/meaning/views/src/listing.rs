//! One open directory.
//!
//! A view's directory is read from its question's answer while that is made: the first names are there
//! before the last member is found. Of names that were passed on, only a hash is kept.

use std::collections::HashSet;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use fuser::FileType;
use rustix::io::Errno;
use trawl_sys::become_user::User;

use crate::by_group::BY_GROUP;
use crate::file_system::Shared;
use crate::lookup;
use crate::naming::{self, INCOMPLETE};
use crate::nodes::{Content, Node, number};
use crate::question::{Narrowed, Question};
use crate::recent::Key;
use crate::wire::{End, Record};
use crate::worker::{Trouble, Worker};

/// Number of members after which all names are the long ones, which need not be remembered.
const REMEMBERED_MAX: usize = 1 << 22;
/// Most bytes of a note about what could not be looked at.
const NOTE_BYTES_MAX: usize = 64 << 10;

/// Gives members their names, in the order of the answer.
#[derive(Debug)]
pub(crate) struct Namer {
    start: Option<Vec<u8>>,
    taken: HashSet<u64>,
    hasher: RandomState,
}

impl Namer {
    pub(crate) fn new(question: &Question) -> Namer {
        let start = match &question.starts[..] {
            [only] => Some(only.clone()),
            _ => None,
        };
        Namer {
            start,
            taken: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Returns the name of the next member.
    pub(crate) fn name(&mut self, path: &[u8]) -> Vec<u8> {
        let short = naming::short(path).filter(|_| self.taken.len() < REMEMBERED_MAX);
        match short {
            Some(short) if self.taken.insert(self.hasher.hash_one(&short)) => short,
            _ => naming::long(path, self.start.as_deref()),
        }
    }
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The position behind it.
    pub(crate) offset: u64,
    pub(crate) number: u64,
    pub(crate) name: Vec<u8>,
    /// What it is; nothing for `.` and `..`.
    pub(crate) content: Option<Content>,
    /// When the answer had it.
    pub(crate) answered: Instant,
}

impl Entry {
    pub(crate) fn kind(&self) -> FileType {
        let kind = self.content.as_ref().map(Content::kind);
        kind.unwrap_or(FileType::Directory)
    }

    /// Returns the name and target of a member, or the name of a group.
    fn member(&self) -> Option<(&[u8], &[u8])> {
        match &self.content {
            Some(Content::Link(path)) => Some((&self.name, path)),
            Some(Content::View(_)) => Some((&self.name, b"")),
            _ => None,
        }
    }
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Listing {
    node: Arc<Node>,
    user: User,
    worker: Option<Worker>,
    namer: Namer,
    /// Entries that were made, and not yet taken by the kernel.
    ready: VecDeque<Entry>,
    /// Position behind the last entry that was made.
    made: u64,
    /// Position before which entries are gone.
    taken: u64,
    /// How the answer ended.
    end: Option<Result<(), Errno>>,
    note: Vec<u8>,
}

impl Listing {
    /// Opens a directory for this user: asks its question.
    pub(crate) fn open(shared: &Shared, node: Arc<Node>, user: User) -> Result<Listing, Errno> {
        let question = match &node.content {
            Content::Root | Content::Groups => Question::default(),
            Content::View(question) => question.clone(),
            _ => return Err(Errno::NOTDIR),
        };
        let namer = Namer::new(&question);
        let mut listing = Listing {
            node,
            user,
            worker: None,
            namer,
            ready: VecDeque::new(),
            made: 0,
            taken: 0,
            end: None,
            note: Vec::new(),
        };
        listing.begin(shared)?;
        Ok(listing)
    }

    fn begin(&mut self, shared: &Shared) -> Result<(), Errno> {
        let (own, parent) = (self.node.number, self.node.parent);
        self.push(own, b".".to_vec(), None);
        self.push(parent, b"..".to_vec(), None);
        match &self.node.content {
            Content::View(_) => {
                self.worker = Some(shared.ask(&self.user, &self.node, Narrowed::All)?);
            }
            Content::Groups => {
                self.worker = Some(shared.ask(&self.user, &self.node, Narrowed::Groups)?);
            }
            _ => {
                let (name, content) = (BY_GROUP.as_bytes().to_vec(), Content::Groups);
                self.push(number(own, &name, &content), name, Some(content));
                for defined in shared.mounting.store.read().views {
                    let name = defined.view.name.into_bytes();
                    let content = Content::View(defined.view.question);
                    self.push(number(own, &name, &content), name, Some(content));
                }
                self.end = Some(Ok(()));
            }
        }
        Ok(())
    }

    fn key(&self) -> Key {
        (self.node.number, self.user.clone())
    }

    /// Returns the number of the directory.
    pub(crate) fn number(&self) -> u64 {
        self.node.number
    }

    fn push(&mut self, number: u64, name: Vec<u8>, content: Option<Content>) {
        self.made += 1;
        self.ready.push_back(Entry {
            offset: self.made,
            number,
            name,
            content,
            answered: Instant::now(),
        });
    }

    /// Gives the entries behind an offset to `add`, until it says that there is no room, or until the
    /// next one is not known yet. Waits for the first one, for a request of this thread.
    pub(crate) fn read(
        &mut self,
        shared: &Shared,
        thread: u32,
        offset: u64,
        mut add: impl FnMut(&Entry) -> bool,
    ) -> Result<(), Errno> {
        if offset == 0 && self.taken > 0 {
            // rewinddir(3): as of now.
            *self = Listing::open(shared, Arc::clone(&self.node), self.user.clone())?;
        }
        if offset < self.taken || offset > self.made {
            return Err(Errno::INVAL);
        }
        self.taken = offset;
        while self
            .ready
            .front()
            .is_some_and(|entry| entry.offset <= offset)
        {
            self.ready.pop_front();
        }
        let mut at = 0;
        let made_before = self.made;
        let done = loop {
            if at == self.ready.len() {
                let must_wait = || self.worker.as_ref().is_none_or(|one| !one.has_next());
                if self.end.is_none() && at > 0 && must_wait() {
                    break Ok(());
                }
                match self.advance(shared, thread) {
                    Ok(()) if at < self.ready.len() => {}
                    Ok(()) => break Ok(()),
                    // It comes again with the next request.
                    Err(_) if at > 0 => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
            match self.ready.get(at) {
                Some(entry) if !add(entry) => at += 1,
                _ => break Ok(()),
            }
        };
        let is_new = |entry: &&Entry| entry.offset > made_before;
        let mut names = shared.recents.gather();
        for (name, path) in self.ready.iter().filter(is_new).filter_map(Entry::member) {
            names.push(name, path);
        }
        shared.recents.add(&self.key(), Instant::now(), names);
        done
    }

    /// Makes the next entry, unless the answer has ended.
    fn advance(&mut self, shared: &Shared, thread: u32) -> Result<(), Errno> {
        loop {
            if let Some(end) = self.end {
                return end;
            }
            let Some(worker) = &mut self.worker else {
                return Err(Errno::IO);
            };
            match worker.next(thread) {
                Ok(Record::Member(path)) => {
                    let name = self.namer.name(&path);
                    let content = Content::Link(path);
                    let number = number(self.node.number, &name, &content);
                    self.push(number, name, Some(content));
                    return Ok(());
                }
                Ok(Record::Group(name)) => {
                    // No other name leads back to a group.
                    if let Some(content) = lookup::group(shared, &name) {
                        let number = number(self.node.number, &name, &content);
                        self.push(number, name, Some(content));
                        return Ok(());
                    }
                }
                Ok(Record::Issue(line)) if self.note.len() < NOTE_BYTES_MAX => {
                    self.note.extend(line);
                    self.note.push(b'\n');
                }
                Ok(Record::Issue(_)) => {}
                Ok(Record::End(end)) => return self.finish(shared, end),
                Err(Trouble::Interrupted) => return Err(Errno::INTR),
                Err(Trouble::Cut) => {
                    self.note.extend(b"the process that answers ended early\n");
                    return self.finish(shared, End::Failed);
                }
            }
        }
    }

    fn finish(&mut self, shared: &Shared, end: End) -> Result<(), Errno> {
        self.worker = None;
        let text = Arc::new(std::mem::take(&mut self.note));
        let note = (end != End::Complete).then(|| Arc::clone(&text));
        shared.recents.note(&self.key(), Instant::now(), note);
        let ended = match end {
            End::Failed => Err(Errno::IO),
            End::Complete => Ok(()),
            End::Denied => {
                let content = Content::Note(text);
                let number = number(self.node.number, INCOMPLETE, &content);
                self.push(number, INCOMPLETE.to_vec(), Some(content));
                Ok(())
            }
        };
        self.end = Some(ended);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_of_a_name_has_it() {
        let question = Question {
            starts: vec![b"/srv".to_vec()],
            expression: Vec::new(),
        };
        let mut namer = Namer::new(&question);
        let mut name = |path: &str| String::from_utf8(namer.name(path.as_bytes())).unwrap();
        assert_eq!(name("/srv/b/x"), "x");
        assert_eq!(name("/srv/c/x"), "c%2Fx");
        assert_eq!(name("/srv/x"), "%2Fsrv%2Fx");
        assert_eq!(name("/srv/c/y"), "y");
    }
}
