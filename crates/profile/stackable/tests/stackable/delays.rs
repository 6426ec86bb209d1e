//! Known latencies: a file system below whose reads take times that the test chooses. "Different
//! internal OS activities create different peaks" (§3); here the activities and their times are known.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};
use trawl_histogram::{Histogram, Resolution};
use trawl_stackable::Options;
use trawl_testkit::prng::Prng;
use trawl_testkit::scratch::Scratch;

use crate::support::{Stacked, can_mount};

/// A mode of the mixture: the median, the standard deviation of the logarithm, and how many calls.
const MODES: [(Duration, f64, u64); 3] = [
    (Duration::from_micros(300), 0.10, 240),
    (Duration::from_millis(3), 0.20, 120),
    (Duration::from_millis(20), 0.10, 40),
];
/// Latencies between the modes: the borders of what belongs to which.
const BORDERS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(9)];
/// How long it is tried again on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(300);
/// Sleeping takes longer than asked, by up to about this; the rest is waited for actively.
const SLEEP_ERROR: Duration = Duration::from_micros(150);
const FILE: INodeNo = INodeNo(2);

/// A file system with one file, whose reads take as long as the first list says; the second list has
/// how long they took: on a busy machine, longer.
#[derive(Default)]
struct Lists {
    wanted: Vec<Duration>,
    taken: Vec<Duration>,
}

struct Delays(Arc<Mutex<Lists>>);

fn attributes(number: INodeNo) -> FileAttr {
    let (kind, perm) = match number {
        FILE => (FileType::RegularFile, 0o644),
        _ => (FileType::Directory, 0o755),
    };
    FileAttr {
        ino: number,
        size: 1 << 20,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Delays {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "file" {
            true => reply.entry(&Duration::MAX, &attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::MAX, &attributes(number));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let begun = Instant::now();
        let delay = self.0.lock().unwrap().wanted.pop().unwrap_or_default();
        std::thread::sleep(delay.saturating_sub(SLEEP_ERROR));
        while begun.elapsed() < delay {
            std::hint::spin_loop();
        }
        self.0.lock().unwrap().taken.push(begun.elapsed());
        reply.data(&vec![0; size as usize]);
    }
}

/// Draws from a log-normal distribution (Box and Muller's method).
fn log_normal(prng: &mut Prng, median: Duration, sigma: f64) -> Duration {
    let mut unit = || (prng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    let (first, second) = (1.0 - unit(), unit());
    let normal = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos();
    median.mul_f64((sigma * normal).exp())
}

/// Returns a quantile of injected delays, as a position among buckets: r·log₂ of nanoseconds.
fn injected(delays: &[Duration], share: f64, resolution: f64) -> f64 {
    let mut sorted = delays.to_vec();
    sorted.sort();
    let at = (share * (sorted.len() - 1) as f64) as usize;
    resolution * (sorted[at].as_nanos() as f64).log2()
}

/// Returns a quantile of those calls whose latency lies between two borders, likewise. Calls of a
/// bucket are taken to lie evenly in it.
fn recorded(histogram: &Histogram, (low, high): (f64, f64), share: f64) -> f64 {
    let inside = |bucket: &usize| (low..high).contains(&(*bucket as f64));
    let buckets = histogram.buckets().iter().copied().enumerate();
    let buckets: Vec<_> = buckets.filter(|(bucket, _)| inside(bucket)).collect();
    let all: u64 = buckets.iter().map(|(_, count)| count).sum();
    let mut left = share * all as f64;
    for (bucket, count) in buckets {
        if left <= count as f64 && count > 0 {
            return bucket as f64 + left / count as f64;
        }
        left -= count as f64;
    }
    panic!("no calls between {low} and {high}")
}

/// Reads through the layer from a file system with these delays. Returns how long they took there, and
/// what the layer recorded.
fn run(wanted: Vec<Duration>, resolution: Resolution) -> (Vec<Duration>, Histogram) {
    let scratch = Scratch::new("delays");
    for name in ["below", "above"] {
        fs::create_dir(scratch.join(name)).unwrap();
    }
    let calls = wanted.len() as u64;
    let lists = Arc::new(Mutex::new(Lists {
        wanted,
        ..Lists::default()
    }));
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::FSName("delays".into())];
    let delays = Delays(Arc::clone(&lists));
    let lower = fuser::spawn_mount(delays, scratch.join("below"), &config).unwrap();
    let options = Options {
        resolution,
        ..Options::default()
    };
    let mut stacked = Stacked::over(scratch, &options).unwrap();
    let file = fs::File::open(stacked.above().join("file")).unwrap();
    for at in 0..calls {
        file.read_exact_at(&mut [0; 512], at * 512).unwrap();
    }
    drop(file);
    let profile = stacked.end();
    drop(lower);
    let taken = std::mem::take(&mut lists.lock().unwrap().taken);
    (taken, profile.get("read").unwrap().clone())
}

/// Returns the greatest difference of quartiles of all modes, in buckets.
fn difference(taken: &[Duration], reads: &Histogram) -> f64 {
    let r = f64::from(reads.resolution().get());
    let [first, second] = BORDERS;
    let border = |border: Duration| (r * (border.as_nanos() as f64).log2()).floor();
    let modes = [
        (Duration::ZERO, first),
        (first, second),
        (second, Duration::MAX),
    ];
    let mut greatest: f64 = 0.0;
    for (low, high) in modes {
        let mode: Vec<_> = taken
            .iter()
            .copied()
            .filter(|one| (low..high).contains(one))
            .collect();
        let range = (border(low), border(high));
        for share in [0.25, 0.5, 0.75] {
            let (injected, recorded) = (injected(&mode, share, r), recorded(reads, range, share));
            eprintln!("quantile {share}: injected {injected:.2}, recorded {recorded:.2}");
            greatest = greatest.max((injected - recorded).abs());
        }
    }
    greatest
}

#[test]
fn injected_latencies_are_recovered_within_half_a_bucket() {
    if !can_mount() {
        return;
    }
    let mut prng = Prng::new(21);
    let modes = MODES.map(|(median, sigma, count)| {
        let draw = |_| log_normal(&mut prng, median, sigma);
        (0..count).map(draw).collect::<Vec<_>>()
    });
    let mut wanted = modes.concat();
    for at in (1..wanted.len()).rev() {
        wanted.swap(at, usize::try_from(prng.below(at as u64 + 1)).unwrap());
    }
    // A busy machine delays the answers on their way, too.
    let until = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    loop {
        let (taken, reads) = run(wanted.clone(), Resolution::ONE);
        assert_eq!(taken.len(), wanted.len());
        assert_eq!(reads.counts().entered, wanted.len() as u64);
        let least: Duration = taken.iter().sum();
        assert!(reads.counts().total >= least.as_nanos());
        let apart = difference(&taken, &reads);
        if apart <= 0.5 {
            return;
        }
        seen.push(apart);
        assert!(Instant::now() < until, "differences of {seen:?} buckets");
    }
}
