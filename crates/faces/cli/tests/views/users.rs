//! Who asks decides: two users with closed directories, and random trees with a dozen users.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::lines::{self, Ending, Order};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::permissions::{Plan, Site as Planned, people};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::{Skip, without_program};

use crate::site::{Site, cannot, mode, sorted};

/// `PATH_MAX` of Linux.
const PATH_BYTES_MAX: usize = 4096;
const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;
const SHARED: u32 = 60_101;

fn with_group(uid: u32) -> Identity {
    Identity::Other {
        uid,
        gid: uid,
        groups: vec![SHARED],
    }
}

/// Makes a tree with a directory of Anna's, one of Ben's and one of a group's.
fn closed() -> Site {
    let site = Site::new(
        "views-users",
        &["open/f", "anna/f", "anna/secret", "ben/f", "group/g"],
    );
    for (name, uid, gid, bits) in [
        ("anna", ANNA, ANNA, 0o700),
        ("ben", BEN, BEN, 0o700),
        ("group", 0, SHARED, 0o750),
    ] {
        chown(site.tree().join(name), Some(uid), Some(gid)).unwrap();
        mode(&site.tree().join(name), bits);
    }
    site.define("files", &["-type", "f"]);
    site
}

#[test]
fn each_user_sees_what_find_shows_them() {
    if cannot("views of two users") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    for identity in [
        Identity::Ourselves,
        Identity::user(ANNA),
        Identity::user(BEN),
        with_group(BEN),
        Identity::user(65_534),
    ] {
        let theirs = site.found(&identity, &["-type", "f"]);
        mounted.expect("files", &identity, &theirs);
        // What was closed is named in the listing, for everybody but root.
        let mut cat = identity.command("cat");
        let ran = oracle::run(cat.arg(mounted.join("files/%incomplete")));
        let is_root = identity == Identity::Ourselves;
        assert_eq!(ran.code == Some(0), !is_root, "{ran}");
        assert_eq!(ran.text().contains("Permission denied"), !is_root, "{ran}");
    }
}

/// The kernel's caches and ours must not tell one user what another looked up.
#[test]
fn a_name_that_one_user_looked_up_is_not_there_for_another() {
    if cannot("names of two users") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    let look = |identity: &Identity, name: &str| {
        let mut command = identity.command("readlink");
        let ran = oracle::run(command.arg(mounted.join("files").join(name)));
        (ran.code == Some(0)).then(|| ran.text().trim_end().to_owned())
    };
    let (anna, ben) = (Identity::user(ANNA), Identity::user(BEN));
    let path = |name: &str| Some(site.tree().join(name).to_str().unwrap().to_owned());
    for _ in 0..10 {
        assert_eq!(look(&anna, "secret"), path("anna/secret"));
        assert_eq!(look(&ben, "secret"), None);
        assert_eq!(look(&anna, "anna%2Fsecret"), path("anna/secret"));
        assert_eq!(look(&ben, "anna%2Fsecret"), None);
        assert_eq!(look(&ben, "ben%2Ff"), path("ben/f"));
        assert_eq!(look(&anna, "ben%2Ff"), None);
        assert_eq!(look(&with_group(BEN), "g"), path("group/g"));
        assert_eq!(look(&ben, "g"), None);
        mounted.members("files", &anna);
        assert_eq!(look(&ben, "secret"), None);
    }
}

/// The kernel checks each opening: a directory that is closed later closes its files in the view.
#[test]
fn links_give_no_access() {
    if cannot("closing what a view shows") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    let ben = Identity::user(BEN);
    let read = || oracle::run(ben.command("cat").arg(mounted.join("files/open%2Ff"))).code;
    assert_eq!(read(), Some(0));
    mode(&site.tree().join("open"), 0o700);
    assert_ne!(read(), Some(0));
    mode(&site.tree().join("open"), 0o755);
    assert_eq!(read(), Some(0));
}

/// A process that sees other files under the same paths, or lacks root's rights, gets no answer.
#[test]
fn processes_in_other_places_are_refused() {
    if cannot("processes in other places") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    let list = mounted.join("files");
    for words in [
        &["unshare", "-m", "ls"][..],
        &["setpriv", "--bounding-set=-all", "--inh-caps=-all", "ls"],
    ] {
        if let Some(skip) = without_program("another place", words[0]) {
            skip.say();
            continue;
        }
        let ran = oracle::run(oracle::command(words[0]).args(&words[1..]).arg(&list));
        assert_ne!(ran.code, Some(0), "{words:?}");
        assert!(ran.errors().contains("Permission denied"), "{ran}");
    }
}

#[test]
fn a_user_mounts_their_own_views() {
    let what = "views without root";
    if cannot(what) {
        return;
    }
    if let Some(skip) = without_program(what, "fusermount3") {
        return skip.say();
    }
    let site = closed();
    chown(site.point(), Some(ANNA), Some(ANNA)).unwrap();
    let anna = Identity::user(ANNA);
    let mounted = site.mount_as(&anna, &[]);
    mounted.expect("files", &anna, &site.found(&anna, &["-type", "f"]));
    for other in [Identity::user(BEN), Identity::Ourselves] {
        let ran = oracle::run(other.command("ls").arg(mounted.join("files")));
        assert_ne!(ran.code, Some(0), "{ran}");
    }
}

/// Random trees and a dozen users, from several start points.
#[test]
fn random_trees_look_to_each_user_as_to_find() {
    if cannot("views of random trees") {
        return;
    }
    let scratch = Scratch::new("views-program");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let mut rows = 0;
    for seed in 1..=8 {
        let plan = Plan::new(seed);
        let planned = Planned::build(&plan, &trawl).expect("room");
        let site = Site::new("views-random", &[]);
        let mounted = site.mount();
        let mut prng = Prng::new(seed);
        for start in plan.starts(3) {
            let start = planned.absolute(&start);
            let view = format!("?in:{}", escaped(&start));
            if view.len() > 1000 {
                // The kernel passes no longer names on.
                Skip::new("a long start point", "its name is too long").say();
                continue;
            }
            for person in people::everybody() {
                if !prng.once_in(2) {
                    continue;
                }
                let identity = person.identity();
                let mut find = identity.command("find");
                let found = oracle::run(find.arg(&start).arg("-print0"));
                // A link cannot lead to a path that no program can open by name.
                let (theirs, longer): (Vec<_>, Vec<_>) = sorted(&found.stdout)
                    .into_iter()
                    .partition(|path| path.len() < PATH_BYTES_MAX);
                let (members, ran) = mounted.read(&view, &identity);
                let mut ours: Vec<Vec<u8>> = members.into_values().collect();
                ours.retain(|target| !target.is_empty());
                ours.sort();
                let too_long = ran.errors().matches("File name too long").count();
                assert_eq!(
                    too_long,
                    longer.len(),
                    "seed {seed}, {person}, {view}: {ran}"
                );
                let difference =
                    lines::difference(&theirs.join(&0), &ours.join(&0), Order::Any, Ending::Zero);
                assert!(
                    ours == theirs,
                    "seed {seed}, {person}, {view}: {difference:?}\n{ran}"
                );
                rows += ours.len();
                // Where find complains, the view does.
                let note = mounted.join(&view).join("%incomplete");
                let noted = oracle::run(identity.command("cat").arg(note)).code == Some(0);
                assert_eq!(
                    noted,
                    found.code != Some(0),
                    "seed {seed}, {person}, {view}"
                );
            }
        }
    }
    assert!(rows > 1000, "{rows} rows were compared");
}

fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Names of any bytes survive the way into a view and back.
#[test]
fn odd_names_are_shown() {
    if cannot("odd names in views") {
        return;
    }
    let site = Site::new("views-odd", &[]);
    for name in [
        &b"new\nline"[..],
        b"back\\slash",
        b"\xff\xfe",
        b"%2F",
        b"'quote\"",
        b"-x",
        b"*",
        b"[a]",
        b"%incomplete",
    ] {
        fs::write(site.tree().join(OsStr::from_bytes(name)), "").unwrap();
    }
    site.define("files", &["-type", "f"]);
    let mounted = site.mount();
    mounted.expect(
        "files",
        &Identity::Ourselves,
        &site.found(&Identity::Ourselves, &["-type", "f"]),
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for name in [
        &b"new\nline"[..],
        b"\xff\xfe",
        b"%252F",
        b"*",
        b"[a]",
        b"back\\slash",
    ] {
        assert!(
            fs::read(mounted.join("files").join(OsStr::from_bytes(name))).is_ok(),
            "{name:?}"
        );
    }
}
