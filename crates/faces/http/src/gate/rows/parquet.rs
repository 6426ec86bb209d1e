//! The number of rows in the footer of a Parquet file, which is its end.
//!
//! The footer is a structure of Thrift's compact protocol, whose third field is the number; the fields
//! before it are skipped.
//!
//! Source: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>,
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

/// What a file ends with.
const ENDS: &[u8] = b"PAR1";
/// Bytes behind the footer: its length, and what the file ends with.
const TAIL_BYTES: usize = 8;
/// Most bytes of a file's end that are kept. A footer has about 100 for each column of each 262,144
/// rows.
const KEPT_BYTES: usize = 1 << 20;

/// Number of the field with the number of rows.
const ROWS: i16 = 3;
/// Most structures within each other.
const DEPTH: u32 = 16;

/// A file whose rows are counted.
#[derive(Debug, Default)]
pub(super) struct File {
    rows: Option<u64>,
    /// The last bytes.
    kept: Vec<u8>,
}

impl File {
    /// Looks at the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 2 * KEPT_BYTES {
            self.kept.drain(..self.kept.len() - KEPT_BYTES);
        }
        // Nobody says before the end that it is the end.
        self.rows = match self.kept.ends_with(ENDS) {
            true => footer(&self.kept).and_then(rows),
            false => None,
        };
    }

    /// Returns the number of rows; `None` if the file has not ended.
    pub(super) fn rows(&self) -> Option<u64> {
        self.rows
    }
}

fn footer(file: &[u8]) -> Option<&[u8]> {
    let end = file.len().checked_sub(TAIL_BYTES)?;
    let length = u32::from_le_bytes(*file.get(end..)?.first_chunk()?);
    let begin = end.checked_sub(usize::try_from(length).ok()?)?;
    file.get(begin..end)
}

fn rows(footer: &[u8]) -> Option<u64> {
    let mut reader = Reader(footer);
    let mut number = 0;
    loop {
        let kind = reader.field(&mut number)?;
        match kind {
            Kind::Number if number == ROWS => {
                let coded = reader.number()?;
                // Even numbers stand for those that are not negative.
                return (coded % 2 == 0).then_some(coded / 2);
            }
            Kind::End => return None,
            kind => reader.skip(kind, DEPTH)?,
        }
    }
}

/// A kind of value.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The end of a structure.
    End,
    /// Nothing: the kind of a field is the value.
    Boolean,
    /// A byte.
    Byte,
    /// A number of variable length.
    Number,
    /// Eight bytes.
    Double,
    /// Bytes, after their number.
    Bytes,
    /// Values, after their number and kind.
    List,
    /// Pairs of values, after their number and kinds.
    Map,
    /// Fields.
    Structure,
}

impl Kind {
    fn of(code: u8) -> Option<Kind> {
        Some(match code {
            0 => Kind::End,
            1 | 2 => Kind::Boolean,
            3 => Kind::Byte,
            4..=6 => Kind::Number,
            7 => Kind::Double,
            8 => Kind::Bytes,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Structure,
            _ => return None,
        })
    }

    /// Returns the kind of an element, whose value is always there.
    fn of_element(code: u8) -> Option<Kind> {
        match Kind::of(code)? {
            Kind::End => None,
            Kind::Boolean => Some(Kind::Byte),
            kind => Some(kind),
        }
    }
}

/// The bytes of a structure that have not been read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn pass(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Reads the head of a field, whose number follows from the one before.
    fn field(&mut self, number: &mut i16) -> Option<Kind> {
        let head = self.byte()?;
        *number = match head >> 4 {
            0 if head != 0 => {
                let coded = i64::try_from(self.number()?).ok()?;
                i16::try_from((coded >> 1) ^ -(coded & 1)).ok()?
            }
            step => number.checked_add(i16::from(step))?,
        };
        Kind::of(head & 0xf)
    }

    /// Skips a value. Each element of a list has at least a byte, so this ends with the bytes.
    fn skip(&mut self, kind: Kind, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            Kind::End | Kind::Boolean => Some(()),
            Kind::Byte => self.pass(1),
            Kind::Number => self.number().map(drop),
            Kind::Double => self.pass(8),
            Kind::Bytes => {
                let length = self.length()?;
                self.pass(length)
            }
            Kind::List => {
                let head = self.byte()?;
                let length = match head >> 4 {
                    15 => self.length()?,
                    length => usize::from(length),
                };
                let element = Kind::of_element(head & 0xf)?;
                (0..length).try_for_each(|_| self.skip(element, depth))
            }
            Kind::Map => {
                let length = self.length()?;
                if length == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                let (key, value) = (
                    Kind::of_element(kinds >> 4)?,
                    Kind::of_element(kinds & 0xf)?,
                );
                (0..length).try_for_each(|_| {
                    self.skip(key, depth)?;
                    self.skip(value, depth)
                })
            }
            Kind::Structure => {
                let mut number = 0;
                loop {
                    match self.field(&mut number)? {
                        Kind::End => return Some(()),
                        kind => self.skip(kind, depth)?,
                    }
                }
            }
        }
    }
}
