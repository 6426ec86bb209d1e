//! Known differences: command lines that the random part leaves out. Each has an example that must
//! still differ, so that a row is removed once its difference is resolved.

use trawl_testkit::finders::case::{Expr, Operator, Word};
use trawl_testkit::finders::environment::language;
use trawl_testkit::finders::plan::{Kind, Node, Plan};
use trawl_testkit::finders::{Case, Side, Vocabulary};
use trawl_testkit::oracle::Identity;
use trawl_testkit::permissions::access::Access;
use trawl_testkit::skip;

/// A known difference.
pub(crate) struct Known {
    pub(crate) what: &'static str,
    /// Sides on which it shows.
    pub(crate) sides: &'static [Side],
    /// Returns whether it may show in a question.
    pub(crate) is_in: fn(&Asked<'_>) -> bool,
    /// The user who asks the example.
    pub(crate) asker: Asker,
    /// Locale of the example.
    pub(crate) language: Option<&'static str>,
    /// Tree of the example.
    pub(crate) place: Place,
    /// Words that show the difference in that tree.
    pub(crate) example: &'static [&'static str],
}

/// Tree of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A tree with one of everything else.
    Usual,
    /// A tree with a directory mounted in itself; only root can create it.
    Mounted,
    /// A tree with a file mounted on another one.
    Bound,
}

/// A command line, the user who asks it, and the tree that it is about.
pub(crate) struct Asked<'a> {
    pub(crate) case: &'a Case,
    pub(crate) asker: Asker,
    pub(crate) plan: &'a Plan,
    /// Whether there are directories that this user may list but not search.
    pub(crate) is_listed_only: bool,
    /// Whether there are directories that this user may search but not list.
    pub(crate) is_searched_only: bool,
}

/// The user who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The user who runs the tests.
    Ourselves,
    /// An ordinary user.
    User,
}

impl Asker {
    /// Returns the identity with which they run a command; `None` if we cannot become them.
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
        language: None,
        place: Place::Usual,
        example: &[".", "-user", "3000000000"],
    },
    Known {
        what: "-empty complains of a directory that may not be read where find never got to it, or the other way",
        sides: &[Side::Index],
        is_in: |asked| asked.asker == Asker::User && asked.case.has("-empty"),
        asker: Asker::User,
        language: None,
        place: Place::Usual,
        example: &[".", "-empty", "-regex", "none"],
    },
    Known {
        what: "find cannot follow links below paths longer than PATH_MAX, and stops there",
        sides: BOTH,
        is_in: |asked| {
            let is_long = |node: &Node| asked.plan.path(node).len() > 3_500;
            follows(asked.case) && asked.plan.nodes.iter().any(is_long)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &["-L", "."],
    },
    Known {
        what: "which directory a loop comes back to, where several spellings lead there",
        sides: &[Side::Index],
        is_in: |asked| {
            let is_back =
                |node: &Node| matches!(&node.kind, Kind::Symlink(to) if to == b".." || to == b".");
            follows(asked.case) && asked.plan.nodes.iter().any(is_back)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &["-L", ".."],
    },
    Known {
        what: "the start that a loop comes back to has its slashes",
        sides: &[Side::Live],
        is_in: |asked| {
            let has_slash = |start: &Word| start.ends_with(b"/");
            follows(asked.case) && starts(asked.case).iter().any(has_slash)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &["-L", "./"],
    },
    Known {
        what: "what was taken away at the first start has changed since it was indexed",
        sides: &[Side::Index],
        is_in: |asked| asked.case.changes() && starts(asked.case).len() > 1,
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &["f", "f", "-delete"],
    },
    Known {
        what: "find forgets an action in a list of -o when it moves tests behind that list ahead of it",
        sides: BOTH,
        is_in: |asked| {
            let all = Expr::Join(Operator::And, Word::new(), asked.case.exprs.clone());
            has_action_in_or(&all)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &[
            "(", "-print", "-o", "-type", "l", "-o", "-type", "d", ")", "-type", "b",
        ],
    },
    Known {
        what: "find forgets an action in a list when it puts the tests behind it in another order, and moves tests ahead of the list",
        sides: BOTH,
        is_in: |asked| {
            let all = Expr::Join(Operator::And, Word::new(), asked.case.exprs.clone());
            moves_ahead_of_action(&all)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &[
            ".", "-print", "-size", "1", "-type", "s", "-o", "-name", "f",
        ],
    },
    Known {
        what: "find -O3 orders tests in another way, and puts some ahead of actions",
        sides: BOTH,
        is_in: |asked| asked.case.leading.iter().any(|word| word == b"-O3"),
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &[
            "-O3", "f", "-links", "5", "-o", "(", "-print", "-o", "-links", "6", "-o", "-links",
            "7", ")", "-o", "-links", "1",
        ],
    },
    Known {
        what: "find -O0 and -O1 look at an entry for -fstype with a type that is mounted nowhere",
        sides: BOTH,
        is_in: |asked| {
            let mut leading = asked.case.leading.iter();
            leading.any(|word| word == b"-O0" || word == b"-O1") && asked.case.has("-fstype")
        },
        asker: Asker::User,
        language: None,
        place: Place::Usual,
        example: &["-O0", "r", "-fstype", "none"],
    },
    Known {
        what: "find takes a slash from a start point that is an empty directory, with -L and -depth",
        sides: BOTH,
        is_in: |asked| {
            let is_depth = ["-depth", "-d", "-delete"]
                .iter()
                .any(|word| asked.case.has(word));
            let has_slash = |start: &Word| start.ends_with(b"/");
            follows(asked.case) && is_depth && starts(asked.case).iter().any(has_slash)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &["-L", "r/inner/", "-depth"],
    },
    Known {
        what: "names of months and days, dates and fractions in the language of the locale",
        sides: BOTH,
        is_in: |asked| language(asked.case).is_some() && shows_language(asked.case),
        asker: Asker::Ourselves,
        language: Some("fr_FR.UTF-8"),
        place: Place::Usual,
        example: &["f", "-printf", "%TB\\n"],
    },
    Known {
        what: "patterns in characters of another encoding than UTF-8, and ranges of a language",
        sides: BOTH,
        is_in: |asked| {
            let name = language(asked.case);
            name.is_some_and(|name| has_pattern_of(asked.case, !name.ends_with("UTF-8")))
        },
        asker: Asker::Ourselves,
        language: Some("ja_JP.EUC-JP"),
        place: Place::Usual,
        example: &["é", "-name", "?"],
    },
    Known {
        what: "find ends where a directory cannot be searched that -execdir is to run in",
        sides: &[Side::Live],
        is_in: |asked| {
            let runs_there = asked.case.has("-execdir") || asked.case.has("-okdir");
            asked.is_listed_only && runs_there
        },
        asker: Asker::User,
        language: None,
        place: Place::Usual,
        example: &[".", "-execdir", "true", ";"],
    },
    Known {
        what: "find ends where it cannot open the directory that -execdir is to run in",
        sides: BOTH,
        is_in: |asked| {
            let runs_there = asked.case.has("-execdir") || asked.case.has("-okdir");
            asked.is_searched_only && runs_there
        },
        asker: Asker::User,
        language: None,
        place: Place::Usual,
        example: &["x/g", "-execdir", "true", ";"],
    },
    Known {
        what: "find forgets the commands of -exec and -execdir + where a start point is empty",
        sides: BOTH,
        is_in: |asked| {
            let gathers = |leaf: &&[Word]| {
                leaf[0].starts_with(b"-exec") && leaf.last().is_some_and(|w| w == b"+")
            };
            starts(asked.case).iter().any(Vec::is_empty) && asked.case.leaves().iter().any(gathers)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Usual,
        example: &["f", "", "-exec", "echo", "{}", "+"],
    },
    Known {
        what: "the inode number of a file that is mounted on, of which find knows what its directory says",
        sides: BOTH,
        is_in: |asked| {
            let is_bound = |node: &Node| matches!(node.kind, Kind::Bound(_));
            asked.plan.nodes.iter().any(is_bound) && tells_numbers(asked.case)
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Bound,
        example: &[".", "-name", "inner", "-printf", "%i\\n", "-size", "1c"],
    },
    Known {
        what: "a directory that is mounted in itself is shown from the index, and told of in other words",
        sides: &[Side::Index],
        is_in: |asked| {
            asked
                .plan
                .nodes
                .iter()
                .any(|node| is_within_itself(asked.plan, node))
        },
        asker: Asker::Ourselves,
        language: None,
        place: Place::Mounted,
        example: &["."],
    },
];

/// Returns true if inode numbers are asked for.
fn tells_numbers(case: &Case) -> bool {
    let is_format = |leaf: &&[Word]| leaf[0].ends_with(b"printf");
    let has_number = |leaf: &[Word]| leaf.last().is_some_and(|format| format.contains(&b'i'));
    let leaves = case.leaves();
    let mut formats = leaves.iter().filter(|leaf| is_format(leaf));
    case.has("-inum") || formats.any(|leaf| has_number(leaf))
}

/// Returns true if a directory above is mounted on this one.
fn is_within_itself(plan: &Plan, node: &Node) -> bool {
    let Kind::Bound(of) = node.kind else {
        return false;
    };
    let mut above = node.parent;
    while let Some(number) = above {
        if number == of {
            return true;
        }
        above = plan.node(number).and_then(|node| node.parent);
    }
    false
}

/// Returns true if the output depends on the language.
fn shows_language(case: &Case) -> bool {
    let is_listing = case.has("-ls") || case.has("-fls");
    let formats = case.leaves().into_iter().filter(|leaf| {
        let name = leaf.first().map_or(&b""[..], Vec::as_slice);
        name.ends_with(b"printf")
    });
    // 0.5 is written 0,5 in some languages.
    let is_fraction = |leaf: &&[Word]| {
        let has_unit = leaf[0].ends_with(b"min") || leaf[0].ends_with(b"time");
        has_unit && leaf.get(1).is_some_and(|age| age.contains(&b'.'))
    };
    is_listing
        || case.leaves().iter().any(is_fraction)
        || formats.into_iter().any(|leaf| {
            let format = String::from_utf8_lossy(leaf.last().map_or(&[], Vec::as_slice));
            let spelled = |directive: &str| {
                let rest = directive.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
                let mut letters = rest.chars();
                match (letters.next(), letters.next()) {
                    (Some('S'), _) => true,
                    (Some('A' | 'C' | 'T'), Some(part)) => "aAbBhcxXpr".contains(part),
                    _ => false,
                }
            };
            format.split('%').skip(1).any(spelled)
        })
}

/// Returns true if a pattern has a range or, in an encoding that is taken as bytes, a wildcard for
/// a character.
fn has_pattern_of(case: &Case, is_bytes: bool) -> bool {
    let tests: &[&[u8]] = &[
        b"-name",
        b"-iname",
        b"-path",
        b"-ipath",
        b"-wholename",
        b"-iwholename",
        b"-lname",
        b"-ilname",
        b"-regex",
        b"-iregex",
    ];
    let is_special = |byte: &u8| byte.is_ascii_punctuation() || !byte.is_ascii();
    case.leaves().iter().any(|leaf| match leaf {
        [test, pattern] if tests.contains(&&test[..]) => {
            pattern.contains(&b'[') || is_bytes && pattern.iter().any(is_special)
        }
        _ => false,
    })
}

/// Returns true if the expression does more than test: it has an action.
fn acts(expr: &Expr) -> bool {
    let mut leaves = Vec::new();
    expr.leaves(&mut leaves);
    let is_action = |leaf: &&[Word]| {
        leaf.first()
            .is_some_and(|word| ACTIONS.iter().any(|name| word.starts_with(name)))
    };
    leaves.iter().any(is_action)
}

/// Returns true if a list has something after a list of `-a` in which an action precedes two or
/// more tests.
fn moves_ahead_of_action(expr: &Expr) -> bool {
    match expr {
        Expr::Leaf(_) => false,
        Expr::Not(_, inner) | Expr::Group(inner) => moves_ahead_of_action(inner),
        Expr::Join(_, _, parts) => {
            let before = parts.split_last().map_or(&[][..], |(_, before)| before);
            before.iter().any(acts_before_tests) || parts.iter().any(moves_ahead_of_action)
        }
    }
}

fn acts_before_tests(expr: &Expr) -> bool {
    match expr {
        Expr::Leaf(_) | Expr::Not(..) => false,
        Expr::Group(inner) => acts_before_tests(inner),
        Expr::Join(Operator::And, _, parts) => {
            let early = parts.len().saturating_sub(2);
            parts[..early].iter().any(acts) || parts.iter().any(acts_before_tests)
        }
        Expr::Join(_, _, parts) => parts.iter().any(acts_before_tests),
    }
}

fn has_action_in_or(expr: &Expr) -> bool {
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
fn starts(case: &Case) -> Vec<Word> {
    case.starts
        .iter()
        .chain(case.starts_file.iter().flatten())
        .cloned()
        .collect()
}

/// Returns true if a question may show a known difference on a side.
pub(crate) fn may_differ(side: Side, asked: &Asked<'_>) -> bool {
    KNOWN
        .iter()
        .any(|known| known.sides.contains(&side) && (known.is_in)(asked))
}

/// Returns true if a side knows the words of an example.
pub(crate) fn is_asked(known: &Known, side: Side, vocabulary: &Vocabulary) -> bool {
    let words = known.example.iter().all(|word| vocabulary.knows(word));
    known.sides.contains(&side) && words
}

/// Returns true if links are followed.
fn follows(case: &Case) -> bool {
    case.has("-L") || case.has("-follow")
}

/// Number of directories in the chain whose path is longer than `PATH_MAX`.
const LEVELS: usize = 18;

/// Returns the tree of an example.
pub(crate) fn plan_of(place: Place) -> Plan {
    let link = |target: &str| Kind::Symlink(target.as_bytes().to_vec());
    let folder = |name: &str, parent| (name.to_owned(), parent, Kind::Folder, 0o755);
    let mut planned = match place {
        Place::Usual => usual(link),
        Place::Mounted => {
            let inner = ("inner".into(), Some(0), Kind::Bound(0), 0o755);
            vec![folder("outer", None), inner]
        }
        Place::Bound => {
            let file = ("file".into(), None, Kind::File { size_bytes: 1 }, 0o644);
            vec![file, ("inner".into(), None, Kind::Bound(0), 0o644)]
        }
    };
    if place == Place::Usual {
        let mut parent = None;
        for _ in 0..LEVELS {
            planned.push(("l".repeat(250), parent, Kind::Folder, 0o755));
            parent = Some(planned.len() - 1);
        }
    }
    let node = |(number, (name, parent, kind, mode)): (usize, Planned)| Node {
        number,
        parent,
        name: name.into_bytes(),
        kind,
        access: Access::plain(mode),
        times: None,
        xattr: None,
    };
    Plan {
        seed: 0,
        present_seconds: 0,
        nodes: planned.into_iter().enumerate().map(node).collect(),
    }
}

/// A planned entry: its name, its parent, its kind and its mode.
type Planned = (String, Option<usize>, Kind, u32);

fn usual(link: impl Fn(&str) -> Kind) -> Vec<Planned> {
    vec![
        ("r".to_owned(), None, Kind::Folder, 0o744),
        ("inner".into(), Some(0), Kind::Folder, 0o755),
        ("f".into(), None, Kind::File { size_bytes: 3 }, 0o000),
        ("through".into(), None, link("f/x"), 0o777),
        ("d".into(), None, Kind::Folder, 0o755),
        ("up".into(), Some(4), link(".."), 0o777),
        ("via".into(), None, link("d/"), 0o777),
        ("x".into(), None, Kind::Folder, 0o711),
        ("loop".into(), None, link("loop"), 0o777),
        ("é".into(), None, Kind::File { size_bytes: 0 }, 0o644),
        ("g".into(), Some(7), Kind::File { size_bytes: 0 }, 0o644),
        ("h".into(), Some(0), Kind::File { size_bytes: 0 }, 0o644),
    ]
}
