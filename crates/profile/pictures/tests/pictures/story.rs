//! A synthetic story: a run of `grep -r` like the paper's, at two layers, before and after a change.

use std::num::NonZeroU64;

use trawl_analysis::layers::Calls;
use trawl_analysis::peaks::CharacteristicTime;
use trawl_histogram::{Capture, Histogram, Profile, Resolution, Slice, Sliced, Unit};
use trawl_pictures::{Second, Story};

/// "1 sec. = 1.7 billion CPU cycles." (Table 3.1)
const HZ: u64 = 1_700_000_000;

/// Slices of a quarter of a second.
const SLICES: usize = 40;

/// A peak: calls in a slice, log₂ of the latency in cycles, and its width in doublings.
type Peak = (u32, f64, f64);

/// An operation: its name, its peaks, and whether a slice has them.
type Operation = (&'static str, &'static [Peak], fn(usize) -> bool);

const ALWAYS: fn(usize) -> bool = |_| true;
const START: fn(usize) -> bool = |slice| slice < 14;
const EVERY_5_SECONDS: fn(usize) -> bool = |slice| slice % 20 == 12;

const VFS: &[Operation] = &[
    (
        "readdir",
        &[
            (12, 6.8, 0.4),
            (16, 11.5, 0.9),
            (5, 16.4, 0.4),
            (9, 21.2, 1.2),
        ],
        ALWAYS,
    ),
    (
        "read",
        &[(450, 8.9, 0.6), (190, 13.1, 1.2), (45, 20.8, 1.4)],
        ALWAYS,
    ),
    ("read", &[(30, 26.4, 0.8)], EVERY_5_SECONDS),
    ("lookup", &[(290, 11.2, 0.8), (50, 16.5, 0.7)], ALWAYS),
    ("lookup", &[(70, 21.0, 1.1)], START),
    ("read_inode", &[(290, 10.6, 0.7), (50, 16.1, 0.6)], ALWAYS),
    ("read_inode", &[(70, 20.9, 1.1)], START),
    ("readpage", &[(1100, 12.5, 0.9)], ALWAYS),
    ("sync_page", &[(500, 10.3, 1.5)], ALWAYS),
    ("write_inode", &[(300, 9.1, 0.5)], ALWAYS),
    ("open", &[(320, 7.2, 0.3)], ALWAYS),
    ("release", &[(320, 6.7, 0.3)], ALWAYS),
    ("follow_link", &[(3, 9.5, 0.5)], ALWAYS),
    ("write_super", &[(1, 27.4, 0.2)], EVERY_5_SECONDS),
];

const DRIVER: &[Operation] = &[
    ("submit_read", &[(50, 16.2, 0.5), (120, 20.9, 1.1)], ALWAYS),
    ("submit_write", &[(8, 19.5, 1.3)], ALWAYS),
];

const AFTER: &[Operation] = &[
    (
        "readdir",
        &[(12, 6.8, 0.4), (16, 11.5, 0.9), (14, 16.4, 0.4)],
        ALWAYS,
    ),
    (
        "read",
        &[(450, 8.9, 0.6), (190, 13.1, 1.2), (45, 20.8, 1.4)],
        ALWAYS,
    ),
    ("lookup", &[(290, 11.2, 0.8), (50, 16.5, 0.7)], ALWAYS),
    ("lookup", &[(70, 21.0, 1.1)], START),
    ("read_inode", &[(290, 10.6, 0.7), (50, 16.1, 0.6)], ALWAYS),
    ("read_inode", &[(70, 20.9, 1.1)], START),
    ("readpage", &[(1100, 14.1, 0.9)], ALWAYS),
    ("llseek", &[(250, 7.2, 0.3)], ALWAYS),
];

/// Numbers from 0 to 1: Steele and others' SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut one = self.0;
        one = (one ^ (one >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        one = (one ^ (one >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((one ^ (one >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About a normal variable: the sum of 12 uniform ones.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn capture(layer: &str, operations: &[Operation]) -> Capture {
    let unit = Unit::Cycles {
        frequency_hz: NonZeroU64::new(HZ).unwrap(),
    };
    let mut whole = Profile::new(unit, Resolution::ONE);
    whole.title = "grep -r over a Linux source tree, Ext2".to_owned();
    whole.layer = layer.to_owned();
    whole.duration_ns = Some(SLICES as u64 * 250_000_000);
    let mut random = Random(7);
    let slices = (0..SLICES).map(|at| {
        let mut reading = Profile::new(unit, Resolution::ONE);
        reading.layer = layer.to_owned();
        for (name, peaks, _) in operations.iter().filter(|(_, _, when)| when(at)) {
            let mut histogram = Histogram::new(Resolution::ONE);
            for (calls, log2, width) in *peaks {
                for _ in 0..*calls {
                    histogram.record((log2 + width * random.normal()).exp2() as u64);
                }
            }
            reading.add(name, &histogram).unwrap();
        }
        let mut slice = Slice::new();
        for (name, one) in reading.operations() {
            slice.set(name, one.buckets().to_vec());
            whole.add(name, one).unwrap();
        }
        slice
    });
    let slices: Vec<Slice> = slices.collect();
    Sliced::new(whole, Some(250_000_000), slices)
        .unwrap()
        .into()
}

/// Returns the story.
pub(crate) fn story() -> Story {
    let second = capture("vfs", AFTER).profile.into_whole();
    let time = |name: &str, seconds: f64| CharacteristicTime {
        name: name.to_owned(),
        time: seconds * HZ as f64,
    };
    Story {
        title: "grep -r over a Linux source tree".to_owned(),
        captures: vec![capture("vfs", VFS), capture("driver", DRIVER)],
        calls: ["read", "readdir", "lookup", "read_inode"]
            .map(|upper| Calls {
                upper: upper.to_owned(),
                lower: vec!["submit_read".to_owned()],
            })
            .to_vec(),
        second: Some(Second {
            first_label: "ext2".to_owned(),
            label: "ext2, patched".to_owned(),
            profile: second,
        }),
        // §3.1.2: "a context switch takes approximately 56 µs, full stroke disk head seek takes
        // approximately 8 ms, full disk rotation takes approximately 4 ms".
        times: vec![
            time("a context switch", 56e-6),
            time("a full disk rotation", 4e-3),
            time("a full stroke of the disk head", 8e-3),
        ],
        findings: vec![
            "readdir and read take most of the time; both wait for the disk.".to_owned(),
            "Every 5 seconds, reads wait for write_super.".to_owned(),
        ],
    }
}
