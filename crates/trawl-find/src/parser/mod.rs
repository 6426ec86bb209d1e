//! From words to a program.
//!
//! [`command_line`] tells options, start points and expression apart,
//! [`arguments`] hands predicates their arguments, [`grammar`] joins them.

mod arguments;
mod command_line;
mod grammar;
mod settings;

pub use arguments::Arguments;
pub use command_line::{Parsed, Program, parse};
pub use settings::Settings;
