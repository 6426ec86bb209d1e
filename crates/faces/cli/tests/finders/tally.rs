//! Counts of the questions, to show that they were substantial, and for the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::known::Asker;
use trawl_testkit::finders::compare::Likeness;
use trawl_testkit::finders::{Answer, Side};

/// Compared answers of one side.
#[derive(Clone, Debug, Default)]
struct Compared {
    questions: usize,
    records: usize,
    messages: usize,
    failures: usize,
    same_order: usize,
    same_wording: usize,
    /// Some messages whose wording differs: find's and ours.
    wordings: BTreeSet<(String, String)>,
}

/// Counts of the questions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    sides: BTreeMap<&'static str, Compared>,
    /// Number of questions by side and by user.
    askers: BTreeMap<(&'static str, &'static str), usize>,
    /// Questions to bfs: those that it answered like find, and the others.
    pub(crate) bfs: (usize, usize),
    /// Number of times that a side was not asked a command line.
    pub(crate) left_out: usize,
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Gnu => "find",
        Side::Bfs => "bfs",
        Side::Index => "index",
        Side::Live => "live",
    }
}

/// Returns the first line that one answer has and the other lacks.
fn only(one: &Answer, other: &Answer) -> String {
    let (one, other) = (one.ran.errors(), other.ran.errors());
    let line = one
        .lines()
        .find(|line| !other.lines().any(|theirs| theirs == *line));
    line.unwrap_or_default().chars().take(200).collect()
}

impl Tally {
    /// Counts one comparison without differences.
    pub(crate) fn add(
        &mut self,
        side: Side,
        asker: Asker,
        theirs: &Answer,
        ours: &Answer,
        likeness: Likeness,
    ) {
        let who = match asker {
            Asker::Ourselves => "ourselves",
            Asker::User => "an ordinary user",
        };
        *self.askers.entry((name(side), who)).or_default() += 1;
        let compared = self.sides.entry(name(side)).or_default();
        let lines = |bytes: &[u8]| {
            bytes
                .iter()
                .filter(|byte| matches!(byte, b'\n' | 0))
                .count()
        };
        compared.questions += 1;
        compared.records += lines(&ours.ran.stdout);
        compared.messages += lines(&ours.ran.stderr);
        compared.failures += usize::from(ours.ran.code != Some(0));
        compared.same_order += usize::from(likeness.order);
        compared.same_wording += usize::from(likeness.wording);
        if !likeness.wording {
            compared
                .wordings
                .insert((only(theirs, ours), only(ours, theirs)));
        }
    }

    /// Fails if a run of this many command lines compared almost nothing.
    pub(crate) fn expect_substance(&self, sides: usize, cases: u64) {
        assert!(self.sides.len() >= sides, "a side was never asked:\n{self}");
        for compared in self.sides.values() {
            let asked = compared.questions as u64;
            assert!(asked * 3 > cases, "too few questions:\n{self}");
            assert!(
                compared.records as u64 > cases && compared.failures > 0,
                "{self}"
            );
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, it) in &self.sides {
            writeln!(
                f,
                "{name}: {} questions, {} records, {} messages, {} exit codes other than 0; the same \
                 order {}, the same wording {}",
                it.questions, it.records, it.messages, it.failures, it.same_order, it.same_wording
            )?;
            for (theirs, ours) in it.wordings.iter().take(8) {
                writeln!(f, "  find says {theirs}\n  {name} says {ours}")?;
            }
        }
        for ((side, who), questions) in &self.askers {
            writeln!(f, "{side}, as {who}: {questions} questions")?;
        }
        let (same, others) = self.bfs;
        writeln!(f, "bfs: as find {same} times, otherwise {others} times")?;
        writeln!(
            f,
            "not asked, because words are unknown or the index is known to differ: {}",
            self.left_out
        )
    }
}
