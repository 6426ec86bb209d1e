//! Measures the writer alone: `measure TREE [REPEAT]`, `measure invented`.
//!
//! Reads a tree first with the standard library (not measured), then writes a snapshot of it, and
//! prints CPU time per entry and bytes per entry, in total and by column. `invented` writes 2.2 M
//! entries generated on the fly, and also prints the peak memory.

use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trawl_format::IndexDir;
use trawl_model::sink::SourceRoot;
use trawl_model::{Dev, DirAccess, DirBatch, DirId, Entry, Gid, Meta, Sink, Timestamp, Uid, path};
use trawl_writer::{SnapshotWriter, WriterOptions};

#[allow(clippy::large_enum_variant, reason = "a list for measuring")]
#[derive(Clone)]
enum Event {
    Batch(DirBatch),
    Done(DirId),
}

fn meta_of(stat: &std::fs::Metadata) -> Meta {
    let time = |secs, nanos| Timestamp {
        secs,
        nanos: nanos as u32,
    };
    let born = stat
        .created()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    Meta {
        ino: stat.ino(),
        dev: Dev::from_u64(stat.dev()),
        rdev: Dev::from_u64(stat.rdev()),
        mode: stat.mode(),
        nlink: stat.nlink() as u32,
        uid: Uid(stat.uid()),
        gid: Gid(stat.gid()),
        size: stat.size(),
        blocks: stat.blocks(),
        blksize: stat.blksize() as u32,
        atime: time(stat.atime(), stat.atime_nsec()),
        mtime: time(stat.mtime(), stat.mtime_nsec()),
        ctime: time(stat.ctime(), stat.ctime_nsec()),
        btime: born.map(|t| time(t.as_secs() as i64, i64::from(t.subsec_nanos()))),
        ..Meta::default()
    }
}

fn walk(dir: &Path, parent: Option<DirId>, events: &mut Vec<Event>, next: &mut u64) {
    let id = DirId(*next);
    *next += 1;
    let own = meta_of(&std::fs::symlink_metadata(dir).unwrap());
    let access = DirAccess {
        mode: own.mode,
        uid: own.uid,
        gid: own.gid,
        acl: None,
    };
    let path = dir.as_os_str().as_bytes().to_vec();
    let mut batch = DirBatch {
        dir: id,
        parent,
        path,
        access,
        own,
        ..DirBatch::default()
    };
    let Ok(list) = std::fs::read_dir(dir) else {
        return;
    };
    let mut names: Vec<_> = list.flatten().map(|e| e.file_name()).collect();
    names.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    let mut below = Vec::new();
    for name in names {
        let full = dir.join(&name);
        let Ok(stat) = std::fs::symlink_metadata(&full) else {
            continue;
        };
        let mut entry = Entry {
            meta: meta_of(&stat),
            ..Entry::default()
        };
        entry.name = batch.push_bytes(name.as_bytes());
        if let Ok(target) = std::fs::read_link(&full) {
            entry.link_target = batch.push_bytes(target.as_os_str().as_bytes());
        }
        batch.entries.push(entry);
        if stat.is_dir() {
            below.push(full);
        }
    }
    events.push(Event::Batch(batch));
    for dir in below {
        walk(&dir, Some(id), events, next);
    }
    events.push(Event::Done(id));
}

/// Returns the CPU time of this process so far in seconds, over all threads.
fn cpu_s() -> f64 {
    trawl_testkit::process::cpu_time().as_secs_f64()
}

fn invented_dir(id: u64, root: &[u8]) -> DirBatch {
    let mut state = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let path = match id {
        0 => root.to_vec(),
        _ => [root, format!("/project{}/run{id:06}", id % 50).as_bytes()].concat(),
    };
    let mode = if id.is_multiple_of(7) {
        0o040_750
    } else {
        0o040_755
    };
    let access = DirAccess {
        mode,
        gid: Gid((id % 12) as u32),
        ..DirAccess::default()
    };
    let parent = (id > 0).then_some(DirId(0));
    let mut batch = DirBatch {
        dir: DirId(id),
        parent,
        path,
        access,
        ..DirBatch::default()
    };
    for at in 0..11 {
        let name = batch.push_bytes(format!("data{at:02}-{}.h5", next() % 10_000).as_bytes());
        let time = |n: u64| Timestamp {
            secs: 1_600_000_000 + (n % 100_000_000) as i64,
            nanos: (n % 999_999_937) as u32,
        };
        let meta = Meta {
            ino: id * 16 + at,
            mode: 0o100_644,
            nlink: 1,
            uid: Uid((id % 60) as u32),
            gid: Gid((id % 12) as u32),
            size: next() % (1 << (next() % 32)),
            blocks: next() % 4096,
            blksize: 4096,
            atime: time(next()),
            mtime: time(next()),
            ctime: time(next()),
            ..Meta::default()
        };
        batch.entries.push(Entry {
            meta,
            name,
            ..Entry::default()
        });
    }
    batch
}

fn measure_invented() {
    const DIRS: u64 = 200_000;
    let dir = tempfile::tempdir().unwrap();
    let index = trawl_writer::create_index(&dir.path().join("index"), None).unwrap();
    let root = b"/invented";
    let mut writer = SnapshotWriter::begin(&index, root, options()).unwrap();
    let source_root = SourceRoot {
        path: root.to_vec(),
        ..SourceRoot::default()
    };
    writer.root(source_root).unwrap();
    let (mut cpu, start) = (0.0, cpu_s());
    for block in 0..DIRS / 1000 {
        let batches: Vec<_> = (block * 1000..block * 1000 + 1000)
            .map(|id| invented_dir(id, root))
            .collect();
        let before = cpu_s();
        for batch in batches {
            let id = batch.dir;
            writer.batch(batch).unwrap();
            if id.0 > 0 {
                writer.subtree_done(id).unwrap();
            }
        }
        cpu += cpu_s() - before;
    }
    let before = cpu_s();
    writer.subtree_done(DirId(0)).unwrap();
    let done = writer.commit(Timestamp { secs: 2, nanos: 0 }).unwrap();
    cpu += cpu_s() - before;
    let entries = done.totals.entries as f64;
    let peak = trawl_testkit::process::peak_memory_bytes().unwrap_or(0);
    println!(
        "{} entries, {} shards: {cpu:.2} CPU-s ({:.2} with making them up), {:.0} ns and {:.2} bytes an entry, peak {} MiB",
        done.totals.entries,
        done.shards,
        cpu_s() - start,
        cpu * 1e9 / entries,
        done.size_bytes as f64 / entries,
        peak >> 20,
    );
}

fn options() -> WriterOptions {
    WriterOptions {
        memory_bytes: trawl_writer::DEFAULT_MEMORY_BYTES,
        started: Timestamp { secs: 1, nanos: 0 },
        version: "measure".into(),
        options: BTreeMap::new(),
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("invented") {
        return measure_invented();
    }
    let tree = std::env::args_os()
        .nth(1)
        .expect("usage: measure TREE [REPEAT]");
    let repeat: usize = std::env::args()
        .nth(2)
        .and_then(|n| n.parse().ok())
        .unwrap_or(3);
    let root = Path::new(&tree).canonicalize().unwrap();
    let root_path = root.as_os_str().as_bytes().to_vec();
    let (mut read, mut next) = (Vec::new(), 0);
    walk(&root, None, &mut read, &mut next);
    for round in 0..repeat {
        let events = read.clone();
        let dir = tempfile::tempdir().unwrap();
        let index = trawl_writer::create_index(&dir.path().join("index"), None).unwrap();
        let mut source_root = SourceRoot {
            path: root_path.clone(),
            ..SourceRoot::default()
        };
        source_root.entry.meta = meta_of(&std::fs::symlink_metadata(&root).unwrap());
        let name = path::split(&root_path).map_or(&b""[..], |(_, name)| name);
        source_root.entry.name.len = name.len() as u32;
        source_root.heap = name.to_vec();
        let (wall, cpu) = (std::time::Instant::now(), cpu_s());
        let mut writer = SnapshotWriter::begin(&index, &root_path, options()).unwrap();
        writer.root(source_root).unwrap();
        for event in events {
            match event {
                Event::Batch(batch) => writer.batch(batch).unwrap(),
                Event::Done(dir) => writer.subtree_done(dir).unwrap(),
            }
        }
        let collected = cpu_s() - cpu;
        let done = writer.commit(Timestamp { secs: 2, nanos: 0 }).unwrap();
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_s() - cpu);
        let entries = done.totals.entries as f64;
        println!(
            "{} entries, {} shards: {:.3} CPU-s ({:.3} collecting), {:.3} s; {:.0} ns and {:.2} bytes an entry",
            done.totals.entries,
            done.shards,
            cpu,
            collected,
            wall,
            cpu * 1e9 / entries,
            done.size_bytes as f64 / entries,
        );
        if round + 1 == repeat {
            by_column(&index, &root_path, entries);
        }
    }
}

fn by_column(index: &IndexDir, root: &[u8], entries: f64) {
    let snapshot = index
        .source(root)
        .unwrap()
        .unwrap()
        .current()
        .unwrap()
        .unwrap();
    let mut sizes: BTreeMap<String, i64> = BTreeMap::new();
    for shard in &snapshot.shards {
        for (segment, table, info) in shard.files() {
            *sizes.entry(format!("{table} tail")).or_default() += info.tail_bytes as i64;
            *sizes.entry(format!("{table} in all")).or_default() += info.size_bytes as i64;
            let file = shard.open_file(segment, table).unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            for group in reader.metadata().row_groups() {
                for column in group.columns() {
                    let name = format!("{table} {}", column.column_path().string());
                    *sizes.entry(name).or_default() += column.compressed_size();
                }
            }
        }
    }
    let mut sizes: Vec<_> = sizes
        .into_iter()
        .map(|(name, bytes)| (bytes, name))
        .collect();
    sizes.sort();
    for (bytes, name) in sizes.iter().rev().take(24) {
        println!("{:8.3} bytes an entry  {name}", *bytes as f64 / entries);
    }
}
