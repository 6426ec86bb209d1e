//! Generates trees from a seed, writes them to an index, and computes the
//! expected answers.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod answers;
pub mod older;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use trawl_format::Readers;
use trawl_model::column::COLUMNS;
use trawl_model::rows::{Row, RowBatch, ValuesMut};
use trawl_model::sink::SourceRoot;
use trawl_model::{
    Dev, DirAccess, DirBatch, DirId, Entry, Errno, FileType, Gid, Issue, Meta, Op, Sink, Timestamp,
    Uid, Xattr, path,
};
use trawl_writer::{SnapshotWriter, WriterOptions};

/// A small random number generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// An entry as generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub name: Vec<u8>,
    pub meta: Meta,
    pub link_target: Vec<u8>,
    pub xattr_names: Vec<u8>,
}

impl Made {
    /// Returns its attributes with values. The one in `trusted` is the
    /// superuser's: its name is not in the row.
    pub fn values(&self) -> Vec<(&'static [u8], Vec<u8>)> {
        let value = |tag: &[u8]| [tag, &self.name].concat();
        let mut values: Vec<(&'static [u8], Vec<u8>)> = Vec::new();
        if self.meta.ino.is_multiple_of(11) {
            values.push((b"trusted.t", value(b"t")));
        }
        // Some entries have a name without a value.
        if !self.xattr_names.is_empty() && !self.meta.size.is_multiple_of(3) {
            values.push((b"user.a", value(b"u")));
        }
        values
    }

    /// Returns all its attributes, by name.
    pub fn attributes(&self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let values = self.values().into_iter();
        let mut all: Vec<_> = values
            .map(|(name, value)| (name.to_vec(), Some(value)))
            .collect();
        if !self.xattr_names.is_empty() && !all.iter().any(|(name, _)| name == b"user.a") {
            all.push((b"user.a".to_vec(), None));
        }
        all
    }
}

/// A directory as generated.
#[derive(Clone, Debug)]
pub struct MadeDir {
    pub path: Vec<u8>,
    pub own: Meta,
    pub entries: Vec<Made>,
    /// Positions of its subdirectories in `Tree::dirs`.
    pub children: Vec<usize>,
}

pub struct Tree {
    pub root: Vec<u8>,
    pub dirs: Vec<MadeDir>,
    pub issues: Vec<Issue>,
}

/// The size of a generated tree.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub dirs: usize,
    pub entries: u64,
}

/// Returns attributes in which every number column has a value: a generated object takes from them
/// the columns that are added later, so that the tests cover these too.
pub fn numbered() -> Meta {
    let mut batch = RowBatch::default();
    for info in COLUMNS {
        let number = 1 + info.column as u8;
        match batch.values_mut(info.column) {
            ValuesMut::U32(numbers, _) => numbers.push(number.into()),
            ValuesMut::U64(numbers, _) => numbers.push(number.into()),
            ValuesMut::I64(numbers, _) => numbers.push(number.into()),
            ValuesMut::Bytes(_) | ValuesMut::Derived => {}
        }
    }
    let row = Row {
        batch: &batch,
        at: 0,
        dir: b"",
    };
    row.meta()
}

#[allow(clippy::needless_update, reason = "for columns that are added later")]
pub fn meta_of(random: &mut Random, kind: u32) -> Meta {
    let time = |random: &mut Random| Timestamp {
        secs: random.below(2_000_000_000) as i64 - 1_000_000,
        nanos: random.below(1_000_000_000) as u32,
    };
    let is_dir = kind == 0o040_000;
    Meta {
        // Few distinct numbers, so that hard links repeat.
        ino: random.below(50),
        dev: Dev {
            major: 8,
            minor: random.below(3) as u32,
        },
        rdev: Dev::default(),
        mode: kind | [0o755, 0o711, 0o700, 0o750, 0o644][random.below(5) as usize],
        nlink: 1 + random.below(3) as u32,
        uid: Uid(random.below(4) as u32),
        gid: Gid(random.below(4) as u32),
        size: if random.one_in(9) {
            random.below(1 << 31) << 20
        } else {
            random.below(5000)
        },
        blocks: random.below(100),
        blksize: 4096,
        atime: time(random),
        mtime: time(random),
        ctime: time(random),
        btime: random.one_in(2).then(|| time(random)),
        attributes: random.below(2) * 16,
        project: (is_dir || random.one_in(3)).then(|| random.below(9) as u32),
        ..numbered()
    }
}

fn any_name(random: &mut Random, at: u64) -> Vec<u8> {
    match random.below(12) {
        0 => [b"\xff\\", at.to_string().as_bytes()].concat(),
        1 => format!("line\n{at}").into_bytes(),
        2 => format!("-{at}").into_bytes(),
        3 => format!(".{at}.c").into_bytes(),
        4 => format!("é\\{at}").into_bytes(),
        _ => format!("{}{at}", [" ", "a", "b.", "c-"][random.below(4) as usize]).into_bytes(),
    }
}

impl Tree {
    pub fn random(seed: u64, root: &str, shape: Shape) -> Tree {
        let mut random = Random(seed);
        let mut tree = Tree {
            root: root.as_bytes().to_vec(),
            dirs: Vec::new(),
            issues: Vec::new(),
        };
        let mut pending = vec![(
            root.as_bytes().to_vec(),
            meta_of(&mut random, 0o040_000),
            None::<usize>,
        )];
        while let Some((dir, own, parent)) = pending.pop() {
            let at = tree.dirs.len();
            if let Some(parent) = parent {
                tree.dirs[parent].children.push(at);
            }
            let mut entries = Vec::new();
            let missing = shape
                .dirs
                .saturating_sub(tree.dirs.len() + pending.len() + 1);
            let mut count = match random.below(10) {
                0 => 0,
                1 => random.below(shape.entries * 10),
                _ => random.below(shape.entries),
            };
            // Keep growing until the tree has the requested size.
            if pending.is_empty() && missing > 0 {
                count = count.max(4);
            }
            for n in 0..count {
                let kinds = [
                    0o100_000, 0o120_000, 0o010_000, 0o100_000, 0o040_000, 0o040_000,
                ];
                let kind = match (n, pending.is_empty() && missing > 0) {
                    (0, true) => 0o040_000,
                    _ => kinds[random.below(6) as usize],
                };
                let meta = meta_of(&mut random, kind);
                let name = any_name(&mut random, n);
                let is_listed = kind == 0o040_000 && pending.len() + tree.dirs.len() < shape.dirs;
                if is_listed && (pending.is_empty() || !random.one_in(5)) {
                    pending.push((path::join(&dir, &name), meta, Some(at)));
                } else if kind == 0o040_000 && random.one_in(2) {
                    tree.issues.push(Issue {
                        path: path::join(&dir, &name),
                        op: Op::OpenDir,
                        errno: Errno(13),
                        detail: String::new(),
                    });
                }
                let is_link = kind == 0o120_000;
                entries.push(Made {
                    name,
                    meta,
                    link_target: if is_link {
                        b"../x\xfe".to_vec()
                    } else {
                        Vec::new()
                    },
                    xattr_names: if random.one_in(7) {
                        b"user.a\0".to_vec()
                    } else {
                        Vec::new()
                    },
                });
            }
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            tree.dirs.push(MadeDir {
                path: dir,
                own,
                entries,
                children: Vec::new(),
            });
        }
        tree
    }

    /// Writes the tree in random fragments and segments.
    pub fn write(&self, index: &Path, random: &mut Random) {
        self.write_for(None, index, random);
    }

    /// The same, for these readers.
    pub fn write_for(&self, readers: Option<Readers>, index: &Path, random: &mut Random) {
        let index = trawl_writer::create_index(index, readers).unwrap();
        let options = WriterOptions {
            memory_bytes: [1usize, 20_000, 200_000, 64 << 20][random.below(4) as usize],
            started: Timestamp {
                secs: 1000,
                nanos: 0,
            },
            version: "test".to_owned(),
            options: BTreeMap::new(),
        };
        let mut writer = SnapshotWriter::begin(&index, &self.root, options).unwrap();
        let name = path::split(&self.root).map_or(&b""[..], |(_, name)| name);
        let mut heap = DirBatch::default();
        let entry = Entry {
            meta: self.dirs[0].own,
            name: heap.push_bytes(name),
            ..Entry::default()
        };
        let above = vec![
            DirAccess {
                mode: 0o755,
                ..DirAccess::default()
            };
            path::depth(&self.root)
        ];
        writer
            .root(SourceRoot {
                path: self.root.clone(),
                above,
                entry,
                heap: heap.heap,
                ..SourceRoot::default()
            })
            .unwrap();
        self.deliver(0, None, &mut writer, random);
        writer
            .commit(Timestamp {
                secs: 1001,
                nanos: 0,
            })
            .unwrap();
    }

    fn deliver(
        &self,
        at: usize,
        parent: Option<DirId>,
        writer: &mut SnapshotWriter,
        random: &mut Random,
    ) {
        let dir = &self.dirs[at];
        let id = DirId(at as u64);
        let size = if random.one_in(3) {
            1 + random.below(200) as usize
        } else {
            65_536
        };
        // Entries are assigned to random fragments, each sorted.
        let count = dir.entries.len().div_ceil(size).max(1);
        let mut fragments: Vec<DirBatch> = vec![DirBatch::default(); count];
        for entry in &dir.entries {
            let batch = &mut fragments[random.below(count as u64) as usize];
            let made = Entry {
                meta: entry.meta,
                name: batch.push_bytes(&entry.name),
                link_target: batch.push_bytes(&entry.link_target),
                xattr_names: batch.push_bytes(&entry.xattr_names),
                ..Entry::default()
            };
            let at = batch.entries.len() as u32;
            for (name, value) in entry.values() {
                let (name, value) = (batch.push_bytes(name), batch.push_bytes(&value));
                let entry = at;
                batch.xattrs.push(Xattr { entry, name, value });
            }
            batch.entries.push(made);
        }
        let held =
            |issue: &&Issue| path::split(&issue.path).is_some_and(|(above, _)| above == dir.path);
        fragments[0].issues = self.issues.iter().filter(held).cloned().collect();
        for (number, mut batch) in fragments.into_iter().enumerate() {
            batch.dir = id;
            batch.parent = parent;
            batch.path = dir.path.clone();
            batch.own = dir.own;
            batch.access = DirAccess {
                mode: dir.own.mode,
                uid: dir.own.uid,
                gid: dir.own.gid,
                acl: None,
            };
            batch.fragment = number as u32;
            writer.batch(batch).unwrap();
        }
        for child in &dir.children {
            self.deliver(*child, Some(id), writer, random);
        }
        writer.subtree_done(id).unwrap();
    }

    /// Returns the rows of every directory within `start`, by path.
    pub fn within(&self, start: &[u8]) -> HashMap<&[u8], &MadeDir> {
        let dirs = self
            .dirs
            .iter()
            .filter(|dir| path::is_within(&dir.path, start));
        dirs.map(|dir| (&dir.path[..], dir)).collect()
    }
}

/// Returns the generated entry that a decoded row should equal.
pub fn made_of(row: &Row<'_>) -> Made {
    Made {
        name: row.name().to_vec(),
        meta: row.meta(),
        link_target: row.link_target().to_vec(),
        xattr_names: row.xattr_names().to_vec(),
    }
}

pub fn is_dir(made: &Made) -> bool {
    made.meta.file_type() == FileType::Directory
}
