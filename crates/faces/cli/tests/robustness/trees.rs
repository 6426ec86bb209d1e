//! Odd trees, and trees that change while they are read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_testkit::oracle::{command, run};
use trawl_testkit::{Folder, Identity, skip};

use crate::site::{Site, TRAWL, make_tree};

/// Checks that the index answers as the GNU tools do.
#[track_caller]
fn assert_like_gnu(site: &Site, tree: &Path, questions: &[&[&str]]) {
    for words in questions {
        let ours = site
            .trawl(words.iter().map(AsRef::as_ref).chain([tree.as_os_str()]))
            .expect_code(0);
        let gnu = run(command(words[0]).args(&words[1..]).arg(tree)).expect_code(0);
        let sorted = |bytes: &[u8]| {
            let mut lines: Vec<Vec<u8>> = bytes
                .split(|b| *b == b'\n' || *b == 0)
                .map(<[u8]>::to_vec)
                .collect();
            lines.sort();
            lines
        };
        assert!(sorted(&ours.stdout) == sorted(&gnu.stdout), "{ours}");
    }
}

#[test]
fn a_very_wide_and_a_very_deep_directory() {
    let site = Site::new("shapes");
    let (wide, deep) = (site.scratch.join("wide"), site.scratch.join("deep"));
    fs::create_dir(&wide).expect("a directory");
    let folder = Folder::open(&wide).expect("it opens");
    for number in 0..70_000_u64 {
        let name = format!("{}.x", number.wrapping_mul(0x9E37_79B9) % 1_000_000_007);
        folder.make_file(name.as_bytes(), b"").expect("a file");
    }
    fs::create_dir(&deep).expect("a directory");
    let mut folder = Folder::open(&deep).expect("it opens");
    for level in 0..600 {
        let name = format!("level-{level}");
        folder = folder.make_folder(name.as_bytes()).expect("a directory");
    }
    folder.make_file(b"bottom", b"content").expect("a file");
    let index = Path::new("index");
    site.trawl([index, Path::new("-q"), &wide, &deep])
        .expect_code(0);
    assert_like_gnu(&site, &wide, &[&["ls", "-R"], &["du", "-a0"], &["find"]]);
    // GNU ls fails where paths become longer than `PATH_MAX`.
    assert_like_gnu(&site, &deep, &[&["du", "-a0"], &["find"]]);
}

#[test]
fn a_tree_that_changes_while_it_is_read() {
    let site = Site::new("changing");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 60, 20);
    let outside = site.scratch.join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("secret"), "").expect("a file");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let swap = tree.join("dir3");
            let kept = tree.join("kept");
            let busy = tree.join("dir1/inner1");
            while !stop.load(Ordering::Relaxed) {
                for number in 0..50 {
                    let _ = fs::write(busy.join(format!("new{number}")), "x");
                    let _ = fs::create_dir_all(busy.join(format!("sub{number}/x")));
                }
                // A directory becomes a link to one outside the tree.
                let _ = fs::rename(&swap, &kept);
                let _ = symlink(&outside, &swap);
                for number in 0..50 {
                    let _ = fs::remove_file(busy.join(format!("new{number}")));
                    let _ = fs::remove_dir_all(busy.join(format!("sub{number}")));
                }
                let _ = fs::remove_file(&swap);
                let _ = fs::rename(&kept, &swap);
            }
        });
        for _ in 0..15 {
            let scanned = site.trawl([Path::new("index"), Path::new("-q"), &tree]);
            assert!(matches!(scanned.code, Some(0 | 1)), "{scanned}");
            let found = site.trawl([Path::new("find"), &tree]).text();
            assert!(
                !found.contains("secret"),
                "it followed a link out of the tree"
            );
            assert!(found.contains("dir2/inner2/file7.h"), "what stays is there");
        }
        stop.store(true, Ordering::Relaxed);
    });
    site.trawl([Path::new("index"), Path::new("-q"), &tree])
        .expect_code(0);
    assert_like_gnu(&site, &tree, &[&["ls", "-lR"], &["du", "-a"], &["find"]]);
}

#[test]
fn what_a_user_may_not_read_is_an_issue_in_scope() {
    if let Some(skip) = skip::without_root("directories that somebody may not read") {
        return skip.say();
    }
    let site = Site::new("unread");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 8, 3);
    fs::create_dir(tree.join("closed")).expect("a directory");
    fs::write(tree.join("closed/file"), "").expect("a file");
    let user = Identity::user(4321);
    run(command("chown").args(["-R", "4321:4321"]).arg(&tree)).expect_code(0);
    run(command("chown").arg("0:0").arg(tree.join("closed"))).expect_code(0);
    fs::set_permissions(tree.join("closed"), fs::Permissions::from_mode(0o700)).expect("ours");
    let place = site.scratch.join("place");
    fs::create_dir(&place).expect("a directory");
    run(command("chown").arg("4321:4321").arg(&place)).expect_code(0);
    let program = site.scratch.install(Path::new(TRAWL));
    let ask = |words: &[&str], path: &Path| {
        run(user
            .command(&program)
            .arg("-i")
            .arg(place.join("index"))
            .args(words)
            .arg(path))
    };
    let scanned = ask(&["index"], &tree);
    assert_eq!(scanned.code, Some(1), "{scanned}");
    assert!(
        scanned.errors().contains("tree/closed: permission denied"),
        "{scanned}"
    );
    for words in [&["find"][..], &["du", "-s"], &["ls", "-R"]] {
        let ours = ask(words, &tree);
        let gnu = run(user.command(words[0]).args(&words[1..]).arg(&tree));
        assert_eq!((ours.code, gnu.code), (Some(1), Some(1)), "{ours}");
        let sorted = |text: String| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(ours.text()), sorted(gnu.text()), "{words:?}");
        // Outside of the missing part, everything is well.
        ask(words, &tree.join("dir2")).expect_code(0);
    }
    let status = ask(&["--status", "du", "-s"], &tree);
    assert!(
        status.errors().contains("tree/closed: permission denied"),
        "{status}"
    );
}
