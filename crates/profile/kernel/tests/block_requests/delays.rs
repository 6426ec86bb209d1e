//! "Latencies injected by a FUSE file system with known delays (mixtures of log-normals) recovered
//! within half a bucket": a loop device over a file whose reads take known times.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};
use trawl_histogram::Resolution;
use trawl_kernel_profile::{BlockReading, Filter};
use trawl_testkit::scratch::Scratch;

use crate::device::Loop;
use crate::{alone, assert_equal, attach, unseen};

const IMAGE: INodeNo = INodeNo(2);
const SIZE_BYTES: u64 = 16 << 20;
/// Where reads become slow.
const SLOW_FROM: u64 = 8 << 20;
const FAST_US: f64 = 12_000.0;
const SLOW_US: f64 = 160_000.0;
/// The numbers of requests.
const FAST: u64 = 100;
const SLOW: u64 = 20;
const ALL: u64 = FAST + SLOW;
/// How long it is tried again on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// Begin of each read of the file and the time that it took, in nanoseconds.
type Taken = Vec<(u64, u64)>;

/// A file system with one file, `image`, that is full of zeros.
struct Slow {
    taken: Arc<Mutex<Taken>>,
}

/// A log-normal time for the read at an offset, the same in each run: sigma 0.25.
fn delay(offset: u64) -> Duration {
    let mut state = offset.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut uniform = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    };
    let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let median_us = if offset < SLOW_FROM { FAST_US } else { SLOW_US };
    Duration::from_secs_f64(median_us * (0.25 * normal).exp() / 1e6)
}

fn attributes(ino: INodeNo) -> FileAttr {
    let is_image = ino == IMAGE;
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino,
        size: if is_image { SIZE_BYTES } else { 0 },
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: if is_image {
            FileType::RegularFile
        } else {
            FileType::Directory
        },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

const LONG: Duration = Duration::from_secs(3600);

impl Filesystem for Slow {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "image" {
            true => reply.entry(&LONG, &attributes(IMAGE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&LONG, &attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let begin = Instant::now();
        std::thread::sleep(delay(offset));
        let taken_ns = begin.elapsed().as_nanos() as u64;
        self.taken.lock().unwrap().push((offset, taken_ns));
        reply.data(&vec![0; size as usize]);
    }
}

#[test]
fn injected_latencies_are_recovered() {
    let _alone = alone();
    let place = Scratch::new("slow");
    let taken = Arc::new(Mutex::new(Vec::new()));
    let slow = Slow {
        taken: Arc::clone(&taken),
    };
    let mount = match fuser::spawn_mount(slow, place.path(), &Config::default()) {
        Ok(mount) => mount,
        Err(error) => {
            eprintln!("skipped, because no FUSE file system can be mounted: {error}");
            return;
        }
    };
    let Some(device) = Loop::over(&place.path().join("image")) else {
        return;
    };
    let until = Instant::now() + PATIENCE;
    let (injected, reading) = loop {
        let Some((injected, reading)) = measure(&device, &taken) else {
            return;
        };
        match compare(&injected, &reading, &device.name) {
            Ok(()) => break (injected, reading),
            Err(why) => assert!(Instant::now() < until, "{why}"),
        }
    };
    check_sizes(&injected, &reading, &device.name);
    drop(device);
    drop(mount);
}

/// Reads from the device, one request at a time; slow ones are large. Returns how long the reads of the
/// file took, and what the layer saw; `None` where it cannot be attached.
fn measure(device: &Loop, taken: &Mutex<Taken>) -> Option<(Taken, BlockReading)> {
    let mut layer = attach(&Filter::Everything, 8)?;
    taken.lock().unwrap().clear();
    for (block_bytes, skip, count) in [(4096, 0, FAST), (65_536, SLOW_FROM / 65_536, SLOW)] {
        let mut dd = device.read(block_bytes, skip, count);
        assert!(dd.wait().unwrap().success());
    }
    let reading = layer.read().unwrap();
    let injected = std::mem::take(&mut *taken.lock().unwrap());
    Some((injected, reading))
}

/// Returns the name of the operation that is measured.
fn operation(device: &str) -> String {
    format!("{device}:read:device")
}

fn check_sizes(injected: &[(u64, u64)], reading: &BlockReading, device: &str) {
    // "A second histogram … of a size … per latency peak" (§3.1.6): small ones are fast.
    let resolution = Resolution::new(8).unwrap();
    let middle = resolution.bucket(((FAST_US * SLOW_US).sqrt() * 1000.0) as u64);
    let (mut small, mut large) = (0, 0);
    for peak in reading.sizes.peaks(&operation(device)) {
        match *peak.buckets().end() < middle {
            true => small += peak.values().count(12),
            false => large += peak.values().count(16),
        }
    }
    // Peaks are octaves of 8 buckets; the one that contains the middle is not fast.
    let is_fast = |(_, ns): &&(u64, u64)| resolution.bucket(*ns) / 8 < middle / 8;
    let fast = injected.iter().filter(is_fast).count() as u64;
    let slow = ALL - fast;
    let unseen = unseen(reading, device) as u64;
    let late = FAR_MAX + unseen;
    assert!(
        (fast.saturating_sub(late)..=fast).contains(&small),
        "{small} of {fast}"
    );
    assert!(
        (SLOW.saturating_sub(unseen)..=slow).contains(&large),
        "{large} of {SLOW}"
    );
}

/// The number of requests that a busy machine may delay on the way.
const FAR_MAX: u64 = 6;

/// The k-th least latency found is the k-th least injected one, within half a bucket at resolution
/// 1, which has 8 buckets here. At most [`FAR_MAX`] are further apart.
///
/// # Errors
/// Says what is otherwise: on a busy machine, perhaps only this time.
fn compare(injected: &[(u64, u64)], reading: &BlockReading, device: &str) -> Result<(), String> {
    let reads = injected.len() as u64;
    if reads != ALL {
        // Another program looked at the new device.
        return Err(format!("{reads} reads of the file for {ALL} requests"));
    }
    let histogram = reading.profile.get(&operation(device)).unwrap();
    let recorded = histogram.recorded();
    assert_equal(reading, device, recorded, u128::from(ALL), "reads");
    let resolution = Resolution::new(8).unwrap();
    let mut expected: Vec<u16> = injected
        .iter()
        .map(|(_, ns)| resolution.bucket(*ns))
        .collect();
    expected.sort_unstable();
    let repeated =
        |(bucket, count): (usize, &u64)| std::iter::repeat_n(bucket as u16, *count as usize);
    let buckets = histogram.buckets().iter().enumerate();
    let found: Vec<u16> = buckets.flat_map(repeated).collect();
    let pairs = expected.iter().zip(&found);
    let apart: Vec<u16> = pairs
        .map(|(expected, found)| expected.abs_diff(*found))
        .collect();
    let far = apart.iter().filter(|apart| **apart > 4).count();
    let mean = apart.iter().map(|apart| f64::from(*apart)).sum::<f64>() / ALL as f64;
    eprintln!(
        "{far} of {ALL} further than half a bucket; {:.3} buckets in the mean",
        mean / 8.0
    );
    match far as u64 <= FAR_MAX {
        true => Ok(()),
        false => Err(format!("{apart:?}")),
    }
}
