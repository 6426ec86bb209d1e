//! Other users get through the mount what the kernel gives them on the plain directory, and no more.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, XattrFlags};
use trawl_stackable::{Options, Visible};
use trawl_sys::become_user::{User, as_user};

use crate::support::{Stacked, describe};

/// A user with a supplementary group, and one without.
fn users() -> [User; 2] {
    let user = |uid, groups: &[u32]| User {
        uid,
        gid: uid,
        groups: groups.to_vec(),
    };
    [user(4711, &[4720]), user(4712, &[])]
}

/// Makes files and directories of all kinds of owners and modes.
fn make(top: &Path) {
    for (owner, group) in [(0, 0), (4711, 4711), (0, 4720), (4712, 4720), (4711, 0)] {
        for mode in [
            0o000, 0o400, 0o040, 0o004, 0o640, 0o644, 0o666, 0o604, 0o755, 0o2755, 0o6777,
        ] {
            let file = top.join(format!("f-{owner}-{group}-{mode:o}"));
            fs::write(&file, "content").unwrap();
            let directory = top.join(format!("d-{owner}-{group}-{mode:o}"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("inner"), "content").unwrap();
            for path in [file, directory] {
                chown(&path, Some(owner), Some(group)).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
        }
    }
    let sticky = top.join("sticky");
    fs::create_dir(&sticky).unwrap();
    for owner in [0, 4711, 4712] {
        let file = sticky.join(owner.to_string());
        fs::write(&file, "").unwrap();
        chown(&file, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    }
    fs::set_permissions(&sticky, Permissions::from_mode(0o1777)).unwrap();
    let open = top.join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let shared = top.join("shared");
    fs::create_dir(&shared).unwrap();
    chown(&shared, None, Some(4720)).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o2770)).unwrap();
    let listed = top.join("listed");
    fs::write(&listed, "for one user").unwrap();
    fs::set_permissions(&listed, Permissions::from_mode(0o600)).unwrap();
    rustix::fs::setxattr(
        &listed,
        "system.posix_acl_access",
        &acl(4712),
        XattrFlags::empty(),
    )
    .unwrap();
    symlink("/etc/shadow", top.join("shadow")).unwrap();
}

/// Owner rw, this user r, group nothing, mask r, others nothing.
fn acl(user: u32) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let none = u32::MAX;
    for (tag, bits, id) in [
        (1, 6, none),
        (2, 4, user),
        (4, 0, none),
        (16, 4, none),
        (32, 0, none),
    ] {
        bytes.extend((tag as u16).to_le_bytes());
        bytes.extend((bits as u16).to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn text<T: std::fmt::Debug>(result: io::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("errno {:?}", error.raw_os_error()),
    }
}

/// Tries everything on one file or directory.
fn try_all(path: &Path, own: u32) -> Vec<String> {
    let write = || OpenOptions::new().write(true).open(path)?.write(b"CONT");
    let make = |name: &str| {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o666)
            .open(path.join(name))
            .map(|_| ())
    };
    let access = |wanted| rustix::fs::accessat(CWD, path, wanted, AtFlags::EACCESS);
    let xattr = |name: &str| rustix::fs::setxattr(path, name, b"v", XattrFlags::empty());
    vec![
        text(fs::read(path)),
        text(fs::read_dir(path).map(|entries| entries.flatten().count())),
        text(fs::read(path.join("inner"))),
        text(fs::metadata(path).map(|data| (data.mode(), data.uid(), data.gid()))),
        text(access(Access::EXEC_OK).map_err(io::Error::from)),
        text(access(Access::WRITE_OK).map_err(io::Error::from)),
        text(write()),
        text(fs::metadata(path).map(|data| data.mode())),
        text(xattr("user.k").map_err(io::Error::from)),
        text(xattr("trusted.k").map_err(io::Error::from)),
        text(rustix::fs::getxattr_query(path, "trusted.k").map_err(io::Error::from)),
        text(
            OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|file| file.set_len(3)),
        ),
        text(make("new")),
        text(fs::create_dir(path.join("directory"))),
        text(symlink("x", path.join("link"))),
        text(fs::remove_file(path.join("inner"))),
        text(fs::set_permissions(path, Permissions::from_mode(0o2751))),
        text(fs::metadata(path).map(|data| data.mode())),
        text(chown(path, Some(own), None)),
        text(chown(path, None, Some(4720))),
        text(chown(path, Some(0), None)),
        text(fs::metadata(path).map(|data| (data.mode(), data.uid(), data.gid()))),
        text(fs::hard_link(
            path,
            path.with_file_name("open").join("hard"),
        )),
        text(fs::rename(path, path.with_file_name("open").join("taken"))),
        text(fs::remove_file(path)),
    ]
}

/// Everything that a user tries, in the order of names.
fn session(top: &Path, user: &User) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(top)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    let sticky = ["0", "4711", "4712"].map(|name| format!("sticky/{name}").into());
    names.extend(sticky);
    let mut lines = Vec::new();
    for name in names {
        let path = top.join(&name);
        let tried = as_user(user, || try_all(&path, user.uid)).unwrap();
        let line = |(number, one): (usize, &String)| format!("{name:?} {number}: {one}");
        lines.extend(tried.iter().enumerate().map(line));
    }
    lines
}

#[test]
fn users_may_do_what_the_kernel_lets_them_do_below() {
    let options = Options {
        visible: Visible::All,
        ..Options::default()
    };
    for user in users() {
        let Some(mut stacked) = Stacked::new("users", &options) else {
            return;
        };
        make(&stacked.plain());
        make(&stacked.below());
        let plain = session(&stacked.plain(), &user);
        let through = session(&stacked.above(), &user);
        for (plain, through) in plain.iter().zip(&through) {
            assert_eq!(plain, through, "user {}", user.uid);
        }
        assert!(plain.iter().any(|line| line.contains("errno Some(13)")));
        stacked.end();
        assert_eq!(describe(&stacked.below()), describe(&stacked.plain()));
    }
}

#[test]
fn a_permission_that_is_taken_away_below_is_gone_at_once() {
    let options = Options {
        visible: Visible::All,
        ..Options::default()
    };
    let Some(mut stacked) = Stacked::new("revoked", &options) else {
        return;
    };
    let [user, _] = users();
    let (below, above) = (stacked.below().join("f"), stacked.above().join("f"));
    fs::write(&below, "secret").unwrap();
    let may = || as_user(&user, || File::open(&above).is_ok()).unwrap();
    for _ in 0..50 {
        fs::set_permissions(&below, Permissions::from_mode(0o644)).unwrap();
        assert!(may());
        fs::set_permissions(&below, Permissions::from_mode(0o600)).unwrap();
        assert!(!may());
    }
    stacked.end();
}

#[test]
fn a_mount_is_its_owners_unless_it_is_for_all() {
    let Some(mut stacked) = Stacked::new("private", &Options::default()) else {
        return;
    };
    let [user, _] = users();
    let above = stacked.above();
    let refused = as_user(&user, || fs::read_dir(&above).map(|_| ())).unwrap();
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert!(fs::read_dir(&above).is_ok());
    stacked.end();
}

#[test]
fn a_file_of_somebody_else_loses_its_rights_by_a_write_of_another() {
    let options = Options {
        visible: Visible::All,
        ..Options::default()
    };
    let Some(mut stacked) = Stacked::new("suid", &options) else {
        return;
    };
    let [user, _] = users();
    let after = |top: &Path| {
        let path = top.join("program");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o6777)).unwrap();
        as_user(&user, || fs::write(&path, "y").unwrap()).unwrap();
        fs::metadata(&path).unwrap().mode()
    };
    assert_eq!(after(&stacked.plain()), 0o100_777);
    assert_eq!(after(&stacked.above()), 0o100_777);
    stacked.end();
}
