//! No statement writes a file, reads one, or uses the network: each is refused, even as root, and
//! no file around is changed.

use std::path::Path;

use crate::site::Site;

/// Lists every name below a directory, with size and change time.
fn listing(dir: &Path) -> Vec<String> {
    let found = trawl_testkit::oracle::command("find")
        .arg(dir)
        .args(["-printf", "%p %y %s %C@\\n"])
        .output()
        .unwrap();
    let mut lines: Vec<String> = String::from_utf8_lossy(&found.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// Statements that must not run; `@` is a directory with `secret.csv` and `secret.parquet`.
const STATEMENTS: &[&str] = &[
    "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '@/secret.csv'",
    "CREATE EXTERNAL TABLE x (a INT) STORED AS PARQUET LOCATION 'http://127.0.0.1:9/x'",
    "COPY entries TO '@/out.csv'",
    "COPY (SELECT 1) TO '@/out.parquet' STORED AS PARQUET",
    "INSERT INTO entries SELECT * FROM entries",
    "INSERT INTO entries (path) VALUES ('/x')",
    "DELETE FROM entries",
    "UPDATE entries SET size = 0",
    "TRUNCATE TABLE entries",
    "MERGE INTO entries USING dirs ON entries.path = dirs.path WHEN MATCHED THEN DELETE",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TABLE x (a INT)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE SCHEMA x",
    "CREATE DATABASE x",
    "CREATE FUNCTION f() RETURNS INT RETURN 1",
    "DROP TABLE entries",
    "DROP VIEW entries",
    "ALTER TABLE entries ADD COLUMN a INT",
    "SELECT * INTO x FROM entries",
    "SELECT * FROM '@/secret.csv'",
    "SELECT * FROM \"@/secret.csv\"",
    "SELECT * FROM '@/secret.parquet'",
    "SELECT * FROM 'file://@/secret.csv'",
    "SELECT * FROM 's3://bucket/key.parquet'",
    "SELECT * FROM 'http://127.0.0.1:9/x.csv'",
    "SELECT * FROM read_csv('@/secret.csv')",
    "SELECT * FROM read_parquet('@/secret.parquet')",
    "SELECT * FROM parquet_metadata('@/secret.parquet')",
    "SELECT * FROM metadata_cache()",
    "SELECT * FROM statistics_cache()",
    "SELECT (SELECT count(*) FROM '@/secret.csv')",
    "WITH x AS (SELECT * FROM '@/secret.csv') SELECT * FROM x",
    "SELECT read_text('@/secret.csv')",
    "SELECT pg_read_file('@/secret.csv')",
    "EXPLAIN COPY entries TO '@/out.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '@/out.csv' STORED AS CSV",
    "EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
    "EXPLAIN INSERT INTO entries VALUES (1)",
    "SET datafusion.execution.batch_size = 1",
    "SET datafusion.runtime.temp_directory = '@'",
    "SET datafusion.runtime.memory_limit = '100G'",
    "RESET datafusion.runtime.memory_limit",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "BEGIN",
    "COMMIT",
    "ATTACH '@/x.db' AS x",
    "LOAD '@/x.so'",
    "INSTALL httpfs",
    "PRAGMA database_list",
    "VACUUM",
    "ANALYZE TABLE entries",
    "KILL 1",
    "USE x",
    "CALL f()",
    "LOCK TABLES entries READ",
    "GRANT ALL ON entries TO x",
    "UNLOAD ('SELECT 1') TO '@/out'",
    "EXPORT DATABASE '@/out'",
    "SHOW ALL; COPY entries TO '@/out.csv'",
];

#[test]
fn what_does_more_than_read_is_refused() {
    let site = Site::server("sql-refused");
    let guarded = site.scratch.join("guarded");
    std::fs::create_dir(&guarded).unwrap();
    std::fs::write(guarded.join("secret.csv"), "a,b\nSECRET,2\n").unwrap();
    std::fs::write(guarded.join("secret.parquet"), b"PAR1").unwrap();
    let before = (
        listing(&guarded),
        listing(&site.index_dir()),
        listing(&site.tree()),
    );
    for statement in STATEMENTS {
        let text = statement.replace('@', &guarded.display().to_string());
        let ran = site.run(&[&text]);
        assert_eq!(ran.code, Some(2), "{statement}\n{ran}");
        assert!(
            ran.stdout.is_empty() || statement.starts_with("SHOW"),
            "{statement}\n{ran}"
        );
        assert!(!format!("{ran}").contains("SECRET"), "{statement}\n{ran}");
        assert!(ran.errors().starts_with("trawl: "), "{statement}\n{ran}");
    }
    let after = (
        listing(&guarded),
        listing(&site.index_dir()),
        listing(&site.tree()),
    );
    assert_eq!(before, after);
}

#[test]
fn what_only_reads_is_allowed() {
    let site = Site::server("sql-allowed");
    for statement in [
        "SHOW TABLES",
        "DESCRIBE entries",
        "SHOW COLUMNS FROM entries",
        "SELECT table_name FROM information_schema.tables",
        "EXPLAIN SELECT * FROM entries",
        "EXPLAIN ANALYZE SELECT count(*) FROM dirs",
        "SELECT * FROM generate_series(1, 3)",
        "VALUES (1), (2)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
        "SELECT path FROM entries INTERSECT SELECT path FROM dirs",
        "SELECT e.path FROM entries e WHERE EXISTS (SELECT 1 FROM dirs d WHERE d.path = e.path)",
        "SELECT unnest(xattr_names) FROM entries",
        "SELECT 1; SELECT 2",
    ] {
        let ran = site.run(&[statement]);
        assert_eq!(ran.code, Some(0), "{statement}\n{ran}");
    }
}
