//! Any bytes as a trace: read to the end, into an index that can be asked
//! and is sound.

#![no_main]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use trawl_writer::verify::{Scope, verify};
use trawl_writer::{DEFAULT_MEMORY_BYTES, SnapshotWriter, WriterOptions};
use trawl_model::guard::Credentials;
use trawl_model::Timestamp;
use trawl_query::{Index, Located};
use trawl_scan::ScanProgress;
use trawl_scan::trace::{TraceOptions, read_trace};

static PLACE: OnceLock<PathBuf> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let place = PLACE.get_or_init(|| trawl_fuzz::scratch("trace"));
    let (file, path) = (place.join("trace"), place.join("index"));
    std::fs::write(&file, data).expect("our own file");
    let _ = std::fs::remove_dir_all(&path);
    let index = trawl_writer::create_index(&path, None).expect("an index");
    let options = WriterOptions {
        memory_bytes: DEFAULT_MEMORY_BYTES,
        started: Timestamp::default(),
        version: "fuzz".to_owned(),
        options: BTreeMap::new(),
    };
    let mut writer = SnapshotWriter::begin(&index, b"/home", options).expect("a snapshot");
    let cancel = AtomicBool::new(false);
    let options = TraceOptions {
        root: Some(b"/home".to_vec()),
        cancel: &cancel,
    };
    match read_trace(&file, &options, &ScanProgress::default(), &mut writer) {
        Ok(_) => {}
        Err(trawl_scan::ScanError::Sink(error)) => {
            panic!("a trace that cannot be written: {error}")
        }
        Err(_) => return,
    }
    let done = writer.commit(Timestamp::default()).expect("a commit");
    let found = verify(&index, Scope::All).expect("it opens");
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    let index = Index::open(&path, Credentials::default()).expect("it opens");
    let Ok(Located::Found(start)) = index.locate(b"/home") else {
        panic!("no root")
    };
    let totals = index.totals(&start).expect("an answer");
    assert_eq!(
        totals.sums.entries() + 1,
        done.totals.entries,
        "all rows are found"
    );
});
