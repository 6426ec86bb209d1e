//! Block sizes from options and environment variables, and amounts of space printed in them.
//!
//! Adds to [`trawl_text::units`] the units after numbers (`-BM` prints `5M`) and the precedence of
//! the environment variables.
//!
//! Source: coreutils manual, "Block size".

use std::ffi::OsString;

use trawl_text::units::{self, Scale};

/// Format in which amounts of space are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeFormat {
    /// In whole blocks of this many bytes.
    Blocks(u64),
    /// In whole blocks, with the unit after the number (`-BM` prints `5M`).
    Unit(u64, Unit),
    /// Scaled to one or two digits and a unit.
    Scaled(Scale),
}

/// Base of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Powers of 1024: K, M, G.
    Binary,
    /// Powers of 1000: k, M, G.
    Decimal,
}

/// Spelling of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `K`: powers of 1024.
    Letter,
    /// `kB`: powers of 1000.
    DecimalBytes,
    /// `KiB`: powers of 1024.
    BinaryBytes,
}

const LETTERS: &[u8] = b"KMGTPEZY";

impl Base {
    const fn factor(self) -> u128 {
        match self {
            Base::Binary => 1024,
            Base::Decimal => 1000,
        }
    }

    fn letter(self, exponent: usize) -> Option<char> {
        match (self, exponent) {
            (_, 0) => None,
            (Base::Decimal, 1) => Some('k'),
            _ => LETTERS.get(exponent - 1).map(|b| char::from(*b)),
        }
    }
}

impl SizeFormat {
    /// `-h`.
    pub const BINARY: SizeFormat = SizeFormat::Scaled(Scale::Binary);
    /// `--si`.
    pub const DECIMAL: SizeFormat = SizeFormat::Scaled(Scale::Decimal);

    /// Parses the value of `--block-size` or of a variable: a number, a unit or both,
    /// `human-readable` or `si`. Returns `None` if it is invalid or 0.
    pub fn parse(spec: &str) -> Option<SizeFormat> {
        // A leading quote asks for digit grouping, which the C locale does not have.
        let spec = spec.strip_prefix('\'').unwrap_or(spec);
        match spec {
            "" => return None,
            spec if "human-readable".starts_with(spec) => {
                return Some(SizeFormat::BINARY);
            }
            spec if "si".starts_with(spec) => return Some(SizeFormat::DECIMAL),
            _ => {}
        }
        let (number, unit) = split_number(spec)?;
        let (factor, style) = parse_unit(unit)?;
        let size = number.unwrap_or(1).checked_mul(factor);
        let size = size.filter(|size| *size > 0)?;
        match style {
            Some(style) if number.is_none() => Some(SizeFormat::Unit(size, style)),
            _ => Some(SizeFormat::Blocks(size)),
        }
    }

    /// Returns the format in the first of `variables` that is set, else in `BLOCK_SIZE` or
    /// `BLOCKSIZE`. An invalid value counts as the default, which is 1024 bytes, or 512 if
    /// `POSIXLY_CORRECT` is set.
    pub fn from_environment(
        variables: &[&str],
        get: impl Fn(&str) -> Option<OsString>,
    ) -> SizeFormat {
        let mut names = variables.iter().chain(&["BLOCK_SIZE", "BLOCKSIZE"]);
        let default = if get("POSIXLY_CORRECT").is_some() {
            512
        } else {
            1024
        };
        names
            .find_map(|name| get(name))
            .and_then(|spec| SizeFormat::parse(spec.to_str()?))
            .unwrap_or(SizeFormat::Blocks(default))
    }

    /// Formats `bytes`.
    pub fn show(self, bytes: u128) -> String {
        match self {
            SizeFormat::Blocks(size) => bytes.div_ceil(u128::from(size.max(1))).to_string(),
            SizeFormat::Unit(size, unit) => {
                let mut out = bytes.div_ceil(u128::from(size.max(1))).to_string();
                unit.push_name(size, &mut out);
                out
            }
            SizeFormat::Scaled(scale) => units::format(bytes, scale),
        }
    }
}

impl Unit {
    const fn base(self) -> Base {
        match self {
            Unit::Letter | Unit::BinaryBytes => Base::Binary,
            Unit::DecimalBytes => Base::Decimal,
        }
    }

    /// Appends the unit's name for blocks of `size` bytes.
    fn push_name(self, size: u64, out: &mut String) {
        let (mut exponent, mut power) = (0, 1u128);
        while power < u128::from(size) && exponent < LETTERS.len() {
            power *= self.base().factor();
            exponent += 1;
        }
        out.extend(self.base().letter(exponent));
        if self == Unit::BinaryBytes && exponent > 0 {
            out.push('i');
        }
        if self != Unit::Letter {
            out.push('B');
        }
    }
}

/// Splits off the number at the start, whose base is said as in C: 0x for 16, 0 for 8. Returns `None` if
/// the number is too large.
fn split_number(spec: &str) -> Option<(Option<u64>, &str)> {
    let is_hex = |digits: &&str| digits.starts_with(|c: char| c.is_ascii_hexdigit());
    let hex = spec.strip_prefix("0x").or(spec.strip_prefix("0X"));
    let (base, digits) = match hex.filter(is_hex) {
        Some(digits) => (16, digits),
        None if spec.starts_with('0') => (8, spec),
        None => (10, spec),
    };
    let unit = digits.trim_start_matches(|c: char| c.is_digit(base));
    let number = &digits[..digits.len() - unit.len()];
    match number.is_empty() {
        true => Some((None, unit)),
        false => Some((Some(u64::from_str_radix(number, base).ok()?), unit)),
    }
}

/// Returns the factor of a unit and how the unit is spelled; `None` if the unit is invalid.
fn parse_unit(unit: &str) -> Option<(u64, Option<Unit>)> {
    let mut rest = unit.chars();
    let Some(letter) = rest.next() else {
        return Some((1, None));
    };
    let upper = u8::try_from(letter.to_ascii_uppercase()).ok()?;
    let exponent = LETTERS.iter().position(|known| *known == upper)? as u32 + 1;
    let style = match rest.as_str() {
        "" => Unit::Letter,
        "B" | "D" => Unit::DecimalBytes,
        "iB" => Unit::BinaryBytes,
        _ => return None,
    };
    let factor = u64::try_from(style.base().factor())
        .ok()?
        .checked_pow(exponent)?;
    Some((factor, Some(style)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_read_as_coreutils_reads_them() {
        for (spec, bytes, text) in [
            ("1", 5000, Some("5000")),
            ("K", 5000, Some("5K")),
            ("1K", 5000, Some("5")),
            ("kB", 5000, Some("5kB")),
            ("KiB", 5000, Some("5KiB")),
            ("MB", 5_000_001, Some("6MB")),
            ("2M", 5 << 20, Some("3")),
            ("010", 5000, Some("625")),
            ("010K", 8 << 20, Some("1024")),
            ("0x10", 5000, Some("313")),
            ("08", 1, None),
            ("0xK", 1, None),
            ("human-readable", 5000, Some("4.9K")),
            ("h", 5000, Some("4.9K")),
            ("si", 5000, Some("5.0k")),
            ("0", 1, None),
            ("", 1, None),
            ("5X", 1, None),
            ("-1", 1, None),
            ("99999999999999999999", 1, None),
            ("Y", 1, None),
        ] {
            let shown = SizeFormat::parse(spec).map(|format| format.show(bytes));
            assert_eq!(shown.as_deref(), text, "{spec}");
        }
    }

    #[test]
    fn variables_are_asked_in_order() {
        let env = |set: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            }
        };
        let read = |set| SizeFormat::from_environment(&["DU_BLOCK_SIZE"], env(set));
        assert_eq!(read(&[]), SizeFormat::Blocks(1024));
        assert_eq!(read(&[("POSIXLY_CORRECT", "")]), SizeFormat::Blocks(512));
        assert_eq!(
            read(&[("BLOCKSIZE", "1"), ("DU_BLOCK_SIZE", "2K")]),
            SizeFormat::Blocks(2048)
        );
        assert_eq!(
            read(&[("BLOCKSIZE", "1"), ("BLOCK_SIZE", "nonsense")]),
            SizeFormat::Blocks(1024)
        );
    }
}
