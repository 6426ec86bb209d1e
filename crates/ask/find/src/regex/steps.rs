//! An expression as one small table of bytes. The state after the path of a
//! directory is valid for all names in it, and a name costs one look-up per
//! byte.
//!
//! States are those of the engine's automaton, numbered as they are found. An
//! expression has no table if a byte cannot number its states, or if the
//! automaton cannot handle it.

use std::collections::HashMap;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax::Config;
use regex_automata::{Anchored, Input, MatchKind};
use trawl_query::{Beginning, Trail};

/// A match was found: every continuation matches.
const MATCHED: u8 = 0;
/// No continuation matches.
const DEAD: u8 = 1;
/// The automaton gave up.
const UNKNOWN: u8 = 2;
/// Number of states that never change: the three above.
const FIXED: usize = 3;
/// Number of states.
const STATES: usize = 256;
/// Memory, in bytes, of the automaton that the table is made from.
const CACHE_BYTES: usize = 4 << 20;

/// Whether a text matches that ends in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Match,
    None,
    Unknown,
}

/// A table of transitions.
pub(super) struct Steps {
    next: Box<[[u8; 256]; STATES]>,
    ends: [End; STATES],
    start: u8,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").finish_non_exhaustive()
    }
}

impl Steps {
    /// Creates the table of an expression that is searched from the text's
    /// start, or anywhere. Returns `None` if the expression has no table.
    pub(super) fn new(text: &str, syntax: Config, anchored: Anchored) -> Option<Steps> {
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE_BYTES)
            .minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().syntax(syntax).configure(config).build(text);
        let dfa = dfa.ok()?;
        let mut cache = dfa.create_cache();
        let start = Input::new(b"").anchored(anchored);
        let start = dfa.start_state_forward(&mut cache, &start).ok()?;
        let mut numbers = Numbers::default();
        let first = numbers.of(start)?;
        let mut steps = Steps {
            next: vec![[UNKNOWN; 256]; STATES]
                .into_boxed_slice()
                .try_into()
                .ok()?,
            ends: [End::None; STATES],
            start: first,
        };
        for state in [MATCHED, DEAD, UNKNOWN] {
            steps.next[usize::from(state)] = [state; 256];
        }
        steps.ends[usize::from(MATCHED)] = End::Match;
        steps.ends[usize::from(UNKNOWN)] = End::Unknown;
        let mut done = 0;
        while let Some(state) = numbers.states.get(done).copied() {
            steps.fill(&dfa, &mut cache, state, &mut numbers)?;
            done += 1;
        }
        Some(steps)
    }

    /// Fills in the transitions of a state.
    fn fill(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
        state: LazyStateID,
        numbers: &mut Numbers,
    ) -> Option<()> {
        let row = usize::from(numbers.of(state)?);
        let classes = dfa.byte_classes();
        for class in classes.iter() {
            let mut elements = classes.elements(class).filter_map(|unit| unit.as_u8());
            let Some(first) = elements.next() else {
                continue;
            };
            let next = numbers.of(dfa.next_state(cache, state, first).ok()?)?;
            for byte in std::iter::once(first).chain(elements) {
                self.next[row][usize::from(byte)] = next;
            }
        }
        let end = dfa.next_eoi_state(cache, state).ok()?;
        self.ends[row] = match (end.is_match(), end.is_quit()) {
            (true, _) => End::Match,
            (_, true) => End::Unknown,
            _ => End::None,
        };
        Some(())
    }

    /// Returns what is known after the path of a directory and a slash.
    pub(super) fn begin(&self, directory: &[u8], trail: &mut Trail) -> Beginning {
        match trail.enter(self.start, directory, |place, text| self.go(place, text)) {
            MATCHED => Beginning::Decided(true),
            DEAD => Beginning::Decided(false),
            UNKNOWN => Beginning::Unknown,
            place => Beginning::Open(place),
        }
    }

    /// Returns the state after some more text.
    #[inline]
    pub(super) fn go(&self, place: u8, text: &[u8]) -> u8 {
        let next = |state: u8, byte: &u8| self.next[usize::from(state)][usize::from(*byte)];
        text.iter().fold(place, next)
    }

    /// Returns whether a text that ends in this state matches; `None` if that
    /// is not known.
    #[inline]
    pub(super) fn is_match(&self, place: u8) -> Option<bool> {
        match self.ends[usize::from(place)] {
            End::Match => Some(true),
            End::None => Some(false),
            End::Unknown => None,
        }
    }
}

/// Numbers of states, in the order in which they were found.
#[derive(Default)]
struct Numbers {
    states: Vec<LazyStateID>,
    known: HashMap<LazyStateID, u8>,
}

impl Numbers {
    /// Returns a state's number; `None` if there are too many states.
    fn of(&mut self, state: LazyStateID) -> Option<u8> {
        if state.is_match() {
            return Some(MATCHED);
        }
        if state.is_dead() {
            return Some(DEAD);
        }
        if state.is_quit() {
            return Some(UNKNOWN);
        }
        // The same state may also be marked as a start state.
        if let Some(number) = self.known.get(&state) {
            return Some(*number);
        }
        let number = u8::try_from(FIXED + self.states.len()).ok()?;
        self.states.push(state);
        self.known.insert(state, number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::meta;

    #[test]
    fn what_is_told_in_steps_is_what_the_engine_says() {
        let texts = [
            "",
            "a",
            "/a/b",
            "ab12\nc",
            "x/\u{e9}1/2024",
            "aaa\0b",
            "12/34/56x",
        ];
        for expression in [
            "",
            "a",
            "\\A(?:.*/b)\\z",
            "[0-9]{2,4}$",
            "^/",
            "b|c$",
            "(?s)a.*b",
            "\u{e9}[0-9]",
            "\\d\\d",
            "(?:a|b)*c",
            "\\ba",
        ] {
            for anchored in [Anchored::Yes, Anchored::No] {
                let syntax = Config::new().utf8(false);
                let engine = meta::Builder::new()
                    .syntax(syntax)
                    .build(expression)
                    .unwrap();
                let Some(steps) = Steps::new(expression, syntax, anchored) else {
                    assert_eq!(expression, "\\ba", "has a table");
                    continue;
                };
                for text in texts {
                    let wanted = engine.is_match(Input::new(text).anchored(anchored));
                    for cut in 0..=text.len() {
                        let (first, rest) = text.as_bytes().split_at(cut);
                        let told = match steps.begin(first, &mut Trail::default()) {
                            Beginning::Open(place) => steps.is_match(steps.go(place, rest)),
                            Beginning::Decided(told) => Some(told),
                            Beginning::Unknown => None,
                        };
                        assert_eq!(told, Some(wanted), "{expression} {text:?} {cut}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_has_too_many_states_has_no_table() {
        let many = Steps::new("(?-u:a.{12}b)", Config::new().utf8(false), Anchored::No);
        assert!(many.is_none());
    }
}
