//! The find language over an index and over the live file system, with the
//! meaning of GNU find.
//!
//! How a command line becomes answers:
//! 1. [`parser`] turns arguments into a [`Program`]: start points, options
//!    and one [`Expr`], using the [`registry`] of predicates.
//! 2. Each leaf of the expression is a [`Leaf`]. It is evaluated on one row at
//!    a time, and it says which columns it reads and which rows it can rule
//!    out.
//! 3. [`driver`] runs a program and prints its results.
//!
//! To add a predicate, write one file in `predicates/` and list it in
//! [`registry`]. Help, man page and completions are generated from that list.
//!
//! Only actions that the user asked for change files or run commands, and only
//! after they have looked at the file again.

#![forbid(unsafe_code)]

pub mod age;
pub mod base_name;
mod command;
pub mod compare;
pub mod conformance;
pub mod context;
pub mod driver;
pub mod environment;
pub mod error;
pub mod expr;
mod expr_order;
#[cfg(test)]
mod expr_properties;
pub mod file_systems;
pub mod files;
pub mod foresight;
pub mod format;
pub mod grouping;
pub mod help;
mod indexed;
pub mod leaf;
pub mod left_out;
mod likelihood;
mod live;
pub mod lookups;
pub mod order;
pub mod output;
pub mod parser;
mod path_lines;
pub mod predicate;
mod predicates;
mod printer;
pub mod probe;
pub mod questions;
pub mod record;
pub mod reference;
pub mod regex;
pub mod registry;
pub mod resolve;
pub mod start;
pub mod start_list;
#[cfg(test)]
mod testing;
pub mod traversal;

pub use environment::Environment;
pub use error::{FindError, Refusal};
pub use expr::Expr;
pub use indexed::{Sieve, SieveAt};
pub use leaf::Leaf;
pub use parser::{Parsed, Program, WhyNot, parse, restrict, start_words};
pub use predicate::Predicate;
pub use registry::registry;
pub use trawl_keywords::{Contents, Documents};
