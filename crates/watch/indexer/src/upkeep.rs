//! Maintenance of an index: checks its bytes, removes data that no snapshot needs, removes old
//! snapshots, rebuilds name sidecars.

use std::collections::BTreeSet;

use trawl_format::retention::{Rule, RuleAt, Verdict};
use trawl_format::source::OwnRule;
use trawl_format::usage::usage;
use trawl_format::{IndexDir, SnapshotId, Source};
use trawl_model::Timestamp;
use trawl_text::zone::Zone;
use trawl_writer::Rebuilt;
use trawl_writer::check_bundles;
use trawl_writer::gc::Collected;
use trawl_writer::verify::{Scope, Verified};

use crate::error::{IndexerError, Result};
use crate::event::{Event, Listener, Notice};

/// Default number of snapshots that are kept for each source. The previous one may still be read by
/// a question that began before the scan ended.
const NEWEST_KEPT: u32 = 2;

/// Which snapshots to keep: by a given rule, or by each source's own.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    given: Option<Rule>,
}

impl Retention {
    /// Keeps snapshots by this rule; without one, each source's own rule holds.
    pub fn new(given: Option<Rule>) -> Retention {
        Retention { given }
    }

    /// Returns the rule, if one was given.
    pub fn rule(&self) -> Option<&Rule> {
        self.given.as_ref()
    }

    /// Returns the rule for a source: the one given, else the source's own, else the current
    /// snapshot and the one before.
    ///
    /// # Errors
    /// If the source's own rule cannot be read, or only the owner of the index may know it.
    pub fn rule_for(&self, source: &Source) -> Result<Rule> {
        if let Some(rule) = &self.given {
            return Ok(rule.clone());
        }
        match source.retention()? {
            OwnRule::Set(rule) => Ok(rule),
            OwnRule::Unset => Ok(Rule::last(NEWEST_KEPT)),
            OwnRule::Hidden => Err(IndexerError::OthersRule {
                root: source.root().to_vec(),
                owner: source.dir().owner()?,
            }),
        }
    }
}

/// Calls `act` with the rule, the current time and the local time zone.
pub fn with_rule<T>(rule: &Rule, now: Timestamp, act: impl FnOnce(RuleAt<'_>) -> T) -> T {
    let zone = Zone::local();
    let local = |time: Timestamp| {
        let offset = zone.civil(time.secs).offset_secs;
        time.secs.saturating_add(offset.into())
    };
    act(RuleAt {
        rule,
        now,
        local: &local,
    })
}

/// Removes a source's expired snapshots after a scan. A failure does not undo the scan.
///
/// # Errors
/// If the index cannot be read or written.
pub fn retain(
    index: &IndexDir,
    root: &[u8],
    (retention, now): (&Retention, Timestamp),
    listener: &mut dyn Listener,
) -> Result<()> {
    if let Some(source) = index.source(root)? {
        let done = collect(&source, retention, now)?;
        for notice in Notice::damaged(&done) {
            listener.hear(&Event::Notice(notice));
        }
    }
    Ok(())
}

/// Removes a source's expired snapshots and data that no snapshot needs. Returns what was removed,
/// and which files are damaged.
///
/// # Errors
/// If the source cannot be read or written, or is being written by another process.
pub fn collect(source: &Source, retention: &Retention, now: Timestamp) -> Result<Collected> {
    let rule = retention.rule_for(source)?;
    Ok(with_rule(&rule, now, |rule| {
        trawl_writer::gc::collect(source, rule)
    })?)
}

/// What [`collect`] would do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rule for the source.
    pub rule: Rule,
    /// The decision about each snapshot, newest first; one without reasons goes.
    pub verdicts: Vec<Verdict>,
    /// Number of snapshots that would go.
    pub removed: usize,
    /// Space that would be free, in bytes.
    pub freed_bytes: u64,
}

/// Returns what [`collect`] would do to a source, and changes nothing.
///
/// # Errors
/// If the source cannot be read.
pub fn plan(source: &Source, retention: &Retention, now: Timestamp) -> Result<Plan> {
    let rule = retention.rule_for(source)?;
    let usage = usage(source)?;
    let ids: Vec<SnapshotId> = usage.snapshots.iter().map(|s| s.id).collect();
    let verdicts = with_rule(&rule, now, |rule| rule.judge(&ids));
    let gone = verdicts.iter().filter(|verdict| verdict.reasons.is_empty());
    let gone: BTreeSet<SnapshotId> = gone.map(|verdict| verdict.id).collect();
    Ok(Plan {
        removed: gone.len(),
        freed_bytes: usage.freed_bytes(&gone),
        rule,
        verdicts,
    })
}

/// Rebuilds missing and damaged name sidecars of a source. Returns how many were written and how
/// many were sound.
///
/// # Errors
/// If a segment cannot be read, a file cannot be written, or the source is being written by another
/// process.
pub fn rebuild_names(source: &Source) -> Result<Rebuilt> {
    Ok(trawl_writer::rebuild_names(source)?)
}

/// Checks every byte of an index. Returns the findings, and how much was checked.
///
/// # Errors
/// If the index cannot be listed; damaged files are findings.
pub fn verify(index: &IndexDir) -> Result<Verified> {
    let mut done = trawl_writer::verify::verify(index, Scope::All)?;
    // The rows of a damaged index cannot be checked further.
    if !done.has_damage() {
        for source in index.sources()? {
            done.findings.extend(check_bundles(&source)?);
        }
    }
    for source in index.sources()? {
        crate::text::check(index, &source, &mut done)?;
        crate::indices::check(&source, &mut done)?;
    }
    Ok(done)
}
