//! What an administrator writes, and what certificates say, with any bytes: an error or an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_remote::Exports;
use trawl_remote::tls::{identity, users};

fuzz_target!(|data: &[u8]| {
    if let Ok(Exports::Named(exports)) = Exports::from_lines(data) {
        let lines: Vec<_> = exports.iter().map(|export| export.to_text()).collect();
        let text = lines.join("\n".as_ref()).into_encoded_bytes();
        assert_eq!(Exports::from_lines(&text).expect("its own lines"), Exports::Named(exports));
    }
    let _ = users::from_lines(&String::from_utf8_lossy(data));
    for text in identity::identities(data) {
        assert!(!text.contains('\n'));
    }
});
