//! The two programs that are loaded for each function, and the constants in them.

use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use aya::maps::{Map, MapData};
use aya::{Btf, Ebpf};
use aya_obj::Object;

use super::layout::Way;
use crate::error::KernelError;

/// Instructions with placeholders.
#[derive(Clone, Debug)]
pub(super) struct Template {
    instructions: Vec<u64>,
}

/// Values of the placeholders: see `CONSTANT` in `bpf/file_systems.c`.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    pub(super) row: u32,
    pub(super) types: u32,
    pub(super) way: Option<Way>,
}

/// The first placeholder; the others follow.
const FIRST: i32 = 0x7a57_0001;
const COUNT: usize = 7;
/// No step, or no argument.
const NONE: u32 = 0x7fff_ffff;
/// The instruction that sets a register to a number.
const SET: u8 = 0xb7;

impl Constants {
    fn words(&self) -> [u32; COUNT] {
        let mut words = [NONE; COUNT];
        let argument = self.way.as_ref().map_or(NONE, |way| way.argument);
        let steps = self.way.iter().flat_map(|way| way.steps.iter().copied());
        let all = [self.row, self.types, argument].into_iter().chain(steps);
        for (word, value) in words.iter_mut().zip(all) {
            *word = value;
        }
        words
    }
}

impl Template {
    /// Returns the instructions for one function.
    pub(super) fn with(&self, constants: &Constants) -> Vec<u64> {
        let words = constants.words();
        let replace = |instruction: &u64| {
            let number = (*instruction >> 32) as i32;
            let place = number
                .checked_sub(FIRST)
                .and_then(|at| usize::try_from(at).ok());
            match place.and_then(|at| words.get(at)) {
                Some(word) if *instruction as u8 == SET => {
                    (*instruction & 0xffff_ffff) | u64::from(*word) << 32
                }
                _ => *instruction,
            }
        };
        self.instructions.iter().map(replace).collect()
    }
}

/// Prepares the programs `enter` and `leave` of an object whose maps are in the kernel already.
pub(super) fn templates(
    object: &[u8],
    loaded: &Ebpf,
    types: &Btf,
) -> Result<(Template, Template), KernelError> {
    let failed = |cause: String| KernelError::Template { cause };
    let mut object = Object::parse(object).map_err(|error| failed(error.to_string()))?;
    let relocated = object.relocate_btf(types);
    relocated.map_err(|error| failed(error.to_string()))?;
    let sections: HashSet<usize> = object
        .functions
        .keys()
        .map(|(section, _)| *section)
        .collect();
    let maps = std::mem::take(&mut object.maps);
    let mut placed = Vec::new();
    for (name, map) in &maps {
        let found = loaded.map(name).and_then(descriptor);
        let found = found.ok_or_else(|| failed(format!("no map {name}")))?;
        placed.push((name.as_str(), found, map));
    }
    let relocated = object.relocate_maps(placed.into_iter(), &sections);
    relocated.map_err(|error| failed(error.to_string()))?;
    Ok((
        template(&object, "enter").ok_or(KernelError::Object("enter"))?,
        template(&object, "leave").ok_or(KernelError::Object("leave"))?,
    ))
}

fn descriptor(map: &Map) -> Option<RawFd> {
    let of = |map: &MapData| map.fd().as_fd().as_raw_fd();
    match map {
        Map::Array(map) | Map::HashMap(map) | Map::PerCpuArray(map) | Map::Unsupported(map) => {
            Some(of(map))
        }
        _ => None,
    }
}

fn template(object: &Object, name: &str) -> Option<Template> {
    let key = object.programs.get(name)?.function_key();
    let instructions = object.functions.get(&key)?.instructions.iter();
    let encode = |one: &aya_obj::generated::bpf_insn| {
        u64::from(one.code)
            | u64::from(one.dst_reg()) << 8
            | u64::from(one.src_reg()) << 12
            | u64::from(one.off as u16) << 16
            | u64::from(one.imm as u32) << 32
    };
    Some(Template {
        instructions: instructions.map(encode).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_the_functions_numbers() {
        let set = |number: u32| u64::from(SET) | 0x3 << 8 | u64::from(number) << 32;
        let template = Template {
            instructions: (0..8)
                .map(|at| set(FIRST as u32 + at))
                .chain([set(5), 0x95])
                .collect(),
        };
        let way = Way {
            argument: 1,
            steps: vec![40, 8],
        };
        let numbers = [17, 3, 1, 40, 8, NONE, NONE, FIRST as u32 + 7, 5];
        let expected: Vec<u64> = numbers.into_iter().map(set).chain([0x95]).collect();
        let constants = Constants {
            row: 17,
            types: 3,
            way: Some(way),
        };
        assert_eq!(template.with(&constants), expected);
    }

    /// The committed object has each placeholder in `enter`, and `leave` has the operation's.
    #[test]
    fn the_object_has_all_placeholders() {
        let object = aya::include_bytes_aligned!("../../bpf/file_systems.o");
        let object = Object::parse(object).unwrap();
        for (name, count) in [("enter", COUNT), ("leave", 1)] {
            let template = template(&object, name).unwrap();
            let found: HashSet<u32> = template
                .instructions
                .iter()
                .filter(|one| **one as u8 == SET)
                .map(|one| (one >> 32) as u32)
                .filter(|number| number >> 16 == FIRST as u32 >> 16)
                .collect();
            assert_eq!(found.len(), count, "{name}");
        }
    }
}
