//! The bytes of a file that a request is about.

use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub offset: u64,
    /// Maximum number of bytes.
    pub length: u32,
    /// The file.
    pub path: Vec<u8>,
}

impl ByteRange {
    pub(super) fn write(&self, out: &mut Fields) {
        out.u64(self.offset).u32(self.length).bytes(&self.path);
    }

    pub(super) fn read(body: &mut Reader<'_>) -> Result<ByteRange, BadFrame> {
        Ok(ByteRange {
            offset: body.u64("offset")?,
            length: body.u32("length")?,
            path: body.bytes("path")?.to_vec(),
        })
    }
}

#[cfg(test)]
impl ByteRange {
    pub(super) fn example() -> ByteRange {
        ByteRange {
            offset: 0x0102_0304_0506_0708,
            length: 0x1122_3344,
            path: b"/srv/x".to_vec(),
        }
    }

    pub(super) fn any() -> proptest::strategy::BoxedStrategy<ByteRange> {
        use proptest::prelude::*;
        let range = |(offset, length, path)| ByteRange {
            offset,
            length,
            path,
        };
        (any::<u64>(), any::<u32>(), super::tests::bytes())
            .prop_map(range)
            .boxed()
    }
}
