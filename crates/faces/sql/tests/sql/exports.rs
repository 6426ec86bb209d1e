//! Other engines read exports and give the same answers to the same queries; files that they wrote are
//! read.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use trawl_remote::rows::{Piece, Pieces};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::Skip;

use crate::site::{Site, sorted};

/// Runs each query in DuckDB over an export; returns rows as lists of text.
const DUCKDB: &str = r#"
import duckdb, json, sys
out, queries = sys.argv[1], sys.argv[2]
db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
for table in ("entries", "dirs", "xattrs", "issues"):
    db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{out}/{table}/*.parquet')")
def text(value):
    if value is None: return ""
    if isinstance(value, bool): return "true" if value else "false"
    for raw, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        value = str(value).replace(raw, escaped)
    return value
for line in open(queries, encoding="utf-8"):
    try:
        rows = [[text(v) for v in row] for row in db.execute(line).fetchall()]
    except Exception as error:
        rows = [["ERROR", str(error)]]
    print(json.dumps(rows))
"#;

/// Prints names, sizes and times as pyarrow and pandas read them.
const PYARROW: &str = r#"
import pyarrow.parquet as pq, sys
frame = pq.read_table(sys.argv[1] + "/entries").to_pandas()
frame = frame[frame.path_raw.isna()]
for row in frame.itertuples():
    print(f"{row.path}\t{row.size}\t{row.type}\t{row.mtime.value // 10**9}")
"#;

/// Writes the same rows with each compression that DuckDB knows, and prints the files' names.
const COMPRESSIONS: &str = r#"
import duckdb, sys
for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"):
    file = f"{sys.argv[1]}/{codec}.parquet"
    rows = "SELECT i, 'name' || i AS n FROM range(5000) t(i)"
    duckdb.sql(f"COPY ({rows}) TO '{file}' (FORMAT parquet, COMPRESSION '{codec}')")
    print(file)
"#;

/// Returns the Python interpreter with these engines, as `make test` installs it.
fn python(module: &str) -> Result<PathBuf, Skip> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or(home).unwrap_or_default();
    let python = cache.join("trawl/tools/python/bin/python");
    let import = format!("import {module}");
    let found = oracle::command(&python).args(["-c", &import]).output();
    match found {
        Ok(output) if output.status.success() => Ok(python),
        _ => Err(Skip::new(
            format!("exports read by {module}"),
            format!(
                "{} has no {module}: scripts/need.sh test installs it",
                python.display()
            ),
        )),
    }
}

fn export(site: &Site, options: &[&str]) -> PathBuf {
    let out = site.scratch.join("export");
    let mut command = site.command(&Identity::Ourselves);
    command
        .arg("export")
        .args(options)
        .args(["--parquet"])
        .arg(&out);
    let ran = oracle::run(&mut command);
    assert_eq!(ran.code, Some(0), "{ran}");
    out
}

fn script(site: &Site, python: &Path, text: &str, arguments: &[&Path]) -> String {
    let file = site.scratch.join("script.py");
    std::fs::write(&file, text).unwrap();
    let ran = oracle::run(oracle::command(python).arg(file).args(arguments));
    assert_eq!(ran.code, Some(0), "{ran}");
    ran.text()
}

fn queries() -> Vec<String> {
    let text = include_str!("queries.sql");
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.map(str::to_owned).collect()
}

#[test]
fn duckdb_answers_the_same() {
    let python = match python("duckdb") {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let site = Site::server("sql-duckdb");
    let has_xattrs = oracle::command("setfattr")
        .args(["-n", "user.note", "-v", "kept"])
        .arg(site.tree().join("sw/bin/tool"))
        .status()
        .is_ok_and(|status| status.success());
    if has_xattrs {
        site.index();
    }
    // Small parts, so that there are several.
    let out = export(&site, &["--part-rows", "50"]);
    let queries: Vec<String> = queries().iter().map(|query| site.placed(query)).collect();
    assert!(queries.len() >= 100, "{}", queries.len());
    let file = site.scratch.join("queries");
    std::fs::write(&file, queries.join("\n") + "\n").unwrap();
    let theirs = script(&site, &python, DUCKDB, &[&out, &file]);
    let mut wrong = Vec::new();
    for (query, theirs) in queries.iter().zip(theirs.lines()) {
        let theirs: Vec<Vec<String>> = serde_json::from_str(theirs).unwrap();
        let ours = rows(&site, query);
        let theirs = sorted(theirs.iter().map(|row| row.join("\t")).collect());
        if ours != theirs {
            wrong.push(format!(
                "{query}\n  ours   {:?}\n  theirs {:?}",
                first_other(&ours, &theirs),
                first_other(&theirs, &ours)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        queries.len(),
        wrong.join("\n")
    );
}

/// Returns up to three rows that the others lack.
fn first_other<'a>(rows: &'a [String], others: &[String]) -> Vec<&'a String> {
    rows.iter()
        .filter(|row| !others.contains(row))
        .take(3)
        .collect()
}

/// Returns our answer's rows, with tabs between values.
#[track_caller]
fn rows(site: &Site, query: &str) -> Vec<String> {
    let ran = site.run(&["--format", "tsv", query]);
    assert_eq!(ran.code, Some(0), "{query}\n{ran}");
    sorted(ran.text().lines().skip(1).map(str::to_owned).collect())
}

#[test]
fn pyarrow_and_pandas_read_what_find_prints() {
    let python = match python("pyarrow.parquet, pandas") {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let site = Site::server("sql-pandas");
    let out = export(&site, &[]);
    let ours = script(&site, &python, PYARROW, &[&out]);
    let ours = sorted(ours.lines().map(str::to_owned).collect());
    let find = site.find(&[
        "!",
        "-path",
        "*/bob/*",
        "!",
        "-path",
        "*/ann/*",
        "-printf",
        "%p\\t%s\\t%y\\t%Ts\\n",
    ]);
    let is_plain = |line: &&String| !line.contains("/bob/") && !line.contains("/ann/");
    let mut plain: Vec<String> = ours.iter().filter(is_plain).cloned().collect();
    // Removes the second half of a name with a newline.
    plain.retain(|line| line.starts_with('/'));
    assert_eq!(plain, find);
}

#[test]
fn an_export_is_new_whole_and_only_of_what_was_asked() {
    let site = Site::server("sql-export");
    let out = export(
        &site,
        &[
            &site.tree().join("scratch").display().to_string(),
            "--tables",
            "entries,dirs",
        ],
    );
    let mut names: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["dirs", "entries", "export.json"]);
    let about: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("export.json")).unwrap()).unwrap();
    let expected = site
        .find(&["-path", "*/tree/scratch*", "-printf", "x\\n"])
        .len();
    assert_eq!(about["tables"][0]["rows"], expected, "{about}");
    let export = |options: &[&str]| {
        let mut command = site.command(&Identity::Ourselves);
        oracle::run(command.arg("export").args(options))
    };
    let name = out.display().to_string();
    let again = export(&["--csv", &name]);
    assert_eq!(again.code, Some(2), "{again}");
    let forced = export(&["--csv", &name, "--force"]);
    assert_eq!(forced.code, Some(0), "{forced}");
    assert!(
        out.join("issues/part-00001.csv").is_file()
            && !out.join("dirs/part-00001.parquet").exists()
    );
    // Only an export is replaced, and nothing is left beside it.
    let tree = site.tree().display().to_string();
    assert_eq!(export(&["--csv", &tree, "--force"]).code, Some(2));
    let missing = export(&[
        "--json",
        &site.scratch.join("none").display().to_string(),
        "/nowhere/at/all",
    ]);
    assert_eq!(missing.code, Some(2), "{missing}");
    let left: Vec<_> = std::fs::read_dir(site.scratch.join("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".part") || name == "none")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let json = site.scratch.join("json");
    assert_eq!(
        export(&["--json", &json.display().to_string()]).code,
        Some(0)
    );
    let text = std::fs::read_to_string(json.join("entries/part-00001.jsonl")).unwrap();
    assert_eq!(text.lines().count(), site.find(&["-printf", "x\\n"]).len());
}

#[test]
fn parquet_files_of_every_compression_are_read() {
    let python = match python("duckdb") {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let site = Site::empty("sql-compressions");
    let files = script(&site, &python, COMPRESSIONS, &[site.scratch.path()]);
    assert_eq!(files.lines().count(), 7, "{files}");
    for file in files.lines() {
        let mut command = site.command(&Identity::Ourselves);
        let query = "SELECT count(*), sum(i), min(n), max(n) FROM t";
        let table = format!("t={file}");
        let ran = oracle::run(command.args(["--csv", "--table", &table, query]));
        let rows = ran.text();
        let row = rows.lines().nth(1);
        assert_eq!(row, Some("5000,12497500,name0,name999"), "{file}: {ran}");
    }
}

/// The tables that are computed are exported if they are named, as queries show them; what they lack is
/// said.
#[test]
fn computed_tables_are_exported_by_name() {
    let site = Site::empty("sql-export-computed");
    let hooks = site.scratch.join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    let manifest = "name = \"refs\"\nprogram = \"refs\"\nglobs = [\"*.ref\"]\n";
    let hook = "#!/bin/sh\necho '{\"relation\": \"includes\", \"target\": \"b.txt\"}'\n";
    for (path, text) in [
        (site.tree().join("a.ref"), "text\n"),
        (site.tree().join("b.txt"), "text\n"),
        (hooks.join("refs.toml"), manifest),
        (hooks.join("refs"), hook),
    ] {
        std::fs::write(path, text).unwrap();
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(hooks.join("refs"), mode).unwrap();
    site.index();
    let names = ["attributes", "file_groups", "group_members", "relations"];
    let options = "attributes,file-groups,group-members,relations";
    let out = site.scratch.join("export");
    let export = |force: &[&str]| {
        let mut command = site.command(&Identity::Ourselves);
        command
            .env("TRAWL_HOOKS", &hooks)
            .args(["export", "--tables", options, "--csv"])
            .arg(&out);
        oracle::run(command.args(force))
    };
    let ran = export(&[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    for name in names {
        let text = std::fs::read_to_string(out.join(name).join("part-00001.csv")).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let head = lines.next().unwrap();
        let mut command = site.command(&Identity::Ourselves);
        command.env("TRAWL_HOOKS", &hooks);
        let ran = oracle::run(command.args(["--csv", &format!("SELECT {head} FROM {name}")]));
        let rows: Vec<String> = ran.text().lines().skip(1).map(str::to_owned).collect();
        assert!(!rows.is_empty(), "{name}");
        assert_eq!(sorted(lines.collect()), sorted(rows), "{name}");
    }
    assert!(!out.join("entries").exists());
    let about = std::fs::read_to_string(out.join("export.json")).unwrap();
    assert!(
        about.contains(r#"{"parts":1,"rows":1,"table":"relations"}"#),
        "{about}"
    );
    std::fs::remove_file(site.tree().join("a.ref")).unwrap();
    let ran = export(&["--force"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.errors().contains("a.ref'"), "{ran}");
}

/// Returns the files below a directory, by their paths in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let ran = oracle::run(
        oracle::command("find")
            .args([".", "-type", "f"])
            .current_dir(dir),
    );
    let text = ran.text();
    let names = text.lines().map(|line| line.trim_start_matches("./"));
    names
        .map(|name| (name.to_owned(), std::fs::read(dir.join(name)).unwrap()))
        .collect()
}

#[test]
fn what_a_client_is_sent_is_what_is_written_here() {
    let site = Site::server("sql-export-sent");
    let out = site.scratch.join("export");
    for format in ["--parquet", "--csv", "--json"] {
        let options = [format, out.to_str().unwrap(), "--part-rows", "50"];
        let mut command = site.command(&Identity::Ourselves);
        let ran = oracle::run(command.arg("export").args(options));
        assert_eq!(ran.code, Some(0), "{ran}");
        let written = files(&out);
        std::fs::remove_dir_all(&out).unwrap();
        let mut command = site.command(&Identity::Ourselves);
        // As a server's `trawl` hands over.
        command.arg0("trawl").args(["answer", "--rows", "export"]);
        let ran = oracle::run(command.args(options));
        assert_eq!(ran.code, Some(0), "{ran}");
        // Nothing is written on the server.
        assert!(!out.exists());
        let mut pieces = Pieces::default();
        pieces.add(&ran.stdout);
        let (mut sent, mut open) = (BTreeMap::<String, Vec<u8>>::new(), None);
        while let Some(piece) = pieces.take().unwrap() {
            let Piece::Row(row) = piece else {
                panic!("{piece:?}");
            };
            let name = String::from_utf8(row.fields[0].clone()).unwrap();
            assert_eq!(*open.get_or_insert_with(|| name.clone()), name);
            let file = sent.entry(name).or_default();
            match row.fields.get(1) {
                Some(bytes) => file.extend(bytes),
                None => open = None,
            }
        }
        pieces.end().unwrap();
        assert_eq!(open, None);
        assert!(sent.len() > 6, "{:?}", sent.keys());
        assert_eq!(sent, written);
    }
}
