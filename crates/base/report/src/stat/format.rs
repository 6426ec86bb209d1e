//! Formats of `stat`: `%` directives with the flags, width and precision of printf(3), as stat(1)
//! of coreutils 9.1 reads them.
//!
//! A format is parsed once, before any file is looked at, so that a mistake is reported before
//! anything is printed.

use crate::stat::value::Value;

/// Maximum padding; the rest of a larger width is ignored.
const WIDTH_MAX: usize = 1 << 20;

/// Layout of a directive: `%-010.3X`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    /// `Some(None)` for a dot without digits.
    precision: Option<Option<usize>>,
}

/// Part of a device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole number.
    Whole,
    /// `%Hd`: the major number.
    Major,
    /// `%Ld`: the minor number.
    Minor,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Directive(Spec, Part, u8),
}

/// A parsed format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pieces: Vec<Piece>,
}

/// Whether backslash escapes are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// `--printf`: they are.
    Read,
    /// `-c`: a backslash stands for itself.
    Keep,
}

/// An invalid format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFormat {
    /// A `%` followed by flags and then by another `%` or by the end.
    #[error("{directive}: invalid directive; write %% for a percent sign")]
    Invalid {
        /// The directive.
        directive: String,
    },
}

/// Subject of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Files.
    File,
    /// The file systems that contain the files.
    FileSystem,
}

impl Subject {
    /// Returns true if `letter` is a directive; for other letters `?` is printed, as in stat.
    fn knows(self, letter: u8) -> bool {
        let known: &[u8] = match self {
            Subject::File => b"aAbBCdDfFgGhimnNorRstTuUwWxXyYzZ",
            Subject::FileSystem => b"abcdfilnsStT",
        };
        known.contains(&letter)
    }
}

impl Format {
    /// Parses a format.
    ///
    /// # Errors
    /// If a directive is invalid.
    pub fn parse(text: &[u8], escapes: Escapes, subject: Subject) -> Result<Format, BadFormat> {
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text;
        while let Some((&byte, tail)) = rest.split_first() {
            match byte {
                b'%' => rest = parse_directive(tail, &mut literal, &mut pieces, subject)?,
                b'\\' if escapes == Escapes::Read => rest = parse_escape(tail, &mut literal),
                _ => {
                    literal.push(byte);
                    rest = tail;
                }
            }
        }
        flush(&mut literal, &mut pieces);
        Ok(Format { pieces })
    }

    /// Returns the format with a line end after it.
    #[must_use]
    pub fn line(mut self) -> Format {
        self.pieces.push(Piece::Text(b"\n".to_vec()));
        self
    }

    /// Returns true if the format has a directive with this letter.
    pub fn has(&self, wanted: u8) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.any(|piece| matches!(piece, Piece::Directive(_, _, letter) if *letter == wanted))
    }

    /// Appends the output of the format. `value` returns the value of a letter, or two values that
    /// are joined by an arrow.
    pub fn render(&self, out: &mut Vec<u8>, value: &dyn Fn(u8, Part) -> (Value, Option<Value>)) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Directive(spec, part, letter) => {
                    let (value, target) = value(*letter, *part);
                    push_value(out, *spec, &value);
                    if let Some(target) = target {
                        out.extend_from_slice(b" -> ");
                        push_value(out, *spec, &target);
                    }
                }
            }
        }
    }
}

fn flush(literal: &mut Vec<u8>, pieces: &mut Vec<Piece>) {
    if !literal.is_empty() {
        pieces.push(Piece::Text(std::mem::take(literal)));
    }
}

/// Parses the text after a `%`; returns the text after the directive.
fn parse_directive<'t>(
    text: &'t [u8],
    literal: &mut Vec<u8>,
    pieces: &mut Vec<Piece>,
    subject: Subject,
) -> Result<&'t [u8], BadFormat> {
    let (spec, after) = parse_spec(text);
    let is_plain = after.len() == text.len();
    let Some((&letter, tail)) = after.split_first().filter(|(letter, _)| **letter != b'%') else {
        if !is_plain {
            let length = (text.len() - after.len() + 1).min(text.len());
            let shown = String::from_utf8_lossy(&text[..length]);
            return Err(BadFormat::Invalid {
                directive: format!("%{shown}"),
            });
        }
        literal.push(b'%');
        return Ok(after.get(1..).unwrap_or_default());
    };
    let has_devices = subject == Subject::File;
    let (part, letter, tail) = match (letter, tail.split_first().filter(|_| has_devices)) {
        (b'H', Some((&device @ (b'd' | b'r'), tail))) => (Part::Major, device, tail),
        (b'L', Some((&device @ (b'd' | b'r'), tail))) => (Part::Minor, device, tail),
        _ => (Part::Whole, letter, tail),
    };
    if !subject.knows(letter) {
        literal.push(b'?');
        return Ok(tail);
    }
    flush(literal, pieces);
    pieces.push(Piece::Directive(spec, part, letter));
    Ok(tail)
}

fn parse_spec(text: &[u8]) -> (Spec, &[u8]) {
    let mut spec = Spec::default();
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        match byte {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            b'\'' | b'I' => {}
            _ => break,
        }
        rest = tail;
    }
    let (width, after) = parse_number(rest);
    spec.width = width.unwrap_or(0).min(WIDTH_MAX);
    rest = after;
    if let Some((b'.', tail)) = rest.split_first() {
        let (precision, after) = parse_number(tail);
        spec.precision = Some(precision.map(|p| p.min(WIDTH_MAX)));
        rest = after;
    }
    (spec, rest)
}

fn parse_number(text: &[u8]) -> (Option<usize>, &[u8]) {
    let length = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let value = digits.iter().fold(0usize, |value, digit| {
        value
            .saturating_mul(10)
            .saturating_add(usize::from(digit - b'0'))
    });
    ((length > 0).then_some(value), rest)
}

/// Parses the text after a backslash; returns the text after the escape.
fn parse_escape<'t>(text: &'t [u8], literal: &mut Vec<u8>) -> &'t [u8] {
    let Some((&letter, tail)) = text.split_first() else {
        literal.push(b'\\');
        return text;
    };
    let digits = |text: &[u8], radix: u32, most: usize| {
        let digits = text
            .iter()
            .take(most)
            .map_while(|b| char::from(*b).to_digit(radix));
        digits.fold((0u32, 0usize), |(value, count), digit| {
            (value * radix + digit, count + 1)
        })
    };
    match letter {
        b'0'..=b'7' => {
            let (value, count) = digits(text, 8, 3);
            literal.push((value & 0xff) as u8);
            return &text[count..];
        }
        b'x' => {
            let (value, count) = digits(tail, 16, 2);
            if count > 0 {
                literal.push(value as u8);
                return &tail[count..];
            }
            literal.push(b'x');
        }
        b'a' => literal.push(7),
        b'b' => literal.push(8),
        b'e' => literal.push(27),
        b'f' => literal.push(12),
        b'n' => literal.push(b'\n'),
        b'r' => literal.push(b'\r'),
        b't' => literal.push(b'\t'),
        b'v' => literal.push(11),
        other => literal.push(other),
    }
    tail
}

/// Appends a value, laid out as in printf(3).
fn push_value(out: &mut Vec<u8>, spec: Spec, value: &Value) {
    match value {
        Value::Text(text) => {
            let most = spec
                .precision
                .map_or(text.len(), |precision| precision.unwrap_or(0));
            let text = text.get(..most).unwrap_or(text);
            push_padded(
                out,
                text,
                Spec {
                    zero: false,
                    ..spec
                },
            );
        }
        Value::Signed(number) => {
            let sign = sign(*number < 0, spec);
            push_number(out, sign, &number.unsigned_abs().to_string(), spec);
        }
        Value::Unsigned(number) => push_number(out, "", &number.to_string(), spec),
        Value::Octal(number) => {
            let digits = format!("{number:o}");
            let lead = spec.alternate && !digits.starts_with('0');
            push_number(
                out,
                "",
                &if lead { format!("0{digits}") } else { digits },
                spec,
            );
        }
        Value::Hex(number) => {
            let prefix = if spec.alternate && *number != 0 {
                "0x"
            } else {
                ""
            };
            push_number(out, prefix, &format!("{number:x}"), spec);
        }
        Value::Epoch(time) => push_epoch(out, *time, spec),
    }
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn push_number(out: &mut Vec<u8>, prefix: &str, digits: &str, spec: Spec) {
    let digits_min = match spec.precision {
        Some(precision) => precision.unwrap_or(0),
        None if spec.zero && !spec.left => spec.width.saturating_sub(prefix.len()),
        None => 0,
    };
    // With a precision of 0, printf(3) prints nothing for zero.
    let digits = if digits == "0" && digits_min == 0 && spec.precision.is_some() {
        ""
    } else {
        digits
    };
    let zeros = digits_min.saturating_sub(digits.len());
    let text = format!("{prefix}{}{digits}", "0".repeat(zeros));
    push_padded(out, text.as_bytes(), spec);
}

fn push_padded(out: &mut Vec<u8>, text: &[u8], spec: Spec) {
    let room = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.resize(out.len() + room, b' ');
    }
    out.extend_from_slice(text);
    if spec.left {
        out.resize(out.len() + room, b' ');
    }
}

/// Appends seconds since 1970; the precision is the number of decimals, nine for a dot alone.
///
/// Digits are cut off as GNU stat does: before 1970 towards zero, except that a time which is less
/// than one unit of the last digit away from a whole second becomes the earlier second (-0.0005
/// with three digits is -1.000).
fn push_epoch(out: &mut Vec<u8>, time: trawl_model::Timestamp, spec: Spec) {
    let decimals = spec.precision.map_or(0, |precision| precision.unwrap_or(9));
    let shown = decimals.min(9);
    let step = 10u32.pow(9 - shown as u32);
    let (mut secs, mut fraction) = (i128::from(time.secs), time.nanos / step);
    if secs < 0 && time.nanos != 0 {
        let per_second = 1_000_000_000 / step;
        fraction = per_second - fraction - u32::from(!time.nanos.is_multiple_of(step));
        secs += i128::from(fraction != 0);
    }
    let tail = match decimals {
        0 => String::new(),
        _ => format!(".{fraction:0shown$}{}", "0".repeat(decimals - shown)),
    };
    let sign = sign(time.secs < 0, spec);
    let secs = secs.unsigned_abs();
    if spec.left {
        let text = format!("{sign}{secs}{tail}");
        push_padded(out, text.as_bytes(), spec);
    } else {
        let whole = Spec {
            width: spec.width.saturating_sub(tail.len()),
            precision: None,
            ..spec
        };
        push_number(out, sign, &secs.to_string(), whole);
        out.extend_from_slice(tail.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Timestamp;

    fn shown(format: &str, value: Value) -> String {
        let (spec, _) = parse_spec(format.as_bytes());
        let mut out = Vec::new();
        push_value(&mut out, spec, &value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_laid_out_as_printf_does() {
        for (spec, value, text) in [
            ("5", Value::Unsigned(42), "   42"),
            ("-5", Value::Unsigned(42), "42   "),
            ("05", Value::Signed(-42), "-0042"),
            ("+", Value::Signed(42), "+42"),
            (" ", Value::Signed(42), " 42"),
            ("+", Value::Unsigned(42), "42"),
            (".4", Value::Unsigned(42), "0042"),
            (".", Value::Unsigned(0), ""),
            ("3.0", Value::Signed(0), "   "),
            ("06.4", Value::Unsigned(42), "  0042"),
            ("#", Value::Octal(0o644), "0644"),
            ("04", Value::Octal(0o44), "0044"),
            ("#", Value::Hex(255), "0xff"),
            ("#", Value::Hex(0), "0"),
            ("10.3", Value::Text(b"abcdef".to_vec()), "       abc"),
            ("010", Value::Text(b"abc".to_vec()), "       abc"),
        ] {
            assert_eq!(shown(spec, value.clone()), text, "%{spec} of {value:?}");
        }
    }

    #[test]
    fn seconds_have_as_many_decimals_as_asked_for() {
        let time = Timestamp {
            secs: 12,
            nanos: 345_678_901,
        };
        let before = Timestamp {
            secs: -1,
            nanos: 750_000_000,
        };
        for (spec, time, text) in [
            ("", time, "12"),
            (".", time, "12.345678901"),
            (".3", time, "12.345"),
            (".12", time, "12.345678901000"),
            ("10.3", time, "    12.345"),
            ("010.3", time, "000012.345"),
            ("-10.3", time, "12.345    "),
            (".2", before, "-0.25"),
            (".1", before, "-0.2"),
            ("", before, "-1"),
        ] {
            assert_eq!(shown(spec, Value::Epoch(time)), text, "%{spec}");
        }
    }

    #[test]
    fn mistakes_are_found_before_anything_is_printed() {
        let parse = |text: &str| Format::parse(text.as_bytes(), Escapes::Keep, Subject::File);
        assert!(matches!(parse("%5%"), Err(BadFormat::Invalid { .. })));
        assert!(matches!(parse("%5"), Err(BadFormat::Invalid { .. })));
        assert_eq!(parse("%%%").unwrap().pieces, [Piece::Text(b"%%".to_vec())]);
        let huge = parse("%99999999999999999999s").unwrap();
        assert!(matches!(
            huge.pieces[0],
            Piece::Directive(
                Spec {
                    width: WIDTH_MAX,
                    ..
                },
                ..
            )
        ));
    }

    #[test]
    fn escapes_are_those_of_printf() {
        let text = |format: &str| {
            let parsed = Format::parse(format.as_bytes(), Escapes::Read, Subject::File).unwrap();
            match parsed.pieces.as_slice() {
                [Piece::Text(text)] => text.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(text(r#"\t\n\\\"\x41\1018\e"#), b"\t\n\\\"AA8\x1b");
        assert_eq!(text(r"\"), b"\\");
    }
}
