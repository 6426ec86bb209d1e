//! A pack of n-grams with changes and right hashes: documents that are there or an error, never a
//! panic.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_grams::{Builder, CaseRule, Content, DocId, Keys, Pack, Plan, SyntaxRule};

static SOUND: OnceLock<[Vec<u8>; 2]> = OnceLock::new();

fn sound(content: Content) -> Vec<u8> {
    let (mut builder, mut keys) = (Builder::new(content), Keys::default());
    for number in 0..300u64 {
        let text = format!("static int word{}(void) {{ return {number}; }}\n", number % 40);
        builder.add(DocId { object: number, version: number }, keys.of(content, text.as_bytes()));
    }
    builder.finish()
}

fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else {
        return;
    };
    let sound = SOUND.get_or_init(|| [sound(Content::Text), sound(Content::Binary)]);
    let mut bytes = sound[usize::from(first & 1)].clone();
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
    let _ = Builder::new(pack.content()).absorb(&pack, |_| true);
});
