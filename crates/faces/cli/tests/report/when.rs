//! The past, gaps and usage.

use trawl_testkit::oracle::Identity;
use trawl_testkit::site::Site;

use crate::{TRAWL, page, report};

#[test]
fn a_report_can_be_about_the_past() {
    let Some(site) = Site::small("report-past", TRAWL) else {
        return;
    };
    let tree = site.text("");
    for (name, size_bytes) in [("second", 100_000), ("third", 200_000)] {
        site.write(name, vec![b'x'; size_bytes]);
        let mut command = site.command(&Identity::Ourselves);
        command.args(["index", "--quiet", "--keep", "3", &tree]);
        trawl_testkit::oracle::run(&mut command).expect_code(0);
    }
    let largest = |page: &page::Page| page.section("files").rows("Largest files")[0][0].clone();
    let now = page(&site, &[&tree], 0);
    assert_eq!(largest(&now), format!("{tree}/third"));
    let then = page(&site, &["--at=-1", &tree], 0);
    assert_eq!(largest(&then), format!("{tree}/second"));
    assert!(then.section("files").commands[0].contains(" --at=-1 "));
    assert_eq!(then.section("growth").rows("Snapshots").len(), 2);
    let changes = then.section("changes").rows("Largest changes");
    assert_eq!(changes[0][0], format!("{tree}/second"));
    let first = page(&site, &["--at=-2", &tree], 0);
    assert!(first.section("changes").text.contains("no snapshot before"));
    let entries = |page: &page::Page| -> u64 {
        let rows = page.section("sources").rows("Indexed trees");
        rows[0][1].parse().expect("a number")
    };
    assert_eq!(entries(&first) + 2, entries(&now));
    report(&site, &Identity::Ourselves, &["--at=-3", &tree]).expect_code(2);
}

#[test]
fn a_missing_path_is_told_in_the_report() {
    let Some(site) = Site::small("report-missing", TRAWL) else {
        return;
    };
    let (tree, none) = (site.text(""), site.text("none"));
    let page = page(&site, &[&tree, &none], 2);
    for section in &page.sections {
        assert!(section.text.contains("INCOMPLETE"), "{}", section.name);
        assert!(section.text.contains("cannot access "), "{}", section.name);
    }
    // The other path is answered.
    assert!(!page.section("files").rows("Largest files").is_empty());
    assert!(page.section("growth").text.contains(&none));
}

#[test]
fn a_source_that_is_too_old_is_a_gap() {
    let Some(site) = Site::small("report-age", TRAWL) else {
        return;
    };
    let page = page(&site, &["--max-age", "0s", "--sections", "files"], 1);
    let text = &page.section("files").text;
    assert!(
        text.contains("INCOMPLETE") && text.contains("--max-age"),
        "{text}"
    );
}

#[test]
fn sections_are_chosen_and_keep_their_order() {
    let Some(site) = Site::small("report-sections", TRAWL) else {
        return;
    };
    let page = page(
        &site,
        &["--sections", "growth,files", "--sections", "sources"],
        0,
    );
    let names: Vec<&str> = page
        .sections
        .iter()
        .map(|section| &section.name[..])
        .collect();
    assert_eq!(names, ["sources", "files", "growth"]);
    for words in [
        &["--sections", "none"][..],
        &["-n", "x"],
        &["--sendmail", "x"],
    ] {
        report(&site, &Identity::Ourselves, words).expect_code(2);
    }
}
