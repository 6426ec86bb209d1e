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
use trawl_kernel_profile::Filter;
use trawl_testkit::scratch::Scratch;

use crate::device::Loop;
use crate::{alone, assert_equal, attach, unseen};

const IMAGE: INodeNo = INodeNo(2);
const SIZE_BYTES: u64 = 16 << 20;
/// Where reads become slow.
const SLOW_FROM: u64 = 8 << 20;
const FAST_US: f64 = 12_000.0;
const SLOW_US: f64 = 160_000.0;

/// A file system with one file, `image`, that is full of zeros.
struct Slow {
    /// Begin of the read and the time that it took, in nanoseconds.
    taken: Arc<Mutex<Vec<(u64, u64)>>>,
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
    let Some(mut layer) = attach(&Filter::Everything, 8) else {
        return;
    };
    taken.lock().unwrap().clear();
    // One request at a time; slow ones are large.
    assert!(device.read(4096, 0, 100).wait().unwrap().success());
    assert!(
        device
            .read(65_536, SLOW_FROM / 65_536, 20)
            .wait()
            .unwrap()
            .success()
    );
    let reading = layer.read().unwrap();
    let injected = std::mem::take(&mut *taken.lock().unwrap());
    let operation = format!("{}:read:device", device.name);
    let found = reading.profile.get(&operation).unwrap();
    assert_equal(&reading, &device.name, found.recorded(), 120, "reads");
    compare(&injected, found.buckets());
    // "A second histogram … of a size … per latency peak" (§3.1.6): small ones are fast.
    let resolution = Resolution::new(8).unwrap();
    let middle = resolution.bucket(((FAST_US * SLOW_US).sqrt() * 1000.0) as u64);
    let (mut small, mut large) = (0, 0);
    for peak in reading.sizes.peaks(&operation) {
        match *peak.buckets().end() < middle {
            true => small += peak.values().count(12),
            false => large += peak.values().count(16),
        }
    }
    // Peaks are octaves of 8 buckets; the one that contains the middle is not fast.
    let is_fast = |(_, ns): &&(u64, u64)| resolution.bucket(*ns) / 8 < middle / 8;
    let fast = injected.iter().filter(is_fast).count() as u64;
    let slow = 120 - fast;
    let unseen = unseen(&reading, &device.name) as u64;
    let late = FAR_MAX + unseen;
    assert!(
        (fast.saturating_sub(late)..=fast).contains(&small),
        "{small} of {fast}"
    );
    assert!(
        (20_u64.saturating_sub(unseen)..=slow).contains(&large),
        "{large} of 20"
    );
    drop(device);
    drop(mount);
}

/// The number of requests that a busy machine may delay on the way.
const FAR_MAX: u64 = 6;

/// The k-th least latency found is the k-th least injected one, within half a bucket at resolution
/// 1, which has 8 buckets here. At most [`FAR_MAX`] are further apart.
fn compare(injected: &[(u64, u64)], found: &[u64]) {
    let resolution = Resolution::new(8).unwrap();
    let mut expected: Vec<u16> = injected
        .iter()
        .map(|(_, ns)| resolution.bucket(*ns))
        .collect();
    expected.sort_unstable();
    assert_eq!(expected.len(), 120, "each request is one read of the file");
    let repeated =
        |(bucket, count): (usize, &u64)| std::iter::repeat_n(bucket as u16, *count as usize);
    let found: Vec<u16> = found.iter().enumerate().flat_map(repeated).collect();
    let pairs = expected.iter().zip(&found);
    let apart: Vec<u16> = pairs
        .map(|(expected, found)| expected.abs_diff(*found))
        .collect();
    let far = apart.iter().filter(|apart| **apart > 4).count();
    let mean = apart.iter().map(|apart| f64::from(*apart)).sum::<f64>() / 120.0;
    eprintln!(
        "{far} of 120 further than half a bucket; {:.3} buckets in the mean",
        mean / 8.0
    );
    assert!(far as u64 <= FAR_MAX, "{apart:?}");
}
