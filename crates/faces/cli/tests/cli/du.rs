//! `trawl du` compared with GNU du: the same lines, in path order.

use std::os::unix::fs::symlink;

use trawl_testkit::lines::{Ending, Order, assert_same};
use trawl_testkit::{RandomTree, oracle, random_tree};

use crate::site::{Site, objects};

#[track_caller]
fn same(site: &Site, options: &str) {
    let line = format!("du {options}").trim_end().to_owned();
    let (theirs, ours) = (site.gnu(&line), site.run(&line));
    assert_same(
        &line,
        &theirs.stdout,
        &ours.stdout,
        Order::Any,
        Ending::Newline,
    );
    assert_eq!(ours.code, Some(0), "{ours}");
}

/// If files have names in several directories, the order of the file system decides in which one
/// they count: only sums are compared there.
#[test]
fn sums_are_those_of_gnu_du() {
    let site = Site::odd("du");
    for options in [
        "-s",
        "-sh",
        "-s --si",
        "-sb",
        "-sk",
        "-sm",
        "-s -B 1",
        "-s -BK",
        "-s -B 1000",
        "-s -B kB",
        "-s --apparent-size",
        "-s --apparent-size -h",
        "-s --inodes",
        "-s -c",
        "-d 0",
        "-s -x",
        "-s --apparent-size -B MiB",
        "-sl",
        "-sb . .",
        "-sc . ..//tree",
    ] {
        same(&site, options);
    }
}

fn plain(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("a/b/c")).unwrap();
    std::fs::create_dir_all(tree.join("z/empty")).unwrap();
    for (name, size) in [
        ("a/1", 1),
        ("a/b/2", 5000),
        ("a/b/c/3", 70_000),
        ("z/4", 0),
        ("5", 12_345),
    ] {
        std::fs::write(tree.join(name), vec![7; size]).unwrap();
    }
    // Names of one file in one directory: the order does not matter for any sum.
    std::fs::hard_link(tree.join("a/b/2"), tree.join("a/b/2b")).unwrap();
    symlink("a", tree.join("link")).unwrap();
    symlink("5", tree.join("link5")).unwrap();
    site.index();
    site
}

#[test]
fn every_option_prints_the_lines_of_gnu_du() {
    let site = plain("du-plain");
    for options in [
        "",
        "-h",
        "-b",
        "-k",
        "-m",
        "-c",
        "-d 1",
        "--max-depth=2",
        "-S",
        "-Sd1",
        "-l",
        "-al",
        "-x",
        "--inodes",
        "--inodes -S",
        "--inodes -c",
        "--apparent-size",
        "-BM",
        "-B1M",
        "--si -c",
        "a",
        "a/",
        "a//",
        "./a",
        "a z",
        "a a",
        "a a/b",
        "a/b a",
        "a/b/c a",
        "-c a/b a",
        "-a 5 .",
        "-s a z 5",
        "5",
        "-c 5 5",
        "-a a/1 a",
        "-s a/b a .",
        "-S a/b a",
        "link",
        "link/",
        "-D link",
        "-s link5",
        "-D link5",
        "-H link",
        "a/../z",
        "link/../z",
        "-d 1 a/b .",
        "-l a a",
        "-la a a/b",
    ] {
        same(&site, options);
    }
}

/// Without links across directories, every line is determined.
#[test]
fn random_trees_have_the_lines_of_gnu_du() {
    for seed in 1..4 {
        let site = Site::empty("du-random");
        let plan = random_tree::Plan {
            modes: random_tree::Modes::Plain,
            ..random_tree::Plan::new(seed)
        };
        RandomTree::build(&site.tree(), &plan).expect("a tree");
        site.index();
        for options in ["-s", "-sb", "-s --inodes", "-l", "-lb", "-al", "-lS"] {
            same(&site, options);
        }
    }
}

#[test]
fn contents_come_before_their_directory() {
    let site = plain("du-order");
    let lines: Vec<String> = site.run("du -a").text().lines().map(String::from).collect();
    let paths: Vec<&str> = lines
        .iter()
        .map(|line| line.split('\t').nth(1).unwrap())
        .collect();
    for (at, path) in paths.iter().enumerate() {
        let prefix = format!("{path}/");
        assert!(
            !paths[at..].iter().any(|later| later.starts_with(&prefix)),
            "{paths:?}"
        );
    }
    assert_eq!(paths.last(), Some(&"."));
}

#[test]
fn the_environment_counts() {
    let site = plain("du-environment");
    for (variable, value) in [
        ("POSIXLY_CORRECT", "1"),
        ("BLOCK_SIZE", "2K"),
        ("BLOCKSIZE", "1"),
        ("DU_BLOCK_SIZE", "MB"),
        ("DU_BLOCK_SIZE", "nonsense"),
        ("BLOCK_SIZE", "human-readable"),
    ] {
        let mut theirs = oracle::command("du");
        theirs.current_dir(site.tree()).env(variable, value);
        let mut ours = site.command();
        ours.arg("du").env(variable, value);
        let (theirs, ours) = (
            oracle::run(&mut theirs),
            oracle::run(&mut ours).expect_code(0),
        );
        let what = format!("{variable}={value}");
        assert_same(
            &what,
            &theirs.stdout,
            &ours.stdout,
            Order::Any,
            Ending::Newline,
        );
    }
}

#[test]
fn machines_get_every_measure() {
    let site = plain("du-machines");
    let all = objects(&site.run("du --json").expect_code(0));
    let whole = all.last().unwrap();
    assert_eq!(whole["path"], ".");
    assert_eq!(format!("{}\t.\n", whole["size"]), site.gnu("du -sb").text());
    assert_eq!(
        format!("{}\t.\n", whole["disk_bytes"]),
        site.gnu("du -s -B1").text()
    );
    assert_eq!(
        format!("{}\t.\n", whole["inodes"]),
        site.gnu("du -s --inodes").text()
    );
    let csv = site.run("du --csv -d 0").expect_code(0).text();
    let values = format!(
        "{},{},{}",
        whole["disk_bytes"], whole["size"], whole["inodes"]
    );
    assert_eq!(
        csv,
        format!("path,path_raw,disk_bytes,size,inodes\n.,,{values}\n")
    );
    let zero = site.run("du -0 -d 1").expect_code(0);
    assert!(zero.stdout.ends_with(b"\t.\0") && !zero.stdout.contains(&b'\n'));
}

#[test]
fn options_that_contradict_are_errors() {
    let site = plain("du-mistakes");
    for line in [
        "du -s -d 1",
        "du -sa",
        "du -B 0",
        "du -B x",
        "du -t x",
        "du -t -0",
        "du --time --time-style=x",
        "du -d -1",
    ] {
        let ran = site.run(line).expect_code(2);
        assert_eq!(ran.text(), "", "{line}");
    }
}

#[test]
fn what_is_missing_does_not_stop_the_sums_of_the_others() {
    let site = plain("du-missing");
    for line in ["du -s nowhere", "du -sc . nowhere", "du -s nowhere ."] {
        let theirs = site.gnu(line).expect_code(1);
        let ours = site.run(line).expect_code(1);
        assert_eq!(ours.text(), theirs.text(), "{line}");
        assert!(ours.errors().contains("cannot access ‘nowhere’"), "{ours}");
    }
    let outside = site.run("du -s / .").expect_code(1);
    assert!(outside.errors().contains("is not indexed"), "{outside}");
    assert!(outside.text().ends_with("\t.\n"), "{outside}");
}

#[test]
fn other_file_systems_are_left_out_when_asked_to() {
    let site = plain("du-mounts");
    let mount = trawl_testkit::LoopMount::new(trawl_testkit::FileSystem::Tmpfs, 4 << 20);
    let mounted = match mount {
        Ok(mounted) => mounted,
        Err(skip) => return skip.say(),
    };
    // The source is the mount point of the file system, with a part of our tree beside it.
    std::fs::create_dir_all(mounted.path().join("sub/deep")).unwrap();
    std::fs::write(mounted.path().join("sub/deep/file"), vec![1; 9000]).unwrap();
    let above = mounted.path().parent().unwrap().to_owned();
    let run = |words: &[&str]| {
        let mut command = site.command();
        command.args(words).current_dir(&above);
        oracle::run(&mut command).expect_code(0).stdout
    };
    let theirs = |words: &[&str]| {
        let ran = oracle::gnu(
            "du",
            words.iter().copied(),
            &above,
            &oracle::Identity::Ourselves,
        );
        ran.expect_code(0).stdout
    };
    run(&["index", "--quiet", "--cross-file-systems", "."]);
    for words in [
        &["-x"][..],
        &[],
        &["-xa"],
        &["-xs"],
        &["-s"],
        &["-xS", "--inodes"],
    ] {
        let ours = run(&[&["du"], words].concat());
        assert_same(
            &format!("du {words:?}"),
            &theirs(words),
            &ours,
            Order::Any,
            Ending::Newline,
        );
    }
    run(&["index", "--quiet", "."]);
    let ours = run(&["du", "-x"]);
    assert_same(
        "du -x, not entered",
        &theirs(&["-x"]),
        &ours,
        Order::Any,
        Ending::Newline,
    );
}

/// A path above another one has not always counted it.
#[test]
fn arguments_on_other_file_systems_are_not_taken_for_counted() {
    let site = plain("du-mounted-arguments");
    let mount = trawl_testkit::LoopMount::new(trawl_testkit::FileSystem::Tmpfs, 4 << 20);
    let mounted = match mount {
        Ok(mounted) => mounted,
        Err(skip) => return skip.say(),
    };
    std::fs::create_dir_all(mounted.path().join("sub/deep")).unwrap();
    std::fs::write(mounted.path().join("sub/deep/file"), vec![1; 900_000]).unwrap();
    let above = mounted.path().parent().unwrap().to_owned();
    std::fs::write(above.join("beside"), vec![1; 9000]).unwrap();
    let ours = |line: &str| {
        let mut command = site.command();
        command.args(line.split(' ')).current_dir(&above);
        oracle::run(&mut command).expect_code(0).text()
    };
    let theirs = |line: &str| {
        let words = line.split(' ').skip(1);
        let ran = oracle::gnu("du", words, &above, &oracle::Identity::Ourselves);
        ran.expect_code(0).text()
    };
    ours("index --quiet --cross-file-systems .");
    for line in [
        "du -xsc . root",
        "du -xsc root .",
        "du -xsc . root/sub root root/sub",
        "du -xsc . beside root/sub/deep/file root .",
        "du -sc . root root/sub",
        "du -sc root/sub root .",
    ] {
        assert_eq!(ours(line), theirs(line), "{line}");
    }
    // Two sources: the upper one ends at the mount point.
    ours("index --quiet . root");
    let total = |text: String| text.lines().last().unwrap_or_default().to_owned();
    for line in [
        "du -sc . root",
        "du -sc root .",
        "du -sc . root/sub root",
        "du -xsc . root",
        "du -sc --inodes . root",
        "du -scb . root root",
    ] {
        assert_eq!(total(ours(line)), total(theirs(line)), "{line}");
    }
}

/// A source within another one on the same file system is counted once.
#[test]
fn nested_sources_are_counted_once() {
    let site = plain("du-nested-sources");
    site.run("index --quiet a").expect_code(0);
    for options in ["-sc . a", "-sc a .", "-sc . a/b a", "-c a/b . z"] {
        same(&site, options);
    }
}

/// Names that only begin like an earlier path are not part of it.
#[test]
fn names_that_begin_alike_are_counted_apart() {
    let site = Site::empty("du-alike");
    for name in ["d/in", "d-/in", "d.x/in", "d0/in", "d/in-", "d/in0"] {
        let dir = site.tree().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("file"), vec![7; 5000]).unwrap();
    }
    site.index();
    for options in [
        "-c d d- d.x d0 d/in",
        "-c d/in d- d0 d .",
        "-c d/in/file d/in- d/in0 d/in d",
        "-ac d/in d . d d0/in",
    ] {
        same(&site, options);
    }
}
