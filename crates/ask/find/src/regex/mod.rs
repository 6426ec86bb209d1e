//! Regular expressions in find's dialects, matched against whole paths or
//! searched in them.
//!
//! `parse` reads a pattern into a tree by the rules of its dialect, and `write`
//! translates the tree for the regex-automata engine, which matches bytes in
//! linear time. Back-references cannot be translated: patterns with them are
//! left to the C library's own matcher.
//!
//! Difference from GNU find: a range of characters beyond ASCII is ordered by
//! code points in every UTF-8 locale. GNU find asks the locale for the order,
//! and `C.UTF-8` defines none.

mod bracket;
mod dialect;
mod literals;
mod parse;
mod steps;
mod syntax;
mod tree;
mod write;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::meta;
use regex_automata::util::syntax::Config;
use regex_automata::{Anchored, Input};
use trawl_model::need::{Need, Within};
use trawl_query::{Beginning, Trail};
use trawl_sys::regex::{Characters, Pattern};
use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use literals::Extent;

use steps::Steps;

pub use dialect::Dialect;

/// Why a pattern cannot be used, with the C library's message where it has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegexError {
    /// `(` without `)`.
    #[error("Unmatched ( or \\(")]
    Open,
    /// `\)` without `\(`.
    #[error("Unmatched ) or \\)")]
    Close,
    /// `[` without `]`.
    #[error("Unmatched [, [^, [:, [., or [=")]
    Bracket,
    /// A `[` at the very end of the pattern.
    #[error("Invalid regular expression")]
    LoneBracket,
    /// `{` without `}`.
    #[error("Unmatched \\{{")]
    Brace,
    /// Invalid numbers in braces.
    #[error("Invalid content of \\{{\\}}")]
    Repetition,
    /// A repetition with nothing before it.
    #[error("Invalid preceding regular expression")]
    NothingToRepeat,
    /// A range whose end precedes its start.
    #[error("Invalid range end")]
    Range,
    /// `[:foo:]`
    #[error("Invalid character class name")]
    Class,
    /// `[.foo.]`
    #[error("Invalid collation character")]
    Collation,
    /// A backslash at the end.
    #[error("Trailing backslash")]
    Backslash,
    /// Numbers in braces, or an expression, that would take too much memory.
    #[error("Regular expression too big")]
    TooBig,
    /// `\2` before a second group is complete.
    #[error("Invalid back reference")]
    InvalidBackReference,
    /// The engine, or the C library, refuses the expression.
    #[error("{0}")]
    Engine(String),
}

/// A compiled expression.
#[derive(Debug)]
pub struct Regex {
    engine: Engine,
    need: Need,
}

#[derive(Debug)]
enum Engine {
    Automaton(Box<Automaton>),
    Library(Pattern),
}

/// An expression for the regex-automata engine.
#[derive(Debug)]
struct Automaton {
    engine: meta::Regex,
    /// The expression in the engine's syntax, and the options that it is parsed
    /// with.
    text: String,
    syntax: Config,
    /// Tables, created once the expression has been asked for often enough.
    steps: [OnceLock<Option<Steps>>; 2],
    asked: AtomicU32,
}

/// Maximum memory of a compiled expression, in bytes.
const SIZE_LIMIT_BYTES: usize = 32 << 20;
/// Maximum number of parts of an expression for the C library with its
/// repetitions expanded, which the library does.
const LIBRARY_PARTS_MOST: u64 = 100_000;
/// Number of directories before a table is worth creating.
const DIRECTORIES: u32 = 64;
/// Maximum nesting of groups.
const NEST_LIMIT: u32 = 100;

impl Regex {
    /// Compiles a pattern that matches whole paths.
    ///
    /// # Errors
    /// If the pattern is invalid in this dialect, or is too big.
    pub fn new(
        pattern: &[u8],
        dialect: Dialect,
        case: Case,
        locale: Locale,
    ) -> Result<Regex, RegexError> {
        let units = write::units(pattern, locale);
        let tree = parse::parse(&units, dialect.syntax(), case)?;
        let need = literals::need(&tree, case, Extent::Whole, Within::Path);
        if tree.has_reference() {
            let engine = library(pattern, &tree, dialect, case, locale)?;
            return Ok(Regex { engine, need });
        }
        let text = format!("\\A(?:{})\\z", write::write(&tree, case, locale));
        let engine = automaton(&text, case, locale)?;
        Ok(Regex { engine, need })
    }

    /// Compiles a pattern that is searched in names or paths. `^` and `$` match
    /// their ends, as in regcomp(3).
    ///
    /// # Errors
    /// If the pattern is invalid in this dialect, or is too big.
    pub fn part(
        pattern: &[u8],
        dialect: Dialect,
        case: Case,
        locale: Locale,
        within: Within,
    ) -> Result<Regex, RegexError> {
        let units = write::units(pattern, locale);
        let mut tree = parse::parse(&units, dialect.syntax(), case)?;
        tree.anchor_to_text();
        let need = literals::need(&tree, case, Extent::Part, within);
        if tree.has_reference() {
            let engine = library(pattern, &tree, dialect, case, locale)?;
            return Ok(Regex { engine, need });
        }
        let text = write::write(&tree, case, locale);
        let engine = automaton(&text, case, locale)?;
        Ok(Regex { engine, need })
    }

    /// Returns whether the expression matches the whole of `path`.
    pub fn matches(&self, path: &[u8]) -> bool {
        match &self.engine {
            Engine::Automaton(automaton) => {
                let path = Input::new(path).anchored(Anchored::Yes);
                automaton.engine.is_match(path)
            }
            Engine::Library(pattern) => pattern.matches_whole(path),
        }
    }

    /// Returns whether the expression matches anywhere in `text`.
    pub fn is_in(&self, text: &[u8]) -> bool {
        match &self.engine {
            Engine::Automaton(automaton) => automaton.engine.is_match(text),
            Engine::Library(pattern) => pattern.matches_part(text),
        }
    }

    /// A condition that every text fulfils that matches.
    pub fn need(&self) -> &Need {
        &self.need
    }

    /// Returns what is known of the paths below a directory, tested in this
    /// manner. The directory's path has a slash at its end.
    pub fn begin(&self, manner: Manner, directory: &[u8], trail: &mut Trail) -> Beginning {
        match self.steps(manner) {
            Some(steps) => steps.begin(directory, trail),
            None => Beginning::Unknown,
        }
    }

    /// Returns whether a path matches that continues with a name from a place
    /// that [`Regex::begin`] returned; `None` if the whole path has to be
    /// tested.
    #[inline]
    pub fn goes_on(&self, manner: Manner, place: u8, name: &[u8]) -> Option<bool> {
        let steps = self.steps(manner)?;
        steps.is_match(steps.go(place, name))
    }

    fn steps(&self, manner: Manner) -> Option<&Steps> {
        let Engine::Automaton(automaton) = &self.engine else {
            return None;
        };
        let anchored = match manner {
            Manner::Whole => Anchored::Yes,
            Manner::Part => Anchored::No,
        };
        let Automaton {
            text,
            syntax,
            asked,
            ..
        } = &**automaton;
        if asked.load(Ordering::Relaxed) < DIRECTORIES {
            asked.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let steps =
            automaton.steps[manner as usize].get_or_init(|| Steps::new(text, *syntax, anchored));
        steps.as_ref()
    }
}

/// How a text is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Like [`Regex::matches`].
    Whole,
    /// Like [`Regex::is_in`].
    Part,
}

/// Compiles an expression without back-references.
fn automaton(text: &str, case: Case, locale: Locale) -> Result<Engine, RegexError> {
    let syntax = Config::new()
        .unicode(locale.is_utf8())
        .utf8(false)
        .case_insensitive(case == Case::Folded)
        .nest_limit(NEST_LIMIT * 4);
    let config = meta::Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(SIZE_LIMIT_BYTES))
        .onepass_size_limit(Some(1 << 20));
    let engine = meta::Builder::new()
        .syntax(syntax)
        .configure(config)
        .build(text);
    let engine = engine.map_err(|error| match error.size_limit() {
        Some(_) => RegexError::TooBig,
        None => RegexError::Engine(error.to_string()),
    })?;
    Ok(Engine::Automaton(Box::new(Automaton {
        engine,
        text: text.to_owned(),
        syntax,
        steps: Default::default(),
        asked: AtomicU32::new(0),
    })))
}

/// Compiles an expression with back-references.
fn library(
    pattern: &[u8],
    tree: &tree::Node,
    dialect: Dialect,
    case: Case,
    locale: Locale,
) -> Result<Engine, RegexError> {
    if tree.parts() > LIBRARY_PARTS_MOST {
        return Err(RegexError::TooBig);
    }
    let characters = match locale.is_utf8() {
        true => Characters::Utf8,
        false => Characters::Bytes,
    };
    let pattern = Pattern::new(pattern, dialect.syntax().library(case), characters);
    Ok(Engine::Library(pattern.map_err(RegexError::Engine)?))
}

#[cfg(test)]
mod tests;
