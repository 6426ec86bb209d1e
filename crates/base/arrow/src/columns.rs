//! Columns: the Arrow schema of a report, and arrays of its values.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, ListArray, MapArray, StructArray, TimestampNanosecondArray,
    UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use trawl_model::Timestamp;
use trawl_report::Field;
use trawl_report::schema::Kind;

use crate::cell::Cell;

/// Name of the elements of lists, as the Arrow specification suggests.
const ELEMENT: &str = "item";
const UTC: &str = "UTC";

/// Returns the schema of a report with these fields.
pub(crate) fn schema(fields: &[Field]) -> SchemaRef {
    Arc::new(Schema::new(columns(fields)))
}

fn columns(fields: &[Field]) -> Fields {
    let wanted = fields.iter().filter(|field| field.forms.json);
    wanted.map(column).collect::<Vec<_>>().into()
}

fn column(field: &Field) -> FieldRef {
    let about = [("description", field.meaning), ("unit", field.unit)];
    let about = about.iter().filter(|(_, text)| !text.is_empty());
    let about = about.map(|(key, text)| (String::from(*key), String::from(*text)));
    let column = ArrowField::new(field.name, kind(field), true);
    Arc::new(column.with_metadata(about.collect::<HashMap<_, _>>()))
}

fn kind(field: &Field) -> DataType {
    let list = |of: DataType| DataType::List(Arc::new(ArrowField::new(ELEMENT, of, true)));
    match field.kind {
        Kind::Text => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
        Kind::Integer if field.is_wide => DataType::UInt64,
        Kind::Integer => DataType::Int64,
        Kind::Flag => DataType::Boolean,
        Kind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        Kind::Texts => list(DataType::Utf8),
        Kind::Integers => list(DataType::Int64),
        Kind::Object(fields) => DataType::Struct(columns(fields)),
        Kind::Objects(fields) => list(DataType::Struct(columns(fields))),
        Kind::Options => DataType::Map(entries(), false),
    }
}

/// Returns the field of a map's entries.
fn entries() -> FieldRef {
    Arc::new(ArrowField::new(
        "entries",
        DataType::Struct(entry_fields()),
        false,
    ))
}

fn entry_fields() -> Fields {
    vec![
        ArrowField::new("key", DataType::Utf8, false),
        ArrowField::new("value", DataType::Utf8, true),
    ]
    .into()
}

/// Returns an array for each field from the parts of rows; `None` is a row that is null.
pub(crate) fn arrays(fields: &[Field], rows: &[Option<&[Cell]>]) -> io::Result<Vec<ArrayRef>> {
    let wanted = fields.iter().filter(|field| field.forms.json);
    let one = |(at, field): (usize, &Field)| {
        let cells: Vec<&Cell> = rows
            .iter()
            .map(|row| row.and_then(|row| row.get(at)).unwrap_or(&Cell::Null))
            .collect();
        array(field, &cells)
    };
    wanted.enumerate().map(one).collect()
}

fn array(field: &Field, cells: &[&Cell]) -> io::Result<ArrayRef> {
    Ok(match field.kind {
        Kind::Text => texts(cells),
        Kind::Bytes => bytes(cells),
        Kind::Integer if field.is_wide => {
            let numbers = cells.iter().map(|cell| whole(field, cell));
            Arc::new(numbers.collect::<io::Result<UInt64Array>>()?)
        }
        Kind::Integer => integers(field, cells)?,
        Kind::Flag => Arc::new(BooleanArray::from_iter(cells.iter().map(
            |cell| match cell {
                Cell::Flag(flag) => Some(*flag),
                _ => None,
            },
        ))),
        Kind::Time => times(cells),
        Kind::Texts => list(DataType::Utf8, cells, |cells| Ok(texts(cells)))?,
        Kind::Integers => list(DataType::Int64, cells, |cells| integers(field, cells))?,
        Kind::Object(fields) => object(fields, cells)?,
        Kind::Objects(fields) => list(DataType::Struct(columns(fields)), cells, |cells| {
            object(fields, cells)
        })?,
        Kind::Options => map(cells)?,
    })
}

fn texts(cells: &[&Cell]) -> ArrayRef {
    let mut texts = StringBuilder::new();
    for cell in cells {
        match cell {
            Cell::Text(text) => texts.append_value(text),
            _ => texts.append_null(),
        }
    }
    Arc::new(texts.finish())
}

fn bytes(cells: &[&Cell]) -> ArrayRef {
    let mut bytes = BinaryBuilder::new();
    for cell in cells {
        match cell {
            Cell::Bytes(value) => bytes.append_value(value),
            _ => bytes.append_null(),
        }
    }
    Arc::new(bytes.finish())
}

fn integers(field: &Field, cells: &[&Cell]) -> io::Result<ArrayRef> {
    let numbers = cells.iter().map(|cell| whole(field, cell));
    Ok(Arc::new(numbers.collect::<io::Result<Int64Array>>()?))
}

/// Returns a number in the type of its column.
fn whole<N: TryFrom<i128>>(field: &Field, cell: &Cell) -> io::Result<Option<N>> {
    let Cell::Integer(number) = cell else {
        return Ok(None);
    };
    N::try_from(*number).map(Some).map_err(|_| {
        let text = format!(
            "{} is {number}, which needs more than 64 bits: use --json",
            field.name
        );
        io::Error::other(text)
    })
}

/// Returns times; those that nanoseconds in 64 bits cannot express (before 1677, after 2262) are
/// null.
fn times(cells: &[&Cell]) -> ArrayRef {
    let times = cells.iter().map(|cell| match cell {
        Cell::Time(time) => nanoseconds(*time),
        _ => None,
    });
    Arc::new(TimestampNanosecondArray::from_iter(times).with_timezone(UTC))
}

fn nanoseconds(time: Timestamp) -> Option<i64> {
    let whole = i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
    i64::try_from(whole).ok()
}

fn list(
    of: DataType,
    cells: &[&Cell],
    elements: impl FnOnce(&[&Cell]) -> io::Result<ArrayRef>,
) -> io::Result<ArrayRef> {
    let (lengths, all, nulls) = flattened(cells);
    let field = Arc::new(ArrowField::new(ELEMENT, of, true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let list = ListArray::try_new(field, offsets, elements(&all)?, Some(nulls));
    Ok(Arc::new(list.map_err(crate::failed)?))
}

fn object(fields: &[Field], cells: &[&Cell]) -> io::Result<ArrayRef> {
    let rows: Vec<Option<&[Cell]>> = cells.iter().map(|cell| cell.parts()).collect();
    let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
    let arrays = arrays(fields, &rows)?;
    let made = StructArray::try_new_with_length(columns(fields), arrays, Some(nulls), cells.len());
    Ok(Arc::new(made.map_err(crate::failed)?))
}

fn map(cells: &[&Cell]) -> io::Result<ArrayRef> {
    let (lengths, all, nulls) = flattened(cells);
    let part = |at: usize| {
        let parts = all
            .iter()
            .map(|cell| cell.parts().and_then(|parts| parts.get(at)));
        let parts: Vec<&Cell> = parts.map(|part| part.unwrap_or(&Cell::Null)).collect();
        texts(&parts)
    };
    let members = StructArray::try_new(entry_fields(), vec![part(0), part(1)], None);
    let members = members.map_err(crate::failed)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    let map = MapArray::try_new(entries(), offsets, members, Some(nulls), false);
    Ok(Arc::new(map.map_err(crate::failed)?))
}

/// Returns the lengths of lists, all their elements, and which of them are not null.
fn flattened<'c>(cells: &[&'c Cell]) -> (Vec<usize>, Vec<&'c Cell>, NullBuffer) {
    let lists = || cells.iter().map(|cell| cell.parts());
    (
        lists().map(|list| list.map_or(0, <[Cell]>::len)).collect(),
        lists().flatten().flatten().collect(),
        NullBuffer::from_iter(lists().map(|list| list.is_some())),
    )
}
