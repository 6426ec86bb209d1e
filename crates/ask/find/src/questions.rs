//! Questions about files' contents: keywords, phrases and attributes.
//!
//! The document with the row's identity decides: an index may know it, or the file is read now, as
//! the current user. So no answer rests on the age of an index of contents. A file that cannot be
//! read is reported, and the exit code is 1.

use std::fs::File;
use std::sync::{Arc, Mutex};

use trawl_grams::{DocId, Identity, Stamp};
use trawl_keywords::{
    Asked, AttributeTest, Contents, Document, Gap, Look, Query, Question, is_same_name,
};
use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_model::{Column, ColumnSet, FileType, Timestamp, path};
use trawl_sys::directory::Links;
use trawl_sys::far::Far;
use trawl_sys::file::open_content;
use trawl_text::quote;

use crate::compare::between;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::live;
use crate::probe::Cause;
use crate::reference::error_text;

/// The columns that questions read.
pub const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Mode,
    Column::Dev,
    Column::Ino,
    Column::Size,
    Column::Mtime,
    Column::MtimeNs,
    Column::Ctime,
    Column::CtimeNs,
]);

/// The questions of a command line.
#[derive(Clone, Debug, Default)]
pub struct Questions(Arc<Mutex<Vec<Arc<Asked>>>>);

impl Questions {
    /// Adds a question, and returns a test that asks it.
    pub(crate) fn add(&self, question: Question) -> Box<dyn Leaf> {
        let asked = Arc::new(Asked::new(question));
        lock(&self.0).push(Arc::clone(&asked));
        Box::new(About(asked))
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    fn all(&self) -> Vec<Arc<Asked>> {
        lock(&self.0).clone()
    }

    /// Returns whether packs answered a question about an attribute that `admits` the condition.
    pub(crate) fn used(&self, attribute: &str, admits: impl Fn(&AttributeTest) -> bool) -> bool {
        self.all().iter().any(|asked| match asked.question() {
            Question::Attribute(test) => {
                is_same_name(attribute, test.name()) && admits(test) && asked.is_answered()
            }
            Question::Words(_) => false,
        })
    }

    /// Returns the queries for words.
    pub(crate) fn queries(&self) -> Vec<Query> {
        let queries = self
            .all()
            .into_iter()
            .filter_map(|asked| match asked.question() {
                Question::Words(query) => Some(query.clone()),
                Question::Attribute(_) => None,
            });
        queries.collect()
    }
}

/// Returns how well the row's content matches: the sum of the scores of all questions about words.
pub(crate) fn score(row: &Row<'_>, cx: &Context<'_>) -> f32 {
    if row.file_type() != FileType::Regular {
        return 0.0;
    }
    let (id, contents) = (id(row, cx), &cx.world.contents);
    let questions = cx.world.questions.all();
    let scores = questions.iter().map(|asked| asked.score(contents, id));
    // A sum begins with -0.
    scores.sum::<f32>() + 0.0
}

/// Returns the identity of the document that belongs to a row.
fn id(row: &Row<'_>, cx: &Context<'_>) -> DocId {
    cx.world.contents.id(&identity(row), name(row))
}

/// Returns the last component of a row's path.
fn name<'r>(row: &'r Row<'_>) -> &'r [u8] {
    // A start point is a row with its whole path, as it was given.
    let name = row.name();
    let name = name.strip_suffix(b"/").unwrap_or(name);
    name.rsplit(|byte| *byte == b'/').next().unwrap_or(name)
}

/// Returns what identifies the content of a row's file.
pub fn identity(row: &Row<'_>) -> Identity {
    let stamp = |time: Timestamp| Stamp {
        secs: time.secs,
        nanos: time.nanos,
    };
    Identity {
        dev: row.dev().as_u64(),
        ino: row.ino(),
        size_bytes: row.size(),
        mtime: stamp(row.mtime()),
        ctime: stamp(row.ctime()),
    }
}

/// The test of a question.
#[derive(Debug)]
struct About(Arc<Asked>);

impl Leaf for About {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if row.file_type() != FileType::Regular {
            return false;
        }
        let id = id(row, cx);
        let look = match self.0.look(&cx.world.contents, id) {
            Look::Unread => {
                let document = document(row, cx);
                document.map(|document| self.0.judge(&cx.world.contents, id, &document))
            }
            known => Some(known),
        };
        if let Some(Look::Undecided(gap)) = look {
            complain_of(gap, row, cx);
        }
        look == Some(Look::Matches)
    }

    fn filter(&self) -> Filter {
        between(Column::Mode, REGULAR, REGULAR + 0o7777)
    }
}

/// The type of regular files in a mode.
const REGULAR: i128 = 0o100_000;

/// Reports that what is known of a file's content does not decide.
fn complain_of(gap: Gap, row: &Row<'_>, cx: &mut Context<'_>) {
    complain(row, cx, &Cause(gap.reason().into()));
}

/// Reports that a file's content is not known.
fn complain(row: &Row<'_>, cx: &mut Context<'_>, cause: &Cause) {
    let locale = cx.world.locale;
    let quoted = quote::message(cx.path(row), locale);
    cx.complain(&format!("{quoted}: cannot search its content: {}", cause.0));
}

/// Reads the document of a row now. Reports it if that is not possible.
pub(crate) fn document(row: &Row<'_>, cx: &mut Context<'_>) -> Option<Document> {
    let path = cx.path(row).to_vec();
    let opened = cx.probe.content(row, &path);
    let read = opened.and_then(|file| read(file, &cx.world.contents, name(row)));
    read.map_err(|cause| complain(row, cx, &cause)).ok()
}

/// Reads the document of a file that was opened for a row. `name` is the last component of its path.
///
/// # Errors
/// If it is no regular file any more, or nothing is known of it.
pub fn read(mut file: File, contents: &Contents, name: &[u8]) -> Result<Document, Cause> {
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(Cause("it is not a regular file any more".into()));
    }
    let document = contents.document(&mut file, name);
    document.map_err(|error| Cause(error_text(&error)))
}

/// Opens the file with this stored path, as the current user, to read its content as of now. Links
/// are not followed.
///
/// # Errors
/// If the kernel refuses it.
pub fn open_now(stored: &[u8]) -> Result<File, Cause> {
    let open = || {
        let far = Far::at(path::display(stored))?;
        open_content(far.dir(), far.name(), Links::Refused)
    };
    open().map_err(|error| live::probe::cause(&error))
}

/// Cause for a file of a past snapshot, or of a trace.
pub const OF_THEN: &str = "its content at that time is not known";
