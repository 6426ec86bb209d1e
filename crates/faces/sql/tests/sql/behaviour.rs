//! Formats, files, limits, time-outs and interrupts.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};

use crate::site::Site;

const TWO: &str = "SELECT 'a\tb' AS t, 1 AS n UNION ALL SELECT NULL, 2 ORDER BY n";

#[test]
fn rows_have_the_form_that_is_asked_for() {
    let site = Site::server("sql-forms");
    for (options, expected) in [
        (&["--csv"][..], "t,n\na\tb,1\n,2\n"),
        (&["--format", "csv"], "t,n\na\tb,1\n,2\n"),
        (&["--format", "tsv"], "t\tn\na\\tb\t1\n\t2\n"),
        (
            &["--json"],
            "{\"t\":\"a\\tb\",\"n\":1}\n{\"t\":null,\"n\":2}\n",
        ),
        (&["-0"], "a\tb\0"),
        (&[], " t    | n\n------+---\n a\\tb | 1\n      | 2\n"),
    ] {
        let mut words = options.to_vec();
        words.push(TWO);
        let ran = site.run(&words);
        assert_eq!(
            (ran.text(), ran.code),
            (expected.to_owned(), Some(0)),
            "{options:?}\n{ran}"
        );
    }
}

#[test]
fn statements_come_from_files_and_standard_input() {
    let site = Site::server("sql-input");
    let file = site.scratch.join("q.sql");
    std::fs::write(&file, "-- a comment\nSELECT 1 AS a;\nSELECT 2 AS b;\n").unwrap();
    let ran = site.run(&["--csv", "-f", &file.display().to_string()]);
    assert_eq!(ran.text(), "a\n1\nb\n2\n", "{ran}");
    let mut command = site.command(&Identity::Ourselves);
    let mut child = command
        .arg("--csv")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"SELECT 3 AS c")
        .unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "c\n3\n");
}

#[test]
fn the_named_file_is_written_whole_and_never_over_another() {
    let site = Site::server("sql-output");
    let path = site.scratch.join("out.parquet");
    let name = path.display().to_string();
    let ran = site.run(&[
        "--format",
        "parquet",
        "-o",
        &name,
        "SELECT path, size, mtime, xattr_names FROM entries",
    ]);
    assert_eq!((ran.code, ran.text()), (Some(0), String::new()), "{ran}");
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let again = site.run(&["--format", "arrow", "-o", &name, "SELECT 1"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let failed = site.scratch.join("failed.csv");
    let ran = site.run(&[
        "--csv",
        "-o",
        &failed.display().to_string(),
        "SELECT 1 / (size - size) FROM entries",
    ]);
    assert_eq!(ran.code, Some(2), "{ran}");
    let left: Vec<_> = std::fs::read_dir(site.scratch.join("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().contains("failed"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn json_with_two_columns_of_one_name_is_refused() {
    let site = Site::server("sql-same-names");
    let query = "SELECT e.name, f.name FROM entries e JOIN entries f ON e.path = f.path LIMIT 1";
    let ran = site.run(&["--json", query]).expect_code(2);
    assert_eq!(
        (ran.text(), ran.errors()),
        (
            String::new(),
            "trawl: two columns are called name: rename one with AS\n".into()
        )
    );
    let ran = site.run(&["--csv", query]).expect_code(0);
    assert!(ran.text().starts_with("name,name\n"), "{ran}");
    let renamed = query.replace("f.name", "f.name AS other");
    site.run(&["--json", &renamed]).expect_code(0);
}

#[test]
fn formats_of_one_file_take_one_statement() {
    let site = Site::server("sql-one-statement");
    for options in [
        &["--format", "parquet"][..],
        &["--format", "arrow"],
        &["--arrow"],
    ] {
        let mut words = options.to_vec();
        words.push("SELECT 1 AS a; SELECT 2 AS b");
        let ran = site.run(&words).expect_code(2);
        assert_eq!(ran.text(), "", "{options:?}");
        assert!(ran.errors().contains("one statement only"), "{ran}");
        let mut words = options.to_vec();
        words.push("SELECT 1 AS a");
        site.run(&words).expect_code(0);
    }
}

#[test]
fn paths_that_a_file_has_as_bytes_are_printed_as_they_are() {
    let site = Site::server("sql-paths-as-bytes");
    let file = site.scratch.join("p.parquet").display().to_string();
    let query = "SELECT path, path_raw, size FROM entries";
    site.run(&["--format", "parquet", "-o", &file, query])
        .expect_code(0);
    let found = oracle::command("find")
        .arg(site.tree())
        .arg("-print0")
        .output()
        .unwrap();
    let is_raw = |path: &&[u8]| std::str::from_utf8(path).is_err();
    let mut expected: Vec<&[u8]> = found.stdout.split(|b| *b == 0).filter(is_raw).collect();
    expected.sort_unstable();
    assert_eq!(expected.len(), 3, "{expected:?}");
    let table = format!("t={file}");
    for column in ["path_raw", "arrow_cast(path_raw, 'LargeBinary')"] {
        let query = format!("SELECT {column} AS path FROM t WHERE path_raw IS NOT NULL");
        for form in ["--paths", "-0"] {
            let ran = site.run(&["--table", &table, form, &query]).expect_code(0);
            let paths = ran.stdout.split(|b| *b == 0);
            let mut paths: Vec<&[u8]> = paths.filter(|path| !path.is_empty()).collect();
            paths.sort_unstable();
            assert_eq!(paths, expected, "{form} {column}");
        }
    }
}

#[test]
fn little_memory_is_enough_to_sort_and_group() {
    let site = Site::server("sql-spill");
    let big = "SELECT count(*) FROM (SELECT a.value, row_number() OVER (ORDER BY a.value * 7919 % 1000003) AS n \
               FROM generate_series(1, 600000) a)";
    let temp = site.scratch.join("temp");
    std::fs::create_dir(&temp).unwrap();
    let ran = site.run(&[
        "--csv",
        "--memory-limit",
        "12M",
        "--threads",
        "1",
        "--temp-dir",
        &temp.display().to_string(),
        big,
    ]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.text().ends_with("\n600000\n"), "{ran}");
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0);
}

#[test]
fn texts_are_sorted_in_less_memory_than_they_take() {
    let site = Site::server("sql-spill-text");
    let temp = site.scratch.join("temp");
    std::fs::create_dir(&temp).unwrap();
    let sorted = "SELECT t FROM (SELECT arrow_cast(repeat('a name ', 10) || (value * 7919 % 1000003), 'Utf8View') AS t \
                  FROM generate_series(1, 400000)) ORDER BY t DESC";
    let temp_dir = temp.display().to_string();
    let ran = site.run(&[
        "--csv",
        "--memory-limit",
        "48M",
        "--threads",
        "1",
        "--temp-dir",
        &temp_dir,
        sorted,
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.errors());
    let text = ran.text();
    assert_eq!(text.lines().count(), 400_001);
    let names: Vec<&str> = text.lines().skip(1).collect();
    assert!(names.is_sorted_by(|a, b| a > b));
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0);
}

/// A statement that would take about as long as the universe exists.
pub(crate) const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b WHERE a.value + b.value = 3";

#[test]
fn a_statement_ends_when_its_time_is_over() {
    let site = Site::server("sql-timeout");
    let ran = site.run(&["--timeout", "0.3", ENDLESS]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("given up after 0.3 s"), "{ran}");
}

#[test]
fn threads_that_are_all_busy_do_not_stop_the_clock() {
    let site = Site::server("sql-busy");
    let program = env!("CARGO_BIN_EXE_trawl-sql");
    // A join may take minutes for its next rows, during which its thread notices nothing else.
    let mut command = oracle::command("timeout");
    command.args(["60", program, "--threads", "1", "--timeout", "5", ENDLESS]);
    let ran = oracle::run(command.env("TRAWL_INDEX", site.index_dir()));
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("given up after 5 s"), "{ran}");
}

#[test]
fn an_interrupt_ends_a_statement() {
    let site = Site::server("sql-interrupt");
    let ours = site.command(&Identity::Ourselves);
    // The tests may run with SIGINT ignored, as in a shell's background jobs.
    let mut command = oracle::command("env");
    command.arg("--default-signal=INT").arg(ours.get_program());
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(site.tree());
    let mut child = command
        .arg(ENDLESS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Sent until it takes effect: the first may come before the program handles it.
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let pid = child.id().to_string();
        let sent = oracle::run(oracle::command("sh").args(["-c", &format!("kill -INT {pid}")]));
        assert_eq!(sent.code, Some(0));
        std::thread::sleep(Duration::from_millis(500));
        if let Some(status) = child.try_wait().unwrap() {
            use std::os::unix::process::ExitStatusExt;
            assert!(
                status.code() == Some(130) || status.signal() == Some(2),
                "{status:?}"
            );
            break;
        }
        if Instant::now() >= end {
            child.kill().unwrap();
            panic!("it does not end");
        }
    }
}

#[test]
fn mistakes_are_told_in_plain_words() {
    let site = Site::server("sql-mistakes");
    for (arguments, words) in [
        (&["SELECT nothing FROM entries"][..], "nothing"),
        (&["SELECT * FROM nowhere"], "nowhere"),
        (
            &["SELECT * FROM nowhere"],
            "trawl: table 'nowhere' not found",
        ),
        (&["SELEC 1"], "SELEC"),
        (&["SELEC 1"], "trawl: expected: "),
        (
            &["-f", "/nonexistent/file"],
            "cannot read /nonexistent/file: no such file or directory\n",
        ),
        (
            &["--csv", "-o", "/dev/null", "SELECT 1"],
            "/dev/null already exists",
        ),
        (&[""], "no statement"),
        (&["-i", "/nonexistent", "SELECT 1"], "/nonexistent"),
        (&["--at", "never", "SELECT 1"], "not a time"),
        (&["--format", "nonsense", "SELECT 1"], "nonsense"),
        (&["SELECT CAST('x' AS INT)"], "x"),
        (&["SELECT user_name('x', 1)"], "user_name"),
    ] {
        let ran = site.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}\n{ran}");
        assert!(ran.errors().contains(words), "{arguments:?}\n{ran}");
        assert!(!ran.errors().contains("DataFusion"), "{ran}");
    }
}

#[test]
fn status_tells_of_when_the_answer_is() {
    let site = Site::server("sql-status");
    let ran = site.run(&["--status", "SELECT count(*) FROM entries"]);
    assert!(
        ran.errors().contains(" as of ") && ran.errors().contains("snapshot"),
        "{ran}"
    );
    assert_eq!(site.run(&["SELECT count(*) FROM entries"]).errors(), "");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let site = Site::server("sql-pipe");
    let program = env!("CARGO_BIN_EXE_trawl-sql");
    let line =
        format!("'{program}' --csv 'SELECT value FROM generate_series(1, 3000000)' | head -n 1");
    let mut command = oracle::command("bash");
    command
        .args(["-o", "pipefail", "-c", &line])
        .env("TRAWL_INDEX", site.index_dir());
    let ran = oracle::run(&mut command);
    assert_eq!(
        (ran.text(), ran.errors()),
        ("value\n".into(), String::new()),
        "{ran}"
    );
}
