//! Disks that are full or read-only, limits, and directories that are not indexes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use trawl_testkit::oracle::{command, run};
use trawl_testkit::{FileSystem, Identity, LoopMount, skip};

use crate::site::{Site, TRAWL, ask, make_tree};

#[test]
fn a_full_disk_leaves_the_previous_snapshot_and_says_what_to_do() {
    let site = Site::new("full");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 150, 40);
    let tree = tree.to_str().expect("our own name");
    for kind in [FileSystem::Tmpfs, FileSystem::Ext4] {
        let mount = match LoopMount::new(kind, 2 << 20) {
            Ok(mount) => mount,
            Err(skip) => {
                skip.say();
                continue;
            }
        };
        let index = mount.path().join("index");
        ask(&index, ["index", "-q", tree]).expect_code(0);
        let before = ask(&index, ["ls", "-lR", tree]).expect_code(0).stdout;
        let ballast = mount.path().join("ballast");
        run(command("dd")
            .args(["if=/dev/zero", "bs=4k"])
            .arg(format!("of={}", ballast.display())));
        // Unchanged content would be shared, and need almost no space.
        let again = ["index", "-q", "--full", tree];
        for words in [&again[..], &["index", "-q", "/etc"]] {
            let full = ask(&index, words).expect_code(2);
            assert!(
                full.errors()
                    .contains("no space left on device; free space"),
                "{full}"
            );
        }
        assert!(
            ask(&index, ["ls", "-lR", tree]).expect_code(0).stdout == before,
            "{kind}"
        );
        ask(&index, ["index", "--verify"]).expect_code(0);
        // With a little free space, it gets further before it fails.
        let size_bytes = fs::metadata(&ballast).expect("it is there").len();
        let ballast_file = fs::File::options()
            .write(true)
            .open(&ballast)
            .expect("our own");
        ballast_file
            .set_len(size_bytes - (40 << 10))
            .expect("shorter");
        ask(&index, again).expect_code(2);
        assert!(
            ask(&index, ["ls", "-lR", tree]).expect_code(0).stdout == before,
            "{kind}"
        );
        ask(&index, ["gc", "--keep", "1"]).expect_code(0);
        drop(ballast_file);
        fs::remove_file(&ballast).expect("our own");
        ask(&index, ["index", "-q", tree]).expect_code(0);
        ask(&index, ["index", "--verify"]).expect_code(0);
        if let Err(skip) = mount.make_read_only() {
            skip.say();
            continue;
        }
        let refused = ask(&index, ["index", "-q", tree]).expect_code(2);
        assert!(
            refused.errors().contains("read-only file system; choose"),
            "{refused}"
        );
        assert!(
            ask(&index, ["ls", "-lR", tree]).expect_code(0).stdout == before,
            "{kind}"
        );
    }
}

/// Runs the program under a limit of the shell.
fn limited(limit: &str, index: &Path, tree: &str, what: &str) -> trawl_testkit::Ran {
    let script = format!("ulimit {limit}; exec \"$0\" -i \"$1\" {what} \"$2\"");
    run(command("sh")
        .args(["-c", &script, TRAWL])
        .arg(index)
        .arg(tree))
}

#[test]
fn limits_of_the_shell_are_errors_or_enough() {
    let site = Site::new("limits");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 150, 40);
    let tree = tree.to_str().expect("our own name");
    site.trawl(["index", "-q", tree]).expect_code(0);
    let before = site.trawl(["ls", "-lR", tree]).expect_code(0).stdout;
    let short = limited("-f 20", &site.index(), tree, "index -q --full").expect_code(2);
    assert!(short.errors().contains("file too large"), "{short}");
    site.trawl(["index", "--verify"]).expect_code(0);
    for limit in ["-n 64", "-n 16", "-v 400000"] {
        limited(limit, &site.index(), tree, "index -q").expect_code(0);
        let answer = limited(limit, &site.index(), tree, "ls -lR").expect_code(0);
        assert!(answer.stdout == before, "{limit}");
    }
    // Content of a directory that is private now moves in older snapshots.
    let private = std::path::Path::new(tree).join("dir3/inner3");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o700)).expect("our own");
    limited("-n 16", &site.index(), tree, "index -q").expect_code(0);
    site.trawl(["index", "--verify"]).expect_code(0);
    let starved = limited("-n 4", &site.index(), tree, "ls -lR").expect_code(2);
    assert!(
        starved.errors().contains("too many open files"),
        "{starved}"
    );
}

#[test]
fn what_is_no_index_is_said_to_be_none() {
    let site = Site::new("none");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 3, 3);
    let tree = tree.to_str().expect("our own name");
    let at = |name: &str| site.scratch.join(name);
    fs::write(at("file"), "").expect("a file");
    fs::create_dir(at("other")).expect("a directory");
    fs::write(at("other/file"), "").expect("a file");
    symlink("nowhere", at("dangling")).expect("a link");
    for (name, asked, scanned) in [
        ("file", "not a directory", "not a directory"),
        (
            "other",
            "holds no index: make one",
            "is not empty and holds no index",
        ),
        ("absent", "holds no index: make one", ""),
        (
            "absent2/below",
            "holds no index: make one",
            "no such file or directory",
        ),
        (
            "dangling",
            "holds no index: make one",
            "no such file or directory",
        ),
    ] {
        let answer = ask(&at(name), ["ls", tree]).expect_code(2);
        assert!(answer.errors().contains(asked), "{answer}");
        let wrote = ask(&at(name), ["index", "-q", tree]);
        assert_eq!(wrote.code == Some(0), scanned.is_empty(), "{wrote}");
        assert!(wrote.errors().contains(scanned), "{wrote}");
    }
    symlink("absent", at("link")).expect("a link");
    ask(&at("link"), ["ls", tree]).expect_code(0);
    fs::write(at("absent/FORMAT"), "trawl index\nformat 99\n").expect("our own");
    for words in [
        &["ls", tree][..],
        &["index", tree],
        &["index", "--verify"],
        &["sources"],
    ] {
        let answer = ask(&at("absent"), words).expect_code(2);
        assert!(answer.errors().contains("FORMAT has format 99"), "{answer}");
        assert!(answer.errors().contains("use a newer trawl"), "{answer}");
    }
}

#[test]
fn an_index_of_someone_else_is_read_and_not_written() {
    if let Some(skip) = skip::without_root("other users' indexes") {
        return skip.say();
    }
    let site = Site::new("owner");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 3, 3);
    site.trawl([std::ffi::OsStr::new("index"), tree.as_os_str()])
        .expect_code(0);
    let own = site.scratch.join("private");
    run(trawl_testkit::oracle::command(TRAWL)
        .arg("-i")
        .arg(&own)
        .args(["index", "-q", "--private"])
        .arg(&tree))
    .expect_code(0);
    let program = site.scratch.install(Path::new(TRAWL));
    let user = Identity::user(4321);
    for (index, word, code, said) in [
        (site.index(), "ls", 0, ""),
        (site.index(), "index", 2, "belongs to user 0"),
        (own.clone(), "ls", 2, "permission denied"),
        (own, "index", 2, "permission denied"),
    ] {
        let mut command = user.command(&program);
        let answer = run(command.arg("-i").arg(index).arg(word).arg(&tree));
        assert_eq!(answer.code, Some(code), "{answer}");
        assert!(answer.errors().contains(said), "{answer}");
    }
    // A directory that may be read but not written.
    let place = site.scratch.join("place");
    fs::create_dir(&place).expect("a directory");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("our own");
    let answer = run(user
        .command(&program)
        .arg("-i")
        .arg(place.join("new"))
        .arg("index")
        .arg(&tree));
    assert!(
        answer.code == Some(2) && answer.errors().contains("choose an index"),
        "{answer}"
    );
}
