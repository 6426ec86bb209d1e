//! Differences as lines, for people and for programs.

use trawl_diff::{AttributeSet, Difference, Kind};
use trawl_find::record;
use trawl_model::rows::OwnedRow;
use trawl_model::{Acl, Column, Timestamp, Value};
use trawl_text::json::{Object, rfc3339};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::strftime;
use trawl_text::zone::Zone;

use crate::csv::Line;
use crate::failure::Failure;
use crate::output::{Device, Output};
use crate::scope::printed_path;

/// Format of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// Text for people.
    Text,
    /// Paths, one per line.
    Names,
    /// Paths, each terminated by a NUL byte.
    Null,
    /// One JSON object per line.
    Json,
    /// CSV lines below a header.
    Csv,
}

const CSV_HEADER: &str = "kind,path,path_raw,from,from_raw,type,changed,size_before,\
                          size_after,blocks_before,\
                          blocks_after,permissions_before,permissions_after,uid_before,uid_after,gid_before,\
                          gid_after,mtime_before,mtime_after\n";

/// Writer of differences.
pub(super) struct Lines<'a> {
    writing: Writing,
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
                    Value::Time(time) => time,
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
                Value::Null => "none".to_owned(),
                Value::Number(number) => number.to_string(),
                Value::Time(time) => rfc3339(time),
                Value::Type(kind) => char::from(kind.letter()).to_string(),
                Value::Bytes(bytes) => trawl_model::escape::escape(bytes).into_owned(),
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
    pub(super) fn new(writing: Writing, given: &'a [u8], top: &'a [u8]) -> Lines<'a> {
        Lines {
            writing,
            given,
            top,
            words: Words::new(),
            terminal: match Device::of_stdout() {
                Device::Terminal => Terminal::Watched(Locale::from_env()),
                Device::Other => Terminal::Absent,
            },
        }
    }

    pub(super) fn writing(&self) -> Writing {
        self.writing
    }

    /// Writes one difference.
    pub(super) fn put(
        &self,
        difference: &Difference,
        is_first: bool,
        output: &mut Output,
    ) -> Result<(), Failure> {
        match self.writing {
            Writing::Text => output.put(self.text(difference)),
            Writing::Names => output.put([&self.shown(&difference.path)[..], b"\n"].concat()),
            Writing::Null => output.put([&self.named(&difference.path)[..], b"\0"].concat()),
            Writing::Json => output.put(self.json(difference)),
            Writing::Csv => {
                if is_first {
                    output.put(CSV_HEADER)?;
                }
                output.put(self.csv(difference))
            }
        }
    }

    /// Writes the header if there are no differences and it is not written yet.
    pub(super) fn end(&self, some: bool, output: &mut Output) -> Result<(), Failure> {
        match self.writing == Writing::Csv && !some {
            true => output.put(CSV_HEADER),
            false => Ok(()),
        }
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

    fn json(&self, difference: &Difference) -> String {
        let owners = &self.words.owners;
        let object = Object::new()
            .text("kind", kind_name(difference.kind))
            .bytes("path", &self.named(&difference.path));
        let object = match &difference.from {
            Some(from) => object.bytes("from", &self.named(from)),
            None => object,
        };
        let quoted = difference
            .attributes
            .names()
            .map(|name| format!("\"{name}\""));
        let mut object = object.array("changed", quoted);
        let from = difference.from.as_ref().unwrap_or(&difference.path);
        let states = [
            ("before", &difference.before, from),
            ("after", &difference.after, &difference.path),
        ];
        for (key, state, path) in states {
            object = match state {
                Some(state) => object.object(key, state_object(&self.named(path), state, owners)),
                None => object.null(key),
            };
        }
        object.close() + "\n"
    }

    fn csv(&self, difference: &Difference) -> Vec<u8> {
        let changed: Vec<&str> = difference.attributes.names().collect();
        let states = [difference.before.as_ref(), difference.after.as_ref()];
        let from = difference.from.as_ref().map(|from| self.named(from));
        let kind = difference.after.as_ref().or(difference.before.as_ref());
        let kind = kind.map(|state| char::from(state.meta.file_type().letter()).to_string());
        let line = Line::new()
            .field(kind_name(difference.kind))
            .path(self.named(&difference.path))
            .path(from.unwrap_or_default())
            .field(kind.unwrap_or_default())
            .field(changed.join("+"));
        let values: [fn(&OwnedRow) -> String; 6] = [
            |state| state.meta.size.to_string(),
            |state| state.meta.blocks.to_string(),
            |state| record::permissions(state.meta.mode),
            |state| state.meta.uid.0.to_string(),
            |state| state.meta.gid.0.to_string(),
            |state| rfc3339(state.meta.mtime),
        ];
        let cells = values
            .iter()
            .flat_map(|value| states.map(|state| state.map(value).unwrap_or_default()));
        cells.fold(line, Line::field).close()
    }
}

/// Returns an entry's attributes as an object, including those that `find --json` does not have.
pub(crate) fn state_object(path: &[u8], state: &OwnedRow, owners: &Owners) -> Object {
    let object = record::object(path, Some(&state.meta), &state.link_target, owners);
    let mut object = match state.xattr_names.is_empty() {
        true => object,
        false => {
            let quoted = names(&state.xattr_names).map(|name| serde_json_text(&name));
            object.array("xattrs", quoted)
        }
    };
    for (key, list) in [("acl", &state.acl), ("default_acl", &state.acl_default)] {
        if !list.is_empty() {
            object = object.text(key, &trawl_text::json::hex(list));
        }
    }
    object
}

/// Returns a JSON string.
fn serde_json_text(text: &str) -> String {
    let object = Object::new().text("", text).close();
    object
        .strip_prefix("{\"\":")
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or("\"\"")
        .to_owned()
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
