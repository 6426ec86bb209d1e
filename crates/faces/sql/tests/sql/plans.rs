//! Predicates are pushed into the index: EXPLAIN shows it, and fewer rows are read.

use crate::site::Site;

/// Returns the line of a plan that describes the scan.
#[track_caller]
fn scan(site: &Site, query: &str) -> String {
    let ran = site.run(&["--format", "tsv", &site.placed(&format!("EXPLAIN {query}"))]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let text = ran.text().replace("\\n", "\n");
    let line = text.lines().find(|line| line.contains("IndexScan"));
    line.unwrap_or_else(|| panic!("no scan in:\n{text}"))
        .trim()
        .to_owned()
}

/// Returns the number behind `name=`.
#[track_caller]
fn number(line: &str, name: &str) -> u64 {
    let rest = line
        .split(&format!("{name}="))
        .nth(1)
        .unwrap_or_else(|| panic!("no {name} in {line}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn a_subtree_is_all_that_is_read() {
    let site = Site::server("sql-plan-subtree");
    let all = number(&scan(&site, "SELECT name FROM entries"), "rows");
    assert_eq!(all as usize, site.find(&["-printf", "x\\n"]).len());
    for (predicate, words) in [
        ("path LIKE '/scratch/%'", &["-path", "*/tree/scratch*"][..]),
        (
            "starts_with(path, '/scratch/')",
            &["-path", "*/tree/scratch*"][..],
        ),
        ("under(path, '/scratch')", &["-path", "*/tree/scratch*"][..]),
        (
            "dir = '/projects/alpha/src'",
            &["-path", "*/alpha/src/*"][..],
        ),
        ("path = '/sw/bin/tool'", &["-path", "*/sw/bin/tool"][..]),
        ("path = '/sw/bin/tool' AND dir = '/home'", &["-false"][..]),
    ] {
        let line = scan(
            &site,
            &format!("SELECT name FROM entries WHERE {predicate}"),
        );
        let mut words = words.to_vec();
        words.extend(["-printf", "x\\n"]);
        assert_eq!(
            number(&line, "rows") as usize,
            site.find(&words).len(),
            "{line}"
        );
        assert!(line.contains("below=["), "{line}");
    }
}

#[test]
fn numbers_and_columns_are_in_the_plan() {
    let site = Site::server("sql-plan-numbers");
    let line = scan(
        &site,
        "SELECT name FROM entries WHERE size > 100 AND type = 'f'",
    );
    assert!(line.contains("size >= 100"), "{line}");
    assert!(line.contains("mode in 32768..=36863"), "{line}");
    assert!(line.contains("columns=[name, type, size]"), "{line}");
    let line = scan(
        &site,
        "SELECT count(*) FROM entries WHERE mtime > now() - INTERVAL '7 days'",
    );
    assert!(line.contains("mtime >= "), "{line}");
}

#[test]
fn fewer_rows_come_out_of_the_index() {
    let site = Site::server("sql-plan-analyze");
    let rows = |query: &str| {
        let ran = site.run(&[
            "--format",
            "tsv",
            &site.placed(&format!("EXPLAIN ANALYZE {query}")),
        ]);
        let text = ran.text().replace("\\n", "\n");
        let line = text
            .lines()
            .find(|line| line.contains("IndexScan"))
            .unwrap_or_default()
            .to_owned();
        number(&line, "output_rows")
    };
    let all = rows("SELECT name, uid FROM entries");
    assert!(rows("SELECT name FROM entries WHERE uid = 4001") < all / 2);
    assert!(rows("SELECT name FROM entries WHERE path LIKE '/sw/%'") < all / 5);
}

#[test]
fn snapshots_and_sources_are_left_out() {
    let site = Site::server("sql-plan-snapshots");
    site.index_with(&["--keep", "5"]);
    let line = scan(&site, "SELECT name FROM entries_history");
    assert!(line.contains("snapshots=2 of 2"), "{line}");
    let last = site
        .rows("SELECT snapshot FROM snapshots ORDER BY as_of DESC LIMIT 1")
        .remove(0);
    for predicate in [
        format!("snapshot = '{last}'"),
        format!("snapshot > '0' AND snapshot IN ('{last}', 'none')"),
        "as_of > now() - INTERVAL '1 day' AND snapshot >= '".to_owned() + &last + "'",
    ] {
        let line = scan(
            &site,
            &format!("SELECT name FROM entries_history WHERE {predicate}"),
        );
        assert!(line.contains("snapshots=1 of 2"), "{line}");
    }
    let line = scan(
        &site,
        "SELECT name FROM entries e WHERE e.source = '/elsewhere'",
    );
    assert!(
        line.contains("snapshots=0 of 1") && line.contains("rows=0 of"),
        "{line}"
    );
}
