//! 100,000 members.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::process::is_alive;

use crate::site::{LONG, Mounted, Questions, Site, cannot};

const DIRECTORIES: usize = 200;
const FILES: usize = 500;
pub(crate) const MEMBERS: usize = DIRECTORIES * FILES;
/// The most memory of the process that serves, without pages of files such as its program's.
const MEMORY_KIB_MAX: u64 = 128 << 10;

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

/// The most memory that the process that serves has had, without pages of files, by samples.
struct Peak {
    status: PathBuf,
    most_kib: Arc<AtomicU64>,
}

impl Peak {
    /// Takes samples until this is dropped.
    fn of(mounted: &Mounted) -> Peak {
        let peak = Peak {
            status: PathBuf::from(format!("/proc/{}/status", mounted.child.id())),
            most_kib: Arc::default(),
        };
        let (status, most_kib) = (peak.status.clone(), Arc::clone(&peak.most_kib));
        std::thread::spawn(move || {
            while Arc::strong_count(&most_kib) > 1 {
                sample(&status, &most_kib);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        peak
    }

    fn kib(&self) -> u64 {
        sample(&self.status, &self.most_kib);
        self.most_kib.load(Ordering::Relaxed)
    }
}

fn sample(status: &Path, most_kib: &AtomicU64) {
    let status = fs::read_to_string(status).unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    most_kib.fetch_max(kib.unwrap_or(0), Ordering::Relaxed);
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

/// Lists all names; returns after what times the first and the last had come.
#[track_caller]
fn list(mounted: &Mounted) -> [Duration; 2] {
    let begun = Instant::now();
    let mut entries = fs::read_dir(mounted.join("files")).unwrap();
    let mut names = BTreeSet::new();
    names.insert(entries.next().unwrap().unwrap().file_name());
    let first = begun.elapsed();
    // The process that answers has not found everything yet, or has not been able to say it.
    assert!(mounted.workers().into_iter().any(is_alive), "{first:?}");
    for entry in entries {
        names.insert(entry.unwrap().file_name());
    }
    assert_eq!(names.len(), MEMBERS);
    [first, begun.elapsed()]
}

#[test]
fn a_hundred_thousand_members_stream() {
    if cannot("a large view") {
        return;
    }
    let site = site();
    let mounted = site.mount();
    let peak = Peak::of(&mounted);
    let before = peak.kib();
    // Other work may hold up the first name more than the rest, but not each time.
    let mut times = (0..5).map(|_| list(&mounted));
    let is_early = times.any(|[first, all]| {
        let grown = peak.kib() - before;
        eprintln!("first name after {first:?}, all after {all:?}; {grown} KiB");
        first < all / 2
    });
    assert!(is_early);
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
    let memory = peak.kib();
    eprintln!("at most {memory} KiB");
    assert!((1..MEMORY_KIB_MAX).contains(&memory), "{memory} KiB");
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
