//! What a command prints whose rows somebody merges with those of other servers: rows with keys
//! instead of text. It is the standard output of the command, so it comes in pieces of any size.
//!
//! A piece is a length (4 bytes: of the bytes that follow), a kind (1), and a body; the numbers and
//! lists in it are encoded as in messages.
//!
//! | kind | body |
//! |---|---|
//! | 1 beginning | maximum number of rows of the merged answer (8; 2^64 - 1 means no maximum), number of fields (4), the fields (bytes) |
//! | 2 row | key (bytes), number of fields (4), the fields (bytes) |
//!
//! The rows of a server come in the order of their keys, which are compared byte by byte. The command
//! decides what its fields mean.
//!
//! Invariants: bytes are untrusted. No length is believed before that many bytes are there, none is
//! longer than [`PIECE_MAX_BYTES`], and exactly the bytes that [`Piece::encode`] writes are accepted.

use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Maximum length of a piece after its length field. The longest row is an entry with all that find
/// can print of it.
pub const PIECE_MAX_BYTES: usize = 64 << 20;

/// A part of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// What precedes the rows; a command that fails has none.
    Beginning(Beginning),
    /// A row.
    Row(Row),
}

/// What precedes the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Maximum number of rows of the merged answer; `u64::MAX` means no maximum.
    pub limit: u64,
    /// What the command says about its rows together.
    pub fields: Vec<Vec<u8>>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its position: rows are merged by the bytes of their keys.
    pub key: Vec<u8>,
    /// What it says.
    pub fields: Vec<Vec<u8>>,
}

const BEGINNING: u8 = 1;
const ROW: u8 = 2;

impl Piece {
    /// Returns the bytes of the piece.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Fields(vec![0; 4]);
        match self {
            Piece::Beginning(Beginning { limit, fields }) => {
                out.put(&[BEGINNING]).u64(*limit).list(fields)
            }
            Piece::Row(Row { key, fields }) => out.put(&[ROW]).bytes(key).list(fields),
        };
        let length = u32::try_from(out.0.len() - 4).unwrap_or(u32::MAX);
        out.0[..4].copy_from_slice(&length.to_le_bytes());
        out.0
    }

    fn decode(bytes: &[u8]) -> Result<Piece, BadFrame> {
        let mut body = Reader::new(bytes);
        let piece = match body.u8("kind of a piece")? {
            BEGINNING => Piece::Beginning(Beginning {
                limit: body.u64("maximum number of rows")?,
                fields: body.list("number of fields", "field")?,
            }),
            ROW => Piece::Row(Row {
                key: body.bytes("key")?.to_vec(),
                fields: body.list("number of fields", "field")?,
            }),
            _ => return Err(BadFrame::Field("kind of a piece")),
        };
        body.end()?;
        Ok(piece)
    }
}

/// Collects the bytes of an output, and takes pieces out of them.
#[derive(Debug, Default)]
pub struct Pieces {
    bytes: Vec<u8>,
    /// Number of bytes that have been taken.
    taken: usize,
}

impl Pieces {
    /// Adds bytes of the output.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next piece; `None` if not all of it has come.
    ///
    /// # Errors
    /// Fails if the bytes are no piece.
    pub fn take(&mut self) -> Result<Option<Piece>, BadFrame> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some((length, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > PIECE_MAX_BYTES {
            return Err(BadFrame::Length(length));
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let piece = Piece::decode(body)?;
        self.taken += 4 + length;
        Ok(Some(piece))
    }

    /// Checks that the output does not end within a piece.
    ///
    /// # Errors
    /// Fails if it does.
    pub fn end(&self) -> Result<(), BadFrame> {
        match self.taken == self.bytes.len() {
            true => Ok(()),
            false => Err(BadFrame::Field("end of the last piece")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn piece() -> impl Strategy<Value = Piece> {
        let fields = || vec(vec(any::<u8>(), 0..5), 0..4);
        let beginning = (any::<u64>(), fields())
            .prop_map(|(limit, fields)| Piece::Beginning(Beginning { limit, fields }));
        let row = (vec(any::<u8>(), 0..9), fields())
            .prop_map(|(key, fields)| Piece::Row(Row { key, fields }));
        prop_oneof![beginning, row]
    }

    proptest! {
        #[test]
        fn pieces_are_read_however_the_output_is_cut(
            pieces in vec(piece(), 0..6),
            step in 1usize..20,
        ) {
            let bytes: Vec<u8> = pieces.iter().flat_map(Piece::encode).collect();
            let mut read = Vec::new();
            let mut rows = Pieces::default();
            for part in bytes.chunks(step) {
                rows.add(part);
                while let Some(piece) = rows.take().unwrap() {
                    read.push(piece);
                }
            }
            prop_assert_eq!(read, pieces);
            prop_assert_eq!(rows.end(), Ok(()));
        }

        #[test]
        fn any_bytes_are_an_error_or_pieces_that_encode_to_them(bytes in vec(any::<u8>(), 0..80)) {
            let mut rows = Pieces::default();
            rows.add(&bytes);
            let mut written = Vec::new();
            while let Ok(Some(piece)) = rows.take() {
                written.extend(piece.encode());
            }
            prop_assert!(bytes.starts_with(&written));
        }
    }

    #[test]
    fn a_long_piece_is_refused_before_it_has_come() {
        let mut rows = Pieces::default();
        rows.add(&u32::MAX.to_le_bytes());
        assert_eq!(rows.take(), Err(BadFrame::Length(u32::MAX as usize)));
        let mut rows = Pieces::default();
        rows.add(&[9, 0, 0, 0, 1]);
        assert_eq!(rows.take(), Ok(None));
        assert!(rows.end().is_err());
    }
}
