//! Finds vectors by the names of the kernel's symbols, where a file system has no file of some kind.

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
const ADDRESSES_MAX: usize = 256;

/// Type information of each module that contains a function of a vector.
pub(super) type Modules<'k> = BTreeMap<String, Types<'k>>;

/// Completes the file systems of which no file of some kind was found.
pub(super) fn complete(
    systems: &mut [FileSystem],
    reader: &mut Reader,
    layout: &Layout,
    kernel: &Types<'_>,
    modules: &Modules<'_>,
) -> Result<(), KernelError> {
    let wanted: Vec<usize> = systems
        .iter()
        .enumerate()
        .filter_map(|(at, system)| (!system.is_complete).then_some(at))
        .collect();
    let candidates = match wanted.is_empty() {
        true => return Ok(()),
        false => candidates(systems, &wanted),
    };
    let addresses: Vec<u64> = candidates.iter().map(|found| found.address).collect();
    let words = reader.words_at(&addresses)?;
    let check = Check {
        signatures: signatures(&words, kernel, modules),
    };
    for (candidate, words) in candidates.iter().zip(&words) {
        let vector = layout
            .vectors
            .iter()
            .find(|vector| check.is_vector(vector, words));
        if let (Some(vector), Some(system)) = (vector, systems.get_mut(candidate.system)) {
            system.add_vector(vector, words);
        }
    }
    Ok(())
}

struct Candidate {
    system: usize,
    address: u64,
}

/// Returns the objects whose names look like those of vectors; empty if this process may not read
/// addresses.
fn candidates(systems: &[FileSystem], wanted: &[usize]) -> Vec<Candidate> {
    let prefixes: Vec<(usize, String, String)> = wanted
        .iter()
        .filter_map(|at| {
            let (prefix, module) = prefix(systems, *at)?;
            Some((*at, prefix, module))
        })
        .collect();
    let Ok(file) = std::fs::File::open(SYMBOLS) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in BufReader::with_capacity(1 << 16, file).lines() {
        let Ok(line) = line else { break };
        if !line.contains("ops") && !line.contains("operations") {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, letter, name, module @ ..] = words.as_slice() else {
            continue;
        };
        let symbol = Symbol::new(name, module);
        let is_vector = DATA.contains(letter)
            && ENDINGS.iter().any(|end| name.ends_with(end))
            && !DEVICES.iter().any(|part| name.contains(part));
        let address = u64::from_str_radix(address, 16).unwrap_or(0);
        if !is_vector || address == 0 {
            continue;
        }
        let of = prefixes.iter().find(|(_, prefix, module)| {
            symbol.module == *module && symbol.name.starts_with(prefix.as_str())
        });
        found.extend(of.map(|(system, ..)| Candidate {
            system: *system,
            address,
        }));
    }
    found.truncate(ADDRESSES_MAX);
    found
}

/// Returns how the names of a file system's own functions begin most often, up to the first `_`, and
/// the module that they are in.
fn prefix(systems: &[FileSystem], at: usize) -> Option<(String, String)> {
    let system = systems.get(at)?;
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
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(key, _)| key)
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
