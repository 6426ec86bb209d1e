//! The bundle of small segments is a shortcut: answers are the same with it, without it and with
//! one whose files are missing, for root and for others. A scan that finds nothing new leaves the
//! bundle unchanged.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::{Site, files_below};

const USER: u32 = 4711;

const QUESTIONS: [&str; 33] = [
    "find .",
    "find homes -maxdepth 1",
    "find homes/4711/deep -ls",
    "find . -name *.c",
    "find . -iname FILE*",
    "find . -path *deep/f*",
    "find . -regex .*/47[0-9]*/file",
    "find . -size +3",
    "find . -type d -links +2",
    "find . -xattrname user.note",
    "find . -depth -newer team/file",
    "find . -empty",
    "find . -samefile team/file",
    "ls -lR .",
    "ls -la homes/4711",
    "stat homes/4711 homes/4712/file team/closed",
    "du .",
    "du -s homes",
    "du -s --inodes homes team",
    "du -al homes/4720",
    "stats .",
    "stats --by owner .",
    "stats --by ext homes",
    "top -n 1000 .",
    "top --by dirs -n 7 .",
    "duplicates .",
    "locate file",
    "locate -i *.C",
    "locate -c deep",
    "locate /4711/",
    "getfattr -R -d .",
    "getfattr -d -m - homes/4712/file",
    "getfattr -R -d -m - homes/4711",
];

/// Creates homes that only their owners may enter, in a directory that may be traversed but not
/// listed, so that they lie behind barriers; directories of groups; files with several names;
/// attributes.
fn site(label: &str) -> Site {
    let site = Site::empty(label);
    let mode = |name: &str, mode, owner| {
        let path = site.tree().join(name);
        std::fs::create_dir_all(&path).unwrap();
        for (file, times) in [("file", 500), ("File.c", 3), (".hidden", 0)] {
            std::fs::write(path.join(file), name.repeat(times)).unwrap();
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
    };
    mode("team", 0o755, 0);
    mode("team/closed", 0o700, 0);
    mode("team/passed", 0o711, 0);
    for user in 4700..4740 {
        mode(&format!("homes/{user}"), 0o700, user);
        mode(&format!("homes/{user}/deep"), 0o755, user);
        mode(&format!("team/closed/{user}"), 0o750, user);
    }
    mode("homes", 0o711, 0);
    let link = |old: &str, new: &str| {
        std::fs::hard_link(site.tree().join(old), site.tree().join(new)).unwrap();
    };
    link("team/file", "team/again");
    link("team/closed/file", "homes/4711/other");
    link("team/file", "homes/4712/third");
    for (path, name) in [
        ("homes/4711", "user.note"),
        ("homes/4712/file", "user.note"),
        ("homes/4713/deep/file", "trusted.note"),
        ("team/closed/4714", "user.note"),
        ("team/file", "user.note"),
    ] {
        set_attribute(&site.tree().join(path), name);
    }
    site.index();
    site
}

fn set_attribute(path: &Path, name: &str) {
    let value = b"its value";
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::lsetxattr(path, name, value, flags).expect("a file system with attributes");
}

fn private_dir(site: &Site) -> PathBuf {
    let mut found = files_below(&site.index_dir()).into_iter();
    let dir = found.find(|path| path.ends_with("private/data"));
    dir.expect("a directory for the owner alone")
}

/// Returns the files of the bundles in the index.
fn bundles(site: &Site) -> Vec<PathBuf> {
    let mut files = files_below(&private_dir(site));
    files.retain(|file| {
        file.extension()
            .is_some_and(|e| e == "parquet" || e == "names")
    });
    files
}

fn packs(site: &Site) -> Vec<PathBuf> {
    let mut files = files_below(&private_dir(site));
    files.retain(|file| file.extension().is_some_and(|e| e == "pack"));
    files
}

/// Returns the answer to each question, and its exit code.
fn answers(site: &Site, who: &Identity) -> Vec<String> {
    let program = site.scratch.join("trawl");
    let ask = |line: &&str| -> Ran {
        let mut command = who.command(&program);
        command.args(line.split(' ')).current_dir(site.tree());
        command.env("TRAWL_INDEX", site.index_dir());
        oracle::run(&mut command)
    };
    QUESTIONS
        .iter()
        .map(ask)
        .map(|ran| format!("{ran}\n{}", ran.text()))
        .collect()
}

/// Fails with the first line that differs.
#[track_caller]
fn check_same(with: &[String], without: &[String], label: &str) {
    for (question, (with, without)) in QUESTIONS.iter().zip(with.iter().zip(without)) {
        let mut lines = with.lines().zip(without.lines());
        let other = lines.find(|(with, without)| with != without);
        assert!(with == without, "{question} {label}: {other:?}");
    }
}

#[test]
fn answers_are_the_same_with_and_without_a_bundle() {
    if let Some(skip) = without_root("an index for everyone") {
        return skip.say();
    }
    let site = site("bundle");
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let (bundle, packs) = (bundles(&site), packs(&site));
    assert!(bundle.len() >= 4, "a bundle is expected: {bundle:?}");
    for line in [
        "find .",
        "find . -name *.c",
        "find . -size +3",
        "find . -links +1",
    ] {
        let sorted = |ran: Ran| {
            let mut lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(site.run(line)), sorted(site.gnu(line)), "{line}");
    }
    for line in ["du -s .", "du -s team", "du -s --inodes homes team"] {
        assert_eq!(site.run(line).text(), site.gnu(line).text(), "{line}");
    }
    for who in [Identity::Ourselves, Identity::user(USER)] {
        let with = answers(&site, &who);
        for gone in [&bundle[..], &bundle[..1], &packs[..]] {
            let bytes: Vec<_> = gone
                .iter()
                .map(|file| std::fs::read(file).unwrap())
                .collect();
            gone.iter()
                .for_each(|file| std::fs::remove_file(file).unwrap());
            check_same(&with, &answers(&site, &who), &format!("without {gone:?}"));
            for (file, bytes) in gone.iter().zip(bytes) {
                std::fs::write(file, bytes).unwrap();
            }
        }
    }
    // As root, only the bundle is read, not the small segments.
    let with = answers(&site, &Identity::Ourselves);
    let private = private_dir(&site);
    let mut lost = 0;
    for file in files_below(&site.index_dir()) {
        let is_home = file.to_string_lossy().contains("/data/b");
        if is_home
            && !file.starts_with(&private)
            && file.extension().is_some_and(|e| e == "parquet")
        {
            std::fs::remove_file(file).unwrap();
            lost += 1;
        }
    }
    assert!(lost > 40, "{lost} files behind barriers");
    check_same(
        &with,
        &answers(&site, &Identity::Ourselves),
        "with the bundle alone",
    );
}

#[test]
fn a_bundle_stays_while_its_segments_do() {
    if let Some(skip) = without_root("an index for everyone") {
        return skip.say();
    }
    let site = site("bundle-shared");
    let first = bundles(&site);
    assert!(!first.is_empty());
    site.index();
    assert_eq!(bundles(&site), first);
    // Two snapshots are kept: the bundle that only the first one has goes with it.
    std::fs::write(site.tree().join("homes/4703/new"), "new").unwrap();
    site.index();
    let both = bundles(&site);
    assert!(first.iter().all(|file| both.contains(file)) && both.len() > first.len());
    site.run("index --verify").expect_code(0);
    let found = site.run("find homes -name new");
    assert_eq!(found.text(), "homes/4703/new\n");
    site.index();
    let last = bundles(&site);
    assert!(first.iter().all(|file| !last.contains(file)), "{last:?}");
    site.run("index --verify").expect_code(0);
    // Questions about the past are answered, too.
    let past = site.run("--at=-1 find homes -name new");
    assert_eq!(past.text(), "homes/4703/new\n", "{past}");
}

#[test]
fn a_damaged_bundle_is_told_and_made_again() {
    if let Some(skip) = without_root("an index for everyone") {
        return skip.say();
    }
    let site = site("bundle-damaged");
    let all = site.run("find . -ls").text();
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 1);
    let flip = |bytes: &mut Vec<u8>| {
        let at = bytes.len() - 20;
        bytes[at] ^= 0x40;
    };
    // If the bundle is too short, the small segments are read.
    for (damage, is_done_without) in [(&cut as &dyn Fn(&mut Vec<u8>), true), (&flip, false)] {
        let mut files = bundles(&site).into_iter();
        let entries = files.find(|file| file.to_string_lossy().contains(".entries."));
        let entries = entries.expect("a table of entries");
        let mut bytes = std::fs::read(&entries).unwrap();
        damage(&mut bytes);
        std::fs::write(&entries, bytes).unwrap();
        let asked = site.run("find . -ls");
        match is_done_without {
            true => assert_eq!(asked.text(), all),
            false => {
                let name = entries.file_name().unwrap().to_string_lossy();
                assert!(asked.errors().contains(&*name), "{asked}");
                assert_ne!(asked.code, Some(0), "{asked}");
            }
        }
        let verified = site.run("index --verify");
        assert_eq!(verified.code, Some(2), "{verified}");
        site.run("index --rebuild-names").expect_code(0);
        assert_eq!(site.run("find . -ls").text(), all);
        site.run("index --verify").expect_code(0);
    }
}
