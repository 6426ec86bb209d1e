//! Loss of trust, and failures to write the index.

use std::fs;
use std::thread;
use std::time::Duration;

use trawl_barrier::protocol::Outcome;
use trawl_barrier::{Scope, Start};
use trawl_changes::QueueSize;

use crate::site::{Failure, LONG, Site, ask};

/// Returns the reason of each full scan.
fn rescans(site: &Site) -> Vec<String> {
    site.fake.with(|seen| {
        let all = seen
            .rescans
            .iter()
            .filter(|(scope, _)| *scope == Scope::Everything);
        all.map(|(_, why)| why.clone()).collect()
    })
}

/// Asks until the answer is fresh.
fn ask_until_fresh(engine: &trawl_barrier::Engine) {
    let begun = std::time::Instant::now();
    loop {
        let answer = ask(engine);
        if answer.outcome == Outcome::Fresh {
            return;
        }
        assert!(begun.elapsed() < LONG, "{answer:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn lost_events_are_told_of_and_everything_is_scanned() {
    let Some(mut site) = Site::new() else { return };
    site.queue = QueueSize::Limited;
    let limit = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").expect("a limit");
    let limit: usize = limit.trim().parse().expect("a number");
    fs::write(site.root.join("file"), "").expect("a file");
    // Nobody reads while these changes are made.
    let engine = site.start_after(|| {
        for number in 0..limit + 100 {
            let link = site.root.join(format!("link-{number}"));
            fs::hard_link(site.root.join("file"), &link).expect("a link");
            fs::remove_file(&link).expect("it is there");
        }
    });
    ask_until_fresh(&engine);
    assert_eq!(
        rescans(&site),
        ["changes were lost, because the kernel's queue was full"]
    );
    assert_eq!(engine.caller().status().get("overflows_total"), Some("1"));
    let made = site.write("later");
    ask_until_fresh(&engine);
    assert!(site.fake.paths().contains(&made));
    engine.stop();
}

#[test]
fn a_full_disk_keeps_what_is_dirty() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    ask(&engine);
    site.fake
        .with(|seen| seen.failures = vec![Failure::NoSpace]);
    let made = site.write("no room");
    let answer = ask(&engine);
    assert_eq!(answer.outcome, Outcome::Stale, "{answer:?}");
    assert!(answer.reasons().contains("NoSpace"), "{answer:?}");
    assert!(!site.fake.paths().contains(&made));
    ask_until_fresh(&engine);
    assert!(site.fake.paths().contains(&made));
    assert_eq!(rescans(&site).len(), 0, "nothing was lost");
    let status = engine.caller().status();
    assert_eq!(status.get("failures_total"), Some("1"));
    engine.stop();
}

#[test]
fn what_breaks_the_applier_costs_a_scan_and_nothing_else() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    ask(&engine);
    for failure in [Failure::Panic, Failure::Broken] {
        let before = rescans(&site).len();
        site.fake.with(|seen| seen.failures = vec![failure]);
        site.write("breaks it");
        let answer = ask(&engine);
        assert_eq!(answer.outcome, Outcome::Stale, "{failure:?}: {answer:?}");
        ask_until_fresh(&engine);
        assert_eq!(rescans(&site).len(), before + 1, "{failure:?}");
        assert!(engine.is_alive());
    }
    engine.stop();
}

#[test]
fn who_asks_while_everything_is_scanned_is_told() {
    let Some(site) = Site::new() else { return };
    site.fake.with(|seen| seen.is_held = true);
    let engine = site.start_with(site.place(), site.settings(), Start::Unknown, None);
    site.fake.until(|seen| seen.held == 1);
    let short = Duration::from_millis(50);
    let answer = engine.caller().now(short, Duration::ZERO, &|| false);
    assert_eq!(answer.outcome, Outcome::Stale, "{answer:?}");
    assert!(answer.reasons().contains("being found out"), "{answer:?}");
    assert_eq!(engine.caller().status().get("state"), Some("catching-up"));
    site.fake.with(|seen| seen.is_held = false);
    ask_until_fresh(&engine);
    assert_eq!(engine.caller().status().get("state"), Some("watching"));
    engine.stop();
}

#[test]
fn a_queue_that_was_kept_saves_the_scan_after_a_clean_end() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    let queue = engine.queue().expect("it can be kept");
    ask(&engine);
    engine.stop();
    let meanwhile = site.write("meanwhile");
    let copy = || queue.try_clone().expect("a descriptor");
    let engine = site.start_with(
        site.place(),
        site.settings(),
        Start::TakenOver,
        Some(copy()),
    );
    assert_eq!(ask(&engine).outcome, Outcome::Fresh);
    assert!(site.fake.paths().contains(&meanwhile));
    assert_eq!(rescans(&site).len(), 0);
    // An end that leaves changes unapplied is not clean.
    site.fake
        .with(|seen| seen.failures = vec![Failure::NoSpace; 100]);
    site.write("never applied");
    assert_eq!(ask(&engine).outcome, Outcome::Stale);
    engine.stop();
    site.fake.with(|seen| seen.failures.clear());
    let engine = site.start_with(
        site.place(),
        site.settings(),
        Start::TakenOver,
        Some(copy()),
    );
    ask_until_fresh(&engine);
    assert_eq!(rescans(&site).len(), 1);
    engine.stop();
}

#[test]
fn a_root_that_goes_away_and_comes_back_is_scanned() {
    let Some(site) = Site::new() else { return };
    let root = site.root.join("root");
    fs::create_dir(&root).expect("room");
    let site = Site { root, ..site };
    let engine = site.start();
    ask(&engine);
    let away = site.root.with_extension("away");
    fs::rename(&site.root, &away).expect("it is ours");
    let answer = ask(&engine);
    assert_eq!(answer.outcome, Outcome::Stale, "{answer:?}");
    fs::rename(&away, &site.root).expect("it is ours");
    ask_until_fresh(&engine);
    assert!(!rescans(&site).is_empty());
    engine.stop();
}
