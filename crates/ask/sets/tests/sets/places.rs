//! Whatever the latencies, failures and limits: each member is delivered once, and no limit is
//! exceeded.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use trawl_sets::Options;

use super::site::{Behaviour, Servers, drain, open};

fn behaviours() -> impl Strategy<Value = Vec<Behaviour>> {
    let one = (
        0..5_usize,
        0..3_u64,
        0..10_u8,
        any::<bool>(),
        0..200_000_u64,
    );
    let one = one.prop_map(|(place, latency, failing, is_cached, bytes)| Behaviour {
        place,
        latency: Duration::from_millis(latency),
        fails: failing == 0,
        is_cached,
        bytes,
    });
    proptest::collection::vec(one, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// *Each call to `setIterate` returns a standard Unix file descriptor for a previously
    /// unprocessed member* (section 3.1).
    #[test]
    fn each_member_is_delivered_once(
        members in behaviours(),
        is_asynchronous: bool,
        ordered: bool,
        in_flight in 1..6_usize,
        descriptors in 1..20_usize,
        threads in 1..4_usize,
        emfile in 0..3_usize,
    ) {
        let servers = Servers { is_asynchronous, ..Servers::new(members.clone()) };
        servers.emfile.store(emfile, Ordering::Relaxed);
        let servers = Arc::new(servers);
        let options = Options { in_flight, descriptors, ordered, ahead_bytes: 1 << 20, ..Options::default() };
        let set = open(&servers, options);
        let drained: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| drain(&set))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut delivered: Vec<usize> = drained.iter().flat_map(|(members, problems)| {
            members.iter().chain(problems).copied()
        }).collect();
        if ordered && threads == 1 && emfile == 0 {
            let (members, _) = &drained[0];
            prop_assert!(members.is_sorted(), "{:?}", members);
        }
        delivered.sort_unstable();
        prop_assert_eq!(delivered, (0..members.len()).collect::<Vec<_>>());
        prop_assert!(servers.most_in_flight() <= in_flight);
        let stats = set.close();
        prop_assert_eq!(stats.members, members.len() as u64);
        prop_assert_eq!(stats.delivered + stats.problems, members.len() as u64);
    }

    #[test]
    fn a_rewound_set_delivers_every_member_again(
        members in behaviours(),
        is_asynchronous: bool,
        before in 0..60_usize,
    ) {
        let servers = Servers { is_asynchronous, ..Servers::new(members.clone()) };
        let set = open(&Arc::new(servers), Options::default());
        for _ in 0..before {
            let _ = set.iterate();
        }
        set.rewind_iterator();
        let (mut all, problems) = drain(&set);
        all.extend(problems);
        all.sort_unstable();
        prop_assert_eq!(all, (0..members.len()).collect::<Vec<_>>());
    }
}

/// *The former does not require fetching the member returned* (section 3.1).
#[test]
fn a_digest_fetches_nothing() {
    let servers = Arc::new(Servers::new(vec![Behaviour::default(); 50]));
    let set = open(&servers, Options::default());
    let digested = std::iter::from_fn(|| set.digest()).filter(Result::is_ok);
    assert_eq!(digested.count(), 50);
    assert_eq!(set.size(), 50);
    assert!(set.member(b"49") && !set.member(b"50"));
    assert_eq!(servers.fetches.load(Ordering::Relaxed), 0);
    assert_eq!(set.close().unused_bytes, 0);
}

#[test]
fn cached_members_need_no_fetch() {
    let cached = Behaviour {
        is_cached: true,
        ..Behaviour::default()
    };
    let servers = Arc::new(Servers::new(vec![cached; 50]));
    let set = open(&servers, Options::default());
    assert_eq!(drain(&set).0.len(), 50);
    assert_eq!(servers.fetches.load(Ordering::Relaxed), 0);
    assert_eq!(set.close().cached, 50);
}

#[test]
fn bytes_that_nobody_reads_are_counted() {
    let member = Behaviour {
        bytes: 1000,
        ..Behaviour::default()
    };
    let servers = Arc::new(Servers::new(vec![member; 40]));
    let set = open(&servers, Options::default());
    let _ = set.iterate();
    // Until nothing more is fetched: all members are ahead.
    while servers.fetches.load(Ordering::Relaxed) < 40 {
        std::thread::yield_now();
    }
    while set.stats().fetched_bytes < 40_000 {
        std::thread::yield_now();
    }
    let stats = set.close();
    assert_eq!((stats.fetched_bytes, stats.unused_bytes), (40_000, 39_000));
}
