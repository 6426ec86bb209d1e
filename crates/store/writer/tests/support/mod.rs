//! Shared helpers of this crate's tests: generated trees, writing them, and reading back with
//! Parquet's Arrow reader.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use arrow_array::{
    Array, BinaryArray, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::path::Path;
use trawl_format::{IndexDir, IndexError, Readers, Shard, Table};
use trawl_model::column::COLUMNS;
use trawl_model::rows::{Row, RowBatch, ValuesMut};
use trawl_model::sink::SourceRoot;
use trawl_model::{
    Acl, Dev, DirAccess, DirBatch, DirId, Entry, Errno, Gid, Issue, Meta, Op, Sink, Timestamp, Uid,
    Xattr, path,
};
use trawl_writer::{Committed, SnapshotWriter, WriterError, WriterOptions};

/// A small random number generator with the same sequence on every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// An event of a scan; events come in the order that `Sink` documents.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "a test's list")]
pub enum Event {
    Batch(DirBatch),
    Done(DirId),
    Issue(Option<DirId>, Issue),
}

/// A generated tree.
pub struct Tree {
    pub root: SourceRoot,
    pub events: Vec<Event>,
}

pub fn time(secs: i64) -> Timestamp {
    Timestamp { secs, nanos: 5 }
}

pub fn options(memory_bytes: usize) -> WriterOptions {
    WriterOptions {
        memory_bytes,
        started: time(1_700_000_000),
        version: "test".to_owned(),
        options: BTreeMap::from([("threads".to_owned(), "2".to_owned())]),
    }
}

pub fn write_tree(
    index: &IndexDir,
    tree: &Tree,
    memory_bytes: usize,
) -> Result<Committed, WriterError> {
    let mut writer = SnapshotWriter::begin(index, &tree.root.path, options(memory_bytes))?;
    feed(&mut writer, tree)?;
    writer.commit(time(1_700_000_100))
}

pub fn feed(writer: &mut SnapshotWriter, tree: &Tree) -> Result<(), IndexError> {
    writer.root(tree.root.clone())?;
    for event in tree.events.clone() {
        match event {
            Event::Batch(batch) => writer.batch(batch)?,
            Event::Done(dir) => writer.subtree_done(dir)?,
            Event::Issue(dir, issue) => writer.issue(dir, issue)?,
        }
    }
    Ok(())
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
fn odd_meta(random: &mut Random, mode: u32) -> Meta {
    let wild = random.chance(50);
    let stamp = |random: &mut Random| Timestamp {
        secs: match random.below(40) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => -1,
            _ => 1_600_000_000 + random.below(100_000_000) as i64,
        },
        nanos: random.below(1_000_000_000) as u32,
    };
    Meta {
        ino: if wild {
            random.next()
        } else {
            random.below(1 << 24)
        },
        dev: Dev {
            major: 8,
            minor: u32::from(random.chance(30)),
        },
        rdev: Dev::default(),
        mode,
        nlink: if random.chance(20) {
            1 + random.below(3) as u32
        } else {
            1
        },
        uid: Uid(if wild {
            u32::MAX
        } else {
            random.below(4) as u32
        }),
        gid: Gid(random.below(3) as u32),
        size: if wild {
            random.next()
        } else {
            random.below(1 << 30)
        },
        blocks: random.below(1 << 20),
        blksize: 4096,
        atime: stamp(random),
        mtime: stamp(random),
        ctime: stamp(random),
        btime: (!random.chance(3)).then(|| stamp(random)),
        attributes: if random.chance(10) { 0x10 } else { 0 },
        project: random.chance(9).then(|| random.below(5) as u32),
        ..numbered()
    }
}

fn odd_name(random: &mut Random, at: u64) -> Vec<u8> {
    match random.below(12) {
        0 => format!("né-{at}").into_bytes(),
        1 => [b"bad\xff\\".as_slice(), at.to_string().as_bytes()].concat(),
        2 => format!("new\nline{at}").into_bytes(),
        3 => format!("long{}-{at}", "x".repeat(200)).into_bytes(),
        _ => format!("file{at:04}.txt").into_bytes(),
    }
}

/// Makes a tree of about `dirs` directories with every unusual feature that a row may have.
pub fn odd_tree(root: &str, dirs: u64, files: u64, seed: u64) -> Tree {
    let mut random = Random(seed);
    let mut maker = Maker {
        random: &mut random,
        events: Vec::new(),
        next: 0,
        left: dirs,
        files,
    };
    let mut batch = DirBatch::default();
    let name = path::split(root.as_bytes()).map_or(&b""[..], |(_, name)| name);
    let name = batch.push_bytes(name);
    let meta = Meta {
        mode: 0o040_755,
        nlink: 3,
        ..Meta::default()
    };
    let entry = Entry {
        meta,
        name,
        ..Entry::default()
    };
    let above = vec![DirAccess {
        mode: 0o755,
        ..DirAccess::default()
    }];
    let open = DirAccess {
        mode: 0o755,
        ..DirAccess::default()
    };
    maker.dir(None, root.as_bytes().to_vec(), open, meta, 0);
    let events = maker.events;
    Tree {
        root: SourceRoot {
            path: root.as_bytes().to_vec(),
            above,
            entry,
            heap: batch.heap,
            ..SourceRoot::default()
        },
        events,
    }
}

struct Maker<'a> {
    random: &'a mut Random,
    events: Vec<Event>,
    next: u64,
    left: u64,
    files: u64,
}

impl Maker<'_> {
    fn dir(
        &mut self,
        parent: Option<DirId>,
        path: Vec<u8>,
        access: DirAccess,
        own: Meta,
        depth: u32,
    ) {
        let id = DirId(self.next);
        self.next += 1;
        let base = DirBatch {
            dir: id,
            parent,
            path,
            access,
            own,
            ..DirBatch::default()
        };
        let mut named: Vec<(Vec<u8>, Option<DirAccess>)> = Vec::new();
        let files = match depth {
            0 => 2 * self.files,
            _ => self.random.below(2 * self.files + 1),
        };
        for at in 0..files {
            named.push((odd_name(self.random, at), None));
        }
        let below = if depth > 30 {
            0
        } else {
            (self.random.below(4) + u64::from(depth < 3)).min(self.left)
        };
        self.left -= below;
        for at in 0..below {
            let name = format!("dir{at}{}", if self.random.chance(5) { "-x" } else { "" });
            named.push((name.into_bytes(), Some(self.access())));
        }
        named.sort_by(|a, b| a.0.cmp(&b.0));
        let fragments = if named.len() > 3 && self.random.chance(6) {
            2
        } else {
            1
        };
        let mut children = Vec::new();
        for fragment in 0..fragments {
            let mut batch = DirBatch {
                fragment,
                ..base.clone()
            };
            for (at, (name, dir)) in named.iter().enumerate() {
                if at as u32 % fragments != fragment {
                    continue;
                }
                let meta = self.entry(&mut batch, name, dir.as_ref());
                if let Some(access) = dir {
                    children.push((path::join(&batch.path, name), access.clone(), meta));
                }
            }
            self.events.push(Event::Batch(batch));
        }
        for (path, access, meta) in children {
            self.dir(Some(id), path, access, meta, depth + 1);
        }
        if self.random.chance(10) {
            let issue = Issue {
                path: base.path.clone(),
                op: Op::ReadDir,
                errno: Errno(5),
                detail: String::new(),
            };
            self.events.push(Event::Issue(Some(id), issue));
        }
        self.events.push(Event::Done(id));
    }

    fn access(&mut self) -> DirAccess {
        let mode = [0o755, 0o755, 0o755, 0o700, 0o711, 0o750, 0o770][self.random.below(7) as usize];
        DirAccess {
            mode,
            uid: Uid(self.random.below(3) as u32),
            gid: Gid(self.random.below(3) as u32),
            acl: None,
        }
    }

    fn entry(&mut self, batch: &mut DirBatch, name: &[u8], dir: Option<&DirAccess>) -> Meta {
        let random = &mut *self.random;
        let kind = if random.chance(7) {
            0o120_777
        } else if random.chance(30) {
            0o010_644
        } else {
            0o100_644
        };
        let mode = dir.map_or(kind, |access| 0o040_000 | access.mode);
        let meta = odd_meta(random, mode);
        let mut entry = Entry {
            meta,
            name: batch.push_bytes(name),
            ..Entry::default()
        };
        if mode == 0o120_777 {
            entry.link_target = batch.push_bytes(b"../some/where\xff");
        }
        if random.chance(25) {
            entry.xattr_names = batch.push_bytes(b"user.a\0");
            let xattr = Xattr {
                entry: batch.entries.len() as u32,
                name: batch.push_bytes(b"user.a"),
                value: batch.push_bytes(&random.next().to_le_bytes()),
            };
            batch.xattrs.push(xattr);
        }
        if random.chance(40) {
            let acl = Acl {
                owner: 6,
                group: 4,
                users: vec![(Uid(9), 4)],
                mask: Some(4),
                ..Acl::default()
            };
            entry.acl = batch.push_bytes(&acl.to_bytes());
        }
        if random.chance(60) {
            batch.issues.push(Issue {
                path: path::join(&batch.path, name),
                op: Op::ReadLink,
                errno: Errno(13),
                detail: "line 7".to_owned(),
            });
        }
        batch.entries.push(entry);
        meta
    }
}

/// Reads every row group of a segment's file as Arrow batches.
pub fn read(shard: &Shard, table: Table) -> Vec<(u32, RecordBatch)> {
    let mut out = Vec::new();
    for segment in &shard.manifest.segments {
        if segment.files.contains_key(&table) {
            let file = shard.open_file(segment, table).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            assert_eq!(
                reader.schema().fields(),
                trawl_writer::parquet_schema::arrow_schema(table).fields()
            );
            for batch in reader.with_batch_size(1 << 20).build().unwrap() {
                out.push((segment.id.number, batch.unwrap()));
            }
        }
    }
    out
}

/// Returns one value of a column as text for comparisons.
pub fn cell(batch: &RecordBatch, column: &str, row: usize) -> String {
    let array = batch.column_by_name(column).unwrap();
    if array.is_null(row) {
        return "null".to_owned();
    }
    let any = array.as_any();
    if let Some(a) = any.downcast_ref::<StringArray>() {
        format!("{:?}", a.value(row))
    } else if let Some(a) = any.downcast_ref::<BinaryArray>() {
        format!("{:?}", a.value(row))
    } else if let Some(a) = any.downcast_ref::<UInt32Array>() {
        a.value(row).to_string()
    } else if let Some(a) = any.downcast_ref::<UInt64Array>() {
        a.value(row).to_string()
    } else if let Some(a) = any.downcast_ref::<Int64Array>() {
        a.value(row).to_string()
    } else {
        panic!("column {column} has type {}", array.data_type())
    }
}

/// Makes a fresh directory and an index in it.
pub fn new_index() -> (tempfile::TempDir, IndexDir) {
    new_index_for(None)
}

/// Makes an index for its owner alone, in which no snapshot rewrites older ones as strictly as it
/// is.
pub fn new_private_index() -> (tempfile::TempDir, IndexDir) {
    new_index_for(Some(Readers::Owner))
}

fn new_index_for(readers: Option<Readers>) -> (tempfile::TempDir, IndexDir) {
    let dir = tempfile::tempdir().unwrap();
    let index = trawl_writer::create_index(&dir.path().join("index"), readers).unwrap();
    (dir, index)
}

/// Returns every file below `dir` with its bytes.
pub fn files_below(dir: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else {
                found.insert(entry.path(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}
