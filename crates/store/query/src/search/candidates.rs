//! Translates the needs of a filter into lookups in a sidecar.

use super::{subject, within};
use std::ops::{ControlFlow, Range};
use trawl_model::need::{At, Letters, Literal, Need};
use trawl_model::operation::Operation;
use trawl_names::{Anchor, Case, Names, NamesError, Needles, Pattern, ReadAt, Subject};

/// Minimum bytes of a useful literal; most names contain shorter ones.
const TELLING_BYTES: usize = 2;

/// Returns the rows among `rows` that can meet the need.
pub(crate) fn candidates<R: ReadAt>(
    names: &Names<R>,
    need: &Need,
    rows: &Range<u64>,
) -> Result<Vec<Range<u64>>, NamesError> {
    let mut left = vec![rows.clone()];
    left.retain(|range| !range.is_empty());
    for needles in needles(need) {
        let _span = Operation::LookUpName.span();
        let selected = names.select(&needles, rows.clone())?;
        left = left
            .iter()
            .flat_map(|range| within(&selected, range))
            .collect();
        if left.is_empty() {
            break;
        }
    }
    Ok(left)
}

/// Like [`candidates`], for several ranges.
pub(super) fn among<R: ReadAt>(
    names: &Names<R>,
    need: &Need,
    rows: &[Range<u64>],
) -> Result<Vec<Range<u64>>, NamesError> {
    let mut found = Vec::new();
    for rows in rows {
        found.extend(candidates(names, need, rows)?);
    }
    Ok(found)
}

/// Returns the needles to look up: a list for each subject and case.
fn needles(need: &Need) -> Vec<Needles> {
    let parts = match need {
        Need::Nothing => &[],
        Need::All(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let mut lists: Vec<Needles> = Vec::new();
    for alternatives in parts.iter().filter_map(alternatives) {
        let Some(first) = alternatives.first() else {
            return vec![met_by_nothing()];
        };
        let (within, case) = (first.within, case(first));
        let is_like = |one: &&Literal| one.within == within && self::case(one) == case;
        if !alternatives.iter().all(is_like) {
            continue;
        }
        let subject = subject(within);
        let list = alternatives.into_iter().map(literal).collect();
        let is_same = |known: &&mut Needles| known.subject == subject && known.case == case;
        match lists.iter_mut().find(is_same) {
            Some(known) => known.all.push(list),
            None => lists.push(Needles {
                subject,
                case,
                all: vec![list],
            }),
        }
    }
    lists
}

/// Returns the rows among `rows` that contain a needed literal, by examining
/// each name. `None` if no literal is selective enough to be worth the search.
pub(crate) fn holders<R: ReadAt>(
    names: &Names<R>,
    need: &Need,
    rows: &[Range<u64>],
) -> Option<Result<Vec<Range<u64>>, NamesError>> {
    let known = longest(need)?;
    let _span = Operation::LookUpName.span();
    let (subject, case) = (subject(known.within), case(known));
    let test = |text: &[u8]| may_hold(known, text);
    let pattern = match case {
        Case::Sensitive => Pattern::literal(literal(known), subject, case),
        // Non-ASCII letters may match ASCII letters; which rules apply is
        // unknown here.
        Case::Folded if known.bytes.is_ascii() => {
            let all = vec![vec![literal(known)]];
            Pattern::matcher(Needles { subject, case, all }, &test)
        }
        Case::Folded => return None,
    };
    let mut found = Vec::new();
    let done = names.ranges_among(&pattern, rows, &mut |range| {
        found.push(range);
        ControlFlow::Continue(())
    });
    Some(done.map(|_| found))
}

/// True if a text may contain an ASCII literal in either case.
fn may_hold(literal: &Literal, text: &[u8]) -> bool {
    let (text, bytes) = match text.is_ascii() {
        true => (
            text.to_ascii_lowercase(),
            literal.bytes.to_ascii_lowercase(),
        ),
        false => return true,
    };
    match literal.at {
        At::Anywhere => text
            .windows(bytes.len().max(1))
            .any(|window| window == bytes),
        At::Start => text.starts_with(&bytes),
        At::End => text.ends_with(&bytes),
        At::Whole => text == bytes,
    }
}

/// Returns the longest literal that is needed.
fn longest(need: &Need) -> Option<&Literal> {
    match need {
        Need::Has(literal) => (literal.bytes.len() >= TELLING_BYTES).then_some(literal),
        Need::All(parts) => {
            let literals = parts.iter().filter_map(longest);
            literals.max_by_key(|literal| literal.bytes.len())
        }
        Need::Nothing | Need::Either(_) => None,
    }
}

/// Returns the needles for one subject.
pub(super) fn of_subject(need: &Need, subject: Subject) -> Needles {
    let lists = needles(need).into_iter();
    let mut alike = lists.filter(|needles| needles.subject == subject);
    let none = || Needles::none(subject, Case::Sensitive);
    alike.next().unwrap_or_else(none)
}

fn met_by_nothing() -> Needles {
    Needles {
        subject: Subject::Name,
        case: Case::Sensitive,
        all: vec![Vec::new()],
    }
}

/// Returns the literals of which at least one is needed; `None` if the need has
/// no such simple form.
fn alternatives(need: &Need) -> Option<Vec<&Literal>> {
    match need {
        Need::Nothing => None,
        Need::Has(literal) => Some(vec![literal]),
        // The longest one alone is the most selective.
        Need::All(parts) => {
            let lists = parts.iter().filter_map(alternatives);
            lists.max_by_key(|list| {
                let lengths = list.iter().map(|literal| literal.bytes.len());
                lengths.min().unwrap_or(usize::MAX)
            })
        }
        Need::Either(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(alternatives(part)?);
            }
            Some(all)
        }
    }
}

/// Converts a literal to the sidecar's form.
pub(super) fn literal(literal: &Literal) -> trawl_names::Literal {
    trawl_names::Literal {
        bytes: literal.bytes.clone(),
        anchor: match literal.at {
            At::Anywhere => Anchor::Anywhere,
            At::Start => Anchor::Start,
            At::End => Anchor::End,
            At::Whole => Anchor::Whole,
        },
    }
}

/// Returns whether the case of a literal matters.
pub(super) fn case(literal: &Literal) -> Case {
    match literal.letters {
        Letters::Exact => Case::Sensitive,
        Letters::Folded => Case::Folded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::need::Within;

    fn has(text: &str, within: Within) -> Need {
        Need::Has(Literal {
            bytes: text.into(),
            within,
            at: At::Anywhere,
            letters: Letters::Exact,
        })
    }

    fn shown(need: &Need) -> Vec<String> {
        let text = |literal: &trawl_names::Literal| String::from_utf8_lossy(&literal.bytes).into();
        let list = |list: &Vec<_>| list.iter().map(text).collect::<Vec<String>>().join("|");
        let lists = needles(need).into_iter();
        lists
            .map(|n| {
                format!(
                    "{:?} {}",
                    n.subject,
                    n.all.iter().map(list).collect::<Vec<_>>().join("&")
                )
            })
            .collect()
    }

    #[test]
    fn a_need_becomes_lists_of_alternatives() {
        let name = |text| has(text, Within::Name);
        let path = |text| has(text, Within::Path);
        assert_eq!(shown(&Need::Nothing), [""; 0]);
        assert_eq!(shown(&Need::IMPOSSIBLE), ["Name "]);
        assert_eq!(shown(&name("a").and(name("b"))), ["Name a&b"]);
        assert_eq!(
            shown(&name("a").and(path("b")).and(name("c").or(name("d")))),
            ["Name a&c|d", "Path b"]
        );
        let either = name("a").and(name("long")).or(name("x"));
        assert_eq!(shown(&either), ["Name long|x"]);
        assert_eq!(shown(&name("a").or(path("x"))), [""; 0]);
    }
}
