//! Tables and functions agree with GNU find on the same tree.

use trawl_testkit::skip::without_program;

use crate::site::{Site, sorted};

/// Selects names that need no quotes in CSV and no escapes in text.
const PLAIN: &str = "path_raw IS NULL AND NOT regexp_like(path, '[\",\\n]')";

/// Returns what find prints for the same names.
#[track_caller]
fn plain(site: &Site, tests: &[&str], format: &str) -> Vec<String> {
    let mut words = vec!["(", "-true"];
    words.extend(tests);
    words.extend([
        ")", "!", "-name", "*[\",]*", "!", "-name", "new?line", "-printf", format,
    ]);
    let is_text = |line: &String| !line.contains(char::REPLACEMENT_CHARACTER);
    site.find(&words).into_iter().filter(is_text).collect()
}

#[test]
fn entries_are_what_find_prints() {
    let site = Site::server("sql-entries");
    for (columns, format) in [
        (
            "path, type, size, uid, gid, nlink, ino",
            "%p,%y,%s,%U,%G,%n,%i\\n",
        ),
        ("dir, name, blocks", "%h,%f,%b\\n"),
        (
            "path, CAST(floor(date_part('epoch', mtime)) AS BIGINT)",
            "%p,%T@\\n",
        ),
    ] {
        let query = format!("SELECT {columns} FROM entries WHERE {PLAIN}");
        let expected = plain(&site, &[], format);
        let expected = expected.iter().map(|line| cut_fraction(line)).collect();
        assert_eq!(sorted(site.rows(&query)), sorted(expected), "{query}");
    }
}

/// Removes the fraction that `%T@` prints.
fn cut_fraction(line: &str) -> String {
    let long =
        |text: &str| text.len() > 15 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match line.rsplit_once(',') {
        Some((before, last)) if long(last) => {
            format!("{before},{}", last.split('.').next().unwrap_or_default())
        }
        _ => line.to_owned(),
    }
}

#[test]
fn predicates_select_what_finds_tests_do() {
    let site = Site::server("sql-predicates");
    let tree = site.tree().display().to_string();
    let cases: &[(&str, &[&str])] = &[
        (
            "type = 'f' AND size > 4096",
            &["-type", "f", "-size", "+4096c"],
        ),
        ("type IN ('l', 'd')", &["-type", "l,d"]),
        ("glob('*.c', name)", &["-name", "*.c"]),
        ("name LIKE '%.c'", &["-name", "*.c"]),
        ("ext(name) = 'h5'", &["-name", "*?.h5"]),
        ("uid = 4001", &["-uid", "4001"]),
        ("nlink > 1 AND type = 'f'", &["-links", "+1", "-type", "f"]),
        (
            "(mode & 3072) <> 0 AND type = 'f'",
            &["-type", "f", "-perm", "/6000"],
        ),
        ("path LIKE '/scratch/%'", &["-path", "*/tree/scratch/*"]),
        (
            "under(path, '/scratch')",
            &["-path", "*/tree/scratch/*", "-o", "-path", "*/tree/scratch"],
        ),
        (
            "dir = '/projects/alpha/src'",
            &["-path", "*/tree/projects/alpha/src/*"],
        ),
        ("age(mtime) > 365", &["-mtime", "+364"]),
        ("mtime < now() - INTERVAL '365 days'", &["-mtime", "+364"]),
        ("link_target = '/nowhere'", &["-lname", "/nowhere"]),
        (
            "dir = '/projects/alpha/src' OR dir = '/home/bob' AND name = '0.dat'",
            &[
                "-path",
                "*/projects/alpha/src/*",
                "-o",
                "-path",
                "*/home/bob/0.dat",
            ],
        ),
        (
            "path IN ('/sw/bin/tool', '/sw/bin', '/sw/nothing')",
            &["-path", "*/tree/sw/bin", "-o", "-name", "tool"],
        ),
    ];
    for (predicate, tests) in cases {
        let query = format!("SELECT path FROM entries WHERE ({predicate}) AND {PLAIN}");
        let mut within = vec!["-a", "("];
        within.extend(*tests);
        within.push(")");
        assert_eq!(
            sorted(site.rows(&query)),
            plain(&site, &within, "%p\\n"),
            "{query}"
        );
    }
    let query = format!("SELECT path FROM entries WHERE depth(path) = depth('{tree}') + 1");
    let expected = site.find(&["-mindepth", "1", "-maxdepth", "1", "-printf", "%p\\n"]);
    assert_eq!(sorted(site.rows(&query)), expected);
}

#[test]
fn odd_names_are_escaped_and_their_bytes_are_there() {
    let site = Site::server("sql-odd");
    let ran = site.run(&[
        "-0",
        "SELECT coalesce(path_raw, arrow_cast(path, 'BinaryView')) FROM entries",
    ]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut ours: Vec<&[u8]> = ran
        .stdout
        .split(|b| *b == 0)
        .filter(|p| !p.is_empty())
        .collect();
    ours.sort_unstable();
    let found = trawl_testkit::oracle::command("find")
        .arg(site.tree())
        .arg("-print0")
        .output()
        .unwrap();
    let mut theirs: Vec<&[u8]> = found
        .stdout
        .split(|b| *b == 0)
        .filter(|p| !p.is_empty())
        .collect();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
    let rows = site.rows("SELECT name FROM entries WHERE name_raw IS NOT NULL ORDER BY name");
    assert_eq!(rows, ["dir\\xfe", "odd\\xff\\\\name"]);
    // A backslash in a UTF-8 name stays single.
    assert_eq!(
        site.rows("SELECT count(*) FROM entries WHERE name = 'back\\slash'"),
        ["1"]
    );
    assert_eq!(
        site.rows("SELECT name FROM entries WHERE path LIKE '/home/bob/dir%' AND type = 'f'"),
        ["inside.txt"]
    );
}

#[test]
fn sums_of_directories_are_those_of_du() {
    let site = Site::server("sql-dirs");
    if let Some(skip) = without_program("sums of directories", "du") {
        return skip.say();
    }
    let tree = site.tree();
    for dir in ["", "/scratch", "/projects", "/projects/beta/data"] {
        let query = format!(
            "SELECT tree_size, tree_entries FROM dirs WHERE path = '{}{dir}'",
            tree.display()
        );
        let found = site.find(&["-path", &format!("*/tree{dir}/*"), "-printf", "%s\\n"]);
        let sum: u64 = found.iter().map(|line| line.parse::<u64>().unwrap()).sum();
        assert_eq!(
            site.rows(&query),
            [format!("{sum},{}", found.len())],
            "{dir}"
        );
    }
    let empty = site.find(&["-type", "d", "-empty", "-printf", "%p\\n"]);
    assert_eq!(
        sorted(site.rows("SELECT path FROM dirs WHERE entries = 0 AND path_raw IS NULL")),
        empty
    );
}

#[test]
fn functions_give_what_they_say() {
    let site = Site::server("sql-functions");
    for (call, expected) in [
        ("path('/a', 'b')", "/a/b"),
        ("path('', 'b')", "/b"),
        ("ext('x.tar.gz')", "gz"),
        ("ext('.bashrc')", "\"\""),
        ("depth('/')", "0"),
        ("depth('/usr/lib')", "2"),
        ("under('/a/b', '/a')", "true"),
        ("under('/ab', '/a')", "false"),
        ("under('/x', '/')", "true"),
        ("glob('*.[ch]', 'x.c')", "true"),
        ("glob('*.c', NULL)", ""),
        ("user_name(0)", "root"),
        ("group_name(0)", "root"),
        ("user_name(3999999999)", ""),
        ("mode_text(33261)", "-rwxr-xr-x"),
        ("human_size(1536)", "1.5K"),
        ("human_size(-1536)", "-1.5K"),
        ("human_size(NULL)", ""),
        ("size_bucket(5000)", "4096"),
        ("size_bucket(0)", "0"),
        ("age(now()) < 1", "true"),
        ("round(age(now() - INTERVAL '2 days'))", "2.0"),
    ] {
        assert_eq!(site.rows(&format!("SELECT {call}")), [expected], "{call}");
    }
}

#[test]
fn history_has_every_snapshot_and_the_plain_tables_the_last() {
    let site = Site::server("sql-history");
    std::fs::write(site.tree().join("scratch/second"), "new").unwrap();
    site.index_with(&["--keep", "5"]);
    assert_eq!(site.rows("SELECT count(*) FROM snapshots"), ["2"]);
    assert_eq!(site.rows("SELECT count(*) FROM sources"), ["1"]);
    let counts =
        site.rows("SELECT count(*) FROM entries_history GROUP BY snapshot ORDER BY max(as_of)");
    let now = site.rows("SELECT count(*) FROM entries");
    assert_eq!(counts.len(), 2);
    assert_eq!(counts[1..], now[..]);
    let growth: u64 = counts[1].parse::<u64>().unwrap() - counts[0].parse::<u64>().unwrap();
    assert_eq!(growth, 1);
    let entries = site.rows("SELECT entries FROM snapshots ORDER BY as_of");
    assert_eq!(entries, counts);
    let first = site.rows("SELECT min(as_of) FROM snapshots").remove(0);
    let then = site.run(&["--csv", "--at", &first, "SELECT count(*) FROM entries"]);
    assert!(then.text().ends_with(&format!("{}\n", counts[0])), "{then}");
}
