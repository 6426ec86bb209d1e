//! A report shows its user what the kernel shows them.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{Identity, gnu, run};
use trawl_testkit::permissions::compare::Shown;
use trawl_testkit::permissions::{self, Person, Plan, people};
use trawl_testkit::site::Site;
use trawl_testkit::{Scratch, skip};

use crate::{TRAWL, page, report};

#[test]
fn another_user_is_shown_what_find_shows_them() {
    if let Some(skip) = skip::without_root("the report of another user") {
        skip.say();
        return;
    }
    let Some(site) = Site::guarded("report-users", TRAWL) else {
        return;
    };
    site.index();
    let tree = site.text("");
    for who in [Identity::Ourselves, Identity::user(54_321)] {
        let ran = report(&site, &who, &["-n", "1000", &tree]);
        let expected = gnu("find", [&tree[..], "-type", "f"], &site.tree(), &who);
        let is_whole = expected.code == Some(0);
        let text = expected.text();
        let expected: BTreeSet<&str> = text.lines().collect();
        let ran = ran.expect_code(if is_whole { 0 } else { 1 });
        let page = page::read(&ran.text());
        let files = page.section("files").rows("Largest files");
        let found: BTreeSet<&str> = files.iter().map(|row| &row[0][..]).collect();
        assert_eq!(found, expected, "{who:?}");
        assert_eq!(page.text.contains("secret"), is_whole, "{who:?}");
        let owner = page.section("sources");
        assert_eq!(owner.rows("Indexed trees").len(), 1);
        // Those whose contents are summed up.
        let listed = [&tree[..], "-type", "d", "-readable", "-executable"];
        let text = gnu("find", listed, &site.tree(), &who).text();
        let directories = page
            .section("directories")
            .rows("Largest directories")
            .len();
        assert_eq!(directories, text.lines().count(), "{who:?}");
        for section in &page.sections {
            let is_about_files = section.name != "sources";
            let says = section.text.contains("INCOMPLETE");
            assert_eq!(
                says,
                is_about_files && !is_whole,
                "{who:?} {}",
                section.name
            );
        }
    }
}

/// Random trees.
const TREES: u64 = 3;
/// Start points in each.
const STARTS: usize = 2;

/// Returns whether a page shows a path without escapes.
fn is_plain(path: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    path.chars().all(is_plain)
}

/// Returns the regular files that the kernel shows a user. Trawl shows nothing of a directory
/// that the user may list and not search.
fn shown_to(person: &Person, start: &Path) -> Vec<PathBuf> {
    let shown = Shown::to(person, &[start.to_path_buf()]);
    let is_shown = |path: &PathBuf| {
        let is_listed_only = |dir: &Path| shown.listed_only.contains(dir);
        let is_file = path.symlink_metadata().expect("it is there").is_file();
        is_file && !path.parent().is_some_and(is_listed_only)
    };
    shown
        .paths
        .iter()
        .filter(|path| is_shown(path))
        .cloned()
        .collect()
}

#[test]
fn reports_show_every_user_what_the_kernel_shows() {
    if let Some(skip) = skip::without_root("reports against the kernel") {
        return skip.say();
    }
    let scratch = Scratch::new("report-permissions");
    let trawl = scratch.install(Path::new(TRAWL));
    let (mut rows, mut empty) = (0, 0);
    for seed in 1..=TREES {
        let plan = Plan::new(seed);
        let site = permissions::Site::build(&plan, &trawl).expect("a tree");
        site.index();
        for person in people::everybody() {
            for start in plan.starts(STARTS) {
                let start = site.absolute(&start);
                let about = format!("seed {seed}, {person}, {}", start.display());
                let expected = shown_to(&person, &start);
                let mut command = person.identity().command(&trawl);
                command.current_dir("/").arg("-i").arg(site.index_dir());
                command.args(["report", "-n", "10000"]).arg(&start);
                let ran = run(&mut command);
                // Of a start that cannot be looked at, there is no report.
                if ran.code == Some(2) && ran.stdout.is_empty() {
                    assert!(expected.is_empty(), "{about}: {expected:?}");
                    empty += 1;
                    continue;
                }
                let page = page::read(&ran.text());
                let found = page.section("files").rows("Largest files");
                let inodes = expected
                    .iter()
                    .map(|path| path.symlink_metadata().expect("it is there").ino());
                let inodes: BTreeSet<u64> = inodes.collect();
                assert_eq!(found.len(), inodes.len(), "{about}");
                let plain = expected.iter().filter_map(|path| path.to_str());
                let plain: BTreeSet<&str> = plain.filter(|path| is_plain(path)).collect();
                for row in found.iter().filter(|row| is_plain(&row[0])) {
                    assert!(plain.contains(&row[0][..]), "{about}: {}", row[0]);
                }
                rows += found.len();
            }
        }
    }
    assert!(rows > 100 && empty > 10, "{rows} rows, {empty} empty");
}
