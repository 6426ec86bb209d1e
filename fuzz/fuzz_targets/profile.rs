//! Latency profiles and recordings in their formats: an error, or something that is written as it
//! was read, and can be analysed, drawn and exported.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_analysis::report::{Options, report};
use trawl_histogram::text::{self, Columns};
use trawl_histogram::{Capture, Resolution, Unit, json, openmetrics, otlp};
use trawl_pictures::Measure;
use trawl_profile::Recording;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    match first % 4 {
        0 => paper(*first, rest),
        1 => {
            if let Ok(capture) = json::read(rest) {
                let written = json::write(&capture).expect("it was read");
                assert_eq!(
                    json::read(written.as_bytes()).expect("its own text"),
                    capture
                );
                used(&capture);
            }
        }
        _ => {
            if let Ok(recording) = Recording::read(rest) {
                let written = recording.to_json().expect("it was read");
                let again = Recording::read(written.as_bytes()).expect("its own text");
                assert_eq!(again.to_json().expect("it was read"), written);
            }
        }
    }
});

fn paper(first: u8, bytes: &[u8]) {
    let columns = Columns {
        unit: Unit::Nanoseconds,
        resolution: Resolution::new(1 + first / 4 % 8).expect("1 to 8"),
        first_bucket: (first / 32).into(),
        interval_ns: (first >= 128).then_some(1_000_000),
    };
    if let Ok(read) = text::read(bytes, &columns) {
        let written = text::write(&read, columns.first_bucket);
        let again = text::read(written.as_bytes(), &columns).expect("its own text");
        assert_eq!(text::write(&again, columns.first_bucket), written);
        used(&read.into());
    }
}

fn used(capture: &Capture) {
    let profile = capture.profile.whole();
    let _ = report(profile.operations(), &Options::default());
    let _ = openmetrics::write(profile, openmetrics::Version::Two);
    let _ = otlp::write(profile, 7);
    // Drawing takes long.
    let Some((name, _)) = profile.operations().next() else {
        return;
    };
    let operation = trawl_pictures::operation(profile, name, &[]);
    let timeline = trawl_pictures::timeline(&capture.profile, name, Measure::Latency);
    for picture in operation.into_iter().chain(timeline) {
        let svg = picture.svg();
        assert!(
            !svg.contains("=\"NaN\"") && !svg.contains("=\"inf\""),
            "{svg}"
        );
    }
}
