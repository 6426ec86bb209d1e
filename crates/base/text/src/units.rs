//! Sizes with units, rounded up as the GNU tools do.

/// How sizes in bytes are formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In units of this many bytes, without a letter.
    Blocks(u64),
    /// `1.5K`, powers of 1024 (`-h`).
    Binary,
    /// `1.5k`, powers of 1000 (`--si`, formerly `du -H`).
    Decimal,
}

const LETTERS: &[u8] = b"KMGTPEZYRQ";

/// Formats `bytes` as du(1) and ls(1) do.
pub fn format(bytes: u128, scale: Scale) -> String {
    match scale {
        Scale::Blocks(unit) => bytes.div_ceil(u128::from(unit.max(1))).to_string(),
        Scale::Binary => scaled(bytes, 1024, |letter| letter),
        // Only kilo has a small letter.
        Scale::Decimal => scaled(bytes, 1000, |l| if l == b'K' { b'k' } else { l }),
    }
}

/// Formats with at most three digits: one decimal place below ten, none above.
/// A remainder rounds the last place up.
fn scaled(bytes: u128, base: u128, letter: impl Fn(u8) -> u8) -> String {
    if bytes < base {
        return bytes.to_string();
    }
    let (mut exponent, mut unit) = (1, base);
    while bytes / unit >= base && exponent < LETTERS.len() {
        exponent += 1;
        unit *= base;
    }
    let tenths = (bytes * 10).div_ceil(unit);
    let text = if tenths < 100 {
        format!("{}.{}", tenths / 10, tenths % 10)
    } else {
        let whole = bytes.div_ceil(unit);
        if whole == base && exponent < LETTERS.len() {
            exponent += 1;
            "1.0".into()
        } else {
            whole.to_string()
        }
    };
    let unit = LETTERS.get(exponent - 1).copied().unwrap_or(b'?');
    format!("{text}{}", char::from(letter(unit)))
}

/// Parses a block size as `--block-size` and `BLOCK_SIZE` do: a number with an
/// optional unit (`K`, `KiB` = 1024, `kB` = 1000), a unit alone,
/// `human-readable` or `si`. Returns `None` if it is invalid, zero or too
/// large.
pub fn parse_block_size(text: &str) -> Option<Scale> {
    match text.strip_prefix('\'').unwrap_or(text) {
        "human-readable" => Some(Scale::Binary),
        "si" => Some(Scale::Decimal),
        text => {
            let split = text.find(|c: char| !c.is_ascii_digit());
            let (digits, unit) = text.split_at(split.unwrap_or(text.len()));
            let number = match digits {
                "" if unit.is_empty() => return None,
                "" => 1,
                digits => digits.parse::<u64>().ok()?,
            };
            let size = number.checked_mul(unit_bytes(unit)?)?;
            (size > 0).then_some(Scale::Blocks(size))
        }
    }
}

/// Returns the bytes of a unit such as `K`, `MiB` or `GB`.
fn unit_bytes(unit: &str) -> Option<u64> {
    let Some(letter) = unit.chars().next() else {
        return Some(1);
    };
    let base: u64 = match &unit[letter.len_utf8()..] {
        "" | "iB" => 1024,
        "B" => 1000,
        _ => return None,
    };
    let power = LETTERS
        .iter()
        .position(|l| char::from(*l) == letter.to_ascii_uppercase())?;
    base.checked_pow(power as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numfmt(1) rounds like human_readable() in ls and du.
    #[test]
    fn agrees_with_numfmt() {
        let mut values: Vec<u64> = (0..=70).map(|i| i * 37).collect();
        for base in [1000u64, 1024] {
            for power in 1..6 {
                let unit = base.pow(power);
                values.extend([
                    unit - 1,
                    unit,
                    unit + 1,
                    unit * 10 - 1,
                    unit * 10,
                    unit * 10 + 1,
                ]);
                values.extend([unit * 99 / 10, unit * 15 / 10, unit * 999, unit * 1023 + 1]);
            }
        }
        for (scale, to) in [(Scale::Binary, "--to=iec"), (Scale::Decimal, "--to=si")] {
            let mut command = trawl_testkit::oracle::command("numfmt");
            let args: Vec<String> = values.iter().map(u64::to_string).collect();
            let Ok(output) = command.arg(to).arg("--round=up").args(&args).output() else {
                eprintln!("units: skipped, because numfmt is not installed");
                return;
            };
            let text = String::from_utf8(output.stdout).unwrap();
            for (value, expected) in values.iter().zip(text.lines()) {
                let ours = format(u128::from(*value), scale);
                assert_eq!(ours.to_uppercase(), expected.to_uppercase(), "{value} {to}");
            }
        }
        assert_eq!(format(1500, Scale::Decimal), "1.5k");
        assert_eq!(format(513, Scale::Blocks(512)), "2");
    }

    #[test]
    fn block_sizes_are_read() {
        for (text, expected) in [
            ("1", Some(Scale::Blocks(1))),
            ("K", Some(Scale::Blocks(1024))),
            ("kB", Some(Scale::Blocks(1000))),
            ("2M", Some(Scale::Blocks(2 << 20))),
            ("1GiB", Some(Scale::Blocks(1 << 30))),
            ("human-readable", Some(Scale::Binary)),
            ("0", None),
            ("", None),
            ("1x", None),
            ("99999999999999999999", None),
            ("1é", None),
        ] {
            assert_eq!(parse_block_size(text), expected, "{text}");
        }
    }
}
