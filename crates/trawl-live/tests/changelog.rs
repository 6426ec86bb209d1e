//! Tests of recorded Lustre changelogs. The recordings were written by hand after the Lustre
//! manual's examples; none comes from a Lustre file system.

#[path = "support/covers.rs"]
mod covers;

use std::fs;

use covers::Covers as _;
use trawl_live::lustre::Fid;
use trawl_live::{
    AsOf, Change, ChangeSource, DirtySet, Doubt, FileSystemId, LiveError, Lustre, NameChange,
    ObjectKey, Reached,
};
use trawl_testkit::Scratch;

const FILE_SYSTEM: FileSystemId = FileSystemId(*b"lustre-1");

const RECORDING: &str = "\
1 02MKDIR 15:15:21.977666834 2018.01.09 0x0 t=[0x200000402:0x1:0x0] j=mkdir.500 ef=0xf u=500:500 nid=10.128.11.159@tcp p=[0x200000007:0x1:0x0] pics
2 01CREAT 15:15:36.687592024 2018.01.09 0x0 t=[0x200000402:0x2:0x0] j=cp.500 ef=0xf u=500:500 nid=10.128.11.159@tcp p=[0x200000402:0x1:0x0] chloe with a blank.jpg
3 14SATTR 15:15:37.000000000 2018.01.09 0x14 t=[0x200000402:0x2:0x0] j=chmod.500
4 11CLOSE 15:15:38.000000000 2018.01.09 0x242 t=[0x200000402:0x2:0x0]
5 10OPEN 15:15:38.500000000 2018.01.09 0x1 t=[0x200000402:0x9:0x0] m=-r-
6 08RENME 15:15:41.305116815 2018.01.09 0x0 t=[0x0:0x0:0x0] j=mv.500 p=[0x200000007:0x1:0x0] new s=[0x200000402:0x2:0x0] sp=[0x200000402:0x1:0x0] chloe with a blank.jpg
7 06UNLNK 15:15:46.468790091 2018.01.09 0x1 t=[0x200000402:0x2:0x0] p=[0x200000007:0x1:0x0] new
";

fn fid(sequence: u64, object: u32) -> ObjectKey {
    let fid = Fid {
        sequence,
        object,
        version: 0,
    };
    ObjectKey::new(FILE_SYSTEM, 0x97, &fid.to_bytes())
}

fn open(text: &str) -> (Scratch, Lustre) {
    let scratch = Scratch::new("changelog");
    let path = scratch.join("recording");
    fs::write(&path, text).expect("a file");
    let source = Lustre::open(&path, FILE_SYSTEM).expect("it can be read");
    (scratch, source)
}

#[test]
fn a_recording_says_what_is_dirty() {
    let (_scratch, mut source) = open(RECORDING);
    let mut set = DirtySet::default();
    let barrier = source.barrier(&mut set).expect("it is well-formed");
    assert_eq!((barrier.events, barrier.as_of), (7, AsOf::Record(Some(7))));
    let dirty = set.take();
    let (top, pics, photo) = (
        fid(0x2_0000_0007, 1),
        fid(0x2_0000_0402, 1),
        fid(0x2_0000_0402, 2),
    );
    for (directory, name) in [
        (&top, &b"pics"[..]),
        (&top, b"new"),
        (&pics, b"chloe with a blank.jpg"),
    ] {
        assert!(
            dirty.covers_name(directory.as_ref(), name, NameChange::Listing),
            "{dirty:?}"
        );
    }
    assert_eq!(dirty.objects.get(&photo), Some(&Reached::Unnamed));
    assert!(
        dirty.covers_subtree(photo.as_ref()),
        "what was renamed may be a directory"
    );
    assert!(
        !dirty.objects.contains_key(&fid(0x2_0000_0402, 9)),
        "it was opened only"
    );
    assert_eq!(dirty.directories.len(), 3);
    assert!(dirty.everything.is_empty());
}

#[test]
fn a_missing_record_puts_all_in_doubt() {
    let without: String = RECORDING
        .lines()
        .filter(|l| !l.starts_with('3'))
        .map(|l| format!("{l}\n"))
        .collect();
    let (_scratch, mut source) = open(&without);
    let mut doubts = Vec::new();
    let mut note = |change: Change<'_>| {
        if let Change::Everything { cause, .. } = change {
            doubts.push(cause);
        }
    };
    source.barrier(&mut note).expect("it is well-formed");
    assert_eq!(doubts, [Doubt::MissingRecords]);
}

#[test]
fn a_line_that_is_none_is_named() {
    let head = "8 01CREAT 15:15:36.687592024 2018.01.09 0x0 ";
    for (line, what) in [
        ("x", "number"),
        ("8 99WHAT 1:2 2018.01.09 0x0 t=[0x1:0x1:0x0]", "kind"),
        ("8 01CREAT yesterday 2018.01.09 0x0 t=[0x1:0x1:0x0]", "time"),
        ("8 01CREAT 15:15:36 2018.01.09 7 t=[0x1:0x1:0x0]", "flags"),
        (&format!("{head}t=[0x1:0x1]"), "target"),
        (&format!("{head}t=[0x1:0x1:0x0:0x0]"), "target"),
        (&format!("{head}t=[0x1:0x1:0x0]"), "name"),
        (&format!("{head}t=[0x1:0x1:0x0] p=[0x1:0x1:0x0] "), "name"),
        (
            &format!("{head}t=[0x1:0x1:0x0] p=[0x1:0x1:0x0] a/b"),
            "name",
        ),
        (&format!("{head}t=[0x1:0x1:0x0] what=1"), "field"),
        (
            "8 08RENME 1:2 2018.01.09 0x0 t=[0x0:0x0:0x0] p=[0x1:0x1:0x0] new",
            "rename",
        ),
    ] {
        let (_scratch, mut source) = open(&format!("{RECORDING}{line}\n"));
        let mut set = DirtySet::default();
        let error = source.barrier(&mut set).expect_err(line);
        assert!(
            matches!(error, LiveError::Changelog { line: 8, .. }),
            "{error}"
        );
        assert!(error.to_string().contains(what), "{line}: {error}");
        assert!(!set.dirty().is_empty(), "what was before it is kept");
    }
    let (_scratch, mut source) = open("8 01CREAT without an end");
    let error = source
        .drain(1, &mut DirtySet::default())
        .expect_err("no newline");
    assert!(error.to_string().contains("end"), "{error}");
}
