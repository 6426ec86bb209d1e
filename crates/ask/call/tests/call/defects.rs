//! Regression tests for each known defect of the surviving implementation of the call. "There" in a
//! comment means that implementation.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use trawl_call::options::Flags;
use trawl_call::packed::decode;
use trawl_call::request::parse_roots;
use trawl_call::search::Rest;
use trawl_call::{LiveWalk, Outcome, Search};

use super::support::{ask, line, lines, make, records, request, tree};

#[test]
fn a_question_mark_is_one_byte_or_none() {
    let tree = tree(&["file", "file1", "file12"]);
    assert_eq!(ask("file?", 0, &[tree.path()]), ["file", "file1"]);
    assert_eq!(ask("?file", 0, &[tree.path()]), ["file"]);
}

#[test]
fn results_past_a_buffer_are_not_dropped() {
    let tree = tree(&[]);
    let names: Vec<String> = (0..5000)
        .map(|number| format!("d{}/file-{number:05}", number % 7))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    make(tree.path(), &names);
    let whole = ask("file-*", 0, &[tree.path()]);
    assert_eq!(whole.len(), names.len());
    for size in [64, 100, 4096, 1 << 20] {
        let mut search =
            Search::open(&LiveWalk::default(), request("file-*", 0, &[tree.path()])).unwrap();
        let mut buffer = vec![0xaa; size];
        let mut got = Vec::new();
        loop {
            let filled = search.fill(&mut buffer).unwrap();
            let mut rest = &buffer[..filled.bytes];
            for _ in 0..filled.records {
                let (record, length) = decode(rest).unwrap();
                got.push(line(&record));
                rest = &rest[length..];
            }
            assert!(rest.is_empty());
            match filled.rest {
                Rest::Nothing => break,
                Rest::More { next_bytes } => assert!(filled.records > 0 && next_bytes <= size),
            }
        }
        assert_eq!(got, whole);
    }
}

#[test]
fn a_buffer_too_small_is_told_and_loses_nothing() {
    let tree = tree(&["a-rather-long-name", "b"]);
    let mut search = Search::open(&LiveWalk::default(), request("*", 0, &[tree.path()])).unwrap();
    let mut small = [0; 32];
    let filled = search.fill(&mut small).unwrap();
    assert_eq!((filled.bytes, filled.records), (0, 0));
    let Rest::More { next_bytes } = filled.rest else {
        panic!("{filled:?}");
    };
    let mut buffer = vec![0; next_bytes];
    assert_eq!(search.fill(&mut buffer).unwrap().records, 1);
    let filled = search.fill(&mut small).unwrap();
    assert_eq!((filled.records, filled.rest), (1, Rest::Nothing));
}

#[test]
fn colons_bars_and_spaces_in_names() {
    let odd = [
        "a:b",
        "a|b",
        "a b",
        "a\nb",
        "a\\b",
        " ",
        ":",
        "|",
        "0:7:/etc/x:",
    ];
    let tree = tree(&odd);
    let got: Vec<Vec<u8>> = records(
        &LiveWalk::default(),
        request("*", Flags::METADATA, &[tree.path()]),
    )
    .into_iter()
    .map(|record| record.path)
    .collect();
    let mut expected: Vec<Vec<u8>> = odd[..8]
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    for part in ["0:7:", "0:7:/etc", "0:7:/etc/x:"] {
        expected.push(part.as_bytes().to_vec());
    }
    let order = |path: &Vec<u8>| {
        let cut = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        (path[..cut].to_vec(), path.clone())
    };
    expected.sort_by_key(order);
    assert_eq!(got, expected);
    assert_eq!(ask("a\\|b|a:b", 0, &[tree.path()]), ["a:b", "a|b"]);
    // A name that is not UTF-8.
    let folder = trawl_testkit::Folder::open(tree.path()).unwrap();
    folder.make_file(b"\xff:\xfe", b"").unwrap();
    let odd = "\\xff:\\xfe".to_owned();
    assert!(ask("?:?", Flags::FNMATCH, &[tree.path()]).contains(&odd));
}

#[test]
fn directories_with_colons_in_a_list() {
    let tree = tree(&["one:two/x", "three/x"]);
    let list = format!("{0}/one\\:two:{0}/three", tree.path().display());
    let roots = parse_roots(list.as_bytes()).unwrap();
    let roots: Vec<&Path> = roots
        .iter()
        .map(|root| Path::new(std::str::from_utf8(root).unwrap()))
        .collect();
    assert_eq!(ask("x", 0, &roots), ["x", "1:x"]);
}

/// There a denied match was counted and ended the search.
#[test]
fn a_denied_first_match_is_no_match() {
    let tree = tree(&["one/a/prog", "one/b/prog", "two/prog"]);
    let denied = |name: &str| {
        let path = tree.join(name);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    };
    let (one, two) = (tree.join("one"), tree.join("two"));
    std::fs::set_permissions(tree.join("two/prog"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(tree.join("one/b/prog"), PermissionsExt::from_mode(0o755)).unwrap();
    denied("one/a/prog");
    let flags = Flags::STOPATFIRST | Flags::X_OK;
    assert_eq!(ask("prog", flags, &[&one, &two]), ["b/prog"]);
    denied("one/b/prog");
    assert_eq!(ask("prog", flags, &[&one, &two]), ["1:prog"]);
}

#[test]
fn the_earliest_root_wins_whatever_is_found_sooner() {
    let tree = tree(&["late/x"]);
    let early = tree.join("early");
    let names: Vec<String> = (0..300).map(|number| format!("d{number}/e/f/")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    make(&early, &names);
    make(&early, &["d299/e/f/x", "d150/e/f/x"]);
    let late = tree.join("late");
    for _ in 0..20 {
        assert_eq!(
            ask("x", Flags::STOPATFIRST, &[&early, &late]),
            ["d150/e/f/x"]
        );
    }
}

#[test]
fn links_that_lead_back_end() {
    let tree = tree(&["a/b/x"]);
    let top = tree.path();
    symlink("..", top.join("a/b/up")).unwrap();
    symlink(".", top.join("self")).unwrap();
    symlink("loop", top.join("loop")).unwrap();
    assert_eq!(ask("x", 0, &[top]), ["a/b/x"]);
    let answer = ask("x", Flags::FOLLOW, &[top]);
    assert_eq!(answer, ["a/b/x", "!loop 40 a/b/up", "!loop 40 self"]);
    // The links themselves match by name, too.
    let answer = ask("up|self|loop", Flags::FOLLOW, &[top]);
    assert_eq!(
        answer,
        ["loop", "self", "a/b/up", "!loop 40 a/b/up", "!loop 40 self"]
    );
}

#[test]
fn sixteen_levels_are_not_the_end() {
    let deep = "d/".repeat(60) + "x";
    let tree = tree(&[&deep]);
    assert_eq!(ask("x", 0, &[tree.path()]), [deep]);
}

#[test]
fn many_results_come_in_order_and_once() {
    let tree = tree(&[]);
    let names: Vec<String> = (0..20_000)
        .map(|number| format!("d{:02}/e{:02}/f{number:05}", number % 50, number % 11))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    make(tree.path(), &names);
    let got = records(
        &LiveWalk::default(),
        request("f*", Flags::METADATA, &[tree.path()]),
    );
    let mut expected: Vec<String> = names.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(lines(&got), expected);
}

/// There the attributes were uninitialized memory, whole seconds, or those of another name.
#[test]
fn metadata_is_what_stat_says_of_the_match() {
    let tree = tree(&["a/one", "a/b/one", "b/one", "a/two words", "huge"]);
    let top = tree.path();
    let set = |name: &str, set: &dyn Fn(&std::fs::File)| {
        set(&std::fs::File::options()
            .write(true)
            .open(top.join(name))
            .unwrap());
    };
    // A sparse file of more than 4 GiB; times before 1970 and with nanoseconds.
    set("huge", &|file| file.set_len((5 << 32) + 3).unwrap());
    let odd = std::time::UNIX_EPOCH - std::time::Duration::new(86_400, 123_456_789);
    set("a/one", &|file| file.set_modified(odd).unwrap());
    std::fs::hard_link(top.join("a/one"), top.join("b/twin")).unwrap();
    std::fs::set_permissions(top.join("b/one"), PermissionsExt::from_mode(0o4751)).unwrap();
    symlink("../huge", top.join("b/link")).unwrap();
    let mut stat = trawl_testkit::oracle::command("stat");
    stat.args([
        "-L",
        "--printf",
        "%n %d %i %f %h %u %g %s %b %o %.9Y %.9Z\n",
    ]);
    let answer = records(&LiveWalk::default(), request("*", Flags::METADATA, &[top]));
    let paths = answer
        .iter()
        .map(|record| std::str::from_utf8(&record.path).unwrap());
    let ran = trawl_testkit::oracle::run(stat.current_dir(top).args(paths));
    let said = String::from_utf8(ran.expect_code(0).stdout).unwrap();
    let ours = answer.iter().map(|record| {
        let Outcome::Match(Some(of)) = record.outcome else {
            panic!("{record:?}");
        };
        let time = |time: trawl_sys::stat::Time| {
            let nanos = i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
            let sign = if nanos < 0 { "-" } else { "" };
            let nanos = nanos.unsigned_abs();
            format!(
                "{sign}{}.{:09}",
                nanos / 1_000_000_000,
                nanos % 1_000_000_000
            )
        };
        format!(
            "{} {} {} {:x} {} {} {} {} {} {} {} {}\n",
            record.path.escape_ascii(),
            of.dev,
            of.ino,
            of.mode,
            of.nlink,
            of.uid,
            of.gid,
            of.size,
            of.blocks,
            of.blksize,
            time(of.mtime),
            time(of.ctime),
        )
    });
    assert_eq!(ours.collect::<String>(), said);
    assert!(
        said.lines().count() == 10 && said.contains(" -86400.123456789 "),
        "{said}"
    );
}

/// There a star could match the slash before the first name.
#[test]
fn a_star_is_a_name_and_not_the_searched_directory() {
    let tree = tree(&["bar", "b/bar"]);
    for mode in [0, Flags::FNMATCH] {
        assert_eq!(ask("*/bar", mode, &[tree.path()]), ["b/bar"]);
        assert_eq!(ask("/*/bar", mode, &[tree.path()]), ["b/bar"]);
    }
}

/// There a pattern without a star was compared byte by byte, including its quoting backslashes.
#[test]
fn names_without_a_choice_are_read_as_patterns_are() {
    let tree = tree(&["a b", "a\\b", "[a]"]);
    assert_eq!(ask("/a\\ b", 0, &[tree.path()]), ["a b"]);
    assert_eq!(ask("/a\\\\b", 0, &[tree.path()]), ["a\\\\b"]);
    assert_eq!(ask("/[a]", 0, &[tree.path()]), ["[a]"]);
}

/// There PERIOD had a number but no effect.
#[test]
fn a_leading_period_can_be_told_from_others() {
    let tree = tree(&[".x", "x", "d/.x"]);
    assert_eq!(ask("*x", Flags::PERIOD, &[tree.path()]), ["x"]);
    assert_eq!(ask("*x", 0, &[tree.path()]), [".x", "x", "d/.x"]);
}

/// There a directory that did not exist ended the search and discarded the matches found before.
#[test]
fn a_directory_that_is_not_there_ends_nothing() {
    let tree = tree(&["one/x", "two/x"]);
    let roots = ["one", "gone", "two"].map(|name| tree.join(name));
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    for pattern in ["x", "/x", "/*"] {
        assert_eq!(ask(pattern, 0, &roots), ["x", "!1:open 2 .", "2:x"]);
    }
}

/// There the empty name of the searched directory marked the end of the answer.
#[test]
fn the_searched_directory_has_a_name() {
    let tree = tree(&["a"]);
    assert_eq!(
        ask("/.|a", 0, &[tree.path(), tree.path()]),
        [".", "a", "1:.", "1:a"]
    );
}
