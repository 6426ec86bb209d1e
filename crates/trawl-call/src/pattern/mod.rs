//! The pattern language, compiled once, and run component by component.
//!
//! A pattern is one or more alternatives, separated by `|`. An alternative is a list of
//! components, separated by `/`, and matches paths by their last components: `b/*.c` matches
//! `b/x.c` and `a/b/x.c`. One that begins with `/` must match from the searched directory on,
//! and so bounds how deep a search goes. `/` alone is all that the searched directory holds, as in
//! the paper, and `/.` ([`ROOT`]) is that directory itself.
//!
//! Running a pattern over a path means going from [`State`] to state, one component at a time; so
//! a search knows at each directory whether anything below it can match, and what is left of the
//! pattern there is itself a pattern ([`Pattern::below`]).
//!
//! Invariants: patterns are untrusted. Their length, their number of components and the length of
//! a component are bounded; matching a name takes time in proportion to pattern × name at most.
//! Names and patterns are bytes; `/` is in no name.

mod component;
mod parse;
mod state;

use std::ops::Range;
use std::sync::Arc;

use trawl_model::need::Need;

pub use parse::PatternError;
pub use state::State;

use component::Component;

/// What the characters of a component mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// As in the paper: `*` is any run of bytes, `?` one byte or none, `\` quotes. Brackets are
    /// only themselves.
    #[default]
    Paper,
    /// As fnmatch(3) in the C locale: `?` is just one byte, `[…]` one of a set.
    Fnmatch,
}

/// Whether a period at the beginning of a name is special.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Period {
    /// It is a byte as any other.
    #[default]
    Ordinary,
    /// Only a period in the pattern matches it, as with `FNM_PERIOD`.
    Explicit,
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Language {
    /// What its characters mean.
    pub mode: Mode,
    /// What a period at the beginning of a name means.
    pub period: Period,
}

/// The pattern of the searched directory itself.
pub const ROOT: &[u8] = b"/.";
/// The longest pattern.
pub const PATTERN_MAX_BYTES: usize = 64 << 10;
/// The most components that a pattern's alternatives have together.
pub const STEPS_MAX: usize = 4096;

/// One component of an alternative.
#[derive(Clone, Debug)]
struct Step {
    component: Arc<Component>,
    /// How many components there are to the end of the alternative, this one included.
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

/// A compiled pattern. Cheap to copy.
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
    /// Steps that are expected everywhere.
    always: State,
    /// Steps whose match is a match of the pattern.
    last: State,
}

impl Program {
    /// Where each alternative may begin, and its steps.
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
    /// What is wrong with it, and where.
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

    /// How it was read.
    pub fn language(&self) -> Language {
        self.program.language
    }

    /// Whether the searched directory itself matches.
    pub fn matches_root(&self) -> bool {
        self.program.matches_root
    }

    /// The state in which the entries of the searched directory are.
    pub fn start(&self) -> &State {
        &self.program.start
    }

    /// Whether an entry with this name, in a directory with this state, matches.
    pub fn accepts(&self, state: &State, name: &[u8]) -> bool {
        let program = &self.program;
        let period = program.language.period;
        let mut ends = state.both(&program.last);
        ends.any(|at| program.steps[at].component.matches(name, period))
    }

    /// The state in which the entries of this directory are, itself in a directory with this
    /// state. Nothing below it matches if that [`State::is_none`].
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

    /// The state at a path below the searched directory, which is itself the empty path.
    pub fn state_at(&self, path: &[u8]) -> State {
        components(path).fold(self.start().clone(), |state, name| self.enter(&state, name))
    }

    /// Whether a path below the searched directory matches; the empty path is that directory.
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

    /// The names that alone can lead to a match in a directory with this state, sorted; `None`
    /// if they cannot be told.
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

    /// Matches lie at most so many levels below a directory with this state; `None` if there is
    /// no bound.
    pub fn levels(&self, state: &State) -> Option<usize> {
        let program = &self.program;
        if state.both(&program.always).next().is_some() {
            return None;
        }
        let left = state.steps().map(|at| program.steps[at].left);
        Some(left.max().unwrap_or(0))
    }

    /// What is left of the pattern at a path below the searched directory: it matches just the
    /// paths below there that, with `path` before them, this one matches. `None` if there are
    /// none.
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

    /// The same without the searched directory itself.
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

    /// The pattern as text, which read in the same language is the same pattern.
    pub fn to_text(&self) -> Vec<u8> {
        let program = &self.program;
        let mut parts: Vec<Vec<u8>> = Vec::new();
        if program.matches_root {
            parts.push(ROOT.to_vec());
        }
        for (anchor, range) in program.alternatives() {
            let steps = program.steps[range].iter();
            // A bracket that is only itself must not find its end in what comes behind it.
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

    /// What the names of matches must hold.
    pub fn need(&self) -> Need {
        let ends = self.program.steps.iter().filter(|step| step.is_last());
        let needs = ends.map(|step| step.component.need());
        needs.reduce(Need::or).unwrap_or(Need::IMPOSSIBLE)
    }
}

/// The components of a path below a directory.
pub(crate) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
