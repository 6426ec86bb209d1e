//! What lies behind a mount changes: the daemon, the index, definitions; and many readers at once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle::{self, Identity};

use crate::site::{LONG, Mounted, Site, cannot};

const FILES: usize = 20_000;

/// Makes an indexed tree whose listing does not fit into the buffers on its way.
fn site(label: &str) -> Site {
    let site = Site::new(label, &[]);
    for directory in 0..20 {
        let path = site.tree().join(format!("directory-{directory}"));
        fs::create_dir(&path).unwrap();
        for file in 0..FILES / 20 {
            let name = format!("file-with-a-name-of-some-length-{directory}-{file}");
            fs::write(path.join(name), "").unwrap();
        }
    }
    index(&site, &[]);
    site.define("files", &["-type", "f"]);
    site
}

fn index(site: &Site, words: &[&str]) {
    let mut command = site.trawl(&Identity::Ourselves, &["index", "--quiet"]);
    oracle::run(command.args(words).arg(site.tree())).expect_code(0);
}

fn watch(site: &Site) -> Daemon {
    let mut watch = site.trawl(&Identity::Ourselves, &["watch"]);
    Daemon::start(watch.arg(site.tree()))
}

/// Waits until the index answers behind the barrier. Before that, the file system may answer, and
/// nothing says so: only a directory that was read shows it.
fn settle(site: &Site) {
    let until = Instant::now() + LONG;
    loop {
        forget(site);
        let long_ago = last_read(site);
        let mut find = site.trawl(&Identity::Ourselves, &["find"]);
        let ran = oracle::run(find.arg(site.tree()).args(["-name", "directory-7*"]));
        if ran.code == Some(0) && ran.stderr.is_empty() && last_read(site) == long_ago {
            return;
        }
        assert!(Instant::now() < until, "{ran}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns when a directory of the tree was last read: at once after [`forget`], if ever.
fn last_read(site: &Site) -> i64 {
    fs::metadata(site.tree().join("directory-7"))
        .unwrap()
        .atime()
}

/// Makes the tree's directory look as if nobody had read it for years: the next one to do so leaves a
/// time behind (`relatime` of mount(8)).
fn forget(site: &Site) {
    let mut touch = oracle::command("touch");
    touch.args(["-a", "-d", "2001-01-01"]);
    oracle::run(touch.arg(site.tree().join("directory-7"))).expect_code(0);
}

/// The index answers while a daemon watches, so no directory is read; without it each is.
#[test]
fn listings_come_from_the_index_behind_the_barrier() {
    if cannot("listings from the index") {
        return;
    }
    let site = site("views-barrier");
    let mounted = site.mount();
    forget(&site);
    let long_ago = last_read(&site);
    assert_eq!(mounted.names("files").unwrap().len(), FILES);
    if last_read(&site) == long_ago {
        trawl_testkit::skip::Skip::new("listings from the index", "reading leaves no time").say();
        return;
    }
    let _daemon = watch(&site);
    settle(&site);
    forget(&site);
    settle(&site);
    for number in 0..20 {
        let name = format!("new-{number}");
        site.write(&name);
        let names = mounted.names("files").unwrap();
        assert!(names.contains(&name), "{name}");
        fs::remove_file(site.tree().join(&name)).unwrap();
        assert!(!mounted.names("files").unwrap().contains(&name), "{name}");
    }
    assert_eq!(last_read(&site), long_ago, "the index answered");
}

/// Reads the rest of an open listing. It is whole, or says that it is not.
#[track_caller]
fn finish(listing: fs::ReadDir, read: usize) {
    let mut count = read;
    for entry in listing {
        match entry {
            Ok(entry) if entry.file_name() != "%incomplete" => count += 1,
            Ok(entry) => panic!("{:?}", entry.file_name()),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(5), "EIO");
                return;
            }
        }
    }
    assert_eq!(count, FILES);
}

fn begin(mounted: &Mounted) -> fs::ReadDir {
    let mut listing = fs::read_dir(mounted.join("files")).unwrap();
    listing.next().unwrap().unwrap();
    listing
}

#[test]
fn a_daemon_is_restarted_while_a_directory_is_open() {
    if cannot("a daemon that is restarted") {
        return;
    }
    let site = site("views-restart");
    let mounted = site.mount();
    let mut daemon = watch(&site);
    settle(&site);
    for signal in ["-TERM", "-KILL"] {
        let listing = begin(&mounted);
        daemon.end(signal);
        // Without a daemon the file system answers.
        site.write("between");
        assert_eq!(mounted.names("files").unwrap().len(), FILES + 1);
        fs::remove_file(site.tree().join("between")).unwrap();
        daemon = watch(&site);
        finish(listing, 1);
        assert_eq!(mounted.names("files").unwrap().len(), FILES);
        settle(&site);
    }
}

#[test]
fn an_index_is_replaced_while_a_directory_is_open() {
    if cannot("an index that is replaced") {
        return;
    }
    let site = site("views-replaced");
    let mounted = site.mount();
    let daemon = watch(&site);
    settle(&site);
    let from_index = begin(&mounted);
    drop(daemon);
    let live = begin(&mounted);
    for _ in 0..3 {
        // Only the newest snapshot stays.
        index(&site, &["--keep", "1"]);
    }
    finish(from_index, 1);
    finish(live, 1);
    let listing = begin(&mounted);
    fs::rename(site.scratch.join("index"), site.scratch.join("old-index")).unwrap();
    finish(listing, 1);
    assert_eq!(mounted.names("files").unwrap().len(), FILES);
}

/// Readers at the same time: some to the end, some that stop halfway, some that look names up.
#[test]
fn readers_do_not_disturb_each_other() {
    if cannot("many readers") {
        return;
    }
    let site = site("views-readers");
    let mounted = site.mount();
    std::thread::scope(|scope| {
        for reader in 0..9 {
            let mounted = &mounted;
            scope.spawn(move || {
                for _ in 0..3 {
                    match reader % 3 {
                        0 => assert_eq!(mounted.names("files").unwrap().len(), FILES),
                        1 => drop(begin(mounted)),
                        _ => {
                            let name = format!("file-with-a-name-of-some-length-{reader}-7");
                            let link = mounted.join("files").join(&name);
                            let path = fs::read_link(link).unwrap();
                            assert_eq!(path.file_name().unwrap(), name.as_str());
                        }
                    }
                }
            });
        }
    });
    let until = Instant::now() + LONG;
    while !mounted.workers().is_empty() {
        assert!(Instant::now() < until, "no process is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The kernel keeps a view's name for a moment, but a question is asked as it is defined now.
#[test]
fn another_definition_counts_at_once() {
    if cannot("definitions that change") {
        return;
    }
    let site = Site::new("views-redefined", &["a", "b"]);
    site.define("one", &["-name", "a"]);
    let mounted = site.mount();
    let names = || mounted.names("one").unwrap();
    for _ in 0..10 {
        site.define("one", &["-name", "a"]);
        assert_eq!(names(), ["a"]);
        site.define("one", &["-name", "b"]);
        assert_eq!(names(), ["b"]);
    }
    let mut remove = site.trawl(&Identity::Ourselves, &["view", "remove", "--system", "one"]);
    remove
        .arg("--definitions")
        .arg(site.scratch.join("definitions"));
    oracle::run(&mut remove).expect_code(0);
    assert!(mounted.names("one").is_err());
}
