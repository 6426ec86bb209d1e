//! `trawl history`: one path in all snapshots.

use std::os::unix::fs::PermissionsExt;

use crate::site::{Site, objects};
use crate::{index, snapshots, write};

#[test]
fn a_line_for_each_snapshot_with_news() {
    let site = Site::empty("history");
    let file = site.tree().join("f");
    write(site.tree().join("other"), "x");
    index(&site);
    write(&file, "one");
    index(&site);
    index(&site);
    write(&file, "three");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    index(&site);
    std::fs::remove_file(&file).unwrap();
    index(&site);
    let ids = snapshots(&site);
    let lines = objects(&site.run("history --json f").expect_code(0));
    let got: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| {
            (
                line["state"].as_str().unwrap(),
                line["snapshot"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [("present", 1), ("changed", 3), ("absent", 4)];
    assert_eq!(got, expected.map(|(state, at)| (state, &ids[at][..])));
    assert_eq!(lines[0]["entry"]["size"], 3);
    assert_eq!(lines[1]["entry"]["size"], 5);
    let changed = lines[1]["changed"].to_string();
    for name in ["\"size\"", "\"mode\"", "\"mtime\""] {
        assert!(changed.contains(name), "{changed}");
    }
    assert_eq!(objects(&site.run("history --all --json f")).len(), 5);
    let text = site.run("history f").expect_code(0).text();
    assert!(
        text.contains("changed  size 3 → 5, mode 0644 → 0600"),
        "{text}"
    );
    assert_eq!(
        site.run("history --csv f other").text().lines().count(),
        1 + 3 + 1
    );
    let ran = site.run("history never").expect_code(2);
    assert!(
        ran.errors().contains("is not in any of 5 snapshots"),
        "{ran}"
    );
}
