//! Extended attributes as a server says them: an error, or items that are written as they were.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_remote::wire::attributes::Item;

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    while let Ok((item, length)) = Item::decode(rest) {
        let mut again = Vec::new();
        item.encode(&mut again);
        assert_eq!(again, rest[..length]);
        rest = &rest[length..];
    }
});
