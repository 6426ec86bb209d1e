//! gnuplot draws the files, and executes nothing that a name contains.

use std::fs;
use std::path::Path;

use trawl_histogram::Capture;
use trawl_testkit::oracle::command;

use super::{hostile, story::story};

/// Writes the files and runs gnuplot on each script; returns `None` if gnuplot is not installed.
fn plot(capture: &Capture, directory: &Path) -> Option<usize> {
    let files = trawl_pictures::gnuplot(capture);
    for file in &files {
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-.".contains(one);
        assert!(file.name.chars().all(is_plain), "{}", file.name);
        fs::write(directory.join(&file.name), &file.content).unwrap();
    }
    let mut run = 0;
    for script in files.iter().filter(|file| file.name.ends_with(".gp")) {
        let output = command("gnuplot")
            .arg(&script.name)
            .current_dir(directory)
            .output();
        let Ok(output) = output else {
            println!("skipped, because gnuplot is not installed");
            return None;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", script.name);
        let svg = directory.join(script.name.replace(".gp", ".svg"));
        let svg = fs::read_to_string(svg).unwrap();
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let parsed = roxmltree::Document::parse_with_options(&svg, options);
        assert!(parsed.is_ok(), "{}: {parsed:?}\n{svg}", script.name);
        run += 1;
    }
    Some(run)
}

#[test]
fn gnuplot_draws_each_figure() {
    let directory = tempfile::tempdir().unwrap();
    let capture = &story().captures[0];
    if let Some(run) = plot(capture, directory.path()) {
        // For each of 11 operations: itself, calls, latency and map; and the complete profile.
        assert_eq!(run, 11 * 4 + 1);
        let svg = fs::read_to_string(directory.path().join("complete.svg")).unwrap();
        assert!(svg.contains("write_super"));
    }
}

#[test]
fn gnuplot_runs_no_command_of_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let capture: Capture = hostile::profile().into();
    if plot(&capture, directory.path()).is_some() {
        let names = fs::read_dir(directory.path()).unwrap();
        let names = names.map(|one| one.unwrap().file_name().into_string().unwrap());
        let strange: Vec<String> = names.filter(|name| name.contains("pwned")).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }
}

#[test]
fn data_are_the_counts_and_the_estimated_latencies() {
    let capture = &story().captures[0];
    let profile = capture.profile.whole();
    let (name, histogram) = profile.by_total()[0];
    let files = trawl_pictures::gnuplot(capture);
    let file = files
        .iter()
        .find(|file| file.name == "operation-1.dat")
        .unwrap();
    assert!(file.content.starts_with(&format!("# {name}\n")));
    let mut calls = 0_u128;
    for line in file.content.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<f64> = line.split(' ').map(|one| one.parse().unwrap()).collect();
        let [bucket, count, mean, sum] = fields[..] else {
            panic!("{line}");
        };
        assert_eq!(count as u64, histogram.count(bucket as u16));
        // §3.1.5: "the average bucket latency 3/2 · 2^b", at 1.7 billion cycles a second.
        let expected = 1.5 * bucket.exp2() / 1.7e9;
        assert!((mean / expected - 1.0).abs() < 1e-9, "{line}");
        assert!((sum / (expected * count) - 1.0).abs() < 1e-9, "{line}");
        calls += count as u128;
    }
    assert_eq!(calls, histogram.recorded());
}
