//! Whose directory and file are believed, and with which permissions they are made.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use trawl_identity::IdentityError;
use trawl_identity::credentials::{Credentials, FILE, Kind};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::{Scratch, skip};

use crate::{new, now, open};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_are_made_closed() {
    let scratch = Scratch::new("made");
    let directory = scratch.join("above/http");
    let credentials = Credentials::open(&directory).unwrap();
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&scratch.join("above")) & 0o022, 0);
    assert_eq!(
        mode(&scratch.join("above")) & 0o055,
        0o055,
        "others' business"
    );
    credentials
        .create(new(Kind::Token, "alice"), now())
        .unwrap();
    credentials
        .create(new(Kind::Token, "alice"), now())
        .unwrap();
    assert_eq!(mode(&directory.join(FILE)), 0o600);
    let names = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), [FILE], "nothing is left over");
}

#[test]
fn open_files_are_refused_with_the_remedy() {
    let scratch = Scratch::new("modes");
    let credentials = open(&scratch);
    let (secret, _) = credentials
        .create(new(Kind::Token, "alice"), now())
        .unwrap();
    let directory = scratch.join("http");
    let file = directory.join(FILE);
    for (path, modes, good) in [
        (&directory, [0o710, 0o701, 0o1770], 0o700),
        (&file, [0o640, 0o602, 0o604], 0o600),
    ] {
        for bad in modes {
            set_mode(path, bad);
            let remedy = format!("run chmod {good:o} {}", path.display());
            let error = Credentials::open(&directory).unwrap_err();
            assert!(error.to_string().ends_with(&remedy), "{bad:o}: {error}");
            // A change is also refused by who had opened it.
            let error = credentials.revoke_all_of("alice").unwrap_err();
            assert!(error.to_string().ends_with(&remedy), "{bad:o}: {error}");
        }
        set_mode(path, good);
    }
    set_mode(&file, 0o644);
    assert!(
        credentials.find(&secret, now()).is_err(),
        "noticed at the next question"
    );
    set_mode(&file, 0o600);
    assert!(credentials.find(&secret, now()).unwrap().is_some());
}

#[test]
fn only_files_and_directories_are_opened() {
    let scratch = Scratch::new("types");
    let path = scratch.join("file");
    fs::write(&path, "").unwrap();
    let error = Credentials::open(&path).unwrap_err();
    assert!(matches!(error, IdentityError::Type { .. }), "{error}");
    let missing = Credentials::open_existing(&scratch.join("none")).unwrap_err();
    assert!(
        matches!(missing, IdentityError::Missing { .. }),
        "{missing}"
    );
    assert!(!scratch.join("none").exists());

    let credentials = open(&scratch);
    let (secret, _) = credentials
        .create(new(Kind::Token, "alice"), now())
        .unwrap();
    let file = scratch.join("http").join(FILE);
    fs::rename(&file, scratch.join("elsewhere")).unwrap();
    symlink(scratch.join("elsewhere"), &file).unwrap();
    assert!(
        credentials.find(&secret, now()).is_err(),
        "a link is not followed"
    );
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(credentials.find(&secret, now()).is_err());
}

#[test]
fn only_the_owner_is_let_in_and_only_the_owners_files_are_believed() {
    if let Some(skip) = skip::without_root("credentials of other users") {
        return skip.say();
    }
    let scratch = Scratch::new("owners");
    set_mode(scratch.path(), 0o755);
    let credentials = open(&scratch);
    let (secret, _) = credentials
        .create(new(Kind::Token, "alice"), now())
        .unwrap();
    let directory = scratch.join("http");
    let user = User {
        uid: 4711,
        gid: 4711,
        groups: Vec::new(),
    };
    let as_other = |path: &Path| as_user(&user, || Credentials::open(path)).unwrap();
    for path in [&directory, &scratch.join("new"), &directory.join("x/y")] {
        let error = as_other(path).unwrap_err();
        assert!(matches!(error, IdentityError::NotAllowed { .. }), "{error}");
        assert!(error.to_string().contains("sudo"), "{error}");
    }
    let file = directory.join(FILE);
    chown(&file, Some(4711), None).unwrap();
    let error = credentials.find(&secret, now()).unwrap_err();
    let remedy = format!("chown 0 {}", file.display());
    assert!(error.to_string().ends_with(&remedy), "{error}");
    chown(&file, Some(0), None).unwrap();
    chown(&directory, Some(4711), None).unwrap();
    let error = Credentials::open(&directory).unwrap_err();
    assert!(
        matches!(error, IdentityError::Owner { owner: 4711, .. }),
        "{error}"
    );
    fs::remove_file(&file).unwrap();
    as_other(&directory).unwrap();
}
