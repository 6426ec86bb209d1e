//! `-ls`: prints one line per entry, much as `ls -dils` does.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_sys::SysError;
use trawl_text::{mode, quote, time_style};

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::output::{LsColumn, Sink};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::reference::error_text;

/// Columns that a line is made from.
pub(super) const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Ino,
    Column::Mode,
    Column::Nlink,
    Column::Uid,
    Column::Gid,
    Column::Rdev,
    Column::Size,
    Column::Blocks,
    Column::Mtime,
    Column::MtimeNs,
    Column::LinkTarget,
]);

/// The `-ls` predicate.
pub(crate) static LS: Predicate = Predicate {
    name: "-ls",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "print the entry in `ls -dils` format: inode, blocks, mode, links, owner, group, size, time, path",
    cost: Cost::Output,
    columns: COLUMNS,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(leaf(Sink::Stdout))),
};

#[derive(Debug)]
struct Ls {
    sink: Sink,
}

/// A leaf that prints a line for the entry to this sink.
pub(super) fn leaf(sink: Sink) -> Box<dyn Leaf> {
    Box::new(Ls { sink })
}

impl Leaf for Ls {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.print_to(self.sink, |cx| push_line(row, cx));
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

fn push_line(row: &Row<'_>, cx: &mut Context<'_>) {
    push_inode(row, cx);
    push_owners(row, cx);
    push_size(row, cx);
    let mut time = String::from(" ");
    time_style::find_ls(&mut time, row.mtime(), cx.world.now, &cx.world.zone);
    time.push(' ');
    cx.out.bytes.extend_from_slice(time.as_bytes());
    let path = cx.path(row).to_vec();
    quote::find_ls(&mut cx.out.bytes, &path);
    if row.file_type() == FileType::Symlink
        && let Some(target) = cx.link_target(row, |cx, error| cannot_read(&path, cx, error))
    {
        cx.out.bytes.extend_from_slice(b" -> ");
        quote::find_ls(&mut cx.out.bytes, &target);
    }
    cx.out.bytes.push(b'\n');
}

/// Complains about a link whose target cannot be read. GNU find puts no
/// quotation marks around the path here.
fn cannot_read(path: &[u8], cx: &mut Context<'_>, error: SysError) {
    quote::find_ls(&mut cx.complaints, path);
    cx.complain(&format!(": {}", error_text(&error.into())));
}

/// Prints inode number, blocks, mode and link count.
fn push_inode(row: &Row<'_>, cx: &mut Context<'_>) {
    let number = |n: u64| n.to_string().into_bytes();
    // `row.blocks()` counts blocks of 512 bytes.
    let in_one = (cx.world.ls_block_bytes / 512).max(1);
    let out = &mut cx.out;
    out.push_right(LsColumn::Inode, &number(row.ino()));
    out.bytes.push(b' ');
    out.push_right(LsColumn::Blocks, &number(row.blocks().div_ceil(in_one)));
    out.bytes.push(b' ');
    out.bytes.extend_from_slice(&mode::render(row.mode()));
    out.bytes.push(b' ');
    out.push_right(LsColumn::Links, &number(u64::from(row.nlink())));
    out.bytes.push(b' ');
}

fn push_owners(row: &Row<'_>, cx: &mut Context<'_>) {
    let (uid, gid) = (row.uid(), row.gid());
    match cx.world.owners.user(uid) {
        Some(name) => {
            cx.out.push_left(LsColumn::Owner, &name);
            cx.out.bytes.push(b' ');
        }
        None => {
            // A numeric owner ID takes eight places whatever the width of the
            // column, and the space after it counts towards the column's width.
            // This is GNU find's own arithmetic.
            let text = format!("{:<8} ", uid.0);
            cx.out.bytes.extend_from_slice(text.as_bytes());
            cx.out.widen(LsColumn::Owner, text.len());
        }
    }
    let group = cx.world.owners.group(gid);
    let group = group.unwrap_or_else(|| gid.0.to_string().into_bytes().into());
    cx.out.push_left(LsColumn::Group, &group);
    cx.out.bytes.push(b' ');
}

/// Prints the size, or the major and minor number of a device.
fn push_size(row: &Row<'_>, cx: &mut Context<'_>) {
    let out = &mut cx.out;
    match row.file_type() {
        FileType::Block | FileType::Char => {
            let dev = row.rdev();
            out.push_right(LsColumn::Major, dev.major.to_string().as_bytes());
            out.bytes.extend_from_slice(b", ");
            out.push_right(LsColumn::Minor, dev.minor.to_string().as_bytes());
        }
        _ => out.push_right(LsColumn::Size, row.size().to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on};

    #[test]
    fn lines_look_as_those_of_find() {
        let old = |spec: Spec| spec.mtime_ago(400 * 86_400);
        let file = old(Spec {
            ino: 17,
            size: 4097,
            blocks: 16,
            ..Spec::named("a b")
        });
        let device = old(Spec {
            mode: 0o020_644,
            rdev: 0x103,
            ..Spec::named("d")
        });
        let link = old(Spec {
            mode: 0o120_777,
            target: "x\n",
            size: 2,
            ..Spec::named("l")
        });
        for (spec, expected) in [
            (
                file,
                "       17      8 -rw-r--r--   1 root     root         4097 Oct 10  2022 ./top/a\\ b\n",
            ),
            (
                device,
                "        1      0 crw-r--r--   1 root     root       1,   3 Oct 10  2022 ./top/d\n",
            ),
            (
                link,
                "        1      0 lrwxrwxrwx   1 root     root            2 Oct 10  2022 ./top/l -> x\\n\n",
            ),
        ] {
            let run = run_on("-ls", &spec);
            assert_eq!(String::from_utf8_lossy(&run.printed), expected);
        }
    }
}
