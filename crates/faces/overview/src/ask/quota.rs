//! Quotas of users, groups and projects, where there are limits.

use trawl_answers::quota::{Amount, Entry, Kernel, Kind, Quotas, Remark, State, kind_name, quotas};
use trawl_model::{Gid, Timestamp, Uid};
use trawl_text::owners::Owners;
use trawl_text::words::grouped;

use super::Asker;
use crate::document::{Cell, Part, Section, Table, numbers, words};
use crate::numbers;

/// How much is used of a limit.
struct Used<'a> {
    entry: &'a Entry,
    amount: &'a Amount,
    limit: u64,
    /// Writes a number of this amount.
    written: fn(u64) -> String,
}

impl Used<'_> {
    fn share(&self) -> f64 {
        // No limit is 0.
        self.amount.used as f64 / self.limit as f64
    }
}

impl Asker<'_> {
    /// Adds a table of the limits of the file systems that hold the places; nothing where there are none.
    pub(super) fn quotas(&self, section: &mut Section) {
        let found = quotas(&Kernel::new(), &self.paths);
        self.add_quotas(section, &found);
    }

    fn add_quotas(&self, section: &mut Section, found: &Quotas) {
        let flawed = found.remarks.iter();
        let flawed = flawed
            .filter(|remark| matches!(remark, Remark::OwnOnly { .. } | Remark::Refused { .. }));
        section.remarks.extend(flawed.map(ToString::to_string));
        let Some(table) = table(&found.entries, &self.names, (self.now, self.limit)) else {
            return;
        };
        section.parts.push(Part::Table(table));
        let command = self.command_of_all_times(&["quota"], &self.paths);
        section.commands.push(command);
    }
}

/// Returns the table of the limits of which most is used; `None` if there is no limit.
fn table(entries: &[Entry], names: &Owners, (now, rows): (Timestamp, usize)) -> Option<Table> {
    let mut limits: Vec<Used<'_>> = entries.iter().flat_map(limits).collect();
    if limits.is_empty() {
        return None;
    }
    limits.sort_by(|a, b| b.share().total_cmp(&a.share()));
    limits.truncate(rows);
    Some(Table {
        caption: b"Quotas, as they are now".to_vec(),
        columns: vec![
            words("Name"),
            words("Kind"),
            words("File system"),
            numbers("Used"),
            numbers("Share"),
            numbers("Limit"),
            words("State"),
        ],
        rows: limits.iter().map(|used| row(used, names, now)).collect(),
    })
}

fn limits(entry: &Entry) -> impl Iterator<Item = Used<'_>> {
    let inodes: fn(u64) -> String = |count| format!("{} inodes", grouped(count));
    let amounts = [
        (&entry.quota.space, numbers::size as fn(u64) -> String),
        (&entry.quota.inodes, inodes),
    ];
    amounts.into_iter().filter_map(move |(amount, written)| {
        Some(Used {
            entry,
            amount,
            limit: amount.soft.or(amount.hard)?,
            written,
        })
    })
}

fn row(used: &Used<'_>, names: &Owners, now: Timestamp) -> Vec<Cell> {
    let Entry { mount, kind, quota } = used.entry;
    let name = match kind {
        Kind::User => names.user(Uid(quota.id)),
        Kind::Group => names.group(Gid(quota.id)),
        Kind::Project => None,
    };
    let name = name.map_or_else(|| quota.id.to_string().into_bytes(), |name| name.to_vec());
    let state = match State::of(used.amount, now) {
        State::Unlimited | State::Within => "within",
        State::Over => "over, grace period",
        State::Expired => "over, grace period over",
        State::Full => "full",
    };
    vec![
        Cell::Name(name),
        Cell::Text(kind_name(*kind).into()),
        Cell::Name(mount.clone()),
        Cell::Text((used.written)(used.amount.used)),
        Cell::Share(used.share().min(1.0)),
        Cell::Text((used.written)(used.limit)),
        Cell::Text(state.into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_answers::quota::Quota;

    fn entry(kind: Kind, space: Amount, inodes: Amount) -> Entry {
        Entry {
            mount: b"/srv".to_vec(),
            kind,
            quota: Quota {
                id: 3_999_999_999,
                space,
                inodes,
            },
        }
    }

    fn text(cell: &Cell) -> String {
        match cell {
            Cell::Text(text) => text.clone(),
            Cell::Name(name) => String::from_utf8_lossy(name).into_owned(),
            Cell::Share(share) => format!("{share:.2}"),
        }
    }

    fn shown(entries: &[Entry], rows: usize) -> Option<Vec<String>> {
        let now = Timestamp {
            secs: 100,
            nanos: 0,
        };
        let table = table(entries, &Owners::default(), (now, rows))?;
        let line = |row: &Vec<Cell>| row.iter().map(text).collect::<Vec<_>>().join("|");
        Some(table.rows.iter().map(line).collect())
    }

    #[test]
    fn the_limits_that_are_nearest_come_first() {
        let space = Amount {
            used: 1 << 20,
            soft: Some(4 << 20),
            hard: Some(8 << 20),
            grace_ends: None,
        };
        let inodes = Amount {
            used: 2_000,
            soft: Some(1_000),
            grace_ends: Some(Timestamp { secs: 99, nanos: 0 }),
            ..Amount::default()
        };
        let entries = [
            entry(Kind::Group, space, Amount::default()),
            entry(Kind::User, Amount::default(), inodes),
        ];
        let expected = [
            "3999999999|user|/srv|2,000 inodes|1.00|1,000 inodes|over, grace period over",
            "3999999999|group|/srv|1.0 MiB|0.25|4.0 MiB|within",
        ];
        assert_eq!(shown(&entries, 20).unwrap(), expected);
        assert_eq!(shown(&entries, 1).unwrap(), expected[..1]);
    }

    #[test]
    fn there_is_no_table_without_limits() {
        let entries = [entry(Kind::User, Amount::default(), Amount::default())];
        assert_eq!(shown(&entries, 20), None);
        assert_eq!(shown(&[], 20), None);
    }
}
