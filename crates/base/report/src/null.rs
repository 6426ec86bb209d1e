//! Values that end with a NUL byte, for xargs -0 and others.

use std::io::{self, Write};

use crate::row::{Nest, Renderer};
use crate::schema::Field;
use crate::value::Value;

/// Renders the bytes of the fields that have this form, each with a NUL after it.
#[derive(Debug, Default)]
pub(crate) struct Null {
    bytes: Vec<u8>,
}

impl Renderer for Null {
    fn begin(&mut self, _: &[Field], _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn wants(&self, field: &Field) -> bool {
        field.forms.null
    }

    fn value(&mut self, _: &Field, value: Value<'_>) {
        match value {
            Value::Bytes(bytes) => self.bytes.extend_from_slice(bytes),
            Value::Text(text) | Value::Written(text) => {
                self.bytes.extend_from_slice(text.as_bytes())
            }
            _ => return,
        }
        self.bytes.push(0);
    }

    fn absent(&mut self, _: &Field) {}

    fn open(&mut self, _: Option<&Field>, _: Nest) {}

    fn element(&mut self, _: Value<'_>) {}

    fn member(&mut self, _: &str, _: &str) {}

    fn close(&mut self, _: Nest) {}

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let done = out.write_all(&self.bytes);
        self.bytes.clear();
        done
    }
}
