//! Any bytes as a set pathname: an error, or a name that keeps its text; and as a path, whose
//! literal always parses.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_sets::SetName;

fuzz_target!(|data: &[u8]| {
    if let Ok(name) = SetName::parse(data) {
        assert_eq!(name.text(), data);
    }
    let is_path = !data.is_empty() && !data.contains(&0) && data.len() < 20_000;
    if is_path {
        SetName::parse(&SetName::literal(data)).expect("a literal");
    }
});
