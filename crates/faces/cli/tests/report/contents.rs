//! What sections say, compared with find(1) and du(1).

use std::collections::BTreeMap;

use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;

use crate::page::assert_size;
use crate::{TRAWL, page};

/// Makes a tree of files whose sizes differ, some of them old, and indexes it.
fn site(label: &str) -> Option<Site> {
    let site = Site::empty(label, TRAWL)?;
    for number in 0..30 {
        let name = format!(
            "d{}/e{}/file-{number}.{}",
            number % 3,
            number % 2,
            ["c", "txt"][number % 2]
        );
        site.write(name, vec![b'x'; 4096 * (number + 1) + number]);
    }
    site.write("top file", vec![b'y'; 1_500_000]);
    std::fs::hard_link(site.path("top file"), site.path("zz again")).expect("our own");
    std::os::unix::fs::symlink("top file", site.path("link")).expect("our own");
    for (option, names) in [
        // Neither read nor modified for long.
        (
            "-am",
            &["d0/e0/file-0.c", "d0/e0/file-6.c", "d1/e1/file-1.txt"][..],
        ),
        // Read lately.
        ("-m", &["d2/e0/file-2.c"]),
    ] {
        for name in names {
            let words = [option, "-d", "2001-02-03 04:05:06", name];
            gnu("touch", words, &site.tree(), &Identity::Ourselves).expect_code(0);
        }
    }
    site.index();
    Some(site)
}

/// Returns what find prints about the tree, line by line.
fn find(site: &Site, words: &[&str]) -> Vec<String> {
    let tree = site.text("");
    let words = [&[&tree[..]], words].concat();
    let ran = gnu("find", words, &site.tree(), &Identity::Ourselves).expect_code(0);
    ran.text().lines().map(str::to_owned).collect()
}

#[test]
fn files_and_directories_are_those_of_find_and_du() {
    let Some(site) = site("report-files") else {
        return;
    };
    let tree = site.text("");
    let page = page(&site, &["-n", "10", &tree], 0);
    let files = page.section("files");
    // One name of a file with several.
    let mut expected: Vec<(u64, String)> = find(&site, &["!", "-type", "d", "-printf", "%b %p\n"])
        .iter()
        .map(|line| line.split_once(' ').expect("two words"))
        .filter(|(_, path)| !path.ends_with("/zz again"))
        .map(|(blocks, path)| {
            (
                512 * blocks.parse::<u64>().expect("a number"),
                path.to_owned(),
            )
        })
        .collect();
    expected.sort_by(|a, b| b.cmp(a));
    let rows = files.rows("Largest files");
    assert_eq!(rows.len(), 10);
    for (row, (bytes, path)) in rows.iter().zip(&expected) {
        assert_eq!(&row[0], path);
        assert_size(&row[1], *bytes);
    }
    let mut times = find(
        &site,
        &["!", "-type", "d", "-printf", "%T@ %TY-%Tm-%Td %TH:%TM\n"],
    );
    times.sort_by(|a, b| {
        let time = |line: &str| {
            line.split(' ')
                .next()
                .and_then(|time| time.parse::<f64>().ok())
        };
        time(a).partial_cmp(&time(b)).expect("numbers")
    });
    let shown = |line: &String| line.split_once(' ').expect("a time").1.to_owned();
    let oldest: Vec<String> = times.iter().take(4).map(shown).collect();
    let rows = files.rows("Files not modified for longest");
    let found: Vec<String> = rows.iter().take(4).map(|row| row[3].clone()).collect();
    assert_eq!(found, oldest);
    let newest = times.last().map(shown).expect("files");
    assert_eq!(files.rows("Files modified last")[0][3], newest);

    let ran = gnu("du", ["-B1", &tree[..]], &site.tree(), &Identity::Ourselves).expect_code(0);
    let text = ran.text();
    let space: BTreeMap<&str, u64> = text
        .lines()
        .map(|line| line.split_once('\t').expect("two words"))
        .map(|(bytes, path)| (path, bytes.parse().expect("a number")))
        .collect();
    let directories = page.section("directories");
    let rows = directories.rows("Largest directories");
    assert_eq!(rows.len(), space.len());
    assert_eq!(rows[0][0], tree);
    assert_eq!(rows[0][2], "100 %");
    for row in rows {
        let bytes = space
            .get(&row[0][..])
            .copied()
            .unwrap_or_else(|| panic!("{row:?}"));
        assert_size(&row[1], bytes);
    }
    assert_eq!(directories.pictures, 1);
    assert!(directories.commands[0].ends_with(&format!(" --dirs -n 10 {tree}")));
}

#[test]
fn groups_kinds_and_cold_data_are_those_of_find() {
    let Some(site) = site("report-kinds") else {
        return;
    };
    let tree = site.text("");
    let page = page(&site, &[&tree], 0);
    let kinds = page.section("kinds");
    let count = |words: &[&str]| find(&site, words).len().to_string();
    let entries = |caption: &str, name: &str| {
        let rows = kinds.rows(caption).iter().find(|row| row[0] == name);
        rows.unwrap_or_else(|| panic!("{name}: {:?}", kinds.rows(caption)))[4].clone()
    };
    assert_eq!(entries("Types", "files"), count(&["-type", "f"]));
    assert_eq!(entries("Types", "directories"), count(&["-type", "d"]));
    assert_eq!(
        entries("Extensions of regular files", ".txt"),
        count(&["-name", "*.txt"])
    );
    let old = count(&["-type", "f", "-mtime", "+1825"]);
    assert_eq!(
        entries("Time since regular files were modified", "≥ 5 years"),
        old
    );

    let sum = |words: &[&str]| -> (u64, usize) {
        let words = [&["-type", "f"], words, &["-printf", "%b\n"]].concat();
        let blocks = find(&site, &words);
        let blocks = blocks
            .iter()
            .map(|blocks| blocks.parse::<u64>().expect("a number"));
        (512 * blocks.clone().sum::<u64>(), blocks.count())
    };
    let owner = gnu(
        "stat",
        ["-c", "%U", &tree],
        &site.tree(),
        &Identity::Ourselves,
    )
    .text();
    let owners = page.section("owners").rows("Owners");
    assert_eq!((owners.len(), &owners[0][0][..]), (1, owner.trim()));
    assert_eq!(owners[0][2], "100 %");

    let old = ["-atime", "+365", "-mtime", "+365"];
    let cold = page.section("cold");
    for row in cold.rows("Directories with most cold data") {
        let place = match &row[0][..] {
            "(files here)" => continue,
            name => format!("{tree}/{name}/*"),
        };
        let (all, number) = sum(&["-path", &place]);
        let (bytes, files) = sum(&[&["-path", &place], &old[..]].concat());
        assert_size(&row[1], bytes);
        assert_size(&row[3], all);
        assert_eq!(row[4..], [files.to_string(), number.to_string()], "{row:?}");
    }
    let rows = cold.rows("Directories with most cold data");
    assert_eq!((rows.len(), &rows[0][0][..]), (4, "d0"));
    let (files, all) = (sum(&old).1, sum(&[]).1);
    assert!(
        cold.text
            .contains(&format!("cold, in {files} of {all} files.")),
        "{}",
        cold.text
    );
    assert_eq!(files, 3);
    assert!(
        cold.commands[0].starts_with("trawl sql "),
        "{:?}",
        cold.commands
    );
}

#[test]
fn growth_and_changes_are_those_between_snapshots() {
    let Some(site) = site("report-growth") else {
        return;
    };
    let tree = site.text("");
    let du = || -> u64 {
        let ran = gnu(
            "du",
            ["-sB1", &tree[..]],
            &site.tree(),
            &Identity::Ourselves,
        );
        let text = ran.expect_code(0).text();
        let bytes = text.split('\t').next().expect("a number");
        bytes.parse().expect("a number")
    };
    let only = page(&site, &[&tree], 0);
    assert!(
        only.section("changes")
            .text
            .contains("no snapshot before to compare with")
    );
    assert_eq!(only.section("growth").pictures, 0);
    let before = du();
    site.write("d1/new", vec![b'n'; 3_000_000]);
    std::fs::remove_file(site.path("d2/e0/file-2.c")).expect("our own");
    std::fs::rename(site.path("d0/e0/file-0.c"), site.path("moved")).expect("our own");
    site.index();
    let after = du();
    let page = page(&site, &["-n", "3", &tree], 0);
    let growth = page.section("growth");
    assert_eq!(growth.pictures, 1);
    let rows = growth.rows("Snapshots");
    assert_eq!(rows.len(), 2);
    assert_size(&rows[0][1], before);
    assert_size(&rows[1][1], after);
    assert_size(&rows[1][2], after - before);
    let changes = page.section("changes");
    // The directories of the three files changed, too.
    assert!(
        changes.text.contains("1 created, 1 deleted, "),
        "{}",
        changes.text
    );
    assert!(
        changes.text.contains(" changed, 1 moved; +"),
        "{}",
        changes.text
    );
    let rows = changes.rows("Largest changes");
    assert_eq!(rows.len(), 3);
    assert_eq!(
        (&rows[0][0], &rows[0][2][..]),
        (&format!("{tree}/d1/new"), "created")
    );
    assert_eq!(
        (&rows[1][0], &rows[1][2][..]),
        (&format!("{tree}/d2/e0/file-2.c"), "deleted")
    );
    assert!(rows[1][1].starts_with('−'));
}

#[test]
fn duplicates_are_files_of_the_same_size() {
    let Some(site) = site("report-duplicates") else {
        return;
    };
    for name in ["a/same", "b/same", "c/other"] {
        site.write(name, vec![b'd'; 1 << 21]);
    }
    site.index();
    let tree = site.text("");
    let page = page(&site, &["--sections", "duplicates", &tree], 0);
    let section = page.section("duplicates");
    let names = |caption: &str| -> Vec<String> {
        section
            .rows(caption)
            .iter()
            .map(|row| row[0].clone())
            .collect()
    };
    let path = |name: &str| format!("{tree}/{name}");
    assert_eq!(names("Same size and name"), ["a/same", "b/same"].map(path));
    assert_eq!(
        names("Same size"),
        ["a/same", "b/same", "c/other"].map(path)
    );
    let group = &section.rows("Same size")[0][1..];
    assert_eq!(group, ["2.0 MiB", "3", "4.0 MiB"]);
    assert_eq!(page.sections.len(), 1);
}

#[test]
fn the_indexed_trees_are_named_once() {
    let Some(site) = site("report-sources") else {
        return;
    };
    // No path: all trees.
    let page = page(&site, &[], 0);
    let tree = site.text("");
    let rows = page.section("sources").rows("Indexed trees");
    assert_eq!(rows.len(), 1);
    let entries = find(&site, &[]).len().to_string();
    assert_eq!(rows[0][..2], [tree.clone(), entries]);
    assert_eq!(page.title, page.heading);
    assert!(page.title.contains(&tree), "{}", page.title);
    for section in &page.sections {
        assert!(!section.commands.is_empty(), "{}", section.name);
        assert!(section.text.contains("As of "), "{}", section.name);
        assert!(
            section.text.contains("Nothing is missing."),
            "{}",
            section.name
        );
    }
    assert_eq!(page.sections.len(), 9);
    assert!(
        page.policy
            .starts_with("default-src 'none'; style-src 'unsafe-inline'")
    );
}

#[test]
fn the_command_lines_give_the_same() {
    let Some(site) = site("report-commands") else {
        return;
    };
    site.index();
    let page = page(&site, &["--no-wait"], 0);
    for section in &page.sections {
        for line in section
            .commands
            .iter()
            .filter(|line| !line.starts_with("trawl sql"))
        {
            let mut command = Identity::Ourselves.command("sh");
            let program = site.trawl.to_str().expect("text");
            let line = line.replacen("trawl", program, 1);
            command
                .args(["-c", &line])
                .env("TRAWL_INDEX", site.scratch.join("index"));
            let ran = trawl_testkit::oracle::run(&mut command).expect_code(0);
            assert!(ran.stderr.is_empty(), "{ran}");
        }
    }
    let names = page
        .section("files")
        .rows("Largest files")
        .iter()
        .map(|row| &row[0]);
    let ran = site
        .command(&Identity::Ourselves)
        .args(["top", "-0", "-n", "20"])
        .arg(site.tree())
        .output();
    let top = String::from_utf8(ran.expect("trawl runs").stdout).expect("text");
    let top: Vec<&str> = top.split_terminator('\0').collect();
    assert_eq!(names.collect::<Vec<_>>(), top);
}
