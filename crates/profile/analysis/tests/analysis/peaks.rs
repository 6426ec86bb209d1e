//! Peaks of histograms.

use trawl_analysis::View;
use trawl_analysis::peaks::{CharacteristicTime, Detection, Peak, missed_share, peaks};
use trawl_histogram::Resolution;

use crate::labelled::random::Random;
use crate::{buckets, close, view};

fn found(counts: &[u64]) -> Vec<Peak> {
    peaks(view(counts), &Detection::default())
}

/// Returns first bucket, mode and last bucket of each peak.
fn places(peaks: &[Peak]) -> Vec<(usize, usize, usize)> {
    let place = |peak: &Peak| (peak.first, peak.mode, peak.last);
    peaks.iter().map(place).collect()
}

#[test]
fn a_peak_ends_at_the_valley_beside_it() {
    let counts = [0, 0, 5, 40, 300, 60, 8, 20, 90, 30, 0, 0];
    let peaks = found(&counts);
    assert_eq!(places(&peaks), [(2, 4, 6), (7, 8, 9)]);
    // 5 + 40 + 300 + 60 + 8 = 413 of 553 requests.
    assert_eq!(peaks[0].operations, 413);
    close(peaks[0].operations_share, 413.0 / 553.0, 1e-12);
    assert_eq!((peaks[0].from, peaks[0].to), (4.0, 128.0));
    // 20·192 + 90·384 + 30·768 = 3,840 + 34,560 + 23,040.
    assert_eq!(peaks[1].latency, 61_440.0);
}

#[test]
fn the_three_peaks_of_lookup_are_found() {
    // Table 8.2: "a page cache hit (buckets 10–15), a disk buffer cache hit (buckets 15–19), and a
    // long disk rotation or a head seek (buckets 20 and above)", with the sums of its columns.
    let table = [
        ("SSH", [2_848, 48, 32], "2.7"),
        ("Linux kernel", [10_423, 79, 227], "2.9"),
    ];
    for (name, [fast, middle, slow], misses) in table {
        let counts = buckets(&[
            (11, fast / 4),
            (12, fast - fast / 4),
            (16, middle / 3),
            (17, middle - middle / 3),
            (22, slow),
        ]);
        let peaks = found(&counts);
        let sums: Vec<u64> = peaks.iter().map(|peak| peak.operations).collect();
        assert_eq!(sums, [fast, middle, slow], "{name}");
        // "The page cache miss ratio is calculated as the sum of the operations in the middle and
        // slowest peaks over the total number of operations."
        assert_eq!(
            format!("{:.1}", missed_share(&peaks) * 100.0),
            misses,
            "{name}"
        );
    }
}

#[test]
fn noise_makes_no_peak() {
    // 95, 90, 97: 2·√95.375 = 19.53 and 2·√90.375 = 19.01, half a standard deviation apart.
    let peaks = found(&[10, 95, 90, 97, 12]);
    assert_eq!(places(&peaks), [(0, 3, 4)]);
    // 2·√10.375 − 2·√4.375 = 6.44 − 4.18: 2.3 standard deviations.
    assert_eq!(places(&found(&[10, 4, 12])), [(0, 2, 2)]);
    // 2·√20.375 − 2·√4.375 = 9.03 − 4.18: 4.8.
    assert_eq!(places(&found(&[20, 4, 22])), [(0, 0, 1), (2, 2, 2)]);
    // 100,000 and 80,000 are many deviations apart, but nobody sees two peaks.
    assert_eq!(found(&[100_000, 80_000, 100_000]).len(), 1);
}

#[test]
fn a_small_bump_in_a_deep_valley_hides_no_peak() {
    // The bump of 24 belongs to one of its neighbours; the valley of 20 still separates 100 from 90.
    assert_eq!(
        places(&found(&[100, 20, 24, 23, 90])),
        [(0, 0, 1), (2, 4, 4)]
    );
}

#[test]
fn few_requests_far_away_are_stray_and_never_all() {
    let peaks = found(&buckets(&[(10, 500), (11, 90), (30, 2)]));
    assert_eq!(places(&peaks), [(10, 10, 11)]);
    // A profile with nothing else has one peak: `write_super` of Table 3.1 was called once.
    assert_eq!(places(&found(&buckets(&[(20, 1)]))), [(20, 20, 20)]);
    assert_eq!(
        places(&found(&buckets(&[(3, 1), (9, 2), (20, 1)]))),
        [(3, 9, 20)]
    );
    assert!(found(&[]).is_empty());
    assert!(found(&[0, 0, 0]).is_empty());
}

/// Draws requests of log-normal latency: median and standard deviation in doublings.
fn draw(random: &mut Random, counts: &mut [u64], r: f64, median: f64, deviation: f64, n: usize) {
    for _ in 0..n {
        let doublings = median + deviation * random.normal();
        counts[(doublings * r).max(0.0) as usize] += 1;
    }
}

#[test]
fn samples_of_one_distribution_have_one_peak_and_of_two_have_two() {
    let mut random = Random::new(7);
    let (mut one_wrong, mut two_wrong, mut all) = (0, 0, 0);
    for r in [1_u8, 2, 4, 8] {
        let resolution = Resolution::new(r).expect("a resolution");
        for trial in 0..500 {
            let n = [30, 100, 1_000, 10_000][trial % 4];
            let mut counts = vec![0; 64 * usize::from(r)];
            let deviation = random.between(0.2, 1.0);
            let median = random.between(8.0, 14.0);
            draw(&mut random, &mut counts, r.into(), median, deviation, n);
            let detection = Detection::default();
            one_wrong += i32::from(peaks(View::new(&counts, resolution), &detection).len() != 1);
            let other = median + random.between(6.0, 12.0);
            draw(&mut random, &mut counts, r.into(), other, deviation, n / 2);
            two_wrong += i32::from(peaks(View::new(&counts, resolution), &detection).len() != 2);
            all += 1;
        }
    }
    // At most 2 % are wrong.
    assert!(one_wrong * 50 <= all, "{one_wrong} of {all} samples of one");
    assert!(two_wrong * 50 <= all, "{two_wrong} of {all} samples of two");
}

#[test]
fn finer_histograms_resolve_closer_peaks() {
    // Figure 3.9: "the higher resolution allowed us to resolve peaks that were too close to each
    // other".
    let fine = buckets(&[(30, 900), (31, 300), (32, 200), (33, 800), (34, 100)]);
    let two = Resolution::new(2).expect("a resolution");
    assert_eq!(peaks(View::new(&fine, two), &Detection::default()).len(), 2);
    let coarse: Vec<u64> = fine.chunks(2).map(|pair| pair.iter().sum()).collect();
    assert_eq!(found(&coarse).len(), 1);
}

#[test]
fn characteristic_times_near_a_peak_are_named() {
    // The paper's machine (§3.1.2), in nanoseconds.
    let times: Vec<CharacteristicTime> = [
        ("context switch", 56e3),
        ("full stroke seek", 8e6),
        ("full rotation", 4e6),
        ("network", 112e3),
        ("quantum", 58e6),
    ]
    .into_iter()
    .map(|(name, time)| CharacteristicTime {
        name: name.to_owned(),
        time,
    })
    .collect();
    // Bucket 22 reaches from 4.2 ms to 8.4 ms; its centre is 2^22.5 = 5.93 ms.
    let peaks = found(&buckets(&[(9, 1000), (22, 50)]));
    let near = peaks[1].near(&times, 1.5, ("file-system", "read"));
    let names: Vec<&str> = near.iter().map(|one| one.name.as_str()).collect();
    // 8 / 5.93 = 1.349; 5.93 / 4 = 1.483.
    assert_eq!(names, ["full stroke seek", "full rotation"]);
    close(near[0].factor, 1.3487, 1e-4);
    close(near[1].factor, 1.4829, 1e-4);
    assert!(
        peaks[0]
            .near(&times, 1.5, ("file-system", "read"))
            .is_empty()
    );
}

/// §3.1.2: "if some of the profiles have a peak close to these times, then we can hypothesize right
/// away that it is related to that corresponding OS activity": a disk request to no timer tick.
#[test]
fn times_that_cannot_be_the_cause_or_lie_elsewhere_are_not_named() {
    let times = [("timer tick", 4e6), ("device read", 3.2e6)].map(|(name, time)| {
        let name = name.to_owned();
        CharacteristicTime { name, time }
    });
    let names = |peak: &Peak, at: (&str, &str)| -> Vec<String> {
        let near = peak.near(&times, 1.5, at).into_iter();
        near.map(|one| one.name).collect()
    };
    // Bucket 21 reaches from 2.1 ms to 4.2 ms; its centre is 2^21.5 = 2.97 ms.
    let all = found(&buckets(&[(21, 500)]));
    assert_eq!(
        names(&all[0], ("block", "vda:device:read")),
        ["device read"]
    );
    assert!(names(&all[0], ("block", "vda:device:write")).is_empty());
    assert_eq!(
        names(&all[0], ("system-calls", "read")),
        ["device read", "timer tick"]
    );
    // Bucket 22 begins at 4.19 ms, within a quarter of a doubling of the tick; bucket 20 does not.
    let all = found(&buckets(&[(22, 500)]));
    assert_eq!(names(&all[0], ("system-calls", "read")), ["timer tick"]);
    // The centre, 2^21.25 = 2.5 ms, is near the device read; most calls take 1 to 2 ms.
    let all = found(&buckets(&[(20, 510), (21, 400), (22, 300)]));
    assert_eq!(all.len(), 1);
    assert!(names(&all[0], ("system-calls", "read")).is_empty());
}
