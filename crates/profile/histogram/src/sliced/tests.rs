//! Timelines add up to their profile.

use super::*;
use crate::{Resolution, Unit};

fn profile(latencies: &[u64]) -> Profile {
    let mut one = Histogram::new(Resolution::ONE);
    latencies.iter().for_each(|latency| one.record(*latency));
    let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    profile.insert("read", one).expect("a new name");
    profile
}

fn slice(buckets: &[u64]) -> Slice {
    let mut slice = Slice::new();
    slice.set("read", buckets.to_vec());
    slice
}

#[test]
fn readings_become_slices() {
    let mut slicer = Slicer::new(profile(&[100]), 5_000_000_000);
    slicer.push(profile(&[100, 1, 4])).expect("later");
    slicer.push(profile(&[100, 1, 4])).expect("equal");
    slicer.push(profile(&[100, 1, 4, 5])).expect("later");
    assert!(slicer.push(profile(&[100])).is_err());
    let sliced = slicer.finish().expect("it adds up");
    assert_eq!(
        sliced.slices(),
        [slice(&[1, 0, 1]), slice(&[]), slice(&[0, 0, 1])]
    );
    assert_eq!(sliced.interval_ns(), Some(5_000_000_000));
    let whole = sliced.whole().get("read").expect("read");
    assert_eq!(whole.buckets(), [1, 0, 2]);
    assert_eq!(whole.counts().total, 10);
    assert!(sliced.whole().check().is_ok());
}

#[test]
fn slices_that_do_not_add_up_are_refused() {
    let new = |slices: Vec<Slice>| Sliced::new(profile(&[1, 4]), None, slices);
    assert!(new(vec![slice(&[1]), slice(&[0, 0, 1])]).is_ok());
    let message = new(vec![slice(&[1]), slice(&[1, 0, 1])]).expect_err("one too many");
    assert_eq!(
        message.to_string(),
        "operation read: bucket 0: the slices have 2 operations, the whole has 1"
    );
    assert!(new(vec![slice(&[1])]).is_err());
    assert!(new(vec![slice(&[1, 0, 1, 1])]).is_err());
    let most = slice(&[u64::MAX, 0, 1]);
    assert!(new(vec![most.clone(), most]).is_err());
    let mut unknown = slice(&[1, 0, 1]);
    unknown.set("write", vec![1]);
    assert!(new(vec![unknown]).is_err());
}

#[test]
fn a_profile_is_one_slice() {
    let sliced = Sliced::from(profile(&[1, 4]));
    assert_eq!(sliced.slices(), [slice(&[1, 0, 1])]);
    assert_eq!(sliced.slices()[0].buckets("read"), [1, 0, 1]);
    assert_eq!(sliced.slices()[0].buckets("write"), [0; 0]);
    assert_eq!(sliced.into_whole(), profile(&[1, 4]));
}
