//! Openers and sources that stall, fail or panic; callers that stop.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use trawl_call::Cancel;
use trawl_sets::opener::Fetched;
use trawl_sets::{Found, Names, Opener, Options, PlaceId, Problem, Set};

use super::site::{Behaviour, Servers, drain, open};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn one_stalled_place_does_not_hold_up_the_others() {
    let member = |number: usize| Behaviour {
        place: number % 4,
        latency: if number % 4 == 3 {
            HOUR
        } else {
            Duration::ZERO
        },
        ..Behaviour::default()
    };
    let servers = Arc::new(Servers::new((0..40).map(member).collect()));
    let set = open(&servers, Options::default());
    for _ in 0..30 {
        set.iterate().unwrap().unwrap();
    }
    // The members of the stalled place are never lost: closing is what ends the wait.
    let waiting = set.clone();
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(waiting.iterate().is_none()));
    assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err());
    set.cancel();
    assert!(receiver.recv_timeout(Duration::from_secs(60)).unwrap());
    let stats = set.close();
    assert_eq!((stats.members, stats.delivered), (40, 30));
}

#[test]
fn a_place_that_is_gone_gives_problems_and_the_others_members() {
    let member = |number: usize| Behaviour {
        place: number % 4,
        latency: Duration::from_millis(1),
        fails: number % 4 == 2,
        ..Behaviour::default()
    };
    let servers = Arc::new(Servers::new((0..80).map(member).collect()));
    let (members, problems) = drain(&open(&servers, Options::default()));
    assert_eq!((members.len(), problems.len()), (60, 20));
    assert!(problems.iter().all(|number| number % 4 == 2));
}

/// A source that panics at its third name.
struct Panics(usize);

impl Names for Panics {
    fn next(&mut self, _: &Cancel) -> Option<Result<Found, Problem>> {
        self.0 += 1;
        assert!(self.0 < 3, "this panic is a part of the test");
        Some(Ok(Found::named(self.0.to_string())))
    }
}

/// An opener that panics.
struct PanicsToo;

impl Opener for PanicsToo {
    fn place(&self, _: &Found) -> Option<PlaceId> {
        Some(PlaceId::Server("x".into()))
    }

    fn fetch(&self, _: &Found, _: u64) -> Result<Fetched, Problem> {
        panic!("this panic is a part of the test")
    }
}

#[test]
fn a_panic_is_a_problem_and_nobody_waits_for_it() {
    let set = Set::open(
        Box::new(Panics(0)),
        vec![Arc::new(PanicsToo)],
        Options::default(),
    )
    .unwrap();
    let problems = std::iter::from_fn(|| set.iterate()).filter(Result::is_err);
    // Two members that could not be opened, and the rest of the expansion.
    assert_eq!(problems.count(), 3);
}

/// A source that never finds another name, until it is cancelled.
struct Stalls(bool);

impl Names for Stalls {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        if std::mem::replace(&mut self.0, true) {
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            return None;
        }
        Some(Ok(Found::named("0")))
    }
}

#[test]
fn a_stalled_expansion_ends_when_the_set_does() {
    let servers = Arc::new(Servers::new(vec![Behaviour::default()]));
    let opener: Arc<dyn Opener> = Arc::new(super::site::ServersOpener(servers));
    let stalled = || {
        Set::open(
            Box::new(Stalls(false)),
            vec![Arc::clone(&opener)],
            Options::default(),
        )
        .unwrap()
    };
    let set = stalled();
    assert!(set.iterate().unwrap().is_ok());
    let waiting = set.clone();
    let thread = std::thread::spawn(move || (waiting.iterate().is_none(), waiting.size()));
    set.cancel();
    assert_eq!(thread.join().unwrap(), (true, 1));
    // A union keeps the expansion going after its operands are closed.
    let (one, other) = (stalled(), stalled());
    let both = one.union(&other, Options::default()).unwrap();
    one.close();
    other.close();
    assert!(both.iterate().unwrap().is_ok());
    both.close();
}

#[test]
fn a_million_members_are_iterated() {
    let cached = Behaviour {
        is_cached: true,
        ..Behaviour::default()
    };
    // One behaviour for all would be enough; a set keeps each name once.
    let servers = Arc::new(Servers::new(vec![cached; 1_000_000]));
    let set = open(&servers, Options::default());
    let mut delivered = 0_u64;
    while let Some(next) = set.iterate() {
        delivered += u64::from(next.is_ok());
    }
    assert_eq!(delivered, 1_000_000);
}

#[test]
fn a_dropped_set_ends_its_threads() {
    let slow = Behaviour {
        latency: Duration::from_millis(1),
        ..Behaviour::default()
    };
    let servers = Arc::new(Servers::new(vec![slow; 1000]));
    let set = open(&servers, Options::default());
    set.iterate().unwrap().unwrap();
    drop(set);
    // The set's threads and its opener hold the servers, too.
    while Arc::strong_count(&servers) > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
}
