//! A report shows its user what the kernel shows them.

use std::collections::BTreeSet;

use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;
use trawl_testkit::skip;

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
