//! Ascending lists of numbers below a limit, such as the blocks or the documents that have a key:
//! gaps in Golomb-Rice code, of the numbers in the list or of the others if these are fewer
//! (`docs/format.md`, "Gaps").

use crate::bits::BitReader;
use crate::varint;

pub use crate::bits::BitWriter;

/// Returns the number of low bits in the Rice code of a gap.
fn rice_bits(members: u32, of: u32) -> u32 {
    let gap = u64::from(of - members) * 45 / (u64::from(members) * 64).max(1);
    (gap + 1).ilog2()
}

/// Appends the list of the numbers in `list`, which ascend, out of those below `of`.
pub fn push_list(list: &[u32], of: u32, bits: &mut BitWriter, page: &mut Vec<u8>) {
    let count = list.len() as u32;
    varint::push(page, count);
    if let [only] = list {
        return varint::push(page, *only);
    }
    let absent: Vec<u32>;
    let mut members = list;
    if count > of / 2 {
        let mut rest = list.iter().copied().peekable();
        absent = (0..of)
            .filter(|number| rest.next_if_eq(number).is_none())
            .collect();
        members = &absent;
    }
    bits.clear();
    let rice = rice_bits(members.len() as u32, of);
    let mut next = 0;
    for number in members {
        bits.push_rice(number - next, rice);
        next = number + 1;
    }
    let bytes = bits.finish();
    varint::push(page, bytes.len() as u32);
    page.extend_from_slice(bytes);
}

/// A set of numbers below a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    words: Vec<u64>,
    of: u32,
}

impl Set {
    /// Returns the empty set below `of`.
    pub fn none(of: u32) -> Set {
        let words = vec![0; of.div_ceil(64) as usize];
        Set { words, of }
    }

    /// Returns the set of all numbers below `of`.
    pub fn all(of: u32) -> Set {
        let mut set = Set::none(of);
        (0..of).for_each(|number| set.insert(number));
        set
    }

    fn insert(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }

    fn remove(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Returns whether a number is in the set.
    pub fn contains(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Returns how many numbers are in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Removes the numbers that are not in the other set.
    pub fn keep_common(&mut self, other: &Set) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Adds the numbers of the other set.
    pub fn add_all(&mut self, other: &Set) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Returns the numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().zip(0u32..).flat_map(|(word, at)| {
            let first = Some(*word).filter(|word| *word != 0);
            let without_lowest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
            std::iter::successors(first, without_lowest)
                .map(move |rest| at * 64 + rest.trailing_zeros())
        })
    }
}

/// A list as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct List<'b> {
    count: u32,
    /// The only number, or gaps.
    body: Body<'b>,
}

#[derive(Clone, Copy, Debug)]
enum Body<'b> {
    Only(u32),
    Gaps(&'b [u8]),
}

impl<'b> List<'b> {
    /// Takes a list from the front; `None` if the bytes end early.
    pub fn take(bytes: &mut &'b [u8]) -> Option<List<'b>> {
        let count = varint::take(bytes)?;
        let body = if count == 1 {
            Body::Only(varint::take(bytes)?)
        } else {
            let length = varint::take(bytes)? as usize;
            let (gaps, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Body::Gaps(gaps)
        };
        Some(List { count, body })
    }

    /// Returns how many numbers it says that it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the numbers; `None` if they are not those of a list below `of`.
    pub fn read(&self, of: u32) -> Option<Set> {
        let count = self.count;
        let bits = match self.body {
            Body::Gaps(bits) => bits,
            Body::Only(only) => {
                let mut set = Set::none(of);
                set.insert(only);
                return (only < of).then_some(set);
            }
        };
        if count == 0 || count > of {
            return None;
        }
        let is_absent = count > of / 2;
        let members = if is_absent { of - count } else { count };
        let mut set = if is_absent {
            Set::all(of)
        } else {
            Set::none(of)
        };
        let rice = rice_bits(members, of);
        let mut bits = BitReader::new(bits);
        let mut next = 0u32;
        for _ in 0..members {
            let number = next.checked_add(bits.take_rice(rice)?)?;
            if number >= of {
                return None;
            }
            match is_absent {
                true => set.remove(number),
                false => set.insert(number),
            }
            next = number + 1;
        }
        Some(set)
    }
}
