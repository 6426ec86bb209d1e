//! Known differences: command lines that are left out of the random part,
//! each with an example that must still differ, so that a row goes when what
//! it is about is done.

use trawl_testkit::finders::case::{Expr, Word};
use trawl_testkit::finders::plan::{Kind, Node, Plan};
use trawl_testkit::finders::{Case, Side, Vocabulary};
use trawl_testkit::permissions::access::Access;

/// A difference.
pub(crate) struct Known {
    pub(crate) what: &'static str,
    /// On which sides.
    pub(crate) sides: &'static [Side],
    /// Whether it may show in a command line.
    pub(crate) is_in: fn(&Case) -> bool,
    /// Words that show it, in a directory with a file `f`, a directory `d` and
    /// a link `l` to `f`.
    pub(crate) example: &'static [&'static str],
}

const BOTH: &[Side] = &[Side::Index, Side::Live];

pub(crate) static KNOWN: &[Known] = &[
    Known {
        what: "a regular expression that refers back to a group",
        sides: BOTH,
        is_in: |case| regexes(case).any(|regex| regex.windows(2).any(|two| two == b"\\1")),
        example: &[".", "-regex", ".*/\\(.\\)\\1*"],
    },
    Known {
        what: "an option that holds for what follows it counts as a test",
        sides: BOTH,
        is_in: |case| case.exprs.iter().any(has_option_as_operand),
        example: &[".", "-name", "f", "-o", "-daystart"],
    },
];

fn regexes(case: &Case) -> impl Iterator<Item = Word> {
    let leaves: Vec<Vec<Word>> = case.leaves().into_iter().map(<[Word]>::to_vec).collect();
    let is_regex = |leaf: &Vec<Word>| leaf.first().is_some_and(|word| word.ends_with(b"regex"));
    leaves
        .into_iter()
        .filter(is_regex)
        .filter_map(|leaf| leaf.get(1).cloned())
}

const POSITIONAL: &[&[u8]] = &[
    b"-daystart",
    b"-follow",
    b"-regextype",
    b"-warn",
    b"-nowarn",
];

/// Whether such an option stands alone where find wants a test.
fn has_option_as_operand(expr: &Expr) -> bool {
    let is_option = |expr: &Expr| match expr {
        Expr::Leaf(words) => words
            .first()
            .is_some_and(|word| POSITIONAL.contains(&word.as_slice())),
        _ => false,
    };
    match expr {
        Expr::Leaf(_) => false,
        Expr::Not(_, inner) | Expr::Group(inner) => {
            is_option(inner) || has_option_as_operand(inner)
        }
        Expr::Join(_, word, parts) => {
            !word.is_empty() && parts.iter().any(is_option)
                || parts.iter().any(has_option_as_operand)
        }
    }
}

/// Whether a command line may show a known difference on a side.
pub(crate) fn may_differ(side: Side, case: &Case) -> bool {
    KNOWN
        .iter()
        .any(|known| known.sides.contains(&side) && (known.is_in)(case))
}

/// Whether a side knows the words of an example.
pub(crate) fn is_asked(known: &Known, side: Side, vocabulary: &Vocabulary) -> bool {
    let words = known.example.iter().all(|word| vocabulary.knows(word));
    known.sides.contains(&side) && words
}

/// The tree of the examples.
pub(crate) fn place() -> Plan {
    let node = |(number, (name, kind, mode)): (usize, (&str, Kind, u32))| Node {
        number,
        parent: None,
        name: name.as_bytes().to_vec(),
        kind,
        access: Access::plain(mode),
        times: None,
        xattr: None,
    };
    let nodes = [
        ("f", Kind::File { size_bytes: 3 }, 0o000),
        ("d", Kind::Folder, 0o755),
        ("l", Kind::Symlink(b"f".to_vec()), 0o777),
    ];
    Plan {
        seed: 0,
        present_seconds: 0,
        nodes: nodes.into_iter().enumerate().map(node).collect(),
    }
}
