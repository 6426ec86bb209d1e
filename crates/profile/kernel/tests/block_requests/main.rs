//! The layer of block requests against the kernel's statistics (`/sys/block/DEVICE/stat`), against
//! the kernel's own trace of the same requests, and against latencies that a file system injects.
//!
//! All requests go to loop devices of these tests, so other programs do not disturb them.

mod counts;
mod delays;
mod device;
mod trace;

use std::sync::{Mutex, MutexGuard, PoisonError};

use trawl_histogram::Resolution;
use trawl_kernel_profile::{BlockReading, BlockRequests, Filter, KernelError};

/// Lets the calling test run alone: others would make its requests late.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Attaches the layer; `None`, with a message, where the machine does not let us.
fn attach(filter: &Filter, resolution: u8) -> Option<BlockRequests> {
    match BlockRequests::attach(filter, Resolution::new(resolution).unwrap()) {
        Ok(layer) => Some(layer),
        Err(
            error @ (KernelError::Privilege { .. }
            | KernelError::LockedDown(_)
            | KernelError::NoBpf(_)
            | KernelError::NoTypes(_)),
        ) => {
            eprintln!("skipped, because {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The number of a device's requests whose end no program was told of. Called when no request is in
/// flight: those that the reading has in flight, and those that were dropped and not merged.
fn unseen(reading: &BlockReading, device: &str) -> u128 {
    let operations = reading.profile.operations();
    let whole = operations.filter(|(name, _)| {
        let of_device = name.strip_prefix(device).unwrap_or_default();
        of_device.starts_with(':') && of_device.ends_with(":whole")
    });
    let unseen = whole.map(|(name, one)| {
        let merged = reading.merged.get(name).copied().unwrap_or(0);
        u128::from(one.in_flight() + one.counts().dropped - merged)
    });
    unseen.sum()
}

/// Checks that two counts are equal, except for requests whose end no program was told of.
#[track_caller]
fn assert_equal(reading: &BlockReading, device: &str, ours: u128, theirs: u128, what: &str) {
    assert_eq!(reading.overflowed, 0);
    let unseen = unseen(reading, device);
    if unseen > 0 {
        eprintln!("no program was told of the end of {unseen} requests of {device}");
    }
    assert!(
        ours.abs_diff(theirs) <= unseen,
        "{what}: {ours} and {theirs}"
    );
}

/// The sum of what `what` says of a device's operations of these kinds.
fn sum(
    reading: &BlockReading,
    device: &str,
    kinds: &[&str],
    operation: &str,
    what: impl Fn(&trawl_histogram::Histogram) -> u128,
) -> u128 {
    let names = kinds
        .iter()
        .map(|kind| format!("{device}:{kind}:{operation}"));
    names
        .filter_map(|name| reading.profile.get(&name).map(&what))
        .sum()
}

const READS: [&str; 3] = ["read", "read-ahead", "read-meta"];
const WRITES: [&str; 3] = ["write", "write-sync", "write-meta"];
