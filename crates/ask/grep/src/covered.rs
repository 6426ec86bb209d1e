//! Files that need not be read: an index has the n-grams of their contents, they are unchanged, and
//! what the patterns require is not among them.
//!
//! The index is asked after some files were met, so that a search of a few files does not open it.
//! If a pack cannot be read, all its files are read. The kernel has let this process open every pack
//! that is used, as it would let it read the files.

use std::collections::HashSet;
use std::fs::Metadata;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use trawl_format::store::if_there;
use trawl_format::{IndexDir, IndexError, guard_walk, layout};
use trawl_grams::{CaseRule, Content, DocId, Identity, Pack, Plan, SyntaxRule};

use crate::options::{Binary, Case, Ending, Options, Print, Select, Syntax};

/// Number of files that are read before the index is asked.
const UNASKED: usize = 64;

/// What an index says about files: [`Covered::skips`].
pub struct Covered {
    question: Question,
    fate: Fate,
    met: AtomicUsize,
    has_packs: OnceLock<bool>,
    found: OnceLock<Excluded>,
}

struct Question {
    indexes: Vec<PathBuf>,
    starts: Vec<Vec<u8>>,
    plan: Plan,
    /// Whether a line of a binary file ends at a NUL byte, as in the index.
    knows_binary: bool,
    warn: Box<dyn Fn(&str) + Send + Sync>,
}

pub(crate) type Excluded = HashSet<DocId, BuildHasherDefault<AsIs>>;

/// What becomes of a file that cannot match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is left out.
    LeftOut,
    /// It counts as a member without content.
    Blank,
}

/// Identities are hashes already.
#[derive(Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(32) ^ number;
    }
}

/// Returns what a file must contain to be of interest; `None` if every file is.
fn plan(options: &Options) -> Option<Plan> {
    let patterns = &options.patterns;
    // All lines of a file without a match are selected, or it is not read as it is, or lines are
    // other ones than in the index.
    let is_open = options.select == Select::Others
        || options.encoding.is_some()
        || options.ending == Ending::Nul;
    let syntax = match patterns.syntax {
        Syntax::Regex => SyntaxRule::Regex,
        Syntax::Fixed => SyntaxRule::Fixed,
    };
    let case = match patterns.case {
        Case::Sensitive => CaseRule::Sensitive,
        Case::Insensitive | Case::Smart => CaseRule::Insensitive,
    };
    let plan = (!is_open).then(|| Plan::of(&patterns.texts, syntax, case));
    plan.filter(|plan| !plan.is_anything())
}

impl Covered {
    /// Prepares the question to these indexes about files below `starts`, which are absolute and
    /// without symbolic links. Returns `None` if no file can be excluded. `warn` is called with a
    /// message for each pack that cannot be read.
    pub fn new(
        options: &Options,
        (indexes, starts): (Vec<PathBuf>, Vec<Vec<u8>>),
        warn: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Option<Covered> {
        let plan = plan(options)?;
        Some(Covered {
            question: Question {
                indexes,
                starts,
                plan,
                // Printed as text, a line goes on behind it.
                knows_binary: options.binary != Binary::Text,
                warn,
            },
            fate: match options.print {
                Print::Count | Print::NamesWithout => Fate::Blank,
                _ => Fate::LeftOut,
            },
            met: AtomicUsize::new(0),
            has_packs: OnceLock::new(),
            found: OnceLock::new(),
        })
    }

    /// Returns what becomes of files that cannot match.
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Returns the files that cannot match, whatever was met before.
    pub(crate) fn excluded(&self) -> &Excluded {
        self.found.get_or_init(|| {
            let telling = Telling(&self.has_packs);
            self.question.ask(&telling)
        })
    }

    /// Returns whether there is a pack. Waits until that is known, while another thread calls
    /// [`Covered::excluded`].
    pub(crate) fn has_packs(&self) -> bool {
        *self.has_packs.wait()
    }

    /// Returns whether the file with these attributes cannot match. `look` is only called if
    /// something is known.
    pub fn skips(&self, look: impl FnOnce() -> Option<Metadata>) -> bool {
        let excluded = match self.found.get() {
            Some(excluded) => excluded,
            None if self.met.fetch_add(1, Ordering::Relaxed) < UNASKED => return false,
            None => self.excluded(),
        };
        !excluded.is_empty()
            && look()
                .is_some_and(|meta| meta.is_file() && excluded.contains(&Identity::of(&meta).id()))
    }
}

/// Tells waiting threads whether there is a pack. If it is dropped before one was found, they are told
/// that there is none.
struct Telling<'c>(&'c OnceLock<bool>);

impl Telling<'_> {
    fn pack(&self) {
        let _ = self.0.set(true);
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let _ = self.0.set(false);
    }
}

impl Question {
    /// Returns the files that cannot match. If a pack cannot be read, none of its files are among
    /// them.
    fn ask(&self, telling: &Telling<'_>) -> Excluded {
        let mut excluded = Vec::new();
        for index in &self.indexes {
            if let Ok(index) = IndexDir::open(index) {
                let asked = self.ask_one(&index, telling, &mut excluded);
                if let Err(error) = asked {
                    (self.warn)(&format!("{error}: reading all files"));
                }
            }
        }
        excluded.into_iter().collect()
    }

    fn ask_one(
        &self,
        index: &IndexDir,
        telling: &Telling<'_>,
        excluded: &mut Vec<DocId>,
    ) -> Result<(), IndexError> {
        for source in index.sources()? {
            let root = source.root();
            let is_near =
                |start: &Vec<u8>| is_at_or_below(start, root) || is_at_or_below(root, start);
            if !self.starts.iter().any(is_near) {
                continue;
            }
            let Some(top) = if_there(source.dir().open_dir(layout::TEXT))? else {
                continue;
            };
            guard_walk::walk(&top, &mut |_, dir| {
                for name in dir.list()? {
                    if !name.ends_with(layout::GRAMS_ENDING) {
                        continue;
                    }
                    telling.pack();
                    // If the pack was replaced meanwhile, its files are read.
                    if let Some(file) = if_there(dir.open_file(&name))?
                        && let Err(error) = self.exclude(file, excluded)
                    {
                        let path = dir.join(&name);
                        let why = format!(
                            "{}: {error}: reading the files that it covers; trawl index PATH \
                             makes it again",
                            trawl_model::mapped::shown_file(&path)
                        );
                        (self.warn)(&why);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn exclude(
        &self,
        file: std::fs::File,
        excluded: &mut Vec<DocId>,
    ) -> Result<(), trawl_grams::GramsError> {
        let pack = Pack::open(file)?;
        if self.knows_binary || pack.content() == Content::Text {
            excluded.extend(pack.excluded(&self.plan)?);
        }
        Ok(())
    }
}

/// Returns whether a path is another, or below it. `/` is empty, or a slash.
fn is_at_or_below(path: &[u8], other: &[u8]) -> bool {
    let other = other.strip_suffix(b"/").unwrap_or(other);
    let rest = path.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Patterns;

    fn with(print: Print, select: Select, encoding: Option<&str>) -> Option<Plan> {
        plan(&Options {
            patterns: Patterns {
                texts: vec!["needle".into()],
                ..Patterns::default()
            },
            print,
            select,
            encoding: encoding.map(String::from),
            ..Options::default()
        })
    }

    #[test]
    fn files_count_where_their_absence_would_show() {
        assert!(with(Print::Lines, Select::Matching, None).is_some());
        assert!(with(Print::NamesWith, Select::Matching, None).is_some());
        assert!(with(Print::NamesWithout, Select::Matching, None).is_some());
        assert!(with(Print::Count, Select::Matching, None).is_some());
        assert!(with(Print::Lines, Select::Others, None).is_none());
        assert!(with(Print::Lines, Select::Matching, Some("latin1")).is_none());
    }

    #[test]
    fn paths_are_compared_by_components() {
        assert!(is_at_or_below(b"/srv/a", b"/srv"));
        assert!(is_at_or_below(b"/srv", b"/srv"));
        assert!(!is_at_or_below(b"/srv2", b"/srv"));
        assert!(is_at_or_below(b"/srv", b"/"));
        assert!(is_at_or_below(b"/srv", b""));
    }
}
