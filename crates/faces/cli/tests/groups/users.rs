//! Who asks decides: a user who cannot list some directories gets exactly the groups of the tree
//! without what is in them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use trawl_testkit::oracle::Identity;
use trawl_testkit::skip::{Skip, is_root};

use crate::site::Site;

const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;

#[test]
fn a_user_gets_the_groups_of_what_they_can_see() {
    if !is_root() {
        return Skip::new("groups of two users", "it needs root").say();
    }
    let site = Site::new("groups-users");
    for name in [
        "prog/main.c",
        "prog/Makefile",
        "prog/secret/plan.c",
        "prog/secret/deep/plan.c",
        "open/a.mp3",
        "open/closed/b.mp3",
        "open/closed/Makefile",
        "deb/src/x.c",
        "deb/debian/control",
        "ben/note",
        "shared/one.jpg",
    ] {
        site.write(name);
    }
    let closed = ["prog/secret", "open/closed", "deb/debian"];
    let close = |name: &str, owner: u32| {
        let path = site.tree().join(name);
        chown(&path, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    };
    closed.iter().for_each(|name| close(name, ANNA));
    close("ben", BEN);
    site.index();
    let ben = Identity::user(BEN);
    let theirs = site.groups(&ben, &[]);
    let assigned = site.assignment(&ben);
    assert_eq!(
        assigned.keys().cloned().collect::<Vec<_>>(),
        site.files(&ben)
    );
    let ours = site.groups(&Identity::Ourselves, &[]);
    assert_ne!(theirs, ours);
    // The package files of a project whose marker is hidden are no project for Ben.
    assert!(
        theirs.values().all(|group| group.name != "deb"),
        "{theirs:?}"
    );
    assert!(ours.values().any(|group| group.name == "deb"), "{ours:?}");
    // The same tree without what Ben cannot see.
    for name in closed {
        let path = site.tree().join(name);
        for entry in fs::read_dir(&path).unwrap() {
            let entry = entry.unwrap().path();
            match entry.is_dir() {
                true => fs::remove_dir_all(entry).unwrap(),
                false => fs::remove_file(entry).unwrap(),
            }
        }
    }
    site.index();
    assert_eq!(site.groups(&Identity::Ourselves, &[]), theirs);
    assert_eq!(site.assignment(&Identity::Ourselves), assigned);
}

#[test]
fn a_group_of_hidden_files_does_not_exist_for_others() {
    if !is_root() {
        return Skip::new("a hidden group", "it needs root").say();
    }
    let site = Site::new("groups-hidden");
    site.write("anna/album/a.mp3");
    let anna = site.tree().join("anna");
    chown(&anna, Some(ANNA), Some(ANNA)).unwrap();
    fs::set_permissions(&anna, fs::Permissions::from_mode(0o700)).unwrap();
    site.index();
    let groups = site.groups(&Identity::user(ANNA), &[]);
    let id = groups.keys().next().unwrap().clone();
    for word in [&id, "album"] {
        let show = |user: u32| {
            let identity = Identity::user(user);
            let mut command = site.command(&identity, &["groups", "show", word]);
            trawl_testkit::oracle::run(&mut command)
        };
        let (theirs, others) = (show(ANNA), show(BEN));
        assert!(theirs.text().ends_with("/a.mp3\n"), "{theirs}");
        assert_eq!(others.code, Some(2), "{others}");
        assert!(others.errors().contains("there is no group"), "{others}");
    }
}
