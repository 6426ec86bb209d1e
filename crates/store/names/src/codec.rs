//! Compresses and decompresses blocks of bytes with zstd.

use std::cell::RefCell;
use std::io::Result;

use zstd::bulk::Decompressor;

/// The zstd compression level.
const LEVEL: i32 = 3;

/// A compressor for blocks.
pub(crate) struct Packer(zstd::bulk::Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> Result<Packer> {
        zstd::bulk::Compressor::new(LEVEL).map(Packer)
    }

    /// Compresses `raw` and appends it to `out`.
    pub(crate) fn pack(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + zstd::zstd_safe::compress_bound(raw.len()), 0);
        let len = self.0.compress_to_buffer(raw, &mut out[start..])?;
        out.truncate(start + len);
        Ok(())
    }
}

thread_local! {
    /// Kept per thread: creating a decompressor costs more than decompressing
    /// most blocks, and a query over many sidecars would create several for
    /// each.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses a block into `out`, replacing its contents. Returns false if
/// the block is invalid or its length is not `len` bytes.
pub(crate) fn unpack(packed: &[u8], len: usize, out: &mut Vec<u8>) -> bool {
    out.resize(len, 0);
    DECOMPRESSOR.with_borrow_mut(|known| {
        let decompressor = match known {
            Some(decompressor) => decompressor,
            None => match Decompressor::new() {
                Ok(new) => known.insert(new),
                Err(_) => return false,
            },
        };
        let done = decompressor.decompress_to_buffer(packed, &mut out[..]);
        done.is_ok_and(|done| done == len)
    })
}
