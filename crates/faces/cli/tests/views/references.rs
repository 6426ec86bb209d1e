//! Files that questions name (`-newer FILE`): a mount looks at none of them, the asking user does.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{self, Identity, Ran};

use crate::site::{Site, cannot, mode};

const NOBODY: u32 = 65_534;

/// Makes a view that names a file in a directory of a user's, and returns the directory.
fn site(label: &str) -> (Site, PathBuf) {
    let site = Site::new(label, &["a.c"]);
    let named = site.scratch.join("named");
    fs::create_dir_all(named.join("sub")).unwrap();
    fs::write(named.join("sub/stamp"), "").unwrap();
    let stamp = named.join("sub/stamp");
    site.define("fresh", &["!", "-newer", stamp.to_str().unwrap()]);
    chown(&named, Some(NOBODY), Some(NOBODY)).unwrap();
    (site, named)
}

/// Makes the directory of the named file a link to another place.
fn lead(named: &Path, to: &Path) {
    let sub = named.join("sub");
    if sub.is_symlink() {
        fs::remove_file(&sub).unwrap();
    } else {
        fs::remove_dir_all(&sub).unwrap();
    }
    symlink(to, &sub).unwrap();
}

fn list(identity: &Identity, path: &Path) -> Ran {
    let mut command = identity.command("timeout");
    oracle::run(command.args(["-s", "KILL", "30", "ls"]).arg(path))
}

/// The way to the named file leads through the mount itself.
#[test]
fn a_named_file_in_the_mount_stops_nobody() {
    if cannot("a named file in the mount") {
        return;
    }
    let (site, named) = site("views-named-loop");
    let mounted = site.mount();
    let view = mounted.join("fresh");
    assert!(list(&Identity::Ourselves, &view).text().contains("a.c"));
    for place in ["none", "fresh", "?ext:c", "by-group"] {
        lead(&named, &mounted.join(place));
        // Root and others, several times: each thread of the mount has its turn.
        for identity in [Identity::Ourselves, Identity::user(NOBODY)] {
            for _ in 0..4 {
                let ran = list(&identity, &view);
                assert!(ran.code.is_some_and(|code| code < 100), "{place}: {ran}");
            }
        }
        let ran = list(&Identity::Ourselves, &mounted.join(""));
        assert_eq!(ran.expect_code(0).text(), "by-group\nfresh\n");
    }
}

/// A mount that root made tells nobody which files there are where only root may look.
#[test]
fn named_files_do_not_tell_what_only_root_may_see() {
    if cannot("named files of root's") {
        return;
    }
    let (site, named) = site("views-named-closed");
    let closed = site.scratch.join("closed");
    fs::create_dir(&closed).unwrap();
    mode(&closed, 0o700);
    lead(&named, &closed);
    let mounted = site.mount();
    let nobody = Identity::user(NOBODY);
    let look = || {
        let ran = list(&nobody, &mounted.join(""));
        let view = list(&nobody, &mounted.join("fresh"));
        (ran.text(), view.code, view.errors())
    };
    let without = look();
    fs::write(closed.join("stamp"), "").unwrap();
    assert_eq!(look(), without);
    assert_eq!(without.0, "by-group\nfresh\n");
}
