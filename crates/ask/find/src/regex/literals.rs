//! Finds literals that every path has that an expression matches: runs of plain
//! characters.

use trawl_model::need::{At, Letters, Literal, Need, Within};
use trawl_text::glob::Case;

use super::tree::{Anchor, Node, Set, Unit};

/// Maximum number of repetitions that are expanded.
const TIMES_MOST: u32 = 8;

/// The extent of a path that an expression has to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The whole path.
    Whole,
    /// Any part of the path.
    Part,
}

/// Returns a condition that a path must fulfil to match the expression.
pub(super) fn need(node: &Node, case: Case, extent: Extent, within: Within) -> Need {
    let mut finder = Finder {
        case,
        within,
        run: Vec::new(),
        starts: extent == Extent::Whole,
        need: Need::Nothing,
    };
    finder.visit(node);
    finder.flush(extent == Extent::Whole);
    finder.need
}

struct Finder {
    case: Case,
    within: Within,
    /// Plain characters collected so far.
    run: Vec<u8>,
    /// True if the run begins where the path does.
    starts: bool,
    need: Need,
}

impl Finder {
    /// Visits a node that directly follows the one visited before.
    fn visit(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Literal(unit) => self.unit(*unit),
            Node::Set(set) => match single(set) {
                Some(unit) => self.unit(unit),
                None => self.flush(false),
            },
            Node::Concat(parts) => parts.iter().for_each(|part| self.visit(part)),
            Node::Group(inner) => self.visit(inner),
            Node::Alternate(parts) => {
                self.flush(false);
                let parts = parts.iter();
                let needs = parts.map(|part| need(part, self.case, Extent::Part, self.within));
                self.add(needs.fold(Need::IMPOSSIBLE, Need::or));
            }
            Node::Repeat { inner, least, most } => {
                for _ in 0..(*least).min(TIMES_MOST) {
                    self.visit(inner);
                }
                if *most != Some(*least) || *least > TIMES_MOST {
                    self.flush(false);
                }
            }
            Node::Anchor(Anchor::TextStart) => {
                self.flush(false);
                self.starts = true;
            }
            Node::Anchor(Anchor::TextEnd) => self.flush(true),
            Node::AnyButNewline | Node::Any | Node::Anchor(_) | Node::Word(_) | Node::Reference => {
                self.flush(false)
            }
        }
    }

    fn unit(&mut self, unit: Unit) {
        match (unit, self.case) {
            (Unit::Char(c), Case::Folded) if c.is_ascii() => {
                self.run.push(c.to_ascii_lowercase() as u8);
            }
            // If case is ignored, other characters beyond ASCII may match as
            // well.
            (_, Case::Folded) => self.flush(false),
            (Unit::Char(c), Case::Sensitive) => {
                self.run
                    .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            (Unit::Byte(byte), Case::Sensitive) => self.run.push(byte),
        }
    }

    fn flush(&mut self, ends: bool) {
        let bytes = std::mem::take(&mut self.run);
        let at = At::of(self.starts, ends);
        self.starts = false;
        if bytes.is_empty() {
            return;
        }
        self.add(Need::Has(Literal {
            bytes,
            within: self.within,
            at,
            letters: match self.case {
                Case::Sensitive => Letters::Exact,
                Case::Folded => Letters::Folded,
            },
        }));
    }

    fn add(&mut self, need: Need) {
        self.need = std::mem::take(&mut self.need).and(need);
    }
}

/// Returns the only character of a set such as `[.]`.
fn single(set: &Set) -> Option<Unit> {
    match set.ranges.as_slice() {
        [(low, high)] if low == high && !set.negated && set.classes.is_empty() => Some(*low),
        _ => None,
    }
}
