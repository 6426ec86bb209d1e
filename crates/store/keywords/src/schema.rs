//! The fields of a pack's postings.

use tantivy::index::IndexSettings;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;

use crate::words::WordTokenizer;

const TOKENIZER: &str = "words";

/// The words of the text, with positions.
pub(crate) fn text() -> Field {
    Field::from_field_id(0)
}

/// Names and values of attributes, as [`crate::attribute`] encodes them.
pub(crate) fn attributes() -> Field {
    Field::from_field_id(1)
}

/// Returns the schema: nothing but postings.
pub(crate) fn schema() -> Schema {
    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
    schema.add_bytes_field("attributes", BytesOptions::default().set_indexed());
    schema.build()
}

/// Returns the settings: nothing is compressed, since nothing is stored.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: tantivy::store::Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Returns the tokenizers that the schema names.
pub(crate) fn tokenizers() -> TokenizerManager {
    let all = TokenizerManager::default();
    all.register(TOKENIZER, WordTokenizer::default());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_numbers_that_are_used() {
        let schema = schema();
        assert_eq!(schema.get_field("text").ok(), Some(text()));
        assert_eq!(schema.get_field("attributes").ok(), Some(attributes()));
    }
}
