//! Addresses and pages of the web, servers and names at them: an error, or addresses that may be
//! fetched.

#![no_main]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use libfuzzer_sys::fuzz_target;
use trawl_fetch::ServerPath;
use trawl_web::{Address, is_url, links};

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    match first % 4 {
        0 => {
            if let Ok(address) = Address::parse(rest) {
                let text = address.url().as_str();
                assert!(is_url(text.as_bytes()));
                assert_eq!(
                    Address::parse(text.as_bytes()).expect("its own text"),
                    address
                );
                assert!(!address.server().contains(['@', '/', '#']));
            }
        }
        1 => {
            let page = Address::parse(b"http://h/d/p.html").expect("an address");
            let found = links(rest, page.url());
            for (at, url) in found.iter().enumerate() {
                assert!(url.fragment().is_none() && !found[..at].contains(url));
            }
        }
        2 => {
            let _ = ServerPath::parse(rest);
        }
        _ => server(OsStr::from_bytes(rest)),
    }
});

fn server(text: &OsStr) {
    use trawl_remote::Address;
    let Ok(address) = Address::parse(text) else {
        return;
    };
    if let Address::Ssh(host) = &address {
        assert!(!host.as_bytes().starts_with(b"-"));
    }
    // Other addresses are shown with escapes.
    if matches!(address, Address::Tls { .. }) {
        let shown = address.to_string();
        assert_eq!(
            Address::parse(OsStr::new(&shown)).expect("its own text"),
            address
        );
    }
}
