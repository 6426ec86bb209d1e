//! Unmodified programs on a view.

use std::fs;

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::without_program;

use crate::site::{Site, cannot};

const FILES: &[&str] = &[
    "one.txt",
    "two.txt",
    "sub/three.txt",
    "sub/one.txt",
    "other.bin",
];

fn site() -> Site {
    let site = Site::new("views-programs", FILES);
    site.define("text", &["-name", "*.txt"]);
    site
}

#[test]
fn ls_cat_and_find_work() {
    if cannot("programs on views") {
        return;
    }
    let site = site();
    let mounted = site.mount();
    let run = |program: &str, words: &[&str]| {
        let mut command = oracle::command(program);
        oracle::run(command.args(words).current_dir(mounted.join("text"))).expect_code(0)
    };
    let names = "one.txt\nsub%2Fone.txt\nthree.txt\ntwo.txt\n";
    assert_eq!(run("ls", &["-1"]).text(), names);
    let long = run("ls", &["-lL"]).text();
    assert_eq!(long.lines().count(), 5, "{long}");
    assert_eq!(
        run("ls", &["-ld", "."]).text().split_whitespace().next(),
        Some("dr-xr-xr-x")
    );
    assert_eq!(
        run("cat", &["sub%2Fone.txt", "two.txt"]).text(),
        "sub/one.txttwo.txt"
    );
    assert_eq!(
        run("find", &["-L", ".", "-type", "f", "-name", "t*"])
            .text()
            .lines()
            .count(),
        2
    );
    assert_eq!(
        run("grep", &["-l", "three", "-R", "."]).text(),
        "./three.txt\n"
    );
    assert_eq!(
        run("wc", &["-c", "--", "three.txt"]).text(),
        "13 three.txt\n"
    );
    assert_eq!(
        run("sh", &["-c", "echo *"]).text(),
        "one.txt sub%2Fone.txt three.txt two.txt\n"
    );
    // Nothing can be changed.
    for words in [
        &["rm", "one.txt"][..],
        &["touch", "new"],
        &["ln", "-s", "x", "y"],
        &["mkdir", "d"],
    ] {
        let mut command = oracle::command(words[0]);
        let ran = oracle::run(command.args(&words[1..]).current_dir(mounted.join("text")));
        assert_ne!(ran.code, Some(0), "{ran}");
    }
}

#[test]
fn tar_and_rsync_copy_a_view() {
    if cannot("archives of views") {
        return;
    }
    let site = site();
    let mounted = site.mount();
    let archive = site.scratch.join("archive.tar");
    let mut tar = oracle::command("tar");
    tar.arg("-C")
        .arg(mounted.join("text"))
        .args(["-chf"])
        .arg(&archive)
        .arg(".");
    let ran = oracle::run(&mut tar).expect_code(0);
    assert_eq!(ran.errors(), "");
    let listed = oracle::run(oracle::command("tar").arg("-tf").arg(&archive))
        .expect_code(0)
        .text();
    assert_eq!(listed.lines().count(), 5, "{listed}");
    let out = site.scratch.join("out");
    fs::create_dir(&out).unwrap();
    oracle::run(
        oracle::command("tar")
            .arg("-C")
            .arg(&out)
            .arg("-xf")
            .arg(&archive),
    )
    .expect_code(0);
    assert_eq!(
        fs::read_to_string(out.join("sub%2Fone.txt")).unwrap(),
        "sub/one.txt"
    );
    let copy = site.scratch.join("copy");
    oracle::run(
        oracle::command("cp")
            .arg("-rL")
            .arg(mounted.join("text"))
            .arg(&copy),
    )
    .expect_code(0);
    assert_eq!(fs::read_dir(copy).unwrap().count(), 4);
}

#[test]
fn python_reads_a_view() {
    if cannot("Python on views") {
        return;
    }
    if let Some(skip) = without_program("Python on views", "python3") {
        return skip.say();
    }
    let site = site();
    let mounted = site.mount();
    let script = "\
import os, sys, urllib.parse
top, tree = sys.argv[1:]
names = sorted(os.listdir(top))
with os.scandir(top) as entries:
    assert sorted(entry.name for entry in entries if entry.is_symlink()) == names
for name in names:
    target = os.readlink(os.path.join(top, name))
    assert os.path.realpath(os.path.join(top, name)) == target
    assert target.endswith('/' + urllib.parse.unquote(name)), (target, name)
    text = open(os.path.join(top, name)).read()
    assert os.path.join(tree, text) == target
    assert os.stat(os.path.join(top, name)).st_size == len(text)
    assert os.lstat(os.path.join(top, name)).st_size == len(os.fsencode(target))
with os.scandir(top) as entries:
    first = next(entries)
handle = os.open(top, os.O_RDONLY)
assert sorted(os.listdir(handle)) == names and sorted(os.listdir(handle)) == names
print(len(names))
";
    let mut python = Identity::user(60_001).command("python3");
    python
        .args(["-c", script])
        .arg(mounted.join("text"))
        .arg(site.tree());
    assert_eq!(oracle::run(&mut python).expect_code(0).text(), "4\n");
}
