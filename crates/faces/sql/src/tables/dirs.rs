//! `dirs`: one row for each directory that was listed, with sums over its own entries and over
//! everything below it. No entry is read for it.

use std::ops::ControlFlow;

use trawl_model::escape::escape;
use trawl_model::path;
use trawl_query::{DirRequest, Directory, Order, SnapshotInfo, Sums};

use super::{
    EDITION_COLUMNS, Job, Kind, Rows, TableColumn, Take, Target, Values, column, fill_edition,
    nanoseconds, nullable,
};
use crate::error::Result;

/// Range of the columns with sums over the subtree.
const TREE: std::ops::Range<usize> = 20..26;
/// Index of the first column about the snapshot.
const EDITION: usize = TREE.end;

/// Returns the columns.
pub(super) fn columns() -> Vec<TableColumn> {
    let mut columns = vec![
        column("path", Kind::Text, "Absolute path, `/` for the root"),
        nullable(
            "path_raw",
            Kind::Bytes,
            "The path's bytes, only where they are not UTF-8",
        ),
        column(
            "parent",
            Kind::Text,
            "Path of the parent directory, as in `entries.dir`",
        ),
        column("name", Kind::Text, "The directory's name"),
        column("depth", Kind::I32, "Components of the path: 0 for `/`"),
        column("ino", Kind::U64, "Inode number"),
        column("dev", Kind::U64, "Device of the file system"),
        column("mode", Kind::U32, "Type and permission bits"),
        column("nlink", Kind::U32, "Hard links"),
        column("uid", Kind::U32, "Owner"),
        column("gid", Kind::U32, "Owning group"),
        column("own_size", Kind::I64, "Its own size in bytes"),
        column("mtime", Kind::Time, "Last change of its entries"),
        column("entries", Kind::I64, "Names in it"),
        column("files", Kind::I64, "Regular files in it"),
        column("dirs", Kind::I64, "Directories in it"),
        column("symlinks", Kind::I64, "Symbolic links in it"),
        column("others", Kind::I64, "Other objects in it"),
        column("size", Kind::I64, "Sum of the sizes of its entries, bytes"),
        column(
            "blocks",
            Kind::I64,
            "Sum of their allocated space, units of 512 bytes",
        ),
    ];
    columns.extend([
        column("tree_entries", Kind::I64, "Names in it and below"),
        column("tree_files", Kind::I64, "Regular files in it and below"),
        column("tree_dirs", Kind::I64, "Directories in it and below"),
        column(
            "tree_size",
            Kind::I64,
            "Sum of all sizes below, bytes; each name counts",
        ),
        column(
            "tree_blocks",
            Kind::I64,
            "Sum of all space below, units of 512 bytes; each name counts",
        ),
        column("tree_depth", Kind::I32, "Levels of directories below it"),
    ]);
    columns.extend(EDITION_COLUMNS);
    columns
}

/// Sums over a directory and everything below it.
#[derive(Clone, Copy, Debug, Default)]
struct Tree {
    sums: Sums,
    depth: usize,
}

impl Tree {
    fn add(&mut self, other: &Tree) {
        let (into, from) = (&mut self.sums, &other.sums);
        into.files = into.files.wrapping_add(from.files);
        into.dirs = into.dirs.wrapping_add(from.dirs);
        into.symlinks = into.symlinks.wrapping_add(from.symlinks);
        into.others = into.others.wrapping_add(from.others);
        into.size_bytes = into.size_bytes.wrapping_add(from.size_bytes);
        into.blocks = into.blocks.wrapping_add(from.blocks);
        self.depth = self.depth.max(other.depth);
    }
}

/// Produces the rows.
pub(super) fn produce(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let sums_trees = job.columns.iter().any(|at| TREE.contains(at));
    for target in job.targets {
        if target.start.is_dir && below(job, target, sums_trees, take)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn below(
    job: &Job<'_>,
    target: &Target,
    sums_trees: bool,
    take: Take<'_>,
) -> Result<ControlFlow<()>> {
    let table = columns();
    let request = DirRequest {
        max_depth: match sums_trees {
            // The sums need everything below.
            true => None,
            false => target.reach.max_depth(),
        },
        // Backward order visits children before their parents.
        order: match sums_trees {
            true => Order::Backward,
            false => Order::Forward,
        },
        cancel: Some(job.cancel),
    };
    let mut rows = Rows::new(&table, job.columns);
    let mut above: Vec<Tree> = Vec::new();
    let mut failed = None;
    let mut flow = ControlFlow::Continue(());
    let wanted = target.reach.max_depth().unwrap_or(usize::MAX);
    job.index()
        .directories(&target.start, &request, |directory| {
            let tree = match sums_trees {
                true => fold(&mut above, directory.depth, directory.sums),
                false => Tree::default(),
            };
            if directory.depth <= wanted && !target.skips(&directory.path) {
                add(&mut rows, directory, &tree, target.start.view.info());
            }
            if rows.is_full() {
                let full = std::mem::replace(&mut rows, Rows::new(&table, job.columns));
                match full.finish() {
                    Ok(batch) => flow = take(batch),
                    Err(error) => {
                        failed = Some(error);
                        flow = ControlFlow::Break(());
                    }
                }
            }
            flow
        })?;
    if let Some(error) = failed {
        return Err(error);
    }
    if flow.is_continue() && rows.len > 0 {
        flow = take(rows.finish()?);
    }
    Ok(flow)
}

/// Returns the sums of a directory whose whole subtree was visited before; `above` has the sums so
/// far for each level.
fn fold(above: &mut Vec<Tree>, depth: usize, sums: Sums) -> Tree {
    if above.len() < depth + 2 {
        above.resize(depth + 2, Tree::default());
    }
    let mut tree = Tree { sums, depth: 0 };
    let below = std::mem::take(&mut above[depth + 1]);
    tree.add(&below);
    let seen_above = Tree {
        sums: tree.sums,
        depth: tree.depth + 1,
    };
    above[depth].add(&seen_above);
    tree
}

fn add(rows: &mut Rows, directory: &Directory, tree: &Tree, info: &SnapshotInfo) {
    rows.len += 1;
    let (parent, name) = path::split(&directory.path).unwrap_or_default();
    for (at, values) in &mut rows.columns {
        match values {
            Values::Text(texts) if *at < EDITION => {
                let bytes = match *at {
                    0 => path::display(&directory.path),
                    2 => parent,
                    _ => name,
                };
                texts.push(escape(bytes).as_bytes());
            }
            Values::Bytes(bytes) => match std::str::from_utf8(&directory.path) {
                Ok(_) => bytes.push_null(),
                Err(_) => bytes.push(&directory.path),
            },
            Values::U32(numbers) => numbers.push(Some(small(*at, directory))),
            Values::U64(numbers, _) => numbers.push(match *at {
                5 => directory.own.ino,
                _ => directory.own.dev.as_u64(),
            }),
            Values::I32(numbers) => {
                let number = match *at {
                    4 => path::depth(&directory.path),
                    _ => tree.depth,
                };
                numbers.push(i32::try_from(number).unwrap_or(i32::MAX));
            }
            Values::I64(numbers) => {
                let number = large(*at, directory, tree);
                numbers.push(Some(i64::try_from(number).unwrap_or(i64::MAX)));
            }
            Values::Time(times) if *at < EDITION => {
                times.push(Some(nanoseconds(directory.own.mtime)));
            }
            values => fill_edition(values, *at - EDITION, info, 1),
        }
    }
}

fn small(at: usize, directory: &Directory) -> u32 {
    match at {
        7 => directory.own.mode,
        8 => directory.own.nlink,
        9 => directory.own.uid.0,
        _ => directory.own.gid.0,
    }
}

fn large(at: usize, directory: &Directory, tree: &Tree) -> u64 {
    let sums = &directory.sums;
    match at {
        11 => directory.own.size,
        13 => sums.entries(),
        14 => sums.files,
        15 => sums.dirs,
        16 => sums.symlinks,
        17 => sums.others,
        18 => sums.size_bytes,
        19 => sums.blocks,
        20 => tree.sums.entries(),
        21 => tree.sums.files,
        22 => tree.sums.dirs,
        23 => tree.sums.size_bytes,
        _ => tree.sums.blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_where_the_rows_are_filled() {
        let columns = columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        for (at, name) in [
            (0, "path"),
            (2, "parent"),
            (4, "depth"),
            (5, "ino"),
            (7, "mode"),
            (11, "own_size"),
            (13, "entries"),
            (19, "blocks"),
            (20, "tree_entries"),
            (25, "tree_depth"),
            (26, "source"),
        ] {
            assert_eq!(names[at], name);
        }
    }

    #[test]
    fn sums_of_a_tree_are_those_of_its_parts() {
        let own = |files| Sums {
            files,
            ..Sums::default()
        };
        let mut above = Vec::new();
        // Backward: /b, /a/c/d, /a/c, /a, /.
        let order = [(1, 1), (3, 10), (2, 100), (1, 1000), (0, 10_000)];
        let sums: Vec<(u64, usize)> = order
            .iter()
            .map(|(depth, files)| fold(&mut above, *depth, own(*files)))
            .map(|tree| (tree.sums.files, tree.depth))
            .collect();
        assert_eq!(sums, [(1, 0), (10, 0), (110, 1), (1110, 2), (11_111, 3)]);
    }
}
