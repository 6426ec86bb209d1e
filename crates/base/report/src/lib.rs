//! Reports: a schema and rows, rendered as text, JSON, CSV or NUL-separated lines.
//!
//! | module | purpose |
//! |---|---|
//! | [`fields`] | the fields that several commands print |
//! | [`schema`] | fields of a report: names, types, documentation |
//! | [`Row`], [`Value`] | a row that is being filled |
//! | [`Report`] | writes rows in a form, as they come |
//! | `json`, [`csv`], `null` | the forms: JSON lines, comma-separated values, values that end with a NUL |
//! | [`table`] | aligned columns for people |
//! | [`bar`] | bars that show shares |
//! | [`width`] | number of terminal columns that text takes |
//! | [`controls`] | control characters in text for terminals |
//! | [`listing`] | listings of directories as ls prints them |
//! | [`stat`] | the formats of stat, and access control lists as getfacl prints them |
//! | [`xattr_text`] | extended attributes as getfattr writes them |
//! | [`block_size`], [`time_look`] | amounts of space and times as the GNU tools print them |
//!
//! Invariants: nothing here prints, reads the environment by itself or keeps state between calls.

#![forbid(unsafe_code)]

pub mod bar;
pub mod block_size;
pub mod controls;
pub mod csv;
pub mod fields;
mod form;
mod json;
pub mod listing;
mod null;
mod report;
mod row;
pub mod schema;
pub mod stat;
pub mod table;
pub mod time_look;
mod value;
pub mod width;
pub mod xattr_text;

pub use form::Form;
pub use report::{Report, ReportError, csv_header, csv_line, json_object, render_row, renderer};
pub use row::{Nest, Renderer, Row};
pub use schema::{Field, Schema};
pub use value::Value;
