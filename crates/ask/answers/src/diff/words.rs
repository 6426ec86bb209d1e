//! The words and the fields of a state of an entry, and of what differs between two.

use trawl_diff::AttributeSet;
use trawl_find::record;
use trawl_model::rows::OwnedRow;
use trawl_model::{Acl, Column, Timestamp, Value as ColumnValue};
use trawl_report::{Field, Row, schema};
use trawl_text::json::rfc3339;
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::strftime;
use trawl_text::zone::Zone;

/// Names, time zone and arrow with which attributes are written.
pub struct Words {
    owners: Owners,
    zone: Zone,
    arrow: &'static str,
}

impl Words {
    /// Returns the words for a time zone and a locale, with the names of this system's owners.
    pub fn new(zone: Zone, locale: Locale) -> Words {
        Words {
            owners: Owners::default(),
            zone,
            arrow: match locale.is_utf8() {
                true => "→",
                false => "->",
            },
        }
    }

    /// Returns the names of owners.
    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Describes the attributes that differ, as in `size 10 → 20, mode 0644 → 0600`. Leaves out
    /// attributes that follow from others: blocks where the size differs, and ctime, which every
    /// change sets.
    pub fn changes(&self, before: &OwnedRow, after: &OwnedRow, which: AttributeSet) -> String {
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

const XATTRS: Field = Field::texts("xattrs", "names of extended attributes");
const ACL: Field = Field::text(
    "acl",
    "access control list, as the attribute in hexadecimal",
);
const DEFAULT_ACL: Field = Field::text("default_acl", "default access control list, likewise");

/// The fields of an entry, including those that `find --json` does not have.
pub const STATE_FIELDS: [Field; record::FIELDS.len() + 3] =
    schema::joined::<{ record::FIELDS.len() }, 3, { record::FIELDS.len() + 3 }>(
        record::FIELDS,
        [XATTRS, ACL, DEFAULT_ACL],
    );

/// Fills a row with an entry's attributes.
pub fn fill_state(row: &mut Row<'_>, path: &[u8], state: &OwnedRow, owners: &Owners) {
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
