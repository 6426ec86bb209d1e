//! The answer depends on the asking user: two users with closed directories, and random trees with a dozen users.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use trawl_testkit::Scratch;
use trawl_testkit::lines::{self, Ending, Order};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::permissions::{Plan, Site as Planned, people};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::{Skip, without_program};

use crate::site::{LONG, Site, cannot, mode, sorted};

/// `PATH_MAX` of Linux.
const PATH_BYTES_MAX: usize = 4096;
const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;
const SHARED: u32 = 60_101;
const NOBODY: u32 = 65_534;

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
        // In a user namespace of its own, a process has all capabilities again.
        &[
            "setpriv",
            "--bounding-set=-dac_read_search,-dac_override",
            "--inh-caps=-all",
            "unshare",
            "-U",
            "--map-root-user",
            "ls",
        ],
    ] {
        let programs = ["setpriv", "unshare"].into_iter();
        let mut used = programs.filter(|one| words.contains(one));
        if let Some(skip) = used.find_map(|one| without_program("another place", one)) {
            skip.say();
            continue;
        }
        let is_possible = || oracle::run(oracle::command("unshare").args(["-U", "true"])).code;
        if words.contains(&"-U") && is_possible() != Some(0) {
            Skip::new("another place", "there are no user namespaces").say();
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
    // A user that every system has: fusermount3 mounts for nobody without a name.
    let nobody = Identity::user(NOBODY);
    chown(site.point(), Some(NOBODY), Some(NOBODY)).unwrap();
    chown(site.tree().join("anna"), Some(NOBODY), Some(NOBODY)).unwrap();
    let mounted = site.mount_as(&nobody, &[]);
    let theirs = site.found(&nobody, &["-type", "f"]);
    assert_eq!(theirs.len(), 3);
    mounted.expect("files", &nobody, &theirs);
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

fn shell(identity: &Identity, script: &str, words: &[&Path]) -> std::process::Command {
    let mut command = identity.command("sh");
    command.args(["-c", script, "sh"]).args(words);
    command
}

/// A directory that was opened, or entered, before what it shows was closed.
#[test]
fn old_handles_show_nothing_of_what_is_closed_now() {
    if cannot("old handles of views") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    let (ready, go) = (site.scratch.join("ready"), site.scratch.join("go"));
    let script = "\
        cd -- \"$1\" && exec 3<open%2Ff && ls -U >/dev/null && readlink open%2Ff >/dev/null || exit 9
        : >\"$2\"
        while [ ! -e \"$3\" ]; do sleep 0.02; done
        ls -U; ls -U /proc/self/cwd/; readlink open%2Ff
        cat open%2Ff && echo opened; cat <&3";
    mode(site.scratch.path(), 0o777);
    let view = mounted.join("files");
    let mut ben = shell(&Identity::user(BEN), script, &[&view, &ready, &go]);
    let child = ben
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + LONG;
    while !ready.exists() {
        assert!(Instant::now() < until, "the shell is in the view");
        std::thread::sleep(Duration::from_millis(10));
    }
    mode(&site.tree().join("open"), 0o700);
    // A name that was listed before is believed for a second.
    std::thread::sleep(Duration::from_millis(1200));
    fs::write(&go, "").unwrap();
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let names: Vec<&str> = text.lines().collect();
    // Two listings, and the file that the kernel had opened before; nothing else.
    assert_eq!(
        names,
        ["f", "%incomplete", "f", "%incomplete", "open/f"],
        "{text}"
    );
}

/// Directories of one user's that another one's process was given, and paths through the view.
#[test]
fn inherited_directories_and_dots_open_nothing() {
    if cannot("inherited directories of views") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    let view = mounted.join("files");
    let ours = mounted.members("files", &Identity::Ourselves);
    let secret = ours.iter().find(|(_, path)| path.ends_with(b"anna/secret"));
    let secret = Path::new(OsStr::from_bytes(secret.unwrap().0)).to_owned();
    let ben = Identity::user(BEN);
    let theirs = site.found(&ben, &["-type", "f"]).len() + 1;
    for _ in 0..5 {
        // Root has just looked, is in the directory, and becomes Ben.
        fs::read_link(view.join(&secret)).unwrap();
        let script = "ls -U | wc -l; readlink -- \"$1\"; cat -- \"$1\"; cat ../files/\"$1\"";
        let mut command = shell(&ben, script, &[&secret]);
        let ran = oracle::run(command.current_dir(&view));
        assert_eq!(ran.text(), format!("{theirs}\n"), "{ran}");
    }
    // `..` of a view is the directory of views, whoever asks and from wherever.
    let dots = oracle::run(ben.command("ls").arg(view.join("../files/.."))).text();
    assert_eq!(dots, "by-group\nfiles\n");
    for path in ["files/../anna/secret", "files/anna/secret", "anna%2Fsecret"] {
        let ran = oracle::run(ben.command("cat").arg(mounted.join(path)));
        assert!(ran.code != Some(0) && ran.stdout.is_empty(), "{ran}");
    }
}

/// Links and renames in the tree that lead a member's path elsewhere: the kernel goes there as the
/// asking user, or not at all.
#[test]
fn tricks_with_links_open_nothing() {
    if cannot("tricks with links") {
        return;
    }
    let site = closed();
    let tree = site.tree();
    // A link to a secret is a member, too; it opens what its target lets open.
    symlink("../anna/secret", tree.join("open/way")).unwrap();
    symlink("../anna", tree.join("open/folder")).unwrap();
    site.define("links", &["-type", "l"]);
    let mounted = site.mount();
    let cat = |identity: &Identity, path: &str| {
        let ran = oracle::run(identity.command("cat").arg(mounted.join(path)));
        (ran.code == Some(0)).then(|| ran.text())
    };
    let (anna, ben) = (Identity::user(ANNA), Identity::user(BEN));
    assert_eq!(cat(&anna, "links/way").as_deref(), Some("anna/secret"));
    assert_eq!(cat(&ben, "links/way"), None);
    assert_eq!(cat(&ben, "links/folder/secret"), None);
    assert_eq!(cat(&ben, "files/open%2Ff").as_deref(), Some("open/f"));
    // The directory on the way becomes a link to a closed one.
    fs::rename(tree.join("open"), tree.join("was-open")).unwrap();
    symlink("anna", tree.join("open")).unwrap();
    assert_eq!(cat(&ben, "files/open%2Ff"), None);
    let theirs = site.found(&ben, &["-type", "f"]);
    mounted.expect("files", &ben, &theirs);
}

/// Everybody at once, in listings and look-ups of the same view.
#[test]
fn several_users_at_once_see_their_own() {
    if cannot("several users at once") {
        return;
    }
    let site = closed();
    let mounted = site.mount();
    let users = [
        Identity::Ourselves,
        Identity::user(ANNA),
        Identity::user(BEN),
        with_group(BEN),
        with_group(ANNA),
        Identity::user(65_534),
    ];
    std::thread::scope(|scope| {
        for identity in &users {
            let (site, mounted) = (&site, &mounted);
            scope.spawn(move || {
                let theirs = site.found(identity, &["-type", "f"]);
                for _ in 0..10 {
                    mounted.expect("files", identity, &theirs);
                    for file in ["anna/secret", "ben/f", "group/g", "open/f"] {
                        let name = file.replace('/', "%2F");
                        let mut command = identity.command("readlink");
                        let ran = oracle::run(command.arg(mounted.join("files").join(name)));
                        let path = site.tree().join(file).into_os_string().into_encoded_bytes();
                        assert_eq!(ran.code == Some(0), theirs.contains(&path), "{ran}");
                    }
                }
            });
        }
    });
}

/// What a user defines for themselves is theirs alone; what they ask through others' definitions
/// is asked as themselves.
#[test]
fn definitions_of_others_give_no_rights() {
    if cannot("definitions of others") {
        return;
    }
    let site = closed();
    // Root's own view is not in a mount for everybody.
    let mut define = site.trawl(&Identity::Ourselves, &["view", "define", "own"]);
    oracle::run(define.arg(site.tree())).expect_code(0);
    let mounted = site.mount();
    assert_eq!(mounted.names("").unwrap(), ["by-group", "files"]);
    site.define("anna", &["-path", "*/anna/*"]);
    let ben = Identity::user(BEN);
    assert!(mounted.members("anna", &ben).is_empty());
    assert_eq!(mounted.members("anna", &Identity::user(ANNA)).len(), 2);
    // Another question under the same name counts at once, also for those who are in it.
    site.define("anna", &["-path", "*/ben/*"]);
    assert_eq!(mounted.members("anna", &ben).len(), 1);
}
