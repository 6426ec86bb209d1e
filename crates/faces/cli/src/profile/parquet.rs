//! Recordings as Parquet files: a row for each layer, slice, operation and bucket that holds
//! something, for databases and data frames.
//!
//! A histogram has counts besides its buckets, and a recording facts besides its histograms. So that
//! nothing is lost, the file's own metadata has the recording as JSON lines, under [`KEY`]; from it
//! the file is read.
//!
//! Source: <https://parquet.apache.org/docs/file-format/>.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use trawl_histogram::{Capture, INPUT_BYTES_MAX, Resolution};
use trawl_profile::Recording;

/// The first bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Key of the recording in the file's metadata.
const KEY: &str = "trawl.recording";

/// The columns. `slice` counts from 0, `from_ns` is the latency at which the bucket begins.
const SCHEMA: &str = "message profile {
    required binary layer (UTF8);
    required int32 slice;
    required binary operation (UTF8);
    required int32 bucket;
    required double from_ns;
    required int64 calls (INTEGER(64, false));
}";

/// Values of the columns.
#[derive(Default)]
struct Rows {
    layer: Vec<ByteArray>,
    slice: Vec<i32>,
    operation: Vec<ByteArray>,
    bucket: Vec<i32>,
    from_ns: Vec<f64>,
    calls: Vec<i64>,
}

/// Returns a recording as a Parquet file.
pub(super) fn write(recording: &Recording) -> Result<Vec<u8>, String> {
    let text = recording.to_json().map_err(|error| error.to_string())?;
    let mut rows = Rows::default();
    for capture in &recording.captures {
        rows.add(capture);
    }
    encode(&rows, text).map_err(|error| error.to_string())
}

fn encode(rows: &Rows, recording: String) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let metadata = KeyValue::new(KEY.to_owned(), recording);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![metadata]))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    column::<ByteArrayType>(&mut group, &rows.layer)?;
    column::<Int32Type>(&mut group, &rows.slice)?;
    column::<ByteArrayType>(&mut group, &rows.operation)?;
    column::<Int32Type>(&mut group, &rows.bucket)?;
    column::<DoubleType>(&mut group, &rows.from_ns)?;
    column::<Int64Type>(&mut group, &rows.calls)?;
    group.close()?;
    file.into_inner()
}

/// Writes the next column.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General(
            "there is no further column".to_owned(),
        ));
    };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

impl Rows {
    fn add(&mut self, capture: &Capture) {
        let whole = capture.profile.whole();
        let from_ns = |bucket: usize, resolution: Resolution| {
            let least = (bucket as f64 / f64::from(resolution.get())).exp2();
            whole.unit().seconds(least) * 1e9
        };
        let layer = ByteArray::from(whole.layer.as_str());
        for (number, slice) in (0..).zip(capture.profile.slices()) {
            for (name, buckets) in slice.operations() {
                let operation = ByteArray::from(name);
                let filled = buckets.iter().enumerate().filter(|(_, calls)| **calls > 0);
                for (bucket, calls) in filled {
                    self.layer.push(layer.clone());
                    self.slice.push(number);
                    self.operation.push(operation.clone());
                    // A histogram has at most 512 buckets.
                    self.bucket.push(bucket as i32);
                    self.from_ns.push(from_ns(bucket, whole.resolution()));
                    // The bits are those of an unsigned number, as the schema says.
                    self.calls.push(calls.cast_signed());
                }
            }
        }
    }
}

/// Reads a recording if the file is a Parquet file; `None` if it is another one.
pub(super) fn read(file: &mut File) -> Option<Result<Recording, String>> {
    use std::io::Read;
    let mut magic = [0; MAGIC.len()];
    let is_ours = file.read_exact(&mut magic).is_ok() && magic == MAGIC;
    if file.seek(SeekFrom::Start(0)).is_err() || !is_ours {
        return None;
    }
    Some(
        file.try_clone()
            .map_err(|error| error.to_string())
            .and_then(recording),
    )
}

fn recording(file: File) -> Result<Recording, String> {
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let metadata = reader.metadata().file_metadata();
    let mut values = metadata.key_value_metadata().into_iter().flatten();
    let found = values
        .find(|one| one.key == KEY)
        .and_then(|one| one.value.as_deref());
    let text = found.ok_or_else(|| format!("its metadata has no {KEY}"))?;
    match text.len() > INPUT_BYTES_MAX {
        true => Err("the recording in it is too large".to_owned()),
        false => Recording::read(text.as_bytes()).map_err(|error| error.to_string()),
    }
}
