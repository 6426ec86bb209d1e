//! A file of any format, read by the built-in hook of that format: what is found, or problems, within
//! the limits. Panics of libraries are caught as in a worker; memory errors and hangs are not.

#![no_main]

use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use libfuzzer_sys::fuzz_target;
use trawl_hooks::Limits;
use trawl_hooks::format::FORMATS;

static QUIET: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    // The fuzzer's own hook would abort.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let Some((choice, bytes)) = data.split_first() else {
        return;
    };
    let row = &FORMATS[usize::from(*choice) % FORMATS.len()];
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("space");
    file.rewind().expect("a file");
    let mut limits = Limits::default();
    limits.text_bytes = 1 << 16;
    limits.input_bytes = 1 << 20;
    let parse = || trawl_parsers::parse(row.hook, row.format, file, bytes.len() as u64, &limits);
    if let Ok(found) = catch_unwind(AssertUnwindSafe(parse)) {
        assert!(found.text.len() <= limits.text_bytes);
        assert!(found.attributes.len() <= limits.attributes);
        assert!(found.relations.len() <= limits.relations);
    }
});
