//! Extracts bytes that every match of a regular expression contains.
//!
//! They come from the expression's syntax tree: a list of required runs of
//! bytes; an alternation gives one run for each of its alternatives.
//! Unsupported constructs give no bytes.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::fold;
use crate::pattern::{Anchor, Case, Literal, Needles, Subject};

/// Maximum number of alternatives of an alternation, since each is looked up.
const ALTERNATIVES_MOST: usize = 32;

pub(crate) fn needles(pattern: &str, subject: Subject, case: Case) -> Needles {
    let mut needles = Needles::none(subject, case);
    let mut parser = ParserBuilder::new();
    parser.utf8(false).case_insensitive(case == Case::Folded);
    if let Ok(hir) = parser.build().parse(pattern) {
        // A class that stands for one letter in either case makes all needles
        // case-insensitive.
        let mut found = Found::default();
        found.read(&hir);
        found.end_run(End::Open);
        if found.is_folded {
            needles.case = Case::Folded;
        }
        needles.all = found.all;
    }
    needles
}

/// How a run of bytes ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Unknown text follows.
    Open,
    /// The text ends here.
    Text,
}

/// The runs found so far, from left to right.
#[derive(Default)]
struct Found {
    all: Vec<Vec<Literal>>,
    run: Vec<u8>,
    /// True if the run starts at the start of the text.
    at_start: bool,
    /// True if a byte stands for both cases of a letter.
    is_folded: bool,
}

impl Found {
    fn read(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => self.run.extend_from_slice(&literal.0),
            HirKind::Class(class) => match letter(class) {
                Some(letter) => {
                    self.is_folded = true;
                    self.run.push(letter);
                }
                None => self.end_run(End::Open),
            },
            HirKind::Look(Look::Start) => {
                self.end_run(End::Open);
                self.at_start = true;
            }
            HirKind::Look(Look::End) => self.end_run(End::Text),
            // Other assertions match no bytes.
            HirKind::Look(_) => {}
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.read(part)),
            HirKind::Repetition(repetition) => {
                self.end_run(End::Open);
                if repetition.min > 0 {
                    self.read(&repetition.sub);
                    self.end_run(End::Open);
                }
            }
            HirKind::Alternation(parts) => {
                self.end_run(End::Open);
                self.read_alternatives(parts);
            }
        }
    }

    fn end_run(&mut self, end: End) {
        let bytes = std::mem::take(&mut self.run);
        let at_start = std::mem::take(&mut self.at_start);
        let anchor = match (at_start, end) {
            (true, End::Text) => Anchor::Whole,
            (true, End::Open) => Anchor::Start,
            (false, End::Text) => Anchor::End,
            (false, End::Open) => Anchor::Anywhere,
        };
        if !bytes.is_empty() {
            self.all.push(vec![Literal { bytes, anchor }]);
        }
    }

    /// Adds one literal for each alternative, the longest one, if every
    /// alternative has one.
    fn read_alternatives(&mut self, parts: &[Hir]) {
        let mut any = Vec::new();
        for part in parts.iter().take(ALTERNATIVES_MOST + 1) {
            let mut found = Found::default();
            found.read(part);
            found.end_run(End::Open);
            self.is_folded |= found.is_folded;
            let shortest = |any: &Vec<Literal>| any.iter().map(|l| l.bytes.len()).min();
            match found.all.into_iter().max_by_key(shortest) {
                Some(best) => any.extend(best),
                None => return,
            }
        }
        if any.len() <= ALTERNATIVES_MOST {
            self.all.push(any);
        }
    }
}

/// Returns the letter that all members of a class are equal to when case is
/// ignored.
fn letter(class: &Class) -> Option<u8> {
    let mut letters: Vec<u8> = Vec::new();
    match class {
        Class::Unicode(class) => {
            for range in class.ranges() {
                if u32::from(range.end()) - u32::from(range.start()) > 1 {
                    return None;
                }
                letters.push(fold::ascii_of(range.start())?);
                letters.push(fold::ascii_of(range.end())?);
            }
        }
        Class::Bytes(class) => {
            for range in class.ranges() {
                if range.end() - range.start() > 1 || !range.end().is_ascii() {
                    return None;
                }
                letters.push(range.start().to_ascii_lowercase());
                letters.push(range.end().to_ascii_lowercase());
            }
        }
    }
    letters.dedup();
    match letters[..] {
        [only] => Some(only),
        _ => None,
    }
}
