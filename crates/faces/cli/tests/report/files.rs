//! `-o`: a file is replaced as a whole, or not at all.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;

use crate::{TRAWL, page, report};

#[test]
fn a_file_is_replaced_as_a_whole() {
    let Some(site) = Site::small("report-output", TRAWL) else {
        return;
    };
    let folder = site.scratch.join("out");
    fs::create_dir(&folder).expect("our own");
    let path = folder.join("report.html");
    let name = path.to_str().expect("text");
    let write = || report(&site, &Identity::Ourselves, &["-o", name]).expect_code(0);
    let ran = write();
    assert!(
        ran.stdout.is_empty() && ran.stderr.is_empty(),
        "quiet for cron: {ran}"
    );
    let mode = || fs::metadata(&path).expect("a file").mode() & 0o7777;
    assert_eq!(mode(), 0o600, "only its owner reads a new file");
    page::read(&fs::read_to_string(&path).expect("a page"));
    // A process that has the old file open still reads the old text.
    fs::write(&path, "old").expect("our own");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("our own");
    let mut old = fs::File::open(&path).expect("our own");
    let before = old.metadata().expect("our own").ino();
    write();
    assert_eq!(mode(), 0o644, "a file keeps its permissions");
    assert!(fs::metadata(&path).expect("a file").ino() != before);
    let mut text = String::new();
    old.read_to_string(&mut text).expect("our own");
    assert_eq!(text, "old");
    page::read(&fs::read_to_string(&path).expect("a page"));
    let names = fs::read_dir(&folder).expect("our own").count();
    assert_eq!(names, 1, "nothing is left behind");
}

#[test]
fn a_report_about_nothing_replaces_nothing_and_says_why() {
    let Some(site) = Site::small("report-nothing", TRAWL) else {
        return;
    };
    let path = site.scratch.join("report.html");
    fs::write(&path, "old").expect("our own");
    let name = path.to_str().expect("text");
    let (tree, none) = (site.text(""), site.text("none"));
    for words in [
        &["-o", name, &none][..],
        &["-o", name, "--at=2000-01-01", &tree],
        &[&none],
    ] {
        let ran = report(&site, &Identity::Ourselves, words).expect_code(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran}");
        let lines: Vec<&[u8]> = ran.stderr.split(|byte| *byte == b'\n').collect();
        assert!(lines.len() < 10, "each reason is said once: {ran}");
        assert_eq!(fs::read_to_string(&path).expect("our own"), "old");
    }
}

#[test]
fn a_group_stays_and_files_of_others_are_not_replaced() {
    if let Some(skip) = trawl_testkit::skip::without_root("files of others") {
        skip.say();
        return;
    }
    let Some(site) = Site::small("report-owner", TRAWL) else {
        return;
    };
    let path = site.scratch.join("report.html");
    let name = path.to_str().expect("text");
    for (owner, code) in [(0, 0), (54_321, 2)] {
        fs::write(&path, "old").expect("our own");
        std::os::unix::fs::chown(&path, Some(owner), Some(54_322)).expect("root");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("our own");
        let ran = report(&site, &Identity::Ourselves, &["-o", name]).expect_code(code);
        let found = fs::metadata(&path).expect("a file");
        let kept = (found.uid(), found.gid(), found.mode() & 0o7777);
        assert_eq!(kept, (owner, 54_322, 0o640));
        let is_old = fs::read(&path).expect("a file") == b"old";
        assert_eq!(is_old, code != 0, "{ran}");
        let left = fs::read_dir(site.scratch.path()).expect("our own");
        let left = left.filter_map(Result::ok).map(|entry| entry.file_name());
        assert!(
            left.into_iter()
                .all(|name| !name.to_string_lossy().ends_with(".new"))
        );
    }
}

#[test]
fn nothing_but_regular_files_is_replaced() {
    let Some(site) = Site::small("report-refused", TRAWL) else {
        return;
    };
    let target = site.scratch.join("target");
    fs::write(&target, "kept").expect("our own");
    let link = site.scratch.join("link");
    std::os::unix::fs::symlink(&target, &link).expect("our own");
    let pipe = site.scratch.join("pipe");
    gnu("mkfifo", [&pipe], &site.tree(), &Identity::Ourselves).expect_code(0);
    let folder = site.scratch.join("folder");
    fs::create_dir(&folder).expect("our own");
    let missing = site.scratch.join("missing/report.html");
    for path in [
        &link,
        &pipe,
        &folder,
        &missing,
        &"/dev/null".into(),
        &"/".into(),
    ] {
        let name = path.to_str().expect("text");
        let ran = report(&site, &Identity::Ourselves, &["-o", name]).expect_code(2);
        assert!(ran.errors().starts_with("trawl: cannot "), "{ran}");
        assert!(ran.stdout.is_empty(), "{ran}");
    }
    assert_eq!(fs::read_to_string(&target).expect("our own"), "kept");
    assert!(fs::symlink_metadata(&link).expect("our own").is_symlink());
    assert_eq!(fs::read_dir(&folder).expect("our own").count(), 0);
}

#[test]
fn nothing_is_replaced_if_there_is_no_answer() {
    let Some(site) = Site::empty("report-none", TRAWL) else {
        return;
    };
    let path = site.scratch.join("report.html");
    fs::write(&path, "kept").expect("our own");
    let name = path.to_str().expect("text");
    let tree = site.text("");
    for words in [&["-o", name][..], &["-o", name, &tree]] {
        let ran = report(&site, &Identity::Ourselves, words).expect_code(2);
        assert!(!ran.stderr.is_empty(), "{ran}");
    }
    assert_eq!(fs::read_to_string(&path).expect("our own"), "kept");
}
