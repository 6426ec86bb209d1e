//! An opener whose latencies, failures and places are given, and which counts what is asked of it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_sets::member::Op;
use trawl_sets::opener::{Done, Fetched};
use trawl_sets::{Found, Opener, Options, PlaceId, Problem, Set};

/// How one member behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) place: usize,
    pub(crate) latency: Duration,
    pub(crate) fails: bool,
    pub(crate) is_cached: bool,
    pub(crate) bytes: u64,
}

/// Members `0`, `1`, … at places, each with its behaviour.
pub(crate) struct Servers {
    pub(crate) members: Vec<Behaviour>,
    /// Whether answers come from threads of the opener's own.
    pub(crate) is_asynchronous: bool,
    /// For each place: requests in flight now, and at most.
    pub(crate) in_flight: Mutex<HashMap<usize, (usize, usize)>>,
    pub(crate) fetches: AtomicUsize,
    /// Fails with `EMFILE` once, where set.
    pub(crate) emfile: AtomicUsize,
}

impl Servers {
    pub(crate) fn new(members: Vec<Behaviour>) -> Servers {
        Servers {
            members,
            is_asynchronous: false,
            in_flight: Mutex::default(),
            fetches: AtomicUsize::new(0),
            emfile: AtomicUsize::new(0),
        }
    }

    pub(crate) fn most_in_flight(&self) -> usize {
        let all = self.in_flight.lock().unwrap();
        all.values().map(|(_, most)| *most).max().unwrap_or(0)
    }

    fn behaviour(&self, found: &Found) -> Behaviour {
        self.members[number(&found.name)]
    }

    fn begin(&self, behaviour: Behaviour) {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let mut all = self.in_flight.lock().unwrap();
        let (now, most) = all.entry(behaviour.place).or_default();
        *now += 1;
        *most = (*most).max(*now);
    }

    fn end(&self, behaviour: Behaviour) {
        self.in_flight
            .lock()
            .unwrap()
            .entry(behaviour.place)
            .or_default()
            .0 -= 1;
    }

    fn answer(
        &self,
        found: &Found,
        behaviour: Behaviour,
        was_cached: bool,
    ) -> Result<Fetched, Problem> {
        let problem = |errno| Problem {
            name: found.name.clone(),
            op: Op::Fetch,
            source: io::Error::from_raw_os_error(errno),
        };
        let some_left = |left: usize| left.checked_sub(1);
        if self
            .emfile
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, some_left)
            .is_ok()
        {
            return Err(problem(24));
        }
        if behaviour.fails {
            return Err(problem(5));
        }
        Ok(Fetched {
            was_cached,
            ..Fetched::of(
                File::open("/dev/null").unwrap(),
                if was_cached { 0 } else { behaviour.bytes },
            )
        })
    }
}

/// The opener of [`Servers`].
pub(crate) struct ServersOpener(pub(crate) Arc<Servers>);

impl Opener for ServersOpener {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        let place = self.0.behaviour(found).place;
        Some(PlaceId::Server(format!("server {place}")))
    }

    fn cached(&self, found: &Found) -> Option<Result<Fetched, Problem>> {
        let behaviour = self.0.behaviour(found);
        (behaviour.is_cached && !behaviour.fails).then(|| self.0.answer(found, behaviour, true))
    }

    fn fetch(&self, found: &Found, _: u64) -> Result<Fetched, Problem> {
        let behaviour = self.0.behaviour(found);
        self.0.begin(behaviour);
        std::thread::sleep(behaviour.latency);
        let answer = self.0.answer(found, behaviour, false);
        self.0.end(behaviour);
        answer
    }

    fn start(&self, found: &Found, _: u64, done: Done) -> Option<Done> {
        if !self.0.is_asynchronous {
            return Some(done);
        }
        let (servers, found) = (Arc::clone(&self.0), found.clone());
        let behaviour = servers.behaviour(&found);
        servers.begin(behaviour);
        std::thread::spawn(move || {
            std::thread::sleep(behaviour.latency);
            let answer = servers.answer(&found, behaviour, false);
            servers.end(behaviour);
            done(answer);
        });
        None
    }
}

pub(crate) fn number(name: &[u8]) -> usize {
    std::str::from_utf8(name).unwrap().parse().unwrap()
}

/// Opens a set of all members of these servers.
pub(crate) fn open(servers: &Arc<Servers>, options: Options) -> Set {
    let count = servers.members.len();
    let names = (0..count).map(|number| number.to_string().into_bytes());
    let opener: Arc<dyn Opener> = Arc::new(ServersOpener(Arc::clone(servers)));
    Set::open(Box::new(names), vec![opener], options).unwrap()
}

/// Iterates a set to its end and returns the numbers of members, and of problems.
pub(crate) fn drain(set: &Set) -> (Vec<usize>, Vec<usize>) {
    let (mut members, mut problems) = (Vec::new(), Vec::new());
    while let Some(next) = set.iterate() {
        match next {
            Ok(opened) => members.push(number(&opened.name)),
            Err(problem) => problems.push(number(&problem.name)),
        }
    }
    (members, problems)
}
