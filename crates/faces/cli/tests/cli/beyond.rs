//! Parts that an index does not have, for which the live file system is asked: entries that were
//! excluded, how a directory is mounted, and the content of directories that may be traversed but
//! not listed.

use trawl_testkit::Scratch;
use trawl_testkit::oracle::{Identity, command, run};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::Site;

#[test]
fn a_directory_is_not_empty_because_its_entries_were_excluded() {
    let site = Site::empty("excluded");
    for dir in ["full", "empty", "nested/full"] {
        std::fs::create_dir_all(site.tree().join(dir)).expect("a directory");
    }
    for file in ["full/x.skip", "nested/full/y.skip", "nested/kept"] {
        std::fs::write(site.tree().join(file), "x").expect("a file");
    }
    let tree = site.tree().display().to_string();
    site.trawl(&["index", "-q", "--exclude", "*.skip", &tree])
        .expect_code(0);
    for line in ["find . -type d -empty", "find -L . -type d -empty"] {
        let ours = site.run(line).expect_code(0).text();
        assert_eq!(ours, site.gnu(line).expect_code(0).text(), "{line}");
    }
}

/// The device is mounted writable elsewhere; the mount of the path is what counts.
#[test]
fn a_read_only_bind_mount_is_not_writable() {
    let skip = without_root("bind mounts").or_else(|| without_program("bind mounts", "unshare"));
    if let Some(skip) = skip {
        return skip.say();
    }
    let scratch = Scratch::new("read-only");
    let script = r#"
        mkdir tree mounted; echo x > tree/file; mkdir tree/dir; mkfifo tree/pipe
        ln -s file tree/link; chmod 755 tree/file
        mount --bind tree mounted && mount -o remount,bind,ro,noexec mounted || exit 3
        $TRAWL -i index index -q mounted || exit 4
        for words in -writable -readable -executable "! -writable" "-type l -writable"; do
            find mounted $words | sort > theirs; $TRAWL -i index find mounted $words | sort > ours
            find -L mounted $words | sort >> theirs; $TRAWL -i index find -L mounted $words | sort >> ours
            diff theirs ours || { echo "$words"; exit 5; }
        done"#;
    let mut shell = command("unshare");
    shell
        .args(["-m", "sh", "-c", script])
        .current_dir(scratch.path());
    let ran = run(shell.env("TRAWL", env!("CARGO_BIN_EXE_trawl")));
    match ran.code {
        Some(3) => println!("skipped, because nothing can be mounted here"),
        _ => drop(ran.expect_code(0)),
    }
}

#[test]
fn ls_shows_the_directory_above_one_that_may_only_be_passed() {
    if let Some(skip) = without_root("as another user") {
        return skip.say();
    }
    let scratch = Scratch::new("passed");
    let trawl = scratch.install(std::path::Path::new(env!("CARGO_BIN_EXE_trawl")));
    let script = "mkdir -p tree/home/me/sub; echo x > tree/home/me/file; chmod 711 tree tree/home";
    run(command("sh")
        .args(["-ec", script])
        .current_dir(scratch.path()))
    .expect_code(0);
    let index = scratch.join("index");
    let mut scan = command(&trawl);
    scan.arg("-i").arg(&index).args(["index", "-q"]);
    run(scan.arg(scratch.join("tree"))).expect_code(0);
    let user = Identity::user(4242);
    for options in ["-la", "-lan", "-las", "-a"] {
        let dir = scratch.join("tree/home/me");
        let theirs = run(user.command("ls").arg(options).arg(&dir)).expect_code(0);
        let mut ours = user.command(&trawl);
        let ours = run(ours.arg("-i").arg(&index).args(["ls", options]).arg(&dir)).expect_code(0);
        assert_eq!(ours.text(), theirs.text(), "ls {options}");
    }
}
