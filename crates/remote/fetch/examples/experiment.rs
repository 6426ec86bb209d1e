//! The paper's experiment: fetches members of servers and processes them, for a number of
//! nanoseconds per byte.
//!
//! `experiment HOW IN_FLIGHT NS_PER_BYTE NAME…` prints one line of JSON. HOW is `loop` (one member
//! after the other, each fetched when its turn comes), `direct` (as many members of each server in
//! flight as IN_FLIGHT says, processed as they arrive) or `set` (the same through a set of the
//! library). Names are those of `trawl_fetch::name`. Processing sleeps, so that the servers may run
//! on the same machine.

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_fetch::Servers;
use trawl_model::sync::lock;
use trawl_sets::opener::{Fetched, Opener, PlaceId};
use trawl_sets::{Found, Names, Options, Problem, Set};

const AHEAD_BYTES: u64 = 1 << 20;

/// What the members cost.
#[derive(Default)]
struct Sum {
    members: u64,
    problems: u64,
    bytes: u64,
    ns_per_byte: u64,
}

impl Sum {
    fn process(&mut self, member: Result<std::fs::File, Problem>) {
        let mut bytes = Vec::new();
        match member {
            Ok(mut file) => match file.read_to_end(&mut bytes) {
                Ok(_) => self.members += 1,
                Err(_) => self.problems += 1,
            },
            Err(_) => self.problems += 1,
        }
        self.bytes += bytes.len() as u64;
        let ns = self.ns_per_byte * bytes.len() as u64;
        if ns > 0 {
            std::thread::sleep(Duration::from_nanos(ns));
        }
    }
}

fn one_by_one(servers: &Servers, names: Vec<Vec<u8>>, sum: &mut Sum) {
    for name in names {
        let fetched = servers.fetch(&Found::named(name), AHEAD_BYTES);
        sum.process(fetched.map(|fetched| fetched.file));
    }
}

/// Members that are not requested yet, by place.
type Waiting = Mutex<HashMap<Option<PlaceId>, VecDeque<Vec<u8>>>>;

/// Requests the next member of a place, and when that has arrived the one after it.
fn next(
    servers: &Arc<Servers>,
    waiting: &Arc<Waiting>,
    place: Option<PlaceId>,
    give: Sender<Result<Fetched, Problem>>,
) {
    let name = lock(waiting).get_mut(&place).and_then(VecDeque::pop_front);
    let Some(name) = name else { return };
    let (servers_too, waiting) = (Arc::clone(servers), Arc::clone(waiting));
    let done = move |fetched| {
        next(&servers_too, &waiting, place, give.clone());
        let _ = give.send(fetched);
    };
    let _ = servers.start(&Found::named(name), AHEAD_BYTES, Box::new(done));
}

fn direct(servers: Servers, names: Vec<Vec<u8>>, in_flight: usize, sum: &mut Sum) {
    let servers = Arc::new(servers);
    let waiting: Arc<Waiting> = Arc::default();
    for name in names {
        let place = servers.place(&Found::named(name.clone()));
        lock(&waiting).entry(place).or_default().push_back(name);
    }
    let (give, get) = channel();
    let places: Vec<_> = lock(&waiting).keys().cloned().collect();
    for _ in 0..in_flight {
        for place in &places {
            next(&servers, &waiting, place.clone(), give.clone());
        }
    }
    drop(give);
    for fetched in get {
        sum.process(fetched.map(|fetched| fetched.file));
    }
}

fn by_set(servers: Servers, names: Vec<Vec<u8>>, in_flight: usize, sum: &mut Sum) -> Option<()> {
    let options = Options {
        in_flight,
        ..Options::default()
    };
    let names: Box<dyn Names> = Box::new(names.into_iter());
    let set = Set::open(names, vec![Arc::new(servers)], options).ok()?;
    while let Some(member) = set.iterate() {
        sum.process(member.map(|member| member.file));
    }
    Some(())
}

fn main() {
    let mut words = std::env::args_os().skip(1);
    let mut word = || {
        words
            .next()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let (how, in_flight, ns) = (word(), word().parse(), word().parse());
    let names: Vec<Vec<u8>> = words.map(OsStringExt::into_vec).collect();
    let (Ok(in_flight), Ok(ns_per_byte)) = (in_flight, ns) else {
        eprintln!("usage: experiment loop|direct|set IN_FLIGHT NS_PER_BYTE NAME…");
        std::process::exit(2);
    };
    let mut sum = Sum {
        ns_per_byte,
        ..Sum::default()
    };
    let servers = Servers::default();
    let begun = Instant::now();
    match how.as_str() {
        "loop" => one_by_one(&servers, names, &mut sum),
        "direct" => direct(servers, names, in_flight, &mut sum),
        _ => drop(by_set(servers, names, in_flight, &mut sum)),
    }
    println!(
        "{{\"wall_s\": {:.6}, \"members\": {}, \"problems\": {}, \"bytes\": {}}}",
        begun.elapsed().as_secs_f64(),
        sum.members,
        sum.problems,
        sum.bytes
    );
}
