//! Encodes pages: compression, checksum and Thrift header (Parquet's `PageHeader` in the compact
//! protocol).

use super::bits::push_zigzag;
use parquet::basic::Encoding;
use std::path::Path;
use trawl_format::error::{IndexError, Result};

const PAGE_DATA: i64 = 0;
const PAGE_DICTIONARY: i64 = 2;

const THRIFT_FALSE: u8 = 2;
const THRIFT_I32: u8 = 5;
const THRIFT_STRUCT: u8 = 12;
const THRIFT_STOP: u8 = 0;

/// zstd's fastest ordinary level.
const ZSTD_LEVEL: i32 = 1;

/// Compression of a column chunk's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    /// None.
    Uncompressed,
    /// One zstd frame per page.
    Zstd,
}

/// Type of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum PageKind {
    /// Values of a dictionary as `PLAIN`.
    Dictionary,
    /// Rows in an encoding.
    Data(Encoding),
}

/// Effort to make pages small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// No compression.
    None,
    /// zstd where it helps.
    Usual,
}

/// Compresses pages; one zstd context serves all of them.
pub(crate) struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    effort: Effort,
    buffer: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new(path: &Path) -> Result<Compressor> {
        let zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL)
            .map_err(|error| IndexError::io("compress for", path, error))?;
        Ok(Compressor {
            zstd,
            effort: Effort::Usual,
            buffer: Vec::new(),
        })
    }

    /// Sets the effort for pages compressed from now on.
    pub(crate) fn set_effort(&mut self, effort: Effort) {
        self.effort = effort;
    }

    pub(super) fn effort(&self) -> Effort {
        self.effort
    }

    /// Returns the compressed form of `bytes`, valid until the next call.
    pub(super) fn compress(&mut self, bytes: &[u8], path: &Path) -> Result<&[u8]> {
        let bound = zstd::zstd_safe::compress_bound(bytes.len());
        if self.buffer.len() < bound {
            self.buffer.resize(bound, 0);
        }
        let length = self
            .zstd
            .compress_to_buffer(bytes, &mut self.buffer[..])
            .map_err(|error| IndexError::io("compress for", path, error))?;
        Ok(self.buffer.get(..length).unwrap_or_default())
    }
}

/// Appends a page and returns the length of its header in bytes. `values` includes nulls.
pub(super) fn push_page(
    out: &mut Vec<u8>,
    kind: PageKind,
    values: usize,
    raw_bytes: usize,
    stored: &[u8],
) -> usize {
    let start = out.len();
    push_header(out, kind, values, raw_bytes, stored);
    let header_bytes = out.len() - start;
    out.extend_from_slice(stored);
    header_bytes
}

fn push_header(out: &mut Vec<u8>, kind: PageKind, values: usize, raw_bytes: usize, stored: &[u8]) {
    let code = match kind {
        PageKind::Dictionary => PAGE_DICTIONARY,
        PageKind::Data(_) => PAGE_DATA,
    };
    push_field(out, 1, code);
    push_field(out, 1, raw_bytes as i64);
    push_field(out, 1, stored.len() as i64);
    // The checksum is stored as the signed number with the same bits.
    push_field(out, 1, i64::from(crc32fast::hash(stored) as i32));
    match kind {
        PageKind::Data(encoding) => {
            // Field 5, after field 4.
            out.push(1 << 4 | THRIFT_STRUCT);
            push_field(out, 1, values as i64);
            push_field(out, 1, encoding_code(encoding));
            push_field(out, 1, encoding_code(Encoding::RLE));
            push_field(out, 1, encoding_code(Encoding::RLE));
        }
        PageKind::Dictionary => {
            // Field 7, after field 4.
            out.push(3 << 4 | THRIFT_STRUCT);
            push_field(out, 1, values as i64);
            push_field(out, 1, encoding_code(Encoding::PLAIN));
            // Field 3, is_sorted.
            out.push(1 << 4 | THRIFT_FALSE);
        }
    }
    out.push(THRIFT_STOP);
    out.push(THRIFT_STOP);
}

/// Appends an i32 field whose id is `step` above the previous field's.
fn push_field(out: &mut Vec<u8>, step: u8, value: i64) {
    out.push(step << 4 | THRIFT_I32);
    push_zigzag(out, value);
}

/// Returns the code in Parquet's `Encoding` enumeration.
fn encoding_code(encoding: Encoding) -> i64 {
    match encoding {
        Encoding::RLE => 3,
        Encoding::DELTA_BINARY_PACKED => 5,
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 6,
        Encoding::DELTA_BYTE_ARRAY => 7,
        Encoding::RLE_DICTIONARY => 8,
        _ => 0,
    }
}
