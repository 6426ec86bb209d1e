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
}

impl Form {
    /// Returns the form that the options ask for; clap allows only one of them to be set.
    pub fn new(json: bool, csv: bool) -> Form {
        match (json, csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text,
        }
    }
}
