//! Any bytes as a program or library: names of functions within limits, or none.

#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_user_profile::{Symbols, unseen};

static PATH: OnceLock<PathBuf> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let path = PATH.get_or_init(|| trawl_fuzz::scratch("symbols").join("module"));
    std::fs::write(path, data).expect("our own");
    let _ = unseen::reason(path);
    let mut symbols = Symbols::default();
    for offset in [0, 1, 0x1000, 0x1139, u64::MAX] {
        let name = symbols.name(path, offset);
        assert!(
            name.starts_with("module") && name.len() < 400 && !name.contains(char::is_whitespace)
        );
    }
});
