//! Differences as lines, for people and for programs.

use trawl_answers::diff::words::{STATE_FIELDS, Words, fill_state};
use trawl_diff::{AttributeSet, Difference, Kind};
use trawl_find::record;
use trawl_model::rows::OwnedRow;
use trawl_model::{Column, Meta};
use trawl_report::{Field, Row, Schema, Value, fields, schema};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
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
        KIND.always(),
        fields::PATH.always().with_null(),
        FROM,
        TYPE,
        fields::CHANGED.always(),
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

impl<'a> Lines<'a> {
    pub(super) fn new(style: Style, given: &'a [u8], top: &'a [u8]) -> Lines<'a> {
        Lines {
            style,
            given,
            top,
            words: Words::new(Zone::local(), Locale::from_env()),
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
        row.put(&KIND, difference.kind.name())
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
