//! The number of entries and bytes, by type, extension, size, age, owner and other attributes.

mod groups;
mod kinds;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_model::{FileType, Timestamp};
use trawl_query::{Count, Repeats, RowTest, Start, Stats, StatsRequest, Trait};
use trawl_session::{Depth, Follow, Part, Session};
use trawl_text::owners::Owners;

use self::groups::combined;
pub(crate) use self::groups::groups;
pub use self::groups::{Group, Sums, arranged};
pub use self::kinds::{By, Kinds};
use crate::error::AnswerError;
use crate::expression::Expression;

/// Options of [`stats`].
pub struct StatsOptions<'a> {
    /// Kinds by which entries are counted.
    pub kinds: &'a [Kinds],
    /// Entries that are counted.
    pub expression: &'a Expression,
    /// Maximum number of extensions, and of groups of kinds that are counted together; the others
    /// are combined into one group. `None` for all groups, in no particular order and with those that
    /// are empty: [`arranged`] puts them in order after they were added to those of other machines.
    pub limit: Option<usize>,
    /// The time that ages refer to.
    pub now: Timestamp,
}

/// The counts of a path and everything below it.
#[derive(Default)]
pub struct Counts {
    /// Every entry.
    pub whole: Count,
    /// Regular files.
    pub files: Count,
    /// Further names of files that were counted before; all 0 if an expression selects entries.
    pub repeats: Repeats,
    /// The groups of each of [`StatsOptions::kinds`].
    pub sections: Vec<Section>,
}

/// The groups of one kind, or of several kinds that are counted together.
pub struct Section {
    /// Name of the kind, or names joined by commas.
    pub name: String,
    /// The groups, in the order in which they are shown.
    pub groups: Vec<Group>,
}

/// Counts a path and everything below it. Returns `None` if it does not exist, which the session
/// reports.
///
/// # Errors
/// If the index cannot be read.
pub fn stats(
    session: &mut Session<'_>,
    given: &OsStr,
    options: &StatsOptions<'_>,
    owners: &Owners,
) -> Result<Option<Counts>, AnswerError> {
    let Some(start) = session.locate(given, Follow::Last)? else {
        return Ok(None);
    };
    let sieve = options
        .expression
        .at(session.index(), &start, given.as_bytes());
    let test = sieve.as_ref().map(|sieve| sieve as &dyn RowTest);
    let counts = count(session, &start, options, test, owners)?;
    drop(sieve);
    session.note_part(&start, given.as_bytes(), &Part::whole(Depth::All))?;
    Ok(Some(counts))
}

/// Counts all single kinds in one pass, and each combination in another.
fn count(
    session: &Session<'_>,
    start: &Start,
    options: &StatsOptions<'_>,
    test: Option<&dyn RowTest>,
    owners: &Owners,
) -> Result<Counts, AnswerError> {
    // The type gives the total of regular files.
    let mut traits = vec![Trait::Type];
    let single = options.kinds.iter().filter(|kinds| kinds.0.len() == 1);
    traits.extend(single.map(|kinds| kinds.0[0].of_index()));
    traits.sort_unstable();
    traits.dedup();
    let request = StatsRequest {
        now: options.now,
        traits: &traits,
        test,
        cancel: session.cancel(),
        ..StatsRequest::default()
    };
    let stats = session.index().stats(start, &request)?;
    let files = stats.types.get(&FileType::Regular);
    let mut counts = Counts {
        whole: stats.whole,
        files: files.copied().unwrap_or_default(),
        ..Counts::default()
    };
    if test.is_none() {
        counts.repeats = session.index().totals(start)?.repeats;
    }
    for kinds in options.kinds {
        let groups = match &kinds.0[..] {
            [by] => groups(*by, &stats, owners),
            several => {
                let stats = together(session, start, &request, several)?;
                combined(several, &stats, owners)
            }
        };
        let groups = match options.limit {
            Some(limit) => arranged(kinds, groups, limit),
            None => groups,
        };
        let name = kinds.name();
        counts.sections.push(Section { name, groups });
    }
    Ok(counts)
}

fn together(
    session: &Session<'_>,
    start: &Start,
    request: &StatsRequest<'_>,
    kinds: &[By],
) -> Result<Stats, AnswerError> {
    let together: Vec<Trait> = kinds.iter().map(|by| by.of_index()).collect();
    let request = StatsRequest {
        traits: &[],
        combined: &together,
        ..*request
    };
    Ok(session.index().stats(start, &request)?)
}

/// Limits the groups of kinds that have many to a number that people can read. The last group then
/// combines the rest.
pub fn shortened(mut groups: Vec<Group>, limit: usize) -> Vec<Group> {
    const MANY: [&str; 4] = ["owner", "group", "project", "extension"];
    let is_many = groups
        .first()
        .is_some_and(|row| MANY.contains(&&row.by[..]));
    if !is_many || groups.len() <= limit {
        return groups;
    }
    let mut rest = Count::default();
    for row in groups.iter().skip(limit) {
        rest.add(&row.count);
    }
    let others = groups.first().cloned().map(|first| Group {
        key: None,
        label: b"(others)".to_vec(),
        count: rest,
        ..first
    });
    groups.truncate(limit);
    groups.extend(others);
    groups
}
