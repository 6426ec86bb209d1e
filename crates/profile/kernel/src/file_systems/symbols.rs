//! Finds vectors by the names of the kernel's symbols: those of mappings, to which no file points, and
//! others where a file system has no file of some kind.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};

use super::layout::{Layout, Vector};
use super::types::{Types, kind};
use super::vectors::{FileSystem, Reader, Symbol};
use crate::error::KernelError;

const SYMBOLS: &str = "/proc/kallsyms";
/// How the kernel's sources name vectors: `ext4_file_operations`, `shmem_aops`.
const ENDINGS: [&str; 2] = ["operations", "ops"];
/// Parts of the names of vectors that serve a device or a control file of the file system's module:
/// a read of `/dev/fuse` lasts as long as its server has nothing to do.
const DEVICES: [&str; 2] = ["_dev_", "_ctl_"];
/// Types of symbols that are data, as nm(1) has them.
const DATA: [&str; 6] = ["d", "D", "r", "R", "b", "B"];
/// How they name those of mappings: `ext4_file_vm_ops`, `ceph_vmops`.
const OF_MAPPINGS: [&str; 2] = ["vm_ops", "vmops"];
/// How functions that give a mapping the kernel's own vector begin, what else they contain, and that
/// vector.
const GENERIC: (&str, &str, &str) = ("generic_file_", "mmap", "generic_file_vm_ops");
const ADDRESSES_MAX: usize = 256;

/// Type information of each module that contains a function of a vector.
pub(super) type Modules<'k> = BTreeMap<String, Types<'k>>;

/// Adds the vectors of mappings, and completes the file systems of which no file of some kind was found.
pub(super) fn complete(
    systems: &mut [FileSystem],
    reader: &mut Reader,
    layout: &Layout,
    kernel: &Types<'_>,
    modules: &Modules<'_>,
) -> Result<(), KernelError> {
    let candidates = candidates(systems);
    let addresses: Vec<u64> = candidates.iter().map(|found| found.address).collect();
    let words = reader.words_at(&addresses)?;
    let check = Check {
        signatures: signatures(&words, kernel, modules),
    };
    for (candidate, words) in candidates.iter().zip(&words) {
        let mut vectors: Box<dyn Iterator<Item = &Vector>> = match candidate.is_of_mappings {
            true => Box::new(layout.of_mappings.iter()),
            false => Box::new(layout.vectors.iter()),
        };
        let vector = vectors.find(|vector| check.is_vector(vector, words));
        if let (Some(vector), Some(system)) = (vector, systems.get_mut(candidate.system)) {
            system.add_vector(vector, words);
        }
    }
    Ok(())
}

struct Candidate {
    system: usize,
    address: u64,
    is_of_mappings: bool,
}

/// How the names of a file system's own functions begin, up to the first `_`.
struct Prefix {
    system: usize,
    text: String,
    module: String,
    /// Whether most of its own functions begin so, and it has no file of some kind.
    is_for_all: bool,
}

impl Prefix {
    fn fits(&self, symbol: &Symbol, is_of_mappings: bool) -> bool {
        let is_wanted = self.is_for_all || is_of_mappings;
        is_wanted && symbol.module == self.module && symbol.name.starts_with(&self.text)
    }
}

/// Returns the objects whose names look like those of vectors; empty if this process may not read
/// addresses.
fn candidates(systems: &[FileSystem]) -> Vec<Candidate> {
    let prefixes: Vec<Prefix> = (0..systems.len())
        .flat_map(|at| prefixes(systems, at))
        .collect();
    let generic: Vec<usize> = (0..systems.len())
        .filter(|at| systems.get(*at).is_some_and(maps_generically))
        .collect();
    let Ok(file) = std::fs::File::open(SYMBOLS) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in BufReader::with_capacity(1 << 16, file).lines() {
        let Ok(line) = line else { break };
        let Some((address, symbol)) = vector_named_in(&line) else {
            continue;
        };
        let is_of_mappings = OF_MAPPINGS.iter().any(|part| symbol.name.contains(part));
        let is_generic = symbol.module.is_empty() && symbol.name == GENERIC.2;
        let of_prefixes = prefixes
            .iter()
            .filter(|prefix| prefix.fits(&symbol, is_of_mappings))
            .map(|prefix| prefix.system);
        let of_generic = generic.iter().copied().filter(|_| is_generic);
        found.extend(of_prefixes.chain(of_generic).map(|system| Candidate {
            system,
            address,
            is_of_mappings,
        }));
    }
    found.truncate(ADDRESSES_MAX);
    found
}

/// Returns the object that a line of the table of symbols names, if its name looks like a vector's.
fn vector_named_in(line: &str) -> Option<(u64, Symbol)> {
    if !line.contains("ops") && !line.contains("operations") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [address, letter, name, module @ ..] = words.as_slice() else {
        return None;
    };
    let is_vector = DATA.contains(letter)
        && ENDINGS.iter().any(|end| name.ends_with(end))
        && !DEVICES.iter().any(|part| name.contains(part));
    let address = u64::from_str_radix(address, 16).ok()?;
    (is_vector && address != 0).then(|| (address, Symbol::new(name, module)))
}

/// Whether mappings of the file system's files have the kernel's own vector.
fn maps_generically(system: &FileSystem) -> bool {
    let (begin, part, _) = GENERIC;
    let mut functions = system.functions.keys();
    functions.any(|symbol| symbol.name.starts_with(begin) && symbol.name.contains(part))
}

/// Returns how the names of a file system's own functions begin, and the modules that they are in.
fn prefixes(systems: &[FileSystem], at: usize) -> Vec<Prefix> {
    let Some(system) = systems.get(at) else {
        return Vec::new();
    };
    let is_shared = |symbol: &Symbol| {
        let mut others = systems.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, other)| other.functions.contains_key(symbol))
    };
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for symbol in system.functions.keys().filter(|symbol| !is_shared(symbol)) {
        if let Some((prefix, _)) = symbol.name.split_once('_') {
            let key = (format!("{prefix}_"), symbol.module.clone());
            *counts.entry(key).or_default() += 1;
        }
    }
    // The kernel's generic functions, which belong to no file system.
    counts.retain(|(prefix, _), _| !["generic_", "simple_", "noop_"].contains(&prefix.as_str()));
    let most = counts.iter().max_by_key(|(_, count)| **count);
    let most = most.map(|(key, _)| key.clone());
    let keys = counts.into_keys();
    keys.map(|key| Prefix {
        system: at,
        is_for_all: !system.is_complete && Some(&key) == most.as_ref(),
        text: key.0,
        module: key.1,
    })
    .collect()
}

struct Check {
    /// Types of the arguments of each function.
    signatures: BTreeMap<Symbol, Vec<String>>,
}

impl Check {
    /// Whether these words are a vector: at least one function, and each of the member's type.
    fn is_vector(&self, vector: &Vector, words: &BTreeMap<u32, Symbol>) -> bool {
        let mut functions = 0;
        for (offset, slot) in &vector.slots {
            let Some(symbol) = words.get(offset) else {
                continue;
            };
            match self.signatures.get(symbol) {
                Some(signature) if *signature == slot.signature => functions += 1,
                _ => return false,
            }
        }
        functions > 0
    }
}

fn signatures(
    words: &[BTreeMap<u32, Symbol>],
    kernel: &Types<'_>,
    modules: &Modules<'_>,
) -> BTreeMap<Symbol, Vec<String>> {
    let symbols: BTreeSet<&Symbol> = words.iter().flat_map(BTreeMap::values).collect();
    let mut found = BTreeMap::new();
    let places = modules.iter().map(|(name, types)| (name.as_str(), types));
    for (module, types) in places.chain([("", kernel)]) {
        let own = symbols.iter().filter(|symbol| symbol.module == module);
        let names = own.map(|symbol| symbol.name.as_str()).collect();
        for (name, id) in types.find(kind::FUNCTION, &names) {
            if let Some(prototype) = types.prototype(id) {
                found.insert(
                    Symbol {
                        name: name.to_owned(),
                        module: module.to_owned(),
                    },
                    types.signature(prototype),
                );
            }
        }
    }
    found
}
