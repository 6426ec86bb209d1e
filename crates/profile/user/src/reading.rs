//! The calls that programs have recorded so far.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use trawl_histogram::{Counts, Histogram, Profile};
use trawl_profile_mapping::CallSites;
use trawl_profile_mapping::calls::{NAMES, OPERATIONS};
use trawl_profile_mapping::layout::{
    DROPPED_AT, ENTRY_STATE_AT, MODULE_PATH_AT, MODULE_PATH_BYTES_AT, MODULE_PATH_BYTES_MAX,
    MODULES_MAX, NAME_BYTES_MAX, NEXT_AT, REGION_NAME_AT, REGION_NAME_BYTES_AT, REGION_PROCESS_AT,
    REGION_THREAD_AT, STATE_MASK, STATE_NEW, TAGS, Tag, site_of,
};

use crate::block::{self, Block};
use crate::{Session, Threads};

/// The calls that programs have recorded so far. Each profile satisfies [`Profile::check`].
#[derive(Clone, Debug)]
pub struct Reading {
    /// All programs together, with the calls that were dropped for want of a region.
    pub whole: Profile,
    /// For each program, by the name of its file.
    pub programs: BTreeMap<String, Profile>,
    /// For each thread, if the session tells them apart; in the order of their first calls.
    pub threads: Vec<Thread>,
    /// For each call site, if the session tells them apart.
    pub call_sites: Vec<CallSite>,
    /// If so: calls of sites for which there was no room.
    pub other_sites: Profile,
    /// Calls that were dropped because all regions were in use, or made by children of vfork(2)
    /// whose parents had none.
    pub without_region: u64,
    /// Regions that were given out.
    pub regions: usize,
    /// Counts of which a part was derived, because their thread was killed or did not pause while
    /// they changed.
    pub derived: u64,
    /// Operations left out because their counts contradict each other.
    pub damaged: Vec<Damage>,
}

/// The profile of one thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The name of its program's file.
    pub program: String,
    /// Process id, in the program's PID namespace.
    pub process: u32,
    /// Thread id, likewise.
    pub thread: u32,
    /// Its calls.
    pub profile: Profile,
}

/// The profile of one call site.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// The file that is mapped there; empty if it is unknown.
    pub module: PathBuf,
    /// The address to which the call returns, as the file's symbol table counts.
    pub offset: u64,
    /// Its calls.
    pub profile: Profile,
}

/// A call site: module and offset.
type Site = (usize, u64);
type Sites = BTreeMap<Site, Profile>;
/// The number of a block, its operation, and its call site.
type OwnedBlock = (usize, usize, Option<Site>);

/// Counts that contradict themselves: the program has overwritten them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The program.
    pub program: String,
    /// The operation.
    pub operation: &'static str,
    /// The contradiction.
    pub cause: String,
}

impl Session {
    /// Returns what programs have recorded until now. It may be called at any time, also while they
    /// run.
    pub fn read(&self) -> Reading {
        let given_out = usize::try_from(self.word(NEXT_AT)).unwrap_or(usize::MAX);
        let mut reading = Reading {
            whole: self.empty(),
            programs: BTreeMap::new(),
            threads: Vec::new(),
            call_sites: Vec::new(),
            other_sites: self.empty(),
            without_region: 0,
            regions: given_out.min(self.layout.regions()),
            derived: 0,
            damaged: Vec::new(),
        };
        let mut sites = Sites::new();
        for region in 0..reading.regions {
            let state = self.word(self.layout.entry(region) + ENTRY_STATE_AT) & STATE_MASK;
            if state != STATE_NEW {
                self.read_region(region, &mut sites, &mut reading);
            }
        }
        let named = |((module, offset), profile)| CallSite {
            module: self.module(module),
            offset,
            profile,
        };
        reading.call_sites = sites.into_iter().map(named).collect();
        for (number, name) in NAMES.iter().enumerate() {
            let dropped = self.word(DROPPED_AT + number);
            if dropped > 0 {
                self.add_dropped(name, dropped, &mut reading);
            }
        }
        reading
    }

    fn empty(&self) -> Profile {
        let mut profile = Profile::new(self.unit(), self.resolution);
        "user".clone_into(&mut profile.layer);
        profile
    }

    /// Adds a thread's counts to the reading.
    fn read_region(&self, region: usize, sites: &mut Sites, reading: &mut Reading) {
        let program = self.program(region);
        let mut profile = self.empty();
        for (number, operation, site) in self.blocks(region) {
            let words = self.some_words(self.layout.block_range(region, number));
            let Some((block, name)) = block::read(words, self.resolution).zip(NAMES.get(operation))
            else {
                continue;
            };
            reading.derived += u64::from(block.is_derived);
            let added = self.add(name, block, &program, &mut profile, reading);
            let added = added.and_then(|histogram| {
                let of_site = match site {
                    Some(site) => sites.entry(site).or_insert_with(|| self.empty()),
                    None => &mut reading.other_sites,
                };
                of_site.add(name, &histogram).map_err(|e| e.to_string())
            });
            if let Err(cause) = added {
                reading.damaged.push(Damage {
                    program: program.clone(),
                    operation: name,
                    cause,
                });
            }
        }
        if self.threads == Threads::Apart && !profile.is_empty() {
            let start = self.layout.region(region);
            reading.threads.push(Thread {
                program,
                process: self.word(start + REGION_PROCESS_AT) as u32,
                thread: self.word(start + REGION_THREAD_AT) as u32,
                profile,
            });
        }
    }

    /// Returns the blocks of a region.
    fn blocks(&self, region: usize) -> Vec<OwnedBlock> {
        let plain = (0..OPERATIONS).map(|number| (number, number, None));
        if self.layout.sites() == CallSites::Ignored {
            return plain.collect();
        }
        let tags = self.layout.region(region) + self.layout.tags();
        let of_site = |at: usize| {
            let tag = Tag::of(self.word(tags + at))?;
            let site = site_of(self.word(self.layout.site(tag.site)));
            Some((OPERATIONS + tag.block, tag.operation, site))
        };
        let mut blocks: Vec<_> = plain.chain((0..TAGS).filter_map(of_site)).collect();
        // A program that overwrites the tags counts no block twice.
        blocks.sort_unstable();
        blocks.dedup_by_key(|(number, _, _)| *number);
        blocks
    }

    /// Returns the path of a module; empty if it is unknown.
    fn module(&self, module: usize) -> PathBuf {
        if module >= MODULES_MAX {
            return PathBuf::new();
        }
        let start = self.layout.module(module);
        let bytes = self.bytes(start + MODULE_PATH_AT, MODULE_PATH_BYTES_MAX);
        let length = self.word(start + MODULE_PATH_BYTES_AT);
        OsString::from_vec(cut(bytes, length)).into()
    }

    /// Adds an operation's counts everywhere or, if they are damaged, nowhere.
    fn add(
        &self,
        name: &str,
        block: Block,
        program: &str,
        thread: &mut Profile,
        reading: &mut Reading,
    ) -> Result<Histogram, String> {
        let histogram = block.histogram.map_err(|fault| fault.to_string())?;
        // Forged counts may be too great to be added. The whole has the greatest ones.
        let whole = &mut reading.whole;
        whole.add(name, &histogram).map_err(|e| e.to_string())?;
        let of_program = reading.programs.entry(program.to_owned());
        let of_program = of_program.or_insert_with(|| self.empty());
        of_program
            .add(name, &histogram)
            .map_err(|e| e.to_string())?;
        thread.add(name, &histogram).map_err(|e| e.to_string())?;
        Ok(histogram)
    }

    fn add_dropped(&self, name: &'static str, dropped: u64, reading: &mut Reading) {
        let counts = Counts {
            entered: dropped,
            left: dropped,
            dropped,
            ..Counts::default()
        };
        let added = Histogram::from_parts(self.resolution, counts, Vec::new())
            .map_err(|fault| fault.to_string())
            .and_then(|one| reading.whole.add(name, &one).map_err(|e| e.to_string()));
        match added {
            Ok(()) => reading.without_region = reading.without_region.saturating_add(dropped),
            Err(cause) => reading.damaged.push(Damage {
                program: String::new(),
                operation: name,
                cause,
            }),
        }
    }

    /// Returns the name of a region's program, with odd characters replaced.
    fn program(&self, region: usize) -> String {
        let start = self.layout.region(region);
        let bytes = self.bytes(start + REGION_NAME_AT, NAME_BYTES_MAX);
        let bytes = cut(bytes, self.word(start + REGION_NAME_BYTES_AT));
        let name = String::from_utf8_lossy(&bytes);
        let is_odd = |one: char| one.is_control() || one.is_whitespace();
        match name.is_empty() {
            true => "?".to_owned(),
            false => name.replace(is_odd, "?"),
        }
    }

    /// Returns bytes that begin at a word.
    fn bytes(&self, start: usize, count: usize) -> Vec<u8> {
        let words = (0..count / 8).map(|at| self.word(start + at));
        words.flat_map(u64::to_ne_bytes).collect()
    }
}

/// Returns bytes without those behind a length, which may be forged.
fn cut(mut bytes: Vec<u8>, length: u64) -> Vec<u8> {
    bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
    bytes
}
