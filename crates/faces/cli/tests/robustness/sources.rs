//! Several sources in one index, and several spellings of a path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use trawl_testkit::oracle::{command, run};

use crate::site::{Site, make_tree, trawl_command};

/// Returns the listing of a directory without its heading.
fn names(site: &Site, path: &Path) -> String {
    let list = site.trawl([Path::new("ls"), path]);
    list.expect_code(0).text()
}

#[test]
fn the_deepest_source_answers_and_the_outer_one_steps_in() {
    let site = Site::new("nested");
    let outer = site.scratch.join("outer");
    let inner = outer.join("inner");
    fs::create_dir_all(&inner).expect("directories");
    fs::write(inner.join("old"), "").expect("a file");
    let index = Path::new("index");
    site.trawl([index, &outer, &inner]).expect_code(0);
    fs::rename(inner.join("old"), inner.join("new")).expect("our own");
    site.trawl([index, &inner]).expect_code(0);
    assert_eq!(names(&site, &inner), "new\n");
    let all = site
        .trawl([Path::new("find"), &outer])
        .expect_code(0)
        .text();
    assert!(
        all.ends_with("/inner/old\n"),
        "the outer scan is older: {all}"
    );
    let remove = |path: &Path| site.trawl([Path::new("sources"), Path::new("remove"), path]);
    remove(&inner).expect_code(0);
    assert_eq!(names(&site, &inner), "old\n");
    remove(&inner).expect_code(2);
    remove(&outer).expect_code(0);
    let gone = site.trawl([Path::new("ls"), &inner]).expect_code(2);
    assert!(gone.errors().contains("is not indexed"), "{gone}");
    site.trawl([index, &inner]).expect_code(0);
    assert_eq!(names(&site, &inner), "new\n");
    let nearest = site.trawl([Path::new("ls"), &outer]).expect_code(2);
    assert!(
        nearest.errors().contains(inner.to_str().expect("our own")),
        "{nearest}"
    );
}

#[test]
fn roots_are_what_they_lead_to() {
    let site = Site::new("roots");
    let real = site.scratch.join("real");
    make_tree(&real, 2, 3);
    symlink("real", site.scratch.join("link")).expect("a link");
    fs::write(site.scratch.join("file"), "").expect("a file");
    let inside = |words: &[&str]| {
        let mut line = trawl_command(&site.index(), words);
        run(line.current_dir(site.scratch.path()))
    };
    for spelled in ["link", "real/", "./real/../real/.", "real//"] {
        inside(&["index", "-q", spelled]).expect_code(0);
    }
    for (spelled, problem) in [
        ("file", "is not a directory"),
        ("absent", "no such file or directory"),
        ("", "empty path"),
        ("/dev/null", "is not a directory"),
    ] {
        let refused = inside(&["index", "-q", spelled]).expect_code(2);
        assert!(refused.errors().contains(problem), "{refused}");
    }
    // An invalid root does not exclude the others.
    inside(&["index", "-q", "absent", "real"]).expect_code(2);
    let listed = site.trawl(["sources"]).expect_code(0).text();
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let whole = inside(&["ls", "-R1", "real"]).expect_code(0).text();
    for spelled in [
        "link/",
        "./real",
        "real/.",
        "absent/../real",
        "real/dir0/..",
        "link/../real",
    ] {
        let same = inside(&["ls", "-R1", spelled]);
        let Some(real) = command("ls")
            .arg(spelled)
            .current_dir(site.scratch.path())
            .output()
            .ok()
        else {
            continue;
        };
        if real.status.success() {
            let text = same.expect_code(0).text();
            assert_eq!(text.lines().count(), whole.lines().count(), "{spelled}");
        }
    }
    for (path, problem) in [
        ("real/absent", "no such file or directory"),
        ("real/dir0/inner0/file0.c/", "not a directory"),
        ("real/dir0/inner0/file0.c/x", "not a directory"),
        (".", "is not indexed"),
        ("/", "is not indexed"),
        ("/usr", "is not indexed"),
        ("", "no such file or directory"),
    ] {
        let refused = inside(&["ls", path]).expect_code(2);
        assert!(refused.errors().contains(problem), "{path}: {refused}");
    }
    // Found paths are shown although another one is missing.
    let some = inside(&["stat", "-c", "%F", "real", "absent"]).expect_code(1);
    assert_eq!(some.text(), "directory\n");
}
