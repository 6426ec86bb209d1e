//! 100,000 members.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};

use crate::site::{LONG, Mounted, Questions, Site, cannot};

const DIRECTORIES: usize = 200;
const FILES: usize = 500;
pub(crate) const MEMBERS: usize = DIRECTORIES * FILES;
/// The most memory of the process that serves.
const MEMORY_KIB_MAX: u64 = 160 << 10;

pub(crate) fn site() -> Site {
    let site = Site::new("views-large", &[]);
    for directory in 0..DIRECTORIES {
        let path = site.tree().join(format!("d{directory}"));
        fs::create_dir(&path).unwrap();
        for file in 0..FILES {
            // Half of the names come once.
            let name = if file % 2 == 0 {
                format!("f{directory}-{file}")
            } else {
                format!("f{file}")
            };
            fs::write(path.join(name), "").unwrap();
        }
    }
    site.define("files", &["-type", "f"]);
    site
}

fn memory_kib(mounted: &Mounted) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", mounted.child.id())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// `ls -l` looks each name up several times. That takes no questions: they were just listed.
pub(crate) fn long_listing(site: &Site, mounted: &Mounted, identity: &Identity) {
    let questions = Questions::new(site);
    let (ran, count) = questions.few(|| {
        let mut ls = identity.command("ls");
        oracle::run(ls.arg("-l").arg(mounted.join("files"))).expect_code(0)
    });
    assert_eq!(ran.text().lines().count(), MEMBERS + 1);
    assert!(count >= 1, "the listing itself is a question");
    eprintln!("ls -l: {count} questions");
}

#[test]
fn a_hundred_thousand_members_stream() {
    if cannot("a large view") {
        return;
    }
    let site = site();
    let mounted = site.mount();
    let before = memory_kib(&mounted);
    let begun = Instant::now();
    let mut entries = fs::read_dir(mounted.join("files")).unwrap();
    let mut names = BTreeSet::new();
    names.insert(entries.next().unwrap().unwrap().file_name());
    let first = begun.elapsed();
    // The process that answers has not found everything yet, or has not been able to say it.
    let is_asking = !mounted.workers().is_empty();
    for entry in entries {
        names.insert(entry.unwrap().file_name());
    }
    let all = begun.elapsed();
    assert_eq!(names.len(), MEMBERS);
    let grown = memory_kib(&mounted) - before;
    eprintln!("first name after {first:?}, all after {all:?}; {grown} KiB");
    assert!(is_asking && first < all / 2, "{first:?} of {all:?}");
    let ended = Instant::now();
    while !mounted.workers().is_empty() {
        let waited = ended.elapsed();
        assert!(waited < LONG, "the process that answered is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
    // Programs that look each name up again, while or after they list.
    let ours = mounted.members("files", &Identity::Ourselves);
    let theirs: BTreeSet<Vec<u8>> = site
        .found(&Identity::Ourselves, &["-type", "f"])
        .into_iter()
        .collect();
    let ours: BTreeSet<Vec<u8>> = ours.into_values().collect();
    assert!(ours == theirs, "{} members", ours.len());
    long_listing(&site, &mounted, &Identity::Ourselves);
    let memory = memory_kib(&mounted);
    eprintln!("at most {memory} KiB");
    assert!(memory < MEMORY_KIB_MAX, "{memory} KiB");
}

/// A slow reader holds nothing up: neither itself later, nor others now.
#[test]
fn a_listing_that_nobody_reads_on_holds_nobody_up() {
    if cannot("a slow reader of a large view") {
        return;
    }
    let site = site();
    let mounted = site.mount();
    let mut slow = fs::read_dir(mounted.join("files")).unwrap();
    slow.next().unwrap().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    assert!(fs::symlink_metadata(mounted.join("files/f0-0")).is_ok());
    assert_eq!(
        mounted.names(&site.short("name:f7-*")).unwrap().len(),
        FILES / 2
    );
    eprintln!("others: {:?}", begun.elapsed());
    let rest: Vec<_> = slow.map(Result::unwrap).collect();
    assert_eq!(rest.len(), MEMBERS - 1);
}
