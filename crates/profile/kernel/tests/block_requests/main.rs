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

/// The number of events that no program was told of. Called when no request is in flight: what the
/// reading has in flight are requests whose end was not seen.
fn unseen(reading: &BlockReading) -> u128 {
    let whole = |name: &str| name.ends_with(":whole");
    let operations = reading.profile.operations();
    let in_flight = operations.filter(|(name, _)| whole(name));
    let in_flight: u64 = in_flight.map(|(_, one)| one.in_flight()).sum();
    u128::from(reading.missed + in_flight)
}

/// Checks that two counts are equal, except for events that the kernel told no program of.
#[track_caller]
fn assert_equal(reading: &BlockReading, ours: u128, theirs: u128, what: &str) {
    assert_eq!(reading.overflowed, 0);
    let unseen = unseen(reading);
    if unseen > 0 {
        eprintln!("the kernel ran no program for {unseen} events");
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
