//! Listings and look-ups while files come and go.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trawl_testkit::prng::Prng;

use crate::site::{Site, cannot};

/// Number of files that stay.
const STAYING: usize = 200;
/// How long files come and go, at least, and during how many listings.
const TIME: Duration = Duration::from_secs(6);
const LISTINGS: usize = 6;
/// How many new files there are before the oldest is removed, and before the next waits for a listing.
const NEW: u64 = 1000;
const NEW_MAX: u64 = 10_000;
/// How long a name is known after it was listed, and some time for a busy machine.
const KNOWN: Duration = Duration::from_millis(1000 + 200);

#[test]
fn what_stays_is_listed_once_and_what_came_before_is_there() {
    if cannot("listings while writers run") {
        return;
    }
    let staying: Vec<String> = (0..STAYING)
        .map(|number| format!("stay/{}/s{number}", number % 7))
        .collect();
    let files: Vec<&str> = staying.iter().map(String::as_str).collect();
    let site = Site::new("views-writers", &files);
    site.define("files", &["-type", "f"]);
    let mounted = site.mount();
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    // New files are removed up to the one before this.
    let kept = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (stop, site) = (&stop, &site);
            scope.spawn(move || churn(site, writer, stop));
        }
        scope.spawn(|| {
            let mut oldest = 1;
            while !stop.load(Ordering::Relaxed) {
                let number = made.load(Ordering::SeqCst) + 1;
                if number > oldest + NEW_MAX {
                    std::thread::sleep(Duration::from_millis(1));
                } else {
                    site.write(&format!("new/n{number}"));
                    made.store(number, Ordering::SeqCst);
                }
                while oldest + NEW < number && oldest < kept.load(Ordering::SeqCst) {
                    fs::remove_file(site.tree().join(format!("new/n{oldest}"))).expect("ours");
                    oldest += 1;
                }
            }
        });
        let until = Instant::now() + TIME;
        let mut listings = 0;
        while listings < LISTINGS || Instant::now() < until {
            // The writer keeps the files that are there now until the next listing.
            let before = made.load(Ordering::SeqCst);
            kept.store(before, Ordering::SeqCst);
            let names = mounted
                .names("files")
                .expect("no error while files come and go");
            let mut unique = names.clone();
            unique.dedup();
            assert_eq!(unique.len(), names.len(), "a name comes once");
            for number in 0..STAYING {
                assert!(
                    names.binary_search(&format!("s{number}")).is_ok(),
                    "s{number}"
                );
            }
            if before > 0 {
                assert!(
                    names.binary_search(&format!("n{before}")).is_ok(),
                    "n{before}"
                );
            }
            listings += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn churn(site: &Site, writer: u64, stop: &AtomicBool) {
    let mut prng = Prng::new(writer);
    let tree = site.tree();
    while !stop.load(Ordering::Relaxed) {
        let (a, b) = (prng.below(20), prng.below(20));
        let directory = tree.join(format!("churn-{writer}-{a}"));
        let _ = fs::create_dir(&directory);
        let _ = fs::write(directory.join(format!("c{writer}-{b}")), "");
        let other = tree.join(format!("churn-{writer}-{b}"));
        match prng.below(3) {
            0 => drop(fs::rename(&directory, other)),
            1 => drop(fs::remove_dir_all(&directory)),
            _ => drop(fs::remove_file(other.join(format!("c{writer}-{a}")))),
        }
    }
}

/// A name that exists is found at once; one that is gone is known for a second at most.
#[test]
fn looked_up_names_are_a_second_old_at_most() {
    if cannot("look-ups while writers run") {
        return;
    }
    let site = Site::new("views-lookups", &["stays"]);
    site.define("files", &["-type", "f"]);
    let mounted = site.mount();
    let is_there = |name: &str| fs::symlink_metadata(mounted.join("files").join(name)).is_ok();
    for round in 0..12 {
        let name = format!("file-{round}");
        assert!(!is_there(&name));
        site.write(&name);
        assert!(is_there(&name), "a new name is found at once");
        if round % 2 == 0 {
            assert!(mounted.names("files").unwrap().contains(&name));
        }
        fs::remove_file(site.tree().join(&name)).unwrap();
        assert!(
            !mounted.names("files").unwrap().contains(&name),
            "a listing is current"
        );
        let until = Instant::now() + KNOWN;
        loop {
            let looked = Instant::now();
            if !is_there(&name) {
                break;
            }
            assert!(looked < until, "{name} is known for too long");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // A member that no longer matches is gone, too, and one that begins to match is there.
    fs::set_permissions(
        site.tree().join("stays"),
        std::os::unix::fs::PermissionsExt::from_mode(0o640),
    )
    .unwrap();
    site.define("private", &["-perm", "600"]);
    let is_private = || fs::symlink_metadata(mounted.join("private/stays")).is_ok();
    assert!(!is_private());
    fs::set_permissions(
        site.tree().join("stays"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    assert!(is_private());
}

/// A name that begins to stand for another member leads to that one within a second.
#[test]
fn a_name_leads_to_the_member_that_has_it_now() {
    if cannot("names that move") {
        return;
    }
    let site = Site::new("views-moving", &["a/x", "b/other"]);
    site.define("files", &["-type", "f"]);
    let mounted = site.mount();
    let target = || fs::read_link(mounted.join("files/x")).unwrap();
    assert_eq!(target(), site.tree().join("a/x"));
    for round in 0..4 {
        let (from, to) = if round % 2 == 0 {
            ("a/x", "b/x")
        } else {
            ("b/x", "a/x")
        };
        fs::rename(site.tree().join(from), site.tree().join(to)).unwrap();
        let until = Instant::now() + KNOWN;
        loop {
            let looked = Instant::now();
            if target() == site.tree().join(to) {
                break;
            }
            assert!(looked < until, "the old member is named for too long");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
