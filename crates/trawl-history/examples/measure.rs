//! How much processor time older snapshots take when a new one is made:
//! `measure TRACE INDEX` reads a GUFI trace into an index, again each time it
//! is run, and tells the time of the scan and of the comparison.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trawl_index::{DEFAULT_MEMORY_BYTES, IndexDir, SnapshotWriter, WriterOptions};
use trawl_model::Timestamp;
use trawl_scan::ScanProgress;
use trawl_scan::trace::{TraceOptions, read_trace};

static CANCEL: AtomicBool = AtomicBool::new(false);
const ROOT: &[u8] = b"/traced";

/// The time that this process has had of all processors, proc_pid_stat(5) in
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
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(trace), Some(index)) = (args.next(), args.next()) else {
        return Err("usage: measure TRACE INDEX".into());
    };
    let index = IndexDir::create(&index, None)?;
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
    let mut writer = SnapshotWriter::begin(&index, ROOT, options)?;
    let options = TraceOptions {
        root: Some(ROOT.to_vec()),
        cancel: &CANCEL,
    };
    read_trace(&trace, &options, &ScanProgress::default(), &mut writer)
        .map_err(|error| format!("{error:?}"))?;
    let prepared = writer.prepare(started)?;
    let scanned = used()?;
    let done = trawl_history::tighten(&prepared)?;
    let compared = used()? - scanned;
    println!(
        "scan {scanned:?}, comparison {compared:?}: {} directories of {} snapshots",
        done.directories,
        done.snapshots.len()
    );
    prepared.publish(&done.damaged)?;
    Ok(())
}
