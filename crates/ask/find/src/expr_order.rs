//! Orders the parts of a list: cheap tests before expensive ones, in GNU find's
//! order. The order is visible: in the messages about entries that cannot be
//! looked at, and in the moment at which an entry that a command changes is
//! looked at.
//!
//! GNU find goes over a list twice. First it moves tests of names to the front,
//! then regular expressions, inode numbers and types. Then it goes once from
//! the end to the beginning, and swaps a part with the one before it if that
//! one costs more. Nothing moves across a part that has an effect. Two parts
//! that cost the same are swapped if the second one is likelier to be true, or
//! less likely in a list of `-o` ([`crate::likelihood`]). With two tests that
//! have to look at the entry, the order decides which one reports an error.

use std::cmp::Ordering;

use crate::expr::{Expr, Node};
use crate::leaf::{Effect, Facts};
use crate::predicate::Cost;

/// Which tests GNU find moves to the front of a list before it compares neighbours (`-O`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Tests that match a name or a path: `-O0`.
    Names,
    /// All tests that need nothing but the path: `-O1`.
    Free,
    /// Inode numbers and types, too: GNU find's default, `-O2`.
    #[default]
    Types,
}

/// The only tests that GNU find moves at level 0, besides regular expressions.
const NAMES: [&str; 6] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
];

/// The facts that a test needs, in the order of GNU find's ranking, least
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    Number,
    Type,
    Attributes,
    LinkTarget,
    Access,
    /// Trawl's own.
    Content,
}

impl Node {
    fn needs(&self) -> Needs {
        match (self.facts(), self.predicate.cost) {
            _ if self.predicate.name == "-fstype" => match self.likelihood() > 0.0 {
                true => Needs::Attributes,
                false => Needs::Nothing,
            },
            (_, Cost::Content) => Needs::Content,
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

/// The group of a part among the parts between two that have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PartGroup {
    Names,
    Regexes,
    Numbers,
    Types,
    Rest,
}

fn place(part: &Expr, level: Level) -> PartGroup {
    let Expr::Leaf(node) = part else {
        return PartGroup::Rest;
    };
    match (node.needs(), level) {
        (Needs::Nothing, _) if node.predicate.cost == Cost::Regex => PartGroup::Regexes,
        (_, Level::Names) if !NAMES.contains(&node.predicate.name) => PartGroup::Rest,
        (Needs::Nothing, _) => PartGroup::Names,
        (Needs::Number, Level::Types) => PartGroup::Numbers,
        (Needs::Type, Level::Types) => PartGroup::Types,
        _ => PartGroup::Rest,
    }
}

/// Returns the most that a part needs; `None` if it has an effect.
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

/// A part with the likelihood that it is true.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) expr: Expr,
    /// Computed from all of its tests.
    likelihood: f32,
    /// The likelihood that its list uses once the cheapest tests have been
    /// moved to the front. GNU find then uses the part that was left at the
    /// list's end, and the parts that stood before that one.
    in_lists: f32,
}

impl Part {
    fn new(expr: Expr, likelihood: f32) -> Part {
        Part {
            expr,
            likelihood,
            in_lists: likelihood,
        }
    }

    /// Orders an expression and all lists in it.
    pub(crate) fn of(expr: Expr, level: Level) -> Part {
        match expr {
            Expr::Leaf(node) => {
                let likelihood = node.likelihood();
                Part::new(Expr::Leaf(node), likelihood)
            }
            Expr::Not(inner) => {
                let inner = Part::of(*inner, level);
                Part::new(Expr::Not(Box::new(inner.expr)), 1.0 - inner.likelihood)
            }
            Expr::And(parts) => Joins::And.list(Joins::And.flatten(parts), level),
            Expr::Or(parts) => Joins::Or.list(Joins::Or.flatten(parts), level),
            Expr::Comma(parts) => {
                let parts = parts.into_iter().map(|part| Part::of(part, level).expr);
                Part::new(Expr::Comma(parts.collect()), 1.0)
            }
            Expr::Sorted(node, inner) => {
                let inner = Part::of(*inner, level);
                Part::new(Expr::Sorted(node, Box::new(inner.expr)), inner.likelihood)
            }
        }
    }
}

/// The operator that joins a list of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joins {
    And,
    Or,
}

impl Joins {
    /// If the first part is a list with the same operator, replaces it by that
    /// list's parts, since all are evaluated from left to right.
    fn flatten(self, mut parts: Vec<Expr>) -> Vec<Expr> {
        while let Some(first) = parts.first_mut() {
            let inner = match (self, first) {
                (Joins::And, Expr::And(inner)) | (Joins::Or, Expr::Or(inner)) => inner,
                _ => break,
            };
            let inner = std::mem::take(inner);
            parts.splice(..1, inner);
        }
        parts
    }

    /// Returns a list with its parts in the order of evaluation.
    fn list(self, parts: Vec<Expr>, level: Level) -> Part {
        // Pairs each part with the likelihood of the list up to it.
        let mut so_far = None;
        let with_those_before = |expr: Expr| {
            let part = Part::of(expr, level);
            let here = match so_far {
                None => part.likelihood,
                Some(before) => self.likelihood(before, part.likelihood),
            };
            so_far = Some(here);
            (part, here)
        };
        let mut parts: Vec<(Part, f32)> = parts.into_iter().map(with_those_before).collect();
        let is_pure = |part: &(Part, f32)| needs(&part.0.expr).is_some();
        for run in parts.chunk_by_mut(|a, b| is_pure(a) && is_pure(b)) {
            run.sort_by_key(|(part, _)| place(&part.expr, level));
        }
        let in_lists = parts.last().map_or(1.0, |(_, so_far)| *so_far);
        for at in (1..parts.len()).rev() {
            if self.swaps(&parts[at - 1].0, &parts[at].0) {
                parts.swap(at - 1, at);
            }
        }
        let parts = parts.into_iter().map(|(part, _)| part.expr).collect();
        Part {
            expr: match self {
                Joins::And => Expr::And(parts),
                Joins::Or => Expr::Or(parts),
            },
            likelihood: so_far.unwrap_or(1.0),
            in_lists,
        }
    }

    fn likelihood(self, before: f32, here: f32) -> f32 {
        match self {
            Joins::And => before * here,
            Joins::Or => (before + here).min(1.0),
        }
    }

    /// Returns whether the second of two neighbours is to come first.
    fn swaps(self, before: &Part, here: &Part) -> bool {
        let (Some(first), Some(second)) = (needs(&before.expr), needs(&here.expr)) else {
            return false;
        };
        match (first.cmp(&second), self) {
            (Ordering::Greater, _) => true,
            (Ordering::Less, _) => false,
            (Ordering::Equal, Joins::And) => here.in_lists > before.in_lists,
            (Ordering::Equal, Joins::Or) => here.in_lists < before.in_lists,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::testing::expression;
    use trawl_testkit::oracle::{command, run};
    use trawl_testkit::{Prng, skip};

    pub(crate) const TESTS: &[&str] = &[
        "-name a*",
        "-iname a",
        "-path x",
        "-regex .*",
        "-type f",
        "-type d,l",
        "-xtype f",
        "-xtype l",
        "-size 1",
        "-size +1",
        "-size -9k",
        "-size -1G",
        "-size +21k",
        "-perm 644",
        "-perm -2",
        "-perm /7",
        "-perm /0",
        "-links 1",
        "-links -2",
        "-links +7",
        "-inum 7",
        "-uid 5",
        "-gid 500",
        "-user root",
        "-group root",
        "-nouser",
        "-nogroup",
        "-readable",
        "-writable",
        "-executable",
        "-empty",
        "-lname x*",
        "-ilname x",
        "-mtime 0",
        "-mtime +3",
        "-atime -300",
        "-mmin 5000",
        "-cmin -3",
        "-used 2",
        "-newermt 1971-01-01",
        "-newermt 2200-01-01",
        "-fstype proc",
        "-fstype none",
        "-true",
        "-false",
        "-maxdepth 9",
    ];

    /// Tests whose order of evaluation is not visible.
    const UNSEEN: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-regex",
        "-inum",
        "-true",
        "-false",
        "-maxdepth",
    ];

    fn drawn(prng: &mut Prng, levels: u64) -> String {
        if levels == 0 || prng.once_in(3) {
            return prng.word(TESTS).to_owned();
        }
        let parts = (0..2 + prng.below(3)).map(|_| drawn(prng, levels - 1));
        let parts: Vec<String> = parts.collect();
        match prng.below(6) {
            0 => format!("! {}", drawn(prng, levels - 1)),
            1 | 2 => format!("( {} )", parts.join(" -o ")),
            _ => format!("( {} )", parts.join(" ")),
        }
    }

    /// Returns the tests in the order in which GNU find says that it evaluates
    /// them.
    fn of_find(level: &str, words: &str) -> Vec<String> {
        let mut find = command("find");
        find.args([level, "-D", "tree", "/dev/null"])
            .args(words.split(' '));
        let said = run(&mut find).errors();
        let tree = said.split("Optimized Eval Tree:").nth(1).expect("a tree");
        let lines = tree
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pred=["));
        let tests = lines.filter(|line| line.contains("type=primary"));
        let name = |line: &str| line.split([' ', ']']).next().unwrap_or_default().to_owned();
        tests.map(name).collect()
    }

    /// The oracle is the output of `find -D tree`.
    #[test]
    fn tests_are_evaluated_in_the_order_of_gnu_find() {
        if let Some(skip) = skip::without_program("the order of tests", "find") {
            return skip.say();
        }
        let seed = 1;
        let mut prng = Prng::new(seed);
        for case in 0..600 {
            let level = ["-O0", "-O1", "-O2"][case % 3];
            let mut words = format!("{} -print", drawn(&mut prng, 3));
            // A known difference (`-O` in `conformance.rs`).
            if level != "-O2" {
                words = words.replace("-fstype none", "-fstype proc");
            }
            let mut ours = Vec::new();
            let name = |name: &str| match name {
                "-newerXY" => "-newermt".to_owned(),
                _ => name.to_owned(),
            };
            let tree = expression(&format!("{level} {words}"));
            tree.leaves(&mut |node| ours.push(name(node.predicate.name)));
            let theirs = of_find(level, &words);
            let looks = |name: &&String| !UNSEEN.contains(&name.as_str());
            let shown = |list: &[String]| {
                list.iter()
                    .filter(looks)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            assert_eq!(shown(&ours), shown(&theirs), "find {level} {words}");
        }
    }
}
