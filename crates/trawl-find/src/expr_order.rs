//! In which order the parts of a list are put to a row: cheap tests before
//! dear ones, as GNU find has it, since the order shows: in what is complained
//! of where entries cannot be looked at, and in when an entry is looked at
//! that a command changes.
//!
//! GNU find goes over a list twice. Tests of names come first, then regular
//! expressions, inode numbers and types; then, from the end to the beginning
//! and once, a part is swapped with the one before it if that costs more.
//! Nothing moves across a part that does something. Where two parts cost the
//! same, GNU find goes by how often each is likely to be true; here they stay.

use crate::expr::{Expr, Node};
use crate::leaf::{Effect, Facts};
use crate::predicate::Cost;

/// What a test needs, the least first, as GNU find ranks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    Number,
    Type,
    Attributes,
    LinkTarget,
    Access,
}

impl Node {
    fn needs(&self) -> Needs {
        match (self.facts(), self.predicate.cost) {
            _ if self.predicate.name == "-fstype" => Needs::Attributes,
            // The kernel is asked by name.
            (Facts::Name, Cost::LookUp) => Needs::Access,
            (Facts::Name, _) => Needs::Nothing,
            (Facts::Number, _) => Needs::Number,
            (Facts::Type, _) => Needs::Type,
            (Facts::Attributes, Cost::Name) => Needs::LinkTarget,
            (Facts::Attributes, _) => Needs::Attributes,
        }
    }
}

/// Where a part goes among those between two that do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Names,
    Regexes,
    Numbers,
    Types,
    Rest,
}

fn place(part: &Expr) -> Place {
    let Expr::Leaf(node) = part else {
        return Place::Rest;
    };
    match (node.needs(), node.predicate.cost) {
        (Needs::Nothing, Cost::Regex) => Place::Regexes,
        (Needs::Nothing, _) => Place::Names,
        (Needs::Number, _) => Place::Numbers,
        (Needs::Type, _) => Place::Types,
        _ => Place::Rest,
    }
}

/// The most that a part needs; `None` if it does something.
fn needs(part: &Expr) -> Option<Needs> {
    let mut most = Some(Needs::Nothing);
    part.leaves(&mut |node| {
        most = match node.effect {
            Effect::None => most.map(|needs| needs.max(node.needs())),
            _ => None,
        };
    });
    most
}

/// The parts of a list in the order in which they are evaluated.
pub(crate) fn arranged(mut parts: Vec<Expr>) -> Vec<Expr> {
    let is_pure = |part: &Expr| needs(part).is_some();
    for run in parts.chunk_by_mut(|a, b| is_pure(a) && is_pure(b)) {
        run.sort_by_key(place);
    }
    for at in (1..parts.len()).rev() {
        if let (Some(before), Some(here)) = (needs(&parts[at - 1]), needs(&parts[at]))
            && before > here
        {
            parts.swap(at - 1, at);
        }
    }
    parts
}
