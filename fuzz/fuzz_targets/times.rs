//! Words of the command line for times, sizes and permissions: invalid, or something within
//! limits that can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_find::age::Window;
use trawl_find::compare::Comparison;
use trawl_format::retention::{Rule, parse_age};
use trawl_model::Timestamp;
use trawl_report::block_size::SizeFormat;
use trawl_report::stat::{Escapes, Format, Subject};
use trawl_session::{at, freshness};
use trawl_text::mode::ModeChange;
use trawl_text::units::parse_block_size;
use trawl_text::zone::Zone;
use trawl_text::{date, time_style};

/// Longest text; with widths in it, a format may print a thousand times as much.
const FORMAT_BYTES: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let now = Timestamp {
        secs: 1_709_208_000,
        nanos: 5,
    };
    let text = String::from_utf8_lossy(rest);
    match first % 6 {
        0 => dates(rest, now),
        1 => {
            if let Ok(as_of) = at::parse(&text) {
                assert!(!at::why_none(as_of, &[]).is_empty());
            }
            let _ = at::parse_word(&text);
        }
        2 => {
            let _ = freshness::parse_time(&text);
            let _ = parse_age(&text);
            if let Ok(rule) = text.parse::<Rule>() {
                assert_eq!(rule.to_string().parse(), Ok(rule));
            }
        }
        3 => sizes(&text),
        4 => {
            let _ = ModeChange::parse(rest);
            let _ = Comparison::parse(rest);
            for unit_secs in [1, 60, 86_400] {
                let _ = Window::parse(rest, now, unit_secs);
            }
        }
        _ if rest.len() <= FORMAT_BYTES => {
            let _ = Format::parse(rest, Escapes::Read, Subject::File);
        }
        _ => {}
    }
});

fn dates(text: &[u8], now: Timestamp) {
    for zone in ["", "TZ=\"Europe/Berlin\" ", "TZ=\"EST5EDT\" "] {
        let text = [zone.as_bytes(), text].concat();
        if let Some(time) = date::parse(&text, now, &Zone::utc()) {
            assert!(time.nanos < 1_000_000_000);
            let mut shown = String::new();
            time_style::full_iso(&mut shown, time, &Zone::utc());
            assert!(!shown.is_empty());
        }
    }
}

fn sizes(text: &str) {
    let _ = parse_block_size(text);
    let _ = SizeFormat::parse(text);
}
