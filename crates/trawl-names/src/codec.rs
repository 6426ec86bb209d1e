//! Blocks of bytes, packed and unpacked.

use std::io::Result;

/// How hard the compressor tries.
const LEVEL: i32 = 3;

/// Packs blocks.
pub(crate) struct Packer(zstd::bulk::Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> Result<Packer> {
        zstd::bulk::Compressor::new(LEVEL).map(Packer)
    }

    /// Appends `raw`, packed, to `out`.
    pub(crate) fn pack(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + zstd::zstd_safe::compress_bound(raw.len()), 0);
        let len = self.0.compress_to_buffer(raw, &mut out[start..])?;
        out.truncate(start + len);
        Ok(())
    }
}

/// Unpacks blocks.
pub(crate) struct Unpacker(zstd::bulk::Decompressor<'static>);

impl Unpacker {
    pub(crate) fn new() -> Result<Unpacker> {
        zstd::bulk::Decompressor::new().map(Unpacker)
    }

    /// Puts what was packed into `out`, which it replaces; false if it is
    /// not `len` bytes.
    pub(crate) fn unpack(&mut self, packed: &[u8], len: usize, out: &mut Vec<u8>) -> bool {
        out.resize(len, 0);
        let done = self.0.decompress_to_buffer(packed, &mut out[..]);
        done.is_ok_and(|done| done == len)
    }
}
