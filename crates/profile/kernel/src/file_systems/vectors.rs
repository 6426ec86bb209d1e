//! Reads the operation vectors of sampled files from the kernel's memory.
//!
//! A file system that has no file of some kind yet still has operations for it. Then the kernel's
//! symbols are searched for further vectors: objects whose names begin as the file system's functions
//! do and end as vectors do. What lies there is a vector if each of its members is 0 or points to a
//! function of the member's type.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use aya::maps::Array;
use aya::programs::Iter;
use aya::{Btf, Ebpf, EbpfLoader};

use super::layout::{Layout, VECTORS};
use super::samples::Sample;
use crate::attach::{find, read_whole};
use crate::diagnosis::{of_load, of_program};
use crate::error::KernelError;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/vectors.o");
const OF_FILES: (&str, &str) = ("write_vectors", "task_file");
const AT_ADDRESSES: (&str, &str) = ("write_words", "task");
/// `ADDRESSES` in `bpf/vectors.c`.
const ADDRESSES: usize = 8;

/// A function of the kernel or of a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    pub(super) name: String,
    /// Empty for the kernel itself.
    pub(super) module: String,
}

/// A type of file system, with what its vectors contain.
#[derive(Clone, Debug, Default)]
pub(super) struct FileSystem {
    pub(super) name: String,
    /// Address of the kernel's `file_system_type`.
    pub(super) address: u64,
    /// Names of the members that contain each function.
    pub(super) functions: BTreeMap<Symbol, BTreeSet<String>>,
    /// Where it is mounted.
    pub(super) points: Vec<PathBuf>,
    /// Super blocks of its mounts.
    pub(super) supers: Vec<u64>,
    /// Whether a file of each kind was found.
    pub(super) is_complete: bool,
}

/// Reads vectors in the kernel.
pub(super) struct Reader {
    programs: Ebpf,
}

impl Reader {
    pub(super) fn load(layout: &Layout, types: &Btf) -> Result<Reader, KernelError> {
        let mut words = [[0_u32; VECTORS]; 3];
        for (at, vector) in layout.vectors.iter().enumerate().take(VECTORS) {
            for (row, word) in words
                .iter_mut()
                .zip([vector.root, vector.offset, vector.bytes])
            {
                if let Some(place) = row.get_mut(at) {
                    *place = word;
                }
            }
        }
        let count = layout.vectors.len() as u32;
        let mut loader = EbpfLoader::new();
        loader
            .btf(Some(types))
            .override_global("vectors", &count, true)
            .override_global("vector_root", &words[0], true)
            .override_global("vector_offset", &words[1], true)
            .override_global("vector_bytes", &words[2], true);
        for (name, offset) in &layout.offsets {
            loader.override_global(name, offset, true);
        }
        let mut programs = loader.load(OBJECT).map_err(of_load)?;
        for (name, target) in [OF_FILES, AT_ADDRESSES] {
            let program: &mut Iter = find(&mut programs, name)?;
            let loaded = program.load(target, types);
            loaded.map_err(|error| of_program(name, target, error))?;
        }
        Ok(Reader { programs })
    }

    fn run(&mut self, (name, target): (&'static str, &'static str)) -> Result<String, KernelError> {
        let program: &mut Iter = find(&mut self.programs, name)?;
        let failed = |error| of_program(name, target, error);
        let link = program.attach().map_err(failed)?;
        let link = program.take_link(link).map_err(failed)?;
        let file = link.into_file().map_err(KernelError::BeginWalk)?;
        let bytes = read_whole(file).map_err(KernelError::Walk)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the types of the file systems of the samples, with the functions in their vectors.
    pub(super) fn file_systems(
        &mut self,
        layout: &Layout,
        samples: &[Sample],
    ) -> Result<Vec<FileSystem>, KernelError> {
        let text = self.run(OF_FILES)?;
        let mut by_descriptor = BTreeMap::new();
        for sample in samples {
            let numbers = sample.files.iter().map(|file: &OwnedFd| file.as_raw_fd());
            by_descriptor.extend(numbers.map(|number| (number, sample)));
        }
        let mut found: BTreeMap<u64, FileSystem> = BTreeMap::new();
        let mut current = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["F", descriptor, super_block, kind, name @ ..] => {
                    let sample = descriptor.parse().ok();
                    let sample = sample.and_then(|number: i32| by_descriptor.get(&number));
                    current = sample.map(|sample| {
                        let address = hexadecimal(kind);
                        let system = found.entry(address).or_default();
                        system.address = address;
                        system.name = name.concat();
                        system.add_mount(sample, hexadecimal(super_block));
                        address
                    });
                }
                ["V", vector, offset, symbol, module @ ..] => {
                    let system = current.and_then(|address| found.get_mut(&address));
                    let member = member(layout, vector, offset);
                    if let (Some(system), Some(member)) = (system, member) {
                        system.add(member, symbol, module);
                    }
                }
                _ => {}
            }
        }
        Ok(found.into_values().collect())
    }

    /// Returns for each address the symbols that the words there point to, by offset.
    pub(super) fn words_at(
        &mut self,
        addresses: &[u64],
    ) -> Result<Vec<BTreeMap<u32, Symbol>>, KernelError> {
        const MAP: &str = "addresses";
        let mut found = Vec::new();
        for batch in addresses.chunks(ADDRESSES) {
            let failed = |source| KernelError::Map { map: MAP, source };
            let map = self.programs.map_mut(MAP).ok_or(KernelError::Object(MAP))?;
            let mut map: Array<_, u64> = Array::try_from(map).map_err(failed)?;
            for at in 0..ADDRESSES as u32 {
                let address = batch.get(at as usize).copied().unwrap_or(0);
                map.set(at, address, 0).map_err(failed)?;
            }
            let text = self.run(AT_ADDRESSES)?;
            let mut words = vec![BTreeMap::new(); batch.len()];
            for line in text.lines() {
                let line: Vec<&str> = line.split_whitespace().collect();
                if let ["W", at, offset, symbol, module @ ..] = line.as_slice()
                    && let (Ok(at), Ok(offset)) = (at.parse::<usize>(), offset.parse())
                    && let Some(words) = words.get_mut(at)
                {
                    words.insert(offset, Symbol::new(symbol, module));
                }
            }
            found.extend(words);
        }
        Ok(found)
    }
}

fn hexadecimal(word: &str) -> u64 {
    u64::from_str_radix(word, 16).unwrap_or(0)
}

fn member<'l>(layout: &'l Layout, vector: &str, offset: &str) -> Option<&'l str> {
    let vector = layout.vectors.get(vector.parse::<usize>().ok()?)?;
    let slot = vector.slots.get(&offset.parse().ok()?)?;
    Some(&slot.name)
}

impl Symbol {
    /// As the kernel writes it: the name, and the module in brackets.
    pub(super) fn new(name: &str, module: &[&str]) -> Symbol {
        let module = module.first().copied().unwrap_or_default();
        Symbol {
            name: name.to_owned(),
            module: module.trim_matches(['[', ']']).to_owned(),
        }
    }
}

impl FileSystem {
    fn add_mount(&mut self, sample: &Sample, super_block: u64) {
        self.is_complete |= sample.is_complete;
        if !self.points.contains(&sample.point) {
            self.points.push(sample.point.clone());
        }
        if !self.supers.contains(&super_block) {
            self.supers.push(super_block);
        }
    }

    fn add(&mut self, member: &str, symbol: &str, module: &[&str]) {
        // The kernel writes an address that it has no name for as a number.
        if symbol.starts_with("0x") {
            return;
        }
        let function = self.functions.entry(Symbol::new(symbol, module));
        function.or_default().insert(member.to_owned());
    }

    /// Adds a vector that was found by its name.
    pub(super) fn add_vector(
        &mut self,
        vector: &super::layout::Vector,
        words: &BTreeMap<u32, Symbol>,
    ) {
        for (offset, slot) in &vector.slots {
            if let Some(symbol) = words.get(offset) {
                let function = self.functions.entry(symbol.clone());
                function.or_default().insert(slot.name.clone());
            }
        }
    }
}
