//! Summary of a scan.

use std::time::Duration;

use trawl_model::Issue;
use trawl_scan::Progress;
use trawl_writer::Committed;

use crate::left_out::LeftOut;

/// Maximum number of issues that a summary has; all are counted, and reported as they are found.
pub const LISTED_ISSUES: usize = 20;

/// Paths that could not be read.
#[derive(Clone, Debug, Default)]
pub struct Issues {
    /// Number of all issues.
    pub count: u64,
    /// Number of issues that leave a part of the tree unread.
    pub hiding: u64,
    /// The first issues, at most [`LISTED_ISSUES`].
    pub first: Vec<Issue>,
}

impl Issues {
    /// Counts an issue, and keeps it if it is among the first.
    pub fn note(&mut self, issue: &Issue) {
        self.count += 1;
        self.hiding += u64::from(issue.op.hides_entries());
        if self.first.len() < LISTED_ISSUES {
            self.first.push(issue.clone());
        }
    }
}

/// A committed scan.
#[derive(Debug)]
pub struct Summary {
    /// Root of the source.
    pub root: Vec<u8>,
    /// Patterns that were left out.
    pub left_out: LeftOut,
    /// Counts of the scanner, without the root's own entry.
    pub counts: Progress,
    /// Data that was written, and changes to older snapshots.
    pub committed: Committed,
    /// Paths that could not be read.
    pub issues: Issues,
    /// Time from the first to the last system call.
    pub elapsed: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{Errno, Op};

    #[test]
    fn only_what_hides_entries_makes_an_answer_incomplete() {
        let issue = |op| Issue {
            path: b"/a\nb".to_vec(),
            op,
            errno: Errno(13),
            detail: String::new(),
        };
        let mut issues = Issues::default();
        for _ in 0..30 {
            issues.note(&issue(Op::OpenDir));
            issues.note(&issue(Op::GetXattr));
        }
        assert_eq!(
            (issues.count, issues.hiding, issues.first.len()),
            (60, 30, LISTED_ISSUES)
        );
    }
}
