//! An entry as a JSON object, with the same keys in every command.

use trawl_model::path::display;
use trawl_model::{Column, ColumnSet, Dev, Meta};
use trawl_text::json::Object;
use trawl_text::owners::Owners;

use crate::expr::Node;
use crate::predicates::json;

/// All columns that an object is made from.
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

/// Returns a node whose action prints entries as JSON, for
/// [`Program::print_with`](crate::Program::print_with).
pub fn node() -> Node {
    json::node()
}

/// Returns an entry as an object. `path` is the path as the user would name it.
/// Without `meta`, the only other key is `type`, which is `null`. An empty
/// `target` omits `link_target`. An unknown time of birth is `null`, and so is
/// the name of an owner without one.
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

/// Formats permission bits in octal.
pub fn permissions(mode: u32) -> String {
    format!("{:04o}", mode & 0o7777)
}

/// Formats a device as its major and minor number.
pub fn device(device: Dev) -> String {
    format!("{}:{}", device.major, device.minor)
}
