//! `trawl growth`: the sums that du printed at each time.

use std::collections::BTreeMap;

use crate::index;
use crate::site::{Site, objects};
use crate::write;

fn du(site: &Site, line: &str) -> u64 {
    let ran = site.gnu(line).expect_code(0);
    let text = ran.text();
    let first = text.split_whitespace().next().and_then(|n| n.parse().ok());
    first.expect("a number")
}

/// Answer of du about one path.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Said {
    entries: u64,
    size_bytes: u64,
    disk_bytes: u64,
}

fn said(site: &Site, path: &str) -> Said {
    Said {
        entries: du(site, &format!("du -s --inodes {path}")),
        // Newer versions of du leave out the sizes of directories.
        size_bytes: 0,
        disk_bytes: du(site, &format!("du -s -B1 {path}")),
    }
}

#[test]
fn growth_is_what_du_said_each_time() {
    let site = Site::empty("growth");
    let tree = site.tree();
    for dir in ["a/deep", "b", "c"] {
        std::fs::create_dir_all(tree.join(dir)).unwrap();
    }
    write(tree.join("a/deep/one"), &"x".repeat(100_000));
    write(tree.join("b/two.txt"), &"x".repeat(10_000));
    std::fs::hard_link(tree.join("b/two.txt"), tree.join("b/again.txt")).unwrap();
    std::fs::hard_link(tree.join("b/two.txt"), tree.join("c/there.txt")).unwrap();
    write(tree.join("top"), "x");
    let mut oracle: Vec<BTreeMap<&str, Said>> = Vec::new();
    let mut note = |site: &Site, dirs: &[&'static str]| {
        oracle.push(dirs.iter().map(|dir| (*dir, said(site, dir))).collect());
        index(site);
    };
    note(&site, &[".", "a", "b", "c"]);
    write(tree.join("a/deep/more.log"), &"y".repeat(200_000));
    note(&site, &[".", "a", "b", "c"]);
    std::fs::remove_dir_all(tree.join("b")).unwrap();
    std::fs::create_dir(tree.join("d")).unwrap();
    write(tree.join("d/x.log"), "z");
    note(&site, &[".", "a", "c", "d"]);

    let total = objects(&site.run("growth --json").expect_code(0));
    assert_eq!(total.len(), 3);
    for (line, said) in total.iter().zip(&oracle) {
        assert_eq!(line["entries"], said["."].entries, "{line}");
        assert_eq!(line["disk_bytes"], said["."].disk_bytes, "{line}");
    }
    let delta = oracle[1]["."].disk_bytes - oracle[0]["."].disk_bytes;
    assert_eq!(total[1]["disk_delta"], delta);
    assert!(total[0]["disk_delta"].is_null());

    let by_dir = objects(&site.run("growth --by dir --json").expect_code(0));
    assert_eq!(by_dir.len(), 5 * 3, "four directories and the rest");
    for (at, said) in oracle.iter().enumerate() {
        for label in ["a", "b", "c", "d"] {
            let line = by_dir.iter().filter(|line| line["label"] == label).nth(at);
            let (line, said) = (line.unwrap(), said.get(label));
            assert_eq!(
                line["disk_bytes"],
                said.map_or(0, |said| said.disk_bytes),
                "{line}"
            );
            assert_eq!(
                line["entries"],
                said.map_or(0, |said| said.entries),
                "{line}"
            );
        }
    }

    let by_ext = objects(&site.run("growth --by ext --json").expect_code(0));
    let logs: Vec<u64> = by_ext
        .iter()
        .filter(|line| line["label"] == ".log")
        .map(|line| line["size"].as_u64().unwrap())
        .collect();
    assert_eq!(logs, [0, 200_000, 200_001]);
    let by_owner = objects(&site.run("growth --by owner --json").expect_code(0));
    let find = site.gnu("find . -printf x");
    assert_eq!(
        by_owner[2]["entries"].as_u64().unwrap() as usize,
        find.text().len()
    );

    let text = site.run("growth").expect_code(0).text();
    assert_eq!(text.lines().count(), 4, "{text}");
    let csv = site.run("growth --by dir --csv").expect_code(0).text();
    assert_eq!(csv.lines().count(), 1 + 15, "{csv}");
    let text = site.run("growth --by dir").expect_code(0).text();
    assert!(text.starts_with("3 snapshots, "), "{text}");
    site.run("growth nowhere").expect_code(2);
    site.run("growth --at -1").expect_code(2);
}
