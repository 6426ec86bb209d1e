//! Where each number lies in the shared memory. All are words of 64 bits in the machine's order.
//!
//! ```text
//! header      HEADER_WORDS: what the profiler asks for, and what programs share
//! directory   ENTRY_WORDS for each region: state and program, owner, its PID namespace, unused
//! regions     one for each thread: REGION_HEADER_WORDS, then one block for each operation
//! ```
//!
//! A block begins with [`BLOCK_HEADER_WORDS`] words, one cache line, and has 64·r buckets. Zero is
//! the state of a block without calls, so that untouched pages take no memory; therefore the least
//! latency is stored as its complement.
//!
//! The directory and the regions begin at page borders. Programs write all of this, so readers
//! trust none of it except what the profiler itself remembers.

use std::ops::Range;

use crate::calls::OPERATIONS;

/// The first word: tells this memory from other files.
pub const MAGIC: u64 = u64::from_le_bytes(*b"trawlupm");
/// The version of this layout and of the table of functions.
pub const VERSION: u64 = 1;

/// Index of the header's word with [`MAGIC`].
pub const MAGIC_AT: usize = 0;
/// Index of the header's word with [`VERSION`].
pub const VERSION_AT: usize = 1;
/// Index of the header's word with the resolution.
pub const RESOLUTION_AT: usize = 2;
/// Index of the header's word with the number of operations.
pub const OPERATIONS_AT: usize = 3;
/// Index of the header's word with the number of regions.
pub const REGIONS_AT: usize = 4;
/// Index of the header's word with the clock: [`CLOCK_MONOTONIC`] or [`CLOCK_CYCLES`].
pub const CLOCK_AT: usize = 5;
/// Index of the header's word with the flags [`FLAG_MEASURE`], [`FLAG_CLOCK_ONLY`] and
/// [`FLAG_THREADS`].
pub const FLAGS_AT: usize = 6;
/// Index of the header's word with the number of regions that were given out, on a cache line of its
/// own.
pub const NEXT_AT: usize = 8;
/// Index of the first of the words with the results of a measurement, [`Measured`].
pub const MEASURED_AT: usize = 16;
/// Index of the first of the words that count, for each operation, calls without a region.
pub const DROPPED_AT: usize = 64;
/// Words of the header: one page of 4 KiB.
pub const HEADER_WORDS: usize = 512;

/// Latencies are nanoseconds of CLOCK_MONOTONIC.
pub const CLOCK_MONOTONIC: u64 = 0;
/// Latencies are cycles of the CPU's counter.
pub const CLOCK_CYCLES: u64 = 1;

/// The program that maps the memory measures the probe and ends, before its own code runs.
pub const FLAG_MEASURE: u64 = 1;
/// Regions of ended threads are not continued by others.
pub const FLAG_THREADS: u64 = 2;
/// With [`FLAG_MEASURE`]: the clock is measured, the cost is not.
pub const FLAG_CLOCK_ONLY: u64 = 4;

/// The words of a measurement, from [`MEASURED_AT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Measured {
    /// 1 when the others are valid.
    IsDone,
    /// Frequency of the cycle counter in Hz; 0 if it is not invariant.
    FrequencyHz,
    /// Cost of recording one call, in picoseconds.
    CostPs,
    /// The part of it that lies between the two readings of the clock, in picoseconds.
    InsidePs,
    /// Cost of one call with CLOCK_MONOTONIC, in picoseconds.
    MonotonicPs,
}

/// Words of a region's entry in the directory.
pub const ENTRY_WORDS: usize = 4;
/// Index of an entry's state, in the lowest two bits, and a hash of the program's name.
pub const ENTRY_STATE_AT: usize = 0;
/// Index of an entry's owner: process id, and thread id in the lower 32 bits.
pub const ENTRY_OWNER_AT: usize = 1;
/// Index of an entry's PID namespace, in which the ids are valid; 0 if it is unknown.
pub const ENTRY_NAMESPACE_AT: usize = 2;

/// The bits of an entry's state.
pub const STATE_MASK: u64 = 3;
/// The region was not given out, or is being prepared.
pub const STATE_NEW: u64 = 0;
/// A thread writes the region.
pub const STATE_LIVE: u64 = 1;
/// The thread has ended: another thread of the same program may continue.
pub const STATE_ENDED: u64 = 2;

/// Words of a region before its blocks.
pub const REGION_HEADER_WORDS: usize = 16;
/// Index of the word with the process id, in a region.
pub const REGION_PROCESS_AT: usize = 0;
/// Index of the word with the thread id, in a region.
pub const REGION_THREAD_AT: usize = 1;
/// Index of the word with the length of the program's name, in a region.
pub const REGION_NAME_BYTES_AT: usize = 2;
/// Index of the first word of the program's name, in a region.
pub const REGION_NAME_AT: usize = 4;
/// The most bytes of a program's name; longer ones are cut.
pub const NAME_BYTES_MAX: usize = 64;

/// Words of a block before its buckets.
pub const BLOCK_HEADER_WORDS: usize = 8;
/// Index of a block's sequence number: odd while the owner changes the block.
pub const SEQUENCE_AT: usize = 0;
/// Index of a block's count of calls that entered.
pub const ENTERED_AT: usize = 1;
/// Index of a block's count of calls that left.
pub const LEFT_AT: usize = 2;
/// Index of a block's count of calls that left without a usable latency.
pub const DROPPED_IN_BLOCK_AT: usize = 3;
/// Index of the lower word of a block's total latency.
pub const TOTAL_AT: usize = 4;
/// Index of the complement of a block's least latency.
pub const LEAST_COMPLEMENT_AT: usize = 6;
/// Index of a block's greatest latency.
pub const GREATEST_AT: usize = 7;

/// Words of a page, as far as alignment is concerned.
const PAGE_WORDS: usize = 512;
/// The most regions.
pub const REGIONS_MAX: usize = 1 << 16;
/// The greatest resolution.
pub const RESOLUTION_MAX: u64 = 8;

const _: () = assert!(DROPPED_AT + OPERATIONS <= HEADER_WORDS);
const _: () = assert!(REGION_NAME_AT + NAME_BYTES_MAX / 8 <= REGION_HEADER_WORDS);

/// The places of everything for one resolution and number of regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    resolution: u8,
    regions: usize,
}

/// Why shared memory is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The resolution is not 1 to 8.
    Resolution(u64),
    /// The number of regions is not 1 to [`REGIONS_MAX`].
    Regions(u64),
    /// The header is not that of shared memory of this version.
    Header,
}

impl Layout {
    /// Returns the layout for a resolution and a number of regions.
    pub const fn new(resolution: u64, regions: u64) -> Result<Layout, LayoutError> {
        if resolution == 0 || resolution > RESOLUTION_MAX {
            return Err(LayoutError::Resolution(resolution));
        }
        if regions == 0 || regions > REGIONS_MAX as u64 {
            return Err(LayoutError::Regions(regions));
        }
        Ok(Layout {
            resolution: resolution as u8,
            regions: regions as usize,
        })
    }

    /// Returns the layout that a header describes, if it is one of this version. `word` returns the
    /// header's words.
    pub fn of_header(word: impl Fn(usize) -> u64) -> Result<Layout, LayoutError> {
        let is_ours = word(MAGIC_AT) == MAGIC
            && word(VERSION_AT) == VERSION
            && word(OPERATIONS_AT) == OPERATIONS as u64;
        match is_ours {
            true => Layout::new(word(RESOLUTION_AT), word(REGIONS_AT)),
            false => Err(LayoutError::Header),
        }
    }

    /// Returns the resolution.
    pub const fn resolution(&self) -> u8 {
        self.resolution
    }

    /// Returns the number of regions.
    pub const fn regions(&self) -> usize {
        self.regions
    }

    /// Returns the number of buckets of a block.
    pub const fn buckets(&self) -> usize {
        64 * self.resolution as usize
    }

    /// Returns the number of words of a block.
    pub const fn block_words(&self) -> usize {
        BLOCK_HEADER_WORDS + self.buckets()
    }

    /// Returns the number of words of a region.
    pub const fn region_words(&self) -> usize {
        let words = REGION_HEADER_WORDS + OPERATIONS * self.block_words();
        words.next_multiple_of(PAGE_WORDS)
    }

    /// Returns where a region's entry begins.
    pub const fn entry(&self, region: usize) -> usize {
        HEADER_WORDS + region * ENTRY_WORDS
    }

    /// Returns where a region begins.
    pub const fn region(&self, region: usize) -> usize {
        let directory = (self.regions * ENTRY_WORDS).next_multiple_of(PAGE_WORDS);
        HEADER_WORDS + directory + region * self.region_words()
    }

    /// Returns where a block begins in its region.
    pub const fn block(&self, operation: usize) -> usize {
        REGION_HEADER_WORDS + operation * self.block_words()
    }

    /// Returns the words of a block.
    pub fn block_range(&self, region: usize, operation: usize) -> Range<usize> {
        let start = self.region(region) + self.block(operation);
        start..start + self.block_words()
    }

    /// Returns the number of words of the whole memory.
    pub const fn words(&self) -> usize {
        self.region(self.regions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        for resolution in 1..=RESOLUTION_MAX {
            let layout = Layout::new(resolution, 300).expect("in range");
            assert!(layout.entry(300) <= layout.region(0));
            let last = layout.block_range(7, OPERATIONS - 1);
            assert!(last.end <= layout.region(8));
            assert_eq!(layout.region(0) % PAGE_WORDS, 0);
            assert_eq!(layout.region(1) % PAGE_WORDS, 0);
            assert_eq!(layout.words(), layout.region(300));
            // The header of each block is one cache line.
            assert_eq!(layout.block_range(3, 5).start % 8, 0);
        }
    }

    #[test]
    fn foreign_headers_are_refused() {
        let words = |magic, resolution, regions| {
            let mut header = [0; HEADER_WORDS];
            header[MAGIC_AT] = magic;
            header[VERSION_AT] = VERSION;
            header[OPERATIONS_AT] = OPERATIONS as u64;
            header[RESOLUTION_AT] = resolution;
            header[REGIONS_AT] = regions;
            Layout::of_header(|at| header[at])
        };
        assert_eq!(words(MAGIC, 2, 5), Layout::new(2, 5));
        assert_eq!(words(0, 2, 5), Err(LayoutError::Header));
        assert_eq!(words(MAGIC, 9, 5), Err(LayoutError::Resolution(9)));
        assert_eq!(words(MAGIC, 2, 0), Err(LayoutError::Regions(0)));
        assert_eq!(words(MAGIC, 2, 1 << 40), Err(LayoutError::Regions(1 << 40)));
    }
}
