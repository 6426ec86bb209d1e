//! The pack of manifests is a shortcut: answers are the same with it, without it and with a damaged
//! one, for root and for others.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::{Site, files_below};

const USER: u32 = 4711;

const QUESTIONS: [&str; 14] = [
    "ls -la .",
    "ls -R .",
    "ls -l team",
    "stat . team/closed/file",
    "find . -maxdepth 1",
    "find . -ls",
    "find homes/4711 -size -2",
    "du -s .",
    "du -s team homes/4711",
    "du -a .",
    "du --inodes homes",
    "locate file",
    "stats .",
    "getfattr -R -d .",
];

/// Creates directories that different users may enter, and files with several names.
fn site() -> Site {
    let site = Site::empty("pack");
    let mode = |name: &str, mode| {
        let path = site.tree().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("file"), name.repeat(500)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    mode("team", 0o755);
    mode("team/closed", 0o700);
    mode("team/closed/deep", 0o755);
    mode("team/group", 0o750);
    mode("team/passed", 0o711);
    for user in 4700..4720 {
        let home = mode(&format!("homes/{user}"), 0o700);
        chown(&home, Some(user), Some(user)).unwrap();
    }
    mode("homes", 0o711);
    let link = |old: &str, new: &str| {
        std::fs::hard_link(site.tree().join(old), site.tree().join(new)).unwrap();
    };
    link("team/file", "team/again");
    link("team/closed/file", "homes/4711/other");
    link("team/file", "homes/4712/third");
    site.index();
    site
}

fn pack(site: &Site) -> PathBuf {
    let mut files = files_below(&site.index_dir()).into_iter();
    let pack = files.find(|file| file.extension().is_some_and(|e| e == "pack"));
    pack.expect("a pack")
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
    let answers = QUESTIONS.iter().map(ask);
    answers
        .map(|ran| format!("{ran}\n{}", ran.text()))
        .collect()
}

#[test]
fn answers_are_the_same_with_and_without_a_pack() {
    if let Some(skip) = without_root("an index for everyone") {
        return skip.say();
    }
    let site = site();
    site.scratch
        .install(std::path::Path::new(env!("CARGO_BIN_EXE_trawl")));
    let pack = pack(&site);
    let bytes = std::fs::read(&pack).unwrap();
    for who in [Identity::Ourselves, Identity::user(USER)] {
        let with = answers(&site, &who);
        let damaged = [
            &bytes[..bytes.len() / 2],
            b"x",
            &bytes[bytes.len() / 2 + 1..],
        ]
        .concat();
        std::fs::write(&pack, damaged).unwrap();
        assert_eq!(answers(&site, &who), with);
        std::fs::remove_file(&pack).unwrap();
        assert_eq!(answers(&site, &who), with);
        std::fs::write(&pack, &bytes).unwrap();
    }
    // As root, the pack is read instead of the manifests.
    let with = answers(&site, &Identity::Ourselves);
    for file in files_below(&site.index_dir()) {
        if file.extension().is_some_and(|e| e == "manifest") {
            std::fs::remove_file(file).unwrap();
        }
    }
    assert_eq!(answers(&site, &Identity::Ourselves), with);
    for line in ["du -s .", "du -s team", "du -s --inodes homes team"] {
        assert_eq!(site.run(line).text(), site.gnu(line).text(), "{line}");
    }
}
