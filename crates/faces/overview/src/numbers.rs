//! Sizes, counts, shares and times as people read them.

use trawl_model::Timestamp;
use trawl_text::strftime;
use trawl_text::time_style::long_iso;
use trawl_text::zone::Zone;

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Returns bytes with a binary unit, such as `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut unit = 0;
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    match unit {
        0 => format!("{bytes} {name}"),
        _ if value >= 100.0 => format!("{value:.0} {name}"),
        _ => format!("{value:.1} {name}"),
    }
}

/// Returns a change of bytes with its sign.
pub(crate) fn signed(bytes: i128) -> String {
    let amount = size(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX));
    match bytes {
        0 => amount,
        1.. => format!("+{amount}"),
        _ => format!("−{amount}"),
    }
}

/// Returns a share in percent.
pub(crate) fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent >= 10.0 || percent <= 0.0 {
        true => format!("{percent:.0} %"),
        false => format!("{percent:.1} %"),
    }
}

/// Returns a part of a whole as a share from 0 to 1.
pub(crate) fn part_of(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => (part as f64 / whole as f64).clamp(0.0, 1.0),
    }
}

/// Returns a time as local date and time.
pub(crate) fn time(time: Timestamp) -> String {
    let mut text = String::new();
    long_iso(&mut text, time, &Zone::local());
    text
}

/// Returns a time to the second, with the offset of its zone.
pub fn moment(time: Timestamp) -> String {
    let zone = Zone::local();
    let mut text = String::new();
    let civil = zone.civil(time.secs);
    strftime::format(&mut text, "%Y-%m-%d %H:%M:%S %z", &civil, &zone);
    text
}

/// Returns blocks of 512 bytes in bytes.
pub(crate) fn bytes_of(blocks: u64) -> u64 {
    blocks.saturating_mul(512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_on_the_page() {
        let sizes = [0, 1023, 1024, 1536, 104_857_600, u64::MAX].map(size);
        assert_eq!(
            sizes,
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "100 MiB", "16.0 EiB"]
        );
        assert_eq!(
            [0, 2048, -2048].map(signed),
            ["0 B", "+2.0 KiB", "−2.0 KiB"]
        );
        assert_eq!(
            [0.0, 0.0312, 0.5, 1.0].map(share),
            ["0 %", "3.1 %", "50 %", "100 %"]
        );
        assert_eq!(part_of(1, 0), 0.0);
        assert_eq!(part_of(3, 2), 1.0);
    }
}
