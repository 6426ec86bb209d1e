//! Output for programs: one schema for all commands (`docs/json.md`), read by parsers that are not
//! ours.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use trawl_cli::reports::{all, samples};
use trawl_report::{Field, Form};
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{self, Skip, without_program};

use crate::site::Site;

/// Returns command lines of all reports in JSON, those of the table of commands first.
fn json() -> Vec<String> {
    let mut lines = vec!["find . -json".to_owned()];
    lines.extend(samples(Form::Json));
    lines
}

/// Returns command lines of all reports in comma-separated values.
fn csv() -> Vec<String> {
    samples(Form::Csv)
}

/// Creates two snapshots of names of all kinds.
pub(crate) fn odd(label: &str) -> Site {
    let site = Site::empty(label);
    let write = |name: &[u8]| {
        let path = site.tree().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "alike").unwrap();
    };
    for name in [
        &b"odd/\xff\xfe.b\xff"[..],
        b"odd/line\nbreak,comma.txt",
        b"odd/say \"x\"",
        b"odd/back\\slash",
        b"odd/dir\xfe/in",
        b"odd/=1+1",
        b"odd/+x",
        b"odd/-y",
        b"odd/@z",
        "odd/ü".as_bytes(),
        b"odd/nan",
    ] {
        write(name);
    }
    let target = OsStr::from_bytes(b"to\xff");
    std::os::unix::fs::symlink(target, site.tree().join("odd/link")).unwrap();
    // Only if the file system supports attributes and the tool exists.
    let mut set = oracle::command("setfattr");
    let set = set
        .args(["-n", "user.x", "-v", "0xff00"])
        .arg(site.tree().join("odd/nan"));
    let _ = set.output();
    std::fs::write(site.scratch.join("recording"), crate::profile::RECORDING).unwrap();
    let views = site.scratch.join("views.d");
    std::fs::create_dir(&views).unwrap();
    std::fs::write(views.join("odd"), "odd = /srv/%FF -name a%20b\n").unwrap();
    write_token(&site);
    site.index();
    write(b"odd/new\xff");
    std::fs::remove_file(site.tree().join("odd/=1+1")).unwrap();
    std::fs::rename(
        site.tree().join("odd/nan"),
        site.tree().join(OsStr::from_bytes(b"odd/\xfdnan")),
    )
    .unwrap();
    let tree = site.tree().display().to_string();
    site.run(&format!("index --quiet --keep 5 {tree}"))
        .expect_code(0);
    site
}

/// Makes a token, for a user who need not exist.
fn write_token(site: &Site) {
    use trawl_identity::credentials::{Credentials, Kind, New, Scopes};
    let credentials = Credentials::open(&site.scratch.join("http")).unwrap();
    let token = New {
        kind: Kind::Token,
        user: "ü",
        scopes: Scopes::all(),
        lifetime: std::time::Duration::from_secs(86_400),
        note: "say \"x\", =1+1",
        token: None,
        identity: None,
    };
    let made = credentials.create(token, std::time::SystemTime::now());
    made.unwrap();
}

fn ask(site: &Site, line: &str) -> Ran {
    let ran = site.run(line);
    assert!(matches!(ran.code, Some(0 | 1)), "{line}: {ran}");
    assert!(
        line.starts_with("getfattr") || !ran.stdout.is_empty(),
        "{line}: {ran}"
    );
    ran
}

/// Passes this input to a program and returns its output.
fn through(program: &OsStr, arguments: &[&str], input: &[u8]) -> String {
    let mut command = oracle::command(program);
    let child = command.args(arguments).stdin(Stdio::piped());
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || keys.write_all(&input));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(out.status.success(), "{arguments:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// Returns a Python that has these modules.
fn python(modules: &str) -> Result<PathBuf, Skip> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let own = home.join(".cache/trawl/tools/python/bin/python3");
    for python in [own, "python3".into()] {
        let mut command = oracle::command(&python);
        let found = command
            .args(["-c", &format!("import {modules}")])
            .stderr(Stdio::null());
        if found.status().is_ok_and(|status| status.success()) {
            return Ok(python);
        }
    }
    Err(Skip::new(
        "values read by others",
        format_args!("no Python has {modules}"),
    ))
}

/// Returns the fields that the document lists, with their kinds.
fn documented() -> Vec<(String, String)> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/fields.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut fields = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (name, kind) = (cells.next().unwrap(), cells.next().unwrap());
        fields.push((name.trim_matches('`').to_owned(), kind.to_owned()));
    }
    fields
}

fn is_time(text: &str) -> bool {
    let pattern: Vec<char> = "0000-00-00T00:00:00.000000000Z".chars().collect();
    let fits = |(c, p): (char, &char)| {
        if *p == '0' {
            c.is_ascii_digit()
        } else {
            c == *p
        }
    };
    text.chars().count() == pattern.len() && text.chars().zip(&pattern).all(fits)
}

fn is_integer(value: &Value) -> bool {
    const MOST: i64 = (1 << 53) - 1;
    match value {
        Value::Number(number) => number.as_i64().is_some_and(|n| (-MOST..=MOST).contains(&n)),
        Value::String(digits) => digits
            .parse::<i128>()
            .is_ok_and(|n| n.abs() > i128::from(MOST)),
        _ => false,
    }
}

fn is_hex(text: &str) -> bool {
    text.len().is_multiple_of(2) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns true if a value is of a kind.
fn is_of(kind: &str, value: &Value) -> bool {
    match (kind, value) {
        (_, Value::Null) => true,
        ("integer", value) => is_integer(value),
        ("time", Value::String(text)) => is_time(text),
        ("text" | "bytes", Value::String(_)) => true,
        ("yes or no", Value::Bool(_)) => true,
        ("list" | "list of text" | "list of integers", Value::Array(_)) => true,
        ("object", Value::Object(_)) => true,
        _ => false,
    }
}

fn check(line: &str, object: &Value, fields: &[(String, String)]) {
    for (key, value) in object.as_object().unwrap() {
        let bare = key.strip_suffix("_raw").unwrap_or(key);
        // A name may have another type in another command.
        let known = fields.iter().filter(|(name, _)| name == bare);
        let kinds: Vec<&str> = known.map(|(_, kind)| &kind[..]).collect();
        assert!(!kinds.is_empty(), "{line}: {key} is not in docs/fields.md");
        let fits = match bare == key {
            true => kinds.iter().any(|kind| is_of(kind, value)),
            false => kinds.contains(&"bytes") && is_hex(value.as_str().unwrap()),
        };
        assert!(fits, "{line}: {key} is no {kinds:?}: {value}");
        match value {
            Value::Object(_) if key != "options" => check(line, value, fields),
            Value::Array(all) => all
                .iter()
                .filter(|one| one.is_object())
                .for_each(|one| check(line, one, fields)),
            _ => {}
        }
    }
}

#[test]
fn every_field_is_as_the_document_says() {
    let site = odd("machines-fields");
    let fields = documented();
    let mut seen = BTreeSet::new();
    // Only the superuser can check permissions.
    let of_root = ["index --check-permissions --json .".to_owned()];
    let of_root = &of_root[..usize::from(skip::is_root())];
    for line in json().iter().chain(of_root) {
        let ran = ask(&site, line);
        let progress = ran.errors();
        let progress = progress.lines().filter(|text| text.starts_with('{'));
        for text in ran.text().lines().chain(progress) {
            let object: Value = serde_json::from_str(text).unwrap();
            check(line, &object, &fields);
            seen.extend(object.as_object().unwrap().keys().cloned());
        }
    }
    for key in [
        "path_raw",
        "link_target_raw",
        "from",
        "ino",
        "size",
        "mtime",
        "permissions",
    ] {
        assert!(seen.contains(key), "{key} was never printed");
    }
}

/// Checks that an object has the fields that all have.
fn check_always(line: &str, object: &Value, fields: &[Field]) {
    for field in fields {
        let value = &object[field.name];
        assert!(
            !field.is_always || !value.is_null(),
            "{line}: {} is missing: {object}",
            field.name
        );
        let one = std::slice::from_ref(value);
        let within = value.as_array().map_or(one, Vec::as_slice);
        for object in within.iter().filter(|value| value.is_object()) {
            check_always(line, object, field.kind.fields());
        }
    }
}

#[test]
fn fields_that_every_row_has_are_never_missing() {
    let site = odd("machines-always");
    let reports = all();
    let mut rows = 0;
    for report in reports
        .iter()
        .filter(|report| report.schema.fields.iter().any(|field| field.is_always))
    {
        for line in report.samples(Form::Json) {
            for text in ask(&site, &line).text().lines() {
                let object: Value = serde_json::from_str(text).unwrap();
                check_always(&line, &object, report.schema.fields);
                rows += 1;
            }
        }
    }
    assert!(rows > 50, "{rows} rows");
}

/// Reads objects as strictly as Python can, and prints the paths in them.
const READ_JSON: &str = r#"
import json, sys
def one(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)
for line in sys.stdin.buffer:
    o = json.loads(line.decode("utf-8", "strict"), object_pairs_hook=one)
    path = bytes.fromhex(o["path_raw"]) if "path_raw" in o else o["path"].encode()
    print(path.hex())
"#;

/// Reads comma-separated values as strictly as Python can, and prints the paths in them.
const READ_CSV: &str = r#"
import csv, io, sys
text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="strict", newline="")
rows = list(csv.reader(text, strict=True))
head = rows[0]
assert len(set(head)) == len(head), head
for row in rows[1:]:
    assert len(row) == len(head), row
    o = dict(zip(head, row))
    if "path" in o:
        path = bytes.fromhex(o["path_raw"]) if o["path_raw"] else o["path"].encode()
        print(path.hex())
"#;

/// Returns the paths that GNU find prints, in hexadecimal.
fn paths(site: &Site) -> BTreeSet<String> {
    let found = site.gnu("find . -print0").stdout;
    let paths = found
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    paths.map(hex).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn python_reads_every_path_back() {
    let python = match python("json, csv") {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let site = odd("machines-python");
    let set = |text: String| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    for (line, script) in [
        ("find --json", READ_JSON),
        ("find --live --json .", READ_JSON),
        ("du -a --json", READ_JSON),
        ("find --csv", READ_CSV),
        ("find --live --csv .", READ_CSV),
        ("du -a --csv", READ_CSV),
    ] {
        let ran = ask(&site, line);
        let read = set(through(python.as_os_str(), &["-c", script], &ran.stdout));
        assert_eq!(read, paths(&site), "{line}");
    }
    for line in &csv() {
        let ran = ask(&site, line);
        through(python.as_os_str(), &["-c", READ_CSV], &ran.stdout);
    }
}

#[test]
fn pandas_reads_every_table() {
    let python = match python("pandas") {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let site = odd("machines-pandas");
    for line in &csv() {
        let script = "import pandas, sys; f = pandas.read_csv(sys.stdin.buffer, keep_default_na=False, \
                      dtype=str); [pandas.to_datetime(f[c], utc=True) for c in f.columns \
                      if c.endswith('time') or c == 'started']; print(len(f))";
        let rows = through(
            python.as_os_str(),
            &["-c", script],
            &ask(&site, line).stdout,
        );
        assert_ne!(rows.trim(), "0", "{line}");
    }
    let script = "import pandas, sys; f = pandas.read_json(sys.stdin.buffer, lines=True); \
                  print(int(f['size'].sum()), f['mtime'].astype('datetime64[ns, UTC]').max().value)";
    let ran = ask(&site, "find --json . -type f");
    let read = through(python.as_os_str(), &["-c", script], &ran.stdout);
    let theirs = site.gnu("find . -type f -printf %s\\040%T@\\n").text();
    let (mut size, mut newest) = (0u64, 0u128);
    for line in theirs.lines() {
        let (bytes, time) = line.split_once(' ').unwrap();
        size += bytes.parse::<u64>().unwrap();
        newest = newest.max(time.replace('.', "")[..19].parse().unwrap());
    }
    assert_eq!(read.trim(), format!("{size} {newest}"));
}

#[test]
fn jq_changes_nothing() {
    if let Some(skip) = without_program("objects through jq", "jq") {
        return skip.say();
    }
    let site = odd("machines-jq");
    for line in &json() {
        let ran = ask(&site, line);
        let through = through(OsStr::new("jq"), &["-c", "."], &ran.stdout);
        let read = |text: &str| -> Vec<Value> {
            let values = text.lines().map(|line| serde_json::from_str(line).unwrap());
            values.collect()
        };
        assert_eq!(read(&through), read(&ran.text()), "{line}");
    }
}

#[test]
fn no_cell_is_a_formula_where_that_is_asked_for() {
    let site = odd("machines-spreadsheet");
    let cells = |line: &str| -> Vec<String> {
        let text = ask(&site, line).text();
        let cells = text
            .split([',', '\n'])
            .map(|cell| cell.trim_matches('"').to_owned());
        cells.collect()
    };
    let is_formula = |cell: &String| {
        let is_number = cell.parse::<f64>().is_ok();
        cell.starts_with(['=', '+', '-', '@']) && !is_number
    };
    let odd = site.tree().join("odd");
    let ran = |options: &str| {
        let mut command = site.command();
        command.current_dir(&odd).args(options.split(' '));
        oracle::run(&mut command).text()
    };
    // Names as they are typed, without a directory before them.
    for (line, name) in [
        ("find +x @z --csv", "+x"),
        ("du --csv -a +x @z", "+x"),
        ("stats --csv @z", "@z"),
    ] {
        let line = line.replace("find +x @z --csv", "find --csv +x @z");
        let text = ran(&line);
        assert!(text.contains(&format!("\n{name},")), "{line}: {text}");
        let (word, rest) = line.split_once(' ').unwrap();
        let text = ran(&format!("{word} --spreadsheet {rest}"));
        assert!(text.contains(&format!("\n'{name},")), "{line}: {text}");
        assert!(!text.contains(&format!("\n{name},")), "{line}: {text}");
    }
    for line in &csv() {
        assert!(line.contains("--csv"), "{line}");
        let found = cells(&line.replacen("--csv", "--csv --spreadsheet", 1));
        let bad: Vec<&String> = found.iter().filter(|cell| is_formula(cell)).collect();
        assert!(bad.is_empty(), "{line}: {bad:?}");
    }
}
