//! Flags, width and precision of a directive, with the meaning of printf(3).

/// How a value is padded and truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// `-`: padding goes after the value.
    pub left: bool,
    /// `0`: numbers are padded with zeros.
    pub zeros: bool,
    /// `+`: signed numbers have a plus.
    pub plus: bool,
    /// ` `: signed numbers have a blank where a minus would be.
    pub blank: bool,
    /// `#`: octal numbers have a leading zero.
    pub alternate: bool,
    /// Minimum width.
    pub width: usize,
    /// Maximum bytes of a text, or minimum digits of a number.
    pub precision: Option<usize>,
}

/// Maximum width and precision: each entry takes this much memory.
const WIDEST: usize = 1 << 24;

impl Field {
    /// Parses flags, width and precision at the beginning of `text`, and
    /// returns the number of bytes they took.
    pub fn parse(text: &[u8]) -> (Field, usize) {
        let mut field = Field::default();
        let mut at = 0;
        while let Some(flag) = text.get(at) {
            match flag {
                b'-' => field.left = true,
                b'0' => field.zeros = true,
                b'+' => field.plus = true,
                b' ' => field.blank = true,
                b'#' => field.alternate = true,
                _ => break,
            }
            at += 1;
        }
        let (width, digits) = number(&text[at..]);
        field.width = width;
        at += digits;
        if text.get(at) == Some(&b'.') {
            let (precision, digits) = number(&text[at + 1..]);
            field.precision = Some(precision);
            at += 1 + digits;
        }
        (field, at)
    }

    /// Prints a text as `%s`.
    pub fn push_text(&self, out: &mut Vec<u8>, text: &[u8]) {
        let length = self.precision.map_or(text.len(), |p| p.min(text.len()));
        self.push_padded(out, &text[..length]);
    }

    /// Prints a number as `%d`.
    pub fn push_decimal(&self, out: &mut Vec<u8>, number: u64) {
        self.push_number(out, self.sign(), &number.to_string());
    }

    /// The character in the place of a minus sign.
    fn sign(&self) -> &'static str {
        match (self.plus, self.blank) {
            (true, _) => "+",
            (_, true) => " ",
            _ => "",
        }
    }

    /// Prints a number as `%o`; `#` ensures one leading zero.
    pub fn push_octal(&self, out: &mut Vec<u8>, number: u32) {
        let digits = format!("{number:o}");
        let least = if self.alternate && number != 0 {
            digits.len() + 1
        } else if self.alternate {
            1
        } else {
            0
        };
        match self.precision {
            Some(precision) => {
                let field = Field {
                    precision: Some(precision.max(least)),
                    ..*self
                };
                field.push_number(out, "", &digits);
            }
            None => self.push_number(out, "", &format!("{digits:0>least$}")),
        }
    }

    /// Prints a number as `%g`.
    pub fn push_general(&self, out: &mut Vec<u8>, number: f64) {
        let precision = self.precision.unwrap_or(6);
        let mut digits = trawl_text::float::general(number, precision);
        if self.alternate && number.is_finite() {
            digits = with_all_digits(&digits, precision.max(1));
        }
        let plain = Field {
            precision: None,
            zeros: self.zeros && number.is_finite(),
            ..*self
        };
        plain.push_number(out, self.sign(), &digits);
    }

    fn push_number(&self, out: &mut Vec<u8>, prefix: &str, digits: &str) {
        let mut digits = digits.to_owned();
        if let Some(least) = self.precision {
            if least == 0 && digits == "0" {
                digits.clear();
            }
            let missing = least.saturating_sub(digits.len());
            digits.insert_str(0, &"0".repeat(missing));
        } else if self.zeros && !self.left {
            let missing = self.width.saturating_sub(prefix.len() + digits.len());
            digits.insert_str(0, &"0".repeat(missing));
        }
        self.push_padded(out, format!("{prefix}{digits}").as_bytes());
    }

    fn push_padded(&self, out: &mut Vec<u8>, text: &[u8]) {
        let padding = self.width.saturating_sub(text.len());
        if !self.left {
            out.resize(out.len() + padding, b' ');
        }
        out.extend_from_slice(text);
        if self.left {
            out.resize(out.len() + padding, b' ');
        }
    }
}

/// Returns a number as `%#g` prints it: with a point, and zeros up to the
/// precision.
fn with_all_digits(number: &str, precision: usize) -> String {
    let (digits, exponent) = number.split_at(number.find('e').unwrap_or(number.len()));
    let significant = digits.trim_start_matches(['0', '.', '-']);
    let count = significant.bytes().filter(u8::is_ascii_digit).count();
    let zeros = "0".repeat(precision.saturating_sub(count.max(1)));
    let point = if digits.contains('.') { "" } else { "." };
    format!("{digits}{point}{zeros}{exponent}")
}

/// Parses a number at the beginning of `text`, and returns it with its length
/// in bytes.
fn number(text: &[u8]) -> (usize, usize) {
    let digits = text.iter().take_while(|b| b.is_ascii_digit());
    let mut value = 0usize;
    let mut length = 0;
    for digit in digits {
        value = (value * 10 + usize::from(digit - b'0')).min(WIDEST);
        length += 1;
    }
    (value, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(form: &str, push: impl Fn(&Field, &mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&Field::parse(form.as_bytes()).0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_as_c_prints_them() {
        for (form, number, expected) in [
            (".0", 0, ""),
            ("#.0", 0, "0"),
            ("#", 0, "0"),
            ("#", 0o644, "0644"),
            ("#.5", 0o644, "00644"),
            ("#.3", 0o644, "0644"),
            ("#06", 0o644, "000644"),
            ("5", 0o644, "  644"),
        ] {
            assert_eq!(
                shown(form, |f, out| f.push_octal(out, number)),
                expected,
                "{form}"
            );
        }
        for (form, number, expected) in [
            ("#", 1.0, "1.00000"),
            ("#", 0.0, "0.00000"),
            ("#.3", 0.125, "0.125"),
            ("#.0", 1.0, "1."),
            ("# 9", 1.5, "  1.50000"),
            (" ", 1.5, " 1.5"),
            ("#.3", 4096.0, "4.10e+03"),
        ] {
            assert_eq!(
                shown(form, |f, out| f.push_general(out, number)),
                expected,
                "{form}"
            );
        }
        assert_eq!(shown(".0", |f, out| f.push_decimal(out, 0)), "");
    }
}
