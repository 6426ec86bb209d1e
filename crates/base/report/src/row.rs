//! A row that is being filled, and what renders it.

use std::io::{self, Write};

use crate::schema::Field;
use crate::value::Value;

/// Renders rows in one form. New forms, such as an answer of a server, implement it.
///
/// Between two calls of [`Renderer::end`] the fields of one row arrive in the schema's order, each
/// as a value, a nest or absent.
pub trait Renderer {
    /// Writes what comes before the first row.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    fn begin(&mut self, fields: &[Field], out: &mut dyn Write) -> io::Result<()>;

    /// Returns true if the field appears in this form.
    fn wants(&self, field: &Field) -> bool;

    /// Takes the value of a field.
    fn value(&mut self, field: &Field, value: Value<'_>);

    /// Takes note that the row has no such field.
    fn absent(&mut self, field: &Field);

    /// Begins a field, or an element of a list (`field` is `None`), that has parts.
    fn open(&mut self, field: Option<&Field>, nest: Nest);

    /// Takes an element of a list.
    fn element(&mut self, value: Value<'_>);

    /// Takes a member of an object with any keys.
    fn member(&mut self, key: &str, text: &str);

    /// Ends what [`Renderer::open`] began.
    fn close(&mut self, nest: Nest);

    /// Ends the row and writes it.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// Writes what comes after the last row.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let _ = out;
        Ok(())
    }
}

/// Kind of a value with parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nest {
    /// Fields.
    Object,
    /// Elements.
    List,
}

/// A row that is being filled, in the order of its fields. Fields may be left out: they are missing
/// in JSON and empty in CSV. Fields that the form does not have are ignored.
pub struct Row<'r> {
    fields: &'static [Field],
    at: usize,
    renderer: &'r mut dyn Renderer,
}

impl Row<'_> {
    pub(crate) fn new<'r>(fields: &'static [Field], renderer: &'r mut dyn Renderer) -> Row<'r> {
        Row {
            fields,
            at: 0,
            renderer,
        }
    }

    /// Returns true if the form has the field: a value that takes work need not be made otherwise.
    pub fn wants(&self, field: &Field) -> bool {
        self.renderer.wants(field)
    }

    /// Sets a field.
    pub fn put<'v>(&mut self, field: &Field, value: impl Into<Value<'v>>) -> &mut Self {
        if let Some(field) = self.reach(field) {
            let value = value.into();
            debug_assert!(value.is_of(field.kind), "{}: {value:?}", field.name);
            self.renderer.value(field, value);
        }
        self
    }

    /// Sets a field to a list of texts.
    pub fn texts(
        &mut self,
        field: &Field,
        texts: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> &mut Self {
        if let Some(field) = self.reach(field) {
            self.renderer.open(Some(field), Nest::List);
            for text in texts {
                self.renderer.element(Value::Text(text.as_ref()));
            }
            self.renderer.close(Nest::List);
        }
        self
    }

    /// Sets a field to a list of whole numbers.
    pub fn integers<'v>(
        &mut self,
        field: &Field,
        numbers: impl IntoIterator<Item = impl Into<Value<'v>>>,
    ) -> &mut Self {
        if let Some(field) = self.reach(field) {
            self.renderer.open(Some(field), Nest::List);
            for number in numbers {
                self.renderer.element(number.into());
            }
            self.renderer.close(Nest::List);
        }
        self
    }

    /// Sets a field to an object.
    pub fn object(&mut self, field: &Field, fill: impl FnOnce(&mut Row<'_>)) -> &mut Self {
        if let Some(field) = self.reach(field) {
            self.renderer.open(Some(field), Nest::Object);
            self.nested(field, fill);
        }
        self
    }

    /// Sets a field to a list of objects, one for each item.
    pub fn objects<I>(
        &mut self,
        field: &Field,
        items: impl IntoIterator<Item = I>,
        mut fill: impl FnMut(&mut Row<'_>, I),
    ) -> &mut Self {
        if let Some(field) = self.reach(field) {
            self.renderer.open(Some(field), Nest::List);
            for item in items {
                self.renderer.open(None, Nest::Object);
                self.nested(field, |row| fill(row, item));
            }
            self.renderer.close(Nest::List);
        }
        self
    }

    /// Sets a field to an object of texts.
    pub fn options<'v>(
        &mut self,
        field: &Field,
        members: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> &mut Self {
        if let Some(field) = self.reach(field) {
            self.renderer.open(Some(field), Nest::Object);
            for (key, text) in members {
                self.renderer.member(key, text);
            }
            self.renderer.close(Nest::Object);
        }
        self
    }

    fn nested(&mut self, field: &Field, fill: impl FnOnce(&mut Row<'_>)) {
        let mut row = Row::new(field.kind.fields(), self.renderer);
        fill(&mut row);
        row.finish();
        self.renderer.close(Nest::Object);
    }

    /// Goes on to a field; returns it if the form has it.
    fn reach(&mut self, field: &Field) -> Option<&'static Field> {
        let rest = self.fields.get(self.at..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(|one| one.name == field.name) else {
            debug_assert!(false, "{} is not the next field of its row", field.name);
            return None;
        };
        self.leave_out(skipped);
        self.at += 1;
        let found = rest.get(skipped)?;
        self.renderer.wants(found).then_some(found)
    }

    /// Leaves out the next `count` fields.
    fn leave_out(&mut self, count: usize) {
        let skipped = self.fields.iter().skip(self.at).take(count);
        for field in skipped {
            if self.renderer.wants(field) {
                self.renderer.absent(field);
            }
        }
        self.at += count;
    }

    /// Leaves out all fields that are not set.
    pub(crate) fn finish(mut self) {
        self.leave_out(self.fields.len().saturating_sub(self.at));
    }
}
