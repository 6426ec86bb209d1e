//! Where each number lies in the shared memory. All are words of 64 bits in the machine's order.
//!
//! ```text
//! header      HEADER_WORDS: what the profiler asks for, and what programs share
//! directory   ENTRY_WORDS for each region: state and program, owner, its PID namespace, unused
//! modules     MODULE_WORDS for each file that holds call sites, if these are told apart
//! sites       a word for each call site, likewise: a key of module and offset
//! regions     one for each thread: REGION_HEADER_WORDS, then one block for each operation; if call
//!             sites are told apart, further blocks and a word for each that says whose it is
//! ```
//!
//! Modules, sites and these last words are hash tables without removal: a free word is 0, and whoever
//! changes it first from 0 has the place.
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
pub const VERSION: u64 = 2;

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
/// Index of the header's word with the flags [`FLAG_MEASURE`], [`FLAG_CLOCK_ONLY`],
/// [`FLAG_THREADS`] and [`FLAG_SITES`].
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
/// Call sites are told apart.
pub const FLAG_SITES: u64 = 8;

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
/// Index of the word with the number of blocks that were given out to call sites, in a region.
pub const REGION_BLOCKS_AT: usize = 3;
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

/// Number of modules: a power of two.
pub const MODULES_MAX: usize = 512;
/// Words of a module: a hash of its path, the path's length in bytes, and the path.
pub const MODULE_WORDS: usize = 64;
/// Index of the hash in a module; 0 for none.
pub const MODULE_HASH_AT: usize = 0;
/// Index of the path's length in a module, written last.
pub const MODULE_PATH_BYTES_AT: usize = 1;
/// Index of the first word of the path in a module.
pub const MODULE_PATH_AT: usize = 2;
/// The most bytes of a module's path; longer ones are cut.
pub const MODULE_PATH_BYTES_MAX: usize = (MODULE_WORDS - MODULE_PATH_AT) * 8;
/// Number of call sites: a power of two.
pub const SITES_MAX: usize = 4096;
/// Number of pairs of an operation and a call site with a block of their own, in each region.
pub const SITE_BLOCKS: usize = 384;
/// Words that say whose the blocks are, in each region: a power of two, not all of which are used.
pub const TAGS: usize = 512;
/// Number of places that are tried in any of these tables.
pub const PROBES: usize = 64;

const _: () = assert!(DROPPED_AT + OPERATIONS <= HEADER_WORDS);
const _: () = assert!(REGION_NAME_AT + NAME_BYTES_MAX / 8 <= REGION_HEADER_WORDS);

/// Whether call sites are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSites {
    /// They are not.
    Ignored,
    /// Each has counts of its own.
    Apart,
}

/// The module and the offset of a call site, as one word that is not 0. The offset is that of the
/// return address in the module's file, as its symbol table counts. Sites of an unknown module are
/// one site, of module [`MODULES_MAX`].
pub const fn site_key(module: usize, offset: u64) -> u64 {
    match module < MODULES_MAX && offset <= SITE_OFFSET_MAX {
        true => offset << SITE_OFFSET_SHIFT | (module as u64 + 1),
        false => MODULES_MAX as u64 + 1,
    }
}

/// Returns the module and the offset behind a word; `None` if it is free or forged.
pub const fn site_of(key: u64) -> Option<(usize, u64)> {
    let module = key & ((1 << SITE_OFFSET_SHIFT) - 1);
    match module == 0 || module > MODULES_MAX as u64 + 1 {
        true => None,
        false => Some((module as usize - 1, key >> SITE_OFFSET_SHIFT)),
    }
}

const SITE_OFFSET_SHIFT: u32 = 10;
const SITE_OFFSET_MAX: u64 = u64::MAX >> SITE_OFFSET_SHIFT;
const _: () = assert!(MODULES_MAX + 1 < 1 << SITE_OFFSET_SHIFT);

/// Whose a block is: an operation at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Index in the table of sites.
    pub site: usize,
    /// Number of the operation.
    pub operation: usize,
    /// Number of the block, from 0, behind those of the operations.
    pub block: usize,
}

const TAG_OPERATION_SHIFT: u32 = 16;
const TAG_SITE_SHIFT: u32 = 32;

impl Tag {
    /// Returns the tag as a word, which is not 0.
    pub const fn word(self) -> u64 {
        Tag::whose(self.site, self.operation) | (self.block as u64 + 1)
    }

    /// Returns the part of a word that says whose the block is.
    pub const fn whose(site: usize, operation: usize) -> u64 {
        (site as u64) << TAG_SITE_SHIFT | (operation as u64) << TAG_OPERATION_SHIFT
    }

    /// Returns the tag of a word; `None` if it is free or forged.
    pub const fn of(word: u64) -> Option<Tag> {
        let (low, site) = (word & 0xffff, word >> TAG_SITE_SHIFT);
        let operation = word >> TAG_OPERATION_SHIFT & 0xffff;
        let is_tag = low != 0
            && low <= SITE_BLOCKS as u64
            && operation < OPERATIONS as u64
            && site < SITES_MAX as u64;
        match is_tag {
            true => Some(Tag {
                site: site as usize,
                operation: operation as usize,
                block: low as usize - 1,
            }),
            false => None,
        }
    }
}

/// Returns where the search for a word begins in a table of this size.
pub const fn first_probe(word: u64, size: usize) -> usize {
    // Fibonacci hashing: the upper bits depend on all of the word.
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (size - 1)
}

/// The places of everything for one resolution and number of regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    resolution: u8,
    regions: usize,
    sites: CallSites,
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
    pub const fn new(
        resolution: u64,
        regions: u64,
        sites: CallSites,
    ) -> Result<Layout, LayoutError> {
        if resolution == 0 || resolution > RESOLUTION_MAX {
            return Err(LayoutError::Resolution(resolution));
        }
        if regions == 0 || regions > REGIONS_MAX as u64 {
            return Err(LayoutError::Regions(regions));
        }
        Ok(Layout {
            resolution: resolution as u8,
            regions: regions as usize,
            sites,
        })
    }

    /// Returns the layout that a header describes, if it is one of this version. `word` returns the
    /// header's words.
    pub fn of_header(word: impl Fn(usize) -> u64) -> Result<Layout, LayoutError> {
        let is_ours = word(MAGIC_AT) == MAGIC
            && word(VERSION_AT) == VERSION
            && word(OPERATIONS_AT) == OPERATIONS as u64;
        let sites = match word(FLAGS_AT) & FLAG_SITES {
            0 => CallSites::Ignored,
            _ => CallSites::Apart,
        };
        match is_ours {
            true => Layout::new(word(RESOLUTION_AT), word(REGIONS_AT), sites),
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

    /// Returns whether call sites are told apart.
    pub const fn sites(&self) -> CallSites {
        self.sites
    }

    /// Returns the number of blocks of a region.
    pub const fn blocks(&self) -> usize {
        match self.sites {
            CallSites::Ignored => OPERATIONS,
            CallSites::Apart => OPERATIONS + SITE_BLOCKS,
        }
    }

    /// Returns the number of words of a region.
    pub const fn region_words(&self) -> usize {
        let tags = match self.sites {
            CallSites::Ignored => 0,
            CallSites::Apart => TAGS,
        };
        (self.tags() + tags).next_multiple_of(PAGE_WORDS)
    }

    /// Returns where the words that say whose the blocks are begin in a region.
    pub const fn tags(&self) -> usize {
        REGION_HEADER_WORDS + self.blocks() * self.block_words()
    }

    const fn directory_words(&self) -> usize {
        (self.regions * ENTRY_WORDS).next_multiple_of(PAGE_WORDS)
    }

    /// Returns where a module begins.
    pub const fn module(&self, module: usize) -> usize {
        HEADER_WORDS + self.directory_words() + module * MODULE_WORDS
    }

    /// Returns where a call site's word lies.
    pub const fn site(&self, site: usize) -> usize {
        self.module(MODULES_MAX) + site
    }

    /// Returns where a region's entry begins.
    pub const fn entry(&self, region: usize) -> usize {
        HEADER_WORDS + region * ENTRY_WORDS
    }

    /// Returns where a region begins.
    pub const fn region(&self, region: usize) -> usize {
        let start = match self.sites {
            CallSites::Ignored => HEADER_WORDS + self.directory_words(),
            CallSites::Apart => self.site(SITES_MAX),
        };
        start + region * self.region_words()
    }

    /// Returns where a block begins in its region. The first ones are those of the operations.
    pub const fn block(&self, block: usize) -> usize {
        REGION_HEADER_WORDS + block * self.block_words()
    }

    /// Returns the words of a block.
    pub fn block_range(&self, region: usize, block: usize) -> Range<usize> {
        let start = self.region(region) + self.block(block);
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
        let both = [CallSites::Ignored, CallSites::Apart];
        let all = (1..=RESOLUTION_MAX).flat_map(|resolution| both.map(|sites| (resolution, sites)));
        for (resolution, sites) in all {
            let layout = Layout::new(resolution, 300, sites).expect("in range");
            let last = layout.block_range(7, layout.blocks() - 1);
            assert_eq!(last.end, layout.region(7) + layout.tags());
            if sites == CallSites::Apart {
                assert!(layout.entry(300) <= layout.module(0));
                assert_eq!(layout.module(MODULES_MAX), layout.site(0));
                assert!(layout.site(SITES_MAX - 1) < layout.region(0));
                assert!(layout.region(7) + layout.tags() + TAGS <= layout.region(8));
            }
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
        let plain = |resolution, regions| Layout::new(resolution, regions, CallSites::Ignored);
        assert_eq!(words(MAGIC, 2, 5), plain(2, 5));
        assert_eq!(words(0, 2, 5), Err(LayoutError::Header));
        assert_eq!(words(MAGIC, 9, 5), Err(LayoutError::Resolution(9)));
        assert_eq!(words(MAGIC, 2, 0), Err(LayoutError::Regions(0)));
        assert_eq!(words(MAGIC, 2, 1 << 40), Err(LayoutError::Regions(1 << 40)));
    }

    #[test]
    fn sites_and_tags_are_read_back_and_forged_ones_are_refused() {
        for site in [(0, 0), (MODULES_MAX - 1, 0x7fff_ffff_ffff), (3, 1)] {
            assert_eq!(site_of(site_key(site.0, site.1)), Some(site));
        }
        let unknown = Some((MODULES_MAX, 0));
        assert_eq!(site_of(site_key(MODULES_MAX, 77)), unknown);
        assert_eq!(site_of(site_key(1, u64::MAX)), unknown);
        assert_eq!((site_of(0), site_of(0x3ff)), (None, None));
        let tag = Tag {
            site: SITES_MAX - 1,
            operation: OPERATIONS - 1,
            block: SITE_BLOCKS - 1,
        };
        assert_eq!(Tag::of(tag.word()), Some(tag));
        assert_eq!(tag.word() & !0xffff, Tag::whose(tag.site, tag.operation));
        for forged in [0, u64::MAX, tag.word() + 1, tag.word() + (1 << 32)] {
            assert_eq!(Tag::of(forged), None, "{forged:x}");
        }
    }
}
