//! Cookies with any bytes: an error, or just what they would be written as, and an order.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_call::Cookie;

fuzz_target!(|data: &[u8]| {
    if let Ok(cookie) = Cookie::from_bytes(data) {
        assert_eq!(cookie.to_bytes(), data);
        assert!(!cookie.is_behind(&cookie));
    }
});
