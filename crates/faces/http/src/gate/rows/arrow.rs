//! Numbers of rows in the messages of an Arrow IPC stream, without what the messages contain.
//!
//! Source: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>,
//! <https://flatbuffers.dev/internals/>

/// What begins each message.
const BEGINS: u32 = 0xffff_ffff;
/// Bytes before a message's metadata: what begins it, and the length of the metadata.
const PREFIX_BYTES: usize = 8;
/// Most bytes of metadata that are kept.
const METADATA_BYTES: usize = 1 << 20;

/// Number of a record batch among the headers of messages.
const RECORD_BATCH: u8 = 3;

/// A stream whose rows are counted.
#[derive(Debug, Default)]
pub(super) struct Stream {
    rows: u64,
    /// The beginning of a message: its prefix and metadata, or a part of them.
    head: Vec<u8>,
    /// Bytes of a message's body that are still to come.
    body: u64,
    /// Whether it is something else.
    is_lost: bool,
}

impl Stream {
    /// Looks at the next bytes.
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_lost {
            if self.body > 0 {
                let skipped = bytes
                    .len()
                    .min(usize::try_from(self.body).unwrap_or(usize::MAX));
                self.body -= skipped as u64;
                bytes = bytes.get(skipped..).unwrap_or_default();
                continue;
            }
            let missing = self.head_bytes().map(|whole| whole - self.head.len());
            let (head, rest) = bytes.split_at(missing.unwrap_or(0).min(bytes.len()));
            self.head.extend_from_slice(head);
            bytes = rest;
            // Once the prefix is complete, it says how much metadata follows.
            match self.head_bytes() {
                None => self.is_lost = true,
                Some(whole) if self.head.len() == whole => self.is_lost = self.message().is_none(),
                Some(_) => {}
            }
        }
    }

    /// Returns the number of rows so far; `None` if this is no Arrow stream.
    pub(super) fn rows(&self) -> Option<u64> {
        (!self.is_lost).then_some(self.rows)
    }

    /// Returns the length of the message's prefix and metadata, as far as it is known; `None` if it is
    /// invalid.
    fn head_bytes(&self) -> Option<usize> {
        let (Some(begins), Some(length)) = (u32_at(&self.head, 0), u32_at(&self.head, 4)) else {
            return Some(PREFIX_BYTES);
        };
        let length = usize::try_from(length).ok()?;
        (begins == BEGINS && length <= METADATA_BYTES).then_some(PREFIX_BYTES + length)
    }

    /// Counts the rows of the message whose metadata is there; `None` if it is invalid.
    fn message(&mut self) -> Option<()> {
        let metadata = self.head.get(PREFIX_BYTES..)?;
        // The end of the stream has none.
        if !metadata.is_empty() {
            let message = Table::root(metadata)?;
            if message.field(1).and_then(|at| metadata.get(at)) == Some(&RECORD_BATCH) {
                let batch = message.table(2)?;
                let rows = batch.field(0).map_or(Some(0), |at| u64_at(metadata, at))?;
                self.rows = self.rows.checked_add(rows)?;
            }
            self.body = message
                .field(3)
                .map_or(Some(0), |at| u64_at(metadata, at))?;
        }
        self.head.clear();
        Some(())
    }
}

/// A table of FlatBuffers: fields at offsets that a table of offsets has.
#[derive(Clone, Copy)]
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    offsets: usize,
}

impl<'a> Table<'a> {
    fn root(bytes: &'a [u8]) -> Option<Table<'a>> {
        Table::at(bytes, usize::try_from(u32_at(bytes, 0)?).ok()?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Option<Table<'a>> {
        let back = u32_at(bytes, at)?.cast_signed();
        let offsets = at.checked_add_signed(isize::try_from(back).ok()?.checked_neg()?)?;
        Some(Table { bytes, at, offsets })
    }

    /// Returns where a field is; `None` if it is absent.
    fn field(self, number: usize) -> Option<usize> {
        let size = usize::from(u16_at(self.bytes, self.offsets)?);
        let entry = 4 + 2 * number;
        if entry + 2 > size {
            return None;
        }
        let offset = u16_at(self.bytes, self.offsets.checked_add(entry)?)?;
        (offset != 0).then_some(self.at + usize::from(offset))
    }

    /// Returns the table that a field refers to.
    fn table(self, number: usize) -> Option<Table<'a>> {
        let at = self.field(number)?;
        let offset = usize::try_from(u32_at(self.bytes, at)?).ok()?;
        Table::at(self.bytes, at.checked_add(offset)?)
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

/// Returns a number that must not be negative.
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let number = array_at(bytes, at).map(i64::from_le_bytes)?;
    u64::try_from(number).ok()
}
