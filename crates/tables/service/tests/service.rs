//! Tests the service as a client sees it: complete tables that agree with the kernel, limits, and
//! no answer to forbidden questions.

use std::ffi::CString;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::IoSliceMut;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use trawl_table::wire::{ANSWER_BYTES, Answer, QUESTION_BYTES_MAX, Question};
use trawl_table::{Directory, Table};
use trawl_table_service::{
    Begun, Config, Demand, Extent, KnownNames, Level, LocalWalk, Name, Names, Running, Service,
    WantedDirectory,
};
use trawl_testkit::random_tree::Plan;
use trawl_testkit::{RandomTree, Scratch};

fn variable(service: &Running, name: &str) -> PathBuf {
    let all = service.environment();
    let found = all.iter().find(|(variable, _)| variable == name);
    PathBuf::from(&found.unwrap().1)
}

/// Returns a table, and the memory that it came in.
fn ask(service: &Running, question: &Question<'_>) -> Result<(Vec<u8>, OwnedFd), u32> {
    let mut socket = UnixStream::connect(variable(service, "TRAWL_BULK_SOCKET")).unwrap();
    let mut space = [0; QUESTION_BYTES_MAX];
    socket
        .write_all(question.encode(&mut space).unwrap())
        .unwrap();
    let mut answer = [0; ANSWER_BYTES];
    let mut control = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut control);
    let mut parts = [IoSliceMut::new(&mut answer)];
    recvmsg(&socket, &mut parts, &mut control, RecvFlags::WAITALL).unwrap();
    let memory = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    match Answer::decode(&answer).unwrap() {
        Answer::None(errno) => Err(errno),
        Answer::Table(length) => {
            let file = std::fs::File::from(memory.unwrap());
            let mut bytes = vec![0; usize::try_from(length).unwrap()];
            file.read_exact_at(&mut bytes, 0).unwrap();
            Ok((bytes, file.into()))
        }
    }
}

fn question(path: &Path, level: Level, entries_max: u32) -> Question<'_> {
    let path = path.as_os_str().as_bytes();
    let extent = Extent::Below;
    Question {
        path,
        from: b"",
        level,
        extent,
        entries_max,
    }
}

/// Compares a directory of the table with the real one; returns the number of directories listed.
fn compare(directory: &Directory<'_>, path: &Path) -> usize {
    if !directory.is_listed() {
        return 0;
    }
    let mut listed = 1;
    let names = std::fs::read_dir(path).unwrap().count();
    assert_eq!(directory.len() as usize, names + 2, "{}", path.display());
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let found = directory.find(entry.file_name().as_bytes()).unwrap();
        let (of, stat) = (entry.metadata().unwrap(), found.stat().unwrap());
        assert_eq!((stat.dev, stat.ino), (of.dev(), of.ino()));
        assert_eq!(
            (stat.mode, stat.size, stat.nlink),
            (of.mode(), of.size(), of.nlink())
        );
        assert_eq!((stat.mtime.secs, stat.ctime.secs), (of.mtime(), of.ctime()));
        let link = std::fs::read_link(entry.path()).ok();
        assert_eq!(
            found.link(),
            link.as_ref().map(|link| link.as_os_str().as_bytes())
        );
        if of.is_dir() {
            listed += compare(&found.directory().unwrap(), &entry.path());
        }
    }
    listed
}

fn tree(name: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    let top = scratch.join("tree");
    std::fs::create_dir(&top).unwrap();
    let plan = Plan {
        entries: 400,
        ..Plan::new(7)
    };
    RandomTree::build(&top, &plan).unwrap();
    for name in ["one more", "and another", "q", "3", "w", "A", "z", "5"] {
        std::fs::create_dir(top.join(name)).unwrap();
    }
    let top = top.canonicalize().unwrap();
    (scratch, top)
}

#[test]
fn a_table_says_what_the_kernel_says() {
    let (_scratch, top) = tree("bulk");
    let service = Service::start(Config::local(vec![top.clone()])).unwrap();
    let (bytes, memory) = ask(&service, &question(&top, Level::Stats, 1 << 20)).unwrap();
    let table = Table::new(&bytes).unwrap();
    assert_eq!(table.path(), top.as_os_str().as_bytes());
    let all = compare(&table.directory(0).unwrap(), &top);
    assert!(all > 10, "{all}");
    // Nobody can change it.
    assert!(std::fs::File::from(memory).write_at(b"x", 0).is_err());
    // Only the last of its directories, in the order of listing.
    let names = std::fs::read_dir(&top).unwrap().map(Result::unwrap);
    let below: Vec<_> = names
        .filter(|one| one.file_type().unwrap().is_dir())
        .collect();
    let last = below.last().unwrap().file_name();
    let from = [b"/", last.as_bytes()].concat();
    let question = Question {
        from: &from,
        ..question(&top, Level::Stats, 1 << 20)
    };
    let (bytes, _) = ask(&service, &question).unwrap();
    let root = Table::new(&bytes).unwrap().directory(0).unwrap();
    let is_listed = |name: &[u8]| {
        let directory = root.find(name).unwrap().directory();
        directory.is_some_and(|directory| directory.is_listed())
    };
    for one in &below {
        assert_eq!(
            is_listed(one.file_name().as_bytes()),
            one.file_name() == last
        );
    }
    assert!(below.len() > 2);
    // With a small limit: fewer directories, but complete ones.
    let (bytes, _) = ask(&service, &self::question(&top, Level::Stats, 100)).unwrap();
    let table = Table::new(&bytes).unwrap();
    let some = compare(&table.directory(0).unwrap(), &top);
    assert!(0 < some && some < all, "{some} of {all}");
    assert_eq!(service.statistics().0, 3);
}

#[test]
fn tables_are_shared_until_something_changes() {
    let (_scratch, top) = tree("bulk-cache");
    let config = Config {
        age: std::time::Duration::from_secs(3600),
        ..Config::local(vec![top.clone()])
    };
    let service = Service::start(config).unwrap();
    let ask = || ask(&service, &question(&top, Level::Names, 1000)).unwrap();
    let inode = |memory: OwnedFd| std::fs::File::from(memory).metadata().unwrap().ino();
    let (one, same) = (inode(ask().1), inode(ask().1));
    assert_eq!(one, same);
    std::fs::write(top.join("new"), "").unwrap();
    service.changed();
    let (bytes, memory) = ask();
    assert_ne!(inode(memory), one);
    let table = Table::new(&bytes).unwrap();
    assert!(table.directory(0).unwrap().find(b"new").is_some());
}

#[test]
fn what_is_not_covered_is_refused() {
    let (scratch, top) = tree("bulk-refused");
    let service = Service::start(Config::local(vec![top.clone()])).unwrap();
    for path in [
        scratch.join(""),
        top.join(".."),
        top.join("no such"),
        "/".into(),
    ] {
        assert!(
            ask(&service, &question(&path, Level::Names, 10)).is_err(),
            "{path:?}"
        );
    }
    let place = variable(&service, "TRAWL_BULK_PAGE");
    assert!(place.exists());
    drop(service);
    assert!(!place.exists());
}

#[test]
fn of_a_search_path_it_is_known_what_is_not_there() {
    let scratch = Scratch::new("bulk-search-path");
    let top = scratch.path().canonicalize().unwrap();
    for name in ["a/lib", "a/lib/deep/lib", "b/lib", "a/other"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
        std::fs::write(top.join(name).join("libone.so"), "").unwrap();
    }
    std::os::unix::fs::symlink("b/lib", top.join("link")).unwrap();
    let service = Service::start(Config::local(vec![top.clone()])).unwrap();
    let of = |names: &[&str]| {
        let paths = names.iter().map(|name| format!("{}/{name}", top.display()));
        paths.collect::<Vec<_>>().join(":")
    };
    let all = of(&[
        "a/lib",
        "b/lib",
        "link",
        "no/such",
        "a/lib/deep/lib",
        "a/lib/libone.so",
    ]);
    let question = Question {
        extent: Extent::Each,
        ..question(Path::new(&all), Level::Names, 1000)
    };
    let (bytes, _memory) = ask(&service, &question).unwrap();
    let table = Table::new(&bytes).unwrap();
    for (name, is_absent) in [
        ("a/lib/x", true),
        ("a/lib/libone.so", false),
        ("a/lib/deep/lib/x", true),
        ("a/lib/deep/lib/libone.so", false),
        ("a/lib/deep/x", false),
        ("b/lib/x", true),
        ("link/x", true),
        ("link/libone.so", false),
        ("no/such/libone.so", true),
        ("no/other", false),
        ("a/other/x", false),
        ("x", false),
        ("a/lib/libone.so/x", false),
    ] {
        let path = top.join(name);
        assert_eq!(
            table.says_absent(path.as_os_str().as_bytes()),
            is_absent,
            "{name}"
        );
        assert!(!is_absent || !path.exists(), "{name}");
    }
    // With too many names nothing is said, rather than too much.
    let few = Question {
        entries_max: 3,
        ..question
    };
    let (bytes, _memory) = ask(&service, &few).unwrap();
    let table = Table::new(&bytes).unwrap();
    assert!(!table.says_absent(top.join("a/lib/x").as_os_str().as_bytes()));
    // There is an answer however deep a path is.
    let deep = format!("{}{}", top.display(), "/d".repeat(1500));
    let question = Question {
        path: deep.as_bytes(),
        ..question
    };
    let (bytes, _memory) = ask(&service, &question).unwrap();
    let table = Table::new(&bytes).unwrap();
    assert!(
        !table.says_absent(deep.as_bytes())
            && !table.says_absent(top.join("d").as_os_str().as_bytes())
    );
    // One directory that is not covered is enough for a refusal.
    let outside = format!("{all}:/usr");
    let refused = Question {
        path: outside.as_bytes(),
        ..question
    };
    assert!(ask(&service, &refused).is_err());
}

/// Knows what the file system had when it was asked, optionally with a wrong number.
#[derive(Debug, Default)]
struct Stub {
    told: Arc<AtomicUsize>,
    wrong: Option<&'static str>,
}

impl KnownNames for Stub {
    fn begin(&self, _: &Demand, _: Begun) -> Option<Box<dyn Names>> {
        Some(Box::new(Stub {
            told: Arc::clone(&self.told),
            wrong: self.wrong,
        }))
    }
}

impl Names for Stub {
    fn names(&mut self, wanted: &WantedDirectory<'_>) -> Option<Vec<Name>> {
        let path = Path::new(std::ffi::OsStr::from_bytes(wanted.path));
        let name = |entry: std::fs::DirEntry| {
            let of = entry.metadata().unwrap();
            let is_wrong = self.wrong.is_some_and(|wrong| entry.file_name() == wrong);
            Name {
                name: CString::new(entry.file_name().as_bytes()).unwrap(),
                ino: of.ino() + u64::from(is_wrong),
                kind: (of.mode() >> 12) as u8,
                sign: None,
            }
        };
        let entries = std::fs::read_dir(path).ok()?;
        let mut names: Vec<Name> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort_by(|one, two| one.name.cmp(&two.name));
        self.told.fetch_add(1, Ordering::SeqCst);
        Some(names)
    }

    fn as_of_ns(&self) -> Option<i64> {
        Some(1)
    }
}

/// Compares names, numbers and types with the directory's; returns the number of directories
/// listed.
fn compare_names(directory: &Directory<'_>, path: &Path) -> usize {
    assert!(directory.is_searchable(), "{}", path.display());
    let entries: Vec<_> = std::fs::read_dir(path)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(directory.len() as usize, entries.len() + 2);
    let dots = [
        directory.find(b".").unwrap(),
        directory.find(b"..").unwrap(),
    ];
    for (dot, path) in dots.iter().zip([path, path.parent().unwrap()]) {
        assert_eq!(dot.ino(), std::fs::metadata(path).unwrap().ino());
    }
    let mut listed = 1;
    for entry in entries {
        let found = directory.find(entry.file_name().as_bytes()).unwrap();
        let of = entry.metadata().unwrap();
        assert_eq!(found.ino(), of.ino(), "{}", entry.path().display());
        assert_eq!(u32::from(found.kind()), of.mode() >> 12);
        if of.is_dir() {
            assert_eq!(found.stat().unwrap().ctime.nanos as i64, of.ctime_nsec());
            listed += compare_names(&found.directory().unwrap(), &entry.path());
        }
    }
    listed
}

#[test]
fn known_names_are_believed_if_directories_are_those() {
    let (_scratch, top) = tree("bulk-known");
    for (wrong, is_listed) in [(None, false), (Some("one more"), true)] {
        let told = Arc::new(AtomicUsize::new(0));
        let stub = Stub {
            told: Arc::clone(&told),
            wrong,
        };
        let mut config = Config::local(vec![top.clone()]);
        config.source = Arc::new(LocalWalk::knowing(Arc::new(stub)));
        let service = Service::start(config).unwrap();
        let (bytes, _memory) = ask(&service, &question(&top, Level::Names, 1 << 20)).unwrap();
        let table = Table::new(&bytes).unwrap();
        let root = table.directory(0).unwrap();
        let all = compare_names(&root, &top);
        assert_eq!(told.load(Ordering::SeqCst), all);
        assert_eq!(table.begun_ns(), 1);
        // In the order in which they are known, unless they had to be listed.
        let names = (0..root.len()).map(|at| root.entry(at).unwrap().name());
        let names: Vec<_> = names.collect();
        assert_eq!(!names[2..].is_sorted(), is_listed, "{names:?}");
        // If each name is looked at, `KnownNames` is not asked.
        ask(&service, &question(&top, Level::Stats, 1 << 20)).unwrap();
        assert_eq!(told.load(Ordering::SeqCst), all);
    }
}
