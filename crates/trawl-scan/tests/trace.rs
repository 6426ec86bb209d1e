//! Tests of traces: the record of a real tree is restored; damage is reported and has no other
//! effect.

mod recorder;

use std::collections::BTreeSet;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use recorder::{Recorder, Scratch, record};
use trawl_model::{FileType, Meta, Op};
use trawl_scan::{Progress, ScanError, ScanProgress, TraceOptions, read_trace};
use trawl_testkit::folder::set_attribute;

/// Returns one line in GUFI's form.
fn line(path: &[u8], meta: &Meta, link: &[u8], xattrs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut field = format!("{:04x}", xattrs.len()).into_bytes();
    for (name, value) in xattrs {
        field.extend([*name, b"\x1f", value, b"\x1f"].concat());
    }
    let counted = |bytes: &[u8]| [format!("{:04x}", bytes.len()).as_bytes(), bytes].concat();
    let m = meta;
    let numbers = [
        m.ino.to_string(),
        m.mode.to_string(),
        m.nlink.to_string(),
        m.uid.to_string(),
        m.gid.to_string(),
        m.size.to_string(),
        m.blksize.to_string(),
        m.blocks.to_string(),
        m.atime.secs.to_string(),
        m.mtime.secs.to_string(),
        m.ctime.secs.to_string(),
    ];
    let created = m.btime.map_or(0, |t| t.secs).to_string();
    let mut fields = vec![counted(path), vec![m.file_type().letter()]];
    fields.extend(numbers.map(String::into_bytes));
    fields.extend([counted(link), counted(&field), created.into_bytes()]);
    fields.extend(["0", "1", "2", "3"].map(|n| n.as_bytes().to_vec()));
    fields.extend([
        counted(b""),
        counted(b"x\x1e\ny"),
        b"4711".to_vec(),
        b"\n".to_vec(),
    ]);
    fields.join(&0x1e)
}

fn meta(mode: u32) -> Meta {
    Meta {
        ino: 9,
        mode,
        nlink: 1,
        size: 3,
        ..Meta::default()
    }
}

fn dir(path: &str) -> Vec<u8> {
    line(path.as_bytes(), &meta(0o40_755), b"", &[])
}

fn file(path: &str) -> Vec<u8> {
    line(path.as_bytes(), &meta(0o100_644), b"", &[])
}

/// Reads `bytes` as a trace called `NAME.trace`, and through a pipe.
fn replay(bytes: &[u8], root: Option<&[u8]>) -> Result<(Recorder, Progress), String> {
    let scratch = Scratch::new();
    let path = scratch.0.join("recorded.trace");
    std::fs::write(&path, bytes).unwrap();
    let cancel = AtomicBool::new(false);
    let options = TraceOptions {
        root: root.map(<[u8]>::to_vec),
        cancel: &cancel,
    };
    let from_file = replay_path(&path, &options);
    match (&from_file, &replay_pipe(bytes, root)) {
        (Ok((file, counts)), Ok((pipe, pipe_counts))) => {
            assert_eq!(counts, pipe_counts);
            assert_same(file, pipe);
        }
        (_, Err(error)) if error.contains("depth-first order") => {}
        (Err(file), Err(pipe)) => assert_eq!(words_behind_name(file), words_behind_name(pipe)),
        (file, pipe) => panic!("{:?} {:?}", file.as_ref().err(), pipe.as_ref().err()),
    }
    from_file
}

fn replay_path(path: &Path, options: &TraceOptions<'_>) -> Result<(Recorder, Progress), String> {
    let (progress, mut recorder) = (ScanProgress::default(), Recorder::default());
    let counts = read_trace(path, options, &progress, &mut recorder).map_err(|e| e.to_string())?;
    assert_eq!(counts.issues as usize, recorder.issues.len());
    assert_eq!(counts.entries as usize, recorder.rows.len());
    Ok((recorder.finish(), counts))
}

/// Reads `bytes` through a pipe; the default root is that of a file called `recorded`.
fn replay_pipe(bytes: &[u8], root: Option<&[u8]>) -> Result<(Recorder, Progress), String> {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    let cancel = AtomicBool::new(false);
    let options = TraceOptions {
        root: Some(root.unwrap_or(b"/recorded").to_vec()),
        cancel: &cancel,
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The reader may have stopped early.
            let _ = writer.write_all(bytes);
        });
        let read = replay_path(Path::new(&path), &options);
        drop(reader);
        read
    })
}

fn assert_same(file: &Recorder, pipe: &Recorder) {
    let rows = |recorder: &Recorder| -> Vec<_> {
        let row = |(path, row): (&Vec<u8>, &recorder::Row)| {
            let target = row.link_target.clone();
            (path.clone(), row.entry.meta, target, row.xattrs.clone())
        };
        recorder.rows.iter().map(row).collect()
    };
    assert_eq!(rows(file), rows(pipe));
    assert_eq!((&file.order, &file.own), (&pipe.order, &pipe.own));
    assert_eq!(file.access, pipe.access);
    let told = |recorder: &Recorder| -> BTreeSet<(Vec<u8>, String)> {
        let issues = recorder.issues.iter();
        issues.map(|i| (i.path.clone(), i.detail.clone())).collect()
    };
    assert_eq!(told(file), told(pipe));
}

fn words_behind_name(error: &str) -> Option<&str> {
    error
        .split_once("/recorded.trace")
        .or(error.split_once("/proc/self/fd/"))
        .map(|(_, words)| words.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn paths(recorder: &Recorder) -> Vec<String> {
    recorder
        .rows
        .keys()
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .collect()
}

fn details(recorder: &Recorder) -> Vec<&str> {
    recorder.issues.iter().map(|i| &*i.detail).collect()
}

/// Returns the trace of a recorded walk, with stanzas in the given order.
fn trace_of(walked: &Recorder, reverse: bool) -> Vec<u8> {
    let root = walked.root.as_ref().unwrap();
    let mut stanzas = Vec::new();
    for (path, own) in &walked.own {
        let relative = |path: &[u8]| {
            path[root.path.len()..]
                .strip_prefix(b"/")
                .unwrap_or_default()
                .to_vec()
        };
        let mut stanza = line(&relative(path), own, b"", &[]);
        for (child, row) in &walked.rows {
            let parent = trawl_model::path::split(child).unwrap().0;
            if parent == path && row.entry.meta.file_type() != FileType::Directory {
                let xattrs: Vec<_> = row.xattrs.iter().map(|(n, v)| (&n[..], &v[..])).collect();
                stanza.extend(line(
                    &relative(child),
                    &row.entry.meta,
                    &row.link_target,
                    &xattrs,
                ));
            }
        }
        stanzas.push((path.clone(), stanza));
    }
    stanzas.sort_by(|a, b| trawl_model::path::cmp(&a.0, &b.0));
    if reverse {
        stanzas.reverse();
    }
    stanzas.into_iter().flat_map(|(_, s)| s).collect()
}

#[test]
fn a_recorded_tree_comes_back() {
    let scratch = Scratch::new();
    let names: [&[u8]; 6] = [
        b"plain",
        b"new\nline",
        b"\xff\xfe",
        b"rs\x1ers",
        b"a-b",
        b"a",
    ];
    for name in names {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::create_dir_all(scratch.0.join("sub").join(name).join("empty")).unwrap();
        std::fs::write(scratch.0.join(name), b"12345").unwrap();
        std::os::unix::fs::symlink(name, scratch.0.join("sub").join(name).join("li\nnk")).unwrap();
    }
    let attributed = std::fs::File::open(scratch.0.join("plain")).unwrap();
    let _ = set_attribute(&attributed, c"user.note", b"two\nlines");
    let walked = record(&scratch.0, |_| {});
    for reverse in [false, true] {
        let (got, counts) = replay(
            &trace_of(&walked, reverse),
            Some(&walked.root.as_ref().unwrap().path),
        )
        .unwrap();
        assert!(got.issues.is_empty(), "{:?}", details(&got));
        assert_eq!(counts.directories as usize, walked.own.len());
        assert!(
            got.order
                .is_sorted_by(|a, b| trawl_model::path::cmp(a, b).is_lt())
        );
        assert!(got.rows.keys().eq(walked.rows.keys()));
        for ((path, row), want) in got.rows.iter().zip(walked.rows.values()) {
            let (m, mut w) = (row.entry.meta, want.entry.meta);
            (w.dev, w.attributes, w.project) = (m.dev, 0, None);
            for time in [&mut w.atime, &mut w.mtime, &mut w.ctime] {
                time.nanos = 0;
            }
            w.btime = w.btime.map(|t| trawl_model::Timestamp { nanos: 0, ..t });
            if m.file_type() == FileType::Directory {
                // Reading the tree changed none of these, but the directory's own row may be newer.
                assert_eq!((m.ino, m.mode), (w.ino, w.mode));
            } else {
                assert_eq!(m, w, "{}", String::from_utf8_lossy(path));
            }
            assert_eq!(row.link_target, want.link_target);
            assert_eq!(row.xattrs, want.xattrs);
        }
    }
}

#[test]
fn the_file_names_the_root() {
    let bytes = [dir(""), file("f"), dir("d"), file("d/g")].concat();
    let (got, _) = replay(&bytes, None).unwrap();
    assert_eq!(paths(&got), ["/recorded/d", "/recorded/d/g", "/recorded/f"]);
    let (got, _) = replay(&bytes, Some(b"")).unwrap();
    assert_eq!(paths(&got), ["/d", "/d/g", "/f"]);
    // A trace whose first directory is not the empty path.
    let bytes = [dir("/x/y"), file("/x/y/f"), dir("/x/y/d")].concat();
    let (got, _) = replay(&bytes, Some(b"/m")).unwrap();
    assert_eq!(paths(&got), ["/m/d", "/m/f"]);
}

#[test]
fn large_stanzas_come_in_sorted_fragments() {
    let mut bytes = dir("");
    for i in 0..70_000 {
        bytes.extend(file(&format!("{}-{i}", i * 7919 % 1000)));
    }
    let (got, _) = replay(&bytes, None).unwrap();
    assert_eq!(
        (got.rows.len(), got.fragments),
        (70_000, vec![65_536, 4464])
    );
}

#[test]
fn damaged_lines_are_told_with_their_numbers() {
    let good = [dir(""), file("a"), file("b"), dir("d"), file("d/c")];
    let with = |at: usize, bad: &[u8]| {
        let mut lines = good.to_vec();
        lines.insert(at, bad.to_vec());
        replay(&lines.concat(), None).unwrap().0
    };
    let broken_number = String::from_utf8(file("n"))
        .unwrap()
        .replace("\x1e3\x1e", "\x1e3x\x1e");
    let cases: [(&[u8], &str); 7] = [
        (b"garbage\n", "the length of the path"),
        (broken_number.as_bytes(), "size is not a number"),
        (&file("a/../b"), "empty, `.` or `..`"),
        (
            &file("other/x"),
            "does not belong to the directory of its stanza",
        ),
        (b"ffffshort\x1ef\x1e1\n", "ends too early"),
        (&[&b"0001a"[..], b"\x1ed\x1e1\n"].concat(), "ends too early"),
        (
            &line(b"lie", &meta(0o40_755), b"", &[])[..20],
            "ends too early",
        ),
    ];
    for (bad, want) in cases {
        let bad = if bad.ends_with(b"\n") {
            bad.to_vec()
        } else {
            [bad, b"\n"].concat()
        };
        let got = with(2, &bad);
        let all = details(&got);
        // Each good line contains a newline within a field, so there are two per entry.
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(
            all[0].starts_with("line 5 (byte ") && all[0].contains(want),
            "{all:?}"
        );
        assert_eq!(got.issues[0].op, Op::Parse);
        assert_eq!(
            paths(&got),
            ["/recorded/a", "/recorded/b", "/recorded/d", "/recorded/d/c"]
        );
    }
    let run = with(5, &[file("x/1"), b"junk\n".to_vec(), file("x/2")].concat());
    assert_eq!(details(&run).len(), 1);
    assert!(
        details(&run)[0].starts_with("3 lines from line 11"),
        "{:?}",
        details(&run)
    );
}

#[test]
fn directories_out_of_place_are_told_once() {
    let bytes = [
        file("stray"),
        dir(""),
        dir("a"),
        file("a/f"),
        dir("a/missing/b"),
        file("a/missing/b/g"),
        dir("a/missing/b/c"),
        dir("a"),
        file("a/again"),
        dir("z"),
    ]
    .concat();
    let (got, _) = replay(&bytes, None).unwrap();
    assert_eq!(paths(&got), ["/recorded/a", "/recorded/a/f", "/recorded/z"]);
    let details = details(&got);
    assert_eq!(details.len(), 3, "{details:?}");
    assert!(
        details
            .iter()
            .any(|d| d.contains("line 9: the line of the directory that holds it is missing"))
    );
    assert!(
        details
            .iter()
            .any(|d| d.contains("line 15: this directory came before"))
    );
    assert!(
        details
            .iter()
            .any(|d| d.contains("1 lines from line 1 on stand before"))
    );
}

#[test]
fn a_pipe_must_have_directories_in_order() {
    let read = |parts: &[Vec<u8>]| replay_pipe(&parts.concat(), None).map(|(got, _)| paths(&got));
    let good = read(&[
        dir(""),
        dir("a"),
        dir("a/b"),
        file("a/b/f"),
        dir("a-b"),
        file("a-b/g"),
    ]);
    assert_eq!(
        good.unwrap(),
        ["/a", "/a-b", "/a-b/g", "/a/b", "/a/b/f"].map(|path| format!("/recorded{path}"))
    );
    for bad in [
        [dir(""), dir("b"), dir("a")],
        [dir(""), dir("a"), dir("a")],
        [dir(""), dir("a-b"), dir("a/b")],
        [dir(""), dir("a"), dir("b/c")],
        [dir("a"), dir("a/b"), dir("c")],
    ] {
        let error = read(&bad).unwrap_err();
        // Each line contains a newline within a field.
        assert!(
            error.contains("the directory in line 5 does not"),
            "{error}"
        );
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    for bytes in [&b""[..], b"\n\n\n", b"\x7fELF\0\0\0\0", &[0x1e; 2_000_000]] {
        let error = replay(bytes, None).map(|_| ()).unwrap_err();
        assert!(error.contains("holds no directory"), "{error}");
    }
    let cancel = AtomicBool::new(true);
    let options = TraceOptions {
        root: None,
        cancel: &cancel,
    };
    let missing = read_trace(
        Path::new("/no/such"),
        &options,
        &ScanProgress::default(),
        &mut Recorder::default(),
    );
    assert!(matches!(missing, Err(ScanError::Trace { .. })));
    let scratch = Scratch::new();
    let file = scratch.0.join("trace");
    std::fs::write(&file, "no record\n").unwrap();
    let cancelled = read_trace(
        &file,
        &options,
        &ScanProgress::default(),
        &mut Recorder::default(),
    );
    assert!(matches!(cancelled, Err(ScanError::Cancelled)));
}

/// Any truncation and any changed byte: no panic, no broken promise to the sink, no invented path.
#[test]
fn no_damage_does_more_than_hide_entries() {
    let link = line(b"d/l", &meta(0o120_777), b"to\nwhere", &[(b"user.a", b"b")]);
    let bytes = [
        dir(""),
        file("a"),
        dir("d"),
        file("d/c"),
        link,
        dir("d/e"),
        file("d/e/f"),
    ]
    .concat();
    let whole: BTreeSet<_> = paths(&replay(&bytes, None).unwrap().0)
        .into_iter()
        .collect();
    assert_eq!(whole.len(), 6);
    for end in (0..bytes.len()).step_by(7) {
        if let Ok((got, _)) = replay(&bytes[..end], None) {
            assert!(paths(&got).iter().all(|p| whole.contains(p)));
            assert!(got.issues.len() <= 1, "{:?}", details(&got));
        }
    }
    let mut random = 1u32;
    for _ in 0..600 {
        let mut bytes = bytes.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = random as usize % bytes.len();
            bytes[at] = [0, 0x1e, b'\n', b'0', b'f', b'/', 0xff, b'd'][(random >> 8) as usize % 8];
        }
        let _ = replay(&bytes, None);
    }
}
