//! Measures the cost of a scan alone: reads a tree, or a trace if given a file, into a sink that
//! drops everything, and prints CPU time, wall time, peak memory and counts.
//!
//! `cargo run --release -p trawl-scan --example scan_cost -- ROOT [THREADS [no-xattrs]]`

use std::convert::Infallible;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use trawl_model::sink::SourceRoot;
use trawl_model::{DirBatch, DirId, Issue, Sink};
use trawl_scan::{ScanProgress, TraceOptions, WalkOptions, Xattrs, read_trace, walk};
use trawl_testkit::process;

struct Nothing;

impl Sink for Nothing {
    type Error = Infallible;
    fn root(&mut self, _: SourceRoot) -> Result<(), Infallible> {
        Ok(())
    }
    fn batch(&mut self, _: DirBatch) -> Result<(), Infallible> {
        Ok(())
    }
    fn subtree_done(&mut self, _: DirId) -> Result<(), Infallible> {
        Ok(())
    }
    fn issue(&mut self, _: Option<DirId>, _: Issue) -> Result<(), Infallible> {
        Ok(())
    }
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let root = arguments.next().unwrap_or_else(|| ".".into());
    let threads = arguments
        .next()
        .and_then(|a| a.to_str()?.parse().ok())
        .unwrap_or(0);
    let cancel = AtomicBool::new(false);
    let mut options = WalkOptions::new(&cancel);
    options.threads = threads;
    if arguments.next().is_some() {
        options.xattrs = Xattrs::Skip;
    }
    let progress = ScanProgress::default();
    let begin = Instant::now();
    let root = std::path::Path::new(&root);
    let done = if root.is_file() {
        let options = TraceOptions {
            root: None,
            cancel: &cancel,
        };
        read_trace(root, &options, &progress, &mut Nothing)
    } else {
        walk(
            root.as_os_str().as_bytes(),
            &options,
            &progress,
            &mut Nothing,
        )
    };
    match done {
        Ok(counts) => println!("{counts:?}"),
        Err(error) => eprintln!("{error}"),
    }
    let wall = begin.elapsed();
    let cpu = process::cpu_time();
    if let (Ok([user, system]), Ok(peak)) = (
        process::user_and_system_time(),
        process::peak_memory_bytes(),
    ) {
        let mib = peak >> 20;
        println!(
            "cpu {cpu:.3?} (user {user:.2?}, system {system:.2?}), wall {wall:.3?}, peak {mib} MiB"
        );
    }
}
