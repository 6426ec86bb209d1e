//! Random trees: every file is in exactly one group, which is the one that a naive computation finds
//! for it alone, and summaries are the sums and extremes that GNU find's attributes give.

use std::collections::BTreeMap;
use std::fs::{self, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::prng::Prng;

use crate::site::{Bytes, Group, Site, bytes, path_of};

const FOLDERS: &[&str] = &["a", "b b", "CD1", "disc 2", ".git", "debian", "Photos"];
const FILES: &[&str] = &[
    "Makefile",
    "control",
    "x.c",
    "one.mp3",
    "two.FLAC",
    "cover.jpg",
    "p1.jpg",
    "p2.JPG",
    "p3.mov",
    "p1.xmp",
    "p2.JPG.xmp",
    "p3.srt",
    "letter.pdf",
    "notes.txt",
    "-odd\n",
    "Cargo.toml",
];
const GAP: Duration = Duration::from_secs(6 * 3600);

/// Fills a tree.
fn plant(site: &Site, prng: &mut Prng) {
    let mut folders = vec![site.tree()];
    for _ in 0..25 {
        let folder = prng.pick(&folders).join(prng.word(FOLDERS));
        fs::create_dir_all(&folder).unwrap();
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    for folder in &folders {
        for _ in 0..prng.below(7) {
            let path = folder.join(prng.word(FILES));
            fs::write(&path, vec![b'x'; prng.below(5000) as usize]).unwrap();
            let time = Duration::from_secs(1_600_000_000 + 3600 * prng.below(30));
            let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + time);
            fs::File::options()
                .append(true)
                .open(&path)
                .unwrap()
                .set_times(times)
                .unwrap();
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.filter(|path| !path.is_dir()).collect()
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let name = name(path).to_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Returns the top of the file's project, looking at each directory from the top down.
fn project(root: &Path, file: &Path) -> Option<PathBuf> {
    let mut top = None;
    let above: Vec<&Path> = file
        .ancestors()
        .skip(1)
        .take_while(|dir| dir.starts_with(root))
        .collect();
    for dir in above.into_iter().rev() {
        let markers = ["Makefile", "Cargo.toml", "debian/control"];
        let is_marked = || markers.iter().any(|marker| dir.join(marker).is_file());
        if dir.join(".git").exists() || (top.is_none() && is_marked()) {
            top = Some(dir.to_owned());
        }
    }
    top
}

fn is_track(path: &Path) -> bool {
    has_ending(path, &[".mp3", ".flac"])
}

/// Returns the directory of the file's album.
fn album(file: &Path) -> Option<PathBuf> {
    let dir = file.parent().unwrap();
    let is_beside = has_ending(file, &[".jpg", ".txt", ".pdf"]);
    let has_tracks = files_in(dir).iter().any(|one| is_track(one));
    let is_disc = name(dir).starts_with("CD") || name(dir).starts_with("disc");
    (is_track(file) || is_beside && has_tracks).then(|| match is_disc {
        true => dir.parent().unwrap().to_owned(),
        false => dir.to_owned(),
    })
}

/// Returns the time of the first file of the file's event.
fn event(file: &Path) -> Option<SystemTime> {
    let time = |path: &Path| path.symlink_metadata().unwrap().modified().unwrap();
    let all = files_in(file.parent().unwrap());
    let is_photo = |path: &Path| has_ending(path, &[".jpg", ".mov"]) && album(path).is_none();
    let photos: Vec<&PathBuf> = all.iter().filter(|path| is_photo(path)).collect();
    let of = match is_photo(file) {
        true => file,
        false if has_ending(file, &[".xmp", ".srt"]) => {
            let stem = file.with_extension("");
            let is_same = |photo: &&&PathBuf| **photo == &stem || photo.with_extension("") == stem;
            photos.iter().find(is_same)?
        }
        false => return None,
    };
    let mut times: Vec<SystemTime> = photos.iter().map(|path| time(path)).collect();
    times.sort();
    let mut first = times[0];
    for pair in times.windows(2).filter(|pair| pair[1] <= time(of)) {
        if pair[1].duration_since(pair[0]).unwrap() > GAP {
            first = pair[1];
        }
    }
    Some(first)
}

/// Returns what tells the file's group from others: rule, directory and time.
fn naive(root: &Path, file: &Path) -> (String, PathBuf, Option<SystemTime>) {
    let dir = file.parent().unwrap().to_owned();
    if let Some(top) = project(root, file) {
        return ("projects".into(), top, None);
    }
    if let Some(album) = album(file) {
        return ("albums".into(), album, None);
    }
    match event(file) {
        Some(first) => ("events".into(), dir, Some(first)),
        None => ("directories".into(), dir, None),
    }
}

/// A file's size and time, as GNU find prints them.
fn attributes(site: &Site) -> BTreeMap<Bytes, (u64, String)> {
    let mut find = oracle::command("find");
    find.arg(site.tree())
        .args(["!", "-type", "d", "-printf", "%s %T+ %p\\0"]);
    let ran = oracle::run(&mut find);
    let rows = ran
        .stdout
        .split(|byte| *byte == 0)
        .filter(|row| !row.is_empty());
    let rows = rows.map(|row| {
        let text = std::str::from_utf8(row).unwrap();
        let mut parts = text.splitn(3, ' ');
        let size = parts.next().unwrap().parse().unwrap();
        let time = parts.next().unwrap().to_owned();
        (parts.next().unwrap().as_bytes().to_vec(), (size, time))
    });
    rows.collect()
}

/// Checks a group's summary against the attributes of its members.
fn check_summary(group: &Group, members: &[&(u64, String)]) {
    let sizes = || members.iter().map(|(size, _)| *size);
    let number = |name: &str| group.fields[name].as_u64();
    assert_eq!(number("files"), Some(members.len() as u64), "{group:?}");
    assert_eq!(number("size_sum_bytes"), Some(sizes().sum()), "{group:?}");
    assert_eq!(number("size_min_bytes"), sizes().min(), "{group:?}");
    assert_eq!(number("size_max_bytes"), sizes().max(), "{group:?}");
    let times = || members.iter().map(|(_, time)| time[..19].replace('+', "T"));
    let time = |name: &str| match &group.fields[name] {
        Value::String(text) => Some(text[..19].to_owned()),
        other => panic!("{name} is {other}"),
    };
    assert_eq!(time("mtime_min"), times().min(), "{group:?}");
    assert_eq!(time("mtime_max"), times().max(), "{group:?}");
}

#[test]
fn groups_of_random_trees_are_those_of_a_naive_computation() {
    for seed in 1..=12 {
        let site = Site::new("groups-naive");
        let mut prng = Prng::new(seed);
        plant(&site, &mut prng);
        site.index();
        let found = site.assignment(&Identity::Ourselves);
        // "Every file belongs to exactly one group": `assignment` refuses a file in two.
        let files: Vec<Bytes> = found.keys().cloned().collect();
        assert_eq!(files, site.files(&Identity::Ourselves), "seed {seed}");
        let mut ids = BTreeMap::new();
        let attributes = attributes(&site);
        let mut members: BTreeMap<String, Vec<&(u64, String)>> = BTreeMap::new();
        for (path, group) in &found {
            let expected = naive(&site.tree(), path_of(path));
            let place = PathBuf::from(group.place.clone().unwrap());
            let ours = (group.rule.clone(), place);
            let wanted = (expected.0.clone(), expected.1.clone());
            assert_eq!(ours, wanted, "seed {seed}: {}", path.escape_ascii());
            // Groups are the same exactly where the computation says so.
            let id = ids.entry(expected).or_insert_with(|| group.id.clone());
            assert_eq!(*id, group.id, "seed {seed}: {}", path.escape_ascii());
            members
                .entry(group.id.clone())
                .or_default()
                .push(&attributes[path]);
        }
        let distinct: std::collections::BTreeSet<&String> = ids.values().collect();
        assert_eq!(
            distinct.len(),
            ids.len(),
            "seed {seed}: two groups have one id"
        );
        for group in found.values() {
            check_summary(group, &members[&group.id]);
        }
    }
}

#[test]
fn ids_survive_another_index() {
    let site = Site::new("groups-ids");
    plant(&site, &mut Prng::new(99));
    site.index();
    let before = site.assignment(&Identity::Ourselves);
    fs::remove_dir_all(site.scratch.join("index")).unwrap();
    // A new directory comes before the others; nothing else changes.
    site.write("0/new");
    site.index();
    let mut after = site.assignment(&Identity::Ourselves);
    after.remove(&bytes(&site.tree().join("0/new")));
    let ids = |all: &BTreeMap<Bytes, Group>| -> Vec<(Bytes, String)> {
        all.iter()
            .map(|(path, group)| (path.clone(), group.id.clone()))
            .collect()
    };
    assert_eq!(ids(&after), ids(&before));
}
