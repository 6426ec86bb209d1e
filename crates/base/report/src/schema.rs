//! What a report consists of: its fields, with names, types, units and documentation.
//!
//! A schema is data: the renderers, the reference in `docs/fields.md` and the tests of output read
//! it.

use crate::form::Form;

/// JSON is the only form.
pub const OBJECTS: &[Form] = &[Form::Json];

/// JSON, CSV and Arrow.
pub const ROWS: &[Form] = &[Form::Json, Form::Csv, Form::Arrow];

/// The fields of a report's rows, in the order in which they are printed.
#[derive(Debug)]
pub struct Schema {
    /// What one row describes, as in `a snapshot of a source`.
    pub row: &'static str,
    /// The fields.
    pub fields: &'static [Field],
    /// The forms in which the rows are printed, besides text.
    pub forms: &'static [Form],
    /// Command lines that print such rows, without the program's name. The option of the form comes
    /// after the first word, or in the place of `{form}`. Tests run them in a tree of odd names.
    pub samples: &'static [&'static str],
}

/// A field of a row.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name, and key in JSON.
    pub name: &'static str,
    /// Type of the values.
    pub kind: Kind,
    /// Unit of numbers, as in `bytes`; empty for plain counts and other types.
    pub unit: &'static str,
    /// Documentation.
    pub meaning: &'static str,
    /// Whether numbers take all of 64 bits: `UInt64` in Arrow.
    pub is_wide: bool,
    /// Whether every row has the field, and never as `null`.
    pub is_always: bool,
    /// The forms in which the field appears; Arrow has the fields of JSON.
    pub forms: Forms,
}

/// Type of a field's values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Any bytes: a path, a name, a value.
    Bytes,
    /// A whole number.
    Integer,
    /// Yes or no.
    Flag,
    /// A moment.
    Time,
    /// A list of texts; joined by `+` in CSV.
    Texts,
    /// A list of whole numbers; joined by `+` in CSV.
    Integers,
    /// An object with these fields; only in JSON.
    Object(&'static [Field]),
    /// A list of objects with these fields; only in JSON.
    Objects(&'static [Field]),
    /// An object of texts with any keys; only in JSON.
    Options,
}

impl Kind {
    /// Returns the type's name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::Integer => "integer",
            Kind::Flag => "yes or no",
            Kind::Time => "time",
            Kind::Texts => "list of text",
            Kind::Integers => "list of integers",
            Kind::Object(_) | Kind::Options => "object",
            Kind::Objects(_) => "list",
        }
    }

    /// Returns the fields of the objects, if the values are objects with named fields.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Kind::Object(fields) | Kind::Objects(fields) => fields,
            _ => &[],
        }
    }
}

/// The forms in which a field appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    /// In JSON.
    pub json: bool,
    /// In CSV.
    pub csv: Columns,
    /// Among NUL-terminated values.
    pub null: bool,
}

/// The columns that a field takes in CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// None: the field is left out.
    None,
    /// One.
    One,
    /// Two: text, and all bytes in hexadecimal under the name with `_raw`.
    WithRaw,
}

/// Returns the fields of both lists, one list after the other. `ALL` must be the sum of the lengths.
pub const fn joined<const FIRST: usize, const THEN: usize, const ALL: usize>(
    first: [Field; FIRST],
    then: [Field; THEN],
) -> [Field; ALL] {
    assert!(FIRST + THEN == ALL && FIRST > 0);
    let mut all = [first[0]; ALL];
    let mut at = 1;
    while at < ALL {
        all[at] = if at < FIRST {
            first[at]
        } else {
            then[at - FIRST]
        };
        at += 1;
    }
    all
}

impl Field {
    const fn new(name: &'static str, kind: Kind, meaning: &'static str, csv: Columns) -> Field {
        let forms = Forms {
            json: true,
            csv,
            null: false,
        };
        Field {
            name,
            kind,
            unit: "",
            meaning,
            is_wide: false,
            is_always: false,
            forms,
        }
    }

    /// Returns a field of text.
    pub const fn text(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Text, meaning, Columns::One)
    }

    /// Returns a field of bytes, which takes two columns in CSV.
    pub const fn bytes(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Bytes, meaning, Columns::WithRaw)
    }

    /// Returns a field of whole numbers.
    pub const fn integer(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Integer, meaning, Columns::One)
    }

    /// Returns a field that is true or false.
    pub const fn flag(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Flag, meaning, Columns::One)
    }

    /// Returns a field of times.
    pub const fn time(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Time, meaning, Columns::One)
    }

    /// Returns a field of lists of texts.
    pub const fn texts(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Texts, meaning, Columns::One)
    }

    /// Returns a field of lists of whole numbers.
    pub const fn integers(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Integers, meaning, Columns::One)
    }

    /// Returns a field of objects, which is only in JSON.
    pub const fn object(
        name: &'static str,
        fields: &'static [Field],
        meaning: &'static str,
    ) -> Field {
        Field::new(name, Kind::Object(fields), meaning, Columns::None)
    }

    /// Returns a field of lists of objects, which is only in JSON.
    pub const fn objects(
        name: &'static str,
        fields: &'static [Field],
        meaning: &'static str,
    ) -> Field {
        Field::new(name, Kind::Objects(fields), meaning, Columns::None)
    }

    /// Returns a field of objects of texts with any keys, which is only in JSON.
    pub const fn options(name: &'static str, meaning: &'static str) -> Field {
        Field::new(name, Kind::Options, meaning, Columns::None)
    }

    /// Sets the unit of the numbers.
    #[must_use]
    pub const fn in_units(mut self, unit: &'static str) -> Field {
        self.unit = unit;
        self
    }

    /// Says that the numbers take all of 64 bits, as inode numbers do.
    #[must_use]
    pub const fn wide(mut self) -> Field {
        self.is_wide = true;
        self
    }

    /// Says that every row has the field, and never as `null`.
    #[must_use]
    pub const fn always(mut self) -> Field {
        self.is_always = true;
        self
    }

    /// Leaves the field out of CSV.
    #[must_use]
    pub const fn without_csv(mut self) -> Field {
        self.forms.csv = Columns::None;
        self
    }

    /// Leaves the field out of JSON.
    #[must_use]
    pub const fn without_json(mut self) -> Field {
        self.forms.json = false;
        self
    }

    /// Gives a field of bytes one column in CSV.
    #[must_use]
    pub const fn without_raw(mut self) -> Field {
        self.forms.csv = Columns::One;
        self
    }

    /// Prints the field's bytes where values end with a NUL.
    #[must_use]
    pub const fn with_null(mut self) -> Field {
        self.forms.null = true;
        self
    }
}
