//! The export against OTLP's definitions, by counting.

use proptest::prelude::*;

use super::*;
use crate::Resolution;

fn exported(r: u8, latencies: &[u64]) -> Value {
    let resolution = Resolution::new(r).expect("1 to 8");
    let mut one = Histogram::new(resolution);
    latencies.iter().for_each(|latency| one.record(*latency));
    one.enter();
    one.enter();
    one.drop_one();
    let mut profile = Profile::new(Unit::Nanoseconds, resolution);
    profile.layer = "vfs".to_owned();
    profile.start_unix_ns = Some(1_700_000_000_000_000_000);
    profile.insert("read", one).expect("a name");
    let text = write(&profile, 1_700_000_005_000_000_000).expect("it can be written");
    serde_json::from_str(&text).expect("JSON")
}

fn metric(body: &Value, at: usize) -> &Value {
    &body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][at]
}

#[test]
fn it_has_the_shape_of_otlp() {
    let body = exported(1, &[0, 1, 5, 5, 300]);
    let expected = json!({
        "name": "trawl.latency",
        "description": "Latencies of calls.",
        "unit": "ns",
        "exponentialHistogram": {
            "aggregationTemporality": 2,
            "dataPoints": [{
                "attributes": [
                    { "key": "layer", "value": { "stringValue": "vfs" } },
                    { "key": "operation", "value": { "stringValue": "read" } },
                ],
                "startTimeUnixNano": "1700000000000000000",
                "timeUnixNano": "1700000005000000000",
                "count": "5",
                "sum": 311.0,
                "scale": 0,
                "zeroCount": "2",
                "zeroThreshold": 1.0,
                // Index i is (2^i, 2^(i+1)]: 5 is in index 2, 300 in index 8.
                "positive": { "offset": 2, "bucketCounts": ["2", "0", "0", "0", "0", "0", "1"] },
                "min": 0.0,
                "max": 300.0,
            }],
        },
    });
    assert_eq!(metric(&body, 0), &expected);
    for (at, name, count) in [
        (1, "entered", "7"),
        (2, "dropped", "1"),
        (3, "in_flight", "1"),
    ] {
        let metric = metric(&body, at);
        assert_eq!(metric["name"], format!("trawl.calls.{name}"));
        assert_eq!(metric["sum"]["dataPoints"][0]["asInt"], count);
        assert_eq!(metric["sum"]["isMonotonic"], at != 3);
    }
}

#[test]
fn without_latencies_nothing_is_made_up() {
    let body = exported(3, &[]);
    let point = &metric(&body, 0)["exponentialHistogram"]["dataPoints"][0];
    assert_eq!(point["count"], "0");
    for absent in ["positive", "min", "max"] {
        assert_eq!(point.get(absent), None);
    }
}

proptest! {
    #[test]
    fn buckets_follow_the_formula(
        latencies in prop::collection::vec((0_u64..1 << 15, 0_u32..15), 0..40),
        r in 1_u8..=8,
    ) {
        let latencies: Vec<u64> = latencies.into_iter().map(|(bits, shift)| bits >> shift).collect();
        let body = exported(r, &latencies);
        let point = &metric(&body, 0)["exponentialHistogram"]["dataPoints"][0];
        let scale = point["scale"].as_u64().expect("a scale") as u32;
        let coarse = 1_u32 << scale;
        let offset = point["positive"]["offset"].as_u64().unwrap_or(0);
        let counts = point["positive"]["bucketCounts"].as_array().cloned().unwrap_or_default();
        let mut sum = 0;
        for (index, count) in (offset as u32..).zip(&counts) {
            // base^index ≤ latency < base^(index+1) with base = 2^(1/coarse).
            let is_within = |latency: &&u64| {
                let power = u128::from(**latency).pow(coarse);
                power >= 1 << index && power < 1 << (index + 1)
            };
            let within = latencies.iter().filter(|one| **one > 1).filter(is_within).count();
            prop_assert_eq!(count.as_str(), Some(&within.to_string()[..]));
            sum += within;
        }
        // "This value must be equal to the sum of the bucket_counts values … plus zero_count."
        let zero = point["zeroCount"].as_str().and_then(|zero| zero.parse::<usize>().ok());
        prop_assert_eq!(zero.map(|zero| zero + sum), Some(latencies.len()));
    }
}
