//! Values of JSON for programs; `trawl-report` makes objects of them, and `docs/json.md` describes
//! the format.
//!
//! Times are strings in the format of RFC 3339. Whole numbers are numbers if every reader keeps them
//! exactly, and strings of digits beyond that.

use std::fmt::Write as _;

use trawl_model::Timestamp;

use crate::zone::Zone;

/// A whole number.
pub trait Number {
    /// Returns the number in a wider type.
    fn wide(self) -> i128;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            fn wide(self) -> i128 {
                i128::from(self)
            }
        }
    )*};
}
number!(u8, i32, u32, u64, i64);

impl Number for usize {
    fn wide(self) -> i128 {
        // Lossless: no machine has a wider `usize`.
        self as i128
    }
}

impl Number for u128 {
    fn wide(self) -> i128 {
        i128::try_from(self).unwrap_or(i128::MAX)
    }
}

/// The largest whole number that readers keep exactly, as they do all smaller
/// ones, if they only have doubles: 2^53 - 1 (RFC 8259, section 6).
pub const EXACT_MAX: i128 = (1 << 53) - 1;

/// Appends a whole number, as a string of digits if a double would not keep it
/// exactly.
pub fn push_integer(out: &mut String, value: i128) {
    let mut digits = itoa::Buffer::new();
    match i64::try_from(value) {
        Ok(value) if (-EXACT_MAX..=EXACT_MAX).contains(&value.into()) => {
            out.push_str(digits.format(value));
        }
        _ => {
            out.push('"');
            out.push_str(digits.format(value));
            out.push('"');
        }
    }
}

/// Formats a time in UTC with nine digits after the second:
/// `2024-11-05T12:34:56.789000000Z`. These strings sort in the order of time.
/// Years before 0 and after 9999 have a sign.
///
/// Source: <https://www.rfc-editor.org/rfc/rfc3339>
pub fn rfc3339(time: Timestamp) -> String {
    let mut out = String::with_capacity("2024-11-05T12:34:56.789000000Z".len());
    push_rfc3339(&mut out, time);
    out
}

/// Appends a time as [`rfc3339`] formats it.
pub fn push_rfc3339(out: &mut String, time: Timestamp) {
    let civil = Zone::utc().civil(time.secs);
    match civil.year {
        year @ 0..=9999 => push_digits::<4>(out, year.unsigned_abs()),
        year => {
            let _ = write!(out, "{year:+05}");
        }
    }
    for (before, part) in [
        ('-', civil.month),
        ('-', civil.day),
        ('T', civil.hour),
        (':', civil.minute),
        (':', civil.second),
    ] {
        out.push(before);
        push_digits::<2>(out, part.into());
    }
    out.push('.');
    push_digits::<9>(out, time.nanos.into());
    out.push('Z');
}

/// Appends the last `N` decimal digits of a number, with leading zeros.
fn push_digits<const N: usize>(out: &mut String, mut number: u64) {
    let mut digits = [0; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend(digits.map(char::from));
}

/// Formats a time as seconds since 1970 with nine decimals. A time of -0.25 s,
/// stored as -1 s + 750,000,000 ns, is printed as -0.25.
pub fn decimal(time: Timestamp) -> String {
    let nanos = time.as_nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let (secs, rest) = (
        nanos.unsigned_abs() / 1_000_000_000,
        nanos.unsigned_abs() % 1_000_000_000,
    );
    format!("{sign}{secs}.{rest:09}")
}

/// Formats bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

/// Appends a string, RFC 8259, section 7. All control characters are escaped,
/// including U+007F, so that the output is also harmless on a terminal.
pub fn push_string(out: &mut String, value: &str) {
    out.push('"');
    if value.bytes().all(is_plain) {
        out.push_str(value);
    } else {
        push_escaped(out, value);
    }
    out.push('"');
}

/// Returns whether a byte begins no character that is escaped. U+0080 to U+009F begin with 0xC2.
fn is_plain(byte: u8) -> bool {
    !matches!(byte, ..0x20 | b'"' | b'\\' | 0x7f | 0xc2)
}

fn push_escaped(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_one_length_and_order_as_texts() {
        let at = |secs, nanos| rfc3339(Timestamp { secs, nanos });
        assert_eq!(at(0, 5), "1970-01-01T00:00:00.000000005Z");
        assert_eq!(at(-1, 750_000_000), "1969-12-31T23:59:59.750000000Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000000000Z");
        assert_eq!(at(253_402_300_800, 0), "+10000-01-01T00:00:00.000000000Z");
    }

    #[test]
    fn numbers_are_texts_where_doubles_end() {
        let shown = |value| {
            let mut out = String::new();
            push_integer(&mut out, value);
            out
        };
        assert_eq!(shown(EXACT_MAX), "9007199254740991");
        assert_eq!(shown(EXACT_MAX + 1), "\"9007199254740992\"");
        assert_eq!(shown(-EXACT_MAX - 1), "\"-9007199254740992\"");
        assert_eq!(shown(-7), "-7");
        assert_eq!(shown(i128::from(u64::MAX)), "\"18446744073709551615\"");
    }

    #[test]
    fn every_control_character_is_escaped_and_no_other() {
        for c in (0..0x3000).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let mut out = String::new();
            push_string(&mut out, &text);
            let read: Result<String, _> = serde_json::from_str(&out);
            assert_eq!(read.expect("JSON"), text);
            assert!(!out.contains(char::is_control), "{out:?}");
            let is_special = c.is_control() || c == '"' || c == '\\';
            assert_eq!(out != format!("\"{text}\""), is_special, "{c:?}");
        }
    }

    #[test]
    fn times_keep_every_nanosecond_before_1970_too() {
        let at = |secs, nanos| decimal(Timestamp { secs, nanos });
        assert_eq!(at(1, 5), "1.000000005");
        assert_eq!(at(-1, 750_000_000), "-0.250000000");
        assert_eq!(at(i64::MIN, 0), "-9223372036854775808.000000000");
    }
}
