//! What every match of some patterns contains, after Russ Cox, "Regular Expression Matching with a
//! Trigram Index" (2012): for each part of an expression the strings that it matches exactly, if
//! they are few, or what its matches begin and end with, and the keys that they contain.
//!
//! A plan may require too little, never too much. Strings are classes of bytes, so that most
//! variants of upper and lower case are one string.

use std::collections::BTreeSet;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::keys::{Content, key};

/// Maximum number of strings of a set.
const STRINGS_MAX: usize = 64;
/// Maximum number of characters of a class that is spelt out.
const CHARS_MAX: usize = 64;
/// Maximum number of repetitions that are spelt out.
const REPEATS_MAX: u32 = 8;
/// Length from which the beginning and the end of a match are cut: keys have three classes.
const EDGE: usize = 2;

/// How letters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseRule {
    /// Exactly.
    Sensitive,
    /// Upper and lower case are, or may be, equal.
    Insensitive,
}

/// How patterns are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxRule {
    /// As regular expressions of the crate `regex`.
    Regex,
    /// As fixed strings.
    Fixed,
}

/// The keys that a document must have so that any of some patterns can match in one of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    text: Need,
    binary: Need,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// Every document can match.
    Anything,
    /// No document can match.
    Nothing,
    /// All of these keys are needed.
    Keys(Vec<u32>),
    And(Vec<Need>),
    Or(Vec<Need>),
}

impl Plan {
    /// Returns the plan for patterns of which any may match. A pattern that cannot be read, or none
    /// at all, needs nothing: the search itself reports it.
    pub fn of(patterns: &[String], syntax: SyntaxRule, case: CaseRule) -> Plan {
        let parsed: Option<Vec<Hir>> = (patterns.iter())
            .map(|pattern| {
                let escaped = match syntax {
                    SyntaxRule::Regex => pattern.clone(),
                    SyntaxRule::Fixed => regex_syntax::escape(pattern),
                };
                let mut parser = ParserBuilder::new();
                parser.utf8(false).multi_line(true);
                parser.case_insensitive(case == CaseRule::Insensitive);
                parser.build().parse(&escaped).ok()
            })
            .collect();
        let parsed = parsed.unwrap_or_default();
        let need = |content: Content| match parsed.is_empty() {
            true => Need::Anything,
            false => any_of(
                (parsed.iter())
                    .map(|hir| Reader(content).need(hir))
                    .collect(),
            ),
        };
        Plan {
            text: need(Content::Text),
            binary: need(Content::Binary),
        }
    }

    /// Returns whether every document can match.
    pub fn is_anything(&self) -> bool {
        self.text == Need::Anything
    }

    pub(crate) fn need(&self, content: Content) -> &Need {
        match content {
            Content::Text => &self.text,
            Content::Binary => &self.binary,
        }
    }
}

/// A string of classes.
type Classes = Vec<u8>;
type Strings = BTreeSet<Classes>;

fn anywhere() -> Strings {
    Strings::from([Classes::new()])
}

/// Facts about all matches of an expression.
enum Info {
    /// They are exactly these strings.
    Exact(Strings),
    /// Each begins with one of `first`, ends with one of `last`, and needs `need`.
    Edges {
        first: Strings,
        last: Strings,
        need: Need,
    },
}

/// Reads expressions for a content.
#[derive(Clone, Copy)]
struct Reader(Content);

impl Reader {
    fn need(self, hir: &Hir) -> Need {
        self.info(hir).into_need()
    }

    fn info(self, hir: &Hir) -> Info {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Info::Exact(anywhere()),
            HirKind::Literal(literal) => Info::Exact(Strings::from([self.classes(&literal.0)])),
            HirKind::Class(class) => self.spelt(class).map_or_else(Info::unknown, Info::Exact),
            HirKind::Capture(capture) => self.info(&capture.sub),
            HirKind::Repetition(repeated) => self.repeated(repeated),
            HirKind::Concat(parts) => {
                let begin = Info::Exact(anywhere());
                (parts.iter()).fold(begin, |info, part| info.then(self.info(part)))
            }
            HirKind::Alternation(parts) => {
                let begin = Info::Exact(Strings::new());
                (parts.iter()).fold(begin, |info, part| info.or(self.info(part)))
            }
        }
    }

    fn repeated(self, repeated: &Repetition) -> Info {
        if repeated.min == 0 {
            return match repeated.max {
                Some(1) => Info::Exact(anywhere()).or(self.info(&repeated.sub)),
                Some(0) => Info::Exact(anywhere()),
                _ => Info::unknown(),
            };
        }
        let spelt = repeated.min.min(REPEATS_MAX);
        let mut all = self.info(&repeated.sub);
        for _ in 1..spelt {
            all = all.then(self.info(&repeated.sub));
        }
        if repeated.max == Some(spelt) {
            return all;
        }
        // Whatever follows ends as one of them does.
        let (_, end, _) = self.info(&repeated.sub).edges();
        let (first, _, need) = all.then(Info::unknown()).edges();
        Info::Edges {
            first,
            last: end,
            need,
        }
    }

    fn classes(self, bytes: &[u8]) -> Classes {
        bytes.iter().map(|byte| self.0.class(*byte)).collect()
    }

    /// Returns the strings of a class; `None` if it has too many characters.
    fn spelt(self, class: &Class) -> Option<Strings> {
        let mut strings = Strings::new();
        match class {
            Class::Bytes(class) => {
                for range in class.iter() {
                    let bytes = range.start()..=range.end();
                    strings.extend(bytes.map(|byte| self.classes(&[byte])));
                }
            }
            Class::Unicode(class) => {
                let count = class.iter().map(|range| range.len());
                if count.sum::<usize>() > CHARS_MAX {
                    return None;
                }
                for range in class.iter() {
                    for one in range.start()..=range.end() {
                        let mut buffer = [0; 4];
                        strings.insert(self.classes(one.encode_utf8(&mut buffer).as_bytes()));
                    }
                }
            }
        }
        (strings.len() <= STRINGS_MAX).then_some(strings)
    }
}

impl Info {
    fn unknown() -> Info {
        Info::Edges {
            first: anywhere(),
            last: anywhere(),
            need: Need::Anything,
        }
    }

    /// Returns beginnings, ends and needs. Keys within beginnings and ends are in the needs.
    fn edges(self) -> (Strings, Strings, Need) {
        match self {
            Info::Edges { first, last, need } => (first, last, need),
            Info::Exact(strings) => {
                let need = any_of(strings.iter().map(|string| keys_of(string)).collect());
                let first = strings.iter().map(|string| begin(string)).collect();
                let last = strings.iter().map(|string| end(string)).collect();
                (first, last, need)
            }
        }
    }

    fn into_need(self) -> Need {
        self.edges().2
    }

    /// Returns what is known of a match of this one followed by a match of the other.
    fn then(self, other: Info) -> Info {
        match (self, other) {
            (Info::Exact(a), Info::Exact(b)) if a.len() * b.len() <= STRINGS_MAX => {
                Info::Exact(cross(&a, &b))
            }
            (Info::Exact(a), Info::Edges { first, last, need })
                if a.len() * first.len() <= STRINGS_MAX =>
            {
                let joined = cross(&a, &first);
                let inside = any_of(joined.iter().map(|string| keys_of(string)).collect());
                Info::Edges {
                    first: joined.iter().map(|string| begin(string)).collect(),
                    last,
                    need: all_of(vec![inside, need]),
                }
            }
            (Info::Edges { first, last, need }, Info::Exact(b))
                if last.len() * b.len() <= STRINGS_MAX =>
            {
                let joined = cross(&last, &b);
                let inside = any_of(joined.iter().map(|string| keys_of(string)).collect());
                Info::Edges {
                    first,
                    last: joined.iter().map(|string| end(string)).collect(),
                    need: all_of(vec![need, inside]),
                }
            }
            (a, b) => {
                let (first, middle, before) = a.edges();
                let (next, last, behind) = b.edges();
                let across = match middle.len() * next.len() <= STRINGS_MAX {
                    true => any_of(cross(&middle, &next).iter().map(|s| keys_of(s)).collect()),
                    false => Need::Anything,
                };
                Info::Edges {
                    first: few(first),
                    last: few(last),
                    need: all_of(vec![before, across, behind]),
                }
            }
        }
    }

    /// Returns what is known of a match of either.
    fn or(self, other: Info) -> Info {
        match (self, other) {
            (Info::Exact(mut a), Info::Exact(b)) if a.len() + b.len() <= STRINGS_MAX => {
                a.extend(b);
                Info::Exact(a)
            }
            // An alternation that is being put together matches nothing yet.
            (Info::Exact(a), b) if a.is_empty() => b,
            (a, b) => {
                let (mut first, mut last, need) = a.edges();
                let (other_first, other_last, other_need) = b.edges();
                first.extend(other_first);
                last.extend(other_last);
                Info::Edges {
                    first: few(first),
                    last: few(last),
                    need: any_of(vec![need, other_need]),
                }
            }
        }
    }
}

/// Gives up a set that is too large.
fn few(strings: Strings) -> Strings {
    match strings.len() <= STRINGS_MAX {
        true => strings,
        false => anywhere(),
    }
}

fn begin(string: &[u8]) -> Classes {
    string[..string.len().min(EDGE)].to_vec()
}

fn end(string: &[u8]) -> Classes {
    string[string.len().saturating_sub(EDGE)..].to_vec()
}

fn cross(a: &Strings, b: &Strings) -> Strings {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| [&a[..], b].concat()).collect()
}

fn keys_of(string: &[u8]) -> Need {
    let windows = string.windows(3);
    let keys: BTreeSet<u32> = windows
        .filter_map(|three| key([three[0], three[1], three[2]]))
        .collect();
    match keys.is_empty() {
        true => Need::Anything,
        false => Need::Keys(keys.into_iter().collect()),
    }
}

fn any_of(mut needs: Vec<Need>) -> Need {
    needs.retain(|need| *need != Need::Nothing);
    needs.sort_unstable();
    needs.dedup();
    match needs.len() {
        0 => Need::Nothing,
        _ if needs.contains(&Need::Anything) => Need::Anything,
        1 => needs.pop().unwrap_or(Need::Anything),
        _ => Need::Or(needs),
    }
}

fn all_of(needs: Vec<Need>) -> Need {
    let mut keys = BTreeSet::new();
    let mut others = Vec::new();
    for need in needs {
        match need {
            Need::Anything => {}
            Need::Nothing => return Need::Nothing,
            Need::Keys(some) => keys.extend(some),
            Need::And(parts) => {
                for part in parts {
                    match part {
                        Need::Keys(some) => keys.extend(some),
                        part => others.push(part),
                    }
                }
            }
            need => others.push(need),
        }
    }
    others.sort_unstable();
    others.dedup();
    if !keys.is_empty() {
        others.insert(0, Need::Keys(keys.into_iter().collect()));
    }
    match others.len() {
        0 => Need::Anything,
        1 => others.pop().unwrap_or(Need::Anything),
        _ => Need::And(others),
    }
}
