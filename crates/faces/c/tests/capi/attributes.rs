//! Checks the promises of `trawl/attr.h` with a C program, and what it stored with getfattr(1).

use trawl_testkit::skip::without_program;
use trawl_testkit::{Scratch, oracle};

use super::site::{Site, skipped};

#[test]
fn a_c_program_sets_attributes_of_a_file_that_it_writes() {
    let test = "attributes from C";
    let Some(site) = Site::get(test) else { return };
    if let Some(skip) = without_program(test, "getfattr") {
        return skip.say();
    }
    site.compile("attr", "attr", &["-std=c99", "-pedantic"])
        .unwrap();
    let scratch = Scratch::new("capi-attr");
    let path = scratch.join("f");
    std::fs::write(&path, "content").unwrap();
    let ran = site.run("attr", &[&path]);
    if ran.code == Some(77) {
        return skipped(test, "attributes cannot be set here");
    }
    ran.expect_code(0);
    let mut getfattr = oracle::command("getfattr");
    getfattr.args(["-d", "--absolute-names"]).arg(&path);
    let dump = oracle::run(&mut getfattr).expect_code(0).text();
    let mut lines: Vec<&str> = dump
        .lines()
        .filter(|line| line.starts_with("user."))
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "user.trawl.artist=\"tBach\"",
            "user.trawl.exposure=\"r0.01\"",
            "user.trawl.rating=\"i-9223372036854775808\"",
            "user.trawl.tag=\"l4:tred2:i7\"",
            "user.trawl.taken=\"d2026-01-02T03:04:05.5Z\"",
        ]
    );
}
