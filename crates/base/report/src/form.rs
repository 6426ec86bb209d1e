//! The form of an answer.

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
    /// Comma-separated values below a header.
    Csv,
    /// Values that end with a NUL byte.
    Null,
    /// An Arrow IPC stream.
    Arrow,
}
