//! Names that a listing leaves out.

use std::sync::Arc;

use trawl_text::glob::{Case, Glob};

/// Names with a leading dot that are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// No such names.
    Skip,
    /// All except `.` and `..`.
    Almost,
    /// All, including `.` and `..`.
    All,
}

/// Names that are left out.
#[derive(Clone, Debug)]
pub struct Ignored {
    hidden: Hidden,
    patterns: Arc<[Pattern]>,
}

/// A shell pattern in which a leading dot must be explicit.
#[derive(Debug)]
struct Pattern {
    glob: Glob,
    begins_with_dot: bool,
}

impl Pattern {
    fn new(text: &[u8]) -> Pattern {
        Pattern {
            glob: Glob::of_environment(text, Case::Sensitive),
            begins_with_dot: text.starts_with(b".") || text.starts_with(b"\\."),
        }
    }
}

impl Ignored {
    /// Returns the names with a leading dot that `hidden` says, and those that match a pattern.
    pub fn new<'t>(hidden: Hidden, patterns: impl IntoIterator<Item = &'t [u8]>) -> Ignored {
        Ignored {
            hidden,
            patterns: patterns.into_iter().map(Pattern::new).collect(),
        }
    }

    /// Returns true if `name` is not listed.
    pub fn has(&self, name: &[u8]) -> bool {
        let is_dotted = name.first() == Some(&b'.');
        let by_dot = match self.hidden {
            Hidden::Skip => is_dotted,
            Hidden::Almost => matches!(name, b"." | b".."),
            Hidden::All => false,
        };
        let mut patterns = self.patterns.iter();
        by_dot
            || patterns.any(|pattern| {
                (!is_dotted || pattern.begins_with_dot) && pattern.glob.matches(name)
            })
    }

    /// Returns the rule for names with a leading dot.
    pub fn hidden(&self) -> Hidden {
        self.hidden
    }

    /// Returns true if a component of `path` below `top` is left out.
    pub fn has_between(&self, top: &[u8], path: &[u8]) -> bool {
        if self.hidden != Hidden::Skip && self.patterns.is_empty() {
            return false;
        }
        let below = path.strip_prefix(top).unwrap_or_default();
        below
            .split(|b| *b == b'/')
            .any(|name| !name.is_empty() && self.has(name))
    }
}
