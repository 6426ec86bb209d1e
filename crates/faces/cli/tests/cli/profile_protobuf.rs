//! Prometheus' protobuf exposition format, as protoc(1) reads it by the published schema.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use trawl_testkit::oracle;
use trawl_testkit::skip::{Skip, without_program};

use crate::profile::recording_site;

/// Where Debian's golang-github-prometheus-client-model-dev has the published schema.
const SCHEMAS: &str = "/usr/share/gocode/src/github.com/prometheus/client_model";
const SCHEMA: &str = "io/prometheus/client/metrics.proto";

/// Splits messages, each of which follows its length.
fn delimited(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let last = bytes
            .iter()
            .position(|byte| byte & 0x80 == 0)
            .expect("a length");
        let (length, rest) = bytes.split_at(last + 1);
        let length = length
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
        let (one, rest) = rest.split_at(length);
        all.push(one);
        bytes = rest;
    }
    all
}

/// Decodes a message to text.
fn decoded(message: &[u8]) -> String {
    let mut protoc = oracle::command("protoc");
    protoc.args([
        "--decode=io.prometheus.client.MetricFamily",
        "-I",
        SCHEMAS,
        SCHEMA,
    ]);
    protoc
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = protoc.spawn().expect("protoc starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(message).expect("it is read");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn native_histograms_are_what_the_published_schema_reads() {
    const WHAT: &str = "the protobuf format by its published schema";
    if let Some(skip) = without_program(WHAT, "protoc") {
        return skip.say();
    }
    if !Path::new(SCHEMAS).join(SCHEMA).exists() {
        return Skip::new(
            WHAT,
            "golang-github-prometheus-client-model-dev is not installed",
        )
        .say();
    }
    let site = recording_site("profile-protobuf");
    let ran = site.run("profile export --as prometheus-protobuf ../recording");
    let all: Vec<String> = delimited(&ran.expect_code(0).stdout)
        .into_iter()
        .map(decoded)
        .collect();
    assert_eq!(all.len(), 5);
    let text = all.concat();
    for part in [
        "type: COUNTER",
        "type: GAUGE",
        "value: \"read\"",
        "value: \"system-calls\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Calls of 2, 4 and 6 ns: indexes 2 and 3 of schema 0, whose borders are powers of 2, with counts
    // 1 and 2; nothing at 0 and 1.
    let latencies = all.iter().find(|one| one.contains("type: HISTOGRAM"));
    let latencies = latencies.expect("there are latencies");
    assert!(
        latencies.contains("name: \"trawl_latency_nanoseconds\""),
        "{latencies}"
    );
    let words: Vec<&str> = latencies.split_whitespace().collect();
    let expected = "sample_count: 3 sample_sum: 12 schema: 0 zero_threshold: 1 zero_count: 0 \
                    positive_span { offset: 2 length: 2 } positive_delta: 1 positive_delta: 1";
    assert!(words.join(" ").contains(expected), "{latencies}");
    assert!(
        !text
            .lines()
            .any(|line| line.trim().starts_with(|one: char| one.is_ascii_digit()))
    );
}
