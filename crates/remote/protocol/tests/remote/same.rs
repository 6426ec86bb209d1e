//! A server gives the same records as the live walk, in one round trip.

use std::os::unix::fs::{MetadataExt, symlink};

use trawl_call::options::Flags;
use trawl_call::{LiveWalk, Outcome};
use trawl_remote::wire::{End, Ending, Frame, Message};
use trawl_remote::{Address, Exports, Remote};
use trawl_sys::directory::Links;

use crate::support::{
    Raw, binary_tree, bytes, hello, packed, proxy, question, remote, request, server, serving,
};

#[test]
fn records_are_those_of_the_walk_byte_for_byte() {
    let scratch = binary_tree(11);
    let top = scratch.join("tree");
    symlink("x.c", top.join("link")).unwrap();
    symlink("nowhere", top.join("broken")).unwrap();
    symlink(&top, top.join("0/loop")).unwrap();
    let remote = remote(&scratch, serving(Exports::Everything));
    let below = top.join("1/0");
    let gone = top.join("gone");
    let roots = [bytes(&top), bytes(&gone), bytes(&below)];
    let flags = [
        0,
        Flags::METADATA,
        Flags::METADATA | Flags::NOFOLLOW | Flags::INCLUDEROOT,
        Flags::X_OK | Flags::PERIOD,
        Flags::FOLLOW | Flags::METADATA,
        Flags::STOPATFIRST | Flags::INCLUDEROOT,
        Flags::FNMATCH | Flags::XDEV,
    ];
    for flags in flags {
        for pattern in [
            "*",
            "x.c",
            "/*",
            "/",
            "/.",
            "0/1/*|link",
            "nothing",
            "1/x.?",
        ] {
            let ask = || request(pattern, flags, &roots);
            let live = packed(&LiveWalk::default(), ask()).unwrap();
            let answer = packed(&remote, ask()).unwrap();
            assert!(live == answer, "{pattern} {flags:#x}");
        }
    }
    // The binary tree is complete.
    let all = packed(&remote, request("x.c", 0, &roots[..1])).unwrap();
    assert_eq!(
        packed(&LiveWalk::default(), request("x.c", 0, &roots[..1])).unwrap(),
        all
    );
    assert!(all.len() > 2047 * 32);
}

/// Decodes the frames that a client sent.
fn frames(mut bytes: &[u8]) -> Vec<Message> {
    let mut frames = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        frames.push(
            Message::decode(Frame {
                kind: frame[0],
                id: u32::from_le_bytes(frame[4..8].try_into().unwrap()),
                body: frame[8..].to_vec(),
            })
            .unwrap(),
        );
        bytes = rest;
    }
    frames
}

#[test]
fn a_tree_is_one_round_trip() {
    let scratch = binary_tree(11);
    let top = scratch.join("tree");
    let Address::Unix(socket) = server(&scratch, "server", serving(Exports::Everything)) else {
        unreachable!();
    };
    let (address, passed) = proxy(&scratch, "proxy", socket, |_| None);
    let ask = || request("*", Flags::METADATA, &[bytes(&top)]);
    let answer = packed(&Remote::new(address), ask()).unwrap();
    assert_eq!(answer, packed(&LiveWalk::default(), ask()).unwrap());
    let sent = frames(&passed.lock().unwrap().from_client);
    let names: Vec<&str> = sent.iter().map(Message::name).collect();
    // Nothing that the client sent depends on anything that it received.
    assert_eq!(names, ["hello", "search"]);
}

#[test]
fn requests_are_answered_side_by_side() {
    let scratch = binary_tree(4);
    let top = scratch.join("tree");
    let mut raw = Raw::new(serving(Exports::Everything));
    raw.say(0, &hello());
    for id in 1..=8 {
        raw.say(id, &Message::Search(question("x.c", bytes(&top), 1 << 20)));
    }
    assert!(matches!(raw.hear(), Some((0, Message::Hello(_)))));
    let mut whole = Vec::new();
    while whole.len() < 8 {
        match raw.hear().unwrap() {
            (_, Message::Block(_)) => {}
            (id, Message::End(End { records, ending })) => {
                assert_eq!((records, ending), (15, Ending::Whole));
                whole.push(id);
            }
            other => panic!("{other:?}"),
        }
    }
    whole.sort_unstable();
    assert_eq!(whole, [1, 2, 3, 4, 5, 6, 7, 8]);
    raw.end().unwrap();
}

#[test]
fn paths_are_looked_at_listed_and_read() {
    let scratch = binary_tree(2);
    let top = scratch.join("tree");
    let text = vec![b'y'; 300_000];
    std::fs::write(top.join("big"), &text).unwrap();
    symlink("big", top.join("link")).unwrap();
    let remote = remote(&scratch, serving(Exports::Everything));
    for (links, metadata) in [
        (
            Links::Followed,
            std::fs::metadata(top.join("link")).unwrap(),
        ),
        (
            Links::Refused,
            std::fs::symlink_metadata(top.join("link")).unwrap(),
        ),
    ] {
        let record = remote.stat(bytes(&top.join("link")), links).unwrap();
        let Outcome::Match(Some(found)) = record.outcome else {
            panic!("{record:?}");
        };
        assert_eq!((found.ino, found.mode), (metadata.ino(), metadata.mode()));
    }
    let record = remote
        .stat(bytes(&top.join("gone")), Links::Followed)
        .unwrap();
    assert!(matches!(record.outcome, Outcome::Error(trouble) if trouble.errno == 2));
    let names = remote.list(bytes(&top)).unwrap();
    let names: Vec<&[u8]> = names.iter().map(|record| &record.path[..]).collect();
    assert_eq!(names, [&b"0"[..], b"1", b"big", b"link", b"x.c"]);
    let links: Vec<Vec<u8>> = ["link", "big", "gone"]
        .iter()
        .map(|name| bytes(&top.join(name)).to_vec())
        .collect();
    let targets = remote.links(&links).unwrap();
    let wanted = [
        Ok(b"big".to_vec()),
        Err(trawl_sys::Errno::INVAL),
        Err(trawl_sys::Errno::NOENT),
    ];
    assert_eq!(targets, wanted);
    let big = top.join("big");
    assert_eq!(remote.read(bytes(&big), 0, 1 << 20).unwrap(), text);
    assert_eq!(remote.read(bytes(&big), 299_990, 100).unwrap(), &text[..10]);
    assert_eq!(remote.read(bytes(&big), 1 << 40, 100).unwrap(), b"");
    let error = remote.read(bytes(&top), 0, 10).unwrap_err().to_string();
    assert!(error.contains("invalid"), "{error}");
    assert!(remote.read(bytes(&big), 0, u32::MAX).is_err());
}
