//! Tests of calls that are interrupted between their steps: each test takes the steps one by one.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trawl_call::LiveWalk;
use trawl_mount::{Keeping, Tree};
use trawl_remote::transport::Transport;
use trawl_remote::{Address, Exports, Limits, Remote, Serving, serve};
use trawl_testkit::Scratch;

use super::*;
use crate::plant::PathTarget;

/// A tree on a server in this process, and its planted copy. Nothing is requested twice unless a
/// test does so.
struct Site {
    scratch: Scratch,
    plant: Plant,
}

impl Site {
    fn new(label: &str) -> Site {
        let scratch = Scratch::new(label);
        for name in ["tree", "memory"] {
            fs::create_dir(scratch.join(name)).expect("room");
        }
        let socket = scratch.join("socket");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let serving = Serving {
            exports: Exports::Everything,
            executor: Arc::new(LiveWalk::default()),
            limits: Limits::default(),
            delay: Duration::ZERO,
            commands: None,
        };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || {
                    let transport = Transport::over_socket(client.into()).expect("a socket");
                    serve(transport, &serving)
                });
            }
        });
        let keeping = Keeping {
            max_age: Duration::from_secs(3600),
            ..Keeping::default()
        };
        let top = scratch.join("tree").into_os_string().into_encoded_bytes();
        let remote = Remote::new(Address::Unix(socket));
        let tree = Tree::open(remote, "here", &top, keeping, Box::new(|_| ())).expect("a tree");
        let root = OwnedFd::from(fs::File::open(scratch.join("memory")).expect("a directory"));
        let plant = Plant::new(tree, root, b"/point".to_vec(), 1 << 20);
        Site { scratch, plant }
    }

    /// Returns a path on the server.
    fn there(&self, name: &str) -> PathBuf {
        self.scratch.join("tree").join(name)
    }

    /// Returns a path in memory.
    fn here(&self, name: &str) -> PathBuf {
        self.scratch.join("memory").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.there(name), text).expect("room");
    }

    /// Makes the name lead to a new file.
    fn replace(&self, name: &str, text: &str) {
        self.write("new", text);
        fs::rename(self.there("new"), self.there(name)).expect("a file");
    }

    /// Requests all names from the server again.
    fn list(&self) {
        self.plant.tree.look_again(b"any").expect("a server");
        self.plant.find(b"", true).expect("a server");
    }

    fn find(&self, name: &str) -> Attributes {
        match self.plant.find(name.as_bytes(), true) {
            Ok(PathTarget::Here(_, attributes)) => attributes,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Opens a file as a call does.
    fn open(&self, name: &str) -> String {
        for _ in 0..4 {
            let attributes = self.find(name);
            match self.plant.fill(name.as_bytes(), &attributes) {
                Ok(Ready::Yes) => return self.text(name),
                Ok(Ready::LookAgain) => {}
                Err(errno) => panic!("{name}: {errno:?}"),
            }
        }
        panic!("{name} leads elsewhere each time");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.here(name)).expect("a file")
    }

    fn number(&self, name: &str) -> u64 {
        fs::metadata(self.here(name)).expect("a file").ino()
    }
}

#[test]
fn nothing_is_put_under_a_name_that_the_listing_lacks() {
    let site = Site::new("sandbox-lacks");
    site.write("a", "one");
    assert_eq!(site.open("a"), "one");
    // A call is about to fill the file, and finds that it was replaced and that its name is gone.
    let attributes = site.find("a");
    let before = site.plant.contents.begin(b"a");
    assert!(before.is_some());
    fs::remove_file(site.there("a")).expect("a file");
    site.list();
    assert!(matches!(
        site.plant.find(b"a", true),
        Ok(PathTarget::Missing(path, 1)) if path == b"a"
    ));
    site.write("a", "two");
    let now = fs::metadata(site.there("a")).expect("a file");
    for ino in [attributes.ino, now.ino()] {
        let attributes = Attributes { ino, ..attributes };
        let filled = site.plant.filled(b"a", &attributes, before.as_ref());
        assert_eq!(filled.err(), Some(Refused::Elsewhere));
    }
    // A file left there would be opened without any request, whatever has become of it since.
    assert!(!site.here("a").exists());
    assert!(!site.plant.contents.end(b"a", None));
    site.list();
    assert_eq!(site.open("a"), "two");
}

#[test]
fn a_call_that_knows_the_file_before_replaces_nothing() {
    let site = Site::new("sandbox-before");
    site.write("a", "one");
    assert_eq!(site.open("a"), "one");
    let old = site.find("a");
    site.replace("a", "two");
    assert_eq!(site.plant.fill(b"a", &old), Ok(Ready::LookAgain));
    assert_eq!(
        (site.text("a"), site.open("a")),
        ("one".into(), "two".into())
    );
    let number = site.number("a");
    // A program has this file open, and must see what is written into it.
    assert_eq!(site.plant.fill(b"a", &old), Ok(Ready::LookAgain));
    site.write("a", "three");
    assert_eq!(site.open("a"), "three");
    assert_eq!(site.number("a"), number);
}

#[test]
fn what_a_call_may_be_about_to_open_appears_whole() {
    let site = Site::new("sandbox-whole");
    site.write("a", "one");
    fs::create_dir(site.there("d")).expect("room");
    assert_eq!(site.open("a"), "one");
    assert!(site.plant.goes_without(b"b", 1) && site.plant.goes_without(b"d/c", 3));
    assert!(!site.plant.goes_without(b"a", 1));
    // Files that were removed and created again, and files that are new.
    fs::remove_file(site.there("a")).expect("a file");
    site.list();
    for name in ["a", "b", "d/c", "e"] {
        site.write(name, "two");
    }
    site.list();
    assert_eq!(
        (site.text("a"), site.text("b")),
        ("two".into(), "two".into())
    );
    site.plant.tree.look_again(b"d/any").expect("a server");
    site.find("d/c");
    assert_eq!(
        (site.text("d/c"), site.text("e")),
        ("two".into(), "\0\0\0".into())
    );
}

#[test]
fn a_file_that_is_being_filled_is_not_cut() {
    let site = Site::new("sandbox-cut");
    site.write("a", "one two");
    site.find("a");
    assert!(site.plant.contents.begin(b"a").is_none());
    site.write("a", "one");
    site.list();
    assert_eq!(site.text("a").len(), "one two".len());
    // And it has the contents of the file that it was begun for.
    let old = site.find("a");
    site.replace("a", "four");
    site.list();
    assert!(site.plant.contents.end(b"a", None));
    assert_eq!(site.plant.fill(b"a", &old), Ok(Ready::LookAgain));
    assert_eq!(site.open("a"), "four");
}

#[test]
fn names_of_one_file_part_when_one_is_replaced() {
    let site = Site::new("sandbox-names");
    site.write("a", "one");
    fs::hard_link(site.there("a"), site.there("b")).expect("a link");
    assert_eq!(
        (site.open("a"), site.open("b")),
        ("one".into(), "one".into())
    );
    assert_eq!(site.number("a"), site.number("b"));
    let old = site.find("b");
    site.replace("a", "two");
    site.write("b", "three");
    // The planted names are as before.
    while site.plant.fill(b"b", &old) == Ok(Ready::LookAgain) {}
    assert_eq!(
        (site.open("b"), site.open("a")),
        ("three".into(), "two".into())
    );
    assert_eq!(
        (site.text("b"), site.text("a")),
        ("three".into(), "two".into())
    );
    // A file that had a single name when it was planted.
    fs::hard_link(site.there("b"), site.there("c")).expect("a link");
    site.list();
    assert_eq!(
        (site.open("c"), site.open("b")),
        ("three".into(), "three".into())
    );
    site.write("c", "four");
    assert_eq!(
        (site.open("b"), site.open("c")),
        ("four".into(), "four".into())
    );
}

#[test]
fn what_is_open_is_told_from_what_has_its_name() {
    let site = Site::new("sandbox-open");
    site.write("a", "one");
    site.open("a");
    let opened = fs::File::open(site.here("a")).expect("a file");
    let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
    assert!(site.plant.is_open(b"a", &link) && !site.plant.is_open(b"", &link));
    site.replace("a", "two");
    assert_eq!(site.open("a"), "two");
    assert!(!site.plant.is_open(b"a", &link));
}

#[test]
fn what_is_there_already_is_not_written() {
    let site = Site::new("sandbox-kept");
    site.write("a", "one");
    site.open("a");
    // A file that is open for writing cannot be executed.
    let mtime = || fs::metadata(site.here("a")).expect("a file").mtime();
    for seconds in [1, 2] {
        let times = fs::FileTimes::new();
        let then = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        let there = fs::File::options().write(true).open(site.there("a"));
        let there = there.expect("a file");
        there.set_times(times.set_modified(then)).expect("ours");
        let attributes = site.find("a");
        let before = site.plant.contents.begin(b"a");
        let wanted = identity(&attributes);
        let before = before.expect("it is filled");
        let size = attributes.size;
        let held = before.held.clone();
        let (file, written) = site
            .plant
            .write(b"a", wanted, Some(&before), (&held, size))
            .expect("a file");
        let mut file = &file;
        assert!(std::io::Write::write(&mut file, b"x").is_err());
        assert!(site.plant.contents.end(b"a", Some(written.expect("kept"))));
        assert_eq!(site.open("a"), "one");
        assert_eq!(mtime(), seconds as i64);
    }
    site.write("a", "two");
    assert_eq!(site.open("a"), "two");
    // All of its memory is counted once.
    let most = 1 << 20;
    assert_eq!(site.plant.contents.room_for(most - 4096, None), Ok(()));
    assert!(site.plant.contents.room_for(most, None).is_err());
}

#[test]
fn no_more_is_read_of_a_file_that_grows_than_may_be_kept() {
    let site = Site::new("sandbox-grows");
    site.write("a", "one");
    assert_eq!(site.open("a"), "one");
    let before = site.plant.contents.filled(b"a").expect("contents");
    let most = site.plant.contents.most_bytes();
    // The server reported a small size, and then sends more than that.
    let grown = fs::OpenOptions::new().write(true).open(site.there("a"));
    grown.expect("a file").set_len(8 * most).expect("room");
    let read = Gathered::of(&before.held, most).err();
    let Some(Refused::TooLarge { size, most: told }) = read else {
        panic!("{read:?}");
    };
    assert!(told == most && size < 4 * most, "{size} bytes were read");
    let small = fs::OpenOptions::new().write(true).open(site.there("a"));
    small.expect("a file").set_len(most).expect("room");
    assert!(Gathered::of(&before.held, most).is_ok());
}
