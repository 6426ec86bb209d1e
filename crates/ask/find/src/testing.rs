//! Shared helpers for the tests of predicates: an expression is evaluated on
//! one row.
//!
//! Rows lie in the directory `./top` (stored as `/w/top`) of a search that
//! began at `.`.

pub(crate) mod ages;

use std::collections::HashSet;

use trawl_model::Timestamp;
use trawl_model::rows::{NO_BTIME, Row, RowBatch};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::context::{Context, StartPoint, World};
use crate::environment::{Environment, Warnings};
use crate::error::FindError;
use crate::expr::Expr;
use crate::grouping::{Group, Grouping, Members, Relations};
use crate::leaf::Effect;
use crate::lookups::{AttributeTest, Emptiness, Lookups};
use crate::parser::{Parsed, Program, parse};
use crate::probe::{Access, Cause, NameInDirectory, Probe, Target};
use crate::reference::{Reference, References};
use crate::traversal::Follow;

/// The time at which tests run: 2023-11-14 22:13:20 UTC and five nanoseconds.
pub(crate) const NOW: Timestamp = Timestamp {
    secs: 1_700_000_000,
    nanos: 5,
};

/// The row of a test.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) name: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) blocks: u64,
    pub(crate) nlink: u32,
    pub(crate) ino: u64,
    pub(crate) dev: u64,
    pub(crate) rdev: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) target: &'static str,
    pub(crate) xattr_names: &'static [u8],
    pub(crate) acl: &'static [u8],
    pub(crate) acl_default: &'static [u8],
    pub(crate) atime: Timestamp,
    pub(crate) mtime: Timestamp,
    pub(crate) ctime: Timestamp,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            name: b"name".to_vec(),
            mode: 0o100_644,
            size: 0,
            blocks: 0,
            nlink: 1,
            ino: 1,
            dev: 1,
            rdev: 0,
            uid: 0,
            gid: 0,
            target: "",
            xattr_names: b"",
            acl: b"",
            acl_default: b"",
            atime: NOW,
            mtime: NOW,
            ctime: NOW,
        }
    }
}

impl Spec {
    pub(crate) fn named(name: &str) -> Spec {
        Spec {
            name: name.into(),
            ..Spec::default()
        }
    }

    pub(crate) fn atime_ago(mut self, secs: i64) -> Spec {
        self.atime = NOW.minus_secs(secs);
        self
    }

    pub(crate) fn mtime_ago(mut self, secs: i64) -> Spec {
        self.mtime = NOW.minus_secs(secs);
        self
    }

    pub(crate) fn ctime_ago(mut self, secs: i64) -> Spec {
        self.ctime = NOW.minus_secs(secs);
        self
    }

    fn batch(&self) -> RowBatch {
        let mut batch = batch_of_names(&[&self.name]);
        batch.xattr_names.push(self.xattr_names);
        batch.acl.push(self.acl);
        batch.acl_default.push(self.acl_default);
        batch.mode = vec![self.mode];
        batch.size = vec![self.size];
        batch.blocks = vec![self.blocks];
        batch.nlink = vec![self.nlink];
        batch.ino = vec![self.ino];
        batch.dev = vec![self.dev];
        batch.rdev = vec![self.rdev];
        batch.uid = vec![self.uid];
        batch.gid = vec![self.gid];
        batch.link_target.push(self.target.as_bytes());
        (batch.atime, batch.atime_ns) = (vec![self.atime.secs], vec![self.atime.nanos]);
        (batch.mtime, batch.mtime_ns) = (vec![self.mtime.secs], vec![self.mtime.nanos]);
        (batch.ctime, batch.ctime_ns) = (vec![self.ctime.secs], vec![self.ctime.nanos]);
        (batch.btime, batch.btime_ns) = (vec![NO_BTIME], vec![0]);
        batch
    }
}

/// A batch of rows that have names and no other column.
pub(crate) fn batch_of_names(names: &[&[u8]]) -> RowBatch {
    let mut batch = RowBatch {
        len: names.len(),
        ..RowBatch::default()
    };
    names.iter().for_each(|name| batch.name.push(name));
    batch
}

/// Knows one file, `here`: inode 7 on device 3, modified 100 seconds ago and
/// accessed 50 seconds ago.
#[derive(Debug)]
struct OneFile;

impl References for OneFile {
    fn attributes(&self, path: &[u8], _: Follow) -> Result<Reference, String> {
        if path != b"here" {
            return Err("No such file or directory".into());
        }
        Ok(Reference {
            dev: 3,
            ino: 7,
            atime: NOW.minus_secs(50),
            mtime: NOW.minus_secs(100),
            ctime: NOW.minus_secs(100),
            btime: None,
        })
    }
}

/// Answers from the lookups. Targets of links are missing, and every access is
/// permitted.
pub(crate) struct LookedUp(pub(crate) Lookups);

impl Probe for LookedUp {
    fn is_empty_directory(&self, row: &Row<'_>, _: &[u8]) -> Result<bool, Cause> {
        self.0.empty_directories.holds(&row.path())
    }

    fn target(&self, _: &Row<'_>, _: &[u8]) -> Target {
        Target::Missing
    }

    fn own_type(&self, row: &Row<'_>, _: &[u8]) -> Target {
        Target::Is(row.file_type())
    }

    fn may(&self, _: &Row<'_>, _: &[u8], _: Access) -> bool {
        true
    }

    fn has_attribute(&self, row: &Row<'_>, _: &[u8], test: &AttributeTest) -> bool {
        self.0.has_attribute(test, || row.path())
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<NameInDirectory<'_>> {
        None
    }

    fn content(&self, row: &Row<'_>, _: &[u8]) -> Result<std::fs::File, Cause> {
        match row.name() {
            b"closed" => Err(Cause("Permission denied".into())),
            name => Ok(content_of(name)),
        }
    }
}

/// Returns a file that contains its name.
fn content_of(name: &[u8]) -> std::fs::File {
    use std::io::{Seek, Write};
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(name).expect("it can be written");
    file.rewind().expect("it can be read again");
    file
}

/// The group `ours`, of the file `here`, and the file related to it.
#[derive(Debug)]
struct OneGroup;

impl Grouping for OneGroup {
    fn members_with(&self, path: &[u8]) -> Result<Members, String> {
        if path != b"here" {
            return Err(format!(
                "there is no file {}",
                String::from_utf8_lossy(path)
            ));
        }
        self.members_of(b"ours")
    }

    fn members_of(&self, group: &[u8]) -> Result<Members, String> {
        if group != b"ours" {
            return Err(format!(
                "there is no group {}",
                String::from_utf8_lossy(group)
            ));
        }
        let mut members = Members::default();
        members.add(b"/w/top", b"name");
        members.add(b"/w", b"other");
        Ok(members)
    }

    fn groups_below(&self, _: &[Vec<u8>]) -> Result<Vec<Group>, String> {
        Ok(Vec::new())
    }

    fn related_to(&self, path: &[u8], wanted: &Relations) -> Result<Members, String> {
        self.members_with(path)?;
        let mut related = Members::default();
        related.add(b"/w/top", b"name");
        if wanted.depth > 1 {
            related.add(b"/w/top", b"far");
        }
        Ok(related)
    }
}

pub(crate) fn environment() -> Environment {
    Environment {
        now: NOW,
        locale: Locale::Utf8,
        terminal: Terminal::Absent,
        warnings: Warnings::Hidden,
        zone: Zone::utc,
        ls_block_bytes: 1024,
        is_posix: false,
        started: |_| {},
        foresight: || None,
        contents: Default::default(),
        grouping: std::sync::Arc::new(OneGroup),
        references: Box::new(OneFile),
        framing: None,
    }
}

pub(crate) fn world() -> World {
    World {
        now: NOW,
        zone: Zone::utc(),
        owners: Default::default(),
        locale: Locale::Utf8,
        started: |_| {},
        foresight: || None,
        contents: Default::default(),
        questions: Default::default(),
        terminal: Terminal::Absent,
        ls_block_bytes: 1024,
        file_systems: Default::default(),
        follow: Follow::Never,
        races: Default::default(),
    }
}

pub(crate) fn parse_words(words: &str) -> Result<Parsed, FindError> {
    let words: Vec<Vec<u8>> = words
        .split_whitespace()
        .map(|w| w.as_bytes().to_vec())
        .collect();
    parse(&words, &environment()).map_err(|refusal| refusal.error)
}

/// Like [`run_on`], for words that hold blanks.
pub(crate) fn run_words(words: &[&str], spec: &Spec) -> Run {
    let words: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
    match parse(&words, &environment()) {
        Ok(Parsed::Search(program)) => run_program(&program, spec),
        other => panic!("{words:?}: {other:?}"),
    }
}

/// Parses words that GNU find accepts.
pub(crate) fn program(words: &str) -> Program {
    match parse_words(words) {
        Ok(Parsed::Search(program)) => *program,
        other => panic!("{words}: {other:?}"),
    }
}

/// Returns the message for words that GNU find refuses.
pub(crate) fn error_of(words: &str) -> String {
    match parse_words(words) {
        Err(error) => error.to_string(),
        Ok(other) => panic!("{words}: {other:?}"),
    }
}

/// The expression before the default action was added.
pub(crate) fn expression(words: &str) -> Expr {
    let program = program(words);
    match program.expr {
        Expr::And(mut parts) if program.prints_by_default && parts.len() == 2 => parts.remove(0),
        other => other,
    }
}

/// Describes the tree of an expression.
pub(crate) fn shape(expr: &Expr) -> String {
    let list = |name: &str, parts: &[Expr]| {
        let parts: Vec<String> = parts.iter().map(shape).collect();
        format!("{name}({})", parts.join(" "))
    };
    match expr {
        Expr::Leaf(node) => node.predicate.name.trim_start_matches('-').to_owned(),
        Expr::Not(inner) => format!("not({})", shape(inner)),
        Expr::And(parts) => list("and", parts),
        Expr::Or(parts) => list("or", parts),
        Expr::Comma(parts) => list("comma", parts),
        Expr::Sorted(_, inner) => format!("sorted({})", shape(inner)),
    }
}

/// A condition on the rows for which the words have an effect.
pub(crate) fn filter_of(words: &str) -> Option<trawl_model::filter::Filter> {
    program(words)
        .expr
        .filter_for(&[Effect::Output, Effect::Quit, Effect::Prune])
}

/// The effects of an expression on a row.
pub(crate) struct Run {
    pub(crate) printed: Vec<u8>,
    pub(crate) complaints: Vec<u8>,
    pub(crate) pruned: bool,
    pub(crate) quit: bool,
}

/// Evaluates the words, with the default action, on the row. `/w/top/bare` is
/// an empty directory, `/w/top/name` has the attributes `trusted.seen` (1) and
/// `user.mime` (text/plain).
pub(crate) fn run_on(words: &str, spec: &Spec) -> Run {
    run_program(&program(words), spec)
}

fn run_program(program: &Program, spec: &Spec) -> Run {
    let (mut world, batch) = (world(), spec.batch());
    world.questions = program.questions.clone();
    let paths = |path: &str| HashSet::from([path.as_bytes().to_vec()]);
    let mut lookups = Lookups {
        empty_directories: Emptiness {
            empty: paths("/w/top/bare"),
            ..Emptiness::default()
        },
        ..Lookups::default()
    };
    program.expr.leaves(&mut |node| {
        let attributes: [(&[u8], &[u8]); 2] =
            [(b"trusted.seen", b"1"), (b"user.mime", b"text/plain")];
        if let Some(test) = node.leaf.attribute_test()
            && attributes
                .iter()
                .any(|(name, value)| test.looks_up(name) && test.admits(value))
            && test.needs_lookup()
        {
            lookups
                .with_attribute
                .insert(test.word.clone(), paths("/w/top/name"));
        }
    });
    let probe = LookedUp(lookups);
    let start = StartPoint {
        spelled: b".".to_vec(),
        stored: b"/w".to_vec(),
    };
    let mut cx = Context::new(&world, &start, &probe);
    cx.enter_below(&[b"top"], 1);
    let row = Row {
        batch: &batch,
        at: 0,
        dir: b"/w/top",
    };
    program.expr.eval(&row, &mut cx);
    Run {
        pruned: cx.pruned,
        quit: cx.quit,
        complaints: cx.complaints,
        printed: cx.out.finish(&mut Default::default()),
    }
}

/// Returns whether the words, which hold no action, are true of the row.
pub(crate) fn matches(words: &str, spec: &Spec) -> bool {
    !run_on(words, spec).printed.is_empty()
}
