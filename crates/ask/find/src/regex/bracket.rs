//! Parses bracket expressions: `[a-z]`, `[^[:space:]]`, `[]]`.

use trawl_text::glob::Case;

use super::RegexError;
use super::syntax::{CLASSES, ESCAPE_IN_BRACKETS, NEGATION_NO_NEWLINE, NO_REVERSED_RANGES, Syntax};
use super::tree::{Set, Unit};

const CLASS_NAMES: &[&str] = &[
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "xdigit",
];

enum Element {
    Unit(Unit),
    Class(&'static str),
}

/// Parses the units after a `[`. Returns the set and the number of units it
/// took.
pub(super) fn parse(
    units: &[Unit],
    syntax: Syntax,
    case: Case,
) -> Result<(Set, usize), RegexError> {
    let mut set = Set::default();
    let mut at = 0;
    if is(units, at, b'^') {
        set.negated = true;
        set.without_newline = syntax.has(NEGATION_NO_NEWLINE);
        at += 1;
    }
    if units.get(at).is_none() {
        return Err(RegexError::LoneBracket);
    }
    let first = at;
    loop {
        if is(units, at, b']') && at > first {
            return Ok((set, at + 1));
        }
        let (element, next) = element(units, at, syntax)?;
        at = next;
        // A minus makes a range unless it is the last unit of the set.
        let is_range = is(units, at, b'-') && !is(units, at + 1, b']');
        if !is_range {
            match element {
                Element::Unit(unit) => set.ranges.push((unit, unit)),
                Element::Class(name) => set.classes.push(name),
            }
            continue;
        }
        let (end, next) = self::element(units, at + 1, syntax)?;
        at = next;
        match (element, end) {
            (Element::Unit(low), Element::Unit(high)) if ordered(low, high, case) => {
                set.ranges.push((fold(low, case), fold(high, case)));
            }
            (Element::Unit(_), Element::Unit(_)) if !syntax.has(NO_REVERSED_RANGES) => {}
            _ => return Err(RegexError::Range),
        }
    }
}

fn ordered(low: Unit, high: Unit, case: Case) -> bool {
    fold(low, case) <= fold(high, case)
}

/// Ends of ranges are compared as capitals if case is ignored.
fn fold(unit: Unit, case: Case) -> Unit {
    match (unit, case) {
        (Unit::Char(c), Case::Folded) => {
            let mut upper = c.to_uppercase();
            match (upper.next(), upper.next()) {
                (Some(capital), None) => Unit::Char(capital),
                _ => unit,
            }
        }
        _ => unit,
    }
}

fn is(units: &[Unit], at: usize, byte: u8) -> bool {
    units.get(at).is_some_and(|unit| unit.ascii() == byte)
}

fn element(units: &[Unit], at: usize, syntax: Syntax) -> Result<(Element, usize), RegexError> {
    let unit = *units.get(at).ok_or(RegexError::Bracket)?;
    let next = units.get(at + 1).map_or(0, |unit| unit.ascii());
    match (unit.ascii(), next) {
        (b'\\', _) if syntax.has(ESCAPE_IN_BRACKETS) => {
            let quoted = *units.get(at + 1).ok_or(RegexError::Backslash)?;
            Ok((Element::Unit(quoted), at + 2))
        }
        (b'[', b':') if syntax.has(CLASSES) => {
            let (name, end) = name(units, at + 2, b':')?;
            let name: String = name.iter().map(|unit| char::from(unit.ascii())).collect();
            let known = CLASS_NAMES.iter().find(|known| **known == name);
            let known = known.ok_or(RegexError::Class)?;
            Ok((Element::Class(known), end))
        }
        (b'[', mark @ (b'.' | b'=')) => {
            let (name, end) = name(units, at + 2, mark)?;
            match name {
                [single] => Ok((Element::Unit(*single), end)),
                _ => Err(RegexError::Collation),
            }
        }
        _ => Ok((Element::Unit(unit), at + 1)),
    }
}

/// Returns the name up to `mark` and `]`, and the position after these.
fn name(units: &[Unit], start: usize, mark: u8) -> Result<(&[Unit], usize), RegexError> {
    let end = (start..units.len()).find(|at| is(units, *at, mark) && is(units, at + 1, b']'));
    let end = end.ok_or(RegexError::Bracket)?;
    Ok((&units[start..end], end + 2))
}
