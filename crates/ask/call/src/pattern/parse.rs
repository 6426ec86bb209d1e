//! Parses a pattern's text into alternatives.

use std::sync::Arc;

use super::component::{BadComponent, Component};
use super::{Alternative, Anchor, Language, Mode, PATTERN_MAX_BYTES, Pattern, STEPS_MAX};

/// Why a pattern is invalid; positions are offsets in bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern or one of its alternatives is empty.
    #[error(
        "a name is missing at byte {at} of the pattern: remove the | there, or quote it with a backslash"
    )]
    Empty {
        /// Position at which the alternative should begin.
        at: usize,
    },
    /// An alternative ends in a slash.
    #[error(
        "the pattern ends in a slash at byte {at}: remove it, or append a * to match the entries of directories"
    )]
    TrailingSlash {
        /// Position of the slash.
        at: usize,
    },
    /// A component is `.` or `..`.
    #[error(
        "the component at byte {at} of the pattern is {name}, which is never the name of an entry: remove it; /. alone matches the searched directory"
    )]
    Dots {
        /// Position at which the component begins.
        at: usize,
        /// The component, `.` or `..`.
        name: &'static str,
    },
    /// The pattern contains a NUL byte.
    #[error("the pattern has a NUL byte at byte {at}, which no name has")]
    Nul {
        /// Position of the NUL byte.
        at: usize,
    },
    /// No byte follows a backslash.
    #[error(
        "nothing follows the backslash at byte {at} of the pattern: write \\\\ for the backslash itself"
    )]
    Backslash {
        /// Position of the backslash.
        at: usize,
    },
    /// A bracket expression has an unknown class or element, so that no name can match.
    #[error(
        "no name matches the component at byte {at} of the pattern: its bracket expression has a class or an element that does not exist"
    )]
    Hopeless {
        /// Position at which the component begins.
        at: usize,
    },
    /// A component is longer than any name.
    #[error("the component at byte {at} of the pattern is longer than any name")]
    ComponentTooLong {
        /// Position at which the component begins.
        at: usize,
    },
    /// The pattern is too long.
    #[error("the pattern has {length} bytes: at most {PATTERN_MAX_BYTES} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The pattern has too many components.
    #[error("the pattern has more than {STEPS_MAX} components: ask in several searches")]
    TooManyComponents,
}

/// The role of a byte in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Part of a component.
    Text,
    /// A separator of components.
    Slash,
    /// A separator of alternatives.
    Bar,
}

pub(super) fn parse(text: &[u8], language: Language) -> Result<Pattern, PatternError> {
    if text.len() > PATTERN_MAX_BYTES {
        let length = text.len();
        return Err(PatternError::TooLong { length });
    }
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return Err(PatternError::Nul { at });
    }
    let marks = marks(text, language.mode)?;
    let mut parsed = Parsed::default();
    let mut begin = 0;
    for at in 0..=text.len() {
        if at == text.len() || marks[at] == Mark::Bar {
            parsed.alternative(text, &marks, begin..at, language.mode)?;
            begin = at + 1;
        }
    }
    let Parsed {
        alternatives,
        matches_root,
        ..
    } = parsed;
    Ok(Pattern::assemble(language, alternatives, matches_root))
}

/// Returns the role of each byte. A quoted slash is a separator, too: names contain no slash.
fn marks(text: &[u8], mode: Mode) -> Result<Vec<Mark>, PatternError> {
    let mut marks = vec![Mark::Text; text.len()];
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => match text.get(at + 1) {
                None => return Err(PatternError::Backslash { at }),
                Some(b'/') => {
                    marks[at..=at + 1].fill(Mark::Slash);
                    at += 1;
                }
                Some(_) => at += 1,
            },
            b'/' => marks[at] = Mark::Slash,
            b'|' => marks[at] = Mark::Bar,
            b'[' if mode == Mode::Fnmatch => at += set_length(&text[at + 1..]),
            _ => {}
        }
        at += 1;
    }
    Ok(marks)
}

/// Returns how many bytes after a `[` belong to the bracket expression; 0 if no `]` closes it in
/// the same component.
fn set_length(behind: &[u8]) -> usize {
    let mut at = usize::from(matches!(behind.first(), Some(b'!' | b'^')));
    let first = at;
    while let Some(byte) = behind.get(at) {
        match byte {
            b'/' => return 0,
            b']' if at > first => return at + 1,
            b'\\' if behind.get(at + 1) == Some(&b'/') => return 0,
            b'\\' => at += 1,
            b'[' => at += element_length(&behind[at + 1..]),
            _ => {}
        }
        at += 1;
    }
    0
}

/// Returns how many bytes after a `[` inside a bracket expression belong to a class or an element.
fn element_length(behind: &[u8]) -> usize {
    let Some(mark @ (b':' | b'.' | b'=')) = behind.first().copied() else {
        return 0;
    };
    let end = behind[1..].windows(2).position(|two| two == [mark, b']']);
    let end = end.filter(|end| !behind[1..1 + end].contains(&b'/'));
    end.map_or(0, |end| end + 3)
}

/// Returns a component's text with a backslash before each `[` that begins no bracket expression.
pub(super) fn quote_brackets(text: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let length = match byte {
            b'\\' => 2,
            b'[' => 1 + set_length(&text[at + 1..]),
            _ => 1,
        };
        if (*byte, length) == (b'[', 1) {
            quoted.push(b'\\');
        }
        let end = text.len().min(at + length);
        quoted.extend_from_slice(&text[at..end]);
        at = end;
    }
    quoted
}

#[derive(Default)]
struct Parsed {
    alternatives: Vec<Alternative>,
    matches_root: bool,
    steps: usize,
}

impl Parsed {
    fn alternative(
        &mut self,
        text: &[u8],
        marks: &[Mark],
        range: std::ops::Range<usize>,
        mode: Mode,
    ) -> Result<(), PatternError> {
        if range.is_empty() {
            return Err(PatternError::Empty { at: range.start });
        }
        let is_slash = |at: usize| marks[at] == Mark::Slash;
        let anchor = match is_slash(range.start) {
            true => Anchor::Root,
            false => Anchor::Anywhere,
        };
        let mut components = Vec::new();
        if range.clone().all(is_slash) {
            // `/` lists the searched directory, as `/*` does.
            components.push(component(b"*", range.start, mode)?);
        } else if is_slash(range.end - 1) {
            let at = range.end - 1;
            return Err(PatternError::TrailingSlash { at });
        } else if is_root(text, marks, range.clone()) {
            self.matches_root = true;
            return Ok(());
        }
        let mut begin = range.start;
        for at in range.start..=range.end {
            if at < range.end && !is_slash(at) {
                continue;
            }
            if begin < at {
                components.push(component(&text[begin..at], begin, mode)?);
            }
            begin = at + 1;
        }
        self.steps += components.len();
        if self.steps > STEPS_MAX {
            return Err(PatternError::TooManyComponents);
        }
        self.alternatives.push(Alternative { anchor, components });
        Ok(())
    }
}

/// Returns whether an alternative is slashes and a period, that is, the searched directory itself.
fn is_root(text: &[u8], marks: &[Mark], range: std::ops::Range<usize>) -> bool {
    let slashes = marks[range.clone()].iter();
    let slashes = slashes.take_while(|mark| **mark == Mark::Slash).count();
    slashes > 0 && matches!(&text[range.start + slashes..range.end], b"." | b"\\.")
}

fn component(text: &[u8], at: usize, mode: Mode) -> Result<Arc<Component>, PatternError> {
    let component = Component::new(text, mode).map_err(|bad| match bad {
        BadComponent::Hopeless => PatternError::Hopeless { at },
        BadComponent::TooLong => PatternError::ComponentTooLong { at },
    })?;
    match component.literal() {
        Some(b".") => Err(PatternError::Dots { at, name: "." }),
        Some(b"..") => Err(PatternError::Dots { at, name: ".." }),
        _ => Ok(Arc::new(component)),
    }
}
