//! Parses the words of a command line into a program.
//!
//! [`command_line`] tells options, start points and expression apart,
//! [`arguments`] gives predicates their arguments, [`grammar`] joins the
//! leaves.

mod arguments;
mod command_line;
mod grammar;
mod settings;

pub use arguments::Arguments;
pub use command_line::{Parsed, Program, WhyNot, parse, restrict, start_words};
pub use settings::Settings;
