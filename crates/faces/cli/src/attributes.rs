//! The fields of an attribute in rows for programs, whether a hook found it or a program set it.

use trawl_report::Field;

pub(crate) const NAME: Field = Field::text("name", "name of the attribute");
pub(crate) const TYPE: Field = Field::text(
    "type",
    "type of the value: text, integer, real, time or list",
);
pub(crate) const VALUES: Field = Field::texts(
    "values",
    "the values of a list, or the one value; times as in RFC 3339",
);
