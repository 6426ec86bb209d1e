//! Formats values as text.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Format of times, always with nine digits: `docs/json.md`.
pub(super) const UTC_TIME: &str = "%Y-%m-%dT%H:%M:%S%.9fZ";
/// Format of times without a zone.
pub(super) const TIME: &str = "%Y-%m-%dT%H:%M:%S%.9f";

/// Calls `visit` with each row's values as text; `None` stands for null.
pub(super) fn for_each_row<E: From<ArrowError>>(
    batch: &RecordBatch,
    mut visit: impl FnMut(&[Option<String>]) -> Result<(), E>,
) -> Result<(), E> {
    let options = FormatOptions::default()
        .with_timestamp_tz_format(Some(UTC_TIME))
        .with_timestamp_format(Some(TIME));
    let columns = batch.columns();
    let formatters: Result<Vec<ArrayFormatter<'_>>, ArrowError> = columns
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect();
    let formatters = formatters?;
    let mut row: Vec<Option<String>> = Vec::with_capacity(columns.len());
    for at in 0..batch.num_rows() {
        row.clear();
        for (column, formatter) in columns.iter().zip(&formatters) {
            row.push(match column.is_null(at) {
                true => None,
                false => Some(formatter.value(at).try_to_string()?),
            });
        }
        visit(&row)?;
    }
    Ok(())
}

/// Escapes control characters as `\n` or `\u{1b}`, so that no name moves a terminal's cursor or
/// breaks a line.
pub(super) fn without_controls(text: &str) -> String {
    let is_plain = |c: char| !is_control(c);
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_control(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// Returns true for characters that a terminal acts on: controls, and marks that change the
/// direction of text.
pub(super) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped_and_letters_are_not() {
        assert_eq!(
            without_controls("a\x1b[m\nü\u{9b}"),
            "a\\u{1b}[m\\nü\\u{9b}"
        );
        assert_eq!(without_controls("\u{202e}x"), "\\u{202e}x");
    }
}
