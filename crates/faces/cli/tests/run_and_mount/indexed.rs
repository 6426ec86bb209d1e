//! Commands that are answered from an index that a daemon keeps up to date: they print what the
//! kernel tells them, for every user and after any change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{Skip, without_program};
use trawl_testkit::{FileSystem, LoopMount};

use crate::site::Site;

const ANN: u32 = 4811;
const BOB: u32 = 4812;

/// Prints what readdir(3) returns: directories as Python's scandir lists them, without unnecessary
/// calls of stat(2).
const SCAN: &str = "
import os, sys
def scan(path):
    try:
        entries = list(os.scandir(path))
    except OSError as error:
        return print(path, error.errno)
    for entry in entries:
        kind = [entry.is_dir(follow_symlinks=False), entry.is_symlink()]
        print(entry.path.encode(), entry.inode(), kind)
        if kind[0]:
            scan(entry.path)
scan(sys.argv[1])
";

/// A tree on a file system of its own, its index, and the daemon that maintains the index.
struct Kept {
    /// The first field, because the daemon must end before what it watches is unmounted.
    daemon: Option<Daemon>,
    mount: LoopMount,
    site: Site,
    trawl: PathBuf,
    index: PathBuf,
}

impl Kept {
    /// Creates some hundred directories, and a daemon that watches them.
    fn new(label: &str) -> Option<Kept> {
        let mut kept = Kept::unwatched(label)?;
        kept.watch();
        Some(kept)
    }

    fn unwatched(label: &str) -> Option<Kept> {
        let mount = LoopMount::new(FileSystem::Ext4, 64 << 20);
        let mount = mount.map_err(|skip: Skip| skip.say()).ok()?;
        let site = Site::empty(label);
        let Some(trawl) = site.installed() else {
            let what = "commands that are answered from an index";
            Skip::new(what, "libtrawl-preload.so was not built").say();
            return None;
        };
        for directory in 0..150 {
            let path = mount.path().join(format!("{}/{directory}", directory % 12));
            fs::create_dir_all(&path).expect("room");
            for file in 0..directory % 7 {
                fs::write(path.join(format!("file {file}")), "x").expect("room");
            }
        }
        Some(Kept {
            trawl: trawl.to_owned(),
            index: site.scratch.join("index"),
            mount,
            site,
            daemon: None,
        })
    }

    fn watch(&mut self) {
        self.watch_as(&Identity::Ourselves);
    }

    /// Starts the daemon and waits until it reports that it watches.
    fn watch_as(&mut self, who: &Identity) {
        let mut command = who.command(&self.trawl);
        command.env("TRAWL_INDEX", &self.index).arg("watch");
        self.daemon = Some(Daemon::start(command.arg(self.mount.path())));
    }

    fn root(&self) -> PathBuf {
        self.mount.path().to_owned()
    }

    /// Returns a shell whose programs ask, however fast the machine is. They ask after they have
    /// gone through two directories, and for names only; eager ones ask for everything that stat(2)
    /// returns, for which no index is asked.
    fn shell(&self, who: Option<u32>, options: &[&str], script: &str) -> Ran {
        let mut command = person(who, &self.trawl);
        command.env("TRAWL_INDEX", &self.index).arg("run");
        command.arg("--cover").arg(self.root());
        command.args(options).args(["--", "env"]);
        command.args(["TRAWL_BULK_HASTE=ready", "bash", "-c", script, "bash"]);
        oracle::run(command.arg(self.root()))
    }

    fn plain(&self, who: Option<u32>, script: &str) -> Ran {
        let mut command = person(who, "bash");
        oracle::run(command.args(["-c", script, "bash"]).arg(self.root()))
    }

    /// Compares what a script prints, except for the order of its lines.
    #[track_caller]
    fn compare(&self, who: Option<u32>, options: &[&str], script: &str) -> Vec<String> {
        let (plain, ours) = (self.plain(who, script), self.shell(who, options, script));
        assert_eq!(sorted(&ours.text()), sorted(&plain.text()), "{script}");
        assert_eq!(sorted(&ours.errors()), sorted(&plain.errors()), "{script}");
        assert_eq!(ours.code, plain.code, "{script}");
        ours.text().lines().map(str::to_owned).collect()
    }

    /// Checks that the index answers a program that goes through directories, except for those that
    /// it opened before it asked. On a slow machine, tables become too old while they are read.
    #[track_caller]
    fn expect_index(&self, who: Option<u32>, script: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while unsorted(&self.compare(who, INDEX, script)) >= 12 {
            assert!(Instant::now() < until, "{who:?} was told by the kernel");
        }
    }
}

fn person(who: Option<u32>, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = match who {
        Some(who) => Identity::user(who).command(program),
        None => oracle::command(program),
    };
    command.env("LC_ALL", "C").env("SCAN", SCAN);
    command
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Counts the directories that list their names in an order other than the index's: the kernel's
/// order, which on this file system is that of hashes.
fn unsorted(paths: &[String]) -> usize {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (above, name) in paths.iter().filter_map(|path| path.rsplit_once('/')) {
        names.entry(above).or_default().push(name);
    }
    names.values().filter(|names| !names.is_sorted()).count()
}

const FIND: &str = "find \"$1\"";
/// Directories that everybody may list.
const OPEN: &str = "find \"$1\"/{0,1,2,3,4,5,6,7,8,9,10,11}";
const INDEX: &[&str] = &["--served-by", "index"];

#[test]
fn names_of_an_index_are_those_of_the_kernel_for_everyone() {
    let Some(mut kept) = Kept::unwatched("running-indexed") else {
        return;
    };
    let root = kept.root();
    let odd = "cd \"$1\" && mkdir -p m/{pass,list,none,own,group,anns}/in/deep &&
        touch m/{pass,list,none,own,group,anns}/in/{x,y} &&
        ln -s in m/pass/link && mkfifo m/list/pipe && touch 'a
b' && mkdir empty && ln m/own/in/x m/own/second &&
        chmod 711 m/pass && chmod 744 m/list && chmod 700 m/none && chmod 750 m/group";
    kept.plain(None, odd).expect_code(0);
    for path in ["m/own", "m/anns", "m/anns/in"] {
        chown(root.join(path), Some(ANN), Some(ANN)).expect("root may");
    }
    chown(root.join("m/group"), None, Some(ANN)).expect("root may");
    kept.plain(
        None,
        "chmod 500 \"$1\"/m/anns && chmod 300 \"$1\"/m/anns/in",
    )
    .expect_code(0);
    match without_program("directories with ACLs", "setfacl") {
        Some(skip) => skip.say(),
        None => {
            let acls = format!(
                "cd \"$1\" && mkdir -p acl/{{let,shut,half}}/in && touch acl/{{let,shut,half}}/in/file &&
                 chmod 700 acl/let && setfacl -m u:{ANN}:rx acl/let &&
                 setfacl -m u:{ANN}:- acl/shut && setfacl -m u:{BOB}:x acl/half"
            );
            kept.plain(None, &acls).expect_code(0);
        }
    }
    kept.watch();
    let scan = "python3 -c \"$SCAN\" \"$1\"";
    let scripts = [
        FIND,
        "find \"$1\" -type d -name in",
        "find \"$1\" -printf '%p %y %i %n %s %m %U %G %T+ %C+ %l\\n'",
        "ls -1RA --color=never \"$1\"",
        "shopt -s globstar dotglob; printf '%s\\n' \"$1\"/** \"$1\"/m/*/in/",
        // du counts the first name of a file that it meets, unless it counts all names.
        "du -al \"$1\"",
        scan,
    ];
    for who in [None, Some(ANN), Some(BOB)] {
        for script in scripts {
            for options in [INDEX, &[]] {
                kept.compare(who, options, script);
            }
        }
        kept.expect_index(who, OPEN);
    }
    kept.compare(None, &["--served-by", "live"], OPEN);
    let text = kept.plain(None, OPEN).text();
    let plain: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(unsorted(&plain) > 50, "an order that proves nothing");
}

#[test]
fn what_was_changed_a_moment_ago_is_there() {
    let Some(kept) = Kept::new("running-indexed-fresh") else {
        return;
    };
    for round in 0..25 {
        let root = kept.root();
        let directory = root.join(format!("{}/{}", round % 12, round % 12));
        let change = match round % 5 {
            0 => "touch new-$2 && mkdir -p dir-$2/in",
            1 => "rm -r file* dir* 2>/dev/null; true",
            2 => "mkdir here && mv here there-$2 && touch there-$2/x",
            3 => "ln -s x link-$2; mkfifo pipe-$2; ln link-$2 other-$2",
            _ => "cd .. && mv ${OLDPWD##*/} moved && mkdir ${OLDPWD##*/}",
        };
        let change = format!("cd \"$1\" && {change}");
        let mut command = oracle::command("bash");
        command.args(["-c", &change, "bash"]).arg(&directory);
        oracle::run(command.arg(round.to_string())).expect_code(0);
        let options: &[&str] = if round % 2 == 0 { INDEX } else { &[] };
        kept.compare(None, options, FIND);
    }
    // The run's own changes, with tables in between.
    let script = "cd \"$1\"; for i in 1 2 3 4 5 6; do
        find . ; touch 3/own-$i; mkdir 4/own-$i; find . ; rm 3/own-$i; mv 4/own-$i 5/; done; find .";
    let ours = kept.shell(None, INDEX, script);
    kept.plain(None, "cd \"$1\"; rm -r 5/own*").expect_code(0);
    let plain = kept.plain(None, script);
    assert_eq!(sorted(&ours.text()), sorted(&plain.text()));
}

#[test]
fn without_a_daemon_that_answers_the_file_system_is_asked() {
    let Some(mut kept) = Kept::new("running-indexed-gone") else {
        return;
    };
    let daemon = kept.daemon.as_ref().expect("it is there").id();
    // The daemon is stopped or killed while the command runs.
    for (stop, options) in [("-STOP", INDEX), ("-STOP", &[]), ("-KILL", INDEX)] {
        let script = format!("find \"$1\"; kill {stop} {daemon}; touch \"$1\"/3/new; find \"$1\"");
        let ours = kept.shell(None, options, &script);
        let _ = oracle::run(oracle::command("kill").args(["-CONT", &daemon.to_string()]));
        assert_eq!(ours.code, Some(0), "{ours}");
        let text = ours.text();
        let now = kept.plain(None, FIND).text();
        let mut expected = [sorted(&now), sorted(&now)].concat();
        if let Some(at) = expected.iter().position(|path| path.ends_with("/3/new")) {
            expected.remove(at);
        }
        expected.sort_unstable();
        assert_eq!(sorted(&text), expected, "{stop} {options:?}");
        fs::remove_file(kept.root().join("3/new")).expect("it is there");
    }
    if let Some(mut daemon) = kept.daemon.take() {
        daemon.wait();
    }
    // The index exists and is old; so is the socket.
    fs::write(kept.root().join("5/later"), "").expect("room");
    kept.compare(None, &[], FIND);
    let ours = kept.shell(None, INDEX, FIND);
    assert_eq!(sorted(&ours.text()), sorted(&kept.plain(None, FIND).text()));
    // Now there is no index.
    fs::remove_dir_all(&kept.index).expect("root may");
    kept.compare(None, &[], FIND);
    let ours = kept.shell(None, INDEX, FIND);
    assert!(ours.errors().contains("the file system is asked"), "{ours}");
    assert_eq!(sorted(&ours.text()), sorted(&kept.plain(None, FIND).text()));
    kept.site.expect_nothing_left();
}

#[test]
fn what_something_is_mounted_on_has_its_own_number() {
    let Some(kept) = Kept::new("running-indexed-mounts") else {
        return;
    };
    // The daemon sees these mounts, too.
    let mounts = "cd \"$1\" && mount --bind 3/3 4/4 && mount -t tmpfs none 5/5 && touch 5/5/in &&
        mount --bind '7/139/file 0' '7/139/file 1'";
    kept.plain(None, mounts).expect_code(0);
    let scan = "python3 -c \"$SCAN\" \"$1\"";
    for script in [scan, FIND, "find \"$1\" -xdev"] {
        kept.compare(None, INDEX, script);
    }
    kept.plain(None, "cd \"$1\" && umount 4/4 5/5 '7/139/file 1'")
        .expect_code(0);
    kept.compare(None, INDEX, scan);
    // Only the command sees these mounts.
    let inner = "cd \"$1\" && mount --bind 3/3 4/4 && mount -t tmpfs none 5/5 && touch 5/5/in &&
        mount --bind '7/139/file 0' '7/139/file 1'";
    let wrap = |program: &str| {
        let mut command = person(None, "unshare");
        command.args(["-m", "bash", "-c"]);
        command.arg(format!(
            "{inner}; cd /; {program} python3 -c \"$SCAN\" \"$1\""
        ));
        command.arg("bash").arg(kept.root());
        oracle::run(&mut command).expect_code(0).text()
    };
    let ours = format!(
        "TRAWL_INDEX={} {} run --served-by index --cover \"$1\" --",
        kept.index.display(),
        kept.trawl.display()
    );
    assert_eq!(sorted(&wrap(&ours)), sorted(&wrap("env")));
}

#[test]
fn a_stream_from_an_index_can_be_gone_back_in() {
    let Some(kept) = Kept::new("running-indexed-seek") else {
        return;
    };
    let program = "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Dirent(ctypes.Structure):
    _fields_ = [('ino', ctypes.c_uint64), ('off', ctypes.c_int64), ('len', ctypes.c_uint16),
                ('kind', ctypes.c_uint8), ('name', ctypes.c_char * 256)]
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Dirent)
libc.telldir.restype = ctypes.c_long
for call in (libc.readdir, libc.telldir, libc.rewinddir, libc.closedir):
    call.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
for other in ('/5', '/7'):
    os.listdir(sys.argv[1] + other)
stream = libc.opendir((sys.argv[1] + '/3').encode())
def rest():
    found = []
    while entry := libc.readdir(stream):
        found.append((entry.contents.name, libc.telldir(stream)))
    return found
all = rest()
for at, (_, place) in enumerate(all):
    libc.seekdir(stream, place)
    assert [name for name, _ in rest()] == [name for name, _ in all[at + 1:]], at
libc.rewinddir(stream)
assert rest() == all
print(len(all), *(name.decode() for name, _ in all), sep='\\n')
";
    let script = format!("python3 -c \"{program}\" \"$1\"");
    let entries = fs::read_dir(kept.root().join("3")).expect("it is there");
    let count = entries.count() + 2;
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let names = kept.shell(None, INDEX, &script).expect_code(0).text();
        let names: Vec<&str> = names.lines().collect();
        assert_eq!(names.len(), count + 1, "{names:?}");
        // After `.` and `..`, from the index; on a slow machine not immediately.
        if names[1..3] == [".", ".."] && names[3..].is_sorted() {
            break;
        }
        assert!(Instant::now() < until, "{names:?}");
    }
}

#[test]
fn rights_are_those_of_who_asks_and_not_of_who_made_the_index() {
    let Some(mut kept) = Kept::unwatched("running-indexed-groups") else {
        return;
    };
    const GROUP: u32 = 9041;
    // Others may traverse the directory, and only its group may list it.
    let close = format!(
        "cd \"$1\" && chgrp {GROUP} 3/{{3,15,27,39}} && chmod 751 3/{{3,15,27,39}} &&
         chmod 755 lost+found"
    );
    kept.plain(None, &close).expect_code(0);
    let own = kept.site.scratch.join("own");
    fs::create_dir(&own).expect("room");
    chown(&own, Some(ANN), Some(ANN)).expect("root may");
    kept.index = own.join("index");
    kept.watch_as(&Identity::Other {
        uid: ANN,
        gid: ANN,
        groups: vec![GROUP],
    });
    let paths = kept.compare(Some(ANN), INDEX, FIND);
    assert!(!paths.iter().any(|path| path.ends_with("/3/3/file 0")));
    kept.expect_index(Some(ANN), "find \"$1\"/{0,1,2,4,5,6,7,8,9,10,11}");
}

#[test]
fn a_walk_of_many_directories_asks_by_itself() {
    let Some(mut kept) = Kept::unwatched("running-indexed-auto") else {
        return;
    };
    let many = "cd \"$1\" && mkdir -p many/{1..80}/{1..100}";
    kept.plain(None, many).expect_code(0);
    kept.watch();
    let barriers = || {
        let mut command = oracle::command(&kept.trawl);
        command.env("TRAWL_INDEX", &kept.index);
        command.args(["watch", "--status", "--json"]);
        let status = oracle::run(command.arg(kept.root())).text();
        let status: serde_json::Value = serde_json::from_str(&status).expect("an object");
        status["barriers_total"].as_u64().expect("a number")
    };
    let before = barriers();
    kept.compare(None, &["--served-by", "live"], FIND);
    assert_eq!(barriers(), before, "the index was to be left out");
    // On a slow machine, tables become too old before they are large.
    let until = Instant::now() + Duration::from_secs(60);
    while barriers() == before {
        assert!(Instant::now() < until, "nobody was asked");
        kept.compare(None, &[], FIND);
    }
    for _ in 0..3 {
        kept.plain(
            None,
            "cd \"$1\"/many && mv 7/5 8/new && mkdir 9/new/ && rmdir 70/9 && touch 80/1/f",
        )
        .expect_code(0);
        kept.compare(None, &[], FIND);
        kept.plain(
            None,
            "cd \"$1\"/many && mv 8/new 7/5 && rmdir 9/new && mkdir 70/9 && rm 80/1/f",
        )
        .expect_code(0);
        kept.compare(None, &[], FIND);
    }
}
