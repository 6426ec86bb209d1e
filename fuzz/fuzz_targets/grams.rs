//! A pack of n-grams with changes and right hashes: documents that are there or an error, never a
//! panic.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_grams::{Builder, CaseRule, DocId, Keys, Pack, Plan, SyntaxRule};

static SOUND: OnceLock<Vec<u8>> = OnceLock::new();

fn sound() -> Vec<u8> {
    let (mut builder, mut keys) = (Builder::default(), Keys::default());
    for number in 0..300u64 {
        let text = format!("static int word{}(void) {{ return {number}; }}\n", number % 40);
        builder.add(DocId { object: number, version: number }, keys.of(text.as_bytes()));
    }
    builder.finish()
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = SOUND.get_or_init(sound).clone();
    for change in data.chunks_exact(3) {
        let at = usize::from(change[0]) << 8 | usize::from(change[1]);
        let length = bytes.len();
        bytes[at % length] ^= change[2];
    }
    let Some(bytes) = trawl_grams::sealed(&bytes) else {
        return;
    };
    let Ok(pack) = Pack::open(bytes) else {
        return;
    };
    for pattern in ["word1[0-9]", "return|void", "st.tic"] {
        let plan = Plan::of(&[pattern.into()], SyntaxRule::Regex, CaseRule::Insensitive);
        if let Ok(candidates) = pack.candidates(&plan) {
            assert!(candidates.count() as usize <= pack.docs().len());
        }
    }
    let _ = Builder::default().absorb(&pack, |_| true);
});
