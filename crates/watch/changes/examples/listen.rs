//! Watches a file system until standard input ends, and prints the cost; used by the benchmark.
//!
//! `listen PATH [INTERVAL_MS]` drains into a dirty set every 10 ms (or at the given interval),
//! prints `ready` at the start and a line of figures at the end.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use trawl_changes::{ChangeSource, DirtySet, Fanotify, QueueSize, Remainder};
use trawl_testkit::process;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().ok_or("usage: listen PATH [INTERVAL_MS]")?;
    let interval = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let mut source = Fanotify::open(Path::new(&root), QueueSize::Unlimited)?;
    let mut dirty = DirtySet::default();
    let ended = AtomicBool::new(false);
    println!("ready");
    let start = process::cpu_time();
    let (mut events, mut names) = (0, 0);
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        scope.spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            ended.store(true, Ordering::Relaxed);
        });
        loop {
            let is_last = ended.load(Ordering::Relaxed);
            let drained = source.drain(1 << 16, &mut dirty)?;
            events += drained.events;
            if dirty.is_crowded() {
                names += dirty.take().len();
            }
            if is_last && drained.left == Remainder::Nothing {
                return Ok(());
            }
            if drained.left == Remainder::Nothing {
                thread::sleep(Duration::from_millis(interval));
            }
        }
    })?;
    names += dirty.take().len();
    let cpu_us = (process::cpu_time() - start).as_micros();
    println!("events {events} dirty {names} cpu_us {cpu_us}");
    Ok(())
}
