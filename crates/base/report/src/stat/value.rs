//! Values of `stat`'s directives: a table with one row per letter.

use trawl_model::{Dev, FileType, TimeKind, Timestamp};
use trawl_text::owners::Owners;

use crate::listing::Item;
use crate::stat::format::Part;

/// A value, with the conversion that prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `%s`
    Text(Vec<u8>),
    /// `%d`
    Signed(i128),
    /// `%u`
    Unsigned(u64),
    /// `%o`
    Octal(u64),
    /// `%x`
    Hex(u64),
    /// Seconds with decimals.
    Epoch(Timestamp),
}

/// Everything besides a file's row that its values depend on.
pub struct Context<'a> {
    /// Names of users and groups.
    pub owners: &'a Owners,
    /// Formats a time as `%x` shows it.
    pub time: &'a dyn Fn(Timestamp) -> String,
    /// Formats a name as `%N` shows it.
    pub quote: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// Mount point of the file's file system.
    pub mount: &'a [u8],
    /// Security context, or `?`.
    pub label: &'a [u8],
}

/// Returns the value of a letter; for a link's `%N` also the target.
pub fn values(
    letter: u8,
    part: Part,
    item: &Item,
    context: &Context<'_>,
) -> (Value, Option<Value>) {
    let leads = letter == b'N' && !item.target.is_empty();
    let target = || Value::Text((context.quote)(&item.target));
    (value(letter, part, item, context), leads.then(target))
}

/// Returns the value of `letter`.
fn value(letter: u8, part: Part, item: &Item, context: &Context<'_>) -> Value {
    let meta = item.meta.unwrap_or_default();
    let human = |time: Option<Timestamp>| {
        Value::Text(time.map_or_else(|| "-".into(), context.time).into_bytes())
    };
    let epoch = |time: Option<Timestamp>| Value::Epoch(time.unwrap_or_default());
    match letter {
        b'a' => Value::Octal(u64::from(meta.mode & 0o7777)),
        b'A' => Value::Text(trawl_text::mode::render(meta.mode).to_vec()),
        b'b' => Value::Unsigned(meta.blocks),
        b'B' => Value::Unsigned(512),
        b'd' => device(meta.dev, part),
        b'D' => Value::Hex(meta.dev.as_u64()),
        b'f' => Value::Hex(u64::from(meta.mode)),
        b'F' => Value::Text(type_name(meta.file_type(), meta.size).into()),
        b'g' => Value::Unsigned(u64::from(meta.gid.0)),
        b'G' => name(context.owners.group(meta.gid)),
        b'h' => Value::Unsigned(u64::from(meta.nlink)),
        b'i' => Value::Unsigned(meta.ino),
        b'm' => Value::Text(context.mount.to_vec()),
        b'C' => Value::Text(context.label.to_vec()),
        b'n' => Value::Text(item.name.clone()),
        b'N' => Value::Text((context.quote)(&item.name)),
        b'o' => Value::Unsigned(u64::from(meta.blksize)),
        b'r' => device(meta.rdev, part),
        b'R' => Value::Hex(meta.rdev.as_u64()),
        b's' => Value::Signed(i128::from(meta.size)),
        b't' => Value::Hex(u64::from(meta.rdev.major)),
        b'T' => Value::Hex(u64::from(meta.rdev.minor)),
        b'u' => Value::Unsigned(u64::from(meta.uid.0)),
        b'U' => name(context.owners.user(meta.uid)),
        b'w' => human(meta.btime),
        b'W' => epoch(meta.btime),
        b'x' => human(TimeKind::Accessed.of(&meta)),
        b'X' => epoch(TimeKind::Accessed.of(&meta)),
        b'y' => human(TimeKind::Modified.of(&meta)),
        b'Y' => epoch(TimeKind::Modified.of(&meta)),
        b'z' => human(TimeKind::Changed.of(&meta)),
        b'Z' => epoch(TimeKind::Changed.of(&meta)),
        _ => Value::Text(Vec::new()),
    }
}

fn device(device: Dev, part: Part) -> Value {
    match part {
        Part::Whole => Value::Unsigned(device.as_u64()),
        Part::Major => Value::Unsigned(u64::from(device.major)),
        Part::Minor => Value::Unsigned(u64::from(device.minor)),
    }
}

fn name(name: trawl_text::owners::OwnerName) -> Value {
    Value::Text(name.map_or_else(|| b"UNKNOWN".to_vec(), |name| name.to_vec()))
}

/// Returns the type in words.
pub fn type_name(kind: FileType, size: u64) -> &'static str {
    match kind {
        FileType::Regular if size == 0 => "regular empty file",
        FileType::Regular => "regular file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::Block => "block special file",
        FileType::Char => "character special file",
        FileType::Unknown => "weird file",
    }
}
