//! Arrow IPC streams: every command's rows are those of its JSON, as the Arrow library itself reads
//! them.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, TimeUnit};
use serde_json::Value;
use trawl_cli::reports::samples;
use trawl_report::Form;

use crate::machines::odd;

/// Checks that a value of a column is that of the JSON.
fn compare(column: &dyn Array, at: usize, json: Option<&Value>, place: &str) {
    let json = json.unwrap_or(&Value::Null);
    if column.is_null(at) {
        return assert!(json.is_null(), "{place}: null, and {json}");
    }
    match column.data_type() {
        DataType::Utf8 => assert_eq!(
            Some(column.as_string::<i32>().value(at)),
            json.as_str(),
            "{place}"
        ),
        DataType::Binary => {
            let bytes = column.as_binary::<i32>().value(at);
            // JSON escapes what is not UTF-8; the stream keeps every byte.
            match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains('\\') => {
                    assert_eq!(Some(text), json.as_str(), "{place}")
                }
                _ => assert!(
                    json.as_str().is_some_and(|text| text.contains('\\')),
                    "{place}"
                ),
            }
        }
        DataType::Int64 => {
            let number = column.as_primitive::<Int64Type>().value(at).to_string();
            assert_eq!(number, plain(json), "{place}");
        }
        DataType::UInt64 => {
            let number = column.as_primitive::<UInt64Type>().value(at).to_string();
            assert_eq!(number, plain(json), "{place}");
        }
        DataType::Boolean => {
            assert_eq!(
                Some(column.as_boolean().value(at)),
                json.as_bool(),
                "{place}"
            );
        }
        DataType::Timestamp(TimeUnit::Nanosecond, Some(zone)) => {
            assert_eq!(&**zone, "UTC");
            let nanos = column.as_primitive::<TimestampNanosecondType>().value(at);
            let text = json.as_str().unwrap_or_default();
            let fraction = format!(".{:09}Z", nanos.rem_euclid(1_000_000_000));
            // Listing a directory live moves its access time, also between the two runs.
            let is_same = text.ends_with(&fraction) || place.ends_with(": atime");
            assert!(is_same, "{place}: {nanos} and {text}");
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>().value(at);
            let json = json
                .as_array()
                .unwrap_or_else(|| panic!("{place}: no list"));
            assert_eq!(list.len(), json.len(), "{place}");
            for (at, json) in json.iter().enumerate() {
                compare(&list, at, Some(json), place);
            }
        }
        DataType::Struct(fields) => {
            let parts = column.as_struct();
            for (field, part) in fields.iter().zip(parts.columns()) {
                let place = format!("{place}.{}", field.name());
                compare(part, at, json.get(field.name()), &place);
            }
        }
        DataType::Map(..) => {
            let members = column.as_map().value(at);
            assert_eq!(
                Some(members.len()),
                json.as_object().map(|object| object.len()),
                "{place}"
            );
        }
        other => panic!("{place}: a column of type {other}"),
    }
}

/// Returns a whole number of JSON, which is text if a double cannot hold it.
fn plain(json: &Value) -> String {
    json.as_str().map_or_else(|| json.to_string(), String::from)
}

fn rows(stream: &[u8], line: &str) -> Vec<RecordBatch> {
    let reader =
        StreamReader::try_new(stream, None).unwrap_or_else(|error| panic!("{line}: {error}"));
    reader
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn arrow_streams_hold_what_json_says() {
    let site = odd("arrow-streams");
    let mut lines = samples(Form::Arrow);
    // A live search has no order that two runs share.
    lines.retain(|line| !line.contains("--live"));
    assert!(lines.len() >= 8, "{lines:?}");
    lines.push("find --arrow .".into());
    for line in lines {
        let batches = rows(&site.run(&line).stdout, &line);
        let json = site.run(&line.replace("--arrow", "--json")).text();
        let objects: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(count, objects.len(), "{line}");
        let mut objects = objects.iter();
        for batch in &batches {
            for at in 0..batch.num_rows() {
                let object = objects.next().unwrap();
                for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                    let place = format!("{line}: {}", field.name());
                    compare(column, at, object.get(field.name()), &place);
                }
                // Nothing of the JSON is missing; the stream needs no second key for odd bytes.
                for key in object
                    .as_object()
                    .unwrap()
                    .keys()
                    .filter(|key| !key.ends_with("_raw"))
                {
                    assert!(
                        batch.schema().column_with_name(key).is_some(),
                        "{line}: {key}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_answer_without_rows_is_a_whole_stream() {
    let site = odd("arrow-streams-empty");
    let line = "find --arrow . -name nothing-like-this";
    let batches = rows(&site.run(line).expect_code(0).stdout, line);
    assert_eq!(batches.len(), 0);
}
