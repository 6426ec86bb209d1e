//! Any accesses of a recorded command: a graph within its bounds, which is read as it was written.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_model::accesses::{
    Access, AccessKind, AccessedFile, Accesses, FileAtEnd, FileIdentity, FileNumber,
};
use trawl_relations::trace::{SOURCES_MAX, built, executions};
use trawl_relations::{Place, learnt_groups};

/// Number of files; even ones are there at the end.
const FILES: u8 = 12;
const MS: i64 = 1_000_000;

static PLACE: OnceLock<Place> = OnceLock::new();

fn file(number: u8) -> AccessedFile {
    let at_end = FileAtEnd {
        identity: FileIdentity {
            device: 1,
            inode: number.into(),
            born_ns: 0,
        },
        modified_ns: i64::from(number) * 10 * MS,
    };
    AccessedFile {
        path: format!("/srv/{number}").into_bytes(),
        at_end: (number % 2 == 0).then_some(at_end),
    }
}

fn access(bytes: &[u8], at_ns: i64) -> Access {
    let number = |byte: u8| FileNumber::from(byte % FILES);
    Access {
        at_ns,
        process: (bytes[1] % 6).into(),
        parent: (bytes[1] / 6 % 6).into(),
        file: number(bytes[2]),
        kind: match bytes[0] % 8 {
            0 => AccessKind::Executed,
            1 => AccessKind::Mapped,
            2 => AccessKind::Read,
            3 => AccessKind::Updated,
            4 => AccessKind::Written,
            5 => AccessKind::Appended,
            6 => AccessKind::Redirected,
            _ => AccessKind::Named(number(bytes[3])),
        },
    }
}

fuzz_target!(|data: &[u8]| {
    let events = data.chunks_exact(4).zip(0_i64..);
    let accesses = Accesses {
        files: (0..FILES).map(file).collect(),
        events: events.map(|(bytes, at)| access(bytes, at * MS)).collect(),
        lost: 0,
    };
    let executions = executions(&accesses);
    for execution in &executions {
        assert!(execution.opened.len() <= usize::from(FILES));
    }
    for (output, sources) in built(&accesses, &executions) {
        let is_there = |file: FileNumber| accesses.files[file as usize].at_end.is_some();
        assert!(is_there(output) && sources.iter().all(|source| is_there(*source)));
        assert!(sources.len() <= SOURCES_MAX && sources.is_sorted_by(|a, b| a < b));
        assert!(!sources.contains(&output));
    }
    let place = PLACE.get_or_init(|| Place::new(trawl_fuzz::scratch("learning")));
    let mut learnt = None;
    let now_ns = i64::from(data.first().copied().unwrap_or(0)) << 55;
    let change = |graph: &mut trawl_relations::AccessGraph| {
        graph.learn(&accesses, now_ns);
        learnt = Some(graph.clone());
    };
    place.change(change).expect("a file of our own");
    let read = place.read().expect("our own file");
    assert_eq!(Some(&read), learnt.as_ref());
    let _ = learnt_groups(place);
    let _ = std::fs::remove_file(place.path());
});
