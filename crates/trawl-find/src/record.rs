//! An entry as a JSON object: the same keys wherever an entry is written so.

use trawl_model::path::display;
use trawl_model::{Column, ColumnSet, Dev, Meta};
use trawl_text::json::Object;
use trawl_text::owners::Owners;

use crate::expr::Node;
use crate::predicates::json;

/// Every column that an object is made from.
pub const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Ino,
    Column::Dev,
    Column::Mode,
    Column::Nlink,
    Column::Uid,
    Column::Gid,
    Column::Rdev,
    Column::Size,
    Column::Blocks,
    Column::Blksize,
    Column::Atime,
    Column::AtimeNs,
    Column::Mtime,
    Column::MtimeNs,
    Column::Ctime,
    Column::CtimeNs,
    Column::Btime,
    Column::BtimeNs,
    Column::LinkTarget,
]);

/// The action that prints entries so, for
/// [`Program::print_with`](crate::Program::print_with).
pub fn node() -> Node {
    json::node()
}

/// An entry as an object. `path` is how the user would name it; without
/// attributes there is a `type` of `null` and nothing else, without a link's
/// target no `link_target`. A time of birth that nobody knows is `null`, and so
/// are names of owners that have none.
pub fn object(path: &[u8], meta: Option<&Meta>, target: &[u8], owners: &Owners) -> Object {
    let object = Object::new().bytes("path", display(path));
    let Some(meta) = meta else {
        return object.null("type");
    };
    let object = object
        .text("type", &char::from(meta.file_type().letter()).to_string())
        .number("size", meta.size)
        .number("blocks", meta.blocks)
        .number("mode", meta.mode)
        .text("permissions", &permissions(meta.mode))
        .number("nlink", meta.nlink)
        .number("uid", meta.uid.0);
    let object = named(object, "user", owners.user(meta.uid).as_deref()).number("gid", meta.gid.0);
    let object = named(object, "group", owners.group(meta.gid).as_deref())
        .number("ino", meta.ino)
        .number("dev", meta.dev.as_u64())
        .number("rdev", meta.rdev.as_u64())
        .number("blksize", meta.blksize)
        .time("atime", Some(meta.atime))
        .time("mtime", Some(meta.mtime))
        .time("ctime", Some(meta.ctime))
        .time("btime", meta.btime);
    match target {
        [] => object,
        target => object.bytes("link_target", target),
    }
}

fn named(object: Object, key: &str, name: Option<&[u8]>) -> Object {
    match name {
        Some(name) => object.bytes(key, name),
        None => object.null(key),
    }
}

/// Permission bits in octal.
pub fn permissions(mode: u32) -> String {
    format!("{:04o}", mode & 0o7777)
}

/// A device's two numbers.
pub fn device(device: Dev) -> String {
    format!("{}:{}", device.major, device.minor)
}
