//! Rounds: what a barrier promises, what requests share, and what happens without a request.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use trawl_barrier::Scope;
use trawl_barrier::protocol::Outcome;

use crate::site::{LONG, Site, ask};

#[test]
fn an_answer_has_everything_that_was_changed_before_the_question() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    let first = ask(&engine);
    assert_eq!(first.outcome, Outcome::Fresh, "{first:?}");
    assert!(site.fake.paths().is_empty());
    for round in 0..50 {
        let made = site.write(&format!("file-{round}"));
        let answer = ask(&engine);
        assert_eq!(answer.outcome, Outcome::Fresh, "{answer:?}");
        assert!(site.fake.paths().contains(&made), "round {round}");
        assert!(answer.as_of > first.as_of);
        assert!(answer.snapshot.is_some());
    }
    engine.stop();
}

#[test]
fn writers_at_full_speed_do_not_starve_a_question() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for writer in 0..2 {
            let (site, stop, written) = (&site, &stop, &written);
            scope.spawn(move || {
                for number in 0.. {
                    // Few names, so that the directory as a whole does not become dirty.
                    let path = site.write(&format!("{writer}-{}", number % 1000));
                    fs::remove_file(path).expect("it is there");
                    written.fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        // Stops the writers even if the test fails.
        let _ended = Ended(&stop);
        for round in 0..20 {
            let before = written.load(Ordering::Relaxed);
            while written.load(Ordering::Relaxed) < before + 20 {
                thread::yield_now();
            }
            let made = site.write(&format!("mine-{round}"));
            assert_eq!(ask(&engine).outcome, Outcome::Fresh);
            assert!(site.fake.paths().contains(&made));
        }
    });
    engine.stop();
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn questions_that_come_together_share_a_round_and_reading_goes_on_meanwhile() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    ask(&engine);
    site.fake.with(|seen| seen.is_held = true);
    site.write("first");
    thread::scope(|scope| {
        let engine = &engine;
        let asked = scope.spawn(move || ask(engine));
        site.fake.until(|seen| seen.held == 1);
        let others: Vec<_> = (0..8).map(|_| scope.spawn(move || ask(engine))).collect();
        // Changes are read even while the applier works.
        site.write("second");
        let caller = engine.caller();
        let dirty = || caller.status().get("dirty").map(str::to_owned);
        while dirty().as_deref() == Some("0") {
            thread::yield_now();
        }
        while caller.status().get("barriers_total") != Some("1") {
            thread::yield_now();
        }
        // Once the engine knows all requests, all of them are waiting.
        thread::sleep(Duration::from_millis(100));
        site.fake.with(|seen| seen.is_held = false);
        assert_eq!(asked.join().expect("it ends").outcome, Outcome::Fresh);
        for other in others {
            assert_eq!(other.join().expect("it ends").outcome, Outcome::Fresh);
        }
    });
    let rounds = site.fake.with(|seen| seen.applied.len());
    assert!(
        (2..=3).contains(&rounds),
        "{rounds} rounds for nine questions"
    );
    assert!(site.fake.paths().contains(&site.root.join("second")));
    engine.stop();
}

#[test]
fn changes_are_applied_after_a_while_and_sooner_if_there_are_many() {
    let Some(site) = Site::new() else { return };
    let mut settings = site.settings();
    settings.apply_after = Duration::from_millis(20);
    let engine = site.start_with(site.place(), settings, trawl_barrier::Start::Scanned, None);
    let made = site.write("by itself");
    site.fake
        .until(|seen| seen.applied.iter().any(|paths| paths.contains(&made)));
    engine.stop();
    let mut settings = site.settings();
    settings.max_dirty = 100;
    let engine = site.start_with(site.place(), settings, trawl_barrier::Start::Scanned, None);
    let rounds = site.fake.with(|seen| seen.applied.len());
    for number in 0..2000 {
        site.write(&format!("many-{number}"));
    }
    site.fake.until(|seen| seen.applied.len() > rounds);
    engine.stop();
}

#[test]
fn nothing_happens_while_nothing_changes() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    ask(&engine);
    for _ in 0..10 {
        assert_eq!(ask(&engine).outcome, Outcome::Fresh);
    }
    assert!(
        site.fake
            .with(|seen| seen.applied.is_empty() && seen.rescans.is_empty())
    );
    engine.stop();
}

#[test]
fn a_file_that_is_being_written_is_looked_at_until_it_rests() {
    let Some(site) = Site::new() else { return };
    let mut file = fs::File::create(site.root.join("open")).expect("room");
    let engine = site.start();
    ask(&engine);
    assert!(
        site.fake.with(|seen| seen.objects) > 0,
        "it is open for writing"
    );
    // After a tick of the kernel's clock its stamp can be compared.
    thread::sleep(Duration::from_millis(50));
    ask(&engine);
    let before = site.fake.with(|seen| seen.applied.len());
    ask(&engine);
    assert_eq!(
        site.fake.with(|seen| seen.applied.len()),
        before,
        "it rests"
    );
    file.write_all(b"more").expect("room");
    ask(&engine);
    assert!(site.fake.with(|seen| seen.applied.len()) > before);
    engine.stop();
}

#[test]
fn a_change_outside_is_left_out_unless_the_only_name_is_inside() {
    let Some(mut site) = Site::new() else { return };
    let outside = site.root.join("outside");
    site.root.push("inside");
    for dir in [&outside, &site.root] {
        fs::create_dir(dir).expect("room");
    }
    let engine = site.start();
    // The search for open files does not find what is closed before the question.
    let looked_at = |mut file: fs::File| {
        let before = site.fake.with(|seen| seen.objects);
        file.write_all(b"more").expect("room");
        drop(file);
        assert_eq!(ask(&engine).outcome, Outcome::Fresh);
        site.fake.with(|seen| seen.objects) - before
    };
    let numbers = |attempt: usize| {
        let path = outside.join(format!("file-{attempt}"));
        let left_out = looked_at(fs::File::create(&path).expect("room"));
        fs::hard_link(&path, site.root.join(format!("kept-{attempt}"))).expect("room");
        let file = fs::File::options().append(true).open(&path);
        fs::remove_file(path).expect("it is there");
        ask(&engine);
        (left_out, looked_at(file.expect("it is there")))
    };
    // What another test starts meanwhile has our file open, too, until its program runs.
    let mut seen = Vec::new();
    while !seen.contains(&(0, 1)) {
        assert!(seen.len() < 50, "{seen:?}");
        seen.push(numbers(seen.len()));
    }
    engine.stop();
}

#[test]
fn an_old_answer_will_do_where_that_is_said() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    let first = ask(&engine);
    site.write("new");
    let old = engine.caller().now(LONG, LONG, &|| false);
    assert_eq!((old.outcome, old.as_of), (Outcome::Fresh, first.as_of));
    assert!(site.fake.paths().is_empty());
    engine.stop();
}

#[test]
fn a_deadline_ends_the_wait() {
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    ask(&engine);
    site.fake.with(|seen| seen.is_held = true);
    site.write("held");
    let late = engine
        .caller()
        .now(Duration::from_millis(50), Duration::ZERO, &|| false);
    assert_eq!(late.outcome, Outcome::Late, "{late:?}");
    let gone = engine.caller().now(LONG, Duration::ZERO, &|| true);
    assert_eq!(gone.outcome, Outcome::Late, "{gone:?}");
    site.fake.with(|seen| seen.is_held = false);
    engine.stop();
    assert!(
        site.fake.paths().contains(&site.root.join("held")),
        "it is applied all the same"
    );
}

#[test]
fn a_directory_is_scanned_again_for_who_asks() {
    use std::os::unix::ffi::OsStrExt;
    let Some(site) = Site::new() else { return };
    let engine = site.start();
    let path = site.root.join("d").as_os_str().as_bytes().to_vec();
    let answer = engine.caller().refresh(path.clone(), LONG, &|| false);
    assert_eq!(answer.outcome, Outcome::Fresh, "{answer:?}");
    let scopes = site.fake.with(|seen| seen.rescans.clone());
    assert_eq!(scopes[0].0, Scope::Subtree(path));
    engine.stop();
}
