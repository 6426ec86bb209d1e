//! The entries of a named index over an attribute of contents, in the order of its values.
//!
//! The packs of keywords say which values the content of a row has, as for `find -attr`: they are
//! asked about a row only if they list its identity, and only packs are asked that the kernel let
//! this process open. Every other regular file is read now, as the asking user.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use trawl_find::questions::{self, OF_THEN, identity, open_now, read};
use trawl_find::resolve::is_recorded;
use trawl_keywords::{AttributeValue, Contents, ValueTest, Valued as Known, ValuesLook};
use trawl_model::FileType;
use trawl_model::rows::Row;
use trawl_query::{Listing, Request, Start};
use trawl_session::Session;

use super::{Among, Unread, Valued, Values, keep};
use crate::error::AnswerError;

/// What a worker finds.
#[derive(Default)]
struct Found {
    entries: BinaryHeap<Valued>,
    unread: Vec<Unread>,
}

/// A question at work.
struct Looking<'l> {
    contents: &'l Contents,
    test: &'l ValueTest,
    among: &'l Among<'l>,
    /// What packs know.
    known: Known,
    /// Whether the rows are those of files as they are now.
    is_of_now: bool,
    /// Maximum number of entries that are kept.
    kept: usize,
}

/// Returns the first entries in order, one more than the limit if there are more, and the files whose
/// values are not known.
pub(super) fn first(
    session: &Session<'_>,
    start: &Start,
    (contents, test, among): (&Contents, &ValueTest, &Among<'_>),
    limit: usize,
) -> Result<(Vec<Valued>, Vec<Unread>), AnswerError> {
    contents.limit_to(vec![start.path.clone()]);
    let looking = Looking {
        contents,
        test,
        among,
        known: contents.values(test),
        is_of_now: !is_recorded(&start.view),
        kept: limit.saturating_add(1),
    };
    let request = Request {
        columns: questions::COLUMNS,
        only: among.only(),
        cancel: session.cancel(),
        ..Request::default()
    };
    let work = |listing: &Listing<'_>, out: &mut Found| looking.look_at(listing, out);
    let (mut all, mut unread) = (BinaryHeap::new(), Vec::new());
    start.walk(&request, work, |found| {
        for one in found.entries {
            keep(&mut all, one, looking.kept);
        }
        unread.extend(found.unread);
        ControlFlow::Continue(())
    })?;
    Ok((all.into_sorted_vec(), unread))
}

impl Looking<'_> {
    fn look_at(&self, listing: &Listing<'_>, out: &mut Found) {
        for at in listing.range.clone() {
            let row = Row {
                batch: listing.batch,
                at,
                dir: listing.dir.path,
            };
            let is_wanted = || self.among.has(row.dir, row.name());
            if row.file_type() == FileType::Regular && is_wanted() {
                self.look(&row, out);
            }
        }
    }

    fn look(&self, row: &Row<'_>, out: &mut Found) {
        let id = self.contents.id(&identity(row), row.name());
        let (path, read);
        let (values, gap) = match self.known.look(self.contents, id) {
            ValuesLook::Known([], None) => return,
            ValuesLook::Known(values, gap) => {
                path = row.path();
                (values, gap.map(|gap| gap.reason().to_owned()))
            }
            ValuesLook::Unread => {
                path = row.path();
                let found = self.read(&path, row.name());
                read = found.0;
                (&read[..], found.1)
            }
        };
        for value in values {
            let values = Values::Content(value.clone());
            keep(
                &mut out.entries,
                Valued::new(values, path.clone()),
                self.kept,
            );
        }
        out.unread.extend(gap.map(|reason| Unread { path, reason }));
    }

    /// Reads a file now, and returns its values, and why there may be others.
    fn read(&self, stored: &[u8], name: &[u8]) -> (Vec<AttributeValue>, Option<String>) {
        if !self.is_of_now {
            return (Vec::new(), Some(OF_THEN.to_owned()));
        }
        let opened = open_now(stored);
        match opened.and_then(|file| read(file, self.contents, name)) {
            Ok(document) => {
                let gap = document.gaps.attributes;
                let values = self.test.of_document(&document);
                (values, gap.map(|gap| gap.reason().to_owned()))
            }
            Err(cause) => (Vec::new(), Some(cause.0)),
        }
    }
}
