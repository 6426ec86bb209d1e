//! What `stat` prints: formats, the values of their directives, access control lists.

pub mod acl;
pub mod file_system_names;
mod format;
mod value;

pub use self::format::{BadFormat, Escapes, Format, Part, Subject};
pub use self::value::{Context, Value, type_name, values};
