//! What a command prints whose rows the client merges: an error, or pieces that encode to the same
//! bytes, however they are cut; and the output of find in a row.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_find::output::{Output, Widths};
use trawl_remote::rows::{Piece, Pieces};

fuzz_target!(|data: &[u8]| {
    let Some((step, bytes)) = data.split_first() else {
        return;
    };
    let mut pieces = Pieces::default();
    let mut widths = Widths::default();
    let mut written = Vec::new();
    for part in bytes.chunks(usize::from(*step).max(1)) {
        pieces.add(part);
        loop {
            let piece = match pieces.take() {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(_) => return,
            };
            written.extend(piece.encode());
            assert!(bytes.starts_with(&written));
            if let Piece::Row(row) = &piece {
                row.fields.iter().for_each(|text| found(text, &mut widths));
            }
        }
    }
    let is_all = written.len() == bytes.len();
    assert_eq!(pieces.end().is_ok(), is_all);
    found(bytes, &mut widths);
});

/// Prints what find sent of a row.
fn found(text: &[u8], widths: &mut Widths) {
    let Some(output) = Output::decode(text) else {
        return;
    };
    assert_eq!(output.encode(), text);
    let length = output.bytes.len();
    assert!(output.finish(widths).len() >= length);
}
