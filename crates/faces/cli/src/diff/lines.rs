//! Differences as lines, for people and for programs.

use trawl_diff::{AttributeSet, Difference, Kind};
use trawl_find::record;
use trawl_model::rows::OwnedRow;
use trawl_model::{Acl, Column, Meta, Timestamp, Value as ColumnValue};
use trawl_report::{Field, Row, Schema, Value, fields, schema};
use trawl_text::json::rfc3339;
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::strftime;
use trawl_text::zone::Zone;

use crate::failure::Failure;
use crate::output::Device;
use crate::rows::Report;
use crate::scope::printed_path;

const KIND: Field = Field::text(
    "kind",
    "type of difference: `created`, `deleted`, `changed`, `moved`",
);
const FROM: Field = Field::bytes("from", "the path before a move; left out without one");
const TYPE: Field = fields::TYPE.without_json();
const BEFORE: Field = Field::object(
    "before",
    &STATE_FIELDS,
    "an entry's fields at the first time; `null` if it did not exist",
);
const AFTER: Field = Field::object(
    "after",
    &STATE_FIELDS,
    "an entry's fields at the second time; `null` if it does not exist",
);
const SIZE_BEFORE: Field = Field::integer("size_before", "`size` before").without_json();
const SIZE_AFTER: Field = Field::integer("size_after", "`size` after").without_json();
const BLOCKS_BEFORE: Field = Field::integer("blocks_before", "`blocks` before").without_json();
const BLOCKS_AFTER: Field = Field::integer("blocks_after", "`blocks` after").without_json();
const PERMISSIONS_BEFORE: Field =
    Field::text("permissions_before", "`permissions` before").without_json();
const PERMISSIONS_AFTER: Field =
    Field::text("permissions_after", "`permissions` after").without_json();
const UID_BEFORE: Field = Field::integer("uid_before", "`uid` before").without_json();
const UID_AFTER: Field = Field::integer("uid_after", "`uid` after").without_json();
const GID_BEFORE: Field = Field::integer("gid_before", "`gid` before").without_json();
const GID_AFTER: Field = Field::integer("gid_after", "`gid` after").without_json();
const MTIME_BEFORE: Field = Field::time("mtime_before", "`mtime` before").without_json();
const MTIME_AFTER: Field = Field::time("mtime_after", "`mtime` after").without_json();

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a difference between two snapshots",
    fields: &[
        KIND,
        fields::PATH.with_null(),
        FROM,
        TYPE,
        fields::CHANGED,
        BEFORE,
        AFTER,
        SIZE_BEFORE,
        SIZE_AFTER,
        BLOCKS_BEFORE,
        BLOCKS_AFTER,
        PERMISSIONS_BEFORE,
        PERMISSIONS_AFTER,
        UID_BEFORE,
        UID_AFTER,
        GID_BEFORE,
        GID_AFTER,
        MTIME_BEFORE,
        MTIME_AFTER,
    ],
    forms: schema::ROWS,
    samples: &["diff"],
};

/// Text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// What differs.
    Changes,
    /// Only paths.
    Names,
}

/// Writer of differences.
pub(super) struct Lines<'a> {
    style: Style,
    given: &'a [u8],
    top: &'a [u8],
    words: Words,
    terminal: Terminal,
}

/// Names, time zone and arrow with which attributes are written.
pub(crate) struct Words {
    owners: Owners,
    zone: Zone,
    arrow: &'static str,
}

impl Words {
    /// Returns the settings of this process.
    pub(crate) fn new() -> Words {
        Words {
            owners: Owners::default(),
            zone: Zone::local(),
            arrow: match Locale::from_env().is_utf8() {
                true => "→",
                false => "->",
            },
        }
    }

    /// Returns the names of owners.
    pub(crate) fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Describes the attributes that differ, as in `size 10 → 20, mode 0644 → 0600`. Leaves out
    /// attributes that follow from others: blocks where the size differs, and ctime, which every
    /// change sets.
    pub(crate) fn changes(
        &self,
        before: &OwnedRow,
        after: &OwnedRow,
        which: AttributeSet,
    ) -> String {
        let beside = |attribute, others: &[Column]| {
            which.contains(attribute) && others.iter().any(|other| which.contains(*other))
        };
        let mut told = which;
        if beside(Column::Blocks, &[Column::Size]) {
            told = told.minus(AttributeSet::of(&[Column::Blocks]));
        }
        let ctime = AttributeSet::of(&[Column::Ctime]);
        if !told.minus(ctime).is_empty() {
            told = told.minus(ctime);
        }
        let text = |attribute: Column| self.change(attribute, before, after);
        told.iter().filter_map(text).collect::<Vec<_>>().join(", ")
    }

    fn change(&self, attribute: Column, before: &OwnedRow, after: &OwnedRow) -> Option<String> {
        let (name, arrow) = (attribute.compared_as()?, self.arrow);
        let [before, after] = match attribute.nanoseconds() {
            Some(_) => {
                let time = |state: &OwnedRow| match state.value(attribute) {
                    ColumnValue::Time(time) => time,
                    _ => Timestamp::default(),
                };
                self.times(time(before), time(after))
            }
            None => [before, after].map(|state| self.value(attribute, state)),
        };
        Some(format!("{name} {before} {arrow} {after}"))
    }

    /// Returns a value as people read it, except for times, which [`Words::times`] formats.
    fn value(&self, attribute: Column, state: &OwnedRow) -> String {
        let meta = &state.meta;
        let named = |name: Option<&[u8]>, id: u32| {
            name.map_or_else(
                || id.to_string(),
                |name| String::from_utf8_lossy(name).into_owned(),
            )
        };
        match attribute {
            Column::Mode => format!("{:04o}", meta.mode & 0o7777),
            Column::Uid => named(self.owners.user(meta.uid).as_deref(), meta.uid.0),
            Column::Gid => named(self.owners.group(meta.gid).as_deref(), meta.gid.0),
            Column::Acl => acl(&state.acl),
            Column::AclDefault => acl(&state.acl_default),
            Column::XattrNames => {
                let names: Vec<_> = names(&state.xattr_names).collect();
                match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join("+"),
                }
            }
            Column::Attributes => format!("{:#x}", meta.attributes),
            Column::Dev => record::device(meta.dev),
            Column::Rdev => record::device(meta.rdev),
            other => match state.value(other) {
                ColumnValue::Null => "none".to_owned(),
                ColumnValue::Number(number) => number.to_string(),
                ColumnValue::Time(time) => rfc3339(time),
                ColumnValue::Type(kind) => char::from(kind.letter()).to_string(),
                ColumnValue::Bytes(bytes) => trawl_model::escape::escape(bytes).into_owned(),
            },
        }
    }

    /// Formats two times to the second, or to the nanosecond if the seconds are equal.
    fn times(&self, before: Timestamp, after: Timestamp) -> [String; 2] {
        let is_close = before.secs == after.secs;
        [before, after].map(|time| {
            let mut text = String::new();
            let civil = self.zone.civil(time.secs);
            strftime::format(&mut text, "%Y-%m-%d %H:%M:%S", &civil, &self.zone);
            if is_close {
                text.push_str(&format!(".{:09}", time.nanos));
            }
            text
        })
    }
}

/// Counts the entries of an ACL beyond those of the mode.
fn acl(value: &[u8]) -> String {
    match Acl::parse(value) {
        None if value.is_empty() => "none".to_owned(),
        None => "unreadable".to_owned(),
        Some(acl) => format!("{} named", acl.users.len() + acl.groups.len()),
    }
}

fn names(list: &[u8]) -> impl Iterator<Item = String> {
    let names = list
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names.map(|name| trawl_model::escape::escape(name).into_owned())
}

impl<'a> Lines<'a> {
    pub(super) fn new(style: Style, given: &'a [u8], top: &'a [u8]) -> Lines<'a> {
        Lines {
            style,
            given,
            top,
            words: Words::new(),
            terminal: match Device::of_stdout() {
                Device::Terminal => Terminal::Watched(Locale::from_env()),
                Device::Other => Terminal::Absent,
            },
        }
    }

    /// Writes one difference.
    pub(super) fn put(&self, difference: &Difference, report: &mut Report) -> Result<(), Failure> {
        let text = || match self.style {
            Style::Changes => self.text(difference),
            Style::Names => [&self.shown(&difference.path)[..], b"\n"].concat(),
        };
        Ok(report.line(text, |row| self.fill(row, difference))?)
    }

    /// Returns the path as the user would spell it.
    fn named(&self, path: &[u8]) -> Vec<u8> {
        printed_path(self.given, self.top, path)
    }

    fn shown(&self, path: &[u8]) -> Vec<u8> {
        self.terminal.show(&self.named(path)).into_owned()
    }

    fn text(&self, difference: &Difference) -> Vec<u8> {
        let path = self.shown(&difference.path);
        let mut line = match (difference.kind, &difference.from) {
            (Kind::Created, _) => [b"+ ", &path[..]].concat(),
            (Kind::Deleted, _) => [b"- ", &path[..]].concat(),
            (Kind::Moved, Some(from)) => [b"R ", &self.shown(from)[..], b" -> ", &path].concat(),
            (Kind::Changed | Kind::Moved, _) => [b"M ", &path[..]].concat(),
        };
        if let (Some(before), Some(after)) = (&difference.before, &difference.after) {
            let ctime = AttributeSet::of(&[Column::Ctime]);
            let which = match difference.kind {
                Kind::Moved => difference.attributes.minus(ctime),
                _ => difference.attributes,
            };
            let changes = self.words.changes(before, after, which);
            if !changes.is_empty() {
                line.extend([b"  ", self.terminal.show(changes.as_bytes()).as_ref()].concat());
            }
        }
        line.push(b'\n');
        line
    }

    fn fill(&self, row: &mut Row<'_>, difference: &Difference) {
        let kind = difference.after.as_ref().or(difference.before.as_ref());
        let kind = kind.map(|state| char::from(state.meta.file_type().letter()));
        row.put(&KIND, kind_name(difference.kind))
            .put(&fields::PATH, &self.named(&difference.path));
        if let Some(from) = &difference.from {
            row.put(&FROM, &self.named(from));
        }
        row.put(&TYPE, kind)
            .texts(&fields::CHANGED, difference.attributes.names());
        let from = difference.from.as_ref().unwrap_or(&difference.path);
        let states = [
            (BEFORE, &difference.before, from),
            (AFTER, &difference.after, &difference.path),
        ];
        for (field, state, path) in states {
            match state {
                Some(state) => {
                    let owners = self.words.owners();
                    row.object(&field, |row| {
                        fill_state(row, &self.named(path), state, owners)
                    });
                }
                None => {
                    row.put(&field, Value::Null);
                }
            }
        }
        if row.wants(&SIZE_BEFORE) {
            fill_pairs(row, [difference.before.as_ref(), difference.after.as_ref()]);
        }
    }
}

/// Fills the columns of CSV that hold a value before and after.
fn fill_pairs(row: &mut Row<'_>, states: [Option<&OwnedRow>; 2]) {
    let [before, after] = states.map(|state| state.map(|state| &state.meta));
    let permissions = |meta: Option<&Meta>| meta.map(|meta| record::permissions(meta.mode));
    let [old, new] = [permissions(before), permissions(after)];
    row.put(&SIZE_BEFORE, before.map(|meta| meta.size))
        .put(&SIZE_AFTER, after.map(|meta| meta.size))
        .put(&BLOCKS_BEFORE, before.map(|meta| meta.blocks))
        .put(&BLOCKS_AFTER, after.map(|meta| meta.blocks))
        .put(&PERMISSIONS_BEFORE, old.as_deref())
        .put(&PERMISSIONS_AFTER, new.as_deref())
        .put(&UID_BEFORE, before.map(|meta| meta.uid))
        .put(&UID_AFTER, after.map(|meta| meta.uid))
        .put(&GID_BEFORE, before.map(|meta| meta.gid))
        .put(&GID_AFTER, after.map(|meta| meta.gid))
        .put(&MTIME_BEFORE, before.map(|meta| meta.mtime))
        .put(&MTIME_AFTER, after.map(|meta| meta.mtime));
}

const XATTRS: Field = Field::texts("xattrs", "names of extended attributes");
const ACL: Field = Field::text(
    "acl",
    "access control list, as the attribute in hexadecimal",
);
const DEFAULT_ACL: Field = Field::text("default_acl", "default access control list, likewise");

/// The fields of an entry, including those that `find --json` does not have.
pub(crate) const STATE_FIELDS: [Field; record::FIELDS.len() + 3] =
    schema::joined::<{ record::FIELDS.len() }, 3, { record::FIELDS.len() + 3 }>(
        record::FIELDS,
        [XATTRS, ACL, DEFAULT_ACL],
    );

/// Fills a row with an entry's attributes.
pub(crate) fn fill_state(row: &mut Row<'_>, path: &[u8], state: &OwnedRow, owners: &Owners) {
    record::fill(row, path, Some(&state.meta), &state.link_target, owners);
    if !state.xattr_names.is_empty() {
        row.texts(&XATTRS, names(&state.xattr_names));
    }
    for (field, list) in [(ACL, &state.acl), (DEFAULT_ACL, &state.acl_default)] {
        if !list.is_empty() {
            row.put(&field, &trawl_text::json::hex(list));
        }
    }
}

/// Returns the name of a kind in output for programs.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Created => "created",
        Kind::Deleted => "deleted",
        Kind::Changed => "changed",
        Kind::Moved => "moved",
    }
}
