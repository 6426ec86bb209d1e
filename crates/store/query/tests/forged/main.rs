//! Forges index files and corrects their checksums, as an attacker with write
//! access could. Every query must end with an answer or an error, never with a
//! panic or a hang.
//!
//! Like the fuzz target `index`, but with random changes. For a long run:
//!
//! ```sh
//! TRAWL_FORGED_FILES=100000 TRAWL_SEED=1 cargo test --release -p trawl-query --test forged
//! ```

#![forbid(unsafe_code)]

#[allow(unreachable_pub, reason = "shared with the fuzz targets")]
mod questions;
#[allow(unreachable_pub, reason = "shared with the fuzz targets")]
mod victim;

use std::panic::{AssertUnwindSafe, catch_unwind};

use questions::{PLACES, QUESTIONS};
use victim::Victim;

/// Default number of changed files.
const FILES: u64 = 2_000;
/// Maximum number of changes to one file.
const CHANGES: u64 = 6;

/// A small random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }

    fn byte(&mut self) -> u8 {
        self.below(256).to_le_bytes()[0]
    }
}

fn number(variable: &str, or_else: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(or_else)
}

#[test]
fn forged_files_with_right_checksums_give_an_answer_or_an_error() {
    let place = tempfile::tempdir().expect("a directory");
    let victim = Victim::new(place.path());
    let first = number("TRAWL_SEED", 1);
    let (mut refused, files) = (0, number("TRAWL_FORGED_FILES", FILES));
    for seed in first..first + files {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut data = vec![random.byte()];
        for _ in 0..=random.below(CHANGES) {
            data.extend((0..4).map(|_| random.byte()));
        }
        let at = usize::from(random.byte());
        let path = [&victim.root[..], PLACES[at % PLACES.len()]].concat();
        victim.damaged(&data, |index| {
            for (which, question) in QUESTIONS.iter().enumerate() {
                let asked = catch_unwind(AssertUnwindSafe(|| question(index, &path)));
                let answer = asked.unwrap_or_else(|_| panic!("seed {seed}, question {which}"));
                refused += u64::from(answer.is_err());
            }
        });
    }
    // If few files are refused, the changes do not affect the bytes that are
    // read.
    assert!(
        refused > files / 10,
        "{refused} of {files} files were refused"
    );
}

#[test]
fn an_index_that_nobody_changed_answers() {
    let place = tempfile::tempdir().expect("a directory");
    let victim = Victim::new(place.path());
    victim.damaged(&[0], |index| {
        for question in QUESTIONS {
            question(index, &victim.root).expect("as it was written");
        }
    });
}
