//! Records with any bytes: an error, or just what they would be packed as.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_call::packed::{decode, encode};

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    while let Ok((record, length)) = decode(rest) {
        let mut packed = Vec::new();
        encode(&record, &mut packed);
        assert_eq!(packed, rest[..length]);
        rest = &rest[length..];
    }
});
