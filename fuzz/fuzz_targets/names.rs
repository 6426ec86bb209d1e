//! A name sidecar with changes and right hashes: an answer or an error, never
//! a panic, and no row that is not there.

#![no_main]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_names::{Case, Literal, Names, NamesWriter, Pattern, RowKind, Subject};

static SOUND: OnceLock<Vec<u8>> = OnceLock::new();

fn sound() -> Vec<u8> {
    let mut writer = NamesWriter::new().expect("a writer");
    for dir in 0..300 {
        writer.dir(format!("/top/part{}/dir{dir:03}", dir / 50).as_bytes()).expect("a directory");
        for row in 0..dir % 7 {
            let kind = if row == 0 { RowKind::Directory } else { RowKind::Other };
            writer.row(format!("File{row}.c").as_bytes(), kind).expect("a row");
        }
    }
    writer.finish(7).expect("a sidecar")
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = SOUND.get_or_init(sound).clone();
    for change in data.chunks_exact(3) {
        let at = usize::from(change[0]) << 8 | usize::from(change[1]);
        // From the end, where lengths are, as often as from the start.
        let at = if at & 1 == 0 { at / 2 % bytes.len() } else { bytes.len() - 1 - at / 2 % bytes.len() };
        bytes[at] ^= change[2];
    }
    let Some(bytes) = trawl_names::sealed(&bytes) else {
        return;
    };
    let Ok(names) = Names::open(&bytes, bytes.len() as u64, Path::new("names")) else {
        return;
    };
    let _ = names.check();
    for (text, subject, case) in [
        ("ile3", Subject::Name, Case::Sensitive),
        ("part2/DIR", Subject::Path, Case::Folded),
        ("/", Subject::Path, Case::Sensitive),
    ] {
        let pattern = Pattern::literal(Literal::anywhere(text), subject, case);
        let _ = names.search(&pattern, 0..u64::MAX, &mut |found| {
            assert!(found.row < names.rows());
            ControlFlow::Continue(())
        });
    }
});
