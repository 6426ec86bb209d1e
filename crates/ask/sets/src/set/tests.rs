//! Tests of sets with simulated places: an opener that sleeps, fails, counts and checks limits.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Options, Set};
use crate::Found;
use crate::error::TimedOut;
use crate::member::{Op, Opened, Problem};
use crate::opener::{Done, Fetched, Opener, PlaceId};
use trawl_model::sync::lock;

/// Longer than anything in these tests takes.
const LONG: Duration = Duration::from_secs(60);
/// What ends at once ends within this time on a busy machine, too.
const SOON: Duration = Duration::from_secs(30);

/// A place for each name `PLACE/…`; fetches take a time and may fail, by a hash of the name.
#[derive(Default)]
struct Simulated {
    delay: Duration,
    /// Further delays of some places.
    slow: HashMap<String, Duration>,
    gone: Option<String>,
    stalled: AtomicBool,
    cached_every: usize,
    out_of_descriptors: AtomicUsize,
    in_flight: Mutex<HashMap<String, usize>>,
    in_flight_max: AtomicUsize,
    fetches: AtomicU64,
    /// Each fetch waits until this many are in flight at all places together; 0 once that has
    /// happened.
    together: AtomicUsize,
    /// Whether requests are answered by a thread of the opener.
    is_async: bool,
}

fn place_of(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name).into_owned();
    name.split('/').next().unwrap_or("").to_owned()
}

fn null() -> File {
    File::open("/dev/null").unwrap()
}

fn number(name: &[u8]) -> usize {
    name.iter()
        .fold(7, |sum, byte| sum * 31 + usize::from(*byte))
        % 1000
}

impl Simulated {
    fn serve(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem> {
        let place = place_of(&found.name);
        {
            let mut all = lock(&self.in_flight);
            let count = all.entry(place.clone()).or_default();
            *count += 1;
            self.in_flight_max.fetch_max(*count, Ordering::Relaxed);
            let wanted = self.together.load(Ordering::Relaxed);
            if all.values().sum::<usize>() >= wanted {
                self.together.store(0, Ordering::Relaxed);
            }
        }
        let begin = Instant::now();
        while self.together.load(Ordering::Relaxed) > 0 && begin.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.fetches.fetch_add(1, Ordering::Relaxed);
        while self.stalled.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(self.delay + self.slow.get(&place).copied().unwrap_or_default());
        *lock(&self.in_flight).entry(place.clone()).or_default() -= 1;
        let fail = |errno| Problem {
            name: found.name.clone(),
            op: Op::Open,
            source: std::io::Error::from_raw_os_error(errno),
        };
        let left = &self.out_of_descriptors;
        let is_out = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        if is_out.is_ok() {
            return Err(fail(trawl_sys::Errno::MFILE.0));
        }
        if self.gone.as_ref() == Some(&place) {
            return Err(fail(trawl_sys::Errno::IO.0));
        }
        Ok(Fetched::of(null(), ahead_bytes.min(10_000)))
    }
}

struct Shared(Arc<Simulated>);

impl Opener for Shared {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        Some(PlaceId::Server(place_of(&found.name)))
    }

    fn cached(&self, found: &Found) -> Option<Result<Fetched, Problem>> {
        let every = self.0.cached_every;
        (every > 0 && number(&found.name).is_multiple_of(every)).then(|| {
            Ok(Fetched {
                was_cached: true,
                ..Fetched::of(null(), 0)
            })
        })
    }

    fn fetch(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem> {
        self.0.serve(found, ahead_bytes)
    }

    fn start(&self, found: &Found, ahead_bytes: u64, done: Done) -> Option<Done> {
        if !self.0.is_async {
            return Some(done);
        }
        let (simulated, found) = (Arc::clone(&self.0), found.clone());
        std::thread::spawn(move || done(simulated.serve(&found, ahead_bytes)));
        None
    }
}

fn names(places: usize, each: usize) -> Vec<Vec<u8>> {
    let name = |at: usize| format!("place{}/{}", at % places, at / places).into_bytes();
    (0..places * each).map(name).collect()
}

fn open(names: Vec<Vec<u8>>, simulated: &Arc<Simulated>, options: Options) -> Set {
    let opener: Arc<dyn Opener> = Arc::new(Shared(Arc::clone(simulated)));
    Set::open(Box::new(names.into_iter()), vec![opener], options).unwrap()
}

fn drain(set: &Set) -> Vec<Result<Opened, Problem>> {
    std::iter::from_fn(|| set.iterate()).collect()
}

fn name_of(outcome: &Result<Opened, Problem>) -> Vec<u8> {
    match outcome {
        Ok(opened) => opened.name.clone(),
        Err(problem) => problem.name.clone(),
    }
}

fn sorted(mut names: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    names.sort();
    names
}

fn delivered(set: &Set) -> Vec<Vec<u8>> {
    sorted(drain(set).iter().map(name_of).collect())
}

#[test]
fn four_places_are_fetched_at_the_same_time() {
    for in_flight in [1, 4] {
        let simulated = Arc::new(Simulated {
            delay: Duration::from_millis(5),
            together: AtomicUsize::new(4 * in_flight),
            ..Simulated::default()
        });
        let options = Options {
            in_flight,
            ..Options::default()
        };
        let set = open(names(4, 16), &simulated, options);
        assert_eq!(drain(&set).len(), 64);
        assert_eq!(simulated.together.load(Ordering::Relaxed), 0);
        assert_eq!(simulated.in_flight_max.load(Ordering::Relaxed), in_flight);
    }
}

#[test]
fn cached_members_need_no_thread() {
    let simulated = Arc::new(Simulated {
        cached_every: 1,
        ..Simulated::default()
    });
    let set = open(names(2, 500), &simulated, Options::default());
    assert_eq!(drain(&set).len(), 1000);
    let stats = set.close();
    assert_eq!(
        (stats.threads_max, stats.cached, stats.delivered),
        (0, 1000, 1000)
    );
}

#[test]
fn a_digest_fetches_nothing() {
    let simulated = Arc::new(Simulated::default());
    let set = open(names(2, 50), &simulated, Options::default());
    assert_eq!(std::iter::from_fn(|| set.digest()).count(), 100);
    assert!(set.digest().is_none());
    assert_eq!(
        (set.size(), set.member(b"place1/49"), set.member(b"x")),
        (100, true, false)
    );
    set.rewind_digest();
    assert!(set.digest().is_some());
    assert_eq!(simulated.fetches.load(Ordering::Relaxed), 0);
}

#[test]
fn order_and_repeats() {
    let delay = Duration::from_millis(1);
    let slow = HashMap::from([("place1".to_owned(), Duration::from_millis(10))]);
    let simulated = Arc::new(Simulated {
        delay,
        slow,
        cached_every: 5,
        ..Simulated::default()
    });
    let wanted = names(3, 30);
    let twice = wanted.iter().chain(&wanted).cloned().collect();
    for descriptors in [1, 2, 3, 256] {
        let options = Options {
            ordered: true,
            descriptors,
            ..Options::default()
        };
        let set = open(Vec::clone(&twice), &simulated, options);
        let got: Vec<_> = drain(&set).iter().map(name_of).collect();
        assert_eq!(got, wanted);
        assert!(set.close().descriptors_max <= descriptors);
    }
}

#[test]
fn several_threads_share_an_iteration() {
    let delay = Duration::from_millis(1);
    let simulated = Arc::new(Simulated {
        delay,
        cached_every: 3,
        ..Simulated::default()
    });
    let set = open(names(4, 100), &simulated, Options::default());
    let got = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| drain(&set))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(
        sorted(got.iter().map(name_of).collect()),
        sorted(names(4, 100))
    );
}

#[test]
fn unions_and_intersections_outlive_their_operands() {
    let simulated = Arc::new(Simulated {
        cached_every: 2,
        ..Simulated::default()
    });
    let (left, right) = (names(1, 60), names(2, 40));
    let make = || {
        let left = open(left.clone(), &simulated, Options::default());
        (left, open(right.clone(), &simulated, Options::default()))
    };
    let set = |names: &[Vec<u8>]| names.iter().cloned().collect::<HashSet<_>>();
    let (first, second) = make();
    let both = first.union(&second, Options::default()).unwrap();
    let common = first.intersect(&second, Options::default()).unwrap();
    assert_eq!(first.digest().unwrap().unwrap().name, left[0]);
    first.close();
    second.close();
    let want = set(&left).union(&set(&right)).cloned().collect();
    assert_eq!(delivered(&both), sorted(want));
    let want: Vec<_> = set(&left).intersection(&set(&right)).cloned().collect();
    assert_eq!(
        (common.size(), delivered(&common)),
        (want.len() as u64, sorted(want))
    );
}

#[test]
fn a_rewind_begins_again() {
    let delay = Duration::from_millis(2);
    let simulated = Arc::new(Simulated {
        delay,
        ..Simulated::default()
    });
    let set = open(names(2, 30), &simulated, Options::default());
    for _ in 0..5 {
        assert!(set.iterate().is_some());
    }
    set.rewind_iterator();
    assert_eq!(delivered(&set), sorted(names(2, 30)));
    assert!(set.iterate().is_none());
    set.rewind_iterator();
    assert_eq!(delivered(&set), sorted(names(2, 30)));
}

#[test]
fn a_stalled_place_holds_nobody_up() {
    let simulated = Arc::new(Simulated {
        stalled: AtomicBool::new(true),
        ..Simulated::default()
    });
    let set = open(names(1, 30), &simulated, Options::default());
    let waiting = set.clone();
    let thread = std::thread::spawn(move || waiting.iterate().is_none());
    std::thread::sleep(Duration::from_millis(50));
    let begin = Instant::now();
    set.close();
    assert!(thread.join().unwrap());
    assert!(begin.elapsed() < SOON);
    simulated.stalled.store(false, Ordering::Relaxed);
}

/// Names that are found once `go` is set.
struct Late(std::vec::IntoIter<Vec<u8>>, Arc<AtomicBool>);

impl crate::Names for Late {
    fn next(&mut self, cancel: &trawl_call::Cancel) -> Option<Result<Found, Problem>> {
        while !self.1.load(Ordering::Relaxed) && !cancel.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        crate::Names::next(&mut self.0, cancel)
    }
}

#[test]
fn a_limited_wait_for_names_ends_and_loses_none() {
    let go = Arc::new(AtomicBool::new(false));
    let late = Late(names(2, 20).into_iter(), Arc::clone(&go));
    let opener: Arc<dyn Opener> = Arc::new(Shared(Arc::default()));
    let set = Set::open(Box::new(late), vec![opener], Options::default()).unwrap();
    let limit = Duration::from_millis(20);
    let begin = Instant::now();
    assert!(matches!(set.iterate_timeout(limit), Err(TimedOut)));
    assert!(matches!(set.digest_timeout(limit), Err(TimedOut)));
    assert_eq!(set.size_timeout(limit), Err(TimedOut));
    assert_eq!(set.member_timeout(b"place0/1", limit), Err(TimedOut));
    assert!(begin.elapsed() >= limit * 4);
    assert!(begin.elapsed() < SOON);
    go.store(true, Ordering::Relaxed);
    let long = Duration::from_secs(60);
    assert_eq!(set.member_timeout(b"place0/1", long), Ok(true));
    assert_eq!(set.member_timeout(b"place0/x", long), Ok(false));
    assert_eq!(set.size_timeout(long), Ok(40));
    let digest = std::iter::from_fn(|| set.digest_timeout(long).unwrap());
    let digest: Vec<_> = digest.map(|entry| entry.unwrap().name).collect();
    assert_eq!(digest, names(2, 20));
    assert_eq!(delivered(&set), sorted(names(2, 20)));
}

#[test]
fn a_limited_wait_for_a_stalled_place_ends_and_loses_no_member() {
    let simulated = Arc::new(Simulated {
        stalled: AtomicBool::new(true),
        ..Simulated::default()
    });
    let set = open(names(1, 30), &simulated, Options::default());
    let limit = Duration::from_millis(20);
    for limit in [limit, Duration::ZERO, limit] {
        let begin = Instant::now();
        assert!(matches!(set.iterate_timeout(limit), Err(TimedOut)));
        assert!(begin.elapsed() >= limit);
        assert!(begin.elapsed() < SOON);
    }
    simulated.stalled.store(false, Ordering::Relaxed);
    assert_eq!(delivered(&set), sorted(names(1, 30)));
}

#[test]
fn threads_that_wait_a_millisecond_get_each_member_once() {
    let delay = Duration::from_millis(3);
    for ordered in [false, true] {
        let simulated = Arc::new(Simulated {
            delay,
            cached_every: 3,
            ..Simulated::default()
        });
        let options = Options {
            ordered,
            ..Options::default()
        };
        let set = open(names(4, 100), &simulated, options);
        let got = Mutex::new(Vec::new());
        let timeouts = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for limit in 0..4 {
                let (set, got, timeouts) = (&set, &got, &timeouts);
                scope.spawn(move || {
                    loop {
                        match set.iterate_timeout(Duration::from_millis(limit)) {
                            Ok(Some(member)) => lock(got).push(name_of(&member)),
                            Ok(None) => return,
                            Err(TimedOut) => drop(timeouts.fetch_add(1, Ordering::Relaxed)),
                        }
                    }
                });
            }
            // A caller without a limit is woken although others take their turns.
            while let Some(member) = set.iterate() {
                lock(&got).push(name_of(&member));
            }
        });
        assert_eq!(sorted(got.into_inner().unwrap()), sorted(names(4, 100)));
        assert!(timeouts.into_inner() > 0);
    }
}

#[test]
fn a_slow_place_and_a_lost_one_leave_the_others_alone() {
    let delay = Duration::from_millis(1);
    let slow = HashMap::from([("place1".to_owned(), delay * 100)]);
    let gone = Some("place2".to_owned());
    let simulated = Arc::new(Simulated {
        delay,
        slow,
        gone,
        ..Simulated::default()
    });
    let options = Options {
        in_flight: 2,
        ..Options::default()
    };
    let set = open(names(4, 20), &simulated, options);
    let got = drain(&set);
    assert_eq!(
        sorted(got.iter().map(name_of).collect()),
        sorted(names(4, 20))
    );
    let problems = got.iter().filter(|outcome| outcome.is_err());
    assert!(
        problems
            .clone()
            .all(|outcome| name_of(outcome).starts_with(b"place2/"))
    );
    assert_eq!(problems.count(), 20);
    // The quick places come before the slow one is half done.
    let late = got
        .iter()
        .rposition(|outcome| name_of(outcome).starts_with(b"place0/"))
        .unwrap();
    assert!(late < 72, "{late}");
}

#[test]
fn without_threads_callers_fetch() {
    let simulated = Arc::new(Simulated {
        cached_every: 4,
        ..Simulated::default()
    });
    let options = Options {
        threads: 0,
        ..Options::default()
    };
    let set = open(names(3, 30), &simulated, options);
    assert_eq!(delivered(&set), sorted(names(3, 30)));
    assert_eq!(set.close().threads_max, 0);
}

#[test]
fn lost_descriptors_are_waited_for() {
    const LOST: usize = 20;
    for threads in [0, 8] {
        let out_of_descriptors = AtomicUsize::new(LOST);
        let simulated = Arc::new(Simulated {
            out_of_descriptors,
            ..Simulated::default()
        });
        let set = open(
            names(2, 30),
            &simulated,
            Options {
                threads,
                ..Options::default()
            },
        );
        let got = drain(&set);
        assert!(got.iter().all(Result::is_ok));
        assert_eq!(
            sorted(got.iter().map(name_of).collect()),
            sorted(names(2, 30))
        );
        assert!(set.close().out_of_descriptors >= LOST as u64);
    }
}

#[test]
fn without_any_descriptor_there_are_problems() {
    let out_of_descriptors = AtomicUsize::new(usize::MAX);
    let simulated = Arc::new(Simulated {
        out_of_descriptors,
        ..Simulated::default()
    });
    // If each waited for itself, they would take longer than `SOON`.
    let set = open(names(2, 100), &simulated, Options::default());
    let begin = Instant::now();
    let got = drain(&set);
    assert!(got.len() == 200 && got.iter().all(Result::is_err));
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

#[test]
fn a_consumer_that_stops_holds_within_limits() {
    let simulated = Arc::new(Simulated::default());
    let options = Options {
        descriptors: 10,
        ahead_bytes: 60_000,
        ..Options::default()
    };
    let set = open(names(2, 200), &simulated, options);
    assert!(set.iterate().is_some());
    // Waits until something is there that nobody took.
    let fetched = || -> u64 { set.stats().places.iter().map(|one| one.fetched).sum() };
    let begin = Instant::now();
    while fetched() < 2 {
        assert!(begin.elapsed() < LONG, "nothing is fetched ahead");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100));
    let fetches = simulated.fetches.load(Ordering::Relaxed);
    assert!(fetches <= 12, "{fetches}");
    let stats = set.close();
    assert!(
        stats.descriptors_max <= 10 && stats.ahead_bytes_max <= 60_000,
        "{stats:?}"
    );
    assert!(stats.unused_bytes > 0, "{stats:?}");
}

#[test]
fn pipelined_requests_need_few_threads() {
    let delay = Duration::from_millis(5);
    let simulated = Arc::new(Simulated {
        delay,
        is_async: true,
        ..Simulated::default()
    });
    let set = open(names(4, 30), &simulated, Options::default());
    assert_eq!(delivered(&set), sorted(names(4, 30)));
    let stats = set.close();
    assert!(stats.threads_max <= 4, "{stats:?}");
}

#[test]
fn a_million_members() {
    let simulated = Arc::new(Simulated::default());
    let names = (0..1_000_000).map(|at: u32| format!("place/of/names/{at}").into_bytes());
    let opener: Arc<dyn Opener> = Arc::new(Shared(simulated));
    let set = Set::open(Box::new(names), vec![opener], Options::default()).unwrap();
    assert_eq!(set.size(), 1_000_000);
    assert!(set.iterate().is_some());
    assert!(set.member(b"place/of/names/999999"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn each_member_once_and_within_limits(
        places in 1usize..5,
        each in 0usize..25,
        delay_us in 0u64..800,
        cached_every in 0usize..5,
        lost in any::<bool>(),
        is_async in any::<bool>(),
        ordered in any::<bool>(),
        descriptors in 1usize..12,
        in_flight in 1usize..9,
        threads in 0usize..9,
        ahead_bytes in 1u64..100_000,
        out in 0usize..6,
    ) {
        let simulated = Arc::new(Simulated {
            delay: Duration::from_micros(delay_us),
            cached_every,
            gone: lost.then(|| "place0".to_owned()),
            out_of_descriptors: AtomicUsize::new(out),
            is_async,
            ..Simulated::default()
        });
        let options = Options { ahead_bytes, descriptors, in_flight, threads, ordered };
        let wanted = names(places, each);
        let set = open(wanted.clone(), &simulated, options);
        let got: Vec<_> = drain(&set).iter().map(name_of).collect();
        if ordered {
            prop_assert_eq!(&got, &wanted);
        }
        prop_assert_eq!(sorted(got), sorted(wanted));
        prop_assert!(simulated.in_flight_max.load(Ordering::Relaxed) <= in_flight);
        let stats = set.close();
        prop_assert!(stats.descriptors_max <= descriptors);
        prop_assert!(stats.ahead_bytes_max <= ahead_bytes);
    }
}
