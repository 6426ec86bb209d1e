//! A small index whose files are changed and given correct checksums again, so
//! that readers get past the checks.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use trawl_format::{FileRef, Hash, Manifest, SnapshotId};
use trawl_model::Timestamp;
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_writer::{SnapshotWriter, WriterOptions};
use xxhash_rust::xxh3::xxh3_64;

/// Appends the checksum line that `docs/format.md` requires to `body`.
pub fn sealed(body: &[u8]) -> Vec<u8> {
    let mut file = body.to_vec();
    file.push(b'\n');
    let line = format!("xxh3-128 {}\n", Hash::of(&file));
    file.extend_from_slice(line.as_bytes());
    file
}

/// A segment file as written.
struct SegmentFile {
    path: PathBuf,
    bytes: Vec<u8>,
    file: FileRef,
    /// The ends of its column chunks, and the offset of their hashes in the
    /// footer.
    chunk_ends: Vec<usize>,
    hashes_at: usize,
    /// The manifest that names it.
    manifest: usize,
}

/// A manifest as written.
struct ManifestFile {
    path: PathBuf,
    text: String,
}

/// A small index.
pub struct Victim {
    /// Path of the index.
    pub index: PathBuf,
    /// The root of its source.
    pub root: Vec<u8>,
    segments: Vec<SegmentFile>,
    manifests: Vec<ManifestFile>,
}

impl Victim {
    /// Makes a tree and its index in the directory `top`, which the caller
    /// owns.
    pub fn new(top: &Path) -> Victim {
        let tree = top.join("tree");
        make_tree(&tree);
        let index = top.join("index");
        let root = tree
            .canonicalize()
            .expect("it is there")
            .into_os_string()
            .into_encoded_bytes();
        write_index(&index, &root);
        let mut victim = Victim {
            index,
            root,
            segments: Vec::new(),
            manifests: Vec::new(),
        };
        victim.load();
        victim
    }

    /// Changes the index as `data` says, calls `ask`, and restores it. The
    /// first byte of `data` chooses the file; each further four bytes are one
    /// change: two bytes for the position (a fraction of the file), one for the
    /// kind of change, one value.
    pub fn damaged(&self, data: &[u8], ask: impl FnOnce(&Path)) {
        let Some((which, changes)) = data.split_first() else {
            return;
        };
        let segment = &self.segments[usize::from(*which) % self.segments.len()];
        let manifest = &self.manifests[segment.manifest];
        let text = if which % 8 == 7 {
            // Change the manifest's own text.
            String::from_utf8_lossy(&changed(manifest.text.as_bytes(), changes)).into_owned()
        } else {
            let mut bytes = changed(&segment.bytes, changes);
            bytes.resize(segment.bytes.len(), 0);
            segment.reseal(&mut bytes);
            fs::write(&segment.path, &bytes).expect("our own file");
            let tail = bytes.len() - segment.file.tail_bytes as usize;
            manifest
                .text
                .replace(
                    &segment.file.hash.to_string(),
                    &Hash::of(&bytes).to_string(),
                )
                .replace(
                    &segment.file.tail_hash.to_string(),
                    &Hash::of(&bytes[tail..]).to_string(),
                )
        };
        fs::write(&manifest.path, sealed(text.trim_end().as_bytes())).expect("our own file");
        ask(&self.index);
        fs::write(&segment.path, &segment.bytes).expect("our own file");
        fs::write(&manifest.path, sealed(manifest.text.trim_end().as_bytes())).expect("our own");
    }

    fn load(&mut self) {
        let mut pending = vec![self.index.clone()];
        let mut files = Vec::new();
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(dir).expect("our own").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    pending.push(path)
                } else {
                    files.push(path)
                }
            }
        }
        files.sort();
        for path in files
            .iter()
            .filter(|path| path.extension().is_some_and(|e| e == "manifest"))
        {
            let bytes = fs::read(path).expect("our own");
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .expect("a name of the format");
            let id: SnapshotId = stem.parse().expect("an id");
            let manifest = Manifest::from_bytes(&bytes, path, id).expect("as written");
            let text = String::from_utf8(bytes).expect("JSON");
            let body = text
                .trim_end()
                .rsplit_once('\n')
                .expect("a checksum line")
                .0;
            let refs = manifest.segments.iter().flat_map(|segment| {
                segment.files.iter().map(|(table, file)| {
                    (
                        trawl_format::layout::segment_file(segment.id, *table),
                        *file,
                    )
                })
            });
            let refs: HashMap<String, FileRef> = refs.collect();
            for (name, file) in refs {
                let path = path.with_file_name(name);
                self.segments
                    .push(SegmentFile::open(path, file, self.manifests.len()));
            }
            self.manifests.push(ManifestFile {
                path: path.clone(),
                text: body.to_owned(),
            });
        }
        self.segments.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

impl SegmentFile {
    fn open(path: PathBuf, file: FileRef, manifest: usize) -> SegmentFile {
        let bytes = fs::read(&path).expect("our own");
        let key = b"trawl.chunks";
        let at = bytes
            .windows(key.len())
            .rposition(|window| window == key)
            .expect("hashes of chunks");
        // The value is the next long run of hex digits.
        let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        let start = at + key.len();
        let run = bytes[start..]
            .windows(16)
            .position(|window| window.iter().all(is_hex))
            .expect("digits");
        let hashes_at = start + run;
        let digits = bytes[hashes_at..]
            .iter()
            .take_while(|byte| is_hex(byte))
            .count()
            / 16
            * 16;
        let hashes: Vec<u64> = bytes[hashes_at..hashes_at + digits]
            .chunks(16)
            .map(|digits| {
                u64::from_str_radix(std::str::from_utf8(digits).expect("hex"), 16).expect("hex")
            })
            .collect();
        // Chunks follow each other after the magic bytes.
        let tail = bytes.len() - file.tail_bytes as usize;
        let mut chunk_ends = Vec::new();
        let mut start = 4;
        for hash in hashes {
            let end = (start + 1..=tail).find(|end| xxh3_64(&bytes[start..*end]) == hash);
            start = end.expect("the end of a chunk");
            chunk_ends.push(start);
        }
        SegmentFile {
            path,
            bytes,
            file,
            chunk_ends,
            hashes_at,
            manifest,
        }
    }

    /// Corrects the hashes of the chunks.
    fn reseal(&self, bytes: &mut [u8]) {
        let mut start = 4;
        for (nth, end) in self.chunk_ends.iter().enumerate() {
            let hash = format!("{:016x}", xxh3_64(&bytes[start..*end]));
            let at = self.hashes_at + nth * 16;
            bytes[at..at + 16].copy_from_slice(hash.as_bytes());
            start = *end;
        }
    }
}

fn changed(bytes: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes.chunks_exact(4) {
        let fraction = usize::from(u16::from_le_bytes([change[0], change[1]]));
        if bytes.is_empty() {
            return bytes;
        }
        let at = fraction * bytes.len() / (1 << 16);
        let value = change[3];
        match change[2] % 6 {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value % 8),
            2 => bytes[at] = bytes[at].wrapping_add(value),
            3 => bytes.insert(at, value),
            4 => drop(bytes.remove(at)),
            _ => {
                let from = usize::from(value) * bytes.len() / 256;
                let length = 8.min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
    bytes
}

fn make_tree(tree: &Path) {
    for dir in ["a/b/c", "d", "private/inner"] {
        fs::create_dir_all(tree.join(dir)).expect("a directory");
        for file in 0..6 {
            let path = tree.join(dir).join(format!("file-{file}.txt"));
            fs::write(path, vec![b'x'; file * 700]).expect("a file");
        }
    }
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\n");
    fs::write(tree.join(odd), "x").expect("a file");
    let _ = fs::hard_link(tree.join("a/b/c/file-1.txt"), tree.join("d/again"));
    let _ = std::os::unix::fs::symlink("nowhere", tree.join("d/link"));
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(tree.join("private"), fs::Permissions::from_mode(0o700)).expect("our own");
    // If this fails, there are no attributes and one file less to change.
    let _ = Command::new("setfattr")
        .args(["-n", "user.a", "-v", "value"])
        .arg(tree.join("d"))
        .status();
}

fn write_index(index: &Path, root: &[u8]) {
    let options = WriterOptions {
        memory_bytes: trawl_writer::DEFAULT_MEMORY_BYTES,
        started: Timestamp {
            secs: 1_700_000_000,
            nanos: 0,
        },
        version: "fuzz".to_owned(),
        options: Default::default(),
    };
    let index = trawl_writer::create_index(index, None).expect("an index");
    let mut writer = SnapshotWriter::begin(&index, root, options).expect("a snapshot");
    let cancel = AtomicBool::new(false);
    walk(
        root,
        &WalkOptions::new(&cancel),
        &ScanProgress::default(),
        &mut writer,
    )
    .expect("a scan");
    writer.commit(Timestamp::default()).expect("a commit");
}
