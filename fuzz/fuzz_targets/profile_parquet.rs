//! Profiles in Parquet files: an error, or a recording that is written and read as the same. The input
//! is a file, or changes to one: pairs of a place (4 bytes) and a byte.

#![no_main]

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_histogram::{Histogram, Profile, Resolution, Slicer, Unit};
use trawl_profile::{Machine, Recording};

/// The code of `trawl profile`, which no library has.
#[path = "../../crates/faces/cli/src/profile"]
mod profile {
    mod parquet;

    use std::fs::File;

    use trawl_profile::Recording;

    pub fn read(file: &mut File) -> Option<Result<Recording, String>> {
        parquet::read(file)
    }

    pub fn write(recording: &Recording) -> Result<Vec<u8>, String> {
        parquet::write(recording)
    }
}

static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();

/// Returns a recording of two layers, one of which has slices.
fn recording() -> Recording {
    let profile = |layer: &str, latencies: &[u64]| {
        let mut histogram = Histogram::new(Resolution::ONE);
        latencies.iter().for_each(|one| histogram.record(*one));
        let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
        profile.layer = layer.into();
        profile.insert("read", histogram).expect("a name");
        profile
    };
    let mut slicer = Slicer::new(profile("sliced", &[]), 1_000_000);
    for latencies in [&[3, 5][..], &[3, 5, 900]] {
        slicer
            .push(profile("sliced", latencies))
            .expect("more calls");
    }
    Recording {
        subject: "grep".into(),
        machine: Machine::default(),
        losses: vec!["3 events".into()],
        captures: vec![
            profile("whole", &[2, 4, 6]).into(),
            slicer.finish().expect("slices").into(),
        ],
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let sample = SAMPLE.get_or_init(|| profile::write(&recording()).expect("a recording"));
    let mut bytes = match first % 2 {
        0 => rest.to_vec(),
        _ => sample.clone(),
    };
    if first % 2 == 1 {
        for change in rest.chunks_exact(5) {
            let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize;
            let place = place % bytes.len();
            bytes[place] = change[4];
        }
    }
    let Some(Ok(recording)) = read(&bytes) else {
        return;
    };
    let written = profile::write(&recording).expect("it was read");
    let again = read(&written)
        .expect("a Parquet file")
        .expect("its own file");
    assert_eq!(
        again.to_json().expect("it was read"),
        recording.to_json().expect("it was read")
    );
});

fn read(bytes: &[u8]) -> Option<Result<Recording, String>> {
    static PATH: OnceLock<std::path::PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| trawl_fuzz::scratch("parquet").join("file"));
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(true);
    let mut file = file.open(path).expect("our own");
    file.write_all(bytes).expect("room");
    file.seek(SeekFrom::Start(0)).expect("a file");
    profile::read(&mut file)
}
