//! Questions about one group read few rows; the answers are those of the computation that reads all
//! of them: `trawl groups list`, which adds up every group, and `trawl groups explain`, which is
//! asked about every file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, FileTimes};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::prng::Prng;

use crate::site::{Bytes, Site, bytes, path_of, paths};

const FOLDERS: &[&str] = &[
    "a", "b b", "CD1", "disc 2", ".git", "debian", "Photos", "usr", "share", "tool",
];
const FILES: &[&str] = &[
    "Makefile",
    "control",
    "x.c",
    "one.mp3",
    "cover.jpg",
    "p1.jpg",
    "p2.JPG",
    "p1.xmp",
    "notes.txt",
    "tool",
    "Cargo.toml",
    "one.wav.CUE",
];

/// Fills a tree: projects in projects, albums on discs, photos of several days, packages whose lists
/// name files, directories and what is not there, and files that were moved by hand.
fn plant(site: &Site, prng: &mut Prng) {
    let mut folders = vec![site.tree()];
    for _ in 0..30 {
        let folder = prng.pick(&folders).join(prng.word(FOLDERS));
        fs::create_dir_all(&folder).unwrap();
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    for folder in &folders {
        for _ in 0..prng.below(6) {
            let path = folder.join(prng.word(FILES));
            if path.is_dir() {
                continue;
            }
            fs::write(&path, "x").unwrap();
            let time = Duration::from_secs(1_600_000_000 + 3600 * prng.below(60));
            let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + time);
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_times(times).unwrap();
        }
    }
    fs::create_dir_all(site.tree().join("usr/bin")).unwrap();
    fs::write(site.tree().join("usr/bin/tool"), "x").unwrap();
    symlink("usr/bin", site.tree().join("bin")).unwrap();
    packages(site, prng, &folders);
    for _ in 0..4 {
        let to = prng.word(&["mine", "a", "tool"]);
        let what = prng.pick(&folders).join(prng.word(FILES));
        let what = match what.exists() {
            true => what,
            false => what.parent().unwrap().to_owned(),
        };
        if what != site.tree() {
            let mut edit = site.command(&Identity::Ourselves, &["groups", "edit", "--to", to]);
            oracle::run(edit.arg(what)).expect_code(0);
        }
    }
}

/// Writes lists of packages as dpkg(1) does, with a diversion.
fn packages(site: &Site, prng: &mut Prng, folders: &[PathBuf]) {
    let info = site.tree().join("var/lib/dpkg/info");
    fs::create_dir_all(&info).unwrap();
    let inside = |path: &PathBuf| {
        let below = path.strip_prefix(site.tree()).unwrap();
        format!("/{}\n", below.to_str().unwrap())
    };
    for name in ["tool", "base-files", "a:amd64", "docs"] {
        let mut list = String::from("/.\n/bin\n/bin/tool\n");
        for _ in 0..prng.below(5) {
            let folder = prng.pick(folders);
            list.push_str(&inside(folder));
            list.push_str(&inside(&folder.join(prng.word(FILES))));
        }
        fs::write(info.join(format!("{name}.list")), list).unwrap();
    }
    let from = inside(&prng.pick(folders).join("notes.txt"));
    let to = inside(&prng.pick(folders).join("x.c"));
    let diversions = format!("{from}{to}docs\n");
    fs::write(site.tree().join("var/lib/dpkg/diversions"), diversions).unwrap();
}

/// Returns the group of each file, by `groups explain`.
fn explained(site: &Site) -> BTreeMap<Bytes, (String, Bytes)> {
    let mut command = site.command(&Identity::Ourselves, &["groups", "explain", "--json"]);
    let files = site.files(&Identity::Ourselves);
    command.args(files.iter().map(|file| path_of(file)));
    let ran = oracle::run(&mut command).expect_code(0);
    let lines = ran.text();
    let rows = lines.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let group = (text("group_id"), text("group_name").into_bytes());
        (text("path").into_bytes(), group)
    });
    rows.collect()
}

/// Returns the files of the group that `find` finds; `None` if it refuses the word.
fn found(site: &Site, word: &str) -> Option<BTreeSet<Bytes>> {
    let mut find = site.command(&Identity::Ourselves, &["find"]);
    find.arg(site.tree()).args(["-in-group", word, "-print0"]);
    let ran = oracle::run(&mut find);
    let is_refused = ran.stderr.starts_with(b"find: ") && ran.stdout.is_empty();
    match is_refused {
        true => None,
        false => {
            let ran = ran.expect_code(0);
            Some(paths(&ran.stdout).into_iter().collect())
        }
    }
}

#[test]
fn few_rows_give_the_answers_of_all_rows() {
    for seed in 1..=10 {
        let site = Site::new("groups-few-rows");
        plant(&site, &mut Prng::new(seed));
        site.index();
        let explained = explained(&site);
        let mut members: BTreeMap<String, BTreeSet<Bytes>> = BTreeMap::new();
        let mut named: BTreeMap<Bytes, BTreeSet<String>> = BTreeMap::new();
        for (path, (id, name)) in &explained {
            members.entry(id.clone()).or_default().insert(path.clone());
            named.entry(name.clone()).or_default().insert(id.clone());
        }
        // The list adds up the same groups from all rows.
        let listed = site.groups(&Identity::Ourselves, &[]);
        let counts = listed.values().map(|group| {
            let files = group.fields["files"].as_u64().unwrap();
            (group.id.clone(), usize::try_from(files).unwrap())
        });
        let counts: BTreeMap<String, usize> = counts.collect();
        let expected = members.iter().map(|(id, all)| (id.clone(), all.len()));
        assert_eq!(counts, expected.collect(), "seed {seed}");
        for (id, expected) in &members {
            let shown = site.members(&Identity::Ourselves, id);
            let shown: BTreeSet<Bytes> = shown.into_iter().collect();
            assert_eq!(&shown, expected, "seed {seed}: show {id} {:?}", listed[id]);
            assert_eq!(
                found(&site, id).as_ref(),
                Some(expected),
                "seed {seed}: {id}"
            );
        }
        for (name, ids) in &named {
            let word = std::str::from_utf8(name).unwrap();
            let expected = match ids.len() {
                1 => ids.first().map(|id| members[id].clone()),
                _ => None,
            };
            assert_eq!(found(&site, word), expected, "seed {seed}: {word}");
        }
        assert_eq!(found(&site, "no such group"), None);
        // The files of a file's group, by the file.
        for path in explained.keys().take(8) {
            let mut find = site.command(&Identity::Ourselves, &["find"]);
            find.arg(site.tree())
                .arg("-group-of")
                .arg(path_of(path))
                .arg("-print0");
            let ran = oracle::run(&mut find);
            let ours: BTreeSet<Bytes> = paths(&ran.stdout).into_iter().collect();
            assert_eq!(
                ours,
                members[&explained[path].0],
                "seed {seed}: {}",
                path.escape_ascii()
            );
        }
    }
}

#[test]
fn an_album_may_begin_above_what_is_indexed() {
    let site = Site::new("groups-above");
    let track = site.write("Blue/CD1/one.mp3");
    site.index_of(&site.tree().join("Blue/CD1"));
    let listed = site.groups(&Identity::Ourselves, &[]);
    let album = listed.values().next().unwrap();
    assert_eq!((listed.len(), &album.name[..]), (1, "Blue"));
    for word in [&album.id, &album.name] {
        let shown = site.members(&Identity::Ourselves, word);
        assert_eq!(shown, [bytes(&track)], "{word}");
    }
}

#[test]
fn groups_are_joined_and_narrowed() {
    let site = Site::new("groups-joined");
    for file in [
        "one/Makefile",
        "one/src/x.c",
        "two/Makefile",
        "two/y.c",
        "three/x.c",
    ] {
        site.write(file);
    }
    site.index();
    let ask = |words: &[&str]| -> Vec<Bytes> {
        let mut find = site.command(&Identity::Ourselves, &["find", "."]);
        let ran = oracle::run(find.args(words).arg("-print0")).expect_code(0);
        paths(&ran.stdout)
    };
    let of = |names: &[&str]| -> Vec<Bytes> {
        names
            .iter()
            .map(|name| bytes(&PathBuf::from(name)))
            .collect()
    };
    let either = [
        "(",
        "-in-group",
        "one",
        "-o",
        "-in-group",
        "two",
        ")",
        "-name",
        "*.c",
    ];
    assert_eq!(ask(&either), of(&["./one/src/x.c", "./two/y.c"]));
    // A file outside of both is found by the other side of -o, and by the opposite.
    let wide = ["(", "-in-group", "one", "-o", "-name", "x.c", ")"];
    assert_eq!(
        ask(&wide),
        of(&["./one/Makefile", "./one/src/x.c", "./three/x.c"])
    );
    let opposite = [
        "-type",
        "f",
        "!",
        "-in-group",
        "one",
        "!",
        "-in-group",
        "two",
    ];
    assert_eq!(ask(&opposite), of(&["./three/x.c"]));
    let both = ["-in-group", "one", "-in-group", "two"];
    assert_eq!(ask(&both), of(&[]));
}
