//! A mount of one ordinary user: the kernel keeps names there, for a second.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trawl_testkit::oracle::Identity;
use trawl_testkit::skip::without_program;

use crate::site::{Mounted, Site, cannot};

/// A user that every system has: fusermount3 mounts for nobody without a name.
const NOBODY: u32 = 65_534;
/// How long a name is known after it was listed, and some time for a busy machine.
const KNOWN: Duration = Duration::from_millis(1000 + 200);

/// Returns true, and says why, if a user cannot mount views here.
fn cannot_mount(what: &str) -> bool {
    match without_program(what, "fusermount3") {
        _ if cannot(what) => true,
        Some(skip) => {
            skip.say();
            true
        }
        None => false,
    }
}

fn mount(site: &Site) -> Mounted {
    chown(site.point(), Some(NOBODY), Some(NOBODY)).unwrap();
    site.mount_as(&Identity::user(NOBODY), &[])
}

/// Python in place of many programs: it looks as often as the machine allows, and prints when it saw
/// a name last.
const LAST_SEEN: &str = "\
import os, sys, time
path, listed, until = sys.argv[1], sys.argv[2] == 'list', time.time() + 60
if listed:
    assert os.path.basename(path) in os.listdir(os.path.dirname(path))
assert os.path.islink(path)
open(sys.argv[3], 'w').close()
seen = time.time()
while time.time() < until:
    before = time.time()
    if not os.path.islink(path):
        break
    seen = before
print(seen)
";

/// Returns the time as Python's `time.time()`.
fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("it is after 1970").as_secs_f64()
}

/// However a name came to be known, it is gone a second after it was true.
#[test]
fn a_name_is_a_second_old_at_most() {
    if cannot_mount("the kernel's names while a writer runs") {
        return;
    }
    let site = Site::new("views-own-bound", &["other"]);
    site.define("files", &["-type", "f"]);
    let mounted = mount(&site);
    crate::site::mode(site.scratch.path(), 0o777);
    for round in 0..6 {
        let (name, way) = (format!("f{round}"), ["list", "look"][round % 2]);
        site.write(&name);
        let mark = site.scratch.join(format!("mark-{round}"));
        let mut python = Identity::user(NOBODY).command("python3");
        python.args(["-c", LAST_SEEN]);
        python
            .arg(mounted.join("files").join(&name))
            .arg(way)
            .arg(&mark);
        let child = python.stdout(std::process::Stdio::piped()).spawn().unwrap();
        while !mark.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::remove_file(site.tree().join(&name)).unwrap();
        let gone = now_s();
        let out = child.wait_with_output().unwrap();
        let seen: f64 = String::from_utf8(out.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let age = seen - gone;
        eprintln!("{way}: seen until {age:.3} s after it was removed");
        assert!(age < KNOWN.as_secs_f64(), "{way}: {age} s");
    }
}

/// Lists a directory like `ls -l` for some seconds, at least twenty times. For each target, prints the
/// times before and after its listing and the target, which is empty if there was no name.
const TARGETS: &str = "\
import os, sys, time
directory, until, looks = sys.argv[1], time.time() + 8, 0
while looks < 20 or time.time() < until:
    before, targets = time.time(), []
    try:
        for name in os.listdir(directory):
            os.lstat(os.path.join(directory, name))
            targets.append(os.readlink(os.path.join(directory, name)))
    except OSError:
        pass
    after = time.time()
    for target in targets or ['']:
        print(before, after, target)
    looks += 1
    time.sleep(0.02)
";

/// When a file was moved, and where to.
struct Move {
    begun_s: f64,
    done_s: f64,
    to: PathBuf,
}

/// Returns true if a listing may show this target, or none: it was true during the listing, or a second
/// before.
fn may_show(moves: &[Move], before_s: f64, after_s: f64, target: &str) -> bool {
    let since_s = before_s - KNOWN.as_secs_f64();
    moves.iter().enumerate().any(|(at, one)| {
        // While it is moved, a file may be found in neither directory.
        let (is_so, until_s) = match target {
            "" => (true, one.done_s),
            _ => {
                let next = moves.get(at + 1);
                let until_s = next.map_or(f64::INFINITY, |next| next.done_s);
                (one.to.as_os_str() == target, until_s)
            }
        };
        is_so && one.begun_s <= after_s && until_s >= since_s
    })
}

/// A listing with attributes and targets while a writer moves a file to and fro: each name leads to
/// where its file is, or was a second ago at most.
#[test]
fn names_lead_to_members_while_a_writer_moves_them() {
    if cannot_mount("the kernel's targets while a writer runs") {
        return;
    }
    let site = Site::new("views-own-writer", &["a/x", "b/other"]);
    site.define("files", &["-name", "x"]);
    let mounted = mount(&site);
    let (tree, seen) = (site.tree(), site.scratch.join("seen"));
    let mut python = Identity::user(NOBODY).command("python3");
    python.args(["-c", TARGETS]).arg(mounted.join("files"));
    python.stdout(fs::File::create(&seen).unwrap());
    let mut moves = vec![Move {
        begun_s: 0.0,
        done_s: 0.0,
        to: tree.join("a/x"),
    }];
    let mut child = python.spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let (from, to) = match moves.len() % 2 {
            0 => ("b/x", "a/x"),
            _ => ("a/x", "b/x"),
        };
        let begun_s = now_s();
        fs::rename(tree.join(from), tree.join(to)).unwrap();
        moves.push(Move {
            begun_s,
            done_s: now_s(),
            to: tree.join(to),
        });
        std::thread::sleep(Duration::from_millis(1500));
    };
    assert!(status.success(), "{status}");
    let seen = fs::read_to_string(seen).unwrap();
    for line in seen.lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let (before_s, after_s) = (words[0].parse().unwrap(), words[1].parse().unwrap());
        assert!(
            may_show(&moves, before_s, after_s, words[2]),
            "{line}: leads to nothing for too long"
        );
    }
    assert!(seen.lines().count() >= 20, "{seen}");
}

/// `ls -l` of a user's own mount asks for each name once, too.
#[test]
fn a_long_listing_asks_once() {
    if cannot_mount("a long listing by its user") {
        return;
    }
    let site = crate::large::site();
    let mounted = mount(&site);
    crate::large::long_listing(&site, &mounted, &Identity::user(NOBODY));
}
