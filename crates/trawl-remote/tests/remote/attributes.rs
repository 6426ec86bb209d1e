//! Extended attributes: an answer equals what the kernel says, in full, or is an error.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use trawl_remote::client::AttributesBelow;
use trawl_remote::wire::{Data, End, Ending, Hello, Message, Refusal, VERSION, feature};
use trawl_remote::{Address, Export, Exports, Remote, RemoteError};
use trawl_sys::{Errno, xattr};
use trawl_testkit::folder::set_attribute;
use trawl_testkit::{Scratch, Skip};

use crate::support::{binary_tree, bytes, hello, listen, proxy, remote, server, serving};

type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// Returns the attributes that the kernel reports for the object at a path, not resolved as a link.
fn of_path(path: &Path) -> Attributes {
    let path = CString::new(bytes(path)).unwrap();
    let mut reader = xattr::Reader::for_any_thread();
    let here = File::open("/").unwrap();
    let names = reader.list(&here, &path).unwrap().to_vec();
    let names = names.split_inclusive(|byte| *byte == 0);
    let value = |name: &[u8]| {
        let name = CStr::from_bytes_with_nul(name).unwrap();
        let value = reader.get(&here, &path, name).unwrap().unwrap().to_vec();
        (name.to_bytes().to_vec(), value)
    };
    names.map(value).collect()
}

/// Collects all objects below a directory that have attributes.
fn of_tree(dir: &Path, below: &[u8], all: &mut BTreeMap<Vec<u8>, Attributes>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let path = match below {
            b"" => name.as_bytes().to_vec(),
            below => [below, b"/", name.as_bytes()].concat(),
        };
        let found = of_path(&entry.path());
        if !found.is_empty() {
            all.insert(path.clone(), found);
        }
        if entry.file_type().unwrap().is_dir() {
            of_tree(&entry.path(), &path, all);
        }
    }
}

fn told(answer: &AttributesBelow, all: &mut BTreeMap<Vec<u8>, Attributes>) {
    assert_eq!((answer.others, answer.left_out.len()), (Ok(()), 0));
    for (path, found) in &answer.objects {
        let found = found.clone().unwrap().into_iter();
        let found: Attributes = found.map(|(name, value)| (name, value.unwrap())).collect();
        if !found.is_empty() && !path.is_empty() {
            all.insert(path.clone(), found);
        }
    }
}

/// Makes a tree in which some objects have attributes; `None` where the file system has none.
fn site(scratch: Scratch, length: usize) -> Option<Scratch> {
    let top = scratch.join("tree");
    if !top.exists() {
        std::fs::create_dir(&top).unwrap();
    }
    for name in ["new\nline", "a b", &"n".repeat(255)] {
        std::fs::write(top.join(name), "x").unwrap();
    }
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    std::fs::create_dir_all(top.join(odd).join("deep")).unwrap();
    symlink("a b", top.join("link")).unwrap();
    std::fs::write(top.join(odd).join("deep/file"), "x").unwrap();
    let odd = bytes(&top.join(odd)).to_vec();
    let long: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
    for (path, name, value) in [
        (bytes(&top), c"user.top", &b"of the top"[..]),
        (bytes(&top.join("new\nline")), c"user.long", &long),
        (bytes(&top.join("new\nline")), c"user.nul", b"\0a\0"),
        (bytes(&top.join("n".repeat(255))), c"user.empty", b""),
        (&odd, c"user.of a directory", b"x"),
        (&[&odd[..], b"/deep/file"].concat(), c"user.\xff", b"\xff"),
    ] {
        let file = File::open(std::ffi::OsStr::from_bytes(path)).unwrap();
        if let Err(error) = set_attribute(&file, name, value) {
            Skip::new("extended attributes", error).say();
            return None;
        }
    }
    Some(scratch)
}

#[test]
fn all_are_those_of_the_kernel_however_many_are_asked_for() {
    let Some(scratch) = site(binary_tree(5), 1500) else {
        return;
    };
    let top = scratch.join("tree");
    let mut wanted = BTreeMap::new();
    of_tree(&top, b"", &mut wanted);
    assert_eq!(wanted.len(), 4);
    let remote = remote(&scratch, serving(Exports::Everything));
    let count = 4096;
    let all = remote.attributes(bytes(&top), b"", count).unwrap();
    assert_eq!((all.objects[0].0.len(), all.behind.as_ref()), (0, None));
    let own = all.objects[0].1.clone().unwrap();
    assert_eq!(own, [(b"user.top".to_vec(), Ok(b"of the top".to_vec()))]);
    let mut found = BTreeMap::new();
    told(&all, &mut found);
    assert_eq!(found, wanted);
    for entries in [1, 2, 7, 30] {
        let (mut found, mut from, mut rounds) = (BTreeMap::new(), Vec::new(), 0);
        loop {
            let part = remote.attributes(bytes(&top), &from, entries).unwrap();
            assert_eq!(part.objects[0].0, from);
            told(&part, &mut found);
            rounds += 1;
            match part.behind {
                Some(behind) => from = behind,
                None => break,
            }
        }
        assert_eq!(found, wanted, "{entries} at a time");
        // 31 directories with a file each, without the top, and the objects added above.
        assert!(rounds >= 61 / entries, "{rounds}");
    }
    // Single objects of each type, and one that does not exist.
    let alone = |from: &[u8]| remote.attributes(bytes(&top), from, 0).unwrap();
    let answer = alone(b"\xff\xfe/deep/file");
    assert_eq!(answer.objects.len(), 1);
    assert_eq!(answer.behind.as_deref(), Some(&b"\xff\xfe/deep/file"[..]));
    told(&answer, &mut BTreeMap::new());
    assert_eq!(alone(b"link").objects[0].1, Ok(Vec::new()));
    for (path, errno) in [
        (&b"gone"[..], Errno::NOENT),
        (b"a b/c", Errno::NOTDIR),
        (&[b'n'; 256], Errno::NAMETOOLONG),
    ] {
        assert_eq!(alone(path).objects[0].1, Err(errno));
        // Objects after it are still reported, or are reported as not examined.
        let more = remote.attributes(bytes(&top), path, count).unwrap();
        assert_eq!(more.objects[0].1, Err(errno));
        assert!(more.behind.is_none() || more.left_out == [b"a b".to_vec()]);
    }
    for bad in [&b"../x"[..], b"a//b", b"/a", b"a/.", b"a\0b", &[b'x'; 4097]] {
        assert!(remote.attributes(bytes(&top), bad, 9).is_err());
    }
}

#[test]
fn links_are_looked_at_themselves_but_for_the_top() {
    let Some(scratch) = site(binary_tree(1), 10) else {
        return;
    };
    let top = scratch.join("tree");
    symlink(&top, scratch.join("way")).unwrap();
    let remote = remote(&scratch, serving(Exports::Everything));
    let way = remote.attributes(bytes(&scratch.join("way")), b"", 99);
    let straight = remote.attributes(bytes(&top), b"", 99).unwrap();
    assert_eq!(way.unwrap(), straight);
    let from = remote.attributes(bytes(&scratch.join("way")), b"new\nline", 99);
    assert!(from.unwrap().left_out.is_empty());
}

#[test]
fn long_answers_end_for_now() {
    let Some(scratch) = site(Scratch::new_in(Path::new("/dev/shm"), "long"), 65_536) else {
        return;
    };
    let top = scratch.join("tree");
    let long = vec![7; 60_000];
    for number in 0..200 {
        let file = File::create(top.join(format!("{number}"))).unwrap();
        if let Err(error) = set_attribute(&file, c"user.long", &long) {
            return Skip::new("long attributes", error).say();
        }
    }
    let mut wanted = BTreeMap::new();
    of_tree(&top, b"", &mut wanted);
    let remote = remote(&scratch, serving(Exports::Everything));
    let (mut found, mut from, mut rounds) = (BTreeMap::new(), Vec::new(), 0);
    loop {
        let part = remote.attributes(bytes(&top), &from, 1 << 20).unwrap();
        // 4 MiB, and the object at which the answer pauses.
        assert!(part.objects.len() < 72, "{}", part.objects.len());
        told(&part, &mut found);
        rounds += 1;
        match part.behind {
            Some(behind) => from = behind,
            None => break,
        }
    }
    assert_eq!(found, wanted);
    assert_eq!(rounds, 3);
}

#[test]
fn what_is_not_gone_into_is_said() {
    let scratch = binary_tree(1);
    let remote = remote(&scratch, serving(Exports::Everything));
    let device = std::fs::metadata("/").unwrap().dev();
    let mut mounts = 0;
    let all = remote.attributes(b"/", b"", 500).unwrap();
    for entry in std::fs::read_dir("/").unwrap().flatten() {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() && metadata.dev() != device {
            let name = entry.file_name().as_bytes().to_vec();
            assert!(all.left_out.contains(&name), "{entry:?}");
            mounts += 1;
        }
    }
    assert!(mounts > 0, "/proc at least");
    // The same when the search resumes inside it.
    let within = remote.attributes(b"/", b"proc/1/stat", 500).unwrap();
    assert_eq!(within.left_out, [b"proc".to_vec()]);
    assert_eq!(within.behind.as_deref(), Some(&b"proc/1/stat"[..]));
    let gone = remote
        .attributes(bytes(&scratch.join("gone")), b"", 9)
        .unwrap();
    assert_eq!(gone.objects[0].1, Err(Errno::NOENT));
    assert_eq!(gone.left_out, [b"".to_vec()]);
    let file = scratch.join("tree/x.c");
    for from in [&b""[..], b"below"] {
        let of_file = remote.attributes(bytes(&file), from, 9).unwrap();
        assert_eq!(of_file.left_out, [b"".to_vec()]);
    }
}

#[test]
fn nothing_outside_an_export_is_reached() {
    let Some(scratch) = site(binary_tree(1), 10) else {
        return;
    };
    let top = scratch.join("tree");
    symlink("../secret", top.join("up")).unwrap();
    std::fs::create_dir(scratch.join("secret")).unwrap();
    let key = File::create(scratch.join("secret/key")).unwrap();
    set_attribute(&key, c"user.secret", b"x").unwrap();
    let text = [b"tree=", bytes(&top)].concat();
    let exports = Exports::named(vec![Export::parse(&text).unwrap()]).unwrap();
    let confined = remote(&scratch, serving(exports));
    let (mut found, mut wanted) = (BTreeMap::new(), BTreeMap::new());
    told(&confined.attributes(b"/tree", b"", 99).unwrap(), &mut found);
    of_tree(&top, b"", &mut wanted);
    assert_eq!(found, wanted);
    for (top, from) in [
        (&b"/tree/../secret"[..], &b"key"[..]),
        (b"/tree", b"up/key"),
        (b"/tree/up", b"key"),
        (b"/", b"tree"),
        (b"/secret", b"key"),
    ] {
        let answer = confined.attributes(top, from, 99).unwrap();
        assert_eq!(answer.objects, [(from.to_vec(), Err(Errno::NOENT))]);
    }
}

#[test]
fn a_connection_that_breaks_is_an_error() {
    let Some(scratch) = site(binary_tree(6), 1500) else {
        return;
    };
    let top = scratch.join("tree");
    let Address::Unix(socket) = server(&scratch, "server", serving(Exports::Everything)) else {
        unreachable!();
    };
    let whole = {
        let (address, passed) = proxy(&scratch, "whole", socket.clone(), |_| None);
        let answer = Remote::new(address).attributes(bytes(&top), b"", 999);
        assert!(answer.unwrap().behind.is_none());
        passed.lock().unwrap().from_server
    };
    assert!(whole > 1500);
    for cut in (0..whole).step_by(37) {
        let (address, _) = proxy(&scratch, &format!("{cut}"), socket.clone(), move |_| {
            Some(cut)
        });
        let answer = Remote::new(address).attributes(bytes(&top), b"", 999);
        assert!(answer.is_err(), "{cut} of {whole} bytes");
    }
}

fn hello_with(features: u64) -> Vec<u8> {
    let hello = Message::Hello(Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 1,
        features,
    });
    hello.encode(0)
}

#[test]
fn an_older_server_is_not_asked() {
    let scratch = binary_tree(1);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let address = listen(scratch.join("old"), move |_, mut client| {
        let mut answer = hello_with(feature::ALL & !feature::ATTRIBUTES & !feature::LINKS);
        // Whatever the request was: a file without bytes.
        for id in 1.. {
            count.fetch_add(1, Ordering::Relaxed);
            if !matches!(client.read(&mut [0; 4096]), Ok(1..)) {
                return;
            }
            let (records, ending) = (0, Ending::Whole);
            answer.extend(Message::End(End { records, ending }).encode(id));
            client.write_all(&std::mem::take(&mut answer)).unwrap();
        }
    });
    let old = Remote::new(address);
    assert_eq!(old.read(b"/x", 0, 1).unwrap(), b"");
    let lacks = |error| matches!(error, RemoteError::Lacks { .. });
    assert!(lacks(old.attributes(b"/", b"", 1).unwrap_err()));
    assert!(lacks(old.links(&[b"/x".to_vec()]).unwrap_err()));
    assert_eq!(old.read(b"/x", 0, 1).unwrap(), b"");
    // Two requests were answered, and the server waits for a third.
    assert!(asked.load(Ordering::Relaxed) <= 3);
    // A server that refuses before its hello is not assumed to have all features.
    let address = listen(scratch.join("refuses"), move |_, mut client| {
        let _ = client.read(&mut [0; 4096]);
        let code = trawl_remote::wire::Code::Unsupported;
        let text = "there are no frames of kind 15".to_owned();
        let no = Message::Error(Refusal {
            code,
            errno: 0,
            text,
        })
        .encode(1);
        let _ = client.write_all(&[hello_with(0), no].concat());
    });
    let old = Remote::new(address);
    assert!(lacks(old.attributes(b"/", b"", 1).unwrap_err()));
}

/// A server that answers every request with these bytes.
fn says(scratch: &Scratch, name: &str, answer: Vec<u8>) -> Remote {
    let address = listen(scratch.join(name), move |_, mut client| {
        let _ = client.read(&mut [0; 4096]);
        let _ = client.write_all(&answer);
    });
    Remote::new(address)
}

#[test]
fn an_answer_without_end_is_an_error() {
    let scratch = binary_tree(1);
    let item = [&[2, 0, 0, 16, 0][..], &vec![b'x'; 1 << 20]].concat();
    let mut answer = hello().encode(0);
    for _ in 0..20 {
        answer.extend(Message::Data(Data(item.clone())).encode(1));
    }
    let endless = says(&scratch, "endless", answer);
    let error = endless.attributes(b"/", b"", 9).unwrap_err();
    assert!(matches!(error, RemoteError::TooMuch { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Only bytes that begin with the requested object and have an end are an answer.
    #[test]
    fn any_bytes_are_an_error_or_an_answer(
        junk in proptest::collection::vec(any::<u8>(), 0..40),
        is_begun: bool,
        is_ended: bool,
    ) {
        let scratch = Scratch::new("junk");
        let mut data = Vec::new();
        if is_begun {
            // The top itself, without attributes.
            data.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        data.extend(&junk);
        if is_ended {
            data.extend([3, 0, 0, 0, 0]);
        }
        let (records, ending) = (data.len() as u64, Ending::Whole);
        let end = Message::End(End { records, ending }).encode(1);
        let answer = [hello().encode(0), Message::Data(Data(data)).encode(1), end].concat();
        let answer = says(&scratch, "junk", answer).attributes(b"/", b"", 9);
        let is_whole = is_begun && is_ended && junk.is_empty();
        prop_assert!(!is_whole || answer.is_ok());
        prop_assert!(is_begun || junk.first() == Some(&1) || answer.is_err());
    }
}
