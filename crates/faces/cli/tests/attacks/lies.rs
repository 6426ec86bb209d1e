//! Index files with false lengths, offsets and numbers but correct checksums: an attacker who can
//! write an index can write those too.
//!
//! A reader gets an error that names the file, or an answer; it never crashes, hangs or uses up the
//! machine's memory.

use std::fs;
use std::path::{Path, PathBuf};

use trawl_testkit::permissions::stage::{MALLORY, Stage};
use xxhash_rust::xxh3::xxh3_128;

use crate::{cannot, program};

/// Numbers that make sums overflow, allocations fail and offsets leave a file.
const LIES: &[u64] = &[0, 1, 0x7fff_ffff, 1 << 32, 1 << 53, (1 << 62) + 3, u64::MAX];
/// Address space that a question may use, in KiB.
const MEMORY_KIB: u32 = 4 << 20;

/// Creates an index that Mallory wrote: a copy of everything that may be copied.
fn hostile(stage: &Stage) -> PathBuf {
    let script =
        "rm -rf $2/hostile; cp -r \"$1\" $2/hostile 2>/dev/null; chmod -R a+rwX $2/hostile; true";
    stage.shell(0, script).expect_code(0);
    stage.own().join("hostile")
}

fn files(index: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![index.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("our own").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(suffix) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Asks every question that reads that file; returns true if one was refused.
fn asked(stage: &Stage, index: &Path, what: &str) -> bool {
    let trawl = stage.trawl.display();
    let top = stage.path("").display().to_string();
    let mut is_refused = false;
    for words in ["find", "du -a", "ls -lR", "stats", "stat"] {
        let script = format!(
            "ulimit -v {MEMORY_KIB}; exec timeout -s KILL 30 {trawl} -i \"$1\" {words} {top}"
        );
        let ran = stage.shell_about(index, MALLORY, &script);
        assert!(
            ran.signal.is_none() && ran.code.is_some_and(|code| code < 3),
            "{what}: {ran}"
        );
        assert!(!ran.errors().contains("panicked"), "{what}: {ran}");
        is_refused |= ran.code == Some(2) || !ran.stderr.is_empty();
    }
    is_refused
}

/// Returns a JSON value with its number at position `at` replaced.
fn with_lie(value: &serde_json::Value, at: usize, lie: u64) -> Option<serde_json::Value> {
    fn visit(value: &mut serde_json::Value, left: &mut Option<usize>, lie: u64) {
        match value {
            serde_json::Value::Number(number) => match *left {
                Some(0) => {
                    *number = lie.into();
                    *left = None;
                }
                Some(n) => *left = Some(n - 1),
                None => {}
            },
            serde_json::Value::Array(list) => list.iter_mut().for_each(|v| visit(v, left, lie)),
            serde_json::Value::Object(map) => map.values_mut().for_each(|v| visit(v, left, lie)),
            _ => {}
        }
    }
    let (mut value, mut left) = (value.clone(), Some(at));
    visit(&mut value, &mut left, lie);
    left.is_none().then_some(value)
}

#[test]
fn json_with_lying_numbers_and_right_checksums() {
    if cannot("lying JSON") {
        return;
    }
    let stage = Stage::new(program());
    let index = hostile(&stage);
    assert!(!asked(&stage, &index, "nothing yet"), "the copy is sound");
    let (mut lies, mut refused) = (0, 0);
    for suffix in [".manifest", ".json"] {
        for file in files(&index, suffix).into_iter().take(2) {
            let before = fs::read(&file).expect("our own");
            let text = String::from_utf8_lossy(&before).into_owned();
            let (json, _) = text.rsplit_once("xxh3-128 ").expect("a checksum line");
            let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
            for at in (0..).take_while(|at| with_lie(&value, *at, 0).is_some()) {
                let lie = LIES[at % LIES.len()];
                let mut bytes = with_lie(&value, at, lie)
                    .expect("it is there")
                    .to_string()
                    .into_bytes();
                bytes.push(b'\n');
                let sum = format!("xxh3-128 {:032x}\n", xxh3_128(&bytes));
                bytes.extend(sum.bytes());
                fs::write(&file, bytes).expect("our own");
                lies += 1;
                let what = format!("{} number {at} = {lie}", file.display());
                refused += usize::from(asked(&stage, &index, &what));
            }
            fs::write(&file, before).expect("our own");
        }
    }
    // Code that believed each of them would read outside a file.
    assert!(
        lies > 20 && refused > lies / 4,
        "{refused} of {lies} were refused"
    );
}

#[test]
fn parquet_with_lying_lengths() {
    if cannot("lying Parquet") {
        return;
    }
    let stage = Stage::new(program());
    let index = hostile(&stage);
    let mut refused = 0;
    let tables = files(&index, ".parquet");
    assert!(tables.len() >= 3, "{tables:?}");
    for file in &tables[..3] {
        let before = fs::read(file).expect("our own");
        let end = before.len();
        // The footer's length precedes the magic at the end.
        for (place, lie) in [
            (end - 8, u32::MAX),
            (end - 8, 0),
            (end - 8, u32::try_from(end).expect("small")),
            (end - 8, 0x8000_0000),
            (end / 2, u32::MAX),
            (end - 40, u32::MAX),
            (4, u32::MAX),
        ] {
            let mut bytes = before.clone();
            bytes[place..place + 4].copy_from_slice(&lie.to_le_bytes());
            fs::write(file, bytes).expect("our own");
            let what = format!("{} at {place} = {lie}", file.display());
            refused += usize::from(asked(&stage, &index, &what));
        }
        for length in [0, 4, end / 2, end - 1] {
            fs::write(file, &before[..length]).expect("our own");
            let what = format!("{} cut to {length}", file.display());
            refused += usize::from(asked(&stage, &index, &what));
        }
        fs::write(file, before).expect("our own");
    }
    assert!(refused > 8, "{refused} were refused");
}

#[test]
fn links_and_devices_in_the_place_of_index_files() {
    if cannot("links for files") {
        return;
    }
    let stage = Stage::new(program());
    let index = hostile(&stage);
    let link_to_text = format!("ln -s {}", stage.path("public/readme").display());
    for file in files(&index, "").into_iter().take(12) {
        let kept = file.with_extension("kept");
        fs::rename(&file, &kept).expect("our own");
        for planted in [
            "ln -s /dev/zero",
            &link_to_text,
            "mkfifo",
            "mkdir",
            "ln -s /proc/self/mem",
        ] {
            let script = format!("rm -rf {0}; {planted} {0}", file.display());
            stage.shell(MALLORY, &script).expect_code(0);
            let what = format!("{planted} {}", file.display());
            asked(&stage, &index, &what);
        }
        stage.shell(0, &format!("rm -rf {}", file.display()));
        fs::rename(&kept, &file).expect("our own");
    }
}
