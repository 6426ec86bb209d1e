//! Names of members: odd bytes, long ones, and many that are alike.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use trawl_testkit::oracle::Identity;

use crate::site::{Site, cannot};

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

/// Names of 255 bytes are shown as they are; those that need an escape become `%~HASH~END`.
#[test]
fn the_longest_names_are_shown() {
    if cannot("long names in views") {
        return;
    }
    let site = Site::new("views-long", &[]);
    let long = |byte: u8| vec![byte; 255];
    let percents = [&b"%".repeat(200)[..], &b"x".repeat(55)].concat();
    let names = [long(b'a'), long(0xfe), long(b'\n'), long(b'%'), percents];
    for folder in ["one", "two"] {
        fs::create_dir(site.tree().join(folder)).unwrap();
        for name in &names {
            let path = site.tree().join(folder).join(OsStr::from_bytes(name));
            fs::write(path, folder).unwrap();
        }
    }
    site.define("files", &["-type", "f"]);
    let mounted = site.mount();
    let theirs = site.found(&Identity::Ourselves, &["-type", "f"]);
    assert_eq!(theirs.len(), 10);
    mounted.expect("files", &Identity::Ourselves, &theirs);
    let members = mounted.members("files", &Identity::Ourselves);
    assert!(members.contains_key(&long(b'a')) && members.contains_key(&long(b'\n')));
    let hashed = members.keys().filter(|name| name.starts_with(b"%~"));
    // Both of each name with percent signs, and the second one of each other name.
    assert_eq!(hashed.count(), 2 * 2 + 3);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for (name, path) in &members {
        assert!(name.len() <= 255);
        let link = mounted.join("files").join(OsStr::from_bytes(name));
        assert_eq!(fs::read_link(&link).unwrap().as_os_str().as_bytes(), path);
        assert_eq!(
            fs::read(link).unwrap(),
            fs::read(OsStr::from_bytes(path)).unwrap()
        );
    }
}

/// Of many members with one name the first has it, and each other one the name of its path.
#[test]
fn members_that_are_alike_have_names_of_their_own() {
    if cannot("members that are alike") {
        return;
    }
    let files: Vec<String> = (0..300)
        .map(|at| format!("{}/{}/same", at % 10, at / 10))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let site = Site::new("views-alike", &files);
    site.define("files", &["-type", "f"]);
    let mounted = site.mount();
    let members = mounted.members("files", &Identity::Ourselves);
    let tree = site.tree();
    let tree = tree.as_os_str().as_bytes();
    let theirs = site.found(&Identity::Ourselves, &["-type", "f"]);
    let targets: BTreeSet<&Vec<u8>> = members.values().collect();
    assert_eq!(targets, theirs.iter().collect());
    for (name, path) in &members {
        let below = path[tree.len() + 1..].to_vec();
        let below = String::from_utf8(below).unwrap().replace('/', "%2F");
        assert!(name == b"same" || *name == below.into_bytes());
        let long = mounted.join("files").join(OsStr::from_bytes(name));
        assert_eq!(fs::read_link(long).unwrap().as_os_str().as_bytes(), path);
    }
    assert!(members.contains_key(&b"same"[..]));
}
