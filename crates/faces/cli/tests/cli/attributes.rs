//! Extended attributes and access control lists: `trawl getfattr`, `stat --acl`, `ls -l` and find's
//! tests, compared with getfattr, getfacl, ls and bfs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, objects};

const ODD_DIR: &[u8] = b"w=\n\\x\tz";

/// Sets an attribute; the value is given as setfattr reads it.
#[track_caller]
fn set(site: &Site, path: &[u8], name: &str, value: &str) {
    let mut command = oracle::command("setfattr");
    command.args(["-h", "-n", name, "-v", value]);
    command
        .arg(OsStr::from_bytes(path))
        .current_dir(site.tree());
    oracle::run(&mut command).expect_code(0);
}

/// Creates files with attributes of every kind that the asker may set.
fn site(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("d/e")).unwrap();
    std::fs::create_dir(tree.join(OsStr::from_bytes(ODD_DIR))).unwrap();
    for file in ["f", "none", "d/g", "d/e/h"] {
        std::fs::write(tree.join(file), "x").unwrap();
    }
    for (to, link) in [
        ("f", "l"),
        ("d", "ld"),
        ("nowhere", "dl"),
        ("../..", "d/e/up"),
    ] {
        symlink(to, tree.join(link)).unwrap();
    }
    for (path, name, value) in [
        (&b"f"[..], "user.a", "hello"),
        (b"f", "user.b", "0x610a625c63226401ff"),
        (b"f", "user.c.empty", ""),
        (b"f", "user.z", "0x6162006300"),
        (b"f", "user.zz", "0x6162636465666768696a6b00"),
        (b"f", "user.odd=\n\\\tname", "1"),
        (b"d", "user.a", "a directory's"),
        (b"d/g", "user.g", "é"),
        (b"d/e", "user.e", "12345678\x01"),
        (b"d/e", "user.f", "123456\x01"),
        (b"d/e/h", "user.a", "deep"),
        (ODD_DIR, "user.a", "odd"),
        (b".", "user.root", "the root's own"),
    ] {
        set(&site, path, name, value);
    }
    let mut command = oracle::command("setfacl");
    command
        .args(["-m", "u:4711:r,d:g:5:rx", "d"])
        .current_dir(&tree);
    oracle::run(&mut command).expect_code(0);
    site
}

fn ours(site: &Site, words: &[&str]) -> Ran {
    site.trawl(&[&["getfattr"], words].concat())
}

fn theirs(site: &Site, words: &[&str]) -> Ran {
    oracle::gnu(
        "getfattr",
        words.iter().copied(),
        &site.tree(),
        &Identity::Ourselves,
    )
}

/// Splits the output into blocks and sorts them, because getfattr -R follows the order of
/// readdir(3).
fn blocks(ran: &Ran) -> Vec<String> {
    let text = String::from_utf8_lossy(&ran.stdout);
    let mut blocks: Vec<String> = text.split("\n\n").map(String::from).collect();
    blocks.sort();
    blocks
}

/// Returns error messages without the program's name.
fn complaints(ran: &Ran) -> Vec<String> {
    let mut lines: Vec<String> = ran.errors().lines().map(String::from).collect();
    lines.sort();
    lines
}

fn is_skipped() -> bool {
    let missing = ["setfattr", "getfattr", "setfacl"]
        .iter()
        .find_map(|program| without_program("getfattr", program));
    missing.inspect(trawl_testkit::Skip::say).is_some()
}

#[test]
fn files_are_shown_as_getfattr_shows_them() {
    if is_skipped() {
        return;
    }
    let site = site("getfattr");
    site.index();
    let absolute = site.tree().join("f").display().to_string();
    for words in [
        &["f"][..],
        &[
            "-d", "f", "none", "d", "l", "ld", "./f", ".//f", ".", "./", "d/", "d/e/up/f",
        ],
        &["-d", "-h", "f", "l", "ld", "dl"],
        &["-d", "-m", "-", "f", "d"],
        &["-m", "-", "f", "d"],
        &["-d", "-e", "hex", "f"],
        &["-d", "-e", "base64", "f"],
        &["-d", "-e", "text", "f"],
        &["--only-values", "f"],
        &["--only-values", "-n", "user.b", "f", "d"],
        &["-n", "user.a", "f", "d", "none"],
        &["-n", "user.nope", "-n", "user.c.empty", "f"],
        &["-n", "system.posix_acl_access", "d"],
        &["-n", "system.posix_acl_default", "-e", "hex", "d", "f"],
        &["-n", "foo", "f"],
        &["-n", "user.", "f"],
        &["-n", "security.none", "f"],
        &["-d", "--match=^user\\.[ab]$|g", "f", "d/g"],
        &["-d", "-m", "nothing", "f"],
        &["-m", "(", "f"],
        &["-d", &absolute, &absolute],
        &["-d", "--absolute-names", &absolute, "./f"],
    ] {
        let (ours, theirs) = (ours(&site, words), theirs(&site, words));
        let texts = (ours.text(), theirs.text());
        assert_eq!(texts.0, texts.1, "{words:?} {ours}");
        assert_eq!(complaints(&ours), complaints(&theirs), "{words:?}");
        assert_eq!(ours.code, theirs.code, "{words:?}");
    }
}

#[test]
fn trees_are_shown_as_getfattr_shows_them() {
    if is_skipped() {
        return;
    }
    let site = site("getfattr-trees");
    site.index();
    for links in ["", "-h", "-P", "-hP", "-L", "-hL"] {
        for top in [".", "d", "ld", "./", "d//", "d/e"] {
            let words: Vec<&str> = ["-d", "-R", links, top]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect();
            let (ours, theirs) = (ours(&site, &words), theirs(&site, &words));
            assert_eq!(blocks(&ours), blocks(&theirs), "{words:?} {ours}");
            assert_eq!(complaints(&ours), complaints(&theirs), "{words:?}");
            assert_eq!(ours.code, theirs.code, "{words:?}");
        }
    }
}

#[test]
fn the_forms_for_programs() {
    if is_skipped() {
        return;
    }
    let site = site("getfattr-forms");
    site.index();
    let found = objects(&ours(&site, &["--json", "-d", "-R", "d"]).expect_code(0));
    assert_eq!(found[0]["path"], "d");
    assert_eq!(found[0]["attributes"][0]["name"], "user.a");
    assert_eq!(found[0]["attributes"][0]["value"], "a directory's");
    let found = objects(&ours(&site, &["--json", "f"]).expect_code(0));
    assert_eq!(found[0]["attributes"][0]["value"], serde_json::Value::Null);
    let ran = ours(&site, &["-0", "-hR", "-n", "user.a", "."]);
    assert_eq!(ran.text(), "./d\0./f\0./w=\n\\x\tz\0./d/e/h\0");
}

/// Names that only the superuser sees, and values of other users.
#[test]
fn what_another_user_may_not_read() {
    if is_skipped() {
        return;
    }
    if let Some(skip) = without_root("another user's index") {
        return skip.say();
    }
    let site = site("getfattr-users");
    set(&site, b"f", "trusted.t", "secret");
    set(&site, b"none", "trusted.only", "secret");
    set(&site, b"f", "security.s", "label");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(site.tree().join("f"), private).unwrap();
    site.index();
    for words in [
        &["-d", "-m", "-", "f", "none"][..],
        &["-d", "-hR", "-m", "-", "."],
    ] {
        let (ours, theirs) = (ours(&site, words), theirs(&site, words));
        assert_eq!(blocks(&ours), blocks(&theirs), "{words:?} {ours}");
        assert!(ours.text().contains("trusted.only=\"secret\""), "{ours}");
    }
    // An index of that user's own: names without values.
    let user = Identity::user(4711);
    let program = site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let own = site.scratch.join("own");
    std::fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(4711), Some(4711)).unwrap();
    let as_user = |words: &[&str]| {
        let mut command = user.command(&program);
        command.env("TRAWL_INDEX", own.join("index"));
        command.args(words).current_dir(site.tree());
        oracle::run(&mut command)
    };
    as_user(&["index", "--quiet", "."]);
    for words in [
        &["-d", "-m", "-", "f", "none"][..],
        &["-m", "-", "f"],
        &["-n", "trusted.t", "f"],
    ] {
        let ours = as_user(&[&["getfattr"], words].concat());
        let theirs = oracle::gnu("getfattr", words.iter().copied(), &site.tree(), &user);
        assert_eq!(ours.text(), theirs.text(), "{words:?} {ours}");
        assert_eq!(complaints(&ours), complaints(&theirs), "{words:?}");
        assert_eq!(ours.code, theirs.code, "{words:?}");
    }
}

/// Runs setfacl with the words of each line.
#[track_caller]
fn set_lists(site: &Site, lines: &[&str]) {
    for line in lines {
        let mut command = oracle::command("setfacl");
        command.args(line.split(' ')).current_dir(site.tree());
        oracle::run(&mut command).expect_code(0);
    }
}

/// Creates files and directories with lists of every kind.
fn listed(label: &str) -> Site {
    let site = site(label);
    let tree = site.tree();
    for dir in ["acl", "acl/default", "acl/both", "acl/sticky"] {
        std::fs::create_dir(tree.join(dir)).unwrap();
    }
    for file in [
        "acl/minimal",
        "acl/named",
        "acl/masked",
        "acl/mask-only",
        "acl/empty-mask",
    ] {
        std::fs::write(tree.join(file), "").unwrap();
    }
    symlink("named", tree.join("acl/link")).unwrap();
    set_lists(
        &site,
        &[
            "-m u:0:r,g:5:rw,u:4711:x acl/named",
            "-m u:1:rwx,g:1:rwx acl/masked",
            "-m m::r acl/mask-only",
            "-m u:7:rw,m::--- acl/empty-mask",
            "-d -m u:1:r acl/default",
            "-m u:1:rwx,d:g:1:rw,d:m::r acl/both",
            "-m u::rw,g::r,o::r acl/minimal",
        ],
    );
    for (path, mode) in [
        ("acl/masked", 0o6710),
        ("acl/sticky", 0o1777),
        ("acl/both", 0o2750),
    ] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(tree.join(path), mode).unwrap();
    }
    site
}

const LISTED: &[&str] = &[
    "acl/minimal",
    "acl/named",
    "./acl/masked",
    "acl/mask-only",
    "acl/empty-mask",
    "acl/default",
    "acl/both",
    "acl/sticky",
    "acl/link",
    "f",
    "w=\n\\x\tz",
    ".",
];

#[test]
fn lists_are_shown_as_getfacl_shows_them() {
    if is_skipped() {
        return;
    }
    let site = listed("getfacl");
    site.index();
    let absolute = site.tree().join("acl/named").display().to_string();
    let files = [LISTED, &[&absolute, &absolute]].concat();
    for numeric in [&[][..], &["-n"]] {
        let ours = site.trawl(&[&["stat", "--acl"], numeric, &files].concat());
        let words = [numeric, &files].concat();
        let theirs = oracle::gnu("getfacl", words, &site.tree(), &Identity::Ourselves);
        assert_eq!(ours.text(), theirs.text(), "{numeric:?}");
        assert_eq!(complaints(&ours), complaints(&theirs));
        assert_eq!(ours.code, theirs.code);
    }
    let found = objects(
        &site
            .trawl(&["stat", "--json", "acl/both", "f"])
            .expect_code(0),
    );
    let list = [
        "user::rwx",
        "user:1:rwx",
        "group::r-x",
        "mask::r-x",
        "other::---",
    ];
    let shown = serde_json::to_string(&found[0]["acl"]).unwrap();
    for entry in list
        .into_iter()
        .chain(["default:group:1:rw-", "default:mask::r--"])
    {
        assert!(shown.contains(&format!("\"{entry}\"")), "{entry}: {shown}");
    }
    assert_eq!(found[1].get("acl"), None);
}

#[test]
fn ls_marks_what_has_a_list() {
    if is_skipped() {
        return;
    }
    let site = listed("ls-acl");
    site.index();
    for words in [
        &["-l", "acl"][..],
        &["-ld", "acl/both", "acl/default", "d", "f"],
    ] {
        let ours = site.trawl(&[&["ls"], words].concat()).expect_code(0);
        let theirs = oracle::gnu(
            "ls",
            words.iter().copied(),
            &site.tree(),
            &Identity::Ourselves,
        );
        assert_eq!(ours.text(), theirs.text(), "{words:?}");
        assert!(ours.text().contains("+ "), "{ours}");
    }
}

/// Returns a program's words for a search of the tree.
fn search<'w>(program: &'w str, words: &'w str) -> Vec<&'w str> {
    let front = [program, "."].into_iter().chain(words.split(' '));
    front.chain(["-print0"]).collect()
}

/// Returns the paths, sorted.
fn found(ran: &Ran) -> Vec<String> {
    let mut paths: Vec<String> = ran.text().split('\0').map(String::from).collect();
    paths.sort();
    paths
}

#[test]
fn find_tells_who_has_attributes_and_lists() {
    if is_skipped() {
        return;
    }
    if let Some(skip) = without_program("find's tests of attributes", "bfs") {
        return skip.say();
    }
    let site = listed("find-xattr");
    if without_root("attributes of the superuser").is_none() {
        set(&site, b"none", "trusted.only", "secret");
    }
    site.index();
    for (ours, theirs) in [
        ("-acl", "-acl"),
        ("! -acl", "! -acl"),
        ("-type d -acl", "-type d -acl"),
        ("-xattrname user.a", "-xattrname user.a"),
        ("-xattrname trusted.only", "-xattrname trusted.only"),
        (
            "-xattrname system.posix_acl_default",
            "-xattrname system.posix_acl_default",
        ),
        ("-xattr user.a", "-xattrname user.a"),
        ("-xattr *", "-xattr"),
        ("! -xattr ?*", "! -xattr"),
        ("-maxdepth 1 -xattr *", "-maxdepth 1 -xattr"),
        ("-xattr trusted.o*", "-xattrname trusted.only"),
    ] {
        let ours = site.trawl(&search("find", ours)).expect_code(0);
        let words = search("bfs", theirs);
        let theirs = oracle::gnu(
            "bfs",
            words[1..].iter().copied(),
            &site.tree(),
            &Identity::Ourselves,
        );
        assert_eq!(found(&ours), found(&theirs), "{words:?}");
        assert!(
            !ours.stdout.is_empty() || words.contains(&"trusted.only"),
            "{words:?}"
        );
    }
    for (word, paths) in [
        ("user.a=hello", "./f"),
        ("user.?=*e*", "./d ./d/e/h ./f"),
        ("user.root=the*", "."),
        ("user.a=nothing", ""),
    ] {
        let ran = site
            .trawl(&["find", ".", "-xattr", word, "-print0"])
            .expect_code(0);
        let joined = found(&ran).join(" ");
        assert_eq!(joined.trim(), paths, "{word}");
    }
}
