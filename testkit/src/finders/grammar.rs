//! The words of the language with their weights, and random command lines made of them.
//!
//! A word that a build does not know yet is left out, according to [`Vocabulary`]. Nothing here
//! knows the meaning of words, except for three facts: the arguments that a word takes, the actions
//! that change the tree, and that find also moves cheap tests to the front of a list of `,`, so
//! that lists whose value counts keep their cheapest part last.

use std::collections::BTreeSet;

use super::case::{Case, Expr, Operator, Start, Word};
use super::changes;
use super::environment::{self, Locales};
use super::formats::{self, Ending};
use super::values::Values;
use crate::prng::Prng;

/// The kind of argument that a word takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Glob,
    TargetGlob,
    PathGlob,
    Regex,
    Size,
    Links,
    Uid,
    Gid,
    Inode,
    Owner,
    Mode,
    Types,
    FileSystem,
    Minutes,
    Days,
    Used,
    Reference,
    Openable,
    Date,
    Depth,
    Dialect,
}

/// A word of the language.
#[derive(Debug)]
pub struct Row {
    /// Its spelling.
    pub name: &'static str,
    weight: u64,
    takes: Takes,
    /// An argument for checking whether a build knows the word.
    sample: &'static str,
}

const fn row(name: &'static str, weight: u64, takes: Takes, sample: &'static str) -> Row {
    Row {
        name,
        weight,
        takes,
        sample,
    }
}

/// Options for the whole search.
pub static GLOBALS: &[Row] = &[
    row("-maxdepth", 5, Takes::Depth, "1"),
    row("-mindepth", 4, Takes::Depth, "1"),
    row("-depth", 5, Takes::Nothing, ""),
    row("-d", 1, Takes::Nothing, ""),
    row("-xdev", 2, Takes::Nothing, ""),
    row("-mount", 1, Takes::Nothing, ""),
    row("-noleaf", 1, Takes::Nothing, ""),
    row("-ignore_readdir_race", 1, Takes::Nothing, ""),
    row("-noignore_readdir_race", 1, Takes::Nothing, ""),
];

/// Tests, and options for the words that follow them.
pub static TESTS: &[Row] = &[
    row("-name", 8, Takes::Glob, "x"),
    row("-iname", 3, Takes::Glob, "x"),
    row("-path", 3, Takes::PathGlob, "x"),
    row("-ipath", 2, Takes::PathGlob, "x"),
    row("-wholename", 1, Takes::PathGlob, "x"),
    row("-iwholename", 1, Takes::PathGlob, "x"),
    row("-lname", 3, Takes::TargetGlob, "x"),
    row("-ilname", 2, Takes::TargetGlob, "x"),
    row("-regex", 4, Takes::Regex, "x"),
    row("-iregex", 2, Takes::Regex, "x"),
    row("-regextype", 2, Takes::Dialect, "emacs"),
    row("-type", 8, Takes::Types, "f"),
    row("-xtype", 5, Takes::Types, "f"),
    row("-size", 6, Takes::Size, "1"),
    row("-empty", 4, Takes::Nothing, ""),
    row("-perm", 7, Takes::Mode, "644"),
    row("-links", 2, Takes::Links, "1"),
    row("-inum", 2, Takes::Inode, "1"),
    row("-uid", 2, Takes::Uid, "1"),
    row("-gid", 2, Takes::Gid, "1"),
    row("-user", 2, Takes::Owner, "root"),
    row("-group", 2, Takes::Owner, "root"),
    row("-nouser", 2, Takes::Nothing, ""),
    row("-nogroup", 2, Takes::Nothing, ""),
    row("-readable", 3, Takes::Nothing, ""),
    row("-writable", 3, Takes::Nothing, ""),
    row("-executable", 3, Takes::Nothing, ""),
    row("-samefile", 2, Takes::Openable, "."),
    row("-fstype", 2, Takes::FileSystem, "ext4"),
    row("-mtime", 3, Takes::Days, "1"),
    row("-atime", 2, Takes::Days, "1"),
    row("-ctime", 1, Takes::Days, "1"),
    row("-mmin", 3, Takes::Minutes, "1"),
    row("-amin", 2, Takes::Minutes, "1"),
    row("-cmin", 1, Takes::Minutes, "1"),
    row("-used", 2, Takes::Used, "1"),
    row("-newer", 2, Takes::Reference, "."),
    row("-anewer", 2, Takes::Reference, "."),
    row("-cnewer", 1, Takes::Reference, "."),
    row("-newermm", 1, Takes::Reference, "."),
    row("-neweram", 1, Takes::Reference, "."),
    row("-newermc", 1, Takes::Reference, "."),
    row("-newerma", 1, Takes::Reference, "."),
    row("-neweraa", 1, Takes::Reference, "."),
    row("-newermt", 5, Takes::Date, "2020-01-01"),
    row("-newerat", 2, Takes::Date, "2020-01-01"),
    row("-newerct", 1, Takes::Date, "2020-01-01"),
    row("-true", 2, Takes::Nothing, ""),
    row("-false", 2, Takes::Nothing, ""),
    row("-daystart", 2, Takes::Nothing, ""),
    row("-follow", 1, Takes::Nothing, ""),
    row("-warn", 1, Takes::Nothing, ""),
    row("-nowarn", 1, Takes::Nothing, ""),
    row("-prune", 4, Takes::Nothing, ""),
];

/// Actions that write, end the search or run something, spelled out once per ending. `%FORMAT` and
/// `%FILE` are placeholders.
type Action = (u64, &'static [&'static str], &'static [&'static str]);

static ACTIONS: &[Action] = &[
    (8, &["-print"], &["-print0"]),
    (10, &["-printf", "%FORMAT"], &["-printf", "%FORMAT"]),
    (3, &["-ls"], &["-print0"]),
    (2, &["-quit"], &["-quit"]),
    (2, &["-fprint", "%FILE"], &["-fprint0", "%FILE"]),
    (
        2,
        &["-fprintf", "%FILE", "%FORMAT"],
        &["-fprintf", "%FILE", "%FORMAT"],
    ),
    (1, &["-fls", "%FILE"], &["-fprint0", "%FILE"]),
    (
        3,
        &["-exec", "echo", "{}", ";"],
        &["-exec", "printf", "%s\\0", "{}", ";"],
    ),
    (
        1,
        &["-exec", "echo", "x{}y{}", "z", ";"],
        &["-exec", "printf", "%s\\0", "x{}y{}", "z", ";"],
    ),
    (
        3,
        &["-exec", "printf", "%s\\n", "{}", "+"],
        &["-exec", "printf", "%s\\0", "{}", "+"],
    ),
    (1, &["-exec", "true", ";"], &["-exec", "true", "{}", "+"]),
    (2, &["-exec", "false", ";"], &["-exec", "false", "{}", "+"]),
    (
        1,
        &["-exec", "sh", "-c", "exit 3", ";"],
        &["-exec", "sh", "-c", "kill -9 $$", ";"],
    ),
    (
        1,
        &["-exec", "no-such-program", ";"],
        &["-exec", "/no/such/program", "{}", "+"],
    ),
    (
        2,
        &["-execdir", "echo", "{}", ";"],
        &["-execdir", "printf", "%s\\0", "{}", ";"],
    ),
    (
        2,
        &["-execdir", "printf", "%s\\n", "{}", "+"],
        &["-execdir", "printf", "%s\\0", "{}", "+"],
    ),
    (
        1,
        &["-execdir", "pwd", ";"],
        &["-execdir", "false", "{}", ";"],
    ),
    (
        1,
        &["-exec", "grep", "SigIgn", "/proc/self/status", ";"],
        &[
            "-execdir",
            "sh",
            "-c",
            "grep SigIgn /proc/self/status | tr \\\\n \\\\0",
            ";",
        ],
    ),
    (
        1,
        &["-ok", "echo", "{}", ";"],
        &["-okdir", "printf", "%s\\0", "{}", ";"],
    ),
];

const DIALECTS: &[&str] = &[
    "emacs",
    "posix-basic",
    "posix-extended",
    "egrep",
    "posix-egrep",
    "findutils-default",
    "grep",
    "ed",
    "sed",
    "awk",
    "gnu-awk",
    "posix-awk",
    "posix-minimal-basic",
];
const TYPES: &[&str] = &[
    "f",
    "d",
    "l",
    "p",
    "s",
    "b",
    "c",
    "f,d",
    "l,f",
    "d,p,s",
    "b,c",
    "f,d,l,p,s,b,c",
];
const MISTAKES: &[&[&str]] = &[
    &["-foo"],
    &["-name"],
    &["-perm", "9"],
    &["-perm", "+222"],
    &["-type", "q"],
    &["-type", "f,"],
    &["-size", "1q"],
    &["-size", ""],
    &["-newer", "nowhere"],
    &["-printf", "%"],
    &["-links", "x"],
    &["-mtime", "x"],
    &["-user", "no such user"],
    &["-maxdepth", "-1"],
    &["-regextype", "x"],
    &["("],
    &[")"],
    &["!"],
    &["-o"],
    &["-a"],
    &[","],
    &["stray"],
    &["(", ")"],
    &["-exec", "echo", "{}"],
    &["-exec", "echo", "+"],
    &["-exec", ";"],
    &["-fprint", "/no/such/dir/file"],
];

/// The words that a build knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// The unknown words, spelled as in [`probes`].
    pub unknown: BTreeSet<String>,
}

impl Vocabulary {
    /// Returns whether it knows this word.
    pub fn knows(&self, word: &str) -> bool {
        !self.unknown.contains(word)
    }

    /// Returns whether it knows every word of a command line.
    pub fn knows_all(&self, case: &Case) -> bool {
        let known = |word: &Word| self.knows(&String::from_utf8_lossy(word));
        let leaf = |leaf: &&[Word]| {
            leaf.first().is_none_or(known)
                && (leaf.first().is_none_or(|w| w != b"-regextype")
                    || leaf.get(1).is_none_or(known))
        };
        let globals = case.globals.iter().map(Vec::as_slice);
        case.leaves()
            .into_iter()
            .chain(globals)
            .all(|words| leaf(&words))
            && case.leading.iter().all(known)
            && self.knows_formats(case)
    }

    fn knows_formats(&self, case: &Case) -> bool {
        let unknown: Vec<u8> = self
            .unknown
            .iter()
            .filter_map(|word| match word.as_bytes() {
                [b'%', letter] => Some(*letter),
                _ => None,
            })
            .collect();
        let is_format = |leaf: &&[Word]| leaf[0].ends_with(b"printf");
        case.leaves()
            .iter()
            .filter(|leaf| !leaf.is_empty())
            .filter(|l| is_format(l))
            .all(|leaf| {
                let format = leaf.last().map_or(&b""[..], Vec::as_slice);
                let directives = format.split(|byte| *byte == b'%').skip(1);
                let letters = directives.filter_map(|d| d.iter().find(|b| b.is_ascii_alphabetic()));
                letters.into_iter().all(|letter| !unknown.contains(letter))
            })
    }
}

/// Returns words, each with a command line that shows whether it is known.
pub fn probes() -> Vec<(String, Vec<Word>)> {
    let words = |list: &[&str]| {
        list.iter()
            .map(|word| word.as_bytes().to_vec())
            .collect::<Vec<_>>()
    };
    let mut probes = Vec::new();
    for row in GLOBALS.iter().chain(TESTS) {
        let sample = (!row.sample.is_empty()).then_some(row.sample);
        let line: Vec<&str> = [".", row.name].into_iter().chain(sample).collect();
        probes.push((row.name.into(), words(&line)));
    }
    for (_, newline, zero) in ACTIONS {
        for action in [newline, zero] {
            let line: Vec<&str> = [&["."], *action].concat();
            probes.push((action[0].into(), words(&line)));
        }
    }
    for option in ["-H", "-L", "-P"] {
        probes.push((option.into(), words(&[option, "."])));
    }
    for dialect in DIALECTS {
        probes.push(((*dialect).into(), words(&[".", "-regextype", dialect])));
    }
    for letter in formats::DIRECTIVES {
        let format = format!("%{letter}");
        probes.push((format.clone(), words(&[".", "-printf", &format])));
    }
    probes.push(("-delete".into(), words(&[".", "-delete"])));
    probes.push(("-files0-from".into(), words(&["-files0-from", "/dev/null"])));
    probes.sort();
    probes.dedup_by(|a, b| a.0 == b.0);
    probes
}

/// What a command line may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Look only.
    Look,
    /// Delete: start points are relative, and tests do not look at attributes that differ between
    /// two copies of a tree.
    Delete,
    /// Change entries by commands and look at them afterwards, with the same restrictions.
    Change,
}

/// Draws random command lines.
#[derive(Debug)]
pub struct Grammar<'a> {
    /// Source of arguments.
    pub values: &'a Values,
    /// The words that may be used.
    pub vocabulary: &'a Vocabulary,
    /// Files that actions may write to.
    pub files: &'a [Word],
    /// Available locales.
    pub locales: &'a Locales,
    /// Whether reading a directory or a link leaves its access time unchanged.
    pub is_noatime: bool,
}

/// A command line under construction.
struct Drawing<'a, 'p> {
    grammar: &'a Grammar<'a>,
    prng: &'p mut Prng,
    purpose: Purpose,
    ending: Ending,
    /// Whether regular expressions are in an extended dialect.
    is_extended: bool,
    has_action: bool,
}

impl Grammar<'_> {
    /// Draws the next command line.
    pub fn draw(&self, prng: &mut Prng, purpose: Purpose) -> Case {
        let ending = if prng.once_in(2) {
            Ending::Newline
        } else {
            Ending::Zero
        };
        let mut drawing = Drawing {
            grammar: self,
            prng,
            purpose,
            ending,
            is_extended: false,
            has_action: false,
        };
        let mut case = Case {
            leading: drawing.leading(),
            globals: drawing.globals(),
            exprs: drawing.exprs(),
            env: environment::draw(drawing.prng, self.locales),
            start: drawing.start(),
            ..Case::default()
        };
        drawing.starts(&mut case);
        case
    }
}

impl Drawing<'_, '_> {
    fn knows(&self, word: &str) -> bool {
        self.grammar.vocabulary.knows(word)
    }

    /// Commands that change the tree start as usual, since unusual starts change their output.
    fn start(&mut self) -> Start {
        if self.purpose != Purpose::Look || !self.prng.once_in(12) {
            return Start::Usual;
        }
        *self.prng.pick(&[
            Start::NoInput,
            Start::NoOutput,
            Start::FullOutput,
            Start::UnreadOutput,
            Start::IgnoredSignals,
        ])
    }

    fn leading(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        if self.prng.once_in(12) {
            words.push(
                self.prng
                    .pick(&["-O0", "-O1", "-O2", "-O3"])
                    .as_bytes()
                    .to_vec(),
            );
        }
        for _ in 0..2 {
            let option = self.prng.word(&["-L", "-H", "-P", "-L"]);
            let may = self.purpose == Purpose::Look || option == "-P";
            if may && self.prng.once_in(5) && self.knows(option) {
                words.push(option.as_bytes().to_vec());
            }
        }
        words
    }

    fn starts(&mut self, case: &mut Case) {
        let values = self.grammar.values;
        let count = match self.prng.below(10) {
            0 => 0,
            1..7 => 1,
            7..9 => 2,
            _ => 3,
        };
        let purpose = self.purpose;
        let one = |prng: &mut Prng| match purpose {
            Purpose::Look => values.start(prng),
            Purpose::Delete | Purpose::Change => values.inner_start(prng),
        };
        let starts: Vec<Word> = (0..count).map(|_| one(self.prng)).collect();
        let from_file =
            purpose == Purpose::Look && self.prng.once_in(15) && self.knows("-files0-from");
        if !from_file {
            case.starts = starts;
            return;
        }
        case.starts_file = Some(starts);
        if self.prng.once_in(8) {
            case.starts = vec![b".".to_vec()];
        }
        let file = self.grammar.files.last().cloned().unwrap_or_default();
        case.globals.push(vec![b"-files0-from".to_vec(), file]);
    }

    fn globals(&mut self) -> Vec<Vec<Word>> {
        let mut found = Vec::new();
        while self.prng.once_in(3) {
            let row = weighted(self.prng, GLOBALS);
            if self.knows(row.name) {
                found.push(self.leaf(row));
            }
        }
        found
    }

    fn exprs(&mut self) -> Vec<Expr> {
        let mut exprs = Vec::new();
        if self.prng.once_in(60) {
            let mistake = *self.prng.pick(MISTAKES);
            exprs.push(Expr::leaf(mistake));
        }
        if !self.prng.once_in(10) {
            exprs.push(self.expr(3));
        }
        if self.purpose == Purpose::Delete {
            exprs.push(Expr::leaf(&["-delete"]));
            if self.prng.once_in(2) {
                exprs.push(Expr::leaf(&["-print"]));
            }
        } else if self.purpose == Purpose::Change {
            for _ in 0..1 + self.prng.below(2) {
                exprs.push(changes::change(self.prng));
                exprs.push(changes::look_behind(self.prng));
            }
        } else if !self.prng.once_in(4) {
            let last = self.action();
            // A list whose value does not count may be any list.
            if self.has_action && self.prng.once_in(8) {
                let other = Expr::Join(Operator::And, Vec::new(), vec![self.test(), self.action()]);
                exprs.push(last);
                let first = Expr::Join(Operator::And, Vec::new(), exprs);
                return vec![Expr::Join(
                    Operator::Comma,
                    b",".to_vec(),
                    vec![first, other],
                )];
            }
            exprs.push(last);
        }
        exprs
    }

    fn expr(&mut self, depth: u64) -> Expr {
        if depth == 0 || self.prng.once_in(3) {
            return self.test();
        }
        match self.prng.below(10) {
            0..2 => {
                let word = self.prng.word(&["!", "!", "-not"]);
                Expr::Not(word.as_bytes().to_vec(), Box::new(self.expr(depth - 1)))
            }
            2..5 => self.join(Operator::And, &["", "", "-a", "-and"], depth),
            5..8 => self.join(Operator::Or, &["-o", "-o", "-or"], depth),
            8 => Expr::Group(Box::new(self.expr(depth - 1))),
            _ => self.list(),
        }
    }

    fn join(&mut self, operator: Operator, spellings: &[&str], depth: u64) -> Expr {
        let word = self.prng.word(spellings).as_bytes().to_vec();
        let count = 2 + self.prng.below(4) / 3;
        let parts = (0..count).map(|_| self.expr(depth - 1)).collect();
        Expr::Join(operator, word, parts)
    }

    /// Draws a list whose last part is as cheap as the others.
    fn list(&mut self) -> Expr {
        let size = self.grammar.values.size(self.prng);
        let name = self.grammar.values.glob(self.prng);
        let parts = vec![
            Expr::Leaf(vec![b"-name".to_vec(), name]),
            Expr::Leaf(vec![b"-size".to_vec(), size]),
        ];
        Expr::Join(Operator::Comma, b",".to_vec(), parts)
    }

    fn test(&mut self) -> Expr {
        if self.purpose == Purpose::Look && self.prng.once_in(14) {
            return self.action();
        }
        for _ in 0..8 {
            let row = weighted(self.prng, TESTS);
            let of_copies =
                self.purpose == Purpose::Look || !changes::NOT_OF_COPIES.contains(&row.name);
            if self.knows(row.name) && of_copies {
                return match self.purpose {
                    Purpose::Look => self.guarded(row),
                    _ => self.of_no_link(row),
                };
            }
        }
        Expr::leaf(&["-true"])
    }

    /// Draws a test. Tests of access times exclude objects that are read during the search, unless
    /// reading does not change access times.
    fn guarded(&mut self, row: &Row) -> Expr {
        let leaf = Expr::Leaf(self.leaf(row));
        let is_of_access =
            row.name == "-used" || row.name.starts_with("-a") || row.name.starts_with("-newera");
        if self.grammar.is_noatime || !is_of_access {
            return leaf;
        }
        let no_folder = Expr::Not(b"!".to_vec(), Box::new(Expr::leaf(&["-type", "d,l"])));
        Expr::Group(Box::new(Expr::Join(
            Operator::And,
            Vec::new(),
            vec![no_folder, leaf],
        )))
    }

    /// Draws a test of anything but links: whether a link's target was changed before depends on
    /// the order of the walk.
    fn of_no_link(&mut self, row: &Row) -> Expr {
        let leaf = Expr::Leaf(self.leaf(row));
        if !changes::THROUGH_LINKS.contains(&row.name) {
            return leaf;
        }
        let no_link = Expr::Not(b"!".to_vec(), Box::new(Expr::leaf(&["-type", "l"])));
        let both = vec![no_link, leaf];
        Expr::Group(Box::new(Expr::Join(Operator::And, Vec::new(), both)))
    }

    fn leaf(&mut self, row: &Row) -> Vec<Word> {
        let mut words = vec![row.name.as_bytes().to_vec()];
        words.extend(self.argument(row.takes));
        words
    }

    fn argument(&mut self, takes: Takes) -> Option<Word> {
        use std::os::unix::fs::MetadataExt;
        let (values, prng) = (self.grammar.values, &mut *self.prng);
        let word = match takes {
            Takes::Nothing => return None,
            Takes::Glob => values.glob(prng),
            Takes::TargetGlob => values.target_glob(prng),
            Takes::PathGlob => values.path_glob(prng),
            Takes::Regex => values.regex(prng, self.is_extended),
            Takes::Size => values.size(prng),
            Takes::Links => values.number(prng, MetadataExt::nlink),
            Takes::Uid => values.number(prng, |meta| meta.uid().into()),
            Takes::Gid => values.number(prng, |meta| meta.gid().into()),
            Takes::Inode => values.inode(prng),
            Takes::Owner => values.owner(prng),
            Takes::Mode => values.mode(prng),
            Takes::Types => prng.word(TYPES).as_bytes().to_vec(),
            Takes::FileSystem => prng
                .pick(&["ext4", "tmpfs", "unknown", ""])
                .as_bytes()
                .to_vec(),
            Takes::Minutes => values.age(prng, 60),
            Takes::Days => values.age(prng, 86_400),
            Takes::Used => format!("{}{}", prng.word(&["", "+", "-"]), prng.below(4)).into_bytes(),
            Takes::Reference => values.reference(prng),
            Takes::Openable => values.openable(prng),
            Takes::Date => values.date(prng),
            Takes::Depth => prng.below(5).to_string().into_bytes(),
            Takes::Dialect => return Some(self.dialect()),
        };
        Some(word)
    }

    fn dialect(&mut self) -> Word {
        let known = |name: &&&str| self.grammar.vocabulary.knows(name);
        let list: Vec<&&str> = DIALECTS.iter().filter(known).collect();
        let dialect = if list.is_empty() {
            "emacs"
        } else {
            **self.prng.pick(&list)
        };
        self.is_extended = ["extended", "egrep", "awk"]
            .iter()
            .any(|part| dialect.contains(part));
        dialect.as_bytes().to_vec()
    }

    fn action(&mut self) -> Expr {
        self.has_action = true;
        let total: u64 = ACTIONS.iter().map(|action| action.0).sum();
        for _ in 0..8 {
            let mut at = self.prng.below(total);
            let found = ACTIONS.iter().find(|action| {
                let here = at < action.0;
                at = at.saturating_sub(action.0);
                here
            });
            let Some((_, newline, zero)) = found else {
                break;
            };
            let words = if self.ending == Ending::Newline {
                newline
            } else {
                zero
            };
            if self.knows(words[0]) {
                return Expr::Leaf(words.iter().map(|word| self.filled(word)).collect());
            }
        }
        Expr::leaf(&["-print"])
    }

    fn filled(&mut self, word: &str) -> Word {
        match word {
            "%FORMAT" => {
                let vocabulary = self.grammar.vocabulary;
                let is_noatime = self.grammar.is_noatime;
                let knows = |name: &str| vocabulary.knows(name) && (is_noatime || name != "%a");
                formats::draw(self.prng, self.ending, &knows)
            }
            "%FILE" => {
                let files = self
                    .grammar
                    .files
                    .split_last()
                    .map_or(&[][..], |(_, rest)| rest);
                let special: &[u8] = self.prng.word(&["/dev/stdout", "/dev/stderr"]).as_bytes();
                if files.is_empty() || self.prng.once_in(10) {
                    return special.to_vec();
                }
                self.prng.pick(files).clone()
            }
            _ => word.as_bytes().to_vec(),
        }
    }
}

fn weighted<'r>(prng: &mut Prng, rows: &'r [Row]) -> &'r Row {
    let mut at = prng.below(rows.iter().map(|row| row.weight).sum());
    for row in rows {
        if at < row.weight {
            return row;
        }
        at -= row.weight;
    }
    &rows[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finders::plan::Plan;

    #[test]
    fn every_word_comes_up_unless_it_is_unknown() {
        let scratch = crate::scratch::Scratch::new("grammar");
        let plan = Plan::new(1, 1_700_000_000);
        let _mounted = crate::finders::build::build(scratch.path(), &plan).expect("a tree");
        let values = Values::read(scratch.path(), &plan);
        let mut vocabulary = Vocabulary::default();
        vocabulary.unknown.insert("-xtype".into());
        let grammar = Grammar {
            values: &values,
            vocabulary: &vocabulary,
            files: &[b"one".to_vec(), b"starts".to_vec()],
            locales: &Locales::default(),
            is_noatime: true,
        };
        let mut prng = Prng::new(1);
        let mut seen = BTreeSet::new();
        for _ in 0..3_000 {
            let case = grammar.draw(&mut prng, Purpose::Look);
            assert!(vocabulary.knows_all(&case), "{}", case.shown("find"));
            seen.extend(case.words());
        }
        for row in TESTS.iter().chain(GLOBALS) {
            assert_eq!(
                seen.contains(row.name.as_bytes()),
                row.name != "-xtype",
                "{}",
                row.name
            );
        }
    }
}
