//! Defines the Arrow schemas of a segment's tables and the Parquet properties that they are written
//! with.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::sync::{Arc, OnceLock};
use trawl_format::schema::{DICTIONARY_BYTES, FieldEncoding, FieldInfo, Table};
use trawl_model::column::ColumnType;

/// Returns a table's Arrow schema: Text is `Utf8`, Bytes is `Binary`, numbers are `UInt32`,
/// `UInt64` and `Int64`. Files contain no Arrow schema; Parquet's logical types give the same one.
pub fn arrow_schema(table: Table) -> SchemaRef {
    static SCHEMAS: OnceLock<[SchemaRef; 5]> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| Table::ALL.map(|t| arrow_schema_of(t.fields())));
    Arc::clone(&schemas[table as usize])
}

/// Returns the Parquet properties that a table is written with.
pub fn writer_properties(table: Table) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("trawl {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(table.row_group_rows()))
        .set_data_page_row_count_limit(table.page_rows())
        .set_write_batch_size(table.page_rows())
        .set_data_page_size_limit(4 << 20)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_column_index_truncate_length(Some(256))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false);
    for field in table.fields() {
        let path = || ColumnPath::from(field.name);
        if field.statistics {
            builder = builder.set_column_statistics_enabled(path(), EnabledStatistics::Page);
        }
        if field.encoding == FieldEncoding::Dictionary {
            builder = builder.set_column_dictionary_enabled(path(), true);
        }
        builder = builder.set_column_encoding(path(), parquet_encoding(field));
    }
    builder.build()
}

/// Returns the encoding of a column's data pages; for a dictionary column, that of the fallback.
fn parquet_encoding(field: &FieldInfo) -> Encoding {
    let is_number = !matches!(field.kind, ColumnType::Text | ColumnType::Bytes);
    match field.encoding {
        FieldEncoding::Dictionary if is_number => Encoding::PLAIN,
        FieldEncoding::Dictionary | FieldEncoding::Prefix => Encoding::DELTA_BYTE_ARRAY,
        FieldEncoding::Delta => Encoding::DELTA_BINARY_PACKED,
        FieldEncoding::Bytes => Encoding::DELTA_LENGTH_BYTE_ARRAY,
    }
}

fn arrow_type(field: &FieldInfo) -> DataType {
    match field.kind {
        ColumnType::Text => DataType::Utf8,
        ColumnType::Bytes => DataType::Binary,
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::I64 => DataType::Int64,
    }
}

fn arrow_schema_of(fields: &[FieldInfo]) -> SchemaRef {
    let fields = fields
        .iter()
        .map(|f| Field::new(f.name, arrow_type(f), f.nullable))
        .collect::<Vec<_>>();
    Arc::new(Schema::new(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_have_all_columns() {
        for table in Table::ALL {
            let columns = arrow_schema(table).fields().len();
            assert_eq!(columns, table.fields().len());
        }
    }
}
