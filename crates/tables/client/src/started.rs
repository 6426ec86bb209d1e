//! Tracks programs of a run that were started and have not announced that they report their changes
//! (`trawl_table::page`).
//!
//! A process that starts a program notes it first. The preload library removes the note once it
//! runs in the program. So the remaining notes are about programs without the library or without
//! the page: static ones, those with an environment or `/dev/shm` of their own, and those of
//! another user. While one of them is alive no table is believed. The process that sees its end
//! reports a change and removes the note.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use trawl_table::page::{
    FIRST_STARTED_WORD, IS_LEAVING, IS_PARENT, NAMESPACES_WORD, STARTED_WORD, STARTED_WORDS,
    UNCOUNTED_WORD, process, started,
};

use crate::kernel;

/// Stands for a file whose name is unknown.
pub const ANY_FILE: u64 = 0;

/// A note about a program that is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    at: usize,
    word: u64,
}

/// The process that starts a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// A process that becomes the program.
    Itself(c_int),
    /// A process whose child becomes the program.
    Parent(c_int),
}

impl Starter {
    fn word(self, file: u64) -> u64 {
        match self {
            Starter::Itself(own) => started(own.unsigned_abs(), file),
            Starter::Parent(own) => started(own.unsigned_abs(), file) | IS_PARENT,
        }
    }
}

/// Hashes the name of the executed file. Never returns [`ANY_FILE`].
pub fn hash(file: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    // FNV-1a; the lower half of the stored bits depends on every byte.
    file.iter().fold(0xcbf2_9ce4_8422_2325, step) >> 24 | 1
}

/// Returns the words for notes.
fn slots(words: &[AtomicU64]) -> &[AtomicU64] {
    words
        .get(FIRST_STARTED_WORD..FIRST_STARTED_WORD + STARTED_WORDS)
        .unwrap_or_default()
}

/// Returns the words in use, with their numbers.
fn used(words: &[AtomicU64]) -> impl Iterator<Item = (usize, &AtomicU64)> {
    let bits = bits(words);
    let slots = slots(words).iter().enumerate();
    slots.filter(move |(at, _)| bits & (1 << at) != 0)
}

fn bits(words: &[AtomicU64]) -> u64 {
    words
        .get(STARTED_WORD)
        .map_or(0, |word| word.load(Ordering::SeqCst))
}

fn says(words: &[AtomicU64], number: usize) -> bool {
    words
        .get(number)
        .is_some_and(|word| word.load(Ordering::SeqCst) != 0)
}

fn say(words: &[AtomicU64], number: usize) {
    if let Some(word) = words.get(number) {
        word.store(1, Ordering::SeqCst);
    }
}

/// Notes a program before it is started; `change` reports a change. Returns `None` if there is no
/// room: then no table is believed any more.
pub fn note(words: &[AtomicU64], starter: Starter, file: u64, change: impl Fn()) -> Option<Note> {
    let word = starter.word(file);
    for _ in 0..2 {
        for (at, slot) in slots(words).iter().enumerate() {
            let claimed = slot.compare_exchange(0, word, Ordering::SeqCst, Ordering::SeqCst);
            if claimed.is_ok() {
                // A process that dies at this point has started nothing.
                words.get(STARTED_WORD)?.fetch_or(1 << at, Ordering::SeqCst);
                return Some(Note { at, word });
            }
        }
        forget_ended(words, &change);
    }
    say(words, UNCOUNTED_WORD);
    None
}

impl Note {
    /// Removes the note: the program was not started, or has ended and its changes were reported.
    pub fn take_away(self, words: &[AtomicU64]) -> bool {
        take_away(words, self.at, self.word)
    }

    /// Sets the child's process id, unless the child has removed the note already.
    pub fn is_child(self, words: &[AtomicU64], child: c_int) {
        let word = started(child.unsigned_abs(), self.word >> 24);
        if let Some(slot) = slots(words).get(self.at) {
            let _ = slot.compare_exchange(self.word, word, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
}

/// Empties a slot, if it still has this word.
fn take_away(words: &[AtomicU64], at: usize, word: u64) -> bool {
    let (Some(slot), Some(bits)) = (slots(words).get(at), words.get(STARTED_WORD)) else {
        return false;
    };
    // Only one process may clear the bit, which could otherwise be that of the next program.
    let claimed = slot.compare_exchange(word, IS_LEAVING, Ordering::SeqCst, Ordering::SeqCst);
    if claimed.is_err() {
        return false;
    }
    bits.fetch_and(!(1 << at), Ordering::SeqCst);
    slot.store(0, Ordering::SeqCst);
    true
}

/// Removes this program's note at its start: from here on it reports its changes. If another
/// program ran in between, `change` is called first.
pub fn begins(words: &[AtomicU64], file: u64, change: impl Fn()) {
    if bits(words) == 0 {
        return;
    }
    let (own, parent) = (
        kernel::process().unsigned_abs(),
        kernel::parent().unsigned_abs(),
    );
    for (at, slot) in used(words) {
        // The parent may be storing the child's id at this moment.
        loop {
            let word = slot.load(Ordering::SeqCst);
            let noted = word >> 24;
            let is_own = match word & IS_PARENT {
                0 => process(word) == own,
                _ => process(word) == parent && (noted == file || noted == ANY_FILE),
            };
            if !is_own || word & IS_LEAVING != 0 {
                break;
            }
            if noted != file {
                change();
            }
            if take_away(words, at, word) {
                return;
            }
        }
    }
}

/// Removes the notes about a process that has ended and whose changes were reported.
pub fn has_ended(words: &[AtomicU64], child: c_int) {
    let is_its = |word: u64| word & IS_PARENT == 0 && process(word) == child.unsigned_abs();
    take_away_all(words, is_its);
}

/// Removes the notes about programs that this process started from this file and has waited for.
pub fn have_ended(words: &[AtomicU64], own: c_int, file: u64) {
    let word = Starter::Parent(own).word(file);
    take_away_all(words, |noted| noted == word);
}

fn take_away_all(words: &[AtomicU64], is_one: impl Fn(u64) -> bool) {
    for (at, slot) in used(words) {
        let word = slot.load(Ordering::SeqCst);
        if word != 0 && word & IS_LEAVING == 0 && is_one(word) {
            take_away(words, at, word);
        }
    }
}

/// Removes the notes about programs that have ended without a report.
pub fn forget_ended(words: &[AtomicU64], change: impl Fn()) {
    if says(words, NAMESPACES_WORD) {
        return;
    }
    // All slots are checked: the process that noted a program may have died before it set the bit.
    for (at, slot) in slots(words).iter().enumerate() {
        let word = slot.load(Ordering::SeqCst);
        let is_noted = word != 0 && word & IS_LEAVING == 0;
        if is_noted && !kernel::is_alive(process(word) as c_int) {
            change();
            take_away(words, at, word);
        }
    }
}

/// Announces that process ids may belong to another namespace from now on.
pub fn namespaces_are_left(words: &[AtomicU64]) {
    say(words, NAMESPACES_WORD);
}

/// Returns whether there is any note, or was one too many.
#[inline]
pub fn is_any(words: &[AtomicU64]) -> bool {
    bits(words) != 0 || says(words, UNCOUNTED_WORD)
}

/// Returns whether there are programs that may change something without reporting it, except those
/// for which `is_known` returns true. Its arguments are the process, and whether that is the
/// program's starter.
pub fn are_any(words: &[AtomicU64], is_known: impl Fn(c_int, bool) -> bool) -> bool {
    let mut notes = used(words).map(|(_, slot)| slot.load(Ordering::SeqCst));
    says(words, UNCOUNTED_WORD)
        || notes.any(|word| {
            let is_noted = word != 0 && word & IS_LEAVING == 0;
            is_noted && !is_known(process(word) as c_int, word & IS_PARENT != 0)
        })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::cell::Cell;
    use std::vec::Vec;

    use trawl_table::page::WORDS;

    use super::*;

    fn page() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn no_change() {
        panic!("nothing was changed");
    }

    #[test]
    fn a_program_that_begins_takes_its_own_note_away() {
        let (page, own) = (page(), kernel::process());
        let file = hash(b"/bin/sh");
        let other = note(&page, Starter::Itself(own + 1), file, no_change);
        note(&page, Starter::Itself(own), file, no_change);
        assert!(are_any(&page, |_, _| false));
        begins(&page, file, no_change);
        assert!(are_any(&page, |_, _| false));
        assert!(!are_any(&page, |process, _| process == own + 1));
        assert!(other.is_some_and(|other| other.take_away(&page)));
        assert!(!is_any(&page));
    }

    #[test]
    fn another_program_in_between_counts_as_a_change() {
        let (page, own) = (page(), kernel::process());
        let changes = Cell::new(0);
        note(&page, Starter::Itself(own), hash(b"/bin/sh"), no_change);
        begins(&page, hash(b"/bin/ls"), || changes.set(changes.get() + 1));
        assert_eq!(changes.get(), 1);
        assert!(!is_any(&page));
    }

    #[test]
    fn a_child_takes_the_note_of_its_parent_away() {
        let (page, parent) = (page(), kernel::parent());
        let file = hash(b"/bin/sh");
        let noted = note(&page, Starter::Parent(parent), file, no_change);
        begins(&page, hash(b"/bin/ls"), no_change);
        assert!(is_any(&page));
        begins(&page, file, no_change);
        assert!(!is_any(&page));
        // This is too late.
        noted.unwrap().is_child(&page, kernel::process());
        assert!(!is_any(&page));
        let noted = note(&page, Starter::Parent(parent), file, no_change);
        noted.unwrap().is_child(&page, kernel::process());
        has_ended(&page, kernel::process());
        assert!(!is_any(&page));
    }

    #[test]
    fn who_ends_unseen_is_forgotten_and_too_many_are_for_ever() {
        let page = page();
        let changes = Cell::new(0);
        let gone = 4_194_303;
        assert!(!kernel::is_alive(gone) && kernel::is_alive(kernel::process()));
        note(&page, Starter::Itself(gone), 1, no_change);
        forget_ended(&page, || changes.set(changes.get() + 1));
        assert_eq!(changes.get(), 1);
        assert!(!is_any(&page));
        for _ in 0..STARTED_WORDS {
            note(&page, Starter::Itself(kernel::process()), 1, no_change).unwrap();
        }
        assert_eq!(note(&page, Starter::Itself(gone), 1, no_change), None);
        has_ended(&page, kernel::process());
        assert!(are_any(&page, |_, _| true));
    }
}
