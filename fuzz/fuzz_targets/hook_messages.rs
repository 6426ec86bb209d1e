//! What goes to hooks and comes from them: a user's manifest, a request to a worker, a worker's answer,
//! and the output of a user's hook. An error, or something within the limits.

#![no_main]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_hooks::found::{Extracted, Findings, is_name};
use trawl_hooks::wire::{Request, answer};
use trawl_hooks::{Limits, lines, manifest};

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    match kind % 4 {
        0 => read_manifest(bytes),
        1 => read_request(bytes),
        2 => read_answer(bytes),
        _ => {
            let mut findings = Findings::new("fuzzed", &limits());
            lines::read(bytes, &mut findings);
            check(&findings.finish());
        }
    }
});

/// Limits that an input can reach.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.text_bytes = 256;
    limits.attributes = 8;
    limits.value_bytes = 64;
    limits.relations = 4;
    limits
}

/// A directory with a program that manifests can name: `p`.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let directory = trawl_fuzz::scratch("hooks");
        fs::write(directory.join("p"), "").expect("space");
        for path in [directory.clone(), directory.join("p")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        directory
    })
}

fn read_manifest(bytes: &[u8]) {
    let path = directory().join("fuzzed.toml");
    fs::write(&path, bytes).expect("space");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let general = Limits::default();
    for hook in manifest::load(directory()).unwrap_or_default() {
        assert!(is_name(&hook.name));
        hook.accepts("text/plain", b"a.txt", 1 << 20);
        let own = hook.limits(&general);
        assert!(own.cpu_secs <= general.cpu_secs && own.wall_ms <= general.wall_ms);
        assert!(own.memory_bytes <= general.memory_bytes && own.text_bytes <= general.text_bytes);
    }
}

fn read_request(bytes: &[u8]) {
    if let Ok(request) = Request::parse(bytes) {
        let _ = request.limits.answer_bytes();
        let again = request.to_bytes().and_then(|bytes| Request::parse(&bytes));
        assert_eq!(again.expect("it was made of a request"), request);
    }
}

fn read_answer(bytes: &[u8]) {
    if let Ok(found) = serde_json::from_slice::<Extracted>(bytes) {
        let mut findings = Findings::new("fuzzed", &limits());
        findings.absorb(found);
        check(&findings.finish());
    }
}

/// What was found is within the limits, and is what its own answer says.
fn check(found: &Extracted) {
    let limits = limits();
    // Every text ends with a line feed, which counts.
    assert!(found.text.len() <= limits.text_bytes);
    assert!(found.attributes.len() <= limits.attributes);
    assert!(found.relations.len() <= limits.relations);
    let mut relations = found.relations.iter();
    assert!(relations.all(|one| is_name(&one.kind) && one.target.len() <= limits.value_bytes));
    assert!(found.attributes.iter().all(|(name, _)| is_name(name)));
    let bytes = answer(found).expect("a form in JSON");
    let again: Extracted = serde_json::from_slice(&bytes[4..]).expect("an answer");
    assert_eq!(again, *found);
}
