//! Nothing outside an export is reached, whatever links and paths say.

use std::os::unix::fs::symlink;

use trawl_call::options::Flags;
use trawl_call::{LiveWalk, Outcome};
use trawl_remote::{Export, Exports, Remote};
use trawl_sys::directory::Links;
use trawl_testkit::Scratch;

use crate::support::{bytes, lines, packed, remote, request, serving, settle};

/// Makes a tree with links in all directions, next to a secret file.
fn site() -> (Scratch, Remote) {
    let scratch = Scratch::new("confined");
    let top = scratch.join("tree");
    std::fs::create_dir_all(top.join("a/b")).unwrap();
    std::fs::create_dir_all(scratch.join("secret/deep")).unwrap();
    std::fs::write(scratch.join("secret/deep/key"), "key").unwrap();
    std::fs::write(top.join("a/b/file"), "file").unwrap();
    symlink("../../secret", top.join("a/up")).unwrap();
    symlink(scratch.join("secret"), top.join("a/absolute")).unwrap();
    symlink("b", top.join("a/near")).unwrap();
    symlink("/a/b", top.join("root")).unwrap();
    symlink("../../../a/b/file", top.join("a/b/self")).unwrap();
    settle(&top);
    let mut text = b"tree=".to_vec();
    text.extend_from_slice(bytes(&top));
    let exports = Exports::named(vec![Export::parse(&text).unwrap()]).unwrap();
    let remote = remote(&scratch, serving(exports));
    (scratch, remote)
}

#[test]
fn links_stay_within() {
    let (_scratch, remote) = site();
    let found = lines(&remote, request("*", Flags::FOLLOW, &[b"/tree"]));
    let all = [
        "a",
        "root",
        "a/absolute",
        "a/b",
        "a/near",
        "a/up",
        "a/b/file",
        "a/b/self",
        "a/near/file",
        "a/near/self",
        "root/file",
        "root/self",
    ];
    assert_eq!(found, all);
    // A link that leads out of the export leads nowhere.
    let found = lines(
        &remote,
        request("up|absolute|self", Flags::METADATA, &[b"/tree"]),
    );
    assert_eq!(found, ["!2 a/absolute", "!2 a/up", "a/b/self"]);
    let found = lines(
        &remote,
        request("up|absolute|self|near", Flags::R_OK, &[b"/tree"]),
    );
    assert_eq!(found, ["a/near", "a/b/self"]);
}

#[test]
fn paths_stay_within() {
    let (scratch, remote) = site();
    let secret = bytes(&scratch.join("secret")).to_vec();
    let out: [&[u8]; 9] = [
        b"/tree/../secret",
        b"/tree/a/../../../secret",
        b"/../secret",
        b"/tree/a/up",
        b"/tree/a/absolute/deep",
        b"/",
        b"/none",
        b"..",
        &secret,
    ];
    for path in out {
        let found = lines(&remote, request("*", Flags::FOLLOW, &[path]));
        assert_eq!(found, ["!2 ."], "{}", path.escape_ascii());
        for links in [Links::Followed, Links::Refused] {
            let record = remote.stat(&[path, b"/deep/key"].concat(), links).unwrap();
            assert!(matches!(record.outcome, Outcome::Error(_)), "{record:?}");
        }
        assert!(remote.read(&[path, b"/deep/key"].concat(), 0, 9).is_err());
    }
    assert_eq!(remote.read(b"/tree/a/b/self", 0, 9).unwrap(), b"file");
    assert_eq!(remote.read(b"tree//../root/file", 0, 9).unwrap(), b"file");
}

#[test]
fn without_links_out_an_export_is_the_tree() {
    let (scratch, remote) = site();
    let top = scratch.join("tree");
    std::fs::remove_file(top.join("a/absolute")).unwrap();
    std::fs::remove_file(top.join("a/up")).unwrap();
    std::fs::remove_file(top.join("root")).unwrap();
    std::fs::remove_file(top.join("a/b/self")).unwrap();
    for flags in [
        0,
        Flags::METADATA,
        Flags::FOLLOW | Flags::METADATA | Flags::X_OK,
        Flags::METADATA | Flags::NOFOLLOW,
        Flags::STOPATFIRST | Flags::R_OK,
    ] {
        for pattern in ["*", "/", "/.", "/a/*", "file", "b/file"] {
            let live = packed(
                &LiveWalk::default(),
                request(pattern, flags, &[bytes(&top)]),
            );
            let there = packed(&remote, request(pattern, flags, &[b"/tree"]));
            assert!(live.unwrap() == there.unwrap(), "{pattern} {flags:#x}");
        }
    }
}
