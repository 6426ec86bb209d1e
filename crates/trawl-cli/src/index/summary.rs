//! Summary of a scan, for people and for programs.

use std::fmt::Write as _;
use std::path::Path;

use trawl_indexer::{Issues, LeftOut, Summary};
use trawl_model::Issue;
use trawl_text::units::{Scale, format};
use trawl_writer::Committed;

use crate::failure::{quoted, shown};
use crate::index::IssuesShown;
use crate::index::progress::{counted, grouped, rate};

pub(crate) use trawl_text::words::described;

/// Returns three lines for people, and more if something was left out or older snapshots changed.
pub(crate) fn text(done: &Summary, index: &Path) -> String {
    let totals = &done.committed.totals;
    let entries = totals.entries;
    let mut out = format!(
        "{}: {} in {}, {}\n",
        shown(&done.root),
        counted(entries, "entry"),
        counted(totals.dirs, "directory"),
        counted(totals.issues, "issue"),
    );
    let _ = writeln!(
        out,
        "  {} in {} ({} bytes an entry){}",
        format(u128::from(done.committed.size_bytes), Scale::Binary),
        index.display(),
        tenths(done.committed.size_bytes, entries),
        shared(&done.committed),
    );
    if done.committed.shards > 1 {
        let _ = writeln!(out, "  {}", shards_line(&done.committed.shard_rows));
    }
    let _ = writeln!(
        out,
        "  {}.{:02} s ({} entries/s), snapshot {}",
        done.elapsed.as_secs(),
        done.elapsed.subsec_millis() / 10,
        grouped(rate(entries, done.elapsed)),
        done.committed.id,
    );
    out.push_str(&left_out_line(&done.left_out));
    let older = done.committed.tightened.snapshots.len();
    if older > 0 {
        let _ = writeln!(
            out,
            "  {} of {} got stricter guards",
            counted(done.committed.tightened.directories, "directory"),
            counted(u64::try_from(older).unwrap_or(u64::MAX), "older snapshot"),
        );
    }
    out
}

/// Says how much is new, unless everything is.
fn shared(committed: &Committed) -> String {
    let Committed {
        size_bytes,
        new_bytes,
        ..
    } = *committed;
    match new_bytes == size_bytes {
        true => String::new(),
        false => format!(
            ", {} of it new",
            format(u128::from(new_bytes), Scale::Binary)
        ),
    }
}

/// Returns a line about patterns; empty if nothing is left out.
fn left_out_line(left_out: &LeftOut) -> String {
    let why = match left_out.is_remembered {
        true => " (as in the last scan; --no-exclude reads everything)",
        false => "",
    };
    match left_out.patterns.is_empty() {
        true => String::new(),
        false => format!("  left out: {}{why}\n", listed(&left_out.patterns)),
    }
}

/// Returns patterns as text, quoted and separated by commas.
pub(crate) fn listed(patterns: &[Vec<u8>]) -> String {
    let all = patterns.iter().map(|pattern| quoted(pattern));
    all.collect::<Vec<_>>().join(", ")
}

/// Lists issues on standard error, as many as were asked for; those already shown are not repeated.
pub(crate) fn say_issues(issues: &Issues, which: IssuesShown) {
    if which != IssuesShown::First {
        return;
    }
    for issue in &issues.first {
        eprintln!("{}", issue_line(issue));
    }
    let listed = u64::try_from(issues.first.len()).unwrap_or(u64::MAX);
    if issues.count > listed {
        let rest = counted(issues.count - listed, "more issue");
        eprintln!("trawl: {rest}: --issues all lists all, trawl sources --json counts them");
    }
}

/// Returns an issue as a message: `trawl: opendir /root/x: permission denied`.
pub(crate) fn issue_line(issue: &Issue) -> String {
    format!("trawl: {}", described(issue))
}

/// Counts the shards by size: each bound is a power of ten, and is present only if some shards have
/// at most this many rows.
pub(super) fn by_rows(shard_rows: &[u64]) -> Vec<(u64, usize)> {
    let mut counts: Vec<(u64, usize)> = Vec::new();
    for rows in shard_rows {
        let mut bound = 10u64;
        while bound < *rows {
            bound = bound.saturating_mul(10);
        }
        match counts.last_mut() {
            Some((last, count)) if *last == bound => *count += 1,
            _ => counts.push((bound, 1)),
        }
    }
    counts
}

/// Formats the counts: `711 shards: 180 of up to 10 rows, 220 of up to 100`.
fn shards_line(shard_rows: &[u64]) -> String {
    let mut out = format!("{} shards:", shard_rows.len());
    for (nth, (bound, count)) in by_rows(shard_rows).into_iter().enumerate() {
        let (before, unit) = if nth == 0 { ("", " rows") } else { (",", "") };
        let _ = write!(out, "{before} {count} of up to {}{unit}", grouped(bound));
    }
    out
}

/// Formats a quotient with one decimal.
fn tenths(bytes: u64, entries: u64) -> String {
    let tenths = u128::from(bytes) * 10 / u128::from(entries.max(1));
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{Errno, Op};

    fn issue(op: Op) -> Issue {
        Issue {
            path: b"/a\nb".to_vec(),
            op,
            errno: Errno(13),
            detail: String::new(),
        }
    }

    #[test]
    fn issues_say_what_was_tried_where() {
        assert_eq!(
            issue_line(&issue(Op::OpenDir)),
            "trawl: opendir /a\\nb: permission denied"
        );
        let parse = Issue {
            errno: Errno(0),
            detail: "line 3".into(),
            ..issue(Op::Parse)
        };
        assert_eq!(described(&parse), "parse /a\\nb: line 3");
        let line = crate::index::events::issue(&parse);
        assert!(
            serde_json::from_str::<serde_json::Value>(&line).is_ok(),
            "{line}"
        );
    }

    #[test]
    fn shards_are_counted_by_their_rows() {
        let rows = [0, 3, 10, 11, 100, 2_000_000];
        assert_eq!(
            shards_line(&rows),
            "6 shards: 3 of up to 10 rows, 2 of up to 100, 1 of up to 10,000,000"
        );
        assert_eq!(by_rows(&rows)[1], (100, 2));
    }

    #[test]
    fn quotients_are_cut() {
        assert_eq!(tenths(99, 10), "9.9");
        assert_eq!(tenths(5, 0), "5.0");
    }
}
