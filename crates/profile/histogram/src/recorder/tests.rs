//! Recorders against lists of calls, and with writers and readers at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::{Histogram, Resolution, Unit};

/// Longer than anything in these tests takes.
const LONG: Duration = Duration::from_secs(60);

fn template(r: u8) -> Profile {
    let resolution = Resolution::new(r).expect("a resolution");
    let mut template = Profile::new(Unit::Nanoseconds, resolution);
    template.title = "test".to_owned();
    template.start_unix_ns = Some(7);
    template
}

fn of(r: u8, latencies: &[u64]) -> Histogram {
    let mut one = Histogram::new(Resolution::new(r).expect("a resolution"));
    latencies.iter().for_each(|latency| one.record(*latency));
    one
}

#[test]
fn a_recorder_counts_as_a_histogram_does() {
    for r in 1..=8 {
        let mut plan = Plan::new(&template(r));
        let read = plan.operation("read").expect("a name");
        plan.operation("write").expect("a name");
        assert!(plan.operation("read").is_err());
        let recorders = Recorders::new(plan).expect("small");
        let mut recorder = recorders.start();
        let latencies = [0, 1, 77, u64::MAX, u64::MAX, 1 << 33];
        for latency in latencies {
            let started = recorder.enter(read, 0);
            recorder.leave(started, latency);
        }
        let reading = recorders.read(Some(5)).expect("consistent");
        assert_eq!(reading.profile.get("read"), Some(&of(r, &latencies)));
        assert_eq!(reading.profile.get("write"), Some(&of(r, &[])));
        assert_eq!(reading.profile.title, "test");
        assert_eq!(reading.profile.start_unix_ns, Some(7));
        assert_eq!(reading.profile.duration_ns, Some(5));
    }
}

#[test]
fn calls_in_flight_and_dropped_calls_are_counted() {
    let mut plan = Plan::new(&template(1));
    let read = plan.operation("read").expect("a name");
    let recorders = Recorders::new(plan).expect("small");
    let mut recorder = recorders.start();
    let first = recorder.enter(read, 100);
    let second = recorder.enter(read, 200);
    let _third = recorder.enter(read, 300);
    recorder.leave(first, 99);
    recorder.drop_one(second);
    let reading = recorders.read(None).expect("consistent");
    let counts = reading.profile.get("read").map(|one| *one.counts());
    let counts = counts.expect("read");
    assert_eq!((counts.entered, counts.left, counts.dropped), (3, 2, 2));
    assert_eq!((counts.min, counts.max, counts.total), (None, None, 0));
}

#[test]
fn values_go_to_the_peak_of_their_latency() {
    let mut plan = Plan::new(&template(1));
    let read = plan.operation("read").expect("a name");
    let write = plan.operation("write").expect("a name");
    let fine = Resolution::new(4).expect("4");
    let size = plan.value("size_bytes", Resolution::ONE).expect("a name");
    let offset = plan.value("offset_bytes", fine).expect("a name");
    plan.correlate(read, size, vec![3..=5, 10..=11])
        .expect("ordered");
    plan.correlate(read, offset, vec![0..=63]).expect("ordered");
    assert!(plan.correlate(read, size, vec![]).is_err());
    assert!(plan.correlate(write, size, vec![3..=5, 5..=6]).is_err());
    let recorders = Recorders::new(plan).expect("small");
    let mut recorder = recorders.start();
    for (operation, latency, value) in [
        (read, 8, 4096),
        (read, 63, 0),
        (read, 64, 1),
        (read, 1024, 1 << 20),
        (write, 8, 5),
    ] {
        let started = recorder.enter(operation, 1000);
        recorder.leave_with(
            started,
            1000 + latency,
            &[(size, value), (offset, value + 7)],
        );
    }
    let reading = recorders.read(None).expect("consistent");
    let [sizes, offsets] = [0, 1].map(|at| &reading.correlated[at]);
    let first = Peak::new(3..=5, of(1, &[4096, 0]));
    let second = Peak::new(10..=11, of(1, &[1 << 20]));
    assert_eq!(sizes.peaks("read"), [first, second]);
    let all = of(4, &[4103, 7, 8, (1 << 20) + 7]);
    assert_eq!(offsets.peaks("read"), [Peak::new(0..=63, all)]);
    assert_eq!(sizes.peaks("write"), []);
    Capture::from(reading).check().expect("consistent");
}

#[test]
fn a_recorder_takes_at_most_64_kib() {
    // 113 operations of (8 + 64) numbers of 8 bytes fit, 114 do not.
    for (r, most) in [(1, 113), (2, 60), (4, 31), (8, 15)] {
        let mut plan = Plan::new(&template(r));
        for number in 0..most {
            plan.operation(&format!("op{number}")).expect("a name");
        }
        assert_eq!(plan.bytes(), most * (8 + 64 * usize::from(r)) * 8);
        assert!(plan.bytes() <= 65_536);
        Recorders::new(plan.clone()).expect("it fits");
        plan.operation("more").expect("a name");
        let error = Recorders::new(plan).expect_err("too large");
        assert!(matches!(error, Error::TooMany { limit: 65_536, .. }));
    }
}

#[test]
fn ids_of_another_plan_count_nothing() {
    let mut plan = Plan::new(&template(1));
    let read = plan.operation("read").expect("a name");
    let size = plan.value("size_bytes", Resolution::ONE).expect("a name");
    let recorders = Recorders::new(Plan::new(&template(1))).expect("empty");
    let mut recorder = recorders.start();
    let started = recorder.enter(read, 0);
    recorder.leave_with(started, 1, &[(size, 1)]);
    let started = recorder.enter(read, 0);
    recorder.drop_one(started);
    let reading = recorders.read(None).expect("empty");
    assert!(reading.profile.is_empty());
    assert!(
        Plan::new(&template(1))
            .correlate(read, size, vec![])
            .is_err()
    );
}

#[test]
fn ended_recorders_are_kept_and_continued() {
    let mut plan = Plan::new(&template(1));
    let read = plan.operation("read").expect("a name");
    let recorders = Recorders::new(plan).expect("small");
    for round in 0..50 {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let mut recorder = recorders.start();
                thread::spawn(move || {
                    let started = recorder.enter(read, 0);
                    recorder.leave(started, round);
                })
            })
            .collect();
        for one in threads {
            one.join().expect("no panic");
        }
    }
    let reading = recorders.read(None).expect("consistent");
    let read = reading.profile.get("read").expect("read");
    assert_eq!(read.counts().entered, 100);
    assert_eq!(read.counts().total, 2 * (0..50).sum::<u128>());
    assert_eq!(recorders.kept().all.len(), 2);
}

/// Readings that are compared, at least.
const READINGS: usize = 4;

/// Lets threads record without pause while a reader reads, for `duration` or until there are enough
/// readings; checks each reading, and all counts at the end.
#[track_caller]
fn nothing_is_lost(r: u8, writers: u64, duration: Duration) {
    let mut plan = Plan::new(&template(r));
    let operations = ["read", "write"].map(|name| plan.operation(name).expect("a name"));
    let recorders = Recorders::new(plan).expect("small");
    let stop = AtomicBool::new(false);
    let write = |writer: u64, mut recorder: Recorder| {
        let mut done = [0_u64; 2];
        while !stop.load(Ordering::Relaxed) {
            for at in [0, 1, 1] {
                let started = recorder.enter(operations[at], 0);
                recorder.leave(started, done[at] % 1000 + writer);
                done[at] += 1;
            }
        }
        done
    };
    let mut readings = Vec::new();
    let mut failure = None;
    let done: Vec<[u64; 2]> = thread::scope(|scope| {
        let writers: Vec<_> = (0..writers)
            .map(|number| (number, recorders.start()))
            .map(|(number, recorder)| scope.spawn(move || write(number, recorder)))
            .collect();
        let begin = Instant::now();
        while failure.is_none() && begin.elapsed() < LONG {
            if begin.elapsed() >= duration && readings.len() >= READINGS {
                break;
            }
            match recorders.read(None) {
                Ok(reading) => readings.push(reading.profile),
                // The system has stopped a writer in the middle of a change.
                Err(Error::Busy(_)) => {}
                Err(error) => failure = Some(error),
            }
        }
        stop.store(true, Ordering::Relaxed);
        let joined = writers.into_iter().map(|one| one.join().expect("no panic"));
        joined.collect()
    });
    assert!(failure.is_none(), "{failure:?}");
    readings.push(recorders.read(None).expect("consistent").profile);
    assert!(readings.len() > READINGS);
    for pair in readings.windows(2) {
        let difference = pair[1].since(&pair[0]).expect("counts only grow");
        difference.check().expect("consistent");
    }
    for (at, name) in ["read", "write"].into_iter().enumerate() {
        let mut expected = of(r, &[]);
        for (writer, done) in (0..).zip(&done) {
            (0..done[at]).for_each(|number| expected.record(number % 1000 + writer));
        }
        assert_eq!(
            readings.last().and_then(|last| last.get(name)),
            Some(&expected)
        );
    }
}

#[test]
fn nothing_is_lost_while_it_is_read() {
    nothing_is_lost(1, 2, Duration::from_millis(300));
    nothing_is_lost(8, 3, Duration::from_millis(300));
}

#[test]
fn a_busy_owner_answers() {
    let mut plan = Plan::new(&template(1));
    let read = plan.operation("read").expect("a name");
    let recorders = Recorders::new(plan).expect("small");
    let mut recorder = recorders.start();
    let cells = Arc::clone(&recorder.cells);
    *cells.request.lock().expect("not poisoned") = Some(cells::Request {
        copy: vec![0; 72],
        is_done: false,
    });
    cells.asked.store(true, Ordering::Relaxed);
    let started = recorder.enter(read, 0);
    recorder.leave(started, 4);
    let request = cells.request.lock().expect("not poisoned").take();
    let request = request.expect("it stays for the reader");
    assert!(request.is_done && !cells.asked.load(Ordering::Relaxed));
    let block = &recorders.0.layout.blocks[0];
    assert_eq!(block.histogram(&request.copy), Ok(of(1, &[4])));
}

#[test]
fn a_stopped_owner_is_named() {
    let mut plan = Plan::new(&template(1));
    plan.operation("read").expect("a name");
    let recorders = Recorders::new(plan).expect("small");
    let recorder = recorders.start();
    // As if the owner had been stopped in the middle of a change.
    recorder.cells.cells[0].store(1, Ordering::Relaxed);
    let error = recorders.read(None).expect_err("it never ends");
    assert!(matches!(error, Error::Busy(name) if name == "read"));
}
