//! "/views/by-group/GROUP/FILE": the directory of groups. What it must show is computed from the
//! tree's own layout, and from find.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::daemon::Daemon;
use trawl_testkit::lines::{self, Ending, Order};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::permissions::{Plan, Site as Planned, people};
use trawl_testkit::prng::Prng;

use crate::site::{LONG, Mounted, Site, cannot, mode, sorted};

const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;

/// The groups of the tree: repositories, two of them with the same name and one Anna's alone, an
/// album, and a directory, which is named by its path.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "prog",
        &["prog/.hg/store", "prog/src/a.c", "prog/docs/b.md"],
    ),
    ("anna", &["anna/.hg/store", "anna/secret.c"]),
    (
        "Blue",
        &["music/Miles/Blue/1.flac", "music/Miles/Blue/cover.jpg"],
    ),
    ("docs", &["docs/.hg/store", "docs/letter.txt"]),
    ("docs", &["more/docs/.hg/store", "more/docs/100%.txt"]),
    ("lone", &["lone/letter.txt"]),
];

fn site(label: &str) -> Site {
    let site = Site::new(label, &[]);
    for (_, files) in GROUPS {
        files.iter().for_each(|file| site.write(file));
    }
    chown(site.tree().join("anna"), Some(ANNA), Some(ANNA)).unwrap();
    mode(&site.tree().join("anna"), 0o700);
    let mut command = site.trawl(&Identity::Ourselves, &["index", "--quiet"]);
    oracle::run(command.arg(site.tree())).expect_code(0);
    site
}

/// Starts a daemon, and waits until the index answers behind its barrier.
fn watch(site: &Site) -> Daemon {
    let mut watch = site.trawl(&Identity::Ourselves, &["watch"]);
    let daemon = Daemon::start(watch.arg(site.tree()));
    let until = std::time::Instant::now() + LONG;
    loop {
        let mut find = site.trawl(&Identity::Ourselves, &["find"]);
        let ran = oracle::run(find.arg(site.tree()).args(["-maxdepth", "0"]));
        if ran.code == Some(0) && ran.stderr.is_empty() {
            return daemon;
        }
        assert!(std::time::Instant::now() < until, "{ran}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Names of groups, and the files of each below the tree.
type Shown = BTreeMap<String, BTreeSet<String>>;

/// Returns what a user sees in the directory of groups.
fn shown(site: &Site, mounted: &Mounted, identity: &Identity) -> Shown {
    let ran = oracle::run(
        identity
            .command("ls")
            .arg("-U")
            .arg(mounted.join("by-group")),
    );
    let ran = ran.expect_code(0);
    let tree = site.tree();
    let tree = tree.as_os_str().as_bytes();
    let names = ran.text();
    let members = |name: &str| {
        let members = mounted.members(&format!("by-group/{name}"), identity);
        let below = members.into_values().map(|path| {
            let below = path.strip_prefix(tree).expect("below the tree");
            String::from_utf8(below[1..].to_vec()).unwrap()
        });
        below.collect()
    };
    names
        .lines()
        .filter(|name| *name != "%incomplete")
        .map(|name| (name.to_owned(), members(name)))
        .collect()
}

/// Compares what a user sees with the groups of files that GNU find shows them.
#[track_caller]
fn compare(site: &Site, mounted: &Mounted, identity: &Identity, expected: &[(&str, &[&str])]) {
    let found = site.found(identity, &["-type", "f"]);
    let count: usize = expected.iter().map(|(_, files)| files.len()).sum();
    assert_eq!(found.len(), count, "the expectation is about what they see");
    let shown = shown(site, mounted, identity);
    // Several groups with one name are told apart by their ids.
    let mut ours: Vec<(&str, &BTreeSet<String>)> = shown
        .iter()
        .map(|(name, files)| match name.split_once("%~") {
            Some((name, id)) => {
                assert!(id.len() == 16 && name == "docs", "{id}");
                (name, files)
            }
            None => {
                assert_ne!(name, "docs", "it is not the only one");
                (name.rsplit("%2F").next().unwrap_or(name), files)
            }
        })
        .collect();
    ours.sort();
    let theirs: Vec<(&str, BTreeSet<String>)> = expected
        .iter()
        .map(|(name, files)| (*name, files.iter().map(|file| (*file).to_owned()).collect()))
        .collect();
    let mut theirs: Vec<(&str, &BTreeSet<String>)> =
        theirs.iter().map(|(name, files)| (*name, files)).collect();
    theirs.sort();
    assert_eq!(ours, theirs);
}

#[test]
fn each_group_is_a_directory_of_its_files() {
    if cannot("the directory of groups") {
        return;
    }
    let site = site("views-groups");
    let mounted = site.mount();
    let _daemon = watch(&site);
    assert!(mounted.names("").unwrap().contains(&"by-group".to_owned()));
    compare(&site, &mounted, &Identity::Ourselves, &GROUPS);
    // The groups of the tree without what this user cannot list.
    let open: Vec<(&str, &[&str])> = GROUPS
        .into_iter()
        .filter(|(name, _)| *name != "anna")
        .collect();
    let ben = Identity::user(BEN);
    for _ in 0..2 {
        compare(&site, &mounted, &Identity::user(ANNA), &GROUPS);
        compare(&site, &mounted, &ben, &open);
        let ran = oracle::run(ben.command("ls").arg(mounted.join("by-group/anna")));
        assert!(ran.errors().contains("No such file"), "{ran}");
    }
    // Files are read, and names that were not listed are found.
    let text = fs::read_to_string(mounted.join("by-group/prog/a.c")).unwrap();
    assert_eq!(text, "prog/src/a.c");
    let path = mounted.join("by-group/Blue");
    assert!(fs::metadata(&path).unwrap().is_dir());
    assert_ne!(fs::metadata(&path).unwrap().ino(), 0);
    for name in ["none", "docs%~0123456789abcdef", "docs%~1", "%2F"] {
        let error = fs::metadata(mounted.join("by-group").join(name)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{name}");
    }
}

/// "A listing is current": a daemon's barrier precedes it.
#[test]
fn groups_have_what_was_written_before() {
    if cannot("changes in the directory of groups") {
        return;
    }
    let site = site("views-groups-fresh");
    let mounted = site.mount();
    let _daemon = watch(&site);
    for number in 0..5 {
        let file = format!("prog/src/new-{number}.c");
        site.write(&file);
        let names = mounted.names("by-group/prog").unwrap();
        assert!(names.contains(&format!("new-{number}.c")), "{names:?}");
        let project = format!("project-{number}");
        site.write(&format!("{project}/.hg/store"));
        let groups = mounted.names("by-group").unwrap();
        assert!(groups.contains(&project), "{groups:?}");
        fs::remove_dir_all(site.tree().join(&project)).unwrap();
        let groups = mounted.names("by-group").unwrap();
        assert!(!groups.contains(&project), "{groups:?}");
    }
}

/// Without a daemon, groups are those of the index, and each listing says so.
#[test]
fn groups_of_an_old_index_are_called_old() {
    if cannot("groups of an old index") {
        return;
    }
    let site = site("views-groups-old");
    let mounted = site.mount();
    for view in ["by-group", "by-group/prog"] {
        let names = mounted.names(view).unwrap();
        assert!(names.contains(&"%incomplete".to_owned()), "{names:?}");
        let note = fs::read_to_string(mounted.join(view).join("%incomplete")).unwrap();
        assert!(note.contains("as of the last indexing"), "{note}");
    }
}

/// Views and questions in their short form name groups, with any other tests.
#[test]
fn questions_name_groups() {
    if cannot("questions that name groups") {
        return;
    }
    let site = site("views-groups-questions");
    site.define("program", &["-in-group", "prog", "-name", "*.c"]);
    let mounted = site.mount();
    let _daemon = watch(&site);
    assert_eq!(mounted.names("program").unwrap(), ["a.c"]);
    let short = site.short("in-group:prog&ext:md");
    assert_eq!(mounted.names(&short).unwrap(), ["b.md"]);
    let words = ["find", "-in-group", "Blue", "-printf", "%f\n"];
    let mut command = site.trawl(&Identity::Ourselves, &words);
    let ran = oracle::run(command.current_dir(site.tree())).expect_code(0);
    let mut found: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    found.sort();
    assert_eq!(found, ["1.flac", "cover.jpg"]);
    // A file's group is named by the group, and no view has the name of the directory of groups.
    for (name, words) in [
        ("x", &["-group-of", "/etc/passwd"][..]),
        ("by-group", &["-type", "f"]),
    ] {
        let mut define = site.trawl(&Identity::Ourselves, &["view", "define", name]);
        let ran = oracle::run(define.arg(site.tree()).args(words));
        assert_ne!(ran.code, Some(0), "{ran}");
    }
}

/// Every file that find shows a user is in one group, and nothing else is: random trees and users.
/// The index has no rows for names in directories that may be listed but not searched, so find tests
/// something that it must look at (`-links +0`).
#[test]
fn groups_of_random_trees_have_what_find_shows_each_user() {
    if cannot("groups of random trees") {
        return;
    }
    let scratch = Scratch::new("views-groups-program");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let (mut compared, mut differ) = (0, BTreeSet::new());
    for seed in [3, 4] {
        let plan = Plan::new(seed);
        let planned = Planned::build(&plan, &trawl).expect("room");
        planned.index().expect_code(0);
        let site = Site::new("views-groups-random", &[]);
        let mounted = site.mount_of(&planned.index_dir());
        let mut prng = Prng::new(seed);
        for person in people::everybody() {
            if !prng.once_in(2) {
                continue;
            }
            let identity = person.identity();
            let mut find = identity.command("find");
            find.arg(planned.absolute(b""))
                .args(["!", "-type", "d", "-links", "+0", "-print0"]);
            let theirs = sorted(&oracle::run(&mut find).stdout);
            let mut find = identity.command("find");
            find.arg(mounted.join("by-group"));
            let ran = oracle::run(find.args(["-mindepth", "2", "-type", "l", "-printf", "%l\\0"]));
            let ours = sorted(&ran.stdout);
            let (one, other) = (theirs.join(&0), ours.join(&0));
            let difference = lines::difference(&one, &other, Order::Any, Ending::Zero);
            assert!(
                ours == theirs,
                "seed {seed}, {person}: {difference:?}\n{ran}"
            );
            compared += ours.len();
            differ.insert(ours.len());
        }
    }
    assert!(
        compared > 100 && differ.len() > 1,
        "{compared} files, {differ:?}"
    );
}
