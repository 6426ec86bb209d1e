//! Descriptors that the kernel does not know: every call, and every path that names one, reports
//! the same as for the kernel's own descriptors.

use std::fs;

use trawl_testkit::oracle;

use crate::covered::installed;
use crate::site::{Site, compiled};

#[test]
fn every_call_says_of_a_virtual_descriptor_what_it_says_of_a_real_one() {
    let site = Site::empty("running-descriptors");
    let what = "calls with virtual descriptors";
    let (Some(trawl), Some(program)) = (
        installed(&site),
        compiled(what, site.scratch.path(), "descriptors"),
    ) else {
        return;
    };
    let dir = site.tree().join("dir");
    fs::create_dir_all(dir.join("below")).expect("room");
    fs::write(dir.join("one"), "one").expect("room");
    fs::copy("/bin/true", dir.join("run")).expect("room");
    let mut plain = oracle::command(&program);
    let plain = oracle::run(plain.arg(&dir).arg("real")).expect_code(0);
    let mut covered = oracle::command(&trawl);
    covered.args(["run", "--eager", "--cover"]).arg(site.tree());
    covered.arg("--").arg(&program).arg(&dir).arg("virtual");
    let covered = oracle::run(&mut covered);
    let (one, other) = (covered.text(), plain.text());
    let differing: Vec<_> = one
        .lines()
        .zip(other.lines())
        .filter(|(a, b)| a != b)
        .collect();
    assert_eq!(differing, [], "with tables and without");
    assert_eq!(one, other);
    assert!(other.lines().count() > 250, "{plain}");
    covered.expect_code(0);
    site.expect_nothing_left();
}
