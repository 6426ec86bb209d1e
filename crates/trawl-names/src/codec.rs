//! Blocks of bytes, packed and unpacked.

use std::cell::RefCell;
use std::io::Result;

use zstd::bulk::Decompressor;

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

thread_local! {
    /// Making one costs more than what most blocks hold, and a question that
    /// goes through many sidecars would make several for each.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Unpacks a block into `out`, which it replaces; false if it is not `len`
/// bytes.
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
