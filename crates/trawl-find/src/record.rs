//! An entry as a row for programs, with the same fields in every command.

use trawl_model::path::display;
use trawl_model::{Column, ColumnSet, Dev, Meta};
use trawl_report::{Field, Row, Value, fields};
use trawl_text::owners::Owners;

use crate::expr::Node;
use crate::predicates::json;

/// All columns that a row is made from.
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

/// The fields of an entry.
pub const FIELDS: [Field; 20] = [
    fields::PATH.with_null(),
    fields::TYPE,
    fields::SIZE,
    fields::BLOCKS,
    fields::MODE,
    fields::PERMISSIONS,
    fields::NLINK,
    fields::UID,
    fields::USER.without_raw(),
    fields::GID,
    fields::GROUP.without_raw(),
    fields::INO,
    fields::DEV,
    fields::RDEV,
    fields::BLKSIZE.without_csv(),
    fields::ATIME,
    fields::MTIME,
    fields::CTIME,
    fields::BTIME,
    fields::LINK_TARGET,
];

/// Fills a row with an entry. `path` is the path as the user would name it. Without `meta`, the only
/// other field is `type`, which is null. An empty `target` leaves out `link_target`.
pub fn fill(row: &mut Row<'_>, path: &[u8], meta: Option<&Meta>, target: &[u8], owners: &Owners) {
    row.put(&fields::PATH, display(path));
    let Some(meta) = meta else {
        row.put(&fields::TYPE, Value::Null);
        return;
    };
    row.put(&fields::TYPE, char::from(meta.file_type().letter()))
        .put(&fields::SIZE, meta.size)
        .put(&fields::BLOCKS, meta.blocks)
        .put(&fields::MODE, meta.mode)
        .put(&fields::PERMISSIONS, &permissions(meta.mode))
        .put(&fields::NLINK, meta.nlink)
        .put(&fields::UID, meta.uid)
        .put(&fields::USER, owners.user(meta.uid).as_deref())
        .put(&fields::GID, meta.gid)
        .put(&fields::GROUP, owners.group(meta.gid).as_deref())
        .put(&fields::INO, meta.ino)
        .put(&fields::DEV, meta.dev.as_u64())
        .put(&fields::RDEV, meta.rdev.as_u64())
        .put(&fields::BLKSIZE, meta.blksize)
        .put(&fields::ATIME, meta.atime)
        .put(&fields::MTIME, meta.mtime)
        .put(&fields::CTIME, meta.ctime)
        .put(&fields::BTIME, meta.btime);
    if !target.is_empty() {
        row.put(&fields::LINK_TARGET, target);
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
