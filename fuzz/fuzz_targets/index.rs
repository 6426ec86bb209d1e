//! A whole index of which one file is changed, with right checksums: every
//! question ends with an answer or an error, never a panic.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_fuzz::Victim;
use trawl_fuzz::questions::{PLACES, QUESTIONS};

static VICTIM: OnceLock<Victim> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let victim = VICTIM.get_or_init(trawl_fuzz::victim);
    // The first byte says what is asked, so that one input is one question.
    let Some((asked, damage)) = data.split_first() else {
        return;
    };
    let asked = usize::from(*asked);
    let path = [
        &victim.root[..],
        PLACES[asked / QUESTIONS.len() % PLACES.len()],
    ]
    .concat();
    victim.damaged(damage, |index| {
        let _ = QUESTIONS[asked % QUESTIONS.len()](index, &path);
    });
});
