//! A mount of one ordinary user: the kernel keeps names there, for a second.

use std::fs;
use std::os::unix::fs::chown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};
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
        let gone = std::time::SystemTime::now();
        let out = child.wait_with_output().unwrap();
        let seen: f64 = String::from_utf8(out.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let gone = gone
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let age = seen - gone;
        eprintln!("{way}: seen until {age:.3} s after it was removed");
        assert!(age < KNOWN.as_secs_f64(), "{way}: {age} s");
    }
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
    let (stop, tree) = (AtomicBool::new(false), site.tree());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(tree.join("a/x"), tree.join("b/x")).unwrap();
                std::thread::sleep(Duration::from_millis(1500));
                fs::rename(tree.join("b/x"), tree.join("a/x")).unwrap();
                std::thread::sleep(Duration::from_millis(1500));
            }
        });
        let until = Instant::now() + Duration::from_secs(8);
        let mut wrong_since: Option<Instant> = None;
        let mut looks = 0;
        while Instant::now() < until {
            let mut ls = Identity::user(NOBODY).command("ls");
            let asked = Instant::now();
            let ran = oracle::run(ls.args(["-l"]).arg(mounted.join("files")));
            let target = ran.text();
            let target = target.split(" -> ").nth(1).unwrap_or_default().trim();
            looks += 1;
            match fs::symlink_metadata(target) {
                Ok(_) => wrong_since = None,
                Err(_) => {
                    let since = *wrong_since.get_or_insert(asked);
                    assert!(
                        since.elapsed() < KNOWN,
                        "{ran} leads to nothing for too long"
                    );
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(looks > 20, "{looks}");
    });
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
