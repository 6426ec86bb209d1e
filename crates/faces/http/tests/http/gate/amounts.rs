//! How many bytes and rows a user is sent in an hour.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use trawl_testkit::site::{Site, StandIn};

use super::assistants::Known;
use super::{Gate, Settings, bearer, cannot};
use crate::assistants::Assistant;
use crate::client::{Answer, SERVER};

#[test]
fn a_user_who_was_sent_too_many_bytes_waits_and_others_do_not() {
    let broken = too_much("bytes", "--hourly-bytes=100000");
    assert!(broken.is_none_or(|broken| broken.body.len() <= 100_000));
}

#[test]
fn a_user_who_was_sent_too_many_rows_waits_and_others_do_not() {
    let broken = too_much("rows", "--hourly-rows=5000");
    assert!(broken.is_none_or(|broken| lines(&broken) <= 4900));
}

/// Returns the number of lines of an answer.
fn lines(answer: &Answer) -> usize {
    answer.body.iter().filter(|byte| **byte == b'\n').count()
}

/// Asks until an allowance is used up. Returns the answer that was broken off; `None` if that cannot be
/// tested here.
fn too_much(what: &str, limit: &str) -> Option<Answer> {
    if cannot(&format!("{what} of a user")) {
        return None;
    }
    // 70 bytes a row: a page of 100 rows fits into the allowance, and the whole answer does not.
    let script = "i=0; while [ $i -lt 20000 ]; do echo \
                  '{\"path\":\"/a-name-with-some-length-so-that-rows-are-long-enough\"}'; \
                  i=$((i+1)); done";
    let stand_in = StandIn::new("http-gate-amounts", script);
    let settings = Settings::with(&stand_in).word(limit);
    let gate = settings.start();
    let (one, other) = (
        settings.whole_token("u60001"),
        settings.whole_token("u60002"),
    );
    let page = json!({"paths": ["/"]});
    let first = gate.ask(&one, "find", &page).json();
    let cursor = first["cursor"].as_str().expect("a cursor");
    let lines = "/api/v1/find?paths=/&format=jsonl&partial=true";
    let broken = gate.get(&one, lines);
    assert_ne!(broken.code, Some(0), "{broken:?}");
    let header = bearer(&one);
    let refused = gate.curl("/api/v1/find?paths=/", &["--header", &header]);
    assert_eq!(refused.status, 429, "{refused:?}");
    let wait = refused.header("retry-after").concat();
    let wait: u64 = wait.parse().expect("a number of seconds");
    assert!((1..=3600).contains(&wait), "{wait}");
    let detail = refused.json()["detail"].to_string();
    let why = format!("no user may be sent more {what} in an hour");
    assert!(detail.contains(&why), "{detail}");
    assert!(
        detail.contains(&format!("ask again in {wait} s")),
        "{detail}"
    );
    // An answer can still be dropped.
    let dropped = gate.curl(
        &format!("/api/v1/more?cursor={cursor}"),
        &["--header", &header, "--request", "DELETE"],
    );
    assert_eq!(dropped.status, 204, "{dropped:?}");
    assert_eq!(gate.ask(&other, "find", &page).status, 200);
    let outcomes: Vec<_> = gate
        .record(5)
        .iter()
        .map(|line| {
            (
                line["uid"].clone(),
                line["outcome"].clone(),
                line["status"].clone(),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            (json!(60_001), json!("partial"), json!(200)),
            (json!(60_001), json!("failed"), json!(200)),
            (json!(60_001), json!("failed"), json!(429)),
            (json!(60_001), json!("complete"), json!(204)),
            (json!(60_002), json!("partial"), json!(200)),
        ]
    );
    Some(broken)
}

/// Names with which lines of CSV and of JSON are no rows.
const NAMES: [&str; 4] = [
    "open/two\nlines",
    "open/a \"quote\"",
    "open/\",\n\"",
    "open/c,d",
];

/// The formats of whole answers of `find`.
const FORMATS: [&str; 3] = ["jsonl", "csv", "arrow"];

/// Returns whether an answer came to its end. If its first piece is too much, it is refused.
fn is_whole(answer: &Answer) -> bool {
    assert!([200, 429].contains(&answer.status), "{answer:?}");
    answer.status == 200 && answer.code == Some(0)
}

fn whole(gate: &Gate, secret: &str, path: &str, format: &str) -> Answer {
    gate.get(
        secret,
        &format!("/api/v1/find?paths={path}&format={format}"),
    )
}

/// A whole answer is sent if its rows fit into what is left, and refused if there is one too many,
/// whatever its format is. The oracle are the rows of a page without a limit.
#[test]
fn rows_of_whole_answers_are_counted_in_every_format() {
    if cannot("rows of whole answers") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-rows", SERVER) else {
        return;
    };
    NAMES.iter().for_each(|name| site.write(name, ""));
    site.index();
    let (settings, open) = (Settings::of(&site), site.text("open"));
    let page = json!({"paths": [open]});
    let unlimited = {
        let gate = settings.start();
        let token = settings.whole_token("u60001");
        let all = gate.ask(&token, "find", &page).json();
        assert_eq!(all["complete"], true, "{all}");
        for format in FORMATS {
            let answer = whole(&gate, &token, &open, format);
            assert_eq!((answer.code, answer.status), (Some(0), 200), "{answer:?}");
        }
        let rows = all["rows"].as_array().expect("rows").len();
        let recorded = gate.record(4);
        let recorded = recorded
            .iter()
            .map(|line| (&line["rows"], &line["outcome"]));
        let recorded: Vec<(&Value, &Value)> = recorded.collect();
        assert_eq!(recorded, [(&json!(rows), &json!("complete")); 4]);
        rows
    };
    assert!(unlimited > NAMES.len(), "{unlimited}");
    for (limit, fits) in [(unlimited, true), (unlimited - 1, false)] {
        std::fs::remove_file(settings.join("record")).expect("our own");
        let settings = settings.clone().word(format!("--hourly-rows={limit}"));
        let gate = settings.start_by_command(&site.trawl);
        for (format, user) in FORMATS.iter().zip(["u60001", "u60002", "u60003"]) {
            let token = settings.whole_token(user);
            let answer = whole(&gate, &token, &open, format);
            let about = format!("{format}, {limit} of {unlimited}: {}", answer.head);
            assert_eq!(is_whole(&answer), fits, "{about}");
            let next = gate.ask(&token, "find", &page);
            let expected = if fits { 200 } else { 429 };
            assert_eq!(next.status, expected, "{about}, then {next:?}");
        }
        // A page counts, too, as does that of an assistant.
        let token = settings.whole_token("u60005");
        let called = Known(&gate, &token).call("search", &page);
        let rows = called["structuredContent"]["rows"].as_array();
        assert_eq!(rows.map(Vec::len), Some(unlimited), "{called}");
        // If it fits exactly, a part of a row comes back until the next question.
        let next = [(); 2].map(|()| gate.ask(&token, "find", &page).status);
        assert_eq!(next, [if fits { 200 } else { 429 }, 429]);
    }
}

/// Writes a Parquet file with a row for each number.
fn numbers(path: &Path, rows: i64) {
    let numbers = Int64Array::from_iter_values(0..rows);
    let batch = RecordBatch::try_from_iter([("number", Arc::new(numbers) as _)]);
    let batch = batch.expect("one column");
    let file = std::fs::File::create(path).expect("our own");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a file");
    writer.write(&batch).expect("our own");
    writer.close().expect("our own");
}

/// The number of rows of a Parquet file is at its end, which is not sent if there are too many.
#[test]
fn rows_of_parquet_are_counted_before_its_end_is_sent() {
    if cannot("rows of Parquet files") {
        return;
    }
    let stand_in = StandIn::new("http-gate-parquet", "exec cat \"$(dirname \"$0\")/answer\"");
    let file = stand_in.scratch.join("answer");
    let settings = Settings::with(&stand_in).word("--hourly-rows=1000");
    let gate = settings.start();
    let query = "/api/v1/sql?query=SELECT+1&format=parquet";
    for (rows, user) in [(1000, "u60001"), (1001, "u60002"), (300_000, "u60003")] {
        numbers(&file, rows);
        let token = settings.whole_token(user);
        let answer = gate.get(&token, query);
        let bytes = std::fs::read(&file).expect("our own");
        if rows == 1000 {
            assert!(is_whole(&answer) && answer.body == bytes, "{}", answer.head);
            continue;
        }
        assert!(!is_whole(&answer), "{rows}: {}", answer.head);
        assert!(answer.body.len() < bytes.len(), "{rows}");
        assert!(answer.status == 429 || bytes.starts_with(&answer.body));
        let next = gate.get(&token, query);
        assert_eq!(next.status, 429, "{next:?}");
    }
    // An answer that is something else could have any number of rows.
    std::fs::write(&file, "something else").expect("our own");
    let answer = gate.get(&settings.whole_token("u60005"), query);
    assert_ne!(answer.code, Some(0), "{answer:?}");
    let first = &gate.record(6)[0];
    assert_eq!(
        (&first["rows"], &first["outcome"]),
        (&json!(1000), &json!("complete"))
    );
}
