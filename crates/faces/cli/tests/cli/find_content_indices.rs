//! Named indices over attributes of contents: values in order are those that a test of its own reads
//! from every file, whether packs know them or not, and nobody learns anything of files that they may
//! not read.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::XattrFlags;
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::find_keywords::{SECRETS, USERS, guarded, packs, sorted};
use crate::grep_text::SETTLED;
use crate::site::{Site, files_below, objects};
use crate::watch::Watched;

const FILES: usize = 60;
/// Titles of pages, with words in common.
const TITLES: [&str; 4] = [
    "The Goldberg Variations",
    "variations",
    "Gold",
    "goldberg-machines",
];

/// Creates plain texts of several lengths, and pages with titles.
fn populate(top: &Path) {
    for number in 0..FILES {
        let dir = top.join(format!("d{}", number % 5));
        fs::create_dir_all(&dir).unwrap();
        match number % 3 {
            0 => {
                let title = TITLES[number / 3 % TITLES.len()];
                let page = format!("<html><title>{title}</title><p>page {number}</p></html>\n");
                fs::write(dir.join(format!("f{number}.html")), page).unwrap();
            }
            _ => {
                let text = "a line\n".repeat(1 + number % 11);
                fs::write(dir.join(format!("f{number}.txt")), text).unwrap();
            }
        }
    }
}

/// Creates a tree whose files are old enough to be covered by packs.
fn settled(label: &str) -> Site {
    let site = Site::empty(label);
    populate(&site.tree());
    std::thread::sleep(SETTLED);
    site.run("index --quiet .").expect_code(0);
    site
}

const DEFINITIONS: [&str; 3] = [
    "length --kind ordered --on attr:lines",
    "exact --kind hashed --on attr:LINES",
    "titles --kind inverted --on attr:title",
];

fn define_all(site: &Site) {
    for definition in DEFINITIONS {
        site.run(&format!("index define {definition} --quiet ."))
            .expect_code(0);
    }
}

/// Returns the lengths of all texts, by looking at each file.
fn lengths(top: &Path) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    for path in files_below(top) {
        if path.extension().is_some_and(|ending| ending == "txt") {
            let lines = fs::read(&path).unwrap();
            let lines = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
            let below = path.strip_prefix(top).unwrap().to_str().unwrap();
            all.push((lines, format!("./{below}")));
        }
    }
    all.sort();
    all
}

fn shown(ran: &Ran) -> Vec<(String, String)> {
    let entry = |row: serde_json::Value| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("index_values"), text("path"))
    };
    objects(ran).into_iter().map(entry).collect()
}

/// Lengths of texts as `trawl index show` lists them.
fn shown_lengths(ran: &Ran) -> Vec<(u64, String)> {
    let entries = shown(ran).into_iter();
    let texts = entries.filter(|(_, path)| path.ends_with(".txt"));
    texts
        .map(|(value, path)| (value.parse().unwrap(), path))
        .collect()
}

#[track_caller]
fn compare(site: &Site, context: &str) {
    let all = lengths(&site.tree());
    for (words, least, most) in [
        ("length", 0, u64::MAX),
        ("length 3..5", 3, 5),
        ("length 9..", 9, u64::MAX),
        ("length ..2", 0, 2),
        ("length 4", 4, 4),
        ("length 5..3", 5, 3),
        ("exact 7", 7, 7),
    ] {
        let ran = site.run(&format!("index show {words} --json --in ."));
        let mut wanted = all.clone();
        wanted.retain(|(lines, _)| least <= *lines && *lines <= most);
        let mut found = shown_lengths(&ran);
        let is_ordered = found.windows(2).all(|two| two[0].0 <= two[1].0);
        assert!(is_ordered, "{words}: {context}: {ran}");
        found.sort();
        assert_eq!(found, wanted, "{words}: {context}: {ran}");
        assert_eq!(ran.code, Some(0), "{words}: {context}: {ran}");
    }
    for (word, titles) in [
        ("goldberg", &TITLES[..][..1]),
        ("variations", &TITLES[..2]),
        ("gold", &TITLES[2..3]),
        ("goldberg-machines", &TITLES[3..]),
        ("machine", &[]),
    ] {
        let ran = site.run(&format!("index show titles {word} --json --in ."));
        let found: BTreeSet<String> = shown(&ran).into_iter().map(|(title, _)| title).collect();
        let mut wanted: BTreeSet<String> = titles.iter().map(|one| one.to_lowercase()).collect();
        if word == "goldberg" {
            wanted.insert(TITLES[3].to_owned());
        }
        assert_eq!(found, wanted, "{word}: {context}: {ran}");
    }
}

#[test]
fn values_are_those_of_every_file() {
    let site = settled("content-indices");
    define_all(&site);
    assert!(!packs(&site).is_empty(), "define makes packs");
    compare(&site, "defined");
    // Behind: packs do not know these files yet.
    let tree = site.tree();
    for number in (0..FILES).step_by(7) {
        let path = tree.join(format!("d{}/f{number}.txt", number % 5));
        match number % 2 {
            0 => drop(fs::remove_file(&path)),
            _ => fs::write(&path, "a line\n".repeat(4)).unwrap(),
        }
    }
    fs::write(tree.join("odd\n\u{e4}.txt"), "a line\n").unwrap();
    site.run("index --quiet .").expect_code(0);
    compare(&site, "changed");
    // Damaged.
    for (at, path) in packs(&site).iter().enumerate() {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        match at % 2 {
            0 => bytes[middle] ^= 0x10,
            _ => bytes.truncate(middle),
        }
        fs::write(path, bytes).unwrap();
    }
    compare(&site, "damaged");
    assert_ne!(site.run("index --verify").code, Some(0));
    site.run("index --quiet .").expect_code(0);
    site.run("index --verify").expect_code(0);
    compare(&site, "made again");
    // Without packs, every file is read.
    site.run("index --quiet --no-keywords .").expect_code(0);
    compare(&site, "without packs");
    let list = site.run("index list").text();
    assert!(list.lines().all(|line| line.ends_with("behind")), "{list}");
}

#[test]
fn definitions_over_contents_are_made_listed_and_dropped() {
    let site = settled("content-indices-defined");
    for (line, why) in [
        ("define a --kind ordered --on attr:", "invalid attribute"),
        ("define a --kind ordered --on attr:a/b", "invalid attribute"),
        ("define a --kind ordered --on attr:a,size", "only attribute"),
        ("define a --kind ordered --on size,attr:a", "only attribute"),
        (
            "define a --kind inverted --on size",
            "use ordered or hashed",
        ),
        ("define a --kind ordered --on name", "name sidecar"),
        ("define a --kind ordered --on xattr:a", "full name"),
        ("define a --kind inverted --on xattr:user.a", "use ordered"),
        (
            "define a --kind hashed --on relation:includes",
            "--kind graph",
        ),
        ("define a --kind graph --on attr:a", "relation:KIND"),
        ("define a --kind graph --on relation:A", "lower-case"),
        (
            "define a --kind graph --on relation:includes,links-to",
            "write each",
        ),
        (
            "define a --kind graph --on relation:same-content",
            "trawl related",
        ),
    ] {
        let ran = site.run(&format!("index {line} ."));
        assert_eq!(ran.code, Some(2), "{line}: {ran}");
        assert!(ran.errors().contains(why), "{line}: {ran}");
    }
    assert_eq!(site.run("index list").text(), "");
    let ran = site
        .run("index define length --kind ordered --on attr:lines .")
        .expect_code(0);
    assert!(ran.text().contains("1 named index"), "{ran}");
    assert!(ran.text().contains("keywords of 60 files"), "{ran}");
    site.run("index define exact --kind hashed --on attr:lines -q .")
        .expect_code(0);
    let listed = objects(&site.run("index list --json"));
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["attributes_on"], "attr:lines");
    assert_eq!(listed[0]["rows_covered"], FILES);
    assert_eq!(listed[0]["is_current"], true);
    assert!(listed[0]["rows_left"].is_null());
    for (name, value, why) in [("exact", "3..4", "hashed"), ("length", "", "empty")] {
        let ran = site.trawl(&["index", "show", name, value]);
        assert_eq!(ran.code, Some(2), "{name} {value}: {ran}");
        assert!(ran.errors().contains(why), "{name} {value}: {ran}");
    }
    let uses = |tests: &[&str]| {
        let ran = site.trawl(&[&["find", "-D", "indices", "."][..], tests].concat());
        let said = ran.expect_code(0).errors();
        ["length", "exact"].map(|name| said.contains(&format!("named index {name} ")))
    };
    assert_eq!(uses(&["-attr", "lines>3"]), [true, false]);
    assert_eq!(uses(&["-attr", "Lines=3"]), [true, true]);
    assert_eq!(uses(&["-attr", "encoding"]), [false, false]);
    assert_eq!(uses(&["-size", "+1G"]), [false, false]);
    // Names, attributes and packs stay apart: --keywords goes on without named indices.
    for name in ["length", "exact"] {
        site.run(&format!("index drop {name} .")).expect_code(0);
    }
    assert_eq!(site.run("index list").text(), "");
    assert!(!packs(&site).is_empty());
    site.run("index --verify").expect_code(0);
}

/// A source of a trace has rows alone.
#[test]
fn a_recording_has_no_contents() {
    let site = crate::golden::recorded();
    let ran = site.run("index define a --kind ordered --on attr:lines -q /srv/project");
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("from a trace"), "{ran}");
    assert_eq!(site.run("index list").text(), "");
}

fn ask(site: &Site, user: u32, words: &[&str]) -> Ran {
    let mut line = Identity::user(user).command(site.scratch.join("trawl"));
    line.arg("index").args(words).current_dir("/");
    line.env("TRAWL_INDEX", site.index_dir());
    oracle::run(&mut line)
}

/// Each user sees the titles of the files that they may read, as GNU grep reads them, and no others.
#[test]
fn values_are_guarded_like_the_contents() {
    if let Some(skip) = without_root("other users' files") {
        return skip.say();
    }
    let site = guarded("content-indices-users", SECRETS[0]);
    let tree = site.tree().display().to_string();
    for kind in ["ordered", "hashed", "inverted"] {
        let line = format!("index define {kind} --kind {kind} --on attr:title --quiet .");
        site.run(&line);
    }
    for user in USERS {
        let who = Identity::user(user);
        for word in [SECRETS[0], "shared"] {
            let title = format!("<title>{word}</title>");
            let gnu = oracle::gnu("grep", ["-rl", &title, &tree], Path::new("/"), &who);
            for kind in ["ordered", "hashed", "inverted"] {
                let ran = ask(&site, user, &["show", kind, word, "--in", &tree, "-0"]);
                let paths = ran.text().replace('\0', "\n");
                let mut paths: Vec<&str> = paths.lines().collect();
                paths.sort_unstable();
                assert_eq!(paths, sorted(&gnu), "{user} {kind} {word}: {ran}");
                assert_eq!(
                    ran.code,
                    Some(1),
                    "files that cannot be read are named: {ran}"
                );
            }
        }
    }
}

/// Two trees differ in nothing but the titles of files that not all may read.
#[test]
fn strangers_see_nothing_of_closed_files() {
    if let Some(skip) = without_root("other users' files") {
        return skip.say();
    }
    let look = |secret: &str| {
        let site = guarded(&format!("content-indices-{secret}"), secret);
        let tree = site.tree().display().to_string();
        site.run("index define titles --kind ordered --on attr:title --quiet .");
        let stranger = |words: &[&str]| {
            let ran = ask(&site, 4999, words);
            let told = format!("{}{}", ran.text(), ran.errors());
            let mut lines: Vec<String> = told.lines().map(|line| line.replace(&tree, "")).collect();
            lines.sort_unstable();
            lines
        };
        let list = stranger(&["list"]);
        assert_eq!(list.len(), 1, "{list:?}");
        let shown = stranger(&["show", "titles", "--in", &tree]);
        assert!(
            shown.iter().any(|line| line.starts_with("shared\t")),
            "{shown:?}"
        );
        let named = SECRETS.map(|secret| stranger(&["show", "titles", secret, "--in", &tree]));
        (list, shown, named)
    };
    assert_eq!(look(SECRETS[0]), look(SECRETS[1]));
}

/// A daemon keeps the packs of a named index up to date; meanwhile changed files are read.
#[test]
fn values_under_a_daemon_are_current() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    populate(&watched.root());
    watched.trawl(&["index", "--quiet"]).expect_code(0);
    let root = watched.root().to_str().unwrap().to_owned();
    let program = |watched: &Watched, words: &[&str]| {
        let mut line = watched.program();
        oracle::run(line.args(words))
    };
    for definition in [
        "length --kind ordered --on attr:lines",
        "links --kind graph --on relation:links-to",
        "notes --kind ordered --on xattr:user.note",
    ] {
        let define = format!("index define {definition} --quiet");
        let words: Vec<&str> = define.split(' ').chain([&root[..]]).collect();
        program(&watched, &words).expect_code(0);
    }
    watched.start(|_| {});
    watched.settle();
    let compare = |watched: &Watched, context: &str| {
        let ran = program(
            watched,
            &["index", "show", "length", "--json", "--in", &root],
        );
        let mut found = shown_lengths(&ran);
        found.sort();
        let wanted: Vec<(u64, String)> = lengths(&watched.root())
            .into_iter()
            .map(|(lines, path)| (lines, path.replacen('.', &root, 1)))
            .collect();
        assert_eq!(found, wanted, "{context}: {ran}");
        let target = format!("{root}/target.html");
        let neighbours = ["index", "show", "links", &target, "-0"];
        let ran = program(watched, &neighbours).expect_code(0);
        let text = ran.text();
        let found: BTreeSet<&str> = text.split_terminator('\0').collect();
        let all = files_below(&watched.root());
        let all = all.iter().map(|path| path.to_str().unwrap());
        let wanted: BTreeSet<&str> = all.filter(|path| path.contains("links")).collect();
        assert_eq!(found, wanted, "{context}: {ran}");
        let ran = program(
            watched,
            &["index", "show", "notes", "--json", "--in", &root],
        );
        let noted: Vec<String> = shown(&ran).into_iter().map(|(_, path)| path).collect();
        let wanted: Vec<&str> = wanted.into_iter().collect();
        assert_eq!(noted, wanted, "{context}: {ran}");
    };
    let link = |name: &str| {
        let page = "<html><title>a</title><a href=\"target.html\">it</a>\n";
        let path = watched.root().join(name);
        fs::write(&path, page).unwrap();
        let note = rustix::fs::lsetxattr(&path, "user.note", b"linked", XattrFlags::empty());
        note.expect("ext4 has attributes");
    };
    link("links.html");
    fs::write(watched.root().join("target.html"), "<html></html>\n").unwrap();
    compare(&watched, "before");
    for round in 0..10 {
        let number = 1 + round * 3;
        let path = watched
            .root()
            .join(format!("d{}/f{number}.txt", number % 5));
        match round % 3 {
            0 => fs::remove_file(&path).unwrap(),
            1 => fs::write(&path, "a line\n".repeat(20 + round)).unwrap(),
            _ => fs::rename(&path, path.with_extension("moved.txt")).unwrap(),
        }
        match round % 4 {
            0 => link(&format!("links{round}.html")),
            1 => fs::remove_file(watched.root().join(format!("links{}.html", round - 1))).unwrap(),
            _ => {}
        }
        compare(&watched, &format!("round {round}"));
    }
    // In the end, packs know every file. The daemon rests for twenty times as long as it took to write
    // packs, which is much beside other work.
    let deadline = Instant::now() + Duration::from_secs(1200);
    loop {
        let listed = objects(&program(&watched, &["index", "list", "--json"]));
        let files = files_below(&watched.root())
            .iter()
            .filter(|path| path.is_file())
            .count();
        if listed[0]["rows_covered"] == files && listed[0]["is_current"] == true {
            break;
        }
        assert!(Instant::now() < deadline, "{listed:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    compare(&watched, "settled");
}
