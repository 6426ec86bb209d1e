//! `trawl du` compared with GNU du: the same lines, in any order.

use trawl_testkit::lines::Order;

use crate::case::{self, Deck};
use crate::tree;

const OPTIONS: &[&[&str]] = &[
    &["-l", "-l", "-s"],
    &["-l", "--count-links"],
    &["-a", "-d1", "--max-depth=2", "-d0", "-s"],
    &["-c", "--total"],
    &["-S", "-x"],
    &[
        "-b",
        "-k",
        "-m",
        "-h",
        "--si",
        "-BM",
        "-B1",
        "--block-size=kB",
    ],
    &["--apparent-size", "--inodes", "-b"],
    &["-k", "-h", "-B512"],
    &["-D", "-H", "-L", "-P", "--dereference-args"],
    &[
        "-t1",
        "-t4K",
        "--threshold=10K",
        "-t-8K",
        "--threshold=-1",
        "-t3",
    ],
    &[
        "--time",
        "--time=atime",
        "--time=use",
        "--time=ctime",
        "--time=status",
    ],
    &[
        "--time-style=iso",
        "--time-style=full-iso",
        "--time-style=+%s",
        "--time-style=long-iso",
    ],
    &[
        "--exclude=*1*",
        "--exclude=sub",
        "--exclude=./plain/sub",
        "--exclude=*",
        "--exclude=pl?in",
        "--exclude=[^ps]*",
    ],
    &[
        "--exclude=deep",
        "--exclude=.",
        "--exclude=[a-m]*",
        "--exclude=links/*",
    ],
    &["-0"],
];

const VARIABLES: &[(&str, &[&str])] = &[
    ("LC_ALL", &["C", "C.UTF-8"]),
    ("TZ", &["America/New_York", "Asia/Kolkata", "XYZ-3:30"]),
    ("BLOCK_SIZE", &["1K", "human-readable", "M"]),
    ("DU_BLOCK_SIZE", &["512", "K", "nonsense"]),
    ("BLOCKSIZE", &["1", "kB"]),
    ("POSIXLY_CORRECT", &["1"]),
    (
        "TIME_STYLE",
        &["long-iso", "posix-full-iso", "+%s\n%d", "locale"],
    ),
];

/// Returns false if names of one file count so that the order does not matter.
fn depends_on_order(options: &[&str]) -> bool {
    let has = |wanted: &[&str]| options.iter().any(|option| wanted.contains(option));
    let leaves_out = options.iter().any(|option| option.starts_with("--exclude"));
    let shows_parts = !has(&["-s", "-d0"]) || has(&["-S"]) || leaves_out;
    let every_name = has(&["-l", "--count-links"]);
    let contradicts = has(&["-s"]) && has(&["-a", "-d1", "--max-depth=2"]);
    contradicts || (shows_parts && !every_name)
}

#[test]
fn any_options_print_what_gnu_du_prints() {
    let site = tree::build("coreutils-du", 2);
    let deck = Deck {
        tool: "du",
        options: OPTIONS,
        variables: VARIABLES,
        arguments: tree::ARGUMENTS,
        order: |_| Order::Any,
        left_out: depends_on_order,
    };
    case::run(&site, &deck);
}

#[test]
fn files_name_arguments_and_patterns() {
    let site = tree::build("coreutils-du-files", 3);
    let write = |name: &str, text: &str| {
        let path = site.scratch.join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let names = write("names", "plain\0modes/run\0\0nowhere\0plain/sub\0");
    let patterns = write("patterns", "*1*  \n\n   \nsub\n");
    for line in [
        format!("du -l --files0-from={names}"),
        format!("du -lc --files0-from={names} --time"),
        format!("du -la -X {patterns}"),
        format!("du -la --exclude-from={patterns} plain"),
    ] {
        let (theirs, ours) = (site.gnu(&line), site.run(&line));
        let ending = trawl_testkit::lines::Ending::Newline;
        trawl_testkit::lines::assert_same(&line, &theirs.stdout, &ours.stdout, Order::Any, ending);
        assert_eq!(theirs.code, ours.code, "{ours}");
    }
    let line = format!("du --files0-from={names} plain");
    site.run(&line).expect_code(2);
    site.run("du -X nowhere plain").expect_code(2);
}

#[test]
fn empty_names_of_arguments_are_errors() {
    let site = tree::build("coreutils-du-empty-names", 4);
    for (at, text) in ["", "\0", "\0\0", "\0plain\0", "plain\0", "plain"]
        .iter()
        .enumerate()
    {
        let path = site.scratch.join(format!("names{at}"));
        std::fs::write(&path, text).expect("a file");
        let line = format!("du -sl --files0-from={}", path.display());
        let (theirs, ours) = (site.gnu(&line), site.run(&line));
        assert_eq!(ours.text(), theirs.text(), "{text:?}");
        assert_eq!(ours.code, theirs.code, "{text:?}: {ours}");
        let is_told = ours.errors().contains("is empty");
        assert_eq!(is_told, theirs.errors().contains("zero-length"), "{ours}");
    }
}
