//! Photos and videos by directory and time: "Photos taken in the same event" (the paper's Table 4).
//!
//! An event is a run of files, ordered by time, without a pause longer than the rule's. Its key is
//! the directory and the time of its first file. So the id of an event changes when that file is
//! changed or removed, when an earlier one is added, or when two events become one.

use std::collections::HashMap;
use std::sync::Arc;

use trawl_model::Timestamp;
use trawl_text::glob::Case;

use super::last_name;
use crate::directory::{Directory, Entry};
use crate::hints::{Hints, Sought};
use crate::identity::{Extent, Identity};
use crate::rules::{EventsRule, Names};
use crate::source::{Claim, Claims, Source, Why, claim_each};

/// Claims photos and videos.
#[derive(Debug)]
pub(crate) struct Events {
    rule: Arc<str>,
    files: Names,
    beside: Names,
    gap_ns: i128,
}

impl Events {
    pub(crate) fn new(rule: &EventsRule) -> Events {
        Events {
            rule: rule.name.as_str().into(),
            files: Names::new(&rule.files, Case::Folded),
            beside: Names::new(&rule.beside, Case::Folded),
            gap_ns: i128::from(rule.gap_hours) * 3600 * 1_000_000_000,
        }
    }

    fn event(&self, dir: &[u8], first: Timestamp) -> Arc<Identity> {
        let mut name = last_name(dir);
        if let Ok(time) = jiff::Timestamp::from_second(first.secs) {
            name.extend(time.strftime(" %Y-%m-%d").to_string().bytes());
        }
        let key = [dir, &first.secs.to_le_bytes(), &first.nanos.to_le_bytes()];
        Identity::new(&self.rule, &key, name, Extent::In(dir.into()))
    }

    /// Claims the photos and videos. Returns the event of each, by name without the ending and by
    /// the whole name.
    fn claim_files<'d>(
        &self,
        dir: &Directory<'d>,
        claims: &mut Claims,
    ) -> HashMap<&'d [u8], Arc<Identity>> {
        let is_ours = |(at, entry): &(usize, &Entry)| {
            !entry.is_dir && claims[*at].is_none() && self.files.matches(&entry.name)
        };
        let mut ours: Vec<(usize, &Entry)> =
            dir.entries.iter().enumerate().filter(is_ours).collect();
        ours.sort_by_key(|(_, entry)| (entry.mtime, &entry.name));
        let mut events = HashMap::new();
        let mut last: Option<(Timestamp, Arc<Identity>)> = None;
        for (at, entry) in ours {
            let group = match &last {
                Some((before, group))
                    if entry.mtime.as_nanos() - before.as_nanos() <= self.gap_ns =>
                {
                    Arc::clone(group)
                }
                _ => self.event(dir.path, entry.mtime),
            };
            last = Some((entry.mtime, Arc::clone(&group)));
            events.insert(stem(&entry.name), Arc::clone(&group));
            events.insert(&entry.name[..], Arc::clone(&group));
            claims[at] = Some(Claim {
                group,
                why: Why::Event,
            });
        }
        events
    }
}

/// Returns the name without its ending.
fn stem(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|byte| *byte == b'.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

impl Source for Events {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        match sought.name() {
            Some(name) => {
                hints.below_directories_named(name);
                // A date follows the directory's name.
                if let Some(at) = name.iter().rposition(|byte| *byte == b' ') {
                    hints.below_directories_named(&name[..at]);
                }
            }
            // The key has a time, so the directory does not say it.
            None => hints.anywhere_unless_found(),
        }
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        let events = self.claim_files(dir, claims);
        if events.is_empty() {
            return;
        }
        claim_each(dir, claims, |at| {
            let name = &dir.entries[at].name;
            let event = events.get(stem(name))?;
            let is_beside = self.beside.matches(name);
            is_beside.then(|| Claim {
                group: Arc::clone(event),
                why: Why::Beside,
            })
        });
    }
}
