//! Measures the cost of a scan beside existing snapshots.
//!
//! `measure HOW SOURCE INDEX` reads a GUFI trace or a live tree into an index, again each time it
//! is run. It prints the processor time of the scan and of the comparison with older snapshots, and
//! the number of new bytes. HOW is `alone` (nothing is shared, now or later), `full`, `share`, or
//! `trust` (`--trust-ctime`).

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trawl_model::Timestamp;
use trawl_scan::trace::{TraceOptions, read_trace};
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_writer::{DEFAULT_MEMORY_BYTES, SnapshotWriter, WriterOptions, Writing};

static CANCEL: AtomicBool = AtomicBool::new(false);

/// Returns the processor time used by this process so far, from proc_pid_stat(5), which counts
/// hundredths of a second.
fn used() -> Result<Duration, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    let sum = ticks(11).zip(ticks(12)).map(|(user, system)| user + system);
    Ok(Duration::from_millis(10 * sum.ok_or("no times")?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(how), Some(from), Some(index)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: measure alone|full|share|trust SOURCE INDEX".into());
    };
    let (from, index) = (PathBuf::from(from).canonicalize()?, PathBuf::from(index));
    let root = match from.is_dir() {
        true => from.clone().into_os_string().into_vec(),
        false => b"/traced".to_vec(),
    };
    let how = how.to_string_lossy().into_owned();
    let writing = match &how[..] {
        "alone" => Writing::Alone,
        "full" => Writing::Anew,
        _ => Writing::Sharing,
    };
    let index = trawl_writer::create_index(&index, None)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let started = Timestamp {
        secs: i64::try_from(now.as_secs())?,
        nanos: now.subsec_nanos(),
    };
    let options = WriterOptions {
        memory_bytes: DEFAULT_MEMORY_BYTES,
        started,
        version: "measure".to_owned(),
        options: BTreeMap::new(),
    };
    let writer = SnapshotWriter::begin(&index, &root, options)?;
    let mut writer = writer.with_writing(writing);
    let known = writer.known();
    let progress = ScanProgress::default();
    let read = match from.is_dir() {
        true => {
            let mut options = WalkOptions::new(&CANCEL);
            if how == "trust" {
                options.known = Some(&known);
            }
            walk(&root, &options, &progress, &mut writer)
        }
        false => {
            let options = TraceOptions {
                root: Some(root.clone()),
                cancel: &CANCEL,
            };
            read_trace(&from, &options, &progress, &mut writer)
        }
    };
    read.map_err(|error| format!("{error:?}"))?;
    let prepared = writer.prepare(started)?;
    let scanned = used()?;
    let done = prepared.commit()?;
    let committed = used()? - scanned;
    println!(
        "scan {scanned:?}, comparison and commit {committed:?}: {} directories of {} snapshots",
        done.tightened.directories,
        done.tightened.snapshots.len()
    );
    println!(
        "{} bytes, {} of them new; {} entries, {} shards",
        done.size_bytes, done.new_bytes, done.totals.entries, done.shards
    );
    Ok(())
}
