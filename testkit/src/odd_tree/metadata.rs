//! Modes, owners, times, extended attributes and ACLs at their edges.

use std::io;

use super::Site;
use crate::folder::{FileTime, Folder};
use crate::oracle::{command, run};
use crate::skip::Skip;

/// Modes of files: each class alone, none, all, and the special bits.
const FILE_MODES: &[u32] = &[
    0o000, 0o001, 0o010, 0o100, 0o111, 0o222, 0o333, 0o400, 0o040, 0o004, 0o444, 0o555, 0o600,
    0o640, 0o644, 0o660, 0o666, 0o700, 0o755, 0o770, 0o777, 0o1644, 0o2644, 0o2755, 0o4644, 0o4755,
    0o6755, 0o7000, 0o7777,
];

/// Modes of folders, including those that separate listing (r) from entering (x).
const FOLDER_MODES: &[u32] = &[
    0o000, 0o111, 0o222, 0o300, 0o400, 0o444, 0o500, 0o555, 0o700, 0o705, 0o710, 0o711, 0o733,
    0o744, 0o750, 0o751, 0o755, 0o770, 0o775, 0o777, 0o1777, 0o2755, 0o2775, 0o3777, 0o7777,
];

/// Owners and groups: ordinary, unnamed, beyond 16 and 31 bits, nobody, nearly the largest.
const OWNERS: &[(u32, u32)] = &[
    (0, 0),
    (1, 1),
    (1_000, 1_000),
    (0, 1_000),
    (1_000, 0),
    (4_711, 4_712),
    (65_534, 65_534),
    (65_536, 65_537),
    (3_000_000_000, 3_000_000_001),
    (4_294_967_294, 4_294_967_294),
];

/// Times (in seconds since 1970) at which something wraps, and 2100 (no leap year).
const EDGES_SECONDS: &[i64] = &[
    -2_147_483_647,
    -1_000_000_000,
    -86_400,
    -1,
    0,
    1,
    86_399,
    86_400,
    1_000_000_000,
    2_147_483_647,
    2_147_483_648,
    4_102_444_800,
    4_107_542_399,
    4_294_967_295,
    4_294_967_296,
    10_000_000_000,
];

const NANOSECONDS: &[u32] = &[0, 1, 500_000_000, 999_999_999];

pub(super) fn build(site: &mut Site<'_>, top: &Folder) -> io::Result<()> {
    owners(site, top)?;
    times(site, &top.make_folder(b"times")?)?;
    xattrs(site, &top.make_folder(b"xattrs")?)?;
    acls(site, &top.make_folder(b"acls")?)?;
    modes(site, &top.make_folder(b"modes")?)
}

/// Makes `modes/f0644` …, and folders `modes/d0755` … with a file and a folder in each.
fn modes(site: &mut Site<'_>, modes: &Folder) -> io::Result<()> {
    for &mode in FILE_MODES {
        let name = format!("f{mode:04o}");
        modes.make_file(name.as_bytes(), b"mode")?;
        site.attempt(&name, modes.set_mode(name.as_bytes(), mode));
    }
    for &mode in FOLDER_MODES {
        let name = format!("d{mode:04o}");
        let folder = modes.make_folder(name.as_bytes())?;
        folder.make_file(b"file", b"inside")?;
        folder
            .make_folder(b"folder")?
            .make_file(b"file", b"further inside")?;
        site.attempt(&name, modes.set_mode(name.as_bytes(), mode));
    }
    Ok(())
}

fn owners(site: &mut Site<'_>, top: &Folder) -> io::Result<()> {
    if !site.needs_root("other owners and groups") {
        return Ok(());
    }
    let owners = top.make_folder(b"owners")?;
    for &(uid, gid) in OWNERS {
        let (file, folder, link) = (
            format!("file-{uid}-{gid}"),
            format!("folder-{uid}-{gid}"),
            format!("link-{uid}-{gid}"),
        );
        owners.make_file(file.as_bytes(), b"owned")?;
        owners
            .make_folder(folder.as_bytes())?
            .make_file(b"of-root", b"")?;
        owners.make_symlink(link.as_bytes(), b"nowhere")?;
        for name in [&file, &folder, &link] {
            site.attempt(name, owners.set_owner(name.as_bytes(), uid, gid));
        }
        site.attempt(
            "a private folder",
            owners.set_mode(folder.as_bytes(), 0o750),
        );
    }
    Ok(())
}

/// Makes pairs of files with equal seconds or equal nanoseconds; access and modification times
/// differ.
fn times(site: &mut Site<'_>, times: &Folder) -> io::Result<()> {
    for (at, &seconds) in EDGES_SECONDS.iter().enumerate() {
        for &nanoseconds in NANOSECONDS {
            let name = format!("t{seconds}.{nanoseconds:09}");
            times.make_file(name.as_bytes(), b"")?;
            let other = EDGES_SECONDS[(at + 1) % EDGES_SECONDS.len()];
            let (accessed, modified) =
                (FileTime::new(other, 7), FileTime::new(seconds, nanoseconds));
            site.attempt(&name, times.set_times(name.as_bytes(), accessed, modified));
        }
    }
    // The first second that ext4 stores, without fractions.
    times.make_file(b"first", b"")?;
    let first = FileTime::new(-2_147_483_648, 0);
    site.attempt("the year 1901", times.set_times(b"first", first, first));
    times.make_symlink(b"old-link", b"t0.000000000")?;
    let old = FileTime::new(100_000_000, 123_456_789);
    site.attempt("the time of a link", times.set_times(b"old-link", old, old));
    times.make_folder(b"old-folder")?;
    site.attempt(
        "the time of a folder",
        times.set_times(b"old-folder", old, old),
    );
    Ok(())
}

fn xattrs(site: &mut Site<'_>, xattrs: &Folder) -> io::Result<()> {
    let large = vec![b'v'; 2_000];
    let long_name = [b"user.".as_slice(), &[b'n'; 250]].concat();
    let cases: &[(&[u8], &[u8], &[u8])] = &[
        (b"text", b"user.comment", b"hello"),
        (b"empty", b"user.empty", b""),
        (b"binary", b"user.binary", b"\0\xff\n\x1b"),
        (b"odd-name", b"user.\xff\n=", b"x"),
        (b"long-name", &long_name, b"x"),
        (b"large", b"user.large", &large),
    ];
    for (file, key, value) in cases {
        xattrs.make_file(file, b"")?;
        site.attempt("an extended attribute", xattrs.set_xattr(file, key, value));
    }
    xattrs.make_file(b"many", b"")?;
    let many = (0..20)
        .try_for_each(|n| xattrs.set_xattr(b"many", format!("user.n{n:02}").as_bytes(), b"value"));
    site.attempt("twenty extended attributes", many);
    xattrs.make_folder(b"folder")?;
    site.attempt(
        "an extended attribute of a folder",
        xattrs.set_xattr(b"folder", b"user.comment", b"folder"),
    );
    xattrs.make_file(b"private", b"")?;
    site.attempt(
        "a private attribute",
        xattrs.set_xattr(b"private", b"user.secret", b"secret value"),
    );
    xattrs.set_mode(b"private", 0o600)
}

/// Names and entries in setfacl(1)'s form; numeric ids need no users.
const ACLS: &[(&str, &[&str])] = &[
    ("named-user", &["-m", "u:4711:rw"]),
    ("named-group", &["-m", "g:4712:r"]),
    (
        "several",
        &["-m", "u:4711:rwx,u:4713:---,g:4712:r-x,g:4714:--x,m:rwx"],
    ),
    ("empty-mask", &["-m", "u:4711:rwx,g:4712:rwx,m::---"]),
    ("narrow-mask", &["-m", "u:4711:rwx,g:4712:rwx,m::r--"]),
    ("parted-groups", &["-m", "g:4712:r--,g:4714:--x,o::---"]),
    ("owner-shut-out", &["-m", "u::---,u:4711:rwx,o::rwx"]),
];

/// Makes each ACL on a file and on a folder with an entry, and default ACLs.
fn acls(site: &mut Site<'_>, acls: &Folder) -> io::Result<()> {
    if let Some(skip) = crate::skip::without_program("ACLs", "setfacl") {
        site.skipped.push(skip);
        return Ok(());
    }
    for (name, entries) in ACLS {
        let (file, folder) = (format!("file-{name}"), format!("folder-{name}"));
        acls.make_file(file.as_bytes(), b"acl")?;
        acls.make_folder(folder.as_bytes())?
            .make_file(b"inside", b"acl")?;
        for target in [&file, &folder] {
            set_acl(site, target, entries);
        }
    }
    acls.make_folder(b"folder-default")?;
    set_acl(
        site,
        "folder-default",
        &["-d", "-m", "u:4711:rwx,g:4712:r-x"],
    );
    let heirs = acls.enter(b"folder-default")?;
    heirs.make_file(b"heir", b"")?;
    heirs.make_folder(b"heiress")?;
    Ok(())
}

fn set_acl(site: &mut Site<'_>, name: &str, entries: &[&str]) {
    let ran = run(command("setfacl")
        .args(entries)
        .arg("--")
        .arg(name)
        .current_dir(site.root.join("acls")));
    if ran.code != Some(0) {
        site.skipped
            .push(Skip::new(format!("the ACL of {name}"), ran.errors().trim()));
    }
}
