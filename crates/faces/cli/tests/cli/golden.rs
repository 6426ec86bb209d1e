//! Output formats of our own, compared with committed files. `BLESS=1` rewrites the files.
//!
//! The answers come from a recorded tree, so that they are the same on every machine; owners have
//! no names there.

use std::path::Path;
use std::process::Stdio;

use trawl_testkit::lines::{Ending, Order, assert_same};

use crate::site::Site;

/// Returns a line of a trace: numbers and texts that end with 0x1e, and texts after their length in
/// four hexadecimal digits.
fn line(path: &str, kind: char, mode: u32, size: u64, link: &str) -> String {
    let text = |text: &str| format!("{:04x}{text}", text.len());
    let (inode, links) = (path.len() + 100, if kind == 'd' { 2 } else { 1 });
    let blocks = size.div_ceil(512);
    let (owner, time) = (3_999_999_990u32, 1_700_000_000);
    let numbers = format!(
        "{inode}\u{1e}{mode}\u{1e}{links}\u{1e}{owner}\u{1e}{owner}\u{1e}{size}\u{1e}4096\u{1e}\
         {blocks}\u{1e}{time}\u{1e}{time}\u{1e}{time}"
    );
    let (link, none, attributes) = (text(link), text(""), text("0000"));
    format!(
        "{}\u{1e}{kind}\u{1e}{numbers}\u{1e}{link}\u{1e}{attributes}\u{1e}{time}\u{1e}0\u{1e}0\
         \u{1e}0\u{1e}0\u{1e}{none}\u{1e}{none}\u{1e}7\u{1e}\n",
        text(path)
    )
}

pub(crate) fn recorded() -> Site {
    let site = Site::empty("golden");
    let lines = [
        line("", 'd', 0o040_755, 4096, ""),
        line("README", 'f', 0o100_644, 300, ""),
        line("src", 'd', 0o042_775, 4096, ""),
        line("src/main.c", 'f', 0o100_644, 12_345, ""),
        line("src/util.c", 'f', 0o100_640, 800, ""),
        line("src/util.h", 'f', 0o100_644, 0, ""),
        line("src/odd\nna\u{1b}me", 'f', 0o104_755, 2_000_000, ""),
        line("src/link", 'l', 0o120_777, 6, "util.c"),
        line("src/empty", 'd', 0o041_777, 4096, ""),
    ];
    let file = site.scratch.join("project.trace");
    std::fs::write(&file, lines.concat()).unwrap();
    let mounted = "index --quiet --root /srv/project --from-trace";
    site.run(&format!("{mounted} {}", file.display()))
        .expect_code(0);
    site
}

#[test]
fn a_trace_through_a_pipe_is_as_one_in_a_file() {
    let site = recorded();
    let segments = format!(
        "find {} -name *.entries.parquet",
        site.index_dir().display()
    );
    let written = || site.gnu(&segments).text().lines().count();
    let from_file = written();
    std::fs::remove_dir_all(site.index_dir()).unwrap();
    let mut cat = trawl_testkit::oracle::command("cat")
        .arg(site.scratch.join("project.trace"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut index = site.command();
    index
        .args("index --quiet --root /srv/project --from-trace -".split(' '))
        .stdin(cat.stdout.take().unwrap());
    assert!(index.status().unwrap().success() && cat.wait().unwrap().success());
    // Directories that come in two pieces do not cut segments.
    assert_eq!(written(), from_file);
    same_as_file(&site, "ls-long.txt", "ls -lAR --full-time /srv/project");
    same_as_file(&site, "du.txt", "du -ah /srv/project");
}

#[track_caller]
fn same_as_file(site: &Site, name: &str, line: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/golden")
        .join(name);
    let ran = site.run(line).expect_code(0);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &ran.stdout).unwrap();
    }
    let known = std::fs::read(&path).unwrap_or_default();
    assert_same(name, &known, &ran.stdout, Order::Exact, Ending::Newline);
}

#[test]
fn answers_about_a_recorded_tree_are_known() {
    let site = recorded();
    same_as_file(&site, "ls-long.txt", "ls -lAR --full-time /srv/project");
    same_as_file(&site, "ls.json", "ls -AR --json /srv/project");
    same_as_file(&site, "ls.csv", "ls --csv /srv/project/src");
    same_as_file(&site, "du.txt", "du -ah /srv/project");
    same_as_file(&site, "stat.txt", "stat /srv/project /srv/project/src/link");
    same_as_file(
        &site,
        "find.csv",
        "find --csv /srv/project -type f -size -2k",
    );
    let by = "--by type --by extension --by size --by owner";
    same_as_file(&site, "stats.txt", &format!("stats {by} /srv/project"));
    same_as_file(
        &site,
        "stats.json",
        &format!("stats --json {by} /srv/project"),
    );
}

#[test]
fn a_recorded_tree_knows_nothing_above_its_root() {
    let ran = recorded()
        .run("ls -a /srv/project/src/.. -l")
        .expect_code(0);
    assert!(ran.text().contains("d????????? ? ? "), "{ran}");
}
