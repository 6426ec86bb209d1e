//! Encodes and decodes numbers, and bytes with their length.

use super::BadFrame;

/// Encodes a body.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) Vec<u8>);

impl Fields {
    pub(crate) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u16(&mut self, number: u16) -> &mut Self {
        self.put(&number.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, number: u32) -> &mut Self {
        self.put(&number.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, number: u64) -> &mut Self {
        self.put(&number.to_le_bytes())
    }

    /// Bytes that exceed the maximum length of a frame are detected when the frame is sent.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.put(bytes)
    }

    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Encodes the number of items, and the items.
    pub(crate) fn list(&mut self, items: &[Vec<u8>]) -> &mut Self {
        self.count(items.len());
        for item in items {
            self.bytes(item);
        }
        self
    }
}

/// Decodes a body.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { rest: body }
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], BadFrame> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(BadFrame::Field(what))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, BadFrame> {
        self.take(what).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, BadFrame> {
        self.take(what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, BadFrame> {
        self.take(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, BadFrame> {
        self.take(what).map(u64::from_le_bytes)
    }

    /// Expects exactly these bytes.
    pub(crate) fn exactly(&mut self, bytes: &[u8], what: &'static str) -> Result<(), BadFrame> {
        self.rest = self.rest.strip_prefix(bytes).ok_or(BadFrame::Field(what))?;
        Ok(())
    }

    pub(crate) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], BadFrame> {
        let length = self.u32(what)? as usize;
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(BadFrame::Field(what))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Returns the number of items that follow, each of at least `bytes_each` bytes; fails if the
    /// body is too short for them.
    pub(crate) fn count(
        &mut self,
        bytes_each: usize,
        what: &'static str,
    ) -> Result<usize, BadFrame> {
        let count = self.u32(what)? as usize;
        match count <= self.rest.len() / bytes_each {
            true => Ok(count),
            false => Err(BadFrame::Field(what)),
        }
    }

    /// Decodes what [`Fields::list`] encodes.
    pub(crate) fn list(
        &mut self,
        number: &'static str,
        item: &'static str,
    ) -> Result<Vec<Vec<u8>>, BadFrame> {
        let count = self.count(4, number)?;
        let items = (0..count).map(|_| Ok(self.bytes(item)?.to_vec()));
        items.collect()
    }

    /// Takes all bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Returns the number of bytes not yet read.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn end(self) -> Result<(), BadFrame> {
        match self.rest {
            [] => Ok(()),
            _ => Err(BadFrame::Field("end")),
        }
    }
}
