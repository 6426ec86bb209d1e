//! Flags, width and precision of a directive, with the meaning of printf(3).

/// How a value is padded and cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// `-`: padding goes behind the value.
    pub left: bool,
    /// `0`: numbers are padded with zeros.
    pub zeros: bool,
    /// `+`: signed numbers have a plus.
    pub plus: bool,
    /// ` `: signed numbers have a blank where a minus would be.
    pub blank: bool,
    /// `#`: octal numbers have a leading zero.
    pub alternate: bool,
    /// Least width.
    pub width: usize,
    /// Most bytes of a text, or least digits of a number.
    pub precision: Option<usize>,
}

/// Widths and precisions beyond this are cut.
const WIDEST: usize = 1 << 20;

impl Field {
    /// Reads flags, width and precision at the start of `text`; how many
    /// bytes they took.
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

    /// `%s`.
    pub fn push_text(&self, out: &mut Vec<u8>, text: &[u8]) {
        let length = self.precision.map_or(text.len(), |p| p.min(text.len()));
        self.push_padded(out, &text[..length]);
    }

    /// `%d` of a number that is not negative.
    pub fn push_decimal(&self, out: &mut Vec<u8>, number: u64) {
        self.push_number(out, self.sign(), &number.to_string());
    }

    /// What stands where a minus would.
    fn sign(&self) -> &'static str {
        match (self.plus, self.blank) {
            (true, _) => "+",
            (_, true) => " ",
            _ => "",
        }
    }

    /// `%o`; `#` sees to a leading zero, and one is enough.
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

    /// A number that is already text, as `%g` makes it.
    pub fn push_general(&self, out: &mut Vec<u8>, number: f64) {
        let digits = trawl_text::float::general(number, self.precision.unwrap_or(6));
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

/// A number at the start of `text` and its length.
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
