//! How a mount and its questions end.

use std::fs;
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};

use crate::site::{LONG, Mounted, Site, cannot, is_mounted};

/// Makes a tree whose answer does not fit into the buffers on its way.
fn site(label: &str) -> Site {
    let site = Site::new(label, &[]);
    for directory in 0..40 {
        let path = site.tree().join(format!("directory-{directory}"));
        fs::create_dir(&path).unwrap();
        for file in 0..1000 {
            fs::write(
                path.join(format!("file-with-a-long-name-{directory}-{file}")),
                "",
            )
            .unwrap();
        }
    }
    site.define("files", &["-type", "f"]);
    site
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Opens a listing and reads its beginning.
fn begin(mounted: &Mounted) -> fs::ReadDir {
    let mut listing = fs::read_dir(mounted.join("files")).unwrap();
    listing.next().unwrap().unwrap();
    assert_eq!(mounted.workers().len(), 1, "a process answers");
    listing
}

/// Returns the error at the end of a listing.
fn error_of(listing: fs::ReadDir) -> Option<i32> {
    let mut errors = listing.filter_map(Result::err);
    errors.next().and_then(|error| error.raw_os_error())
}

#[test]
fn sigterm_ends_everything_while_a_directory_is_read() {
    if cannot("SIGTERM while listing") {
        return;
    }
    let site = site("views-term");
    let mut mounted = site.mount();
    let listing = begin(&mounted);
    let workers = mounted.workers();
    assert_eq!(mounted.stop(), Some(0));
    assert!(!is_mounted(&mounted.point));
    let is_gone = |pid: &u32| !fs::exists(format!("/proc/{pid}")).unwrap();
    wait_until("the process that answers ends", || {
        workers.iter().all(is_gone)
    });
    // ENOTCONN, or EIO: never a short listing.
    assert!(error_of(listing).is_some());
    assert_eq!(fs::read_dir(&mounted.point).unwrap().count(), 0);
}

#[test]
fn unmounting_while_a_directory_is_read_is_refused_or_lazy() {
    if cannot("unmounting while listing") {
        return;
    }
    let site = site("views-unmount");
    let mut mounted = site.mount();
    let listing = begin(&mounted);
    let unmount = || {
        oracle::run(
            site.trawl(&Identity::Ourselves, &["unmount"])
                .arg(&mounted.point),
        )
    };
    assert_eq!(unmount().code, Some(2), "it is in use");
    oracle::run(oracle::command("umount").arg("-l").arg(&mounted.point)).expect_code(0);
    assert_eq!(
        listing.map(Result::unwrap).count(),
        40_000 - 1,
        "it is read to its end"
    );
    wait_until("the process ends with the last use", || is_ended(&mounted));
    assert_eq!(mounted.child.wait().unwrap().code(), Some(0));
    assert!(!is_mounted(&mounted.point));
    let mounted = site.mount();
    let unmount = oracle::run(
        site.trawl(&Identity::Ourselves, &["unmount"])
            .arg(&mounted.point),
    );
    unmount.expect_code(0);
}

fn is_ended(mounted: &Mounted) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", mounted.child.id()));
    stat.is_ok_and(|stat| {
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z'))
    })
}

#[test]
fn a_process_that_ends_early_is_an_error_at_the_end_of_the_listing() {
    if cannot("a process that ends early") {
        return;
    }
    let site = site("views-killed");
    let mounted = site.mount();
    let listing = begin(&mounted);
    for pid in mounted.workers() {
        oracle::run(oracle::command("kill").args(["-9", &pid.to_string()])).expect_code(0);
    }
    assert_eq!(error_of(listing), Some(5), "EIO");
    assert_eq!(mounted.names("files").unwrap().len(), 40_000);
}

#[test]
fn closing_a_directory_ends_its_question() {
    if cannot("closing a directory") {
        return;
    }
    let site = site("views-close");
    let mounted = site.mount();
    for _ in 0..40 {
        // More than a user may have running at a time.
        drop(begin(&mounted));
        wait_until("the question ends", || mounted.workers().is_empty());
    }
    let many: Vec<fs::ReadDir> = (0..16)
        .map(|_| fs::read_dir(mounted.join("files")).unwrap())
        .collect();
    let begun = Instant::now();
    let error = fs::read_dir(mounted.join("files")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
    assert!(begun.elapsed() > Duration::from_secs(5));
    // Another user is not held up.
    let ran = oracle::run(
        Identity::user(60_001)
            .command("ls")
            .arg(mounted.join("files")),
    );
    assert_eq!(ran.text().lines().count(), 40_000);
    drop(many);
    assert_eq!(mounted.names("files").unwrap().len(), 40_000);
}

#[test]
fn a_directory_can_be_read_again() {
    if cannot("reading a directory again") {
        return;
    }
    let site = site("views-again");
    let mounted = site.mount();
    let directory = rustix::fs::open(
        mounted.join("files"),
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let mut listing = rustix::fs::Dir::new(directory).unwrap();
    for extra in 0..3 {
        let count = std::iter::from_fn(|| listing.read())
            .map(Result::unwrap)
            .count();
        assert_eq!(count, 40_000 + 2 + extra, "with . and ..");
        // As of when it is begun again.
        site.write(&format!("new-{extra}"));
        listing.rewind();
    }
}

#[test]
fn two_mounts_on_one_point_are_refused() {
    if cannot("two mounts on one point") {
        return;
    }
    let site = Site::new("views-twice", &[]);
    let _mounted = site.mount();
    let mut again = site.trawl(&Identity::Ourselves, &["mount", "--views"]);
    let ran = oracle::run(again.arg(site.point())).expect_code(2);
    assert!(ran.errors().contains("mounted there already"), "{ran}");
}

/// A mount hides nothing, and takes no option that it would not heed.
#[test]
fn only_an_empty_directory_is_mounted_on() {
    let site = Site::new("views-full", &[]);
    let point = site.point();
    fs::write(point.join("letter"), "").unwrap();
    let mount = |words: &[&str]| {
        let mut command = site.trawl(&Identity::Ourselves, &["mount", "--views"]);
        let ran = oracle::run(command.arg(&point).args(words)).expect_code(2);
        assert!(!is_mounted(&point));
        ran.errors()
    };
    let said = mount(&[]);
    for part in [point.to_str().unwrap(), "not empty", "letter"] {
        assert!(said.contains(part), "{said}");
    }
    fs::remove_file(point.join("letter")).unwrap();
    for words in [&["--max-age", "5s"][..], &["--call-by-call"]] {
        let said = mount(words);
        assert!(said.contains("cannot be used with"), "{said}");
    }
}
