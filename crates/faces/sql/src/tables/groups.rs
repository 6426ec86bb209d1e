//! `file_groups` and `group_members`: files that belong together ([`trawl_groups`]).
//!
//! Groups are computed from the rows that the asking user can read, each time a statement asks for
//! them, with the rules and edits of that user.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use trawl_groups::{Identity, Member, Question, Range, Summary, Wanted};
use trawl_model::escape::escape;
use trawl_model::{Timestamp, path};
use trawl_query::SnapshotInfo;
use trawl_session::{Interrupts, Options, Session};

use super::{
    EDITION_COLUMNS, Job, Kind, Reach, Rows, TableColumn, Take, Target, Values, column,
    fill_edition, nanoseconds, nullable,
};
use crate::error::{Result, SqlError};

/// Index of the first column about the snapshot.
const EDITION: usize = 9;

const ID: TableColumn = column(
    "group_id",
    Kind::Text,
    "Id of the group, sixteen hexadecimal digits",
);
const NAME: TableColumn = column(
    "group_name",
    Kind::Text,
    "The group's name; escaped where it is not UTF-8",
);
const RULE: TableColumn = column("rule", Kind::Text, "Name of the rule that makes the group");

/// Returns the columns of `file_groups`.
pub(super) fn group_columns() -> Vec<TableColumn> {
    let time = |name, doc| nullable(name, Kind::Time, doc);
    vec![
        ID,
        NAME,
        RULE,
        nullable(
            "place",
            Kind::Text,
            "Directory that has all members; null if they can be anywhere",
        ),
        column("files", Kind::I64, "Number of members"),
        column("size", Kind::I64, "Sum of their apparent sizes, bytes"),
        column("disk", Kind::I64, "Sum of their allocated space, bytes"),
        nullable("size_min", Kind::I64, "Size of the smallest member, bytes"),
        nullable("size_max", Kind::I64, "Size of the largest member, bytes"),
        time("mtime_min", "Earliest change of a member's content"),
        time("mtime_max", "Latest change of a member's content"),
        time("atime_min", "Earliest last access of a member"),
        time("atime_max", "Latest last access of a member"),
        time("ctime_min", "Earliest change of a member's inode"),
        time("ctime_max", "Latest change of a member's inode"),
    ]
}

/// Returns the columns of `group_members`.
pub(super) fn member_columns() -> Vec<TableColumn> {
    let mut columns = vec![
        column("path", Kind::Text, "Absolute path of the file"),
        nullable(
            "path_raw",
            Kind::Bytes,
            "The path's bytes, only where they are not UTF-8",
        ),
        column("dir", Kind::Text, "The directory that holds the file"),
        column("name", Kind::Text, "The file's name"),
        ID,
        NAME,
        RULE,
        column("why", Kind::Text, "Why the file belongs to the group"),
        nullable(
            "marker",
            Kind::Text,
            "The path that made the file a member, if it is not the file's own",
        ),
    ];
    columns.extend(EDITION_COLUMNS);
    columns
}

/// Returns a session over the statement's index. What cannot be read is in the table `issues`.
fn session<'j>(job: &Job<'j>) -> Session<'j> {
    let options = Options {
        interrupts: Interrupts {
            cancel: Some(job.cancel),
            ..Interrupts::default()
        },
        ..Options::default()
    };
    Session::over(job.catalog.share_index(), options)
}

/// Produces the rows of `file_groups`.
pub(super) fn groups(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let tops = job.targets.iter().filter(|target| target.start.is_dir);
    let tops: Vec<OsString> = tops.map(|target| given(&target.start.path)).collect();
    // Without any, the question would be about everything.
    if tops.is_empty() {
        return Ok(());
    }
    let mut session = session(job);
    let mut question = Question::new(
        &mut session,
        trawl_cli::sql::grouper().map_err(SqlError::Grouping)?,
    );
    let mut groups = question.list(&tops, &Wanted::default())?;
    groups.sort_by_key(|(group, _)| group.id);
    let table = group_columns();
    let mut rows = Rows::new(&table, job.columns);
    for (group, summary) in &groups {
        rows.room();
        fill_group(&mut rows, group, summary);
    }
    super::entries::give(rows, take).map(|_| ())
}

fn given(stored: &[u8]) -> OsString {
    OsString::from_vec(path::display(stored).to_vec())
}

fn fill_group(rows: &mut Rows, group: &Arc<Identity>, summary: &Summary) {
    rows.len += 1;
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let ends = |range: Option<Range<Timestamp>>| {
        range.map(|range| (nanoseconds(range.min), nanoseconds(range.max)))
    };
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), 3) => match group.extent.place() {
                Some(place) => texts.push(escape(path::display(place)).as_bytes()),
                None => texts.push_null(),
            },
            (Values::Text(texts), at) => texts.push(named(group, at).as_bytes()),
            (Values::I64(numbers), at) => numbers.push(match at {
                4 => Some(signed(summary.files)),
                5 => Some(signed(summary.size_sum_bytes)),
                6 => Some(signed(summary.disk_bytes)),
                7 => summary.size_bytes.map(|sizes| signed(sizes.min)),
                _ => summary.size_bytes.map(|sizes| signed(sizes.max)),
            }),
            (Values::Time(times), at) => {
                let range = match at {
                    9 | 10 => ends(summary.mtime),
                    11 | 12 => ends(summary.atime),
                    _ => ends(summary.ctime),
                };
                let is_first = at % 2 == 1;
                times.push(range.map(|(min, max)| if is_first { min } else { max }));
            }
            _ => {}
        }
    }
}

/// Returns the id, the name or the rule.
fn named(group: &Identity, column: usize) -> String {
    match column {
        0 => group.id.to_string(),
        1 => escape(&group.name).into_owned(),
        _ => group.rule.to_string(),
    }
}

/// Produces the rows of `group_members`.
pub(super) fn members(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let mut session = session(job);
    let mut question = Question::new(
        &mut session,
        trawl_cli::sql::grouper().map_err(SqlError::Grouping)?,
    );
    let table = member_columns();
    for target in job.targets {
        let mut rows = Rows::new(&table, job.columns);
        let mut failed = Ok(());
        let mut flow = ControlFlow::Continue(());
        question.every_member(&[given(directory(target))], &mut |member| {
            let stored = member.path();
            if !has(target, member.dir, &stored) {
                return ControlFlow::Continue(());
            }
            let info = job.catalog.info_of(&stored);
            let info = info.unwrap_or_else(|| target.start.view.info());
            fill_member(&mut rows, member, &stored, info);
            if rows.is_full() {
                let full = std::mem::replace(&mut rows, Rows::new(&table, job.columns));
                flow = full.finish().map(&mut *take).unwrap_or_else(|error| {
                    failed = Err(error);
                    ControlFlow::Break(())
                });
            }
            flow
        })?;
        failed?;
        if flow.is_break() || super::entries::give(rows, take)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the directory whose groups have all members of a target.
fn directory(target: &Target) -> &[u8] {
    let start = &target.start;
    match start.is_dir {
        true => &start.path,
        false => path::split(&start.path).map_or(&b""[..], |(dir, _)| dir),
    }
}

/// Returns whether a path belongs to a target.
fn has(target: &Target, dir: &[u8], stored: &[u8]) -> bool {
    let top = &target.start.path[..];
    let is_in = match target.reach {
        Reach::Subtree => path::is_within(stored, top),
        Reach::Children | Reach::ChildrenAndItself => dir == top,
        Reach::Itself => stored == top,
    };
    is_in && !target.skips(stored)
}

fn fill_member(rows: &mut Rows, member: &Member<'_>, stored: &[u8], info: &SnapshotInfo) {
    rows.len += 1;
    let claim = member.claim;
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), 8) => match claim.why.marker() {
                Some(marker) => texts.push(escape(path::display(marker)).as_bytes()),
                None => texts.push_null(),
            },
            (Values::Text(texts), at @ 0..EDITION) => {
                let text = match at {
                    0 => escape(path::display(stored)).into_owned(),
                    2 => escape(member.dir).into_owned(),
                    3 => escape(&member.entry.name).into_owned(),
                    4..=6 => named(&claim.group, at - 4),
                    _ => claim.why.to_string(),
                };
                texts.push(text.as_bytes());
            }
            (Values::Bytes(bytes), _) => match std::str::from_utf8(stored) {
                Ok(_) => bytes.push_null(),
                Err(_) => bytes.push(stored),
            },
            (values, at) => fill_edition(values, at - EDITION, info, 1),
        }
    }
}
