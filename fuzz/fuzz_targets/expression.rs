//! Any words as the arguments of find, separated by zero bytes, and run on a
//! small index: output or an error, never a panic.
//!
//! The words must not do anything: no file is written that they name, no
//! program is run, nothing is deleted, and nothing is read from a terminal.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_find::driver::{RunOptions, Search, Streams};
use trawl_find::{Environment, Parsed};
use trawl_fuzz::Victim;
use trawl_model::guard::Credentials;
use trawl_query::Index;

static VICTIM: OnceLock<(Victim, std::sync::Arc<Index>)> = OnceLock::new();

/// Each makes its file when it is read.
const MAKE: [&[u8]; 4] = [b"-fls", b"-fprint", b"-fprint0", b"-fprintf"];
/// These do something when they are run.
const DO: [&[u8]; 6] = [
    b"-delete",
    b"-exec",
    b"-execdir",
    b"-files0-from",
    b"-ok",
    b"-okdir",
];

fuzz_target!(|data: &[u8]| {
    let (victim, index) = VICTIM.get_or_init(|| {
        let victim = trawl_fuzz::victim();
        let index =
            Index::open(Path::new(&victim.index), Credentials::default()).expect("an index");
        (victim, std::sync::Arc::new(index))
    });
    let words: Vec<Vec<u8>> = data.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    let has = |names: &[&[u8]]| words.iter().any(|word| names.contains(&&word[..]));
    if has(&MAKE) {
        return;
    }
    let env = Environment::of_process();
    let Ok(Parsed::Search(program)) = trawl_find::parse(&words, &env) else {
        return;
    };
    if has(&DO) {
        return;
    }
    let (mut out, mut err) = (std::io::sink(), std::io::sink());
    let streams = Streams {
        out: &mut out,
        err: &mut err,
    };
    let search = Search::new(&program, &env, RunOptions::default(), streams).expect("a sink");
    let located = index.locate(&victim.root).expect("the root");
    search
        .visit(index, b"tree", Some(located))
        .expect("an answer");
});
