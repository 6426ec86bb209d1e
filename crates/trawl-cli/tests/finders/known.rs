//! Known differences: command lines that are left out of the random part,
//! each with an example that must still differ, so that a row goes when what
//! it is about is done.

use trawl_testkit::finders::case::{Expr, Operator, Word};
use trawl_testkit::finders::plan::{Kind, Node, Plan};
use trawl_testkit::finders::{Case, Side, Vocabulary};
use trawl_testkit::oracle::Identity;
use trawl_testkit::permissions::access::Access;
use trawl_testkit::skip;

/// A difference.
pub(crate) struct Known {
    pub(crate) what: &'static str,
    /// On which sides.
    pub(crate) sides: &'static [Side],
    /// Whether it may show in a question.
    pub(crate) is_in: fn(&Asked<'_>) -> bool,
    /// Who asks the example.
    pub(crate) asker: Asker,
    /// Words that show it, in the directory that [`place`] plans.
    pub(crate) example: &'static [&'static str],
}

/// A command line, who asks it, and of which tree.
pub(crate) struct Asked<'a> {
    pub(crate) case: &'a Case,
    pub(crate) asker: Asker,
    pub(crate) plan: &'a Plan,
    /// Whether there are directories that they may list and not search.
    pub(crate) is_listed_only: bool,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Whoever runs the tests.
    Ourselves,
    /// An ordinary user.
    User,
}

impl Asker {
    /// How they run a command; none where we cannot be them.
    pub(crate) fn identity(&self) -> Option<Identity> {
        match self {
            Asker::Ourselves => Some(Identity::Ourselves),
            Asker::User => skip::is_root().then(|| Identity::Other {
                uid: 60_004,
                gid: 60_101,
                groups: vec![60_102],
            }),
        }
    }
}

const BOTH: &[Side] = &[Side::Index, Side::Live];

pub(crate) static KNOWN: &[Known] = &[
    Known {
        what: "a regular expression that refers back to a group",
        sides: BOTH,
        is_in: |asked| regexes(asked.case).any(|regex| regex.windows(2).any(|two| two == b"\\1")),
        asker: Asker::Ourselves,
        example: &[".", "-regex", ".*/\\(.\\)\\1*"],
    },
    Known {
        what: "an option that holds for what follows it counts as a test",
        sides: BOTH,
        is_in: |asked| asked.case.exprs.iter().any(has_option_as_operand),
        asker: Asker::Ourselves,
        example: &[".", "-name", "f", "-o", "-daystart"],
    },
    Known {
        what: "the number of a user or group beyond 31 bits, which find refuses behind -user and -group",
        sides: BOTH,
        is_in: |asked| {
            let large = |leaf: &&[Word]| matches!(leaf, [_, id] if id.len() > 9 && id[0] > b'1');
            let is_owner = |leaf: &&[Word]| leaf[0] == b"-user" || leaf[0] == b"-group";
            asked
                .case
                .leaves()
                .iter()
                .any(|leaf| is_owner(leaf) && large(leaf))
        },
        asker: Asker::Ourselves,
        example: &[".", "-user", "3000000000"],
    },
    Known {
        what: "-empty complains of a directory that may not be read where find never got to it, or the other way",
        sides: &[Side::Index],
        is_in: |asked| asked.asker == Asker::User && asked.case.has("-empty"),
        asker: Asker::User,
        example: &[".", "-empty", "-regex", "none"],
    },
    Known {
        what: "a start below a directory that may be passed and not listed, with .. in it",
        sides: &[Side::Index],
        is_in: |asked| {
            let above = |start: &Word| start.ends_with(b"/..");
            asked.asker == Asker::User && starts(asked.case).iter().any(above)
        },
        asker: Asker::User,
        example: &["x/none/.."],
    },
    Known {
        what: "a directory in one that may be listed and not searched is complained of twice",
        sides: &[Side::Live],
        is_in: |asked| asked.asker == Asker::User && asked.is_listed_only,
        asker: Asker::User,
        example: &["."],
    },
    Known {
        what: "-H and -L at a start that is a link through a file",
        sides: &[Side::Live],
        is_in: |asked| {
            let through = |node: &Node| matches!(&node.kind, Kind::Symlink(target) if target.ends_with(b"/x"));
            passes_link(asked, &through)
        },
        asker: Asker::Ourselves,
        example: &["-H", "through"],
    },
    Known {
        what: "find forgets an action in a list of -o when it moves tests behind that list ahead of it",
        sides: BOTH,
        is_in: |asked| {
            let all = Expr::Join(Operator::And, Word::new(), asked.case.exprs.clone());
            has_action_in_or(&all)
        },
        asker: Asker::Ourselves,
        example: &[
            "(", "-print", "-o", "-type", "l", "-o", "-type", "d", ")", "-type", "b",
        ],
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

/// Whether a start goes through a link, and one of such a kind is there:
/// one link may lead to another.
fn passes_link(asked: &Asked<'_>, is_such: &dyn Fn(&Node) -> bool) -> bool {
    let nodes = &asked.plan.nodes;
    let links = nodes
        .iter()
        .filter(|node| matches!(node.kind, Kind::Symlink(_)));
    let names: Vec<&[u8]> = links.map(|node| node.name.as_slice()).collect();
    let passes = |start: &Word| {
        start
            .split(|byte| *byte == b'/')
            .any(|part| names.contains(&part))
    };
    nodes.iter().any(is_such) && starts(asked.case).iter().any(passes)
}

/// Whether an action stands in a list of `-o` that something is joined to.
fn has_action_in_or(expr: &Expr) -> bool {
    let acts = |expr: &Expr| {
        let mut leaves = Vec::new();
        expr.leaves(&mut leaves);
        let is_action = |leaf: &&[Word]| {
            leaf.first()
                .is_some_and(|word| ACTIONS.iter().any(|name| word.starts_with(name)))
        };
        leaves.iter().any(is_action)
    };
    match expr {
        Expr::Leaf(_) => false,
        Expr::Not(_, inner) | Expr::Group(inner) => has_action_in_or(inner),
        Expr::Join(Operator::And, _, parts) => {
            let or = |part: &Expr| contains_or(part) && acts(part);
            parts.len() > 1 && parts.iter().any(or) || parts.iter().any(has_action_in_or)
        }
        Expr::Join(_, _, parts) => parts.iter().any(has_action_in_or),
    }
}

fn contains_or(expr: &Expr) -> bool {
    match expr {
        Expr::Leaf(_) => false,
        Expr::Not(_, inner) | Expr::Group(inner) => contains_or(inner),
        Expr::Join(Operator::Or, ..) => true,
        Expr::Join(_, _, parts) => parts.iter().any(contains_or),
    }
}

const ACTIONS: &[&[u8]] = &[
    b"-print", b"-fprint", b"-exec", b"-ok", b"-ls", b"-fls", b"-quit", b"-prune",
];
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

fn starts(case: &Case) -> Vec<Word> {
    case.starts
        .iter()
        .chain(case.starts_file.iter().flatten())
        .cloned()
        .collect()
}

/// Whether a question may show a known difference on a side.
pub(crate) fn may_differ(side: Side, asked: &Asked<'_>) -> bool {
    KNOWN
        .iter()
        .any(|known| known.sides.contains(&side) && (known.is_in)(asked))
}

/// Whether a side knows the words of an example.
pub(crate) fn is_asked(known: &Known, side: Side, vocabulary: &Vocabulary) -> bool {
    let words = known.example.iter().all(|word| vocabulary.knows(word));
    known.sides.contains(&side) && words
}

/// The tree of the examples.
pub(crate) fn place() -> Plan {
    // The directory `r` is the first, and holds the second.
    let node = |(number, (name, kind, mode)): (usize, (&str, Kind, u32))| Node {
        number,
        parent: (number == 1).then_some(0),
        name: name.as_bytes().to_vec(),
        kind,
        access: Access::plain(mode),
        times: None,
        xattr: None,
    };
    let nodes = [
        ("r", Kind::Folder, 0o744),
        ("inner", Kind::Folder, 0o755),
        ("f", Kind::File { size_bytes: 3 }, 0o000),
        ("through", Kind::Symlink(b"f/x".to_vec()), 0o777),
        ("d", Kind::Folder, 0o755),
        ("l", Kind::Symlink(b"f".to_vec()), 0o777),
        ("x", Kind::Folder, 0o711),
    ];
    Plan {
        seed: 0,
        present_seconds: 0,
        nodes: nodes.into_iter().enumerate().map(node).collect(),
    }
}
