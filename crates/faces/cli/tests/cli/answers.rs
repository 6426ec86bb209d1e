//! Properties that all questions share: paths, completeness, formats, errors.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use trawl_testkit::oracle;

use crate::site::{Site, objects};

fn small(label: &str) -> Site {
    let site = Site::empty(label);
    std::fs::create_dir_all(site.tree().join("d/e")).unwrap();
    std::fs::write(site.tree().join("d/f.txt"), "hello").unwrap();
    site.index();
    site
}

const QUESTIONS: [&str; 5] = ["ls", "stat", "du", "stats", "find"];

#[test]
fn what_is_not_indexed_says_what_to_do() {
    let site = small("not-indexed");
    let tree = site.tree().display().to_string();
    for question in QUESTIONS.iter().filter(|question| **question != "find") {
        let beside = format!("{tree}-beside");
        for (path, is_near) in [("/no/such/place", false), (&beside[..], true)] {
            let ran = site.run(&format!("{question} {path}"));
            assert!(ran.code.is_some_and(|code| code > 0), "{ran}");
            let errors = ran.errors();
            assert!(errors.contains(&format!("‘{path}’")), "{ran}");
            // A root that does not share even the first name is not near.
            assert_eq!(errors.contains(&format!("‘{tree}’")), is_near, "{ran}");
            assert!(errors.contains(&format!("trawl index {path}")), "{ran}");
            assert!(!errors.contains("empty"), "{ran}");
            assert_eq!(ran.text(), "");
        }
    }
    for question in ["history", "growth"] {
        let ran = site.run(&format!("{question} /proc")).expect_code(2);
        assert!(ran.errors().contains("‘/proc’ is not indexed"), "{ran}");
        assert!(!ran.errors().contains("empty"), "{ran}");
    }
}

#[test]
fn find_walks_what_is_not_indexed_and_says_so() {
    let site = small("not-indexed-find");
    let ran = site.run("find /no/such/place").expect_code(1);
    assert_eq!(
        ran.errors(),
        "find: ‘/no/such/place’: No such file or directory\n"
    );
    let beside = site.scratch.join("beside");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("file"), "x").unwrap();
    let beside = beside.display();
    let ran = site
        .run(&format!("find --status {beside} -type f"))
        .expect_code(0);
    assert_eq!(ran.text(), format!("{beside}/file\n"));
    let said =
        format!("find: ‘{beside}’: read from the file system now, since it is not indexed\n");
    assert!(ran.errors().starts_with(&said), "{ran}");
    assert!(
        ran.errors().contains(&format!("trawl: {beside} as of ")),
        "{ran}"
    );
}

#[test]
fn without_an_index_the_message_says_how_to_make_one() {
    let site = Site::empty("no-index");
    for question in QUESTIONS {
        let ran = site.run(&format!("{question} ."));
        assert!(ran.code.is_some_and(|code| code > 0), "{ran}");
        assert!(ran.errors().contains("holds no index"), "{ran}");
    }
    site.run("sources").expect_code(2);
    site.run("verify").expect_code(2);
}

#[test]
fn paths_are_resolved_as_on_the_live_system() {
    let site = small("paths");
    std::os::unix::fs::symlink("d/e", site.tree().join("link")).unwrap();
    std::os::unix::fs::symlink("loop", site.tree().join("loop")).unwrap();
    std::os::unix::fs::symlink(site.tree(), site.scratch.join("way")).unwrap();
    site.index();
    let tree = site.tree().display().to_string();
    let way = site.scratch.join("way").display().to_string();
    for path in [
        "d/f.txt",
        "./d//f.txt",
        "link/../f.txt",
        "d/e/../f.txt",
        "../tree/d/f.txt",
        &format!("{tree}/d/f.txt"),
        &format!("{way}/d/f.txt"),
        &format!("{way}/link/../f.txt"),
    ] {
        let inode = site
            .gnu(&format!("stat -c %i {path}"))
            .expect_code(0)
            .text();
        let ours = site.run(&format!("stat -c %i {path}")).expect_code(0);
        assert_eq!(ours.text(), inode, "{path}");
    }
    let ran = site.run("stat loop/x").expect_code(1);
    assert!(
        ran.errors().contains("too many levels of symbolic links"),
        "{ran}"
    );
    site.trawl(&["stat", ""]).expect_code(1);
    let mut command = site.command();
    command
        .args(["du", "-s"])
        .current_dir(site.tree().join("d/e"));
    assert!(
        oracle::run(&mut command)
            .expect_code(0)
            .text()
            .ends_with("\t.\n")
    );
}

#[test]
fn status_tells_the_time_and_the_snapshot() {
    let site = small("status");
    let tree = site.tree().display().to_string();
    for question in [
        "ls --status",
        "du --status -s",
        "stats --status",
        "stat --status d",
        "find --status d",
        "--status ls",
    ] {
        let ran = site.run(question).expect_code(0);
        assert!(
            ran.errors().contains(&format!("trawl: {tree} as of 20")),
            "{ran}"
        );
        assert!(ran.errors().contains("0 issues in scope"), "{ran}");
    }
    assert_eq!(site.run("ls").errors(), "");
}

#[test]
fn json_is_one_object_a_line() {
    let site = small("json");
    for line in [
        "ls --json -a",
        "ls --json -R",
        "du --json -a",
        "stats --json",
        "stat --json .",
        "sources --json",
        "find --json",
        "find --json -name d",
    ] {
        let found = objects(&site.run(line).expect_code(0));
        assert!(
            !found.is_empty() && found.iter().all(serde_json::Value::is_object),
            "{line}"
        );
    }
    let found = site.run("find --csv").expect_code(0).text();
    assert_eq!(
        found.lines().count(),
        5,
        "a header and four entries: {found}"
    );
    assert_eq!(site.run("find -0 -type f").stdout, b"./d/f.txt\0");
    site.run("find --json -print").expect_code(1);
    let names: Vec<_> = objects(&site.run("ls --json -R"))
        .iter()
        .map(|o| o["path"].to_string())
        .collect();
    assert_eq!(names, ["\"./d\"", "\"./d/e\"", "\"./d/f.txt\""]);
    let csv = site.run("ls --csv d").expect_code(0).text();
    let mut lines = csv.lines();
    let columns = lines.next().unwrap().split(',').count();
    assert!(
        lines.clone().count() == 2 && lines.all(|line| line.split(',').count() == columns),
        "{csv}"
    );
}

#[test]
fn stats_count_what_find_counts() {
    let site = Site::odd("stats");
    let rows = objects(&site.run("stats --json --by type").expect_code(0));
    assert!(rows.len() >= 4, "{rows:?}");
    for row in rows {
        let kind = row["key"].as_str().unwrap();
        let listed = site
            .gnu(&format!("find . -type {kind} -printf %s\\n"))
            .expect_code(0)
            .text();
        let sizes: Vec<u64> = listed.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(row["entries"], sizes.len(), "{kind}");
        assert_eq!(row["size"], sizes.iter().sum::<u64>(), "{kind}");
    }
    let by_owner = objects(&site.run("stats --json --by owner --by group"));
    let sum = |by: &str| {
        let rows = by_owner.iter().filter(|row| row["by"] == by);
        rows.map(|row| row["entries"].as_u64().unwrap())
            .sum::<u64>()
    };
    let all = site.gnu("find . -printf .").stdout.len() as u64;
    assert_eq!((sum("owner"), sum("group")), (all, all));
    let text = site
        .run("stats --by size --by extension")
        .expect_code(0)
        .text();
    assert!(
        text.contains("\nsize ") && text.contains("\nextension "),
        "{text}"
    );
    let csv = site.run("stats --csv --by age").expect_code(0).text();
    assert!(
        csv.starts_with("path,path_raw,by,key,key_raw,entries,size,disk_bytes\n.,,age,"),
        "{csv}"
    );
}

#[test]
fn mistakes_in_the_command_line_end_with_two() {
    let site = small("usage");
    for line in [
        "",
        "nonsense",
        "ls --nonsense",
        "du --max-depth=x",
        "stats --by colour",
        "index",
    ] {
        let ran = site.run(line).expect_code(2);
        assert_eq!(ran.text(), "", "{line}");
        assert!(!ran.errors().is_empty(), "{line}");
    }
    for line in [
        "--help",
        "--version",
        "ls --help",
        "du --help",
        "index --help",
        "find --help",
    ] {
        let ran = site.run(line).expect_code(0);
        assert!(!ran.text().is_empty() && ran.errors().is_empty(), "{line}");
    }
}

#[test]
fn a_full_output_is_an_error_and_a_closed_one_is_not() {
    let site = small("output");
    let mut command = site.command();
    command.args(["ls", "-R"]).stdout(
        std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap(),
    );
    let status = command
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    for question in ["ls -R", "du -a", "find", "stats"] {
        let mut command = oracle::command("sh");
        command.args([
            "-c",
            &format!("\"$0\" {question} | true"),
            env!("CARGO_BIN_EXE_trawl"),
        ]);
        command
            .env("TRAWL_INDEX", site.index_dir())
            .current_dir(site.tree());
        assert_eq!(oracle::run(&mut command).errors(), "", "{question}");
    }
}

#[test]
fn pages_and_completions_are_made() {
    let site = Site::empty("generate");
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            site.run(&format!("completions {shell}"))
                .expect_code(0)
                .text()
                .contains("trawl")
        );
    }
    let man = site.scratch.join("man");
    std::fs::create_dir(&man).unwrap();
    site.run(&format!("man --output {}", man.display()))
        .expect_code(0);
    for page in ["trawl.1", "trawl-find.1", "trawl-ls.1", "trawl-index.1"] {
        assert!(man.join(page).is_file(), "{page}");
    }
    site.run("completions nonsense").expect_code(2);
    site.run("man --output /no/such/directory").expect_code(2);
    let ran = site.run("man nonsense").expect_code(2);
    assert!(ran.errors().contains("‘nonsense’"), "{ran}");
}

#[test]
fn find_counts_blocks_as_posixly_correct_asks() {
    let site = Site::odd("find-posix");
    site.index();
    let lines = |mut command: std::process::Command| {
        command.current_dir(site.tree()).env("POSIXLY_CORRECT", "1");
        let text = oracle::run(&mut command).expect_code(0).text();
        // Widths depend on the order of siblings.
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines: Vec<String> = text.lines().map(words).collect();
        lines.sort();
        lines
    };
    let mut theirs = oracle::command("find");
    theirs.args([".", "-ls"]);
    let mut ours = oracle::command(env!("CARGO_BIN_EXE_trawl"));
    ours.env("TRAWL_INDEX", site.index_dir())
        .args(["find", ".", "-ls"]);
    assert_eq!(lines(ours), lines(theirs));
}

#[test]
fn help_without_a_reader_ends_quietly() {
    let site = Site::empty("answers-help");
    for words in [&["--help"][..], &["--version"], &["index", "--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = site.command();
        command.args(words).stdout(writer).stderr(Stdio::piped());
        let ended = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(ended.status.signal(), Some(13), "{words:?}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{words:?}: {ended:?}");
    }
}

/// A shell starts the program without standard output.
#[test]
fn output_that_was_never_open_is_an_error() {
    let site = Site::empty("answers-closed");
    std::fs::write(site.tree().join("f"), "x").unwrap();
    site.index();
    let program = env!("CARGO_BIN_EXE_trawl");
    for (line, code) in [
        ("ls", 2),
        ("du", 2),
        ("stat f", 2),
        ("find .", 1),
        ("stats", 2),
        ("sources", 2),
        ("completions bash", 2),
        // Another program writes this.
        ("ls --arrow", 2),
        ("grep x f", 2),
        ("grep -c x f", 2),
        ("grep --json x f", 2),
        ("grep -q --stats x f", 2),
        ("set f", 2),
        ("set -j2 f -- cat {}", 2),
        // Nothing must be written.
        ("find . -name nothing", 0),
        ("grep -q x f", 0),
        ("set -j2 f -- true {}", 0),
    ] {
        let mut command = trawl_testkit::oracle::command("sh");
        command
            .args(["-c", &format!("{program} {line} >&-")])
            .env("TRAWL_INDEX", site.index_dir())
            .current_dir(site.tree());
        let ran = trawl_testkit::oracle::run(&mut command);
        assert_eq!(ran.code, Some(code), "{ran}");
        let told = ran.errors().to_lowercase().contains("bad file descriptor");
        assert_eq!(told, code != 0, "{ran}");
    }
}
