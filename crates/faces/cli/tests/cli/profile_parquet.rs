//! Parquet files of recordings that other programs wrote: the columns are what is read.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trawl_testkit::oracle;
use trawl_testkit::skip::Skip;

use crate::profile::recording_site;
use crate::site::{Site, objects};

/// Rewrites `in.parquet` by a program: each leaves a file of its own.
const PYARROW: &str = r#"
import pyarrow.parquet as pq, pyarrow.compute as pc
table = pq.read_table("in.parquet")
pq.write_table(table, "same.parquet", row_group_size=1)
kept = table.filter(pc.equal(table["operation"], "read")).filter(pc.field("bucket") >= 2)
pq.write_table(kept, "filtered.parquet", compression="gzip")
pq.write_table(kept.replace_schema_metadata(None), "bare.parquet")
"#;
const DUCKDB: &str = r#"
import duckdb
to = "(FORMAT parquet)"
rows = "SELECT * FROM 'in.parquet'"
duckdb.sql(f"COPY ({rows} ORDER BY random()) TO 'same.parquet' {to}")
kept = f"{rows} WHERE operation = 'read' AND bucket >= 2"
duckdb.sql(f"COPY ({kept}) TO 'filtered.parquet' {to}")
sums = "SELECT bucket, operation, layer, 0 AS slice, sum(calls) AS calls, 0 AS slice_ns"
duckdb.sql(f"COPY ({sums}, 1 AS resolution, 1e9::BIGINT AS units_per_second, 'x' AS other "
           f"FROM ({kept}) GROUP BY ALL) TO 'bare.parquet' {to}")
"#;

/// Returns the Python interpreter with this module, as `make test` installs it.
fn python(module: &str) -> Result<PathBuf, Skip> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let python = cache.or(home).unwrap_or_default();
    let python = python.join("trawl/tools/python/bin/python");
    let import = format!("import {module}");
    let found = oracle::command(&python).args(["-c", &import]).output();
    match found.is_ok_and(|output| output.status.success()) {
        true => Ok(python),
        false => Err(Skip::new(
            format!("recordings that {module} rewrote"),
            format!("{} has no {module}", python.display()),
        )),
    }
}

/// Writes a recording of two operations as `in.parquet`: 1 call of `close`, and 3 of `read`, which
/// take 2, 4 and 6 ns.
fn exported(site: &Site) {
    let recording = std::fs::read_to_string(site.scratch.join("recording")).unwrap();
    let close = "\"operations\":[{\"operation\":\"close\",\"histogram\":{\"entered\":1,\"left\":1,\
                 \"dropped\":0,\"total\":9,\"min\":9,\"max\":9,\"buckets\":[0,0,0,1]}},";
    let two = recording.replace("\"operations\":[", close);
    std::fs::write(site.scratch.join("two"), two).unwrap();
    site.run("profile export --as parquet -o in.parquet ../two")
        .expect_code(0);
}

fn report(site: &Site, file: &str) -> Vec<Value> {
    objects(
        &site
            .run(&format!("profile report --json {file}"))
            .expect_code(0),
    )
}

/// A file is its rows: rewritten, it is the same recording; without some rows, it is a recording of
/// the others; without the metadata, it is a recording of an unknown machine.
fn rewritten_by(module: &str, script: &str) {
    let site = recording_site(&format!("profile-{module}"));
    let python = match python(module) {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    exported(&site);
    let mut rewrite = oracle::command(python);
    oracle::run(rewrite.args(["-c", script]).current_dir(site.tree())).expect_code(0);
    let original = report(&site, "../two");
    let same = report(&site, "same.parquet");
    let of = |rows: &[Value], field: &str| -> Vec<Value> {
        rows.iter().map(|row| row[field].clone()).collect()
    };
    for field in ["operation", "entered", "buckets"] {
        assert_eq!(of(&same, field), of(&original, field), "{module}: {field}");
    }
    for file in ["filtered.parquet", "bare.parquet"] {
        let rows = report(&site, file);
        assert_eq!(of(&rows, "operation"), [json!("read")], "{module}: {file}");
        assert_eq!(of(&rows, "entered"), [json!(2)], "{file}");
        assert_eq!(of(&rows, "buckets"), [json!([0, 0, 2])], "{file}");
        // §3.1.5: "the average bucket latency 3/2 · 2ᵇ", 2 × 6 ns.
        assert_eq!(of(&rows, "total_ns"), [json!(12)], "{file}");
        assert_eq!(of(&rows, "max_ns"), [Value::Null], "{file}");
    }
}

#[test]
fn files_that_pyarrow_rewrote_are_recordings() {
    rewritten_by("pyarrow", PYARROW);
}

#[test]
fn files_that_duckdb_rewrote_are_recordings() {
    rewritten_by("duckdb", DUCKDB);
}

#[test]
fn a_rewritten_file_keeps_what_its_rows_still_prove() {
    let site = recording_site("profile-parquet-exact");
    exported(&site);
    assert_eq!(report(&site, "in.parquet"), report(&site, "../two"));
}

/// A layer without rows stays, if none of its calls had returned.
#[test]
fn layers_whose_calls_are_all_in_flight_stay() {
    let site = recording_site("profile-parquet-in-flight");
    let recording = std::fs::read_to_string(site.scratch.join("recording")).unwrap();
    let captures = recording.lines().skip(1);
    let in_flight: String = captures
        .map(|line| {
            let line = line.replace("system-calls", "block");
            let line = line.replace("\"left\":3", "\"left\":0");
            let line = line.replace("\"total\":12,\"min\":2,\"max\":6", "\"total\":0");
            line.replace("[0,1,2]", "[]") + "\n"
        })
        .collect();
    std::fs::write(site.scratch.join("two"), recording + &in_flight).unwrap();
    site.run("profile export --as parquet -o in.parquet ../two")
        .expect_code(0);
    let block = |file: &str| {
        let ran = site.run(&format!("profile export --as json --layer block {file}"));
        serde_json::from_slice::<Value>(&ran.expect_code(0).stdout).unwrap()
    };
    let original = block("../two");
    assert_eq!(original["operations"][0]["histogram"]["entered"], 3);
    assert_eq!(block("in.parquet"), original);
}

/// ARCHITECTURE.md: "Outside bytes are hostile". Each damaged file is read or refused, in words.
#[test]
fn damaged_files_are_refused_or_read_and_never_panic() {
    let site = recording_site("profile-parquet-damaged");
    exported(&site);
    let whole = std::fs::read(site.tree().join("in.parquet")).unwrap();
    let mut random = trawl_testkit::prng::Prng::new(7);
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let at = 4 + random.below(bytes.len() as u64 - 4) as usize;
            bytes[at] = random.below(256) as u8;
        }
        if random.below(4) == 0 {
            bytes.truncate(4 + random.below(bytes.len() as u64 - 4) as usize);
        }
        read_or_refused(&site, &bytes);
    }
}

fn read_or_refused(site: &Site, bytes: &[u8]) {
    let file: &Path = &site.tree().join("damaged");
    std::fs::write(file, bytes).unwrap();
    let ran = site.run("profile report damaged");
    let is_answer = matches!(ran.code, Some(0) | Some(1) | Some(2));
    assert!(is_answer && !ran.errors().contains("panicked"), "{ran}");
}
