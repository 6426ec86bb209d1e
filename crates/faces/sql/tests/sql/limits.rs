//! Statements that need more stack, memory or time than available end with an error.

use std::io::Write as _;
use std::process::Stdio;

use trawl_testkit::oracle::{self, Identity, Ran};

use crate::site::Site;

/// Runs a statement that is too long for a command line.
fn run_file(site: &Site, text: &str, options: &[&str]) -> Ran {
    let file = site.scratch.join("statement.sql");
    let mut out = std::fs::File::create(&file).unwrap();
    out.write_all(text.as_bytes()).unwrap();
    let mut command = site.command(&Identity::Ourselves);
    command.args(options).args(["--csv", "-f"]).arg(&file);
    oracle::run(command.stdin(Stdio::null()))
}

#[test]
fn long_chains_are_refused_and_shorter_ones_answered() {
    let site = Site::server("sql-chains");
    let chain = |count: usize| format!("SELECT 1{} AS n", "+1".repeat(count));
    let ran = run_file(&site, &chain(800), &[]).expect_code(0);
    assert_eq!(ran.text(), "n\n801\n");
    for text in [
        format!("SELECT max(size{}) AS n FROM entries", "+1".repeat(800)),
        format!("SELECT max(size{}) AS n FROM entries", "+ino".repeat(800)),
        format!("SELECT 1 FROM entries WHERE {}true", "NOT ".repeat(40)),
        format!(
            "SELECT count(*) FROM entries WHERE name{} = 'a'",
            "||'a'".repeat(800)
        ),
        vec!["SELECT 1"; 500].join(" UNION ALL "),
    ] {
        let ran = run_file(&site, &text, &[]);
        ran.expect_code(0);
    }
    let either = vec!["name = 'x'"; 900].join(" OR ");
    run_file(&site, &format!("SELECT 1 FROM entries WHERE {either}"), &[]).expect_code(0);
    for text in [
        chain(30_000),
        format!("SELECT {}1{}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("SELECT {}1", "- ".repeat(30_000)),
        format!("SELECT {}true", "NOT ".repeat(30_000)),
        vec!["SELECT 1"; 30_000].join(" UNION ALL "),
        format!("SELECT 'a'{}", "||'a'".repeat(30_000)),
        format!("CREATE TABLE t AS {}", chain(30_000)),
    ] {
        let ran = run_file(&site, &text, &[]).expect_code(2);
        assert!(
            ran.errors().starts_with("trawl: the statement nests "),
            "{ran}"
        );
    }
}

#[test]
fn long_lists_are_answered() {
    let site = Site::server("sql-lists");
    let list: Vec<String> = (0..50_000).map(|n| n.to_string()).collect();
    let text = format!(
        "SELECT count(*) FROM entries WHERE size IN ({})",
        list.join(",")
    );
    run_file(&site, &text, &[]).expect_code(0);
}

#[test]
fn no_function_takes_more_memory_than_there_is() {
    let site = Site::server("sql-large-values");
    for value in [
        "repeat('x', 2000000000)",
        "lpad('x', 2000000000)",
        "rpad('x', 2000000000, 'ab')",
        "replace(repeat('x', 1000000), 'x', repeat('y', 100000))",
        "repeat(repeat('x', 1000000), 10000)",
        "array_repeat('x', 2000000000)",
        "array_length(array_resize([1], 2000000000))",
        "array_length(range(2000000000))",
        "array_length(generate_series(1, 4000000000))",
        "repeat(name, 1000000000)",
        "max(length(lpad(name, 100000000)))",
    ] {
        let query = format!("SELECT {value} FROM entries");
        let ran = site
            .run(&["--memory-limit", "256M", "--csv", &query])
            .expect_code(2);
        assert!(ran.errors().contains("not enough memory"), "{value}: {ran}");
    }
    let ran = site.run(&[
        "--csv",
        "SELECT length(repeat('ab', 1000000)) AS n, lpad('7', 3, '0') AS p",
    ]);
    assert_eq!(ran.text(), "n,p\n2000000,007\n", "{ran}");
}

#[test]
fn lists_of_lists_take_no_more_memory_than_there_is() {
    let site = Site::server("sql-large-lists");
    for query in [
        "SELECT cardinality(array_repeat(array_repeat(1, 10000), 10000)) AS n",
        "SELECT array_length(array_resize([[1]], 10000, array_repeat(1, 10000))) AS n",
        "SELECT array_length(array_repeat(named_struct('a', repeat('x', 10000)), 10000)) AS n",
        "SELECT array_length(array_repeat(arrow_cast(repeat('x', 10000), 'Binary'), 10000)) AS n",
    ] {
        let ran = site
            .run(&["--memory-limit", "64M", "--csv", query])
            .expect_code(2);
        assert!(ran.errors().contains("not enough memory"), "{query}: {ran}");
    }
    // Each row counts its own list, not those of all rows.
    let many = "SELECT sum(array_length(array_repeat(l, 2))) AS n \
                FROM (SELECT array_repeat(value, 10) AS l FROM generate_series(1, 8000))";
    let ran = site
        .run(&["--memory-limit", "64M", "--csv", many])
        .expect_code(0);
    assert_eq!(ran.text(), "n\n16000\n");
}

#[test]
fn series_of_times_are_as_long_as_their_steps_make_them() {
    let site = Site::server("sql-series");
    for (series, rows) in [
        (
            "TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-05', INTERVAL '1 day'",
            5,
        ),
        (
            "TIMESTAMP '2026-01-05', TIMESTAMP '2026-01-01', INTERVAL '-1 day'",
            5,
        ),
        (
            "TIMESTAMP '2026-01-01', TIMESTAMP '2026-12-01', INTERVAL '1 month'",
            12,
        ),
        ("DATE '2026-01-01', DATE '2026-01-05', INTERVAL '1 day'", 5),
        ("1, 9, 2", 5),
    ] {
        let query = format!("SELECT count(t) FROM (SELECT unnest(generate_series({series})) AS t)");
        assert_eq!(site.rows(&query), [rows.to_string()], "{series}");
    }
    for series in [
        "TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-01 00:16:40', INTERVAL '1 nanosecond'",
        // February has 28 days.
        "TIMESTAMP '2026-02-01', TIMESTAMP '2026-03-01', INTERVAL '1 month -28 days'",
        // These run away from their end.
        "DATE '2026-01-01', DATE '2026-01-02', INTERVAL '1 day -48 hours'",
        "DATE '2026-02-01', DATE '2026-01-01', INTERVAL '1 month -27 days'",
        "1, 1000000000000",
    ] {
        let query = format!("SELECT array_length(generate_series({series}))");
        let ran = site
            .run(&["--memory-limit", "256M", "--csv", &query])
            .expect_code(2);
        let errors = ran.errors();
        assert!(errors.contains("not enough memory"), "{series}: {ran}");
    }
}

#[test]
fn sums_are_exact_or_an_error() {
    let site = Site::server("sql-sums");
    let values = |rows: &str| format!("(VALUES {rows}) AS t(n)");
    let large = values("(9223372036854775807), (9223372036854775807), (-9223372036854775807)");
    for (query, expected) in [
        (
            format!("SELECT sum(n) FROM {large}"),
            &["9223372036854775807"][..],
        ),
        (
            format!("SELECT sum(CAST(n AS DECIMAL(38, 0))) FROM {large} WHERE n > 0"),
            &["18446744073709551614"],
        ),
        (
            "SELECT arrow_typeof(sum(size)) FROM entries".to_owned(),
            &["Int64"],
        ),
        (
            "SELECT arrow_typeof(sum(arrow_cast(size, 'UInt64'))) FROM entries".to_owned(),
            &["UInt64"],
        ),
        (
            "SELECT arrow_typeof(sum(CAST(size AS DOUBLE))) FROM entries".to_owned(),
            &["Float64"],
        ),
        (
            "SELECT sum(n), sum(DISTINCT n), sum(n) FILTER (WHERE n > 1), sum(n + 1), sum(n + 2) \
             FROM (VALUES (1), (2), (2), (NULL)) AS t(n)"
                .to_owned(),
            &["5,3,4,8,11"],
        ),
        (format!("SELECT sum(n) FROM {large} WHERE n = 0"), &[""]),
        (
            "SELECT value % 2 AS odd, sum(value), sum(DISTINCT value % 10) \
             FROM generate_series(1, 100000) GROUP BY 1 ORDER BY 1"
                .to_owned(),
            &["0,2500050000,20", "1,2500000000,25"],
        ),
        (
            "SELECT sum(n) OVER (ORDER BY n), \
             sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), \
             sum(DISTINCT n % 2) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) \
             FROM (VALUES (1), (2), (3)) AS t(n) ORDER BY n"
                .to_owned(),
            &["1,1,1", "3,3,1", "6,5,1"],
        ),
    ] {
        assert_eq!(site.rows(&query), expected, "{query}");
    }
    let twice = values("(9223372036854775807), (9223372036854775807)");
    for query in [
        format!("SELECT sum(n) FROM {twice}"),
        format!("SELECT sum(-n), n FROM (SELECT n FROM {twice} UNION ALL SELECT 2) GROUP BY n"),
        format!("SELECT sum(n) OVER () FROM {twice}"),
        "SELECT sum(arrow_cast(9223372036854775807, 'UInt64')) FROM generate_series(1, 3)"
            .to_owned(),
    ] {
        let ran = site.run(&["--csv", &query]).expect_code(2);
        let errors = ran.errors();
        assert!(
            errors.contains("the sum is too large for 64 bits"),
            "{query}: {ran}"
        );
    }
}

#[test]
fn planning_ends_in_time_too() {
    let site = Site::server("sql-planning");
    // Constants are computed before there are rows.
    let slow = "SELECT length(regexp_replace(repeat('ab', 20000000), 'a', 'cc', 'g')) \
                + length(regexp_replace(repeat('ab', 20000001), '(a|b)(a|b)', 'cc', 'g'))";
    let ran = site
        .run(&["--memory-limit", "8G", "--timeout", "0.001", slow])
        .expect_code(2);
    assert!(ran.errors().contains("as --timeout says"), "{ran}");
}

#[test]
fn numbers_and_times_survive_other_readers() {
    let site = Site::server("sql-json-values");
    let query = "SELECT 9007199254740991 AS a, 9007199254740992 AS b, -9007199254740993 AS c, \
                 arrow_cast(18446744073709551615, 'UInt64') AS d, \
                 arrow_cast(1500000000, 'Timestamp(Nanosecond, Some(\"UTC\"))') AS t";
    let ran = site.run(&["--json", query]).expect_code(0);
    assert_eq!(
        ran.text(),
        "{\"a\":9007199254740991,\"b\":\"9007199254740992\",\"c\":\"-9007199254740993\",\
         \"d\":\"18446744073709551615\",\"t\":\"1970-01-01T00:00:01.500000000Z\"}\n"
    );
    let ran = site.run(&["--csv", query]).expect_code(0);
    assert!(
        ran.text().ends_with(",1970-01-01T00:00:01.500000000Z\n"),
        "{ran}"
    );
}

#[test]
fn texts_are_kept_from_being_formulas_where_that_is_asked_for() {
    let site = Site::server("sql-spreadsheet");
    let query = "SELECT '=1+1' AS a, '+x' AS b, '@y' AS c, -5 AS d, 'plain' AS e, '-\"q\"' AS f";
    let ran = site.run(&["--csv", "--spreadsheet", query]).expect_code(0);
    assert_eq!(
        ran.text(),
        "a,b,c,d,e,f\n'=1+1,'+x,'@y,-5,plain,\"'-\"\"q\"\"\"\n"
    );
    let ran = site.run(&["--csv", query]).expect_code(0);
    assert_eq!(
        ran.text(),
        "a,b,c,d,e,f\n=1+1,+x,@y,-5,plain,\"-\"\"q\"\"\"\n"
    );
}
