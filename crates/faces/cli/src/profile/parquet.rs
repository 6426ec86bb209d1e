//! Recordings as Parquet files: a row for each layer, slice, operation and bucket that holds
//! something, for databases and data frames.
//!
//! A histogram has counts besides its buckets, and a recording facts besides its histograms. So that
//! nothing is lost, the file's own metadata has the recording as JSON lines, under [`KEY`]. The
//! columns are what is read, though: another program may have rewritten the file ([`columns`]).
//!
//! Source: <https://parquet.apache.org/docs/file-format/>.

mod columns;
mod rebuilt;

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use trawl_histogram::{Capture, INPUT_BYTES_MAX, Resolution, Unit};
use trawl_profile::Recording;

/// The first bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Key of the recording in the file's metadata.
const KEY: &str = "trawl.recording";

/// Nanoseconds in a second.
const NANOSECONDS: u64 = 1_000_000_000;

/// The columns. `slice` counts from 0, `from_ns` is the latency at which the bucket begins; the last
/// three are the same in all rows of a layer. A slice of unknown length has the length 0.
const SCHEMA: &str = "message profile {
    required binary layer (UTF8);
    required int32 slice;
    required binary operation (UTF8);
    required int32 bucket;
    required double from_ns;
    required int64 calls (INTEGER(64, false));
    required int32 resolution;
    required int64 units_per_second (INTEGER(64, false));
    required int64 slice_ns (INTEGER(64, false));
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
    resolution: Vec<i32>,
    units_per_second: Vec<i64>,
    slice_ns: Vec<i64>,
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
    column::<Int32Type>(&mut group, &rows.resolution)?;
    column::<Int64Type>(&mut group, &rows.units_per_second)?;
    column::<Int64Type>(&mut group, &rows.slice_ns)?;
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
        let units_per_second = match whole.unit() {
            Unit::Cycles { frequency_hz } => frequency_hz.get(),
            Unit::Nanoseconds => NANOSECONDS,
        };
        let slice_ns = capture.profile.interval_ns().unwrap_or(0);
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
                    self.resolution.push(whole.resolution().get().into());
                    self.units_per_second.push(units_per_second.cast_signed());
                    self.slice_ns.push(slice_ns.cast_signed());
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
    let read = file.try_clone().map_err(|error| error.to_string());
    // The crate parquet ends the thread at some damaged pages.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let read = std::panic::catch_unwind(|| read.and_then(recording));
    std::panic::set_hook(told);
    Some(read.unwrap_or_else(|_| Err("a page of it is damaged".to_owned())))
}

/// Reads the columns, and from the metadata what they do not contain.
fn recording<R: ChunkReader + 'static>(file: R) -> Result<Recording, String> {
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let metadata = reader.metadata().file_metadata();
    let mut values = metadata.key_value_metadata().into_iter().flatten();
    let found = values
        .find(|one| one.key == KEY)
        .and_then(|one| one.value.as_deref());
    let described = match found {
        Some(text) if text.len() > INPUT_BYTES_MAX => {
            return Err("the recording in it is too large".to_owned());
        }
        Some(text) => Some(Recording::read(text.as_bytes()).map_err(|error| error.to_string())?),
        None => None,
    };
    rebuilt::recording(&columns::read(&reader)?, described)
}
