//! Comma-separated values, RFC 4180 with newlines as line ends: a field is
//! quoted where it holds a comma, a quote or a line break. Bytes stand as
//! they are.

/// A line under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    bytes: Vec<u8>,
    fields: usize,
}

impl Line {
    /// A line without fields.
    pub(crate) fn new() -> Line {
        Line::default()
    }

    /// Adds a field.
    #[must_use]
    pub(crate) fn field(mut self, value: impl AsRef<[u8]>) -> Line {
        let value = value.as_ref();
        if self.fields > 0 {
            self.bytes.push(b',');
        }
        self.fields += 1;
        if !value
            .iter()
            .any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r'))
        {
            self.bytes.extend_from_slice(value);
            return self;
        }
        self.bytes.push(b'"');
        for byte in value {
            if *byte == b'"' {
                self.bytes.push(b'"');
            }
            self.bytes.push(*byte);
        }
        self.bytes.push(b'"');
        self
    }

    /// Adds a field with a number or anything else that prints.
    #[must_use]
    pub(crate) fn value(self, value: impl std::fmt::Display) -> Line {
        self.field(value.to_string())
    }

    /// The line with its end.
    pub(crate) fn close(mut self) -> Vec<u8> {
        self.bytes.push(b'\n');
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let line = Line::new()
            .field("plain")
            .field("a,b")
            .field("say \"x\"")
            .field(b"two\nlines")
            .field("")
            .value(7)
            .close();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",,7\n"
        );
    }
}
