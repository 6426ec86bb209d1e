//! The table of members: each name once, in the order in which names were found.
//!
//! Names lie one behind the other in one array; the hash table that finds repeats holds positions
//! only. A member costs its name and about 24 bytes, and 144 more if its attributes came with it.
//! Entries are never removed: once a member, always a member.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use trawl_call::Attributes;

use crate::member::Problem;
use crate::source::Found;

const NONE: u32 = u32::MAX;
/// In the place of a position in `attributes`: the member is blank, and has none.
const BLANK: u32 = u32::MAX - 1;

/// Maximum number of entries.
pub(crate) const ENTRIES_MAX: usize = (u32::MAX - 1) as usize;

struct Entry {
    /// End of the name in `bytes`; it begins where the entry before ends.
    end: u64,
    /// Position in `attributes`, `NONE` or `BLANK`.
    attributes: u32,
}

/// Members and problems in the order in which they were found.
#[derive(Default)]
pub(crate) struct Table {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    attributes: Vec<Attributes>,
    problems: BTreeMap<u32, Arc<Problem>>,
    /// Positions of members by the hash of their names; `NONE` is a free slot.
    slots: Vec<u32>,
    hasher: RandomState,
    members: usize,
}

impl Table {
    /// Returns the number of members and problems.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of members.
    pub(crate) fn members(&self) -> usize {
        self.members
    }

    fn name(&self, position: usize) -> &[u8] {
        let start = match position {
            0 => 0,
            _ => self.entries[position - 1].end,
        };
        &self.bytes[start as usize..self.entries[position].end as usize]
    }

    /// Returns the slot of this name, or the free one where it belongs.
    fn slot(&self, name: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.hasher.hash_one(name) as usize & mask;
        while self.slots[at] != NONE && self.name(self.slots[at] as usize) != name {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(16);
        let before = std::mem::replace(&mut self.slots, vec![NONE; slots]);
        for position in before.into_iter().filter(|position| *position != NONE) {
            let at = self.slot(self.name(position as usize));
            self.slots[at] = position;
        }
    }

    /// Adds a member, unless its name is known.
    pub(crate) fn insert(&mut self, found: Found) -> bool {
        if self.members * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let slot = self.slot(&found.name);
        if self.slots[slot] != NONE {
            return false;
        }
        let position = self.entries.len() as u32;
        self.slots[slot] = position;
        self.members += 1;
        self.bytes.extend_from_slice(&found.name);
        let attributes = match found.attributes {
            _ if found.is_blank => BLANK,
            Some(known) => {
                self.attributes.push(known);
                self.attributes.len() as u32 - 1
            }
            None => NONE,
        };
        self.push(attributes);
        true
    }

    fn push(&mut self, attributes: u32) {
        let end = self.bytes.len() as u64;
        self.entries.push(Entry { end, attributes });
    }

    /// Adds a problem in the place of a member.
    pub(crate) fn problem(&mut self, problem: Problem) {
        let position = self.entries.len() as u32;
        self.problems.insert(position, Arc::new(problem));
        self.push(NONE);
    }

    /// Returns a copy of what is at this position.
    pub(crate) fn get(&self, position: usize) -> Option<Result<Found, Arc<Problem>>> {
        let entry = self.entries.get(position)?;
        if let Some(problem) = self.problems.get(&(position as u32)) {
            return Some(Err(Arc::clone(problem)));
        }
        Some(Ok(Found {
            name: self.name(position).to_vec(),
            attributes: self.attributes.get(entry.attributes as usize).copied(),
            is_blank: entry.attributes == BLANK,
        }))
    }

    /// Returns whether a member has this name.
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        !self.slots.is_empty() && self.slots[self.slot(name)] != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stay_blank() {
        let mut table = Table::default();
        table.insert(Found::named("read"));
        table.insert(Found::blank("known"));
        let is_blank = |at: usize| table.get(at).unwrap().unwrap().is_blank;
        assert!(!is_blank(0) && is_blank(1));
    }

    #[test]
    fn keeps_each_name_once_in_order() {
        let mut table = Table::default();
        let name = |number: usize| format!("a/name/of/{}", number % 5000).into_bytes();
        for number in 0..20_000 {
            assert_eq!(table.insert(Found::named(name(number))), number < 5000);
        }
        assert_eq!((table.len(), table.members()), (5000, 5000));
        for number in 0..5000 {
            assert_eq!(table.get(number).unwrap().unwrap().name, name(number));
            assert!(table.contains(&name(number)));
        }
        assert!(!table.contains(b"other") && !Table::default().contains(b""));
    }
}
