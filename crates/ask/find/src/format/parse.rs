//! Splits a format into segments.

use super::Segment;
use super::directive::Directive;
use super::field::Field;

/// Why a format cannot be used, with GNU find's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A lone `%` at the end.
    #[error("error: % at end of format string")]
    EndsInDirective,
    /// `%{`, `%[`, `%(`, or flags without a directive (a NUL).
    #[error("error: the format directive `%{}' is reserved for future use", char::from(*.0))]
    Reserved(u8),
}

/// What follows `%{` in Trawl's own directive.
const SCORE: &[u8] = b"score}";

/// Splits the format.
pub(super) fn segments(
    text: &[u8],
    remarks: &mut Vec<String>,
) -> Result<Vec<Segment>, FormatError> {
    let mut cutter = Cutter {
        text,
        at: 0,
        plain: Vec::new(),
        segments: Vec::new(),
        remarks,
    };
    while let Some(byte) = text.get(cutter.at) {
        cutter.at += 1;
        match byte {
            b'\\' => {
                if cutter.escape() == Escape::Stop {
                    cutter.push(Segment::Stop);
                    return Ok(cutter.segments);
                }
            }
            b'%' => cutter.directive()?,
            other => cutter.plain.push(*other),
        }
    }
    cutter.flush();
    Ok(cutter.segments)
}

#[derive(PartialEq, Eq)]
enum Escape {
    Done,
    /// `\c`
    Stop,
}

struct Cutter<'a> {
    text: &'a [u8],
    /// Position of the next byte.
    at: usize,
    /// Text that was read but is not yet in a segment.
    plain: Vec<u8>,
    segments: Vec<Segment>,
    remarks: &'a mut Vec<String>,
}

impl Cutter<'_> {
    fn flush(&mut self) {
        if !self.plain.is_empty() {
            let text = std::mem::take(&mut self.plain);
            self.segments.push(Segment::Text(text));
        }
    }

    fn push(&mut self, segment: Segment) {
        self.flush();
        self.segments.push(segment);
    }

    /// Parses the escape after a backslash.
    fn escape(&mut self) -> Escape {
        let Some(letter) = self.text.get(self.at).copied() else {
            self.remarks
                .push("escape `\\' followed by nothing at all".into());
            self.plain.push(b'\\');
            return Escape::Done;
        };
        if (b'0'..=b'7').contains(&letter) {
            self.octal();
            return Escape::Done;
        }
        self.at += 1;
        let byte = match letter {
            b'a' => 0x07,
            b'b' => 0x08,
            b'c' => return Escape::Stop,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\\' => b'\\',
            other => {
                let shown = String::from_utf8_lossy(std::slice::from_ref(&other)).into_owned();
                self.remarks
                    .push(format!("unrecognized escape `\\{shown}'"));
                self.plain.extend([b'\\', other]);
                return Escape::Done;
            }
        };
        self.plain.push(byte);
        Escape::Done
    }

    /// Parses one to three octal digits.
    fn octal(&mut self) {
        let rest = &self.text[self.at..];
        let digits = rest
            .iter()
            .take(3)
            .take_while(|b| (b'0'..=b'7').contains(b));
        let (mut value, mut length) = (0u32, 0);
        for digit in digits {
            value = value * 8 + u32::from(digit - b'0');
            length += 1;
        }
        self.at += length;
        self.plain.push(value as u8);
    }

    /// Parses the directive after a percent sign.
    fn directive(&mut self) -> Result<(), FormatError> {
        let rest = &self.text[self.at..];
        match rest.first() {
            None => return Err(FormatError::EndsInDirective),
            Some(b'%') => {
                self.plain.push(b'%');
                self.at += 1;
                return Ok(());
            }
            Some(_) => {}
        }
        let (field, skipped) = Field::parse(rest);
        let begin = self.at;
        self.at += skipped;
        let Some(letter) = self.text.get(self.at).copied() else {
            return Err(FormatError::Reserved(0));
        };
        self.at += 1;
        match letter {
            // Flags without a directive are printed, the second percent sign is
            // not.
            b'%' => {
                self.plain.push(b'%');
                self.plain
                    .extend_from_slice(&self.text[begin..self.at.saturating_sub(1)]);
                Ok(())
            }
            b'{' if self.text[self.at..].starts_with(SCORE) => {
                self.at += SCORE.len();
                self.push(Segment::Directive(Directive::Score, field));
                Ok(())
            }
            b'{' | b'[' | b'(' => Err(FormatError::Reserved(letter)),
            b'A' | b'B' | b'C' | b'T' => {
                self.time_directive(letter, field, begin);
                Ok(())
            }
            _ => {
                match Directive::from_letter(letter) {
                    Some(directive) => self.push(Segment::Directive(directive, field)),
                    None => self.unknown(letter, begin),
                }
                Ok(())
            }
        }
    }

    fn time_directive(&mut self, letter: u8, field: Field, begin: usize) {
        match self.text.get(self.at).copied() {
            None => {
                self.remarks.push(format!(
                    "format directive `%{}' should be followed by another character",
                    char::from(letter)
                ));
                self.keep(begin);
            }
            Some(kind) => {
                self.at += 1;
                if let Some(directive) = Directive::of_time(letter, kind) {
                    self.push(Segment::Directive(directive, field));
                }
            }
        }
    }

    fn unknown(&mut self, letter: u8, begin: usize) {
        let shown = String::from_utf8_lossy(std::slice::from_ref(&letter)).into_owned();
        self.remarks
            .push(format!("unrecognized format directive `%{shown}'"));
        self.keep(begin);
    }

    /// Prints a directive as it was written.
    fn keep(&mut self, begin: usize) {
        self.plain.push(b'%');
        self.plain.extend_from_slice(&self.text[begin..self.at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> (String, Vec<String>) {
        let mut remarks = Vec::new();
        let mut out = Vec::new();
        for segment in segments(text.as_bytes(), &mut remarks).unwrap() {
            match segment {
                Segment::Text(text) => out.extend(text),
                Segment::Directive(..) => out.extend(b"<>"),
                Segment::Stop => out.extend(b"|"),
            }
        }
        (out.escape_ascii().to_string(), remarks)
    }

    /// Expected values are the output and messages of `find -printf`.
    #[test]
    fn escapes_are_those_of_find() {
        for (text, expected, remarks) in [
            (r"\101\1018\0x\08", r"AA8\x00x\x008", 0),
            (r"\a\b\f\n\r\t\v\\", r"\x07\x08\x0c\n\r\t\x0b\\", 0),
            (r"\z\q", r"\\z\\q", 2),
            (r"a\cb", "a|", 0),
            ("x\\", r"x\\", 1),
            ("%%%p%%", "%<>%", 0),
            ("%q %5q", "%q %5q", 2),
            ("%A", "%A", 1),
            ("%A!%Tk", "<><>", 0),
            ("%5%|%-%.", "%5|%-.", 0),
        ] {
            let (printed, said) = plain(text);
            assert_eq!(
                (printed.as_str(), said.len()),
                (expected, remarks),
                "{text}"
            );
        }
    }

    #[test]
    fn what_find_refuses_is_refused() {
        for (text, expected) in [
            ("%", FormatError::EndsInDirective),
            ("%5", FormatError::Reserved(0)),
            ("%{x}", FormatError::Reserved(b'{')),
            ("%[", FormatError::Reserved(b'[')),
            ("%-(", FormatError::Reserved(b'(')),
        ] {
            assert_eq!(
                segments(text.as_bytes(), &mut Vec::new()),
                Err(expected),
                "{text}"
            );
        }
    }
}
