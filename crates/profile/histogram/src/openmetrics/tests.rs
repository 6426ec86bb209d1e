//! Both versions against known lines and against counting by the specification's formulas.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;
use crate::Resolution;
use crate::test_profiles::any_profile;

fn profile(r: u8, latencies: &[u64]) -> Profile {
    let resolution = Resolution::new(r).expect("1 to 8");
    let mut one = Histogram::new(resolution);
    latencies.iter().for_each(|latency| one.record(*latency));
    one.enter();
    let mut profile = Profile::new(Unit::Nanoseconds, resolution);
    profile.layer = "vfs".to_owned();
    profile.insert("read", one).expect("a name");
    profile
}

#[test]
fn version_1_is_as_specified() {
    let mut profile = profile(1, &[0, 1, 5, 5, 300]);
    profile.title = "a \"b\" \\ c\nd".to_owned();
    profile.start_unix_ns = Some(1_520_430_000_123_000_000);
    let expected = r#"# TYPE trawl_profile info
# HELP trawl_profile The profile.
trawl_profile_info{layer="vfs",title="a \"b\" \\ c\nd",resolution="1"} 1
# TYPE trawl_latency_nanoseconds histogram
# UNIT trawl_latency_nanoseconds nanoseconds
# HELP trawl_latency_nanoseconds Latencies of calls.
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="1.0"} 2
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="3.0"} 2
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="7.0"} 4
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="15.0"} 4
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="31.0"} 4
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="63.0"} 4
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="127.0"} 4
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="255.0"} 4
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="511.0"} 5
trawl_latency_nanoseconds_bucket{layer="vfs",operation="read",le="+Inf"} 5
trawl_latency_nanoseconds_count{layer="vfs",operation="read"} 5
trawl_latency_nanoseconds_sum{layer="vfs",operation="read"} 311
trawl_latency_nanoseconds_created{layer="vfs",operation="read"} 1520430000.123000000
# TYPE trawl_calls_entered counter
# HELP trawl_calls_entered Calls that entered.
trawl_calls_entered_total{layer="vfs",operation="read"} 6
# TYPE trawl_calls_dropped counter
# HELP trawl_calls_dropped Calls that left without a latency.
trawl_calls_dropped_total{layer="vfs",operation="read"} 0
# TYPE trawl_calls_in_flight gauge
# HELP trawl_calls_in_flight Calls that entered and did not leave.
trawl_calls_in_flight{layer="vfs",operation="read"} 1
# EOF
"#;
    assert_eq!(
        write(&profile, Version::One).expect("it can be written"),
        expected
    );
}

#[test]
fn version_2_is_as_specified() {
    // Index i is (2^(i−1), 2^i]: 5 is in index 3, 300 in index 9.
    let mut profile = profile(1, &[0, 1, 5, 5, 300]);
    profile.start_unix_ns = Some(1_520_430_000_123_000_000);
    let text = write(&profile, Version::Two).expect("it can be written");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "# TYPE trawl_profile_info info");
    assert_eq!(
        lines[6],
        "trawl_latency_nanoseconds{layer=\"vfs\",operation=\"read\"} {count:5,sum:311,schema:0,\
         zero_threshold:1,zero_count:2,positive_spans:[3:1,5:1],positive_buckets:[2,1]} \
         st@1520430000.123000000"
    );
    assert_eq!(lines[7], "# TYPE trawl_calls_entered_total counter");
    assert_eq!(lines.last(), Some(&"# EOF"));
}

#[test]
fn cycles_have_a_frequency() {
    let frequency_hz = NonZeroU64::new(1_700_000_000).expect("not zero");
    let profile = Profile::new(Unit::Cycles { frequency_hz }, Resolution::ONE);
    let text = write(&profile, Version::One).expect("it can be written");
    assert!(text.contains("frequency_hz=\"1700000000\"} 1\n"));
    assert!(text.contains("# UNIT trawl_latency_cycles cycles\n"));
}

/// Returns what a line has after a name of a field, up to a delimiter.
fn field<'a>(line: &'a str, name: &str, end: char) -> Option<&'a str> {
    let (_, rest) = line.split_once(name)?;
    rest.split_once(end).map(|(field, _)| field)
}

/// Returns the buckets of a line of version 2 by index, following the specification of spans.
fn indices(line: &str) -> BTreeMap<u32, u64> {
    let spans = field(line, "positive_spans:[", ']').unwrap_or_default();
    let counts = field(line, "positive_buckets:[", ']').unwrap_or_default();
    let mut counts = counts.split(',').filter_map(|count| count.parse().ok());
    let mut found = BTreeMap::new();
    let mut index = 0;
    for span in spans.split(',').filter(|span| !span.is_empty()) {
        let (offset, length) = span.split_once(':').expect("offset and length");
        index += offset.parse::<u32>().expect("a number");
        for _ in 0..length.parse().expect("a number") {
            found.insert(index, counts.next().expect("a count for each bucket"));
            index += 1;
        }
    }
    assert_eq!(counts.next(), None);
    found
}

proptest! {
    #[test]
    fn native_buckets_follow_the_formula(
        latencies in prop::collection::vec((0_u64..1 << 15, 0_u32..15), 0..40),
        r in 1_u8..=8,
    ) {
        let latencies: Vec<u64> = latencies.into_iter().map(|(bits, shift)| bits >> shift).collect();
        let text = write(&profile(r, &latencies), Version::Two).expect("it can be written");
        let line = text.lines().find(|line| line.contains("schema:")).expect("a histogram");
        let schema: u32 = field(line, "schema:", ',').expect("a schema").parse().expect("a number");
        let coarse = 1 << schema;
        prop_assert!(r % coarse == 0 && (r / coarse) % 2 == 1);
        // Index i holds (2^(1/coarse))^(i−1) ≤ latency < (2^(1/coarse))^i: powers of integers.
        let mut expected = BTreeMap::new();
        for latency in latencies.iter().filter(|latency| **latency > 1) {
            let power = u128::from(*latency).pow(coarse.into());
            let index = (0..128).find(|index| power < 1 << index).expect("below 2^120");
            *expected.entry(index).or_insert(0_u64) += 1;
        }
        prop_assert_eq!(indices(line), expected);
        let zero = latencies.iter().filter(|latency| **latency <= 1).count().to_string();
        prop_assert_eq!(field(line, "zero_count:", if zero == latencies.len().to_string() { '}' } else { ',' }), Some(&zero[..]));
        let count = latencies.len().to_string();
        prop_assert_eq!(field(line, "{count:", ','), Some(&count[..]));
    }

    #[test]
    fn classic_buckets_count_up_to_their_border(
        latencies in prop::collection::vec((any::<u64>(), 11_u32..64), 0..40),
        r in 1_u8..=8,
    ) {
        let latencies: Vec<u64> = latencies.into_iter().map(|(bits, shift)| bits >> shift).collect();
        let text = write(&profile(r, &latencies), Version::One).expect("it can be written");
        for line in text.lines().filter(|line| line.contains("_bucket{")) {
            let le = field(line, "le=\"", '"').expect("a border");
            let border = le.parse::<f64>().expect("a number");
            let within = latencies.iter().filter(|one| **one as f64 <= border).count();
            prop_assert!(line.ends_with(&format!(" {within}")), "{}", line);
        }
    }

    #[test]
    fn every_profile_is_written_line_by_line(profile in any_profile()) {
        for version in [Version::One, Version::Two] {
            let text = write(&profile, version).expect("it can be written");
            prop_assert!(text.ends_with("# EOF\n"));
            prop_assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("trawl_")));
        }
    }
}
