//! Output sinks, and the formats that libraries write.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::error::DataFusionError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use trawl_cli::export::Sent;

use super::Reader;
use crate::error::{Result, SqlError};

const BUFFER_BYTES: usize = 256 << 10;

/// An open output.
pub(crate) struct Sink {
    to: To,
    written: u64,
}

enum To {
    Stdout(BufWriter<io::Stdout>),
    File(Box<NewFile>),
    /// A client on another machine.
    Client(Sent),
}

/// A file that gets its name when it is complete.
struct NewFile {
    file: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
    is_complete: bool,
}

impl Sink {
    /// Opens standard output.
    pub(crate) fn stdout() -> Sink {
        let stdout = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        Sink {
            to: To::Stdout(stdout),
            written: 0,
        }
    }

    /// Sends a file to a client on another machine.
    pub(crate) fn client(file: Sent) -> Sink {
        Sink {
            to: To::Client(file),
            written: 0,
        }
    }

    /// Creates a new file.
    pub(crate) fn file(path: &Path) -> Result<Sink> {
        let failed = |source| SqlError::File {
            action: "write",
            path: path.to_owned(),
            source,
        };
        if path.symlink_metadata().is_ok() {
            return Err(SqlError::IsThere(path.to_owned()));
        }
        let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
        name.push(".part");
        let part = path.with_file_name(name);
        let mut options = File::options();
        // File names and sizes are private to the owner.
        let file = options.write(true).create_new(true).mode(0o600).open(&part);
        let file = BufWriter::with_capacity(BUFFER_BYTES, file.map_err(failed)?);
        Ok(Sink {
            to: To::File(Box::new(NewFile {
                file,
                part,
                path: path.to_owned(),
                is_complete: false,
            })),
            written: 0,
        })
    }

    /// Returns the kind of reader.
    pub(super) fn reader(&self) -> Reader {
        match &self.to {
            To::Stdout(_) if io::stdout().is_terminal() => Reader::Terminal,
            _ => Reader::Program,
        }
    }

    /// Writes bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let done = self.write_all(bytes);
        done.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> SqlError {
        match &self.to {
            To::Stdout(_) | To::Client(_) => SqlError::Write(source),
            To::File(new) => SqlError::File {
                action: "write",
                path: new.path.clone(),
                source,
            },
        }
    }

    /// Writes buffered bytes; gives a file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        let done = self.complete();
        done.map_err(|error| self.failed(error))
    }

    fn complete(&mut self) -> io::Result<()> {
        self.flush()?;
        let new = match &mut self.to {
            To::Stdout(_) => return Ok(()),
            To::Client(file) => return file.finish(),
            To::File(new) => new,
        };
        new.file.get_ref().sync_all()?;
        // Unlike a rename, a link does not replace a file that has been created meanwhile.
        std::fs::hard_link(&new.part, &new.path)?;
        std::fs::remove_file(&new.part)?;
        new.is_complete = true;
        let above = new.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(above.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::Stdout(out) => out.write(bytes),
            To::File(new) => new.file.write(bytes),
            To::Client(file) => file.write(bytes),
        }?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(out) => out.flush(),
            To::File(new) => new.file.flush(),
            To::Client(file) => file.flush(),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Rows per row group.
const GROUP_ROWS: usize = 256 << 10;

/// A Parquet file.
pub(super) struct Parquet {
    writer: ArrowWriter<Sink>,
}

impl Parquet {
    pub(super) fn new(schema: &SchemaRef, sink: Sink) -> Result<Parquet> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        // Plain Parquet types: not every reader knows Arrow's view types.
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(sink, schema.clone(), options);
        Ok(Parquet {
            writer: writer.map_err(parquet_error)?,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(parquet_error)
    }

    pub(super) fn finish(self) -> Result<Sink> {
        self.writer.into_inner().map_err(parquet_error)
    }
}

fn parquet_error(error: ParquetError) -> SqlError {
    SqlError::Engine(DataFusionError::External(Box::new(error)))
}

/// An Arrow IPC file.
pub(super) struct Arrow {
    writer: FileWriter<Sink>,
}

impl Arrow {
    pub(super) fn new(schema: &SchemaRef, sink: Sink) -> Result<Arrow> {
        let writer = FileWriter::try_new(sink, schema).map_err(arrow_error)?;
        Ok(Arrow { writer })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(arrow_error)
    }

    pub(super) fn finish(self) -> Result<Sink> {
        self.writer.into_inner().map_err(arrow_error)
    }
}

/// An Arrow IPC stream.
pub(super) struct Stream {
    writer: StreamWriter<Sink>,
}

impl Stream {
    pub(super) fn new(schema: &SchemaRef, sink: Sink) -> Result<Stream> {
        let writer = StreamWriter::try_new(sink, schema).map_err(arrow_error)?;
        Ok(Stream { writer })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(arrow_error)
    }

    /// Writes the end mark.
    pub(super) fn finish(self) -> Result<Sink> {
        self.writer.into_inner().map_err(arrow_error)
    }
}

/// Converts an error of the formatting libraries.
pub(super) fn arrow_error(error: ArrowError) -> SqlError {
    match error {
        ArrowError::IoError(_, cause) => SqlError::Write(cause),
        error => SqlError::Engine(error.into()),
    }
}
