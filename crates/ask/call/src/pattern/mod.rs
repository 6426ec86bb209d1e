//! The pattern language: patterns are compiled once, and matched component by component.
//!
//! A pattern is one or more alternatives, separated by `|`. An alternative is a list of components,
//! separated by `/`, and matches paths by their last components: `b/*.c` matches `b/x.c` and
//! `a/b/x.c`. An alternative that begins with `/` must match from the searched directory on, which
//! bounds the depth of the search. `/` alone matches every entry of the searched directory, as in
//! the paper, and `/.` ([`ROOT`]) matches that directory itself.
//!
//! Matching a path means going from [`State`] to state, one component at a time. So a search knows
//! at each directory whether anything below it can match, and the rest of a pattern below a
//! directory is itself a pattern ([`Pattern::below`]).
//!
//! Invariants: patterns are untrusted. Their length, their number of components and the length of a
//! component are bounded; the time to match a name is at most proportional to pattern × name. Names
//! and patterns are bytes; no name contains `/`.

mod component;
mod parse;
mod state;

use std::ops::Range;
use std::sync::Arc;

use trawl_model::need::Need;

pub use parse::PatternError;
pub use state::State;

use component::Component;

/// The meaning of special characters in a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// As in the paper: `*` matches any run of bytes, `?` one byte or none, `\` quotes. Brackets
    /// are ordinary characters.
    #[default]
    Paper,
    /// As fnmatch(3) in the C locale: `?` matches exactly one byte, `[…]` one byte of a set.
    Fnmatch,
}

/// Whether a period at the beginning of a name is special.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Period {
    /// It is an ordinary byte.
    #[default]
    Ordinary,
    /// Only a period in the pattern matches it, as with `FNM_PERIOD`.
    Explicit,
}

/// How a pattern is interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Language {
    /// Meaning of special characters.
    pub mode: Mode,
    /// Treatment of a period at the beginning of a name.
    pub period: Period,
}

/// The pattern that matches the searched directory itself.
pub const ROOT: &[u8] = b"/.";
/// Maximum length of a pattern, in bytes.
pub const PATTERN_MAX_BYTES: usize = 64 << 10;
/// Maximum number of components in all alternatives of a pattern together.
pub const STEPS_MAX: usize = 4096;

/// One component of an alternative.
#[derive(Clone, Debug)]
struct Step {
    component: Arc<Component>,
    /// Number of components to the end of the alternative, including this one.
    left: usize,
}

impl Step {
    fn is_last(&self) -> bool {
        self.left == 1
    }
}

/// Where an alternative may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// At the searched directory.
    Root,
    /// At any component.
    Anywhere,
}

/// A compiled pattern. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Pattern {
    program: Arc<Program>,
}

#[derive(Debug)]
struct Program {
    language: Language,
    /// The components of all alternatives, one alternative after the other.
    steps: Vec<Step>,
    anchors: Vec<(Anchor, usize)>,
    matches_root: bool,
    /// Steps that are expected at the searched directory.
    start: State,
    /// Steps that are expected in every directory.
    always: State,
    /// Last steps of alternatives; a name that matches one of them completes a match of the
    /// pattern.
    last: State,
}

impl Program {
    /// Returns each alternative: where it may begin, and the range of its steps.
    fn alternatives(&self) -> impl Iterator<Item = (Anchor, Range<usize>)> {
        let ends = self.anchors.iter().skip(1).map(|(_, begin)| *begin);
        let ends = ends.chain([self.steps.len()]);
        let anchors = self.anchors.iter().zip(ends);
        anchors.map(|((anchor, begin), end)| (*anchor, *begin..end))
    }
}

/// An alternative, before it is compiled with the others.
struct Alternative {
    anchor: Anchor,
    components: Vec<Arc<Component>>,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Fails if the pattern is invalid; the error says what is wrong and where.
    pub fn new(text: &[u8], language: Language) -> Result<Pattern, PatternError> {
        parse::parse(text, language)
    }

    fn assemble(language: Language, alternatives: Vec<Alternative>, matches_root: bool) -> Pattern {
        let mut steps = Vec::new();
        let mut anchors = Vec::new();
        for Alternative { anchor, components } in alternatives {
            anchors.push((anchor, steps.len()));
            let count = components.len();
            let with_rest = components.into_iter().enumerate();
            steps.extend(with_rest.map(|(at, component)| Step {
                component,
                left: count - at,
            }));
        }
        let none = State::none(steps.len());
        let (mut start, mut always, mut last) = (none.clone(), none.clone(), none);
        for (anchor, at) in &anchors {
            start.add(*at);
            if *anchor == Anchor::Anywhere {
                always.add(*at);
            }
        }
        let ends = steps.iter().enumerate().filter(|(_, step)| step.is_last());
        ends.for_each(|(at, _)| last.add(at));
        Pattern {
            program: Arc::new(Program {
                language,
                steps,
                anchors,
                matches_root,
                start,
                always,
                last,
            }),
        }
    }

    /// Returns how the pattern is interpreted.
    pub fn language(&self) -> Language {
        self.program.language
    }

    /// Returns whether the searched directory itself matches.
    pub fn matches_root(&self) -> bool {
        self.program.matches_root
    }

    /// Returns the state for the entries of the searched directory.
    pub fn start(&self) -> &State {
        &self.program.start
    }

    /// Returns whether an entry with this name, in a directory with this state, matches.
    pub fn accepts(&self, state: &State, name: &[u8]) -> bool {
        let program = &self.program;
        let period = program.language.period;
        let mut ends = state.both(&program.last);
        ends.any(|at| program.steps[at].component.matches(name, period))
    }

    /// Returns the state for the entries of the directory `name`, which lies in a directory with
    /// this state. If the returned state [`State::is_none`], nothing below the directory matches.
    pub fn enter(&self, state: &State, name: &[u8]) -> State {
        let program = &self.program;
        let period = program.language.period;
        let mut next = program.always.clone();
        for at in state.steps() {
            let step = &program.steps[at];
            if !step.is_last() && step.component.matches(name, period) {
                next.add(at + 1);
            }
        }
        next
    }

    /// Returns the state for the directory at a path below the searched directory, which is itself
    /// the empty path.
    pub fn state_at(&self, path: &[u8]) -> State {
        components(path).fold(self.start().clone(), |state, name| self.enter(&state, name))
    }

    /// Returns whether a path below the searched directory matches; the empty path is that
    /// directory.
    pub fn matches(&self, path: &[u8]) -> bool {
        let mut state = self.start().clone();
        let mut parts = components(path).peekable();
        while let Some(name) = parts.next() {
            if parts.peek().is_none() {
                return self.accepts(&state, name);
            }
            state = self.enter(&state, name);
        }
        self.matches_root()
    }

    /// Returns the only names that can lead to a match in a directory with this state, sorted;
    /// `None` if the pattern does not determine them.
    pub fn names(&self, state: &State) -> Option<Vec<&[u8]>> {
        let program = &self.program;
        if state.both(&program.always).next().is_some() {
            return None;
        }
        let steps = state.steps().map(|at| &program.steps[at]);
        let names: Option<Vec<&[u8]>> = steps.map(|step| step.component.literal()).collect();
        let mut names = names?;
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// Returns the maximum number of levels below a directory with this state at which matches can
    /// lie; `None` if there is no bound.
    pub fn levels(&self, state: &State) -> Option<usize> {
        let program = &self.program;
        if state.both(&program.always).next().is_some() {
            return None;
        }
        let left = state.steps().map(|at| program.steps[at].left);
        Some(left.max().unwrap_or(0))
    }

    /// Returns the rest of the pattern below a path: it matches exactly those relative paths that
    /// this pattern matches with `path` before them. `None` if there are no such paths.
    pub fn below(&self, path: &[u8]) -> Option<Pattern> {
        let program = &self.program;
        let state = self.state_at(path);
        let mut alternatives = Vec::new();
        for (index, (anchor, begin)) in program.anchors.iter().enumerate() {
            let next = program.anchors.get(index + 1);
            let end = next.map_or(program.steps.len(), |(_, begin)| *begin);
            let expected = (*begin..end).filter(|at| state.has(*at));
            alternatives.extend(expected.map(|at| {
                Alternative {
                    anchor: match at == *begin {
                        true => *anchor,
                        false => Anchor::Root,
                    },
                    components: program.steps[at..end]
                        .iter()
                        .map(|step| Arc::clone(&step.component))
                        .collect(),
                }
            }));
        }
        let matches_root = self.matches(path);
        let is_empty = alternatives.is_empty() && !matches_root;
        let below = || Pattern::assemble(program.language, alternatives, matches_root);
        (!is_empty).then(below)
    }

    /// Returns the pattern without the match of the searched directory itself.
    #[must_use]
    pub fn without_root(&self) -> Pattern {
        let program = &self.program;
        Pattern {
            program: Arc::new(Program {
                language: program.language,
                steps: program.steps.clone(),
                anchors: program.anchors.clone(),
                matches_root: false,
                start: program.start.clone(),
                always: program.always.clone(),
                last: program.last.clone(),
            }),
        }
    }

    /// Returns the pattern's text. Compiled in the same language, the text gives the same pattern.
    pub fn to_text(&self) -> Vec<u8> {
        let program = &self.program;
        let mut parts: Vec<Vec<u8>> = Vec::new();
        if program.matches_root {
            parts.push(ROOT.to_vec());
        }
        for (anchor, range) in program.alternatives() {
            let steps = program.steps[range].iter();
            // Quotes brackets that are ordinary characters, so that none is closed by a `]` in a
            // later alternative.
            let quoted = |text| match self.language().mode {
                Mode::Paper => Vec::from(text),
                Mode::Fnmatch => parse::quote_brackets(text),
            };
            let components = steps.map(|step| quoted(step.component.text()));
            let components: Vec<Vec<u8>> = components.collect();
            let slash: &[u8] = match anchor {
                Anchor::Root => b"/",
                Anchor::Anywhere => b"",
            };
            parts.push([slash, &components.join(&b'/')].concat());
        }
        parts.join(&b'|')
    }

    /// Returns the condition that the names of all matches fulfil.
    pub fn need(&self) -> Need {
        let ends = self.program.steps.iter().filter(|step| step.is_last());
        let needs = ends.map(|step| step.component.need());
        needs.reduce(Need::or).unwrap_or(Need::IMPOSSIBLE)
    }
}

/// Returns the components of a path below a directory.
pub(crate) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
