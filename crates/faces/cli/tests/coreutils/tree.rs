//! The tree that is looked at: a random one with everything that options of `ls`, `du` and `stat`
//! distinguish.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use trawl_testkit::{RandomTree, oracle, random_tree};

use crate::site::Site;

/// Arguments that exist, lead nowhere, or lead in circles.
pub(crate) const ARGUMENTS: &[&str] = &[
    ".",
    "plain",
    "plain/",
    "./plain/.",
    "modes",
    "versions",
    "links",
    "links/to-dir",
    "links/to-dir/",
    "links/to-file",
    "links/broken",
    "links/round-1",
    "random",
    "plain/file",
    "modes/run",
    "nowhere",
    "empty",
];

/// Builds and indexes the tree.
pub(crate) fn build(label: &str, seed: u64) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    for folder in [
        "plain/sub/deep",
        "modes",
        "versions",
        "links",
        "random",
        "empty",
    ] {
        std::fs::create_dir_all(tree.join(folder)).expect("a directory");
    }
    plain(&tree.join("plain"));
    modes(&tree.join("modes"));
    for name in [
        "a1",
        "a10",
        "a9",
        "a1.tar.gz",
        "a~",
        "b.c~",
        ".hidden~",
        ".h",
        "..x",
        "B",
        "a",
        "a.b.c",
        "it's",
        "two words",
        "a:b",
        "x@y",
        "p|q",
        "e=f",
        "w>z",
        "st*r",
        "\u{e9}\u{6f22}",
        "tab\t",
    ] {
        std::fs::write(tree.join("versions").join(name), name).expect("a file");
    }
    links(&tree.join("links"));
    let plan = random_tree::Plan {
        modes: random_tree::Modes::Plain,
        entries: 60,
        ..random_tree::Plan::new(seed)
    };
    RandomTree::build(&tree.join("random"), &plan).expect("a tree");
    // Reading sets access times once, so this is done before the tree is indexed.
    trawl_testkit::tick();
    for line in [
        "ls -lRL .",
        "ls -laR .",
        "du -aL .",
        "stat -L links/to-file",
    ] {
        site.gnu(line);
    }
    site.index();
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    site
}

/// Creates sizes, times around half a year ago, and times in the future.
fn plain(folder: &Path) {
    let now = SystemTime::now();
    let day = Duration::from_secs(86_400);
    for (name, size, days) in [
        ("file", 12_345, 1),
        ("old", 1, 400),
        ("half", 1023, 182),
        ("more", 1024, 183),
        ("sub/large", 3_000_000, 20),
        ("sub/deep/last", 0, 2),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, vec![b'x'; size]).expect("a file");
        let file = std::fs::File::options()
            .write(true)
            .open(&path)
            .expect("our own");
        file.set_modified(now - day * days).expect("a time");
    }
    let future = std::fs::File::create(folder.join("future")).expect("a file");
    future.set_modified(now + day * 30).expect("a time");
    std::fs::hard_link(folder.join("old"), folder.join("sub/old-too")).expect("a link");
}

/// Creates everything that colours distinguish.
fn modes(folder: &Path) {
    for (name, mode) in [
        ("run", 0o755),
        ("setuid", 0o4755),
        ("setgid", 0o2755),
        ("plain.tar", 0o644),
        ("LOUD.TAR", 0o644),
        ("none", 0o000),
    ] {
        std::fs::write(folder.join(name), name).expect("a file");
        set_mode(&folder.join(name), mode);
    }
    for (name, mode) in [("sticky", 0o1755), ("open", 0o777), ("both", 0o1777)] {
        std::fs::create_dir(folder.join(name)).expect("a directory");
        set_mode(&folder.join(name), mode);
    }
    for kind in ["fifo", "pipe.tar"] {
        let status = oracle::command("mkfifo").arg(folder.join(kind)).status();
        assert!(status.expect("mkfifo(1) is part of every system").success());
    }
    if trawl_testkit::skip::is_root() {
        let mut line = oracle::command("mknod");
        oracle::run(line.arg(folder.join("null")).args(["c", "1", "3"]));
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("our own");
}

fn links(folder: &Path) {
    for (name, target) in [
        ("to-dir", "../plain/sub"),
        ("to-file", "../plain/file"),
        ("to-run", "../modes/run"),
        ("to-link", "to-dir"),
        ("broken", "nowhere"),
        ("empty-name", "two words"),
        ("round-1", "round-2"),
        ("round-2", "round-1"),
        ("up", ".."),
        ("through-file", "../plain/file/x"),
    ] {
        symlink(target, folder.join(name)).expect("a link");
    }
}
