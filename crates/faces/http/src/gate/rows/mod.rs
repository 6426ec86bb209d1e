//! Counts the rows of whole answers while they are sent on, in every format of downloads.
//!
//! The process that does this speaks with strangers, for all users. So the formats are not decoded: only
//! what says where rows begin or how many there are is looked at. Invariants: every byte may be hostile;
//! memory is bounded; an answer that is not of its format has no number of rows, rather than a wrong one.
//!
//! | module | contents |
//! |---|---|
//! | [`arrow`] | numbers of rows in the messages of an Arrow IPC stream |
//! | [`parquet`] | the number of rows in the footer of a Parquet file |

mod arrow;
mod parquet;

use memchr::{memchr_iter, memchr2_iter};

use crate::download::Format;

/// Counts the rows of an answer.
#[derive(Debug)]
pub struct Counter {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Each line is a row.
    Lines {
        rows: u64,
    },
    /// Each line is a row, except the first; a line feed in quotes ends none.
    Csv {
        lines: u64,
        is_quoted: bool,
    },
    Arrow(arrow::Stream),
    Parquet(parquet::File),
    /// Rows are not counted.
    Other,
}

impl Counter {
    /// Returns a counter for an answer in this format; of `None`, the number of rows stays unknown.
    pub fn new(format: Option<Format>) -> Counter {
        let kind = match format {
            Some(Format::Lines) => Kind::Lines { rows: 0 },
            Some(Format::Csv) => Kind::Csv {
                lines: 0,
                is_quoted: false,
            },
            Some(Format::Arrow) => Kind::Arrow(arrow::Stream::default()),
            Some(Format::Parquet) => Kind::Parquet(parquet::File::default()),
            None => Kind::Other,
        };
        Counter { kind }
    }

    /// Looks at the next bytes. Returns the number of rows that were not known of before: those of a
    /// Parquet file are all known at its end.
    pub fn add(&mut self, bytes: &[u8]) -> u64 {
        let before = self.rows().unwrap_or(0);
        match &mut self.kind {
            Kind::Lines { rows } => *rows += memchr_iter(b'\n', bytes).count() as u64,
            Kind::Csv { lines, is_quoted } => {
                for at in memchr2_iter(b'\n', b'"', bytes) {
                    match (bytes.get(at), *is_quoted) {
                        // A quote in quotes is written twice, so it ends and begins them.
                        (Some(b'"'), _) => *is_quoted = !*is_quoted,
                        (_, true) => {}
                        (_, false) => *lines += 1,
                    }
                }
            }
            Kind::Arrow(stream) => stream.add(bytes),
            Kind::Parquet(file) => file.add(bytes),
            Kind::Other => {}
        }
        self.rows().unwrap_or(0).saturating_sub(before)
    }

    /// Returns the number of rows so far; `None` if it is not known.
    pub fn rows(&self) -> Option<u64> {
        match &self.kind {
            Kind::Lines { rows } => Some(*rows),
            Kind::Csv { lines, .. } => Some(lines.saturating_sub(1)),
            Kind::Arrow(stream) => stream.rows(),
            Kind::Parquet(file) => file.rows(),
            Kind::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, RecordBatch, StringArray};
    use arrow_ipc::writer::StreamWriter;

    /// Returns rows whose texts look like ends of rows and files.
    fn batch(rows: usize) -> RecordBatch {
        let text = |row: usize| ["PAR1", "\n", "\"\n", "\u{ff}", ""][row % 5];
        let texts = StringArray::from_iter_values((0..rows).map(text));
        let words: DictionaryArray<Int32Type> = (0..rows).map(text).collect();
        let columns = [
            ("text", Arc::new(texts) as _),
            ("word", Arc::new(words) as _),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    fn arrow(sizes: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let writer = StreamWriter::try_new(&mut bytes, &batch(0).schema());
        let mut writer = writer.expect("a stream");
        for size in sizes {
            writer.write(&batch(*size)).expect("in memory");
        }
        writer.finish().expect("in memory");
        drop(writer);
        bytes
    }

    fn parquet(sizes: &[usize]) -> Vec<u8> {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(100))
            .build();
        let mut bytes = Vec::new();
        let writer = ArrowWriter::try_new(&mut bytes, batch(0).schema(), Some(properties));
        let mut writer = writer.expect("a file");
        for size in sizes {
            writer.write(&batch(*size)).expect("in memory");
        }
        writer.close().expect("in memory");
        bytes
    }

    /// Counts an answer that comes in pieces of this size.
    fn count(format: Format, bytes: &[u8], piece: usize) -> (u64, Option<u64>) {
        let mut counter = Counter::new(Some(format));
        let added = bytes.chunks(piece).map(|bytes| counter.add(bytes)).sum();
        (added, counter.rows())
    }

    #[test]
    fn rows_are_counted_however_the_answer_comes() {
        let csv = "text,word\n\"a \"\"\n\"\"\",b\n\"\n\n\",\n,\"\"\n";
        for (format, bytes, rows) in [
            (Format::Lines, Vec::new(), 0),
            (Format::Lines, b"{}\n{\"a\":\"\\n\"}\n".to_vec(), 2),
            (Format::Csv, Vec::new(), 0),
            (Format::Csv, b"text,word\n".to_vec(), 0),
            (Format::Csv, csv.into(), 3),
            (Format::Arrow, arrow(&[]), 0),
            (Format::Arrow, arrow(&[7, 0, 1000, 1]), 1008),
            (Format::Parquet, parquet(&[]), 0),
            (Format::Parquet, parquet(&[7, 1000]), 1007),
        ] {
            for piece in [1, 2, 7, 64, 1 << 20] {
                let counted = count(format, &bytes, piece);
                assert_eq!(counted, (rows, Some(rows)), "{format:?} {piece}");
            }
        }
    }

    #[test]
    fn a_stream_of_arrow_is_counted_as_it_comes() {
        let bytes = arrow(&[10; 20]);
        let (counted, _) = count(Format::Arrow, &bytes[..bytes.len() / 2], 64);
        assert!((50..=150).contains(&counted), "{counted}");
    }

    #[test]
    fn the_rows_of_something_else_are_unknown() {
        let text = b"trawl: something went wrong\n".repeat(3);
        for format in [Format::Arrow, Format::Parquet] {
            assert_eq!(count(format, &text, 10), (0, None), "{format:?}");
        }
        assert_eq!(Counter::new(None).rows(), None);
        let whole = parquet(&[7]);
        let part = &whole[..whole.len() - 1];
        assert_eq!(count(Format::Parquet, part, 10), (0, None));
    }

    /// A byte that is wrong makes a number wrong or unknown, the same however the answer comes.
    #[test]
    fn damaged_answers_are_counted_without_harm() {
        for (format, bytes) in [
            (Format::Arrow, arrow(&[3, 300])),
            (Format::Parquet, parquet(&[3, 300])),
        ] {
            for at in 0..bytes.len() {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] = value;
                    let (_, rows) = count(format, &damaged, 1 << 20);
                    assert_eq!(count(format, &damaged, 61).1, rows, "{format:?} {at}");
                }
            }
        }
    }
}
