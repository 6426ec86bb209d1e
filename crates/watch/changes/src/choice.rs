//! Choice of a change source for a tree: the table [`crate::SOURCES`] is tried from its beginning.
//!
//! A row says when its source is tried ([`Attempt`]). A source that fails gives the reason why a
//! later one is tried; if no later one wants it, the reason is the caller's error.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use trawl_model::change::FileSystemId;
use trawl_model::time::Timestamp;

use crate::error::{LiveError, Result};
use crate::mounted::{Crossing, Mounted};
use crate::source::ChangeSource;

/// A tree to be watched.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    /// Its root.
    pub root: &'a Path,
    /// The kind of change source that the user wants.
    pub wish: Wish,
    /// Interval of a source that only polls.
    pub interval: Duration,
    /// Whether file systems mounted below belong to the tree.
    pub crossing: Crossing,
    /// Paths below which changes are not reported.
    pub without: &'a [Vec<u8>],
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
}

/// The kind of change source that the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// The one that reports most.
    #[default]
    Best,
    /// Polling, even if another source could report more.
    Polling,
}

/// A change source that can be chosen for a tree.
pub trait Watch: ChangeSource + Sized + Send + 'static {
    /// Name of the source.
    const NAME: &'static str;
    /// The trees that it is for, in a few words.
    const USED_FOR: &'static str;
    /// How it detects changes, as in [`crate::Description::how`].
    const METHOD: &'static str;

    /// Begins to watch a tree. `queue` holds the events of a source that another process had opened
    /// for the same tree; a source without a queue ignores it.
    ///
    /// # Errors
    /// Fails if the source cannot watch the tree.
    fn watch(tree: &Tree<'_>, queue: Option<OwnedFd>) -> Result<Begun<Self>>;
}

/// A change source of any kind.
pub type AnySource = Box<dyn ChangeSource + Send>;

/// A change source that has begun to watch.
#[derive(Debug)]
pub struct Begun<S> {
    /// The source.
    pub source: S,
    /// Id of its file system, with which its keys begin; `None` if keys are no handles of one.
    pub file_system: Option<FileSystemId>,
    /// The queue, to be stored while no process reads it; `None` if it cannot be stored.
    pub queue: Option<OwnedFd>,
    /// Whether it continues with the queue of another process.
    pub is_taken_over: bool,
}

/// The chosen source of a tree, which also detects mounts.
pub struct Watched {
    /// Its row in the table.
    pub kind: &'static SourceKind,
    /// The source.
    pub begun: Begun<AnySource>,
}

/// The facts by which a row decides whether its source is tried.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The kind of change source that the user wants.
    pub wish: Wish,
    /// Why the source that was tried last cannot watch the tree; `None` before the first.
    pub failed: Option<&'a LiveError>,
}

/// A row of the table of change sources.
pub struct SourceKind {
    /// Name of the source.
    pub name: &'static str,
    /// The trees that it is for, in a few words.
    pub used_for: &'static str,
    /// How it detects changes.
    pub method: &'static str,
    /// When it is chosen, in a few words.
    pub chosen: &'static str,
    is_tried: fn(Attempt<'_>) -> bool,
    watch: fn(&Tree<'_>, Option<OwnedFd>) -> Result<Begun<AnySource>>,
    loses: Option<fn(&Tree<'_>) -> String>,
}

impl SourceKind {
    /// Makes the row of a source, which is tried if `is_tried` returns true.
    pub(crate) const fn of<S: Watch>(
        chosen: &'static str,
        is_tried: fn(Attempt<'_>) -> bool,
    ) -> SourceKind {
        SourceKind {
            name: S::NAME,
            used_for: S::USED_FOR,
            method: S::METHOD,
            chosen,
            is_tried,
            watch: watch_as::<S>,
            loses: None,
        }
    }

    /// Adds what the source does instead of a better one, for a warning.
    pub(crate) const fn warns(mut self, loses: fn(&Tree<'_>) -> String) -> SourceKind {
        self.loses = Some(loses);
        self
    }
}

impl fmt::Debug for SourceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind.name)
    }
}

/// Opens the source that fits a tree; `queue` is the queue that another process had open for it.
/// `warn` gets the reason and what happens instead when a source that reports less is tried.
///
/// # Errors
/// Fails with the error of the last source that was tried if none can watch the tree.
pub fn open(
    tree: &Tree<'_>,
    mut queue: Option<OwnedFd>,
    warn: &mut dyn FnMut(&LiveError, &str),
) -> Result<Watched> {
    let mut failed = None;
    for kind in crate::SOURCES {
        let attempt = Attempt {
            wish: tree.wish,
            failed: failed.as_ref(),
        };
        if !(kind.is_tried)(attempt) {
            continue;
        }
        if let (Some(error), Some(loses)) = (&failed, kind.loses) {
            warn(error, &loses(tree));
        }
        match (kind.watch)(tree, queue.take()) {
            Ok(begun) => return Ok(Watched { kind, begun }),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| none_fits(tree)))
}

fn none_fits(tree: &Tree<'_>) -> LiveError {
    use std::os::unix::ffi::OsStrExt;
    LiveError::Unwatchable {
        path: tree.root.as_os_str().as_bytes().to_vec(),
        file_system: "any file system".to_owned(),
        why: "no change source fits",
        advice: "index it again from time to time",
    }
}

/// Begins to watch with a source, and adds the detection of mounts.
fn watch_as<S: Watch>(tree: &Tree<'_>, queue: Option<OwnedFd>) -> Result<Begun<AnySource>> {
    let begun = S::watch(tree, queue)?;
    let source = Mounted::new(begun.source, tree.root, tree.crossing)?;
    let source = source.without(tree.without.to_vec());
    let source = match begun.is_taken_over {
        true => source.with_all_due(),
        false => source,
    };
    Ok(Begun {
        source: Box::new(source),
        file_system: begun.file_system,
        queue: begun.queue,
        is_taken_over: begun.is_taken_over,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SOURCES;

    const BEGIN: &str = "<!-- sources: begin -->\n";
    const END: &str = "<!-- sources: end -->\n";

    fn tried(wish: Wish, failed: Option<&LiveError>) -> Vec<&'static str> {
        let attempt = Attempt { wish, failed };
        let rows = SOURCES.iter().filter(|kind| (kind.is_tried)(attempt));
        rows.map(|kind| kind.name).collect()
    }

    #[test]
    fn each_reason_leads_to_one_source() {
        let unwatchable = LiveError::Unwatchable {
            path: Vec::new(),
            file_system: "nfs".to_owned(),
            why: "",
            advice: "",
        };
        let many = LiveError::TooManyMarks {
            path: Vec::new(),
            marked: 9,
        };
        let privilege = LiveError::Privilege {
            path: Vec::new(),
            source: trawl_sys::SysError::new(trawl_sys::Op::Openat, trawl_sys::Errno::PERM),
        };
        let gone = LiveError::RootGone { path: Vec::new() };
        assert_eq!(tried(Wish::Best, None), ["Fanotify"]);
        assert_eq!(tried(Wish::Best, Some(&privilege)), ["Directories"]);
        assert_eq!(tried(Wish::Best, Some(&unwatchable)), ["Polling"]);
        assert_eq!(tried(Wish::Best, Some(&many)), ["Polling"]);
        assert!(tried(Wish::Best, Some(&gone)).is_empty());
        assert_eq!(tried(Wish::Polling, None), ["Polling"]);
    }

    /// `BLESS=1` writes the table of the sources into the document.
    #[test]
    fn the_document_lists_all_sources() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/live.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (found, after) = rest.split_once(END).unwrap();
        let mut table = String::from("| source | for | method | chosen |\n|---|---|---|---|\n");
        for kind in SOURCES {
            let row = [kind.name, kind.used_for, kind.method, kind.chosen].join(" | ");
            table.push_str(&format!("| {row} |\n"));
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, [before, BEGIN, &table, END, after].concat()).unwrap();
        } else {
            assert_eq!(found, table, "BLESS=1 updates docs/live.md");
        }
    }
}
