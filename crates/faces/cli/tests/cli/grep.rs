//! `trawl grep` against GNU grep and ripgrep.

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::without_program;

use crate::site::Site;

/// Creates a tree with files of many kinds.
fn site(label: &str) -> Site {
    use std::os::unix::ffi::OsStrExt;
    let site = Site::empty(label);
    let put = |name: &[u8], content: &[u8]| {
        let path = site.tree().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let lines: String = (1..200)
        .map(|n| format!("line {n} foo{}\n", n % 7))
        .collect();
    put(
        b"a.c",
        b"one foo\ntwo\nthree Foo foo\nfour\nfive\n\nfoobar\n",
    );
    put(b"sub/b.c", lines.as_bytes());
    put(b"sub/.hidden", b"foo hidden\n");
    put(b"sub/empty", b"");
    put(b"sub/no-newline", b"x\nfoo");
    put(b"sub/crlf.txt", b"foo\r\nbar\r\n");
    put(b"sub/latin\xff", b"na\xefve foo\n");
    put(b"nul/data", b"foo\nline\0two\nfoo\n");
    put(
        b"long",
        &[&b"y".repeat(300_000)[..], b" foo\nshort\n"].concat(),
    );
    std::os::unix::fs::symlink("..", site.tree().join("sub/loop")).unwrap();
    std::os::unix::fs::symlink("a.c", site.tree().join("link")).unwrap();
    let fifo = oracle::command("mkfifo")
        .arg(site.tree().join("fifo"))
        .status();
    assert!(fifo.unwrap().success());
    site
}

fn ran(site: &Site, program: &str, words: &str) -> Ran {
    let mut command = oracle::command(program);
    // In UTF-8, GNU grep takes lines that are not valid for binary; ripgrep and trawl do not.
    command.env("LC_ALL", "C");
    oracle::run(command.current_dir(site.tree()).args(words.split(' ')))
}

fn sorted(bytes: &[u8]) -> Vec<String> {
    let lines = bytes.split(|b| *b == b'\n');
    let mut lines: Vec<String> = lines.map(|line| line.escape_ascii().to_string()).collect();
    lines.sort();
    lines
}

#[test]
fn lines_are_those_of_gnu_grep() {
    let site = site("grep-gnu");
    for words in [
        "foo .",
        "-n foo .",
        "-c foo a.c sub",
        "-l foo .",
        "-L foo .",
        "-i -w foo a.c sub",
        "-v foo a.c",
        "-x foobar a.c",
        "-o foo a.c sub/b.c",
        "-h foo sub",
        "-H foo a.c",
        "-m 3 foo sub/b.c",
        "-b foo a.c",
        "-F -e foo1 -e foo2 sub",
        "-q foo .",
        "-q nothing .",
        "nothing .",
        "-A 1 foo a.c",
        "-B 1 -n foo a.c",
        "-C 2 foo sub/b.c",
        "-a foo nul",
        "-z foo nul/data",
        "-lZ foo a.c sub",
        "--include *.c foo .",
        "--exclude *.c foo .",
        "--exclude-dir sub foo .",
        "-s foo missing a.c",
        "foo a.c link",
        "-l foo",
        "-c foo long",
    ] {
        let syntax = if words.contains("-F") { "-r" } else { "-rE" };
        // Its long line is read by one case alone.
        let without = if words.contains("long") || words.contains("--include") {
            ""
        } else {
            " --exclude=long"
        };
        let own = site.run(&format!("grep{without} {words}"));
        let gnu = ran(&site, "grep", &format!("{syntax}{without} {words}"));
        // Members come in any order, also where NUL bytes end their names.
        let lines = |bytes: &[u8]| {
            let end = |byte: &u8| if *byte == 0 { b'\n' } else { *byte };
            let zero = words.contains("-lZ");
            sorted(
                &bytes
                    .iter()
                    .map(|byte| if zero { end(byte) } else { *byte })
                    .collect::<Vec<_>>(),
            )
        };
        let (ours, theirs) = (lines(&own.stdout), lines(&gnu.stdout));
        let is_binary = |line: &String| {
            let text = line;
            text.contains("binary file matches")
                || text.starts_with("nul/")
                || text.starts_with("./nul/")
        };
        let left = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().filter(|line| !is_binary(line)).collect()
        };
        assert_eq!(left(ours), left(theirs), "{words}\n{own}\n{gnu}");
        assert_eq!(own.code, gnu.code, "{words}\n{own}\n{gnu}");
    }
}

#[test]
fn json_is_that_of_ripgrep() {
    if let Some(skip) = without_program("JSON of ripgrep", "rg") {
        return skip.say();
    }
    let site = site("grep-json");
    let messages = |bytes: &[u8]| -> Vec<serde_json::Value> {
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let all = lines.map(|line| serde_json::from_slice(line).expect("JSON"));
        let wanted = |value: &serde_json::Value| value["type"] == "match";
        all.filter(wanted).collect()
    };
    let own = site.run("grep --json --sort path foo sub a.c");
    let rg = ran(&site, "rg", "-uu --sort path --json foo sub a.c");
    assert_eq!(messages(&own.stdout), messages(&rg.stdout));
    assert!(!messages(&own.stdout).is_empty());
}

#[test]
fn sorted_output_does_not_depend_on_the_threads() {
    let site = site("grep-threads");
    let one = site.run("grep -n --sort path -j 1 foo .");
    assert!(one.stdout.len() > 1000, "{one}");
    // 0 stands for the number of processors.
    for threads in [0, 2, 7] {
        let many = site.run(&format!("grep -n --sort path -j {threads} foo ."));
        assert_eq!(many.stdout, one.stdout);
    }
}

#[test]
fn a_find_expression_names_the_files() {
    let site = site("grep-find");
    site.index();
    let own = site.run("grep -c -e foo -- . -name *.c");
    assert_eq!(sorted(&own.stdout), sorted(b"./a.c:3\n./sub/b.c:199\n"));
    let own = site.run("grep -c foo sub -- -name *.c");
    assert_eq!(own.stdout, b"sub/b.c:199\n", "{own}");
}

#[test]
fn mistakes_name_the_remedy() {
    let site = site("grep-mistakes");
    for (line, says) in [
        ("grep", "the pattern is missing"),
        ("grep -P x .", "-P is not supported"),
        ("grep [ .", "cannot read the pattern"),
        ("grep --encoding nonsense x .", "cannot use the encoding"),
        ("grep -j 1025 x .", "1025 is not in 0..=1024"),
        ("grep -j 1000000 x .", "1000000 is not in 0..=1024"),
    ] {
        let ran = site.run(line);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains(says), "{ran}");
    }
}

/// A set name stands for any number of files, so their names are printed; a name that exists is
/// that file, whatever characters it has.
#[test]
fn set_names_are_expanded_and_files_are_named() {
    let site = site("grep-sets");
    let own = site.run("grep -c foo {a,sub/b}.c");
    assert_eq!(
        sorted(&own.stdout),
        sorted(b"a.c:3\nsub/b.c:199\n"),
        "{own}"
    );
    let own = site.run("grep -c foo *.c");
    assert_eq!(own.stdout, b"a.c:3\n", "{own}");
    std::fs::write(site.tree().join("*.odd"), "foo\n").unwrap();
    std::fs::write(site.tree().join("x.odd"), "foo\nfoo\n").unwrap();
    assert_eq!(site.run("grep -c foo *.odd").stdout, b"1\n");
    // The start of a find expression may be a file.
    site.index();
    let own = site.run("grep -c foo a.c -- -type f");
    assert_eq!(own.stdout, b"a.c:3\n", "{own}");
    assert_eq!(site.run("grep --at 2020-01-01 foo .").code, Some(2));
}

#[test]
fn a_file_called_minus_is_not_standard_input() {
    let site = site("grep-minus");
    std::fs::write(site.tree().join("-"), "foo\n").unwrap();
    for line in ["grep -l foo", "grep -l foo ?"] {
        let own = site.run(line);
        let names = String::from_utf8_lossy(&own.stdout).into_owned();
        assert!(names.lines().any(|name| name == "./-"), "{line}: {own}");
    }
}

#[test]
fn a_directory_at_a_server_is_searched_as_one_here() {
    let site = site("grep-server");
    let socket = site.scratch.join("socket");
    let _server = crate::remote::listen(std::path::Path::new(env!("CARGO_BIN_EXE_trawl")), &socket);
    let there = format!("unix://{}:{}", socket.display(), site.tree().display());
    for options in ["", "-c ", "--include=*.c ", "--exclude-dir=sub ", "-l "] {
        let words = |place: &str| format!("grep -a {options}foo {place}");
        let here = site.run(&words(&site.tree().display().to_string()));
        let away = site.run(&words(&there));
        assert_eq!(away.code, here.code, "{options}: {away}");
        let text = String::from_utf8_lossy(&away.stdout)
            .replace(&there, &site.tree().display().to_string());
        let here = String::from_utf8_lossy(&here.stdout).into_owned();
        assert_eq!(
            sorted(text.as_bytes()),
            sorted(here.as_bytes()),
            "{options}"
        );
        assert!(!here.is_empty(), "{options}");
    }
    // Directories among the members of a set are searched, too.
    let here = site.tree().display().to_string();
    let ran = site.run(&format!("grep -l foo {there}/{{sub,n*,a.c}}"));
    let local = site.run(&format!("grep -l foo {here}/{{sub,n*,a.c}}"));
    let text = String::from_utf8_lossy(&ran.stdout).replace(&there, &here);
    let local_text = String::from_utf8_lossy(&local.stdout);
    assert_eq!(
        sorted(text.as_bytes()),
        sorted(local_text.as_bytes()),
        "{ran}"
    );
    assert!(
        text.contains("nul/data") && text.contains("sub/b.c"),
        "{ran}"
    );
    for (place, code) in [("sub/no-newline", 0), ("sub/none", 2)] {
        let ran = site.run(&format!("grep foo {there}/{place}"));
        assert_eq!(ran.code, Some(code), "{ran}");
        assert_eq!(ran.errors().is_empty(), code == 0, "{ran}");
    }
}
