//! The values behind `stat`'s directives: one row of the table a letter.

use trawl_model::{Dev, FileType, Timestamp};

use crate::ls::item::{Item, TimeKind};
use crate::stat::format::{Context, Part};

/// A value and the kind of directive that it is printed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
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

/// True if `letter` stands for something; `?` is printed for others, as stat
/// does.
pub(crate) fn is_known(letter: u8) -> bool {
    b"aAbBdDfFgGhinNorRstTuUwWxXyYzZ".contains(&letter)
}

/// What `letter` stands for.
pub(crate) fn value(letter: u8, part: Part, item: &Item, context: &Context<'_>) -> Value {
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

/// The type in words.
pub(crate) fn type_name(kind: FileType, size: u64) -> &'static str {
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
