//! Data for the script: calls of each operation over time.

use serde_json::{Value, json};

use super::sections::Subject;
use crate::draw::chart::filled;
use crate::draw::timeline::Rows;
use crate::picture::clean;
use trawl_text::figures;

/// The most rows: more slices are joined in equal groups.
const ROWS_MOST: usize = 60;

/// Returns the data as JSON without characters that end a script element.
pub(super) fn json(subject: &Subject<'_>) -> String {
    let operations: Vec<Value> = match subject.sliced() {
        Some(sliced) => {
            let sections = subject.sections().iter();
            sections
                .map(|name| one(name, &Rows::new(sliced, name, ROWS_MOST)))
                .collect()
        }
        None => Vec::new(),
    };
    let data = json!({
        "operations": operations,
        "buckets": buckets(subject),
    });
    let escaped = data
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e");
    escaped.replace('&', "\\u0026")
}

/// Returns, for each bucket, its average latency in seconds and its times in words.
fn buckets(subject: &Subject<'_>) -> Vec<Value> {
    let Some(scale) = subject.scale() else {
        return Vec::new();
    };
    let one = |bucket: usize| {
        let begin = figures::time(scale.begin(bucket).exp2());
        json!([scale.mean(bucket), scale.range(bucket), begin])
    };
    (0..=subject.last_bucket()).map(one).collect()
}

/// Returns an operation with its rows: when each begins, and pairs of bucket and count.
fn one(name: &str, rows: &Rows) -> Value {
    let row = |(at, (_, buckets)): (usize, &(usize, Vec<u64>))| {
        let cells: Vec<Value> = filled(buckets)
            .map(|(bucket, count)| json!([bucket, count]))
            .collect();
        json!([rows.when(at), cells])
    };
    let all: Vec<Value> = rows.rows.iter().enumerate().map(row).collect();
    json!({"name": clean(name), "rows": all})
}
