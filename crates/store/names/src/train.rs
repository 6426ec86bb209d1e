//! Chooses the symbols for a segment's names.
//!
//! The method is that of FSST (Boncz, Neumann, Leis: FSST: Fast Random Access
//! String Compression, VLDB 2020): it compresses a sample repeatedly, each time
//! with the symbols and pairs of adjacent symbols that saved most in the round
//! before. The same names always give the same table.

use crate::pack::Encoder;
use crate::symbols::{BYTE_CODES, CODES, SYMBOL_BYTES_MOST, Symbols};

/// Maximum bytes of the sample, and approximate bytes of each of its pieces.
const SAMPLE_BYTES_MOST: usize = 256 << 10;
const PIECE_BYTES: usize = 512;
/// Number of compression rounds: after four rounds symbols can reach their
/// maximum length. The first rounds use only one in `FIRST_STEP` pieces.
const ROUNDS: usize = 5;
const FIRST_ROUNDS: usize = 3;
const FIRST_STEP: usize = 4;
/// Minimum number of occurrences of a symbol in the sample.
const COUNT_LEAST: u32 = 3;

/// Returns symbols for names, each of which ends with a zero byte.
pub(crate) fn train(text: &[u8]) -> Option<Symbols> {
    let sample = sample(text);
    let bytes: usize = sample.iter().map(|piece| piece.len()).sum();
    let mut pairs = PairCounts::new(bytes);
    let mut symbols = Symbols::new(std::iter::empty())?;
    let first: Vec<&[u8]> = sample.iter().step_by(FIRST_STEP).copied().collect();
    for round in 0..ROUNDS {
        let pieces = if round < FIRST_ROUNDS {
            &first
        } else {
            &sample
        };
        let best = next_round(&symbols, pieces, &mut pairs);
        symbols = Symbols::new(best.iter().map(|text| &text[..]))?;
    }
    Some(symbols)
}

/// Returns pieces of whole names from all over the text.
fn sample(text: &[u8]) -> Vec<&[u8]> {
    if text.len() <= SAMPLE_BYTES_MOST {
        return vec![text];
    }
    let name_end = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        let end = memchr::memchr(0, rest).map_or(rest.len(), |end| end + 1);
        (at + end).min(text.len())
    };
    let pieces = SAMPLE_BYTES_MOST / PIECE_BYTES;
    let mut end = 0;
    let mut out = Vec::with_capacity(pieces);
    for piece in 0..pieces {
        let start = match piece {
            0 => 0,
            _ => name_end(text.len() / pieces * piece).max(end),
        };
        end = name_end((start + PIECE_BYTES).min(text.len()));
        out.push(&text[start..end]);
    }
    out
}

/// A text that could become a symbol, and the bytes that it saves.
struct Candidate {
    text: Vec<u8>,
    saved: u64,
}

/// Returns the symbols that save most, sorted by text.
fn next_round(symbols: &Symbols, sample: &[&[u8]], pairs: &mut PairCounts) -> Vec<Vec<u8>> {
    let encoder = Encoder::new(symbols);
    let mut counts = vec![0u32; CODES];
    pairs.clear();
    for piece in sample {
        let mut before = None;
        encoder.codes(piece, |code| {
            counts[usize::from(code)] += 1;
            if let Some(before) = before {
                pairs.add(before, code);
            }
            before = Some(code);
        });
    }
    best(candidates(symbols, &counts, pairs))
}

fn candidates(symbols: &Symbols, counts: &[u32], pairs: &PairCounts) -> Vec<Candidate> {
    let mut out = Vec::new();
    let mut push = |text: Vec<u8>, count: u32| {
        if count >= COUNT_LEAST {
            let saved = u64::from(count) * (text.len() as u64 - 1);
            out.push(Candidate { text, saved });
        }
    };
    for (text, count) in symbols.texts().zip(counts).skip(BYTE_CODES) {
        push(text.to_vec(), *count);
    }
    for (first, second, count) in pairs.iter() {
        let (first, second) = (symbols.text(first), symbols.text(second));
        let fits = first.len() + second.len() <= SYMBOL_BYTES_MOST;
        if fits && first.last() != Some(&0) {
            push([first, second].concat(), count);
        }
    }
    out
}

fn best(mut candidates: Vec<Candidate>) -> Vec<Vec<u8>> {
    candidates.sort_unstable_by(|a, b| a.text.cmp(&b.text));
    candidates.dedup_by(|same, kept| {
        let is_same = same.text == kept.text;
        if is_same {
            kept.saved += same.saved;
        }
        is_same
    });
    let most = CODES - BYTE_CODES;
    if candidates.len() > most {
        candidates.sort_unstable_by(|a, b| b.saved.cmp(&a.saved).then_with(|| a.text.cmp(&b.text)));
        candidates.truncate(most);
        candidates.sort_unstable_by(|a, b| a.text.cmp(&b.text));
    }
    candidates.into_iter().map(|found| found.text).collect()
}

/// Counts how often one code follows another; a hash table with open
/// addressing.
struct PairCounts {
    /// The key made of both codes, and the count; a count of 0 marks a free
    /// slot.
    slots: Vec<(u32, u32)>,
    used: usize,
    shift: u32,
}

impl PairCounts {
    /// Makes a table for a sample of `bytes` bytes.
    fn new(bytes: usize) -> PairCounts {
        let bits = (bytes / 2 + 8).next_power_of_two().ilog2();
        PairCounts {
            slots: vec![(0, 0); 1 << bits],
            used: 0,
            shift: u32::BITS - bits,
        }
    }

    fn clear(&mut self) {
        self.slots.fill((0, 0));
        self.used = 0;
    }

    /// Counts a pair; ignores a new pair if the table is three quarters full.
    fn add(&mut self, first: u16, second: u16) {
        let key = u32::from(first) << 16 | u32::from(second);
        let mut place = (key.wrapping_mul(0x9e37_79b1) >> self.shift) as usize;
        let last = self.slots.len() - 1;
        while let Some(slot) = self.slots.get_mut(place) {
            if slot.1 > 0 && slot.0 == key {
                slot.1 += 1;
                return;
            }
            if slot.1 == 0 {
                if self.used < last / 4 * 3 {
                    *slot = (key, 1);
                    self.used += 1;
                }
                return;
            }
            place = (place + 1) & last;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u16, u16, u32)> {
        let used = self.slots.iter().filter(|slot| slot.1 > 0);
        used.map(|(key, count)| ((*key >> 16) as u16, *key as u16, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_texts_become_symbols() {
        let text: Vec<u8> = (0..9000)
            .flat_map(|at| format!("kernel-{}.txt\0", at * 7919 % 9973).into_bytes())
            .collect();
        let symbols = train(&text).unwrap();
        for frequent in [&b"kernel-"[..], b".txt\0"] {
            let held = symbols
                .texts()
                .any(|text| text.windows(frequent.len()).any(|part| part == frequent));
            assert!(held, "{frequent:?}");
        }
        let mut codes = Vec::new();
        Encoder::new(&symbols).pack(&text, &mut codes);
        assert!(codes.len() < 9000 * 5, "{}", codes.len());
        assert_eq!(symbols.write(), train(&text).unwrap().write());
    }

    #[test]
    fn samples_are_whole_names() {
        for names in [0, 1, 3, 500, 100_000] {
            let text = b"ab.c\0".repeat(names);
            let sample = sample(&text);
            let bytes: usize = sample.iter().map(|piece| piece.len()).sum();
            assert!(bytes <= SAMPLE_BYTES_MOST * 2);
            assert!(sample.iter().all(|piece| piece.len() % 5 == 0));
            assert!(text.len() > SAMPLE_BYTES_MOST || bytes == text.len());
        }
    }
}
