//! Tests of the file's format: what is written reads back, and no bytes panic.

use super::*;
use proptest::prelude::*;

const PATH: &str = "/etc/credentials";

fn record(number: u8) -> Record {
    Record {
        id: format!("{number:012x}"),
        kind: [Kind::Session, Kind::Token][usize::from(number % 2)],
        sha256: [number; 32],
        user: "alice".to_owned(),
        scopes: Scopes::all(),
        created: 1_000,
        expires: 2_000,
        lifetime: 1_000,
        note: "backup \"of\" größe".to_owned(),
        token: None,
        identity: None,
    }
}

fn parse(bytes: &[u8]) -> Result<Table, IdentityError> {
    Table::parse(Path::new(PATH), bytes)
}

fn text() -> String {
    String::from_utf8(encode(&[record(1), record(2)]).unwrap()).unwrap()
}

#[test]
fn what_is_written_reads_back() {
    let records = [record(1), record(2), record(3)];
    let table = parse(&encode(&records).unwrap()).unwrap();
    assert_eq!(table.records(), records);
    assert_eq!(table.with_hash(&[2; 32]), Some(&records[1]));
    assert_eq!(table.with_hash(&[4; 32]), None);
    assert_eq!(table.with_id("000000000003"), Some(&records[2]));
    assert!(parse(&encode(&[]).unwrap()).unwrap().records().is_empty());
}

#[test]
fn an_invalid_line_is_named() {
    let cases = [
        ("\"kind\":\"session\"", "\"kind\":\"root\"", 3),
        ("\"scopes\":\"names,contents,sql\"", "\"scopes\":\"all\"", 2),
        ("0101", "01zz", 2),
        ("\"id\":\"000000000002\"", "\"id\":\"2\"", 3),
        ("\"id\":\"000000000002\"", "\"id\":\"000000000001\"", 3),
        (&"02".repeat(32), &"01".repeat(32), 3),
        ("\"expires\":2000", "\"expires\":18446744073709551615", 2),
        ("\"expires\":2000", "\"expires\":-1", 2),
        ("\"lifetime\":1000,", "", 2),
        ("\"note\":", "\"extra\":1,\"note\":", 2),
        ("\"user\":\"alice\"", "\"user\":\"\"", 2),
        ("\"user\":\"alice\"", "\"user\":\"al\\nice\"", 2),
        ("}\n{", "}\n\n{", 2),
        ("{\"trawl_credentials\":1}", "{}", 1),
    ];
    for (old, new, line) in cases {
        assert!(text().contains(old), "{old}");
        let error = parse(text().replacen(old, new, 1).as_bytes()).unwrap_err();
        let is_named = matches!(&error, IdentityError::Line { line: at, .. } if *at == line);
        assert!(is_named, "{old} → {new}: {error}");
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("{PATH}, line {line}: ")),
            "{message}"
        );
    }
    assert!(parse(b"").is_err());
}

#[test]
fn a_newer_version_is_refused() {
    let newer = text().replacen(":1}", ":2}", 1);
    let error = parse(newer.as_bytes()).unwrap_err();
    assert!(
        matches!(error, IdentityError::Version { version: 2, .. }),
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(at in 0_usize..600, with in prop::collection::vec(any::<u8>(), 0..8), cut in 0_usize..600) {
        let mut bytes = text().into_bytes();
        let at = at.min(bytes.len());
        bytes.splice(at..(at + with.len()).min(bytes.len()), with);
        bytes.truncate(bytes.len().max(1).min(cut.max(1)));
        if let Ok(table) = parse(&bytes) {
            // Whatever was read can be shown and written.
            table.records().iter().for_each(|record| drop(record.grant()));
            let again = parse(&encode(table.records()).unwrap()).unwrap();
            prop_assert_eq!(again.records(), table.records());
        }
    }

    #[test]
    fn no_values_panic(created: u64, expires: u64, lifetime: u64, now: u64) {
        let mut record = Record { created, expires, lifetime, ..record(2) };
        record.grant();
        if record.is_due(now) {
            record.extend(now);
        }
        let line = encode(&[record]).unwrap();
        if let Ok(table) = parse(&line) {
            table.records().iter().for_each(|record| drop(record.grant()));
        }
    }
}
