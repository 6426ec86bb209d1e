//! What a search knows of files' contents: from the packs that this process may open, or from
//! reading a file now.

use std::fs::{File, Metadata};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use trawl_format::store::if_there;
use trawl_format::{IndexDir, IndexError, Source, guard_walk, layout};
use trawl_grams::{DocId, Identity};
use trawl_model::sync::lock;

use crate::attribute::AttributeTest;
use crate::document::{Document, Gap, Gaps, Reference};
use crate::error::KeywordsError;
use crate::library::{Answer, ById, Library, Shelf};
use crate::matching::Occurrences;
use crate::pack::Pack;
use crate::query::Query;
use crate::read::{Documents, PlainText, document_of};
use crate::values::{AttributeValue, ValueTest};

/// Function that is called with a message for each pack that cannot be used.
type Warn = Box<dyn Fn(&str) + Send + Sync>;
/// Function that returns the directories of indexes.
type Indexes = Box<dyn Fn() -> Vec<PathBuf> + Send + Sync>;

/// The contents that indexes know. Indexes are looked up, and packs opened, when the first question
/// is asked.
pub struct Contents {
    documents: Arc<dyn Documents>,
    indexes: Indexes,
    starts: Mutex<Option<Vec<Vec<u8>>>>,
    warn: Warn,
    library: OnceLock<Library>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contents")
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}

impl Default for Contents {
    /// Returns contents that no index knows, of plain text.
    fn default() -> Contents {
        Contents::of_indexes(Arc::new(PlainText), Box::new(Vec::new), Box::new(|_| ()))
    }
}

impl Contents {
    /// Returns what these indexes know; other files are read by `documents`.
    pub fn of_indexes(documents: Arc<dyn Documents>, indexes: Indexes, warn: Warn) -> Contents {
        Contents {
            documents,
            indexes,
            starts: Mutex::new(None),
            warn,
            library: OnceLock::new(),
        }
    }

    /// Limits the sources that are opened to those with files at or below these paths, which are
    /// absolute and without symbolic links. Has no effect once a question was asked.
    pub fn limit_to(&self, starts: Vec<Vec<u8>>) {
        *lock(&self.starts) = Some(starts);
    }

    /// Returns the source of documents.
    pub fn documents(&self) -> &Arc<dyn Documents> {
        &self.documents
    }

    /// Returns the identity of a file's document. `name` is the last component of its path.
    pub fn id(&self, identity: &Identity, name: &[u8]) -> DocId {
        self.documents.id(identity, name)
    }

    /// Returns the identity of the document of a file with these attributes.
    pub fn id_of(&self, attributes: &Metadata, name: &[u8]) -> DocId {
        self.id(&Identity::of(attributes), name)
    }

    /// Reads the document of an open file now.
    ///
    /// # Errors
    /// If nothing is known of the file.
    pub fn document(&self, file: &mut File, name: &[u8]) -> io::Result<Document> {
        document_of(&*self.documents, file, name)
    }

    /// Returns the references of a file to others; `None` if no pack that this process may open
    /// has its whole content. Then [`Contents::document`] reads them.
    ///
    /// # Errors
    /// If a pack is damaged.
    pub fn references(&self, id: DocId) -> Result<Option<Vec<Reference>>, KeywordsError> {
        self.library().references(id)
    }

    fn library(&self) -> &Library {
        self.library.get_or_init(|| {
            let mut files = Vec::new();
            for index in (self.indexes)() {
                if let Ok(index) = IndexDir::open(&index)
                    && let Err(error) = self.packs(&index, &mut files)
                {
                    (self.warn)(&format!("{error}: reading files instead"));
                }
            }
            self.open(files)
        })
    }

    /// Opens packs, some at the same time.
    fn open(&self, files: Vec<(PathBuf, File)>) -> Library {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(files.len());
        let files = Mutex::new(files);
        let shelves = Mutex::new(Vec::new());
        let open = || {
            // The lock is held only while a file is taken.
            while let Some((path, file)) = { lock(&files).pop() } {
                let shelf = Pack::open(file)
                    .and_then(|pack| self.is_ours(pack))
                    .and_then(Shelf::open);
                match shelf {
                    Ok(shelf) => lock(&shelves).push((path, shelf)),
                    Err(error) => (self.warn)(&format!("{}: {error}{REMEDY}", path.display())),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(open);
            }
            open();
        });
        let mut library = Library::default();
        let mut shelves = std::mem::take(&mut *lock(&shelves));
        // Always the same order, since scores are sums.
        shelves.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (_, shelf) in shelves {
            library.put(shelf);
        }
        library
    }

    /// Refuses a pack whose documents were made with other hooks than those at hand.
    fn is_ours(&self, pack: Pack) -> Result<Pack, KeywordsError> {
        match pack.fingerprint() == self.documents.fingerprint() {
            true => Ok(pack),
            false => Err(KeywordsError::Hooks),
        }
    }

    /// Adds the packs of an index that this process may open, and their paths.
    fn packs(&self, index: &IndexDir, files: &mut Vec<(PathBuf, File)>) -> Result<(), IndexError> {
        let starts = lock(&self.starts).clone();
        for source in index.sources()? {
            let root = source.root();
            let is_near =
                |start: &Vec<u8>| is_at_or_below(start, root) || is_at_or_below(root, start);
            if starts
                .as_ref()
                .is_some_and(|starts| !starts.iter().any(is_near))
            {
                continue;
            }
            packs_of(&source, files)?;
        }
        Ok(())
    }

    /// Returns which packs of a source this process may open.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn covered(&self, source: &Source) -> Result<PacksCovered, IndexError> {
        let mut files = Vec::new();
        let has_packs = packs_of(source, &mut files)?;
        let mut covered = PacksCovered {
            is_usable: has_packs,
            ..PacksCovered::default()
        };
        for (_, file) in files {
            let size_bytes = file.metadata().map_or(0, |found| found.len());
            match Pack::open(file).and_then(|pack| self.is_ours(pack)) {
                Ok(pack) => {
                    covered.packs += 1;
                    covered.size_bytes += size_bytes;
                    covered.documents += pack.docs().len() as u64;
                }
                Err(_) => covered.is_usable = false,
            }
        }
        Ok(covered)
    }

    /// Returns the values of an attribute that pass a test, of all documents in packs that this
    /// process may open.
    pub fn values(&self, test: &ValueTest) -> Valued {
        let (by_document, lost) = self.library().values(test);
        for (_, why) in &lost {
            (self.warn)(&format!("{why}{REMEDY}"));
        }
        Valued {
            by_document,
            lost: lost.into_iter().map(|(pack, _)| pack).collect(),
        }
    }
}

/// Adds the packs of a source that this process may open, and their paths. Returns false if the
/// source has no index of keywords.
fn packs_of(source: &Source, files: &mut Vec<(PathBuf, File)>) -> Result<bool, IndexError> {
    let Some(top) = if_there(source.dir().open_dir(layout::KEYWORDS))? else {
        return Ok(false);
    };
    guard_walk::walk(&top, &mut |_, dir| {
        for name in dir.list()? {
            if !name.ends_with(layout::KEYWORDS_ENDING) {
                continue;
            }
            // If the pack was replaced meanwhile, its files are read.
            if let Some(file) = if_there(dir.open_file(&name))? {
                files.push((dir.join(&name), file));
            }
        }
        Ok(())
    })?;
    Ok(true)
}

/// The packs of a source that this process may open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacksCovered {
    /// Number of packs.
    pub packs: u64,
    /// Their size in bytes.
    pub size_bytes: u64,
    /// Number of documents in them.
    pub documents: u64,
    /// Whether the source has an index of keywords, and each of these packs can be used.
    pub is_usable: bool,
}

/// The values of an attribute in packs.
#[derive(Debug)]
pub struct Valued {
    by_document: ById<Vec<AttributeValue>>,
    /// Numbers of packs that could not be asked.
    lost: Vec<u32>,
}

/// What packs say of an attribute of a file with a certain identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuesLook<'v> {
    /// Its values, in order; there may be others if a gap is given.
    Known(&'v [AttributeValue], Option<Gap>),
    /// No pack that this process may open has its content.
    Unread,
}

impl Valued {
    /// Returns what is known of the file with this identity. `contents` are those that made this.
    pub fn look(&self, contents: &Contents, id: DocId) -> ValuesLook<'_> {
        match contents.library().place(id) {
            Some((pack, gaps)) if !self.lost.contains(&pack) => {
                let values = self.by_document.get(&id).map_or(&[][..], Vec::as_slice);
                ValuesLook::Known(values, gaps.attributes)
            }
            _ => ValuesLook::Unread,
        }
    }
}

const REMEDY: &str = ": reading its files instead; trawl index PATH makes it again";

/// A condition on contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// On the words.
    Words(Query),
    /// On an attribute.
    Attribute(AttributeTest),
}

/// What packs say of a file with a certain identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It matches.
    Matches,
    /// It does not match.
    Differs,
    /// A part of it is not known, and decides.
    Undecided(Gap),
    /// No pack that this process may open has its content.
    Unread,
}

/// A question, with its answers so far. They are of one [`Contents`].
#[derive(Debug)]
pub struct Asked {
    question: Question,
    answer: OnceLock<Answer>,
    /// Scores of files that were read and match.
    read: Mutex<ById<f32>>,
}

impl Asked {
    /// Returns a question that was not asked yet.
    pub fn new(question: Question) -> Asked {
        Asked {
            question,
            answer: OnceLock::new(),
            read: Mutex::default(),
        }
    }

    /// Returns the question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    fn answer(&self, contents: &Contents) -> &Answer {
        self.answer.get_or_init(|| {
            let library = contents.library();
            let answer = match &self.question {
                Question::Words(query) => library.query(query),
                Question::Attribute(test) => library.attribute(test),
            };
            for (_, why) in &answer.lost {
                (contents.warn)(&format!("{why}{REMEDY}"));
            }
            answer
        })
    }

    /// Returns whether packs were asked.
    pub fn is_answered(&self) -> bool {
        self.answer.get().is_some()
    }

    /// Returns what is known of the file with this identity.
    pub fn look(&self, contents: &Contents, id: DocId) -> Look {
        let Some((pack, gaps)) = contents.library().place(id) else {
            return Look::Unread;
        };
        let answer = self.answer(contents);
        if answer.lost.iter().any(|(lost, _)| *lost == pack) {
            return Look::Unread;
        }
        self.told(answer.matching.contains_key(&id), gaps)
    }

    /// Looks at the document of a file, which has this identity unless it has just changed.
    pub fn judge(&self, contents: &Contents, id: DocId, document: &Document) -> Look {
        let matches = match &self.question {
            Question::Attribute(test) => test.matches(document),
            Question::Words(query) => self.find(contents, (id, query), document),
        };
        self.told(matches, document.gaps)
    }

    fn find(&self, contents: &Contents, (id, query): (DocId, &Query), read: &Document) -> bool {
        let found = Occurrences::find(query, &read.text);
        let matches = found.matches(query);
        if matches {
            let score = found.score(query, contents.library());
            lock(&self.read).insert(id, score);
        }
        matches
    }

    fn told(&self, matches: bool, gaps: Gaps) -> Look {
        let (is_monotone, gap) = match &self.question {
            Question::Words(query) => (query.is_monotone(), gaps.text),
            Question::Attribute(test) => (test.is_monotone(), gaps.attributes),
        };
        match (matches, gap) {
            (true, Some(_)) if is_monotone => Look::Matches,
            (_, Some(gap)) => Look::Undecided(gap),
            (true, None) => Look::Matches,
            (false, None) => Look::Differs,
        }
    }

    /// Returns the score of a file that was read and matches, whatever is not known of it.
    pub fn score_read(&self, id: DocId) -> Option<f32> {
        let is_sure = match &self.question {
            Question::Words(query) => query.is_monotone(),
            Question::Attribute(_) => false,
        };
        is_sure.then(|| lock(&self.read).get(&id).copied())?
    }

    /// Returns the score of a file that matches; 0 if it does not, or was neither packed nor read.
    pub fn score(&self, contents: &Contents, id: DocId) -> f32 {
        let read = lock(&self.read).get(&id).copied();
        read.or_else(|| self.answer(contents).score(id))
            .unwrap_or_default()
    }
}

/// Returns whether a path is another, or below it. `/` is empty, or a slash.
fn is_at_or_below(path: &[u8], other: &[u8]) -> bool {
    let other = other.strip_suffix(b"/").unwrap_or(other);
    let rest = path.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
